//! Items that are counted when they are dropped.

use std::any::Any;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread::panicking;

use crate::Item;

/// The payload of panics that tests cause.
#[derive(Debug)]
struct Bomb;

/// Panics without a message, so that tests print no panics that they cause.
pub fn explode() -> ! {
    resume_unwind(Box::new(Bomb))
}

/// Calls `f`, which must [`explode`].
pub fn must_explode<R>(f: impl FnOnce() -> R) {
    let panic: Box<dyn Any + Send> = match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => panic!("nothing panicked"),
        Err(panic) => panic,
    };
    if !panic.is::<Bomb>() {
        resume_unwind(panic);
    }
}

/// Makes items and counts how often each is dropped.
#[derive(Debug)]
pub struct Ledger {
    made: AtomicUsize,
    drops: Box<[AtomicU8]>,
    /// Number of the item whose destructor panics.
    bomb: AtomicUsize,
}

impl Ledger {
    /// A ledger for at most `most` items.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            made: AtomicUsize::new(0),
            drops: (0..most).map(|_| AtomicU8::new(0)).collect(),
            bomb: AtomicUsize::new(usize::MAX),
        })
    }

    /// The next item.
    pub fn make<T: From<Counted>>(self: &Arc<Self>) -> T {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        assert!(number < self.drops.len(), "more items than the ledger has lines");
        T::from(Counted { number, ledger: ManuallyDrop::new(Arc::clone(self)) })
    }

    /// Makes the destructor of item `number` panic.
    pub fn arm(&self, number: usize) {
        self.bomb.store(number, Ordering::Relaxed);
    }

    /// Number of items made so far.
    pub fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    /// Number of destructors that have run.
    pub fn dropped(&self) -> usize {
        self.counts().sum()
    }

    fn counts(&self) -> impl Iterator<Item = usize> {
        self.drops.iter().take(self.made()).map(|n| n.load(Ordering::Relaxed).into())
    }

    /// Checks that every item made has been dropped, exactly once.
    pub fn settle(&self) {
        for (number, drops) in self.counts().enumerate() {
            assert_eq!(drops, 1, "item {number} of {} was dropped {drops} times", self.made());
        }
    }

    /// Checks that no item has been dropped twice.
    pub fn settle_with_leaks(&self) {
        for (number, drops) in self.counts().enumerate() {
            assert!(drops <= 1, "item {number} of {} was dropped {drops} times", self.made());
        }
    }
}

/// An item of a [`Ledger`].
#[derive(Debug)]
pub struct Counted {
    number: usize,
    /// Released by the first drop only, so that a second drop is reported and doesn't crash.
    ledger: ManuallyDrop<Arc<Ledger>>,
}

thread_local! {
    /// The ledger of the items that this thread makes by their number.
    static LEDGER: RefCell<Arc<Ledger>> = RefCell::new(Ledger::new(0));
}

impl Ledger {
    /// Begins a new ledger for at most `most` items that this thread makes by their number.
    pub fn begin(most: usize) {
        LEDGER.set(Self::new(most));
    }

    /// Returns the ledger of [`begin`](Self::begin).
    pub fn end() -> Arc<Self> {
        LEDGER.replace(Self::new(0))
    }
}

/// Numbered by the thread's ledger, in the same order.
impl Item for Counted {
    fn of(_: u64) -> Self {
        LEDGER.with_borrow(|ledger| ledger.make())
    }

    fn is(&self, n: u64) -> bool {
        self.number as u64 == n
    }
}

impl Item for Box<Counted> {
    fn of(n: u64) -> Self {
        Self::new(Counted::of(n))
    }

    fn is(&self, n: u64) -> bool {
        (**self).is(n)
    }
}

impl Counted {
    /// The item's number, in the order in which the items were made.
    pub fn number(&self) -> usize {
        self.number
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let drops = self.ledger.drops[self.number].fetch_add(1, Ordering::Relaxed);
        // Doesn't panic when a check has failed: a second panic would abort before the first is
        // reported. Nor in a second drop, which `settle` reports.
        let is_armed = self.ledger.bomb.load(Ordering::Relaxed) == self.number;
        let explodes = is_armed && drops == 0 && !panicking();
        if drops == 0 {
            // SAFETY: by the count this is the first drop.
            unsafe { ManuallyDrop::drop(&mut self.ledger) };
        }
        if explodes {
            explode();
        }
    }
}
