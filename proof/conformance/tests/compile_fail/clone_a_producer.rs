//! error[E0599]: no method named `clone` found

use corelane::spsc;

fn main() {
    let (tx, _rx) = spsc::queue::<u64>(8).unwrap();
    let _second = tx.clone();
}
