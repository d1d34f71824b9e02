//! error[E0277]: cannot be shared between threads safely

use corelane::{Consumer, lamport};

fn main() {
    let (_tx, rx) = lamport::queue::<u64>(8).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| rx.is_closed());
        scope.spawn(|| rx.is_closed());
    });
}
