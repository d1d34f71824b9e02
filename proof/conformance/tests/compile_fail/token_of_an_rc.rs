//! error[E0277]: `Rc<u64>` cannot be sent between threads safely

use std::rc::Rc;

fn main() {
    let _queue = corelane::b_queue::token_queue::<Box<Rc<u64>>>(8);
}
