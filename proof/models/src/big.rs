//! Three threads: two queues in a row.

use corelane_loom::{Consumer, Producer};
use loom::thread;

use crate::explore::{explore_big, pop, push_now, tiny};
use crate::item::Ticket;
use crate::subject::Subject;
use crate::{Model, Run};

/// The models of a queue with three threads.
pub(crate) fn models<S: Subject<Ticket>>() -> Vec<Model> {
    vec![Model::new::<S>("pipeline", pipeline::<S>)]
}

/// Items go through two queues, past a thread that moves them from one to the other. Nobody waits; in
/// the end all are there, in order: popped, in the second queue, or still in the first.
fn pipeline<S: Subject<Ticket>>() -> Run {
    explore_big(|| {
        let (mut first_tx, mut first_rx) = S::channel(tiny(2));
        let (mut second_tx, mut second_rx) = S::channel(tiny(2));
        let producer = thread::spawn(move || {
            for number in 0..2 {
                push_now(&mut first_tx, number);
            }
        });
        let stage = thread::spawn(move || {
            for _ in 0..2 {
                if let Ok(item) = first_rx.try_pop() {
                    let pushed = second_tx.try_push(item);
                    pushed.expect("there is room");
                }
            }
            first_rx
        });
        let mut numbers: Vec<_> = (0..2).filter_map(|_| pop(&mut second_rx)).collect();
        producer.join().expect("a panic ends the model");
        let mut first_rx = stage.join().expect("a panic ends the model");
        numbers.extend(std::iter::from_fn(|| pop(&mut second_rx)));
        numbers.extend(std::iter::from_fn(|| pop(&mut first_rx)));
        assert_eq!(numbers, [0, 1], "first in, first out");
    })
}
