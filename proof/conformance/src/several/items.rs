//! Zero-sized, tiny, large, over-aligned and owning items, in every kind of memory.

use std::num::NonZeroUsize;
use std::sync::Arc;

use corelane::slot::Token;
use corelane::{
    CapacityError, Config, Consumer, Memory, MpmcQueue, MpmcTokenQueue, Producer, TryPopError,
};

use crate::items::{
    Aligned, AlignedBeyondPages, Large, Nothing, nothing_is_left, on_a_small_stack, refuses_huge,
};
use crate::{Item, Several, with_items};

/// In and out, over several laps, for items of type `T`.
fn goes_through<Q: MpmcQueue, T: Item>(capacity: usize) {
    for memory in [Memory::Heap, Memory::HugePages, Memory::Mirrored] {
        let config = Config::new(capacity).memory(memory);
        let mut queue = with_items::<Several<Q>, T>(config);
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

/// Items of one byte, and of three.
pub fn tiny<Q: MpmcQueue>() {
    goes_through::<Q, u8>(100);
    goes_through::<Q, [u8; 3]>(100);
    goes_through::<Q, u8>(4096);
}

/// Items of 4 KiB.
pub fn large<Q: MpmcQueue>() {
    goes_through::<Q, Large>(10);
}

/// Items that own memory.
pub fn owning<Q: MpmcQueue>() {
    goes_through::<Q, String>(50);
    goes_through::<Q, Vec<u64>>(50);
    goes_through::<Q, Box<u64>>(50);
    goes_through::<Q, Arc<u64>>(50);
}

/// Tokens of every kind, in slots of their own, through several rings; some are left in the queue.
pub fn tokens<Q: MpmcTokenQueue>() {
    tokens_go_through::<Q, Box<u64>>();
    tokens_go_through::<Q, Arc<u64>>();
    tokens_go_through::<Q, &'static u64>();
    tokens_go_through::<Q, &'static mut u64>();
    tokens_go_through::<Q, NonZeroUsize>();
}

fn tokens_go_through<Q: MpmcTokenQueue, T: Token + Item>() {
    let (tx, rx) = match Q::channel::<T>(Config::new(8)) {
        Err(CapacityError::Unsupported { .. }) => return,
        made => made.expect("this capacity is possible"),
    };
    let mut txs: Vec<_> = Q::another_producer(&tx).into_iter().chain([tx]).collect();
    let mut rxs: Vec<_> = Q::another_consumer(&rx).into_iter().chain([rx]).collect();
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

/// Items that must lie at multiples of 256 and of 8192 bytes, in every kind of memory.
pub fn over_aligned<Q: MpmcQueue>() {
    goes_through::<Q, Aligned>(20);
    goes_through::<Q, AlignedBeyondPages>(4);
}

/// Items of which hardly any fits into the addresses there are: refused, not miscounted (row
/// `capacity_overflow`).
pub fn huge<Q: MpmcQueue>() {
    refuses_huge(|config| Q::channel(config));
}

/// Items without size are counted like any other, and dropped (row `zero_sized_items`).
pub fn zero_sized_items<Q: MpmcQueue>() {
    goes_through::<Q, ()>(100);
    goes_through::<Q, Nothing>(100);
    nothing_is_left::<Several<Q>>();
}

/// A ring of 16 MiB is made, used and dropped on a stack of 256 KiB (row `large_item_on_stack`).
pub fn large_item_on_stack<Q: MpmcQueue>() {
    on_a_small_stack(|| {
        let mut queue = with_items::<Several<Q>, Large>(Config::new(4096));
        for n in [1, 70, 5000] {
            (0..n).take_while(|_| queue.push()).count();
            queue.pop_iter(n / 2);
            queue.drain();
        }
        (0..100).for_each(|_| assert!(queue.push()));
    });
}
