// Above 500 lines: one protocol, with the argument why it is right.

//! A bell: threads and tasks sleep until a thread rings it. It is an eventcount.
//!
//! A thread that waits for a change *announces* itself as a sleeper, *looks* once more whether the
//! change has come, and then sleeps. The thread that makes the change *publishes* it, and then
//! rings the bell. Each of them has a fence between these two steps. So the sleeper sees the
//! change, or the other thread sees the sleeper.
//!
//! While no thread sleeps, ringing the bell costs a load of a line that no thread writes: the fence
//! is the light one of a `Barrier`, and a sleeper runs the heavy one. The first sleeper also sets
//! `FENCED`: while it is set, threads that ring the bell run `SeqCst` fences. Then further
//! sleepers need no heavy fence, until the bell has been rung `IN_VAIN` times while no thread
//! slept. So these fences cost about as much as the heavy fence, and sleeps that come often need no
//! heavy fence.
//!
//! Each call of `ring` wakes one sleeper, the oldest first. A woken sleeper that doesn't need the
//! wake-up, because it has found the change already or gives up, wakes the next one: no wake-up is
//! lost.
//!
//! If wakers panic, all others are woken, and then the first panic goes on in the call that rang
//! the bell. A call that has popped an item catches the panic instead; otherwise the item would be
//! lost.

use core::task::{Poll, Waker};
use core::{fmt, iter, mem, slice};

use super::budget::Budget;
use super::by_number::ByNumber;
use crate::lease::Word;
use crate::memory::{AtomicU64, Barrier, Mutex, Ordering, fence, limit};
use crate::pad::Padded;
use crate::region::Counted;
use crate::unwind::{PanicPayload, call_each, catch_each, go_on};

/// Threads and tasks sleep here until a thread rings it.
pub struct Bell {
    /// Number of sleepers, and [`FENCED`]. No thread writes it while no thread sleeps.
    sleeping: Padded<AtomicU64>,
    barrier: Barrier,
    /// About how many `SeqCst` fences of calls of `ring` found no sleeper: threads may count at
    /// once.
    in_vain: AtomicU64,
    /// Sleepers of smaller numbers were woken, or have left. A sleeper that is woken reads it
    /// instead of taking the lock.
    oldest: AtomicU64,
    sleepers: Mutex<Sleepers>,
    /// If there is a word, threads read the word instead of the bell: its users are asked for
    /// attention while the bell needs them to look here.
    word: Option<Counted<Word>>,
}

/// A call of `ring` must run a `SeqCst` fence.
const FENCED: u64 = 1 << 63;

/// Number of calls of `ring` that find no sleeper, after which they need no fence any more. Between
/// far cores these fences take about as long as a heavy one.
const IN_VAIN: u64 = limit(8, 1);

/// Number of sleepers that are taken at once, onto the stack.
const SOME: usize = 8;

#[derive(Default)]
struct Sleepers {
    waiting: ByNumber,
    ringers: Ringers,
    /// The value of `sleeping` that was stored last: the number of sleepers and [`FENCED`].
    told: u64,
}

/// Which fences calls of `ring` run.
#[derive(Default, Clone, Copy)]
enum Ringers {
    #[default]
    Light,
    /// [`FENCED`] was set by the sleeper of this number. A heavy fence must follow: a thread that
    /// published and read `sleeping` before that may still hold its store back.
    Told(u64),
    Fenced,
}

/// A sleeper's number, and whether a heavy fence must follow its announcement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) needs_heavy: bool,
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bell").finish_non_exhaustive()
    }
}

impl Default for Bell {
    /// A bell at which no thread sleeps.
    fn default() -> Self {
        Self::of(None)
    }
}

impl Bell {
    /// As [`default`](Self::default). Users of `word` ring the bell if they are asked for attention
    /// there.
    pub(crate) fn of(word: Option<Counted<Word>>) -> Self {
        Self {
            sleeping: Padded(AtomicU64::new(0)),
            barrier: Barrier::new(),
            in_vain: AtomicU64::new(0),
            oldest: AtomicU64::new(0),
            sleepers: Mutex::new(Sleepers::default()),
            word,
        }
    }

    /// Stops the users of the word: see [`Word::stop`].
    pub(crate) fn stop_users(&self) {
        if let Some(word) = &self.word {
            word.stop();
        }
    }

