//! Latency: two threads, two queues, one request at a time (paper 1 §5.3).

use std::cell::Cell;
use std::rc::Rc;

use coherence::{Simulation, compute, now, pause};
use corelane_sim::{Consumer, Producer};

use crate::failure::Failure;
use crate::handles::New;
use crate::item::Item;
use crate::stream::Stream;

/// Runs `stream.items` transactions through two queues that `new` makes, and returns nanoseconds
/// per transaction.
pub(crate) fn run<T: Item>(stream: &Stream, new: New<T>) -> Result<f64, Failure> {
    let open = || new(stream.config()).map_err(Failure::Capacity);
    let ((requests, requested), (replies, replied)) = (open()?, open()?);
    let (warm_up, all) = (stream.warm_up, stream.warm_up + stream.items);
    let call = stream.call;
    let spent = Rc::new(Cell::new(0.0));
    let result = spent.clone();
    let mut simulation = Simulation::new(stream.machine.clone(), stream.seed);
    simulation.spawn(stream.cores[0], move || {
        let (mut tx, mut rx) = (requests, replied);
        let mut start = now();
        for number in 0..all {
            if number == warm_up {
                start = now();
            }
            compute(call);
            send(&mut tx, T::of(number));
            compute(call);
            receive(&mut rx);
        }
        spent.set((now() - start).as_ns());
    });
    simulation.spawn(stream.cores[1], move || {
        let (mut tx, mut rx) = (replies, requested);
        for _ in 0..all {
            compute(call);
            let request = receive(&mut rx);
            compute(call);
            send(&mut tx, request);
        }
    });
    simulation.run().map_err(Failure::Stuck)?;
    Ok(result.get() / stream.items as f64)
}

fn send<T: Item>(tx: &mut impl Producer<Item = T>, item: T) {
    while tx.try_push(item).is_err() {
        pause(1);
    }
    tx.flush();
}

fn receive<T: Item>(rx: &mut impl Consumer<Item = T>) -> T {
    loop {
        match rx.try_pop() {
            Ok(item) => return item,
            Err(_) => pause(1),
        }
    }
}
