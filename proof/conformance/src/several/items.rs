//! Zero-sized, tiny, large, over-aligned and owning items, in every kind of memory.

use corelane::slot::Token;
use corelane::{BoxedConsumer, BoxedProducer, CapacityError, Config, Memory, Queue, TryPopError};
use corelane_harness::clones;

use super::at_most;
use crate::items::{Large, Nothing, nothing_is_left, on_a_small_stack};
use crate::{Any, Checked, Item};

/// Items are pushed and popped, over several laps.
pub fn goes_through<T: Item>(subject: &Any<T>, capacity: usize) {
    for memory in [Memory::Heap, Memory::HugePages, Memory::Mirrored] {
        let mut queue = Checked::open(subject, Config::new(capacity).memory(memory));
        for n in [1, 2, 7, capacity / 2, capacity, capacity + 1, 70] {
            (0..n).take_while(|_| queue.push()).count();
            queue.pop();
            queue.pop_iter(n / 2);
            queue.fill();
            queue.drain();
            queue.turn(n);
        }
        // Some are left in the queue.
        queue.push();
        queue.push();
    }
}

/// Tokens in packed slots, through several rings of an unbounded queue. Some are left in the queue.
pub fn tokens_go_through<Q: Queue<T, Producer: 'static, Consumer: 'static>, T: Token + Item>() {
    let (tx, rx) = match Q::with(Config::new(8)) {
        Err(CapacityError::Unsupported { .. }) => return,
        made => made.expect("this capacity is possible"),
    };
    let queue = (BoxedProducer::new(tx), BoxedConsumer::new(rx));
    let (mut txs, mut rxs) = clones(queue, at_most(&Q::INFO, 2, 2));
    let (mut pushed, mut popped) = (0, 0);
    for (push, pop) in [(1, 2), (7, 3), (50, 40), (3, 100), (20, 10)] {
        for _ in 0..push {
            let tx = pushed as usize % txs.len();
            assert!(txs[tx].try_push(T::of(pushed)).is_ok(), "it is never full");
            pushed += 1;
        }
        for _ in 0..pop {
            let rx = popped as usize % rxs.len();
            match rxs[rx].try_pop() {
                Ok(item) => assert!(item.is(popped), "item {popped}"),
                Err(error) => {
                    assert_eq!((error, popped), (TryPopError::Empty, pushed));
                    break;
                }
            }
            popped += 1;
        }
    }
    assert!(popped < pushed);
}

/// Zero-sized items are counted like any other, and dropped (row `zero_sized_items`).
pub fn zero_sized_items(subject: &Any<Nothing>) {
    goes_through(subject, 100);
    nothing_is_left(subject);
}

/// A ring of 16 MiB is made, used and dropped on a stack of 256 KiB (row `large_item_on_stack`).
pub fn large_item_on_stack(subject: &Any<Large>) {
    let subject = subject.clone();
    on_a_small_stack(move || {
        let mut queue = Checked::open(&subject, Config::new(4096));
        for n in [1, 70, 5000] {
            (0..n).take_while(|_| queue.push()).count();
            queue.pop_iter(n / 2);
            queue.drain();
        }
        (0..100).for_each(|_| assert!(queue.push()));
    });
}
