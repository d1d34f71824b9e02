//! A bell: threads and tasks sleep until it rings. It is an eventcount.
//!
//! A thread that waits for a change *announces* itself as a sleeper, *looks* once more whether the change has come, and then
//! sleeps. The thread that makes the change *publishes* it, and then rings the bell. Between the announcement and the look the
//! sleeper has the heavy fence of a `Barrier`, and the other thread has the light fence between publishing and its look for
//! sleepers. So the sleeper sees the change, or the other thread sees the sleeper. While nobody sleeps, to ring costs a load of
//! a line that nobody writes.
//!
//! Each ring wakes one sleeper, in the order in which they came. A sleeper that is woken and has no use for it, because it has
//! found the change already or gives up, wakes the next one: no ring is lost.

use alloc::collections::VecDeque;
use core::task::{Poll, Waker};
use core::{fmt, mem};

use crate::memory::{AtomicU64, Barrier, Mutex, Ordering, fence, limit};
use crate::pad::Padded;

/// Where threads and tasks sleep until a thread rings.
pub struct Bell {
    /// Number of sleepers. Nobody writes it while nobody sleeps.
    sleeping: Padded<AtomicU64>,
    barrier: Barrier,
    sleepers: Mutex<Sleepers>,
}

#[derive(Default)]
struct Sleepers {
    /// The sleepers, by their numbers, which grow.
    waiting: VecDeque<(u64, Waker)>,
    /// Number of the next sleeper.
    next: u64,
}

impl Sleepers {
    fn place(&self, number: u64) -> Option<usize> {
        self.waiting.binary_search_by_key(&number, |(number, _)| *number).ok()
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bell").finish_non_exhaustive()
    }
}

impl Default for Bell {
    /// A bell at which nobody sleeps.
    fn default() -> Self {
        Self {
            sleeping: Padded(AtomicU64::new(0)),
            barrier: Barrier::new(),
            sleepers: Mutex::new(Sleepers::default()),
        }
    }
}

impl Bell {
    /// Wakes the first sleeper, if there is one. All that the caller has published before is there for a sleeper that is about
    /// to sleep.
    #[inline(always)] // the price of each push and pop
    pub fn ring(&self) {
        if self.has_sleepers() {
            self.wake();
        }
    }

    /// As `n` rings.
    #[inline]
    pub fn ring_for(&self, n: usize) {
        if n > 0 && self.has_sleepers() {
            (0..n).all(|_| self.wake_one());
        }
    }

    /// Wakes all that sleep.
    pub fn ring_for_all(&self) {
        // Not the light fence: also what other threads did before, if this thread knows of it, is there for sleepers.
        fence(Ordering::SeqCst);
        // Relaxed: the fence orders it.
        if self.sleeping.load(Ordering::Relaxed) != 0 {
            let mut sleepers = self.sleepers.lock();
            let all = mem::take(&mut sleepers.waiting);
            self.count(&sleepers);
            drop(sleepers);
            all.into_iter().for_each(|(_, waker)| waker.wake());
        }
    }

    #[inline(always)]
    fn has_sleepers(&self) -> bool {
        self.barrier.light();
        // Relaxed: the fence orders it.
        self.sleeping.load(Ordering::Relaxed) != 0
    }

    #[cold]
    #[inline(never)]
    fn wake(&self) {
        self.wake_one();
    }

    /// Wakes the first sleeper, if there is one.
    fn wake_one(&self) -> bool {
        let mut sleepers = self.sleepers.lock();
        let first = sleepers.waiting.pop_front();
        self.count(&sleepers);
        drop(sleepers);
        // Without the lock: the waker's code may ring, too.
        first.is_some_and(|(_, waker)| {
            waker.wake();
            true
        })
    }

    /// Tells threads that ring how many sleep.
    fn count(&self, sleepers: &Sleepers) {
        // Relaxed: a thread that sees a sleeper takes the lock.
        self.sleeping.store(sleepers.waiting.len() as u64, Ordering::Relaxed);
    }

    /// One more sleeper, and its number. Then the caller must look before it sleeps. `None` if the system refused the fence: then
    /// the caller must not sleep.
    fn announce(&self, waker: &Waker) -> Option<u64> {
        let number = self.enter(waker);
        if self.fence() {
            return Some(number);
        }
        self.leave(number);
        None
    }

    /// One more sleeper, and its number. Then the caller must have a [fence](Self::fence) and look before it sleeps.
    pub(crate) fn enter(&self, waker: &Waker) -> u64 {
        let mut sleepers = self.sleepers.lock();
        let number = sleepers.next;
        sleepers.next += 1;
        sleepers.waiting.push_back((number, waker.clone()));
        self.count(&sleepers);
        number
    }

    /// The heavy fence, for all bells at once. `false` if the system refused it.
    #[must_use]
    pub(crate) fn fence(&self) -> bool {
        self.barrier.heavy()
    }

