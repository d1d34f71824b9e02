//! Every byte that a queue takes from the global allocator is given back (row
//! `memory_never_returned`).

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Range;
use std::ptr;

use corelane::{CapacityError, Config, Consumer, Producer, Queue, TryPushError};
use corelane_conformance::{Any, Checked, Item, Single};

thread_local! {
    /// Bytes that this thread has allocated and not freed.
    static TAKEN: Cell<isize> = const { Cell::new(0) };
    /// How many allocations of this thread succeed from now on.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The system's allocator. It counts bytes, and fails when a test asks for that.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged, or fails.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let left = LEFT.get();
        if left == 0 {
            return ptr::null_mut();
        }
        LEFT.set(left - 1);
        // SAFETY: the caller's contract.
        let base = unsafe { System.alloc(layout) };
        if !base.is_null() {
            TAKEN.set(TAKEN.get() + layout.size() as isize);
        }
        base
    }

    unsafe fn dealloc(&self, base: *mut u8, layout: Layout) {
        TAKEN.set(TAKEN.get() - layout.size() as isize);
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(base, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Makes a queue, uses all of its batch calls and drops it, either side first.
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

/// Whether these are the items that the queue was given, in order unless it is relaxed.
fn are_all<Q: Queue<u64>>(items: impl Iterator<Item = u64>, given: Range<u64>) -> bool {
    if !Q::INFO.relaxed {
        return items.eq(given);
    }
    let mut items: Vec<_> = items.collect();
    items.sort_unstable();
    items.into_iter().eq(given)
}

/// Pushes a million items into an unbounded queue and pops them. The queue then keeps at most
/// `kept` bytes, and none when it is dropped (row `memory_never_returned`).
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
        assert!(are_all::<Q>(rx.pop_iter(), 0..1_000_000));
        let left = TAKEN.get() - before;
        assert!(left <= kept(config), "{left} bytes are left of a burst, {} at most", kept(config));
    }
    drop((tx, rx));
    assert_eq!(TAKEN.get(), without, "bytes are taken and not given back");
}

/// As [`burst`], beside an idle producer and an idle consumer, which were used at other places of
/// the list.
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

/// Handles of a side that exist at the same time in [`handles_come_and_go`].
pub const AT_ONCE: isize = 100;

/// Clones and drops handles of each side tens of thousands of times, one by one and sometimes
/// [`AT_ONCE`] together. The queue keeps at most `kept` bytes until it is dropped (row
/// `memory_never_returned`).
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

/// As [`memory_never_returned`], with several handles a side, dropped in another order each time.
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

/// Calls `work`, in which `left` allocations of this thread succeed, and later ones fail.
fn with_memory<R>(left: usize, work: impl FnOnce() -> R) -> R {
    LEFT.set(left);
    let answer = work();
    LEFT.set(usize::MAX);
    answer
}

/// A push into an unbounded queue says full and returns the item, whichever of its allocations
/// fails. Items can be popped without memory. When there is memory again, pushes succeed. Idle
/// handles, if the queue may have several, protect nodes that could be freed otherwise. All memory
/// is freed in the end.
pub fn out_of_memory<Q: Queue<u64>>() {
    let before = TAKEN.get();
    for left in 0..5 {
        let (mut tx, mut rx) = Q::with(Config::new(8)).expect("this capacity is possible");
        let _idle = (tx.try_clone(), rx.try_clone());
        let (mut pushed, mut popped) = (0, Vec::new());
        for round in 0..3 {
            // With no memory, or nearly enough for a push that allocates.
            for left in [0, left] {
                for _ in 0..100 {
                    match with_memory(left, || tx.try_push(pushed)) {
                        Ok(()) => pushed += 1,
                        Err(error) => assert_eq!(error, TryPushError::Full(pushed)),
                    }
                }
            }
            // The first time some items are left in the queue, then none.
            let there = pushed - popped.len() as u64;
            for _ in 0..if round == 0 { there.min(1) } else { there } {
                popped.push(with_memory(0, || rx.try_pop()).expect("there is an item"));
            }
        }
        for n in pushed..pushed + 1000 {
            assert_eq!(tx.try_push(n), Ok(()), "there is memory again");
        }
        popped.extend(rx.pop_iter());
        assert!(are_all::<Q>(popped.into_iter(), 0..pushed + 1000), "items are lost");
    }
    assert_eq!(TAKEN.get(), before, "bytes are taken and not given back");
}

/// No queue is made if an allocation fails, whichever it is.
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

/// Bytes that `make` allocates for its result.
pub fn bytes_of<T>(make: impl FnOnce() -> T) -> isize {
    let before = TAKEN.get();
    let _made = make();
    TAKEN.get() - before
}
