//! error[E0599]: no method named `clone` found

use corelane::lamport;

fn main() {
    let (_tx, rx) = lamport::queue::<u64>(8).unwrap();
    let _second = rx.clone();
}