    /// Wakes the first sleeper, if there is one. A sleeper that is about to sleep sees everything
    /// that the caller has published before.
    #[inline(always)] // the price of each push and pop
    pub fn ring(&self) {
        if !self.is_quiet() {
            self.wake(1);
        }
    }

    /// As [`ring`](Self::ring), for a caller that has an item, which a panic would lose: a waker's
    /// panic is caught here.
    #[inline(always)] // as `ring`
    pub(crate) fn ring_and_catch(&self) {
        if !self.is_quiet() {
            self.wake_and_catch(1);
        }
    }

    /// As `n` times [`ring_and_catch`](Self::ring_and_catch).
    #[inline]
    pub(crate) fn ring_for_and_catch(&self, n: usize) {
        if n > 0 && !self.is_quiet() {
            self.wake_and_catch(n);
        }
    }

    /// As [`ring`](Self::ring), but wakes the newest sleeper. If there is one, `may` is asked
    /// whether it may be woken, and asked again with the lock. Then `before` is called. Returns
    /// whether a sleeper was woken.
    #[inline(always)]
    pub(crate) fn ring_if(&self, may: impl Fn() -> bool, before: impl FnOnce()) -> bool {
        !self.is_quiet() && self.wake_last_if(may, before)
    }

    #[cold]
    #[inline(never)]
    fn wake_last_if(&self, may: impl Fn() -> bool, before: impl FnOnce()) -> bool {
        if !self.has_sleepers() {
            self.ring_in_vain();
            return false;
        }
        if !may() {
            return false;
        }
        let mut sleepers = self.sleepers.lock();
        if sleepers.waiting.is_empty() || !may() {
            return false;
        }
        before();
        let last = sleepers.waiting.pop_last();
        self.tell(&mut sleepers);
        drop(sleepers);
        last.map(Waker::wake).is_some()
    }

    /// Number of sleepers.
    pub(crate) fn len(&self) -> usize {
        self.sleepers.lock().waiting.len()
    }

    /// As `n` calls of [`ring`](Self::ring).
    #[inline]
    pub fn ring_for(&self, n: usize) {
        if n > 0 && !self.is_quiet() {
            self.wake(n);
        }
    }

    /// Wakes all sleepers. While no thread sleeps, it costs what [`ring`](Self::ring) costs.
    #[inline(always)] // as `ring`
    pub fn ring_for_all(&self) {
        Self::ring_each_for_all(slice::from_ref(self));
    }

