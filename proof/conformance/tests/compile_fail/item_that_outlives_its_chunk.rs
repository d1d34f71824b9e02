//! error[E0505]: cannot move out of `chunk` because it is borrowed

use corelane::{SingleConsumer, lamport};

fn main() {
    let (_tx, mut rx) = lamport::queue::<u64>(8).unwrap();
    let chunk = rx.read_chunk(2).unwrap();
    let item = &chunk.as_slices().0[0];
    chunk.commit_all();
    println!("{item}");
}
