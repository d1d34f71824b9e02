//! error[E0277]: the trait bound `u64: Token` is not satisfied

fn main() {
    let _queue = corelane::b_queue::token_queue::<u64>(8);
}
