//! The word at which threads of several processes sleep until a thread rings: an eventcount in 32
//! bits. This module has everything except the system calls.
//!
//! A thread that finds nothing counts itself as a sleeper, runs a fence, looks once more, and
//! sleeps until the word changes. The other side publishes, runs a fence, and reads the word. So
//! the sleeper sees what was published, or the other side sees the sleeper. A call of `ring` takes
//! one sleeper off the count, and the system wakes one thread. The word also counts these wake-ups.
//! A sleeper that finds another number of wake-ups may be the one that was taken off the count, so
//! it counts itself anew.
//!
//! While no thread sleeps, `ring` costs a load: the fence is the light one of a `Barrier`, and a
//! sleeper runs the heavy one, a `membarrier(2)` of some 10 microseconds. Then the sleeper also
//! sets a bit, by which the other side runs `SeqCst` fences. Further sleepers need only such a
//! fence, until `ring` was called `IN_VAIN` times while no thread slept.
//!
//! The count is never smaller than the number of sleepers, but it may be larger: by a process that
//! died asleep, or by a sleeper that has counted itself anew. If the system finds no thread to
//! wake, all sleepers are taken off the count. A thread that is about to sleep then sees another
//! number of wake-ups.

use core::cell::Cell;

use crate::memory::{AtomicU32, Barrier, Ordering, fence, limit};

/// The bits of the number of sleepers. As a number: all of them.
pub const SLEEPERS: u32 = (1 << 12) - 1;
/// The other side runs fences. A heavy fence has run since it was told to.
const FENCED: u32 = 1 << 12;
/// If none of these bits is set, no thread sleeps, and the other side runs no fences.
const STATE: u32 = FENCED | SLEEPERS;
/// The lowest bit of the number of wake-ups.
const RING: u32 = 1 << 13;

/// Number of calls of `ring` that find no sleeper, after which they need no fence any more.
const IN_VAIN: u32 = limit(8, 1) as u32;

/// The state of one thread that sleeps at a word, or rings.
#[derive(Debug)]
pub struct Knows {
    barrier: Barrier,
    /// Calls of `ring` that found no sleeper, since the last one that woke a thread.
    in_vain: Cell<u32>,
}

/// A thread that is about to sleep.
#[derive(Debug, Clone, Copy)]
#[must_use = "it is in the count"]
pub struct Sleeper {
    /// The word while it sleeps. The system lets it sleep only if the word is still the same.
    pub word: u32,
    /// Whether no wake-up can be lost. If not, the system has refused the fence.
    pub is_fenced: bool,
    /// Whether it is in the count: it isn't if the count has its largest value.
    is_counted: bool,
}

impl Sleeper {
    /// Whether a sleeper was taken off the count since this thread counted itself. If not, the
    /// thread may go on sleeping.
    pub fn is_rung(&mut self, word: &AtomicU32) -> bool {
        // Relaxed: the kernel orders a sleep and a wake-up, and a woken thread looks again, with a
        // fence.
        let now = word.load(Ordering::Relaxed);
        let is_rung = rings(now) != rings(self.word);
        if !is_rung {
            self.word = now;
        }
        is_rung
    }

    /// Ends the sleep of this thread. Returns whether it may have been woken: then it must look, or
    /// pass the wake-up on.
    pub fn leave(self, word: &AtomicU32) -> bool {
        let mut seen = self.word;
        while rings(seen) == rings(self.word) {
            // Another process may have written anything.
            let less = seen - u32::from(self.is_counted && seen & SLEEPERS != 0);
            // Relaxed, both: only the count.
            match word.compare_exchange(seen, less, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return false,
                Err(found) => seen = found,
            }
        }
        true
    }
}

/// The number of wake-ups.
fn rings(word: u32) -> u32 {
    word / RING
}

impl Knows {
    /// Nothing yet.
    pub fn new(barrier: Barrier) -> Self {
        Self { barrier, in_vain: Cell::new(0) }
    }

    /// Takes up to `n` sleepers off the count. Returns whether the system must wake as many
    /// threads.
    #[inline(always)] // the price of each push and pop
    pub fn ring(&self, word: &AtomicU32, n: u32) -> bool {
        // The fence orders the load.
        self.barrier.light_load_u32(word, STATE) != 0 && self.take_off(word, n)
    }

    /// Whether threads are in the count.
    pub fn has_sleepers(&self, word: &AtomicU32) -> bool {
        // Relaxed: only the count.
        word.load(Ordering::Relaxed) & SLEEPERS != 0
    }

    /// Takes up to `most` sleepers off the count.
    #[cold]
    #[inline(never)]
    fn take_off(&self, word: &AtomicU32, most: u32) -> bool {
        fence(Ordering::SeqCst);
        // Relaxed, all: the fence orders the load.
        let mut seen = word.load(Ordering::Relaxed);
        while seen & SLEEPERS != 0 {
            let rung = seen.wrapping_add(RING) - most.min(seen & SLEEPERS);
            match word.compare_exchange(seen, rung, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    self.in_vain.set(0);
                    return true;
                }
                Err(found) => seen = found,
            }
        }
        self.ring_in_vain(word, seen);
        false
    }

    /// The fence found no sleeper: after some of these, this side runs no fences any more.
    fn ring_in_vain(&self, word: &AtomicU32, seen: u32) {
        self.in_vain.set(self.in_vain.get() + 1);
        if self.in_vain.get() >= IN_VAIN {
            self.in_vain.set(0);
            // Relaxed, both: it fails if a thread goes to sleep at the same time.
            let _ =
                word.compare_exchange(seen, seen & !FENCED, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Counts this thread as a sleeper, and runs a fence.
    pub fn announce(&self, word: &AtomicU32) -> Sleeper {
        let mut seen = word.load(Ordering::Relaxed);
        let (more, is_counted) = loop {
            let is_counted = seen & SLEEPERS < SLEEPERS;
            let more = seen + u32::from(is_counted);
            // Relaxed, both: a fence follows.
            match word.compare_exchange(seen, more, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break (more, is_counted),
                Err(found) => seen = found,
            }
        };
        let mut sleeper = Sleeper { word: more, is_fenced: true, is_counted };
        if more & FENCED != 0 {
            fence(Ordering::SeqCst);
        } else {
            sleeper.is_fenced = self.barrier.heavy();
            if sleeper.is_fenced && is_counted {
                sleeper.word = confirm(word, more);
            }
        }
        sleeper
    }
}

/// After a heavy fence: all calls of `ring` run `SeqCst` fences, because the thread that ran the
/// heavy fence is in the count. Returns the word.
fn confirm(word: &AtomicU32, counted: u32) -> u32 {
    let mut seen = counted;
    // After a wake-up the thread may not be in the count any more.
    while rings(seen) == rings(counted) && seen & FENCED == 0 {
        let fenced = seen | FENCED;
        // Relaxed, both: the heavy fence came before, and a thread that relies on this has a fence
        // after it.
        match word.compare_exchange(seen, fenced, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return fenced,
            Err(found) => seen = found,
        }
    }
    if rings(seen) == rings(counted) { seen } else { counted }
}
