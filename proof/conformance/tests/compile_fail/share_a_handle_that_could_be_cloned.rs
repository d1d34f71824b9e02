//! 2 times error[E0277]: cannot be shared between threads safely

use corelane::{Consumer, Producer, block};

fn main() {
    let (tx, rx) = block::shared::queue::<u64>(8).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| tx.is_closed());
        scope.spawn(|| rx.is_closed());
    });
}
