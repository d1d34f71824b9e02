//! Three threads: two queues in a row.

use corelane_loom::{Consumer, Producer};

use crate::explore::{explore_big, pop, push_now, tiny};
use crate::item::Cargo;
use crate::queue::{Of, Single};
use crate::thread::spawn;
use crate::{Exploration, Model};

/// The model of a queue with three threads.
pub(crate) fn model<T: Cargo>(of: Of, new: Single<T>) -> Model {
    of.model("pipeline", move || pipeline(new))
}

/// Items go through two queues. A thread between moves them from the first queue to the second. No
/// thread waits. In the end all items are there, in order: popped, in the second queue, or still in
/// the first.
fn pipeline<T: Cargo>(new: Single<T>) -> Exploration {
    explore_big(move || {
        let (mut first_tx, mut first_rx) = new(tiny(2));
        let (mut second_tx, mut second_rx) = new(tiny(2));
        let producer = spawn(move || {
            for number in 0..2 {
                push_now(&mut first_tx, number);
            }
        });
        let stage = spawn(move || {
            for _ in 0..2 {
                if let Ok(item) = first_rx.try_pop() {
                    let pushed = second_tx.try_push(item);
                    pushed.expect("there is room");
                }
            }
            first_rx
        });
        let mut numbers: Vec<_> = (0..2).filter_map(|_| pop(&mut second_rx)).collect();
        producer.join();
        let mut first_rx = stage.join();
        numbers.extend(std::iter::from_fn(|| pop(&mut second_rx)));
        numbers.extend(std::iter::from_fn(|| pop(&mut first_rx)));
        assert_eq!(numbers, [0, 1], "first in, first out");
    })
}
