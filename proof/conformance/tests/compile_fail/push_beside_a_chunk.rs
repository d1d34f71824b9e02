//! error[E0499]: cannot borrow `tx` as mutable more than once

use corelane::{Producer, SingleProducer, lamport};

fn main() {
    let (mut tx, _rx) = lamport::queue::<u64>(8).unwrap();
    let chunk = tx.write_chunk_uninit(2).unwrap();
    tx.try_push(1).unwrap();
    chunk.fill_from_iter([1, 2]);
}
