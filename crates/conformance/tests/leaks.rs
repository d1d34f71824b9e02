//! Every byte that a queue takes from the global allocator is given back.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use corelane::{Config, for_each_spsc_queue, for_each_spsc_token_queue};
use corelane_conformance::{Any, Subject, Tokens, numbers};

thread_local! {
    /// Bytes that this thread has taken and not given back.
    static TAKEN: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, counting.
struct Counting;

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TAKEN.set(TAKEN.get() + layout.size() as isize);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, base: *mut u8, layout: Layout) {
        TAKEN.set(TAKEN.get() - layout.size() as isize);
        // SAFETY: the caller's.
        unsafe { System.dealloc(base, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Makes a queue, uses all of its batch calls and drops it, one side first or the other.
fn all_is_given_back<Q: Subject>() {
    let before = TAKEN.get();
    for producer_first in [true, false] {
        let mut queue = numbers::<Q>(Config::new(1000));
        assert!(TAKEN.get() >= before + 1000, "the allocator counts");
        queue.push_iter(200, true);
        queue.take_chunk(100, 10);
        queue.read_chunk(10, 3);
        queue.write_chunk(70, 50);
        match producer_first {
            true => drop((queue.tx, queue.rx)),
            false => drop((queue.rx, queue.tx)),
        }
    }
    assert_eq!(TAKEN.get(), before);
}

macro_rules! any_items {
    ($name:ident, $queue:ty) => {
        #[test]
        fn $name() {
            all_is_given_back::<Any<$queue>>();
        }
    };
}

macro_rules! tokens {
    ($name:ident, $queue:ty) => {
        #[test]
        fn $name() {
            all_is_given_back::<Tokens<$queue>>();
        }
    };
}

for_each_spsc_queue!(any_items);

/// Queues whose slots are one word.
mod packed {
    use super::*;

    for_each_spsc_token_queue!(tokens);
}
