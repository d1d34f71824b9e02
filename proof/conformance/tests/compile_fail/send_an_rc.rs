//! error[E0277]: `Rc<u64>` cannot be sent between threads safely

use std::rc::Rc;

use corelane::{Producer, lamport};

fn main() {
    let (mut tx, _rx) = lamport::queue::<Rc<u64>>(8).unwrap();
    std::thread::spawn(move || tx.try_push(Rc::new(1)).is_ok());
}
