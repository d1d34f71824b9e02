//! Three stages, each on a thread of its own: make numbers, square them, add them up.
//!
//! Closing runs through the pipeline: a stage that has finished drops its sender, and the next
//! stage's loop ends after the last message. A stage that waits sleeps: there may be more stages
//! than cores.

use std::thread;

use corelane::channel::spsc;

fn main() {
    let (numbers, to_square) = spsc::bounded::<u64>(1024);
    let (squares, to_add) = spsc::bounded::<u64>(1024);

    thread::spawn(move || numbers.send_all(1..=1_000_000));
    thread::spawn(move || squares.send_all(to_square.into_iter().map(|n| n * n)));
    let sum: u64 = to_add.into_iter().sum();

    println!("sum of the squares of 1 to 1,000,000: {sum}");
    assert_eq!(sum, 333_333_833_333_500_000);
}