    /// Whether the sleeper hasn't been woken. From now on `waker` wakes it.
    fn still_sleeps(&self, number: u64, waker: &Waker) -> bool {
        let mut sleepers = self.sleepers.lock();
        let Some(place) = sleepers.place(number) else { return false };
        let known = &mut sleepers.waiting[place].1;
        let old = (!known.will_wake(waker)).then(|| mem::replace(known, waker.clone()));
        // Dropped without the lock: a waker may own a task, and this a sleeper.
        drop(sleepers);
        drop(old);
        true
    }

    /// The sleeper sleeps no more. If it was woken, it wakes the next one.
    fn leave(&self, number: u64) {
        if self.withdraw(number) {
            self.wake();
        }
    }

    /// The sleeper sleeps no more. Whether it was woken: then the caller must see to it that the ring is used.
    pub(crate) fn withdraw(&self, number: u64) -> bool {
        let mut sleepers = self.sleepers.lock();
        let left = sleepers.place(number).and_then(|place| sleepers.waiting.remove(place));
        self.count(&sleepers);
        // Before `left` is dropped: a waker may own a task, and this a sleeper.
        drop(sleepers);
        left.is_none()
    }
}

/// What a look has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look<R> {
    /// The wait is over.
    Done(R),
    /// Sleep until the bell rings.
    NotYet,
    /// Look again soon: no ring is promised.
    Busy,
}

/// One wait at a bell. Dropped, it is given up.
#[derive(Debug)]
pub struct Wait<'a> {
    bell: &'a Bell,
    sleep: Sleep,
}

impl<'a> Wait<'a> {
    /// A wait that begins.
    pub fn at(bell: &'a Bell) -> Self {
        Self { bell, sleep: Sleep::default() }
    }

    /// Looks, and if it is not over yet, sees to it that `waker` is woken by a ring from then on.
    pub fn poll<R>(&mut self, waker: &Waker, look: impl FnMut() -> Look<R>) -> Look<R> {
        self.sleep.poll(self.bell, waker, look)
    }

    /// As [`poll`](Self::poll), for the future of a task.
    pub(super) fn poll_task<R>(&mut self, waker: &Waker, look: impl FnMut() -> Look<R>) -> Poll<R> {
        self.sleep.poll_task(self.bell, waker, look)
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.sleep.end(self.bell);
    }
}

/// As [`Wait`], for those that keep the bell alive themselves: always the same bell. It must be [ended](Self::end).
#[derive(Debug, Default)]
pub(crate) struct Sleep {
    /// The number of the sleeper, if it has announced itself and is not known to be woken.
    sleeper: Option<u64>,
    /// Whether it was woken, and has neither found anything nor announced itself anew. Then the ring is not used yet.
    is_woken: bool,
    /// How often a task has let others run.
    yields: u32,
}

/// How often a task lets others run before it sleeps.
const YIELDS: u32 = limit(4, 0) as u32;

impl Sleep {
    /// As [`poll`](Self::poll), for the future of a task. It first lets other tasks run some times: to announce itself costs
    /// more.
    pub(crate) fn poll_task<R>(
        &mut self,
        bell: &Bell,
        waker: &Waker,
        mut look: impl FnMut() -> Look<R>,
    ) -> Poll<R> {
        if self.sleeper.is_none() && !self.is_woken && self.yields != YIELDS {
            if let Look::Done(found) = look() {
                return Poll::Ready(found);
            }
            self.yields += 1;
            waker.wake_by_ref();
            return Poll::Pending;
        }
        match self.poll(bell, waker, look) {
            Look::Done(found) => return Poll::Ready(found),
            Look::NotYet => {}
            Look::Busy => waker.wake_by_ref(),
        }
        Poll::Pending
    }

    /// As [`Wait::poll`].
    pub(crate) fn poll<R>(
        &mut self,
        bell: &Bell,
        waker: &Waker,
        mut look: impl FnMut() -> Look<R>,
    ) -> Look<R> {
        if self.sleeper.is_some_and(|number| !bell.still_sleeps(number, waker)) {
            (self.sleeper, self.is_woken) = (None, true);
        }
        let mut found = look();
        if matches!(found, Look::NotYet) && self.sleeper.is_none() {
            self.sleeper = bell.announce(waker);
            found = match self.sleeper {
                Some(_) => look(),
                None => Look::Busy,
            };
        }
        match found {
            // The ring was for nothing: from now on there will be another.
            Look::NotYet => self.is_woken = false,
            Look::Done(_) => {
                self.is_woken = false;
                self.leave(bell);
            }
            Look::Busy => self.leave(bell),
        }
        found
    }

    fn leave(&mut self, bell: &Bell) {
        if let Some(number) = self.sleeper.take() {
            bell.leave(number);
        }
    }

    /// Gives the wait up. An unused ring wakes the next sleeper.
    pub(crate) fn end(&mut self, bell: &Bell) {
        self.leave(bell);
        if mem::take(&mut self.is_woken) {
            bell.wake();
        }
    }
}
