//! Three stages, each on a thread of its own: make numbers, square them, add them up.
//!
//! Closing runs through the pipeline: a stage that has finished drops its producer, and the next stage sees `Closed`
//! after the last item. A stage that waits yields its core: there may be more stages than cores.

use std::thread;

use corelane::{TryPopError, TryPushError, spsc};

fn main() -> Result<(), corelane::CapacityError> {
    let (numbers, to_square) = spsc::queue::<u64>(1024)?;
    let (squares, to_add) = spsc::queue::<u64>(1024)?;

    let sum = thread::scope(|s| {
        s.spawn(move || {
            let mut numbers = numbers;
            (1..=1_000_000).for_each(|n| send(&mut numbers, n));
        });
        s.spawn(move || {
            let (mut to_square, mut squares) = (to_square, squares);
            while let Some(n) = receive(&mut to_square) {
                send(&mut squares, n * n);
            }
        });
        let adder = s.spawn(move || {
            let mut to_add = to_add;
            std::iter::from_fn(|| receive(&mut to_add)).sum::<u64>()
        });
        adder.join().expect("the adder does not panic")
    });

    println!("sum of the squares of 1 to 1,000,000: {sum}");
    assert_eq!(sum, 333_333_833_333_500_000);
    Ok(())
}

/// Pushes, waiting for room.
fn send(tx: &mut spsc::Producer<u64>, mut item: u64) {
    while let Err(error) = tx.try_push(item) {
        if let TryPushError::Closed(_) = error {
            return;
        }
        item = error.into_inner();
        thread::yield_now();
    }
}

/// Pops, waiting for an item; `None` when no more will come.
fn receive(rx: &mut spsc::Consumer<u64>) -> Option<u64> {
    loop {
        match rx.try_pop() {
            Ok(item) => return Some(item),
            Err(TryPopError::Closed) => return None,
            Err(_) => thread::yield_now(),
        }
    }
}
