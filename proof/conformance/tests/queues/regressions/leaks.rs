//! Every byte that a queue takes from the global allocator is given back (row `memory_never_returned`).

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

use corelane::{CapacityError, Config, Consumer, Producer, Queue, TryPushError};
use corelane_conformance::{Any, Checked, Item, Single};

thread_local! {
    /// Bytes that this thread has taken and not given back.
    static TAKEN: Cell<isize> = const { Cell::new(0) };
    /// How often this thread can take memory before there is none left.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The system's allocator. It counts, and is out of memory when a test asks for that.
struct Counting;

// SAFETY: every call goes to the system's allocator as it is, or gets nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let left = LEFT.get();
        if left == 0 {
            return ptr::null_mut();
        }
        LEFT.set(left - 1);
        // SAFETY: the caller's.
        let base = unsafe { System.alloc(layout) };
        if !base.is_null() {
            TAKEN.set(TAKEN.get() + layout.size() as isize);
        }
        base
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
pub fn memory_never_returned<T: Item>(subject: &Single<T>) {
    let before = TAKEN.get();
    for producer_first in [true, false] {
        let mut queue = Checked::open(subject, Config::new(1000));
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
    assert_eq!(TAKEN.get(), before, "bytes are taken and not given back");
}

/// Pushes a million items into an unbounded queue and pops them: what it has taken for them and not given back is at
/// most `kept` bytes, and nothing when the queue is dropped (row `memory_never_returned`).
pub fn burst<Q: Queue<u64>>(kept: impl Fn(Config) -> isize) {
    let config = Config::new(1000);
    let without = TAKEN.get();
    let (mut tx, mut rx) = Q::with(config).expect("this capacity is possible");
    let before = TAKEN.get();
    for round in 0..2 {
        for n in 0..1_000_000 {
            assert!(tx.try_push(n).is_ok(), "an unbounded queue is full in round {round}");
        }
        assert!(TAKEN.get() > before + 8_000_000, "the items are somewhere");
        assert!(rx.pop_iter().eq(0..1_000_000));
        let left = TAKEN.get() - before;
        assert!(left <= kept(config), "{left} bytes are left of a burst, {} at most", kept(config));
    }
    drop((tx, rx));
    assert_eq!(TAKEN.get(), without, "bytes are taken and not given back");
}

/// As [`burst`], while a producer and a consumer that have been used, in other places of the list, are not used any more.
pub fn burst_beside_idle_handles<Q: Queue<u64>>(kept: isize) {
    let without = TAKEN.get();
    let (mut tx, mut rx) = Q::with(Config::new(1000)).expect("this capacity is possible");
    let before = TAKEN.get();
    for round in 0..2 {
        let mut idle_tx = tx.try_clone().expect("there may be several");
        let mut idle_rx = rx.try_clone().expect("there may be several");
        assert!(idle_tx.try_push(0).is_ok());
        for n in 1..1_000_000 {
            assert!(tx.try_push(n).is_ok(), "an unbounded queue is full in round {round}");
        }
        assert!(idle_rx.pop_iter().take(500_000).eq(0..500_000));
        assert!(rx.pop_iter().eq(500_000..1_000_000));
        let left = TAKEN.get() - before;
        assert!(left <= kept, "{left} bytes are left of a burst, {kept} at most");
    }
    drop((tx, rx));
    assert_eq!(TAKEN.get(), without, "bytes are taken and not given back");
}

/// Handles of a side that [`handles_come_and_go`] has at once.
pub const AT_ONCE: isize = 100;

/// Clones and drops handles of each side tens of thousands of times, one by one and sometimes [`AT_ONCE`] together. At most `kept`
/// bytes are not given back before the queue is dropped (row `memory_never_returned`).
pub fn handles_come_and_go<Q: Queue<u64>>(kept: isize) {
    let (mut tx, mut rx) = Q::with(Config::new(8)).expect("this capacity is possible");
    let before = TAKEN.get();
    for n in 0..60_000 {
        let clones = if n % 1000 == 0 { AT_ONCE } else { 1 };
        let others: Vec<_> = (0..clones).map(|_| (tx.try_clone(), rx.try_clone())).collect();
        assert!(others.iter().all(|(tx, rx)| tx.is_some() && rx.is_some()), "there may be several");
        assert_eq!((tx.try_push(n), rx.try_pop()), (Ok(()), Ok(n)));
    }
    let left = TAKEN.get() - before;
    assert!(left <= kept, "{left} bytes are left of handles, {kept} at most");
}

/// As [`memory_never_returned`], with several handles a side, which go in another order each time.
pub fn memory_never_returned_of_several(subject: &Any<u64>) {
    let before = TAKEN.get();
    for producers_first in [true, false] {
        let (mut tx, mut rx) = subject.open(Config::new(1000));
        assert!(TAKEN.get() > before, "the allocator counts");
        let (other_tx, other_rx) = (tx.try_clone(), rx.try_clone());
        for n in 0..3000 {
            assert!(tx.try_push(n).is_ok() || n >= 900);
            assert!(n % 3 > 0 || rx.try_pop().is_ok(), "there are items");
        }
        if producers_first {
            drop((tx, other_rx, other_tx, rx));
        } else {
            drop((rx, other_tx, tx, other_rx));
        }
    }
    assert_eq!(TAKEN.get(), before, "bytes are taken and not given back");
}

/// What `work` answers if this thread can take memory `left` times and then no more.
fn with_memory<R>(left: usize, work: impl FnOnce() -> R) -> R {
    LEFT.set(left);
    let answer = work();
    LEFT.set(usize::MAX);
    answer
}

/// An unbounded queue for which there is no more memory is full, whichever of the allocations of a push it is that fails,
/// and gives the item back. What is in it can be popped without memory, and when there is some again it goes on. Handles that are
/// not used, if there may be several, protect what could be freed otherwise. All is given back in the end.
pub fn out_of_memory<Q: Queue<u64>>() {
    let before = TAKEN.get();
    for left in 0..5 {
        let (mut tx, mut rx) = Q::with(Config::new(8)).expect("this capacity is possible");
        let _idle = (tx.try_clone(), rx.try_clone());
        let (mut pushed, mut popped) = (0, 0);
        for round in 0..3 {
            // With none, or nearly enough for a push that needs some.
            for left in [0, left] {
                for _ in 0..100 {
                    match with_memory(left, || tx.try_push(pushed)) {
                        Ok(()) => pushed += 1,
                        Err(error) => assert_eq!(error, TryPushError::Full(pushed)),
                    }
                }
            }
            // The first time there is something to come back to, then it is empty.
            let there = pushed - popped;
            for _ in 0..if round == 0 { there.min(1) } else { there } {
                assert_eq!(with_memory(0, || rx.try_pop()), Ok(popped), "{left} are left");
                popped += 1;
            }
        }
        for n in pushed..pushed + 1000 {
            assert_eq!(tx.try_push(n), Ok(()), "there is memory again");
        }
        assert!(rx.pop_iter().eq(popped..pushed + 1000), "items are lost");
    }
    assert_eq!(TAKEN.get(), before, "bytes are taken and not given back");
}

/// There is no queue without memory, whichever of the allocations it is that fails.
pub fn no_memory_for_a_queue<T, Q: Queue<T>>() {
    let make = |left| with_memory(left, || Q::with(Config::new(8)));
    let before = TAKEN.get();
    let first = (0..100).find(|left| match make(*left) {
        Ok(_) => true,
        Err(error) => {
            assert!(matches!(error, CapacityError::OutOfMemory { .. }), "{error}");
            assert_eq!(TAKEN.get(), before, "bytes are taken and not given back");
            false
        }
    });
    assert!(first > Some(0), "a queue takes some memory");
}

/// Bytes that `make` takes for what it makes.
pub fn bytes_of<T>(make: impl FnOnce() -> T) -> isize {
    let before = TAKEN.get();
    let _made = make();
    TAKEN.get() - before
}
