//! error[E0599]: no method named `clone` found

use corelane::block;

fn main() {
    let (tx, rx) = block::one_consumer::queue::<u64>(8).unwrap();
    let _other = tx.clone();
    let _second = rx.clone();
}
