//! Items that are counted when they are dropped.

use std::cell::RefCell;
use std::num::NonZeroU64;
use std::ptr::NonNull;

use corelane_sim::slot::Token;

thread_local! {
    /// All items of the run on this host thread.
    static LEDGER: RefCell<Ledger> = const { RefCell::new(Ledger::EMPTY) };
}

#[derive(Debug)]
struct Ledger {
    lines: Vec<Line>,
    /// Whether an item was dropped that has no line.
    has_strangers: bool,
}

impl Ledger {
    const EMPTY: Self = Self { lines: Vec::new(), has_strangers: false };
}

/// The state of an item.
#[derive(Debug)]
struct Line {
    number: u64,
    drops: u32,
}

/// An item with a number, and a line in the ledger. It owns no memory, so a double drop does no
/// harm, and is detected.
#[derive(Debug)]
pub struct Counted(NonZeroU64);

impl Counted {
    pub(crate) fn new(number: u64) -> Self {
        LEDGER.with_borrow_mut(|ledger| {
            ledger.lines.push(Line { number, drops: 0 });
            Self(NonZeroU64::new(ledger.lines.len() as u64).expect("there's a line now"))
        })
    }

    pub(crate) fn number(&self) -> u64 {
        LEDGER.with_borrow(|ledger| ledger.lines[self.line()].number)
    }

    fn line(&self) -> usize {
        self.0.get() as usize - 1
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LEDGER.with_borrow_mut(|ledger| match ledger.lines.get_mut(self.line()) {
            Some(line) => line.drops += 1,
            // No panic here: the drop may be part of another panic.
            None => ledger.has_strangers = true,
        });
    }
}

// SAFETY: the word is the number of the line, which isn't zero and owns nothing.
unsafe impl Token for Counted {
    fn into_word(self) -> NonNull<()> {
        let word = NonZeroU64::try_into(self.0).expect("lines are numbered by addresses' width");
        std::mem::forget(self);
        NonNull::without_provenance(word)
    }

    unsafe fn from_word(word: NonNull<()>) -> Self {
        Self(NonZeroU64::try_from(word.addr()).expect("an address has no more bits"))
    }
}

/// Forgets all items.
pub(crate) fn open() {
    LEDGER.set(Ledger::EMPTY);
}

/// Checks that every item has been dropped, exactly once.
pub(crate) fn settle() {
    LEDGER.with_borrow(|ledger| {
        assert!(!ledger.has_strangers, "something was dropped that never was an item");
        for Line { number, drops } in &ledger.lines {
            assert_eq!(*drops, 1, "item {number} was dropped {drops} times");
        }
    });
}
