//! error[E0597]: `short` does not live long enough

use corelane::{Consumer, Producer, lamport};

/// Pushes an item whose lifetime is that of the handle's items.
fn push<'a>(tx: &mut lamport::Producer<&'a str>, item: &'a str) {
    assert!(tx.try_push(item).is_ok());
}

fn main() {
    let (mut tx, mut rx) = lamport::queue::<&'static str>(8).unwrap();
    {
        let short = String::from("short");
        push(&mut tx, &short);
    }
    let _long: Result<&'static str, _> = rx.try_pop();
}
