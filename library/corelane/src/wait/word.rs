//! The word at which one thread sleeps until another one, perhaps of another process, rings. All but the calls of the system.
//!
//! A thread that finds nothing stores that it sleeps, has a fence, looks once more, and sleeps. The other side publishes, has a
//! fence, and looks at the word. So the sleeper sees what was published, or the other side sees the sleeper. The fence of the sleeper
//! is the heavy one of a `Barrier`.
//!
//! The heavy fence is a `membarrier(2)`, of some 10 microseconds. So a sleeper that has had one also tells the other side to have
//! `SeqCst` fences itself, until it has rung `IN_VAIN` times with nobody asleep. Until then further sleeps need only such a fence.
//!
//! A dead process leaves a word that says that it sleeps. The next ring resets it, for one call of the system.

use core::cell::Cell;

use crate::memory::{AtomicU32, Barrier, Ordering, fence, limit};

/// The thread of this side sleeps.
const ASLEEP: u32 = 1;
/// The other side must have a `SeqCst` fence before it looks.
const FENCED: u32 = 2;
/// The word while somebody sleeps.
pub const SLEEPS: u32 = FENCED | ASLEEP;

/// Rings in vain until the other side needs no fence any more.
const IN_VAIN: u32 = limit(8, 1) as u32;

/// What one thread knows of a word: the one that sleeps there, or the one that rings.
#[derive(Debug)]
pub struct Knows {
    barrier: Barrier,
    /// Rings in vain since the last sleep.
    in_vain: Cell<u32>,
    /// Whether a heavy fence of this thread has followed the last time that it told the other side to have fences.
    is_confirmed: Cell<bool>,
}

impl Knows {
    /// Nothing yet.
    pub fn new(barrier: Barrier) -> Self {
        Self { barrier, in_vain: Cell::new(0), is_confirmed: Cell::new(false) }
    }

    /// Rings. Whether the system must wake the thread that sleeps at the word.
    #[inline(always)] // the price of each push and pop
    pub fn ring(&self, word: &AtomicU32) -> bool {
        // The fence orders the load.
        self.barrier.light_load_u32(word) != 0 && self.finds_sleeper(word)
    }

    /// The word is not 0: somebody sleeps, or this side must have a fence.
    #[cold]
    #[inline(never)]
    fn finds_sleeper(&self, word: &AtomicU32) -> bool {
        fence(Ordering::SeqCst);
        // Relaxed: the fence orders it.
        if word.load(Ordering::Relaxed) & ASLEEP == 0 {
            self.ring_in_vain(word);
            return false;
        }
        self.in_vain.set(0);
        awake(word)
    }

    /// The fence was for nothing: after some of these, this side has no fences any more.
    fn ring_in_vain(&self, word: &AtomicU32) {
        self.in_vain.set(self.in_vain.get() + 1);
        if self.in_vain.get() >= IN_VAIN {
            self.in_vain.set(0);
            // Relaxed, both: it fails if somebody goes to sleep at the same time and relies on the fences.
            let (from, to) = (FENCED, 0);
            let _ = word.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Says that this thread is about to sleep, and has a fence. False if the system refused it.
    pub fn announce(&self, word: &AtomicU32) -> bool {
        // Relaxed, all: a fence follows.
        let rely = || word.compare_exchange(FENCED, SLEEPS, Ordering::Relaxed, Ordering::Relaxed);
        if self.is_confirmed.get() && rely().is_ok() {
            fence(Ordering::SeqCst);
            return true;
        }
        word.store(SLEEPS, Ordering::Relaxed);
        self.is_confirmed.set(self.barrier.heavy());
        self.is_confirmed.get()
    }

    /// Says that this thread doesn't sleep.
    pub fn rise(&self, word: &AtomicU32) {
        awake(word);
    }
}

/// Nobody sleeps any more. Whether somebody did.
fn awake(word: &AtomicU32) -> bool {
    // Relaxed, both: the kernel orders a sleep and a wake-up, and a ring that sees the old value wakes nobody.
    word.compare_exchange(SLEEPS, FENCED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}