    /// Wakes all sleepers of these bells, with one fence for all. Where many sleep, several bells
    /// have several locks.
    #[inline(always)] // as `ring`
    pub fn ring_each_for_all(bells: &[Self]) {
        let Some((first, others)) = bells.split_first() else { return };
        // Relaxed: the light fence of `is_quiet` comes before these loads, too.
        let is_zero = |bell: &Self| bell.sleeping.load(Ordering::Relaxed) == 0;
        if !(first.is_quiet() && others.iter().all(is_zero)) {
            Self::wake_all(bells);
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_all(bells: &[Self]) {
        // As in `has_sleepers`, for all bells: it comes before each of the loads below.
        fence(Ordering::SeqCst);
        if bells.iter().any(Self::counts_sleepers) {
            let woken = bells.iter().filter(|bell| bell.counts_sleepers());
            call_each(woken, Self::wake_sleepers);
        } else {
            // Only now: while threads sleep at one of the bells, the fence is needed anyway.
            let is_fenced = |bell: &&Self| bell.sleeping.load(Ordering::Relaxed) != 0;
            bells.iter().filter(is_fenced).for_each(Self::ring_in_vain);
        }
    }

    /// As [`ring_for_all`](Self::ring_for_all), but the caller wakes them.
    pub(crate) fn take_all(&self) -> impl Iterator<Item = Waker> {
        let mut left = if self.has_sleepers() { usize::MAX } else { 0 };
        let next = move || (left > 0).then(|| self.take_some(&mut left));
        iter::from_fn(next).flatten().flatten()
    }

    /// Wakes all that sleep now.
    fn wake_sleepers(&self) {
        let mut left = usize::MAX;
        let next = || (left > 0).then(|| self.take_some(&mut left));
        call_each(iter::from_fn(next), |mut some| {
            wake_each(some.iter_mut().map_while(Option::take));
        });
    }

    /// Takes some of the sleepers that are `left`, at first all: a sleeper that comes meanwhile may
    /// be taken instead of one that leaves, but there is an end.
    #[inline]
    fn take_some(&self, left: &mut usize) -> [Option<Waker>; SOME] {
        let mut some = [const { None }; SOME];
        let mut sleepers = self.sleepers.lock();
        let n = sleepers.waiting.len().min(*left);
        for (waker, _) in some.iter_mut().zip(0..n) {
            *waker = sleepers.waiting.pop_first();
        }
        *left = n.saturating_sub(SOME);
        self.tell_woken(&mut sleepers);
        some
    }

    /// Whether no thread sleeps, and `ring` needs no `SeqCst` fence.
    #[inline(always)]
    pub(crate) fn is_quiet(&self) -> bool {
        self.barrier.light_load(&self.sleeping) == 0
    }

    #[inline]
    fn has_sleepers(&self) -> bool {
        // Not the light fence: sleepers may rely on this one. Sleepers also see what other threads
        // did before, if this thread knows of it.
        fence(Ordering::SeqCst);
        self.counts_sleepers()
    }

    /// Whether there are sleepers, after a `SeqCst` fence.
    #[inline]
    fn counts_sleepers(&self) -> bool {
        // Relaxed: the fence orders it.
        self.sleeping.load(Ordering::Relaxed) & !FENCED != 0
    }

    #[cold]
    #[inline(never)]
    fn wake(&self, n: usize) {
        match self.has_sleepers() {
            true => go_on(self.wake_first(n)),
            false => self.ring_in_vain(),
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_and_catch(&self, n: usize) {
        match self.has_sleepers() {
            // Not dropped: the destructor may panic, too.
            true => mem::forget(self.wake_first(n)),
            false => self.ring_in_vain(),
        }
    }

    /// The fence found no sleeper: after some of these, calls of `ring` run no fence any more.
    fn ring_in_vain(&self) {
        // Relaxed: only a count.
        let in_vain = self.in_vain.load(Ordering::Relaxed) + 1;
        self.in_vain.store(in_vain, Ordering::Relaxed);
        if in_vain >= IN_VAIN {
            let mut sleepers = self.sleepers.lock();
            sleepers.ringers = Ringers::Light;
            self.tell(&mut sleepers);
        }
    }

    /// Wakes the first `n` sleepers, or as many as there are. Returns the first panic.
    fn wake_first(&self, n: usize) -> Option<PanicPayload> {
        // Each without the lock: the waker's code may call `ring`, too.
        catch_each(iter::from_fn(|| self.take_first()).take(n), Waker::wake)
    }

    fn take_first(&self) -> Option<Waker> {
        let mut sleepers = self.sleepers.lock();
        let first = sleepers.waiting.pop_first();
        self.tell_woken(&mut sleepers);
        first
    }

    /// After the first sleepers were taken.
    fn tell_woken(&self, sleepers: &mut Sleepers) {
        // Relaxed: see `still_sleeps`.
        self.oldest.store(sleepers.waiting.oldest(), Ordering::Relaxed);
        self.tell(sleepers);
    }

    /// Stores the number of sleepers, and whether `ring` must run `SeqCst` fences.
    fn tell(&self, sleepers: &mut Sleepers) {
        let fenced = if matches!(sleepers.ringers, Ringers::Light) { 0 } else { FENCED };
        let sleeping = sleepers.waiting.len() as u64 | fenced;
        let told = mem::replace(&mut sleepers.told, sleeping);
        if sleeping != told {
            // Relaxed: a thread that sees a sleeper takes the lock.
            self.sleeping.store(sleeping, Ordering::Relaxed);
        }
        if let (Some(word), true) = (&self.word, (sleeping != 0) != (told != 0)) {
            word.ask(sleeping != 0);
        }
    }

    /// One more sleeper, and its number. Then the caller must look before it sleeps. `None` if the
    /// system refused the fence: then the caller must not sleep.
    fn announce(&self, waker: &Waker) -> Option<u64> {
        let entry = self.enter(waker);
        if Self::fence([(self, entry)].into_iter()) {
            return Some(entry.number);
        }
        go_on(self.leave(entry.number));
        None
    }

    /// One more sleeper. Then the caller must run a [fence](Self::fence) and look before it sleeps.
    pub(crate) fn enter(&self, waker: &Waker) -> Entry {
        let mut sleepers = self.sleepers.lock();
        let number = sleepers.waiting.push(waker.clone());
        if matches!(sleepers.ringers, Ringers::Light) {
            sleepers.ringers = Ringers::Told(number);
        }
        self.tell(&mut sleepers);
        // Relaxed: only a count.
        self.in_vain.store(0, Ordering::Relaxed);
        Entry { number, needs_heavy: !matches!(sleepers.ringers, Ringers::Fenced) }
    }

    /// The fence of a sleeper, one for all bells at which it is announced. `false` if the system
    /// refused it.
    #[must_use]
    pub(crate) fn fence<'a>(entries: impl Iterator<Item = (&'a Self, Entry)> + Clone) -> bool {
        let needs_heavy = |(_, entry): &(&Self, Entry)| entry.needs_heavy;
        let Some((bell, _)) = entries.clone().find(needs_heavy) else {
            fence(Ordering::SeqCst);
            return true;
        };
        if !bell.heavy_fence() {
            return false;
        }
        entries.filter(needs_heavy).for_each(|(bell, entry)| bell.confirm(entry.number));
        true
    }

    /// The heavy fence, which orders what threads do before and after their fences in `ring`.
    /// `false` if the system refused it.
    #[must_use]
    pub(crate) fn heavy_fence(&self) -> bool {
        self.barrier.heavy()
    }

    /// The fence that pairs with the heavy one.
    #[inline(always)]
    pub(crate) fn light_fence(&self) {
        self.barrier.light();
    }

    /// A heavy fence has followed the announcement of this sleeper: calls of `ring` run `SeqCst`
    /// fences if [`FENCED`] was set before.
    fn confirm(&self, number: u64) {
        let mut sleepers = self.sleepers.lock();
        if matches!(sleepers.ringers, Ringers::Told(by) if by <= number) {
            sleepers.ringers = Ringers::Fenced;
        }
    }

    /// Whether the sleeper hasn't been woken. From now on `waker` wakes it.
    pub(crate) fn still_sleeps(&self, number: u64, waker: &Waker) -> bool {
        // Relaxed: this sleeper was counted before. If a look finds nothing, the lock of the next
        // announcement orders what the thread that rang the bell did.
        if self.oldest.load(Ordering::Relaxed) > number {
            return false;
        }
        let mut sleepers = self.sleepers.lock();
        let Some(known) = sleepers.waiting.get_mut(number) else { return false };
        let old = (!known.will_wake(waker)).then(|| mem::replace(known, waker.clone()));
        // Dropped without the lock: a waker may own a task, and this a sleeper.
        drop(sleepers);
        drop(old);
        true
    }

    /// Removes the sleeper. If it was woken before, wakes the next sleeper, and returns the panic
    /// if this wake-up panics.
    fn leave(&self, number: u64) -> Option<PanicPayload> {
        if self.withdraw(number) { self.wake_first(1) } else { None }
    }

    /// The sleeper no longer sleeps. Returns whether it was woken: then the caller must use the
    /// wake-up or pass it on.
    pub(crate) fn withdraw(&self, number: u64) -> bool {
        let mut sleepers = self.sleepers.lock();
        let left = sleepers.waiting.remove(number);
        self.tell(&mut sleepers);
        // Before `left` is dropped: a waker may own a task, and this a sleeper.
        drop(sleepers);
        left.is_none()
    }
}

/// Wakes all of them, also if one panics: see [`call_each`].
pub(crate) fn wake_each(wakers: impl IntoIterator<Item = Waker>) {
    call_each(wakers, Waker::wake);
}

/// What a look has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look<R> {
    /// The wait is over.
    Done(R),
    /// Sleep until the bell is rung.
    NotYet,
    /// Look again soon: the bell may not be rung.
    Busy,
}

impl<R> Look<R> {
    /// With another result.
    pub(crate) fn map<S>(self, of: impl FnOnce(R) -> S) -> Look<S> {
        match self {
            Self::Done(found) => Look::Done(of(found)),
            Self::NotYet => Look::NotYet,
            Self::Busy => Look::Busy,
        }
    }
}

/// One wait at a bell. Dropped, it is given up.
#[derive(Debug)]
pub struct Wait<'a> {
    bell: &'a Bell,
    sleep: Sleep,
    budget: Budget,
}

