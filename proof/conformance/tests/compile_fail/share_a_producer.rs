//! error[E0277]: cannot be shared between threads safely

use corelane::{Producer, spsc};

fn main() {
    let (tx, _rx) = spsc::queue::<u64>(8).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| tx.is_closed());
        scope.spawn(|| tx.is_closed());
    });
}
