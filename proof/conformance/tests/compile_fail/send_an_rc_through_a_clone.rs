//! error[E0277]: `Rc<u64>` cannot be sent between threads safely

use std::rc::Rc;

use corelane::{Producer, block};

fn main() {
    let (tx, _rx) = block::shared::queue::<Rc<u64>>(8).unwrap();
    let mut other = tx.clone();
    std::thread::spawn(move || other.try_push(Rc::new(1)).is_ok());
}
