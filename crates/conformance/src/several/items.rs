//! Zero-sized, tiny, large, over-aligned and owning items, in every kind of memory.

use std::sync::Arc;

use corelane::{Config, Memory, MpmcQueue};

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