impl<'a> Wait<'a> {
    /// A wait that begins.
    pub fn at(bell: &'a Bell) -> Self {
        Self { bell, sleep: Sleep::default(), budget: Budget::default() }
    }

    /// Looks. If the wait is not over, `waker` is woken when the bell is rung from then on.
    pub fn poll<R>(&mut self, waker: &Waker, mut look: impl FnMut() -> Look<R>) -> Look<R> {
        self.sleep.poll(self.bell, waker, |_| look())
    }

    /// Whether it has not slept yet, or has used its wake-up.
    #[inline(always)]
    pub(crate) fn is_awake(&self) -> bool {
        self.sleep.is_awake()
    }

    /// Before the first look of a future: see [`Budget`].
    #[inline(always)]
    pub(crate) fn poll_step(&mut self, waker: &Waker) -> Poll<()> {
        self.budget.poll_step(waker)
    }

    /// As [`poll`](Self::poll), for the future of a task.
    pub(crate) fn poll_task<R>(
        &mut self,
        waker: &Waker,
        mut look: impl FnMut() -> Look<R>,
    ) -> Poll<R> {
        self.sleep.poll_task(self.bell, waker, |_| look())
    }
}

impl Drop for Wait<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.sleep.end(self.bell);
    }
}

/// As [`Wait`], for callers that keep the bell alive themselves: always the same bell. It must be
/// [ended](Self::end).
#[derive(Debug, Default)]
pub(crate) struct Sleep {
    /// The number of the sleeper, if it has announced itself and is not known to be woken.
    sleeper: Option<u64>,
    /// Whether it was woken, and has neither found anything nor announced itself anew. Then the
    /// wake-up is not used yet.
    is_woken: bool,
}

