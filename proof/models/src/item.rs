//! The items of the models: they detect that an item is seen too early, twice, or never again.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::rc::Rc;

use corelane_loom::slot::Token;
use loom::cell::UnsafeCell;

/// An item that knows its place in the sequence.
pub(crate) trait Cargo: Send + 'static {
    /// Item number `number`.
    fn of(number: u64) -> Self;

    /// Which item this is. All that was done to it before must be visible.
    fn number(&self) -> u64;
}

thread_local! {
    /// The state of each ticket of this execution.
    ///
    /// One list suffices: loom runs all threads of an execution as coroutines of one thread.
    static LEDGER: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

struct Entry {
    live: bool,
    /// Written when the ticket is made and dropped, read when the ticket is looked at. loom finds
    /// accesses that are not ordered.
    payload: Rc<UnsafeCell<()>>,
}

/// The record of all tickets made in one execution.
#[derive(Debug)]
pub(crate) struct Ledger(());

impl Ledger {
    /// Starts an empty ledger. Cells belong to an execution, so each execution opens its own
    /// ledger.
    pub(crate) fn open() -> Self {
        LEDGER.with_borrow_mut(Vec::clear);
        Self(())
    }

    /// Checks that no ticket was lost. The drop of each ticket has checked that it was dropped only
    /// once.
    pub(crate) fn close(self) {
        LEDGER.with_borrow(|entries| {
            for (number, entry) in entries.iter().enumerate() {
                assert!(!entry.live, "item {number} was lost: its destructor never ran");
            }
        });
    }
}

/// The payload of item `number`, and whether the item is alive.
fn entry(number: u64) -> (Rc<UnsafeCell<()>>, bool) {
    LEDGER.with_borrow(|entries| {
        let entry = entries.get(number as usize).expect("this item was never made");
        (entry.payload.clone(), entry.live)
    })
}

/// Takes the payload of item `number` back, as the owner of a pool takes a buffer.
///
/// Fails if the item is still alive, or if the last access to the item does not happen before this
/// call.
pub(crate) fn reclaim(number: u64) {
    let (payload, live) = entry(number);
    assert!(!live, "item {number} should have been popped by now");
    payload.with_mut(|_| ());
}

/// An item with a destructor, in one non-zero word.
///
/// The word is a number and not an address: a queue that invents or doubles items is detected
/// before anything is freed twice.
#[derive(Debug)]
pub(crate) struct Ticket(NonZeroUsize);

impl Cargo for Ticket {
    fn of(number: u64) -> Self {
        let payload = Rc::new(UnsafeCell::new(()));
        payload.with_mut(|_| ());
        LEDGER.with_borrow_mut(|entries| {
            let fresh = Entry { live: true, payload };
            match entries.get_mut(number as usize) {
                Some(old) => {
                    assert!(!old.live, "the model makes item {number} twice");
                    *old = fresh;
                }
                None => {
                    assert_eq!(entries.len() as u64, number, "the model leaves a number out");
                    entries.push(fresh);
                }
            }
        });
        Self(NonZeroUsize::MIN.saturating_add(number as usize))
    }

    fn number(&self) -> u64 {
        let number = self.0.get() as u64 - 1;
        let (payload, live) = entry(number);
        assert!(live, "item {number} is seen again after its destructor ran");
        payload.with(|_| ());
        number
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // A model that has already failed leaves items behind.
        if std::thread::panicking() {
            return;
        }
        let number = self.0.get() as u64 - 1;
        let (payload, live) = entry(number);
        assert!(live, "item {number} is dropped twice");
        payload.with_mut(|_| ());
        LEDGER.with_borrow_mut(|entries| entries[number as usize].live = false);
    }
}

// SAFETY: a non-zero number goes through an address and back unchanged. If it is converted back
// twice, there are two tickets of one number, which the ledger detects.
unsafe impl Token for Ticket {
    fn into_word(self) -> NonNull<()> {
        let word = NonNull::without_provenance(self.0);
        std::mem::forget(self);
        word
    }

    unsafe fn from_word(word: NonNull<()>) -> Self {
        Self(word.addr())
    }
}

/// An item that can be copied, for the calls that move slices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number(NonZeroUsize);

impl Cargo for Number {
    fn of(number: u64) -> Self {
        Self(NonZeroUsize::MIN.saturating_add(number as usize))
    }

    fn number(&self) -> u64 {
        self.0.get() as u64 - 1
    }
}

// SAFETY: as for `NonZeroUsize`.
unsafe impl Token for Number {
    fn into_word(self) -> NonNull<()> {
        NonNull::without_provenance(self.0)
    }

    unsafe fn from_word(word: NonNull<()>) -> Self {
        Self(word.addr())
    }
}

/// An item that fills a cache line, so that queues which leave a line of slots unused leave one
/// slot unused.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Wide<T>(T);

impl<T: Cargo> Cargo for Wide<T> {
    fn of(number: u64) -> Self {
        Self(T::of(number))
    }

    fn number(&self) -> u64 {
        self.0.number()
    }
}

/// An item of which two fit into a line, even beside a counter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Narrow<T> {
    item: T,
    _rest: [u64; 2],
}

impl<T: Cargo> Cargo for Narrow<T> {
    fn of(number: u64) -> Self {
        Self { item: T::of(number), _rest: [0; 2] }
    }

    fn number(&self) -> u64 {
        self.item.number()
    }
}
