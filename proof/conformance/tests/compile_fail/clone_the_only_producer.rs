//! error[E0599]: no method named `clone` found

use corelane::block;

fn main() {
    let (tx, rx) = block::one_producer::queue::<u64>(8).unwrap();
    let _other = rx.clone();
    let _second = tx.clone();
}