impl Sleep {
    /// Whether it has not announced itself, and has no wake-up to use.
    #[inline(always)]
    pub(crate) fn is_awake(&self) -> bool {
        self.sleeper.is_none() && !self.is_woken
    }

    /// As [`poll`](Self::poll), for the future of a task.
    pub(crate) fn poll_task<R>(
        &mut self,
        bell: &Bell,
        waker: &Waker,
        look: impl FnMut(bool) -> Look<R>,
    ) -> Poll<R> {
        match self.poll(bell, waker, look) {
            Look::Done(found) => return Poll::Ready(found),
            Look::NotYet => {}
            Look::Busy => waker.wake_by_ref(),
        }
        Poll::Pending
    }

    /// As [`Wait::poll`]. A look is told whether it is the second one of this poll.
    pub(crate) fn poll<R>(
        &mut self,
        bell: &Bell,
        waker: &Waker,
        mut look: impl FnMut(bool) -> Look<R>,
    ) -> Look<R> {
        if self.sleeper.is_some_and(|number| !bell.still_sleeps(number, waker)) {
            (self.sleeper, self.is_woken) = (None, true);
        }
        let mut found = look(false);
        if matches!(found, Look::NotYet) && self.sleeper.is_none() {
            self.sleeper = bell.announce(waker);
            found = match self.sleeper {
                Some(_) => look(true),
                None => Look::Busy,
            };
        }
        match found {
            // The wake-up was not needed: from now on there will be another.
            Look::NotYet => self.is_woken = false,
            Look::Done(_) => {
                self.is_woken = false;
                // Not dropped: a panic would lose what was found.
                mem::forget(self.leave(bell));
            }
            Look::Busy => go_on(self.leave(bell)),
        }
        found
    }

    /// Ends the sleep. Returns the panic of the next sleeper's waker, if that was woken.
    fn leave(&mut self, bell: &Bell) -> Option<PanicPayload> {
        bell.leave(self.sleeper.take()?)
    }

    /// Gives the wait up. An unused wake-up is passed on to the next sleeper.
    #[inline(always)] // most waits are over at their first look
    pub(crate) fn end(&mut self, bell: &Bell) {
        if !self.is_awake() {
            self.give_up(bell);
        }
    }

    #[cold]
    #[inline(never)]
    fn give_up(&mut self, bell: &Bell) {
        call_each([true, false], |is_of_sleeper| match is_of_sleeper {
            true => go_on(self.leave(bell)),
            false if mem::take(&mut self.is_woken) => go_on(bell.wake_first(1)),
            false => {}
        });
    }
}
