//! 2 times error[E0599]: no method named

use corelane::block;

fn main() {
    let (mut tx, mut rx) = block::shared::queue::<u64>(8).unwrap();
    let _slots = tx.write_chunk_uninit(2);
    let _items = rx.read_chunk(2);
}
