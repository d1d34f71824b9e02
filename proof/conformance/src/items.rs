//! Zero-sized, tiny, large, over-aligned and non-`Copy` items.

use std::thread;

use corelane::{Built, Config, Consumer, Memory, Producer};
pub use corelane_harness::item::{Aligned, AlignedBeyondPages, Large, Nothing, Owning};

use crate::{Checked, Item, Single, Subject};

/// All calls that push and pop, over several laps.
pub fn goes_through<T: Item>(subject: &Single<T>, capacity: usize) {
    for memory in [Memory::Heap, Memory::HugePages, Memory::Mirrored] {
        let mut queue = Checked::open(subject, Config::new(capacity).memory(memory));
        for n in [1, 2, 7, capacity / 2, capacity, capacity + 1, 70] {
            queue.push();
            queue.write_chunk(n, n);
            queue.read_chunk(n, n / 2);
            queue.push_iter(n, true);
            queue.read_chunk(n, 0);
            queue.pop();
            queue.take_chunk(n, n / 2);
            queue.push_iter(n, false);
            queue.pop_iter(n);
            queue.fill();
            queue.observe();
            queue.drain();
        }
        // Some are left in the queue.
        queue.push_iter(3, true);
        queue.read_chunk(2, 0);
    }
}

/// An item so large that the address space has room for only a few.
pub type Huge = [u8; 1 << 46];

/// Items so large that the address space has room for only a few: `open` refuses them, and does not
/// miscount them (row `capacity_overflow`).
///
/// No handle of such a queue is boxed: that would compile its calls, and no stack is large enough
/// for one.
pub fn huge<P, C>(open: impl Fn(Config) -> Built<P, C>)
where
    P: Producer<Item = Huge>,
{
    for capacity in [1, 2, 100, 1 << 14, 1 << 18, 1 << 20, usize::MAX / 2, usize::MAX] {
        for group in [1, 64, 1 << 16, usize::MAX] {
            let config = Config::new(capacity).grouped(group);
            if let Ok(made) = open(config) {
                // No stack is large enough for its destructor.
                std::mem::forget(made);
                panic!("a queue for {capacity} items of 2^46 bytes was made");
            }
        }
    }
}

/// Zero-sized items are counted like any other, and dropped (row `zero_sized_items`).
pub fn zero_sized_items(subject: &Single<Nothing>) {
    goes_through(subject, 100);
    nothing_is_left(subject);
}

/// Checks that a queue, full or not, holds as many zero-sized items as it says.
pub(crate) fn nothing_is_left<P, C>(subject: &Subject<P, C>)
where
    P: Producer<Item = Nothing>,
    C: Consumer<Item = Nothing>,
{
    assert_eq!(Nothing::alive(), 0);
    for capacity in [1, 2, 64, 65] {
        let mut queue = Checked::open(subject, Config::new(capacity));
        let filled = queue.fill();
        assert!((queue.fewest_if_full()..=queue.slots()).contains(&filled));
        assert_eq!(Nothing::alive(), filled as isize);
        queue.pop();
        assert_eq!(Nothing::alive(), filled as isize - 1);
    }
    assert_eq!(Nothing::alive(), 0);
}

/// A ring of 16 MiB is made, used and dropped on a stack of 256 KiB (row `large_item_on_stack`).
pub fn large_item_on_stack(subject: &Single<Large>) {
    let subject = subject.clone();
    on_a_small_stack(move || {
        let mut queue = Checked::open(&subject, Config::new(4096));
        for n in [1, 70, 5000] {
            queue.push();
            queue.push_iter(n, true);
            queue.write_chunk(n, n);
            queue.read_chunk(n, n / 2);
            queue.take_chunk(n, n);
            queue.drain();
        }
        queue.push_iter(100, true);
        queue.read_chunk(10, 0);
    });
}

/// Runs `use_it` on a stack of 256 KiB.
pub(crate) fn on_a_small_stack(use_it: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(256 << 10).spawn(use_it).unwrap();
    thread.join().unwrap();
}
