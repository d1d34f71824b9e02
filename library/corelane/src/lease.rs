// Above 500 lines: one protocol, with the argument why it is right.

//! A value that one thread at a time uses: a lock whose holder pays no locked instruction for as
//! long as it stays the holder.
//!
//! A tenant leases the value, and keeps the lease after a use. A waiting tenant sets a bit in
//! `word`. The holder reads `word` at each use, and gives the value up when it has used the value
//! often enough. If the holder makes no use, the waiting tenant revokes the lease.
//!
//! # What else is asked through the word
//!
//! Threads that don't use the value may ask each user for attention: after each use, because the
//! user must wake a sleeper (`Word::ask`); or before and after each use, because a channel was
//! closed (`Word::stop`). So the user reads one word, which no thread writes as long as nothing
//! happens. The asking thread writes the word, runs the heavy fence, and then reads what the users
//! have done.
//!
//! # Why two tenants never use the value at the same time
//!
//! A tenant makes `steps` of its seat odd, and then reads `word`: it uses the value only if `word`
//! still says that it holds the lease. A tenant that finds a revoked lease in `word` reads the
//! former holder's `steps`: it takes the lease only if they are even, or if it was the holder
//! itself. Between its two accesses the holder runs the light fence of a `Barrier`, and the other
//! tenant runs the heavy fence. So the holder sees that the lease is revoked, or the other tenant
//! sees that the holder is at work. No value of `word` occurs twice: each lease has a number, of 43
//! bits.
//!
//! # Short leases
//!
//! A heavy fence takes microseconds. If tenants take turns after a few uses, revoking is too slow.
//! So when several leases were revoked after few uses, and none after many, leases become short: a
//! tenant gives the value up after each use, like a lock. When one tenant gets the value many times
//! in a row, leases become long again.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use crate::carrier::{By, Use};
use crate::memory::{
    AtomicPtr, AtomicU64, Barrier, Mutex, Ordering, UnsafeCell, limit, own_load, pause,
};
use crate::pad::Padded;
use crate::queue::CapacityError;
use crate::region::{Counted, MOST_ENDS, no_memory};

/// Uses after which a holder gives the value up, if other tenants wait.
const RUN: u64 = limit(256, 1);
/// The same for a holder that always gets the value back, because the other tenants don't run.
const LONGEST_RUN: u64 = limit(1 << 14, 1);
/// Pauses between looks at `word` in a call that finds the value leased to another tenant, for each
/// tenant. The first waiting tenant looks after each pause, the others more seldom. So the holder
/// is seldom disturbed.
const SELDOM: u64 = limit(4, 1);
/// The most of these.
const MOST_SELDOM: u64 = limit(200, 1);
/// Most of these intervals in a call: enough to revoke the lease of a holder that makes no use,
/// also if another tenant changes `word` meanwhile.
const INTERVALS: u64 = 3;
/// Number of pauses. If the lease doesn't change for an interval, and the holder's steps don't
/// change for these pauses, the holder counts as idle.
const IDLE: u64 = limit(8, 0);
/// A use that found nothing to do counts as this number of uses.
const VAIN: u64 = limit(16, 1);
/// Number of pauses for which a tenant that has given the value up leaves it to other tenants.
const STAND_BACK: u64 = limit(20, 1);
/// A lease of fewer uses is a *turn*.
const TURN: u64 = limit(16, 2);
/// Number of turns after which leases are short: turns that were revoked, without a longer lease
/// between them.
const TURNS: u64 = limit(4, 1);
/// Number of short leases of one tenant in a row after which leases are long.
const ALONE: u64 = limit(64, 2);

/// The states of a lease.
const STATE: u64 = 3;
/// No tenant has the value. The seat is that of the last one.
const FREE: u64 = 0;
const LEASED: u64 = 1;
/// The holder must not begin another use, but may be in one.
const REVOKED: u64 = 2;
/// Other tenants wait for the value.
const WANTED: u64 = 4;
/// Each user is asked for attention after a use. This bit and the next one are no part of the
/// lease.
const ATTENTION: u64 = 8;
/// Each user is asked for attention before and after a use.
const STOPPED: u64 = 16;
/// Either of these bits.
const ASKED: u64 = ATTENTION | STOPPED;
/// The seat of the holder.
const SEAT: u64 = (MOST_ENDS - 1) << SEAT_AT;
const SEAT_AT: u32 = 5;
/// Adds one to the number of the lease, which has the highest bits.
const LEASE: u64 = MOST_ENDS << SEAT_AT;

/// The `word` of a tenant without a lease: no lease has it.
const NO_LEASE: u64 = u64::MAX;
/// The end of a lease that no other tenant wants.
const NEVER: u64 = u64::MAX;

/// The index of the seat in a word.
#[inline]
fn seat_of(word: u64) -> usize {
    ((word & SEAT) >> SEAT_AT) as usize
}

/// `word` in another state.
#[inline]
fn in_state(word: u64, state: u64) -> u64 {
    word & !STATE | state
}

/// The word that users read: the state of the lease, its holder's seat and its number, and whether
/// users are asked for attention.
pub(crate) struct Word {
    bits: Padded<AtomicU64>,
    barrier: Barrier,
}

impl Word {
    fn new() -> Self {
        let barrier = Barrier::new();
        // Without a light fence, users are always asked for attention, and have a fence then.
        let asked = if barrier.is_light() { 0 } else { STOPPED };
        Self { bits: Padded(AtomicU64::new(FREE | asked)), barrier }
    }

    /// Asks all users for attention after their uses, or no longer does. After it has asked, the
    /// caller must run the heavy fence.
    #[cfg(feature = "std")]
    pub(crate) fn ask(&self, is_asked: bool) {
        // Relaxed, all: the fences order them.
        match is_asked {
            true => self.bits.fetch_or(ATTENTION, Ordering::Relaxed),
            false => self.bits.fetch_and(!ATTENTION, Ordering::Relaxed),
        };
    }

    /// As [`ask`](Self::ask), for ever, and also before their uses.
    #[cfg(feature = "std")]
    pub(crate) fn stop(&self) {
        // Relaxed: as in `ask`.
        self.bits.fetch_or(STOPPED, Ordering::Relaxed);
    }

    /// The light fence, and then whether one of these bits is set. If so, there may have been no
    /// fence.
    #[inline(always)]
    #[track_caller] // each use of the fence is shown to be needed
    fn has(&self, mask: u64) -> bool {
        self.barrier.light_has(&self.bits, mask)
    }

    /// The light fence, and then whether the tenant of a seat, which is the caller, has the lease.
    /// If not, there may have been no fence.
    #[inline(always)]
    #[track_caller] // as `has`
    fn is_known(&self, seat: &Seat) -> bool {
        self.barrier.light_finds(&self.bits, || seat.known_word())
    }
}

/// The words that other tenants read of a tenant, and its own part.
#[repr(align(128))]
struct Seat {
    /// Twice the number of uses, about. Odd during a use.
    steps: AtomicU64,
    tenant: UnsafeCell<Tenant>,
}

/// Seats by index. Segment k has 2^k seats.
struct Seats {
    segments: [AtomicPtr<Seat>; MOST_ENDS.ilog2() as usize + 1],
    /// Seats that were left, and the number of all seats.
    spare: Mutex<(Vec<usize>, usize)>,
}

impl Seats {
    fn new() -> Self {
        let segments = core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut()));
        Self { segments, spare: Mutex::new((Vec::new(), 0)) }
    }

    /// The segment of a seat, and its place there.
    fn place(index: usize) -> (usize, usize) {
        let segment = (index + 1).ilog2() as usize;
        (segment, index + 1 - (1 << segment))
    }

    /// A seat that a tenant has, or has had.
    #[inline]
    fn get(&self, index: usize) -> NonNull<Seat> {
        let (segment, place) = Self::place(index);
        // Relaxed: the tenant whose seat it is made the segment before, or saw it, and that is
        // known with the index.
        let first = self.segments[segment].load(Ordering::Relaxed);
        // SAFETY: `take` has made the segment, which has this place, and only `drop` frees it.
        unsafe { NonNull::new_unchecked(first.add(place)) }
    }

    /// A seat that no tenant has. `None` if there is no memory for it.
    fn take(&self) -> Option<usize> {
        let mut spare = self.spare.lock();
        if let Some(index) = spare.0.pop() {
            return Some(index);
        }
        let index = spare.1;
        assert!(index < MOST_ENDS as usize, "a side has at most {MOST_ENDS} users");
        let (segment, place) = Self::place(index);
        if place == 0 {
            let (mut seats, n) = (Vec::new(), 1 << segment);
            seats.try_reserve_exact(n).ok()?;
            seats.extend((index..index + n).map(Seat::new));
            let seats = Box::into_raw(seats.into_boxed_slice()).cast();
            // Relaxed: see `get`.
            self.segments[segment].store(seats, Ordering::Relaxed);
        }
        // Each seat can be left without memory.
        let left = spare.0.len();
        spare.0.try_reserve(index + 1 - left).ok()?;
        spare.1 = index + 1;
        Some(index)
    }

    fn leave(&self, index: usize) {
        self.spare.lock().0.push(index);
    }
}

impl Drop for Seats {
    fn drop(&mut self) {
        for (segment, seats) in self.segments.iter().enumerate() {
            // Relaxed: no tenant is left.
            let first = seats.load(Ordering::Relaxed);
            if !first.is_null() {
                // SAFETY: `take` allocated the segment with `1 << segment` seats, and no reference
                // to it is left.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(first, 1 << segment)) });
            }
        }
    }
}

/// A value, and which tenant may use it.
struct Lease<H> {
    word: Counted<Word>,
    tenants: AtomicU64,
    seats: Seats,
    /// Empty while the only user has the value itself.
    value: UnsafeCell<Option<Held<H>>>,
}

/// What the holder of a lease may use.
#[repr(C)]
struct Held<H> {
    value: H,
    /// The holder's `steps` when it got the lease.
    gained: u64,
    /// Leases that were revoked after few uses, since one was revoked after many.
    turns: u64,
    /// Short leases of one tenant in a row.
    alone: u64,
    is_short: bool,
}

impl<H> Held<H> {
    fn new(value: H) -> Self {
        Self { value, gained: 0, turns: 0, alone: 0, is_short: false }
    }

    /// Decides whether leases are short, when a tenant that has made `steps` gets the lease after
    /// `before`, whose holder made `used` steps.
    fn is_gained(&mut self, by: usize, steps: u64, before: u64, used: u64) {
        if before & STATE == REVOKED {
            let was_turn = used.saturating_sub(self.gained) < 2 * TURN;
            self.turns = if was_turn { self.turns + 1 } else { 0 };
            self.is_short |= self.turns >= TURNS;
        }
        self.alone = if seat_of(before) == by { self.alone + 1 } else { 0 };
        if self.is_short && self.alone >= ALONE {
            (self.is_short, self.turns) = (false, 0);
        }
        self.gained = steps;
    }
}

// SAFETY: one tenant at a time uses the value, and may be on any thread.
unsafe impl<H: Send> Sync for Lease<H> {}

impl<H> Lease<H> {
    /// The lease of a value that its only user has itself.
    fn new(word: Counted<Word>) -> Self {
        Self { word, tenants: AtomicU64::new(0), seats: Seats::new(), value: UnsafeCell::new(None) }
    }

    #[inline(always)]
    fn word(&self) -> &AtomicU64 {
        &self.word.bits
    }

    fn barrier(&self) -> Barrier {
        self.word.barrier
    }

    /// The steps of the tenant in a seat.
    #[inline]
    fn steps(&self, index: usize) -> u64 {
        // Acquire ↔ Release in `end_use`: the value. SAFETY: a tenant has had the seat.
        unsafe { self.seats.get(index).as_ref() }.steps.load(Ordering::Acquire)
    }

    fn has_one_tenant(&self) -> bool {
        // Acquire ↔ Release in `leave`: all that the other tenants did with the value.
        self.tenants.load(Ordering::Acquire) == 1
    }

    /// Uses the value.
    ///
    /// # Safety
    ///
    /// The caller is a tenant that has the lease, and its steps are odd.
    #[inline(always)]
    unsafe fn run<W: Use<H>>(&self, work: W) -> W::Output {
        // SAFETY: the caller's contract. The value is there as long as there are tenants.
        self.value
            .with_mut(|held| work.run(unsafe { &mut (*held).as_mut().unwrap_unchecked().value }))
    }

    /// Lends the value of the only user.
    fn put(&self, value: H) {
        // SAFETY: no tenant uses it yet.
        self.value.with_mut(|held| unsafe { *held = Some(Held::new(value)) });
    }

    /// One more tenant, and its seat.
    fn enter(&self) -> NonNull<Seat> {
        let index = self.seats.take().unwrap_or_else(no_memory);
        // Relaxed: the user of the new tenant comes from another one.
        self.tenants.fetch_add(1, Ordering::Relaxed);
        let seat = self.seats.get(index);
        // SAFETY: no tenant has the seat, and the lock of `take` and `leave` orders what the last
        // one did.
        unsafe { seat.as_ref().tenant.with_mut(|tenant| (*tenant).begin()) };
        seat
    }
}

/// A user of a value that it may share with others.
///
/// The only user has the value itself, and needs no lease, until it is duplicated.
pub struct User<H> {
    /// The value, while this is the only user.
    own: MaybeUninit<H>,
    /// `None` while this is the only user.
    seat: Cell<Option<NonNull<Seat>>>,
    /// That of the lease.
    word: Counted<Word>,
    lease: Counted<Lease<H>>,
}

// SAFETY: a user has the value or shares it by the lease, and its seat alone.
unsafe impl<H: Send> Send for User<H> {}

impl<H> fmt::Debug for User<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").finish_non_exhaustive()
    }
}

impl<H> User<H> {
    /// The only user of `value`. `None` if there is no memory for what users share.
    pub fn new(value: H) -> Option<Self> {
        let word = Counted::new(Word::new())?;
        let lease = Counted::new(Lease::new(word.clone()))?;
        Some(Self { own: MaybeUninit::new(value), seat: Cell::new(None), word, lease })
    }

    /// The only user of the handle of a queue.
    pub(crate) fn of_handle(handle: H) -> Result<Self, CapacityError> {
        let bytes = size_of::<Lease<H>>();
        Self::new(handle).ok_or(CapacityError::OutOfMemory { bytes })
    }

    /// Uses the value. `None` if another user is using it, or has just got it. `work` also says
    /// whether it has done anything.
    #[inline]
    pub fn with<R>(&mut self, work: impl FnOnce(&mut H) -> (R, bool)) -> Option<R> {
        self.give(By(work)).ok()
    }

    /// As [`with`](Self::with). The error is the work, if the value was not used.
    #[inline(always)]
    pub(crate) fn give<R, W: Use<H, Output = (R, bool)>>(&mut self, work: W) -> Result<R, W> {
        let (result, is_last) = self.use_once(work)?;
        if is_last {
            self.take_back();
        }
        Ok(result)
    }

    /// As [`give`](Self::give), for a user whose address is known elsewhere anyway.
    #[cfg(feature = "std")]
    #[inline(always)]
    pub(crate) fn give_in_memory<R, W: Use<H, Output = (R, bool)>>(
        &mut self,
        work: W,
    ) -> Result<R, W> {
        let (result, is_last) = self.use_once(work)?;
        if is_last {
            self.take_back_in_memory();
        }
        Ok(result)
    }

    /// As [`give`](Self::give). The result may ask the user to take the value back.
    #[inline(always)]
    fn use_once<R, W: Use<H, Output = (R, bool)>>(&mut self, work: W) -> Result<(R, bool), W> {
        if W::LOOKS && self.is_asked() && !work.may_begin() {
            return Err(work);
        }
        let Some(seat) = self.seat.get() else {
            // SAFETY: the only user has the value.
            return Ok((work.run(unsafe { self.own.assume_init_mut() }).0, false));
        };
        // SAFETY: the seat lives as long as the lease.
        let (seat, lease) = (unsafe { seat.as_ref() }, &*self.lease);
        let mark = seat.begin_use();
        let holds = self.word.is_known(seat);
        if !holds && !gain(seat, lease, mark - 1) {
            return Err(work);
        }
        // SAFETY: between the begin and the end of the use.
        let (result, is_done) = unsafe { lease.run(work) };
        seat.end_use(mark + 1);
        let is_over = match is_done {
            true => mark + 1 >= seat.end(),
            false => seat.end() != NEVER,
        };
        Ok((result, is_over && is_last_use(seat, lease, mark + 1, is_done)))
    }

    /// As [`give`](Self::give), if that needs no look at other users. Returns whether users are
    /// asked for attention then. `None` if nothing was done: [`give`](Self::give) must decide.
    ///
    /// # Safety
    ///
    /// If `is_shared`, there is another user all the time.
    #[cfg(feature = "std")]
    #[inline(always)]
    pub(crate) unsafe fn give_quickly(
        &mut self,
        is_shared: bool,
        work: impl Use<H, Output = bool>,
    ) -> Option<bool> {
        let seat = self.seat.get();
        if is_shared {
            // SAFETY: the caller's contract.
            unsafe { core::hint::assert_unchecked(seat.is_some()) };
        }
        let Some(seat) = seat else {
            // Relaxed: the look after the use has the fence.
            let is_stopped = self.word.bits.load(Ordering::Relaxed) & STOPPED != 0;
            // SAFETY: the only user has the value.
            let is_done = !is_stopped && work.run(unsafe { self.own.assume_init_mut() });
            return is_done.then(|| self.is_asked());
        };
        // SAFETY: the seat lives as long as the lease.
        let (seat, word) = (unsafe { seat.as_ref() }, &*self.word);
        let mark = seat.begin_use();
        let holds = word.is_known(seat);
        // SAFETY: between the begin and the end of the use.
        let is_done = holds && unsafe { self.lease.run(work) };
        seat.end_use(mark + 1);
        is_done.then(|| mark + 1 >= seat.end() || word.has(ASKED))
    }

    /// As [`give_quickly`](Self::give_quickly), by a closure. For the models.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    pub fn with_quickly(&mut self, work: impl FnOnce(&mut H) -> bool) -> Option<bool> {
        // SAFETY: other users are not assumed.
        unsafe { self.give_quickly(false, By(work)) }
    }

    /// After a [quick use](Self::give_quickly) that asked for this: gives the value up if it is
    /// time to.
    #[cfg(feature = "std")]
    pub fn end_quick_use(&mut self) {
        // SAFETY: the seat lives as long as the lease.
        let seat = self.seat.get().map(|seat| unsafe { seat.as_ref() });
        if seat.is_some_and(|seat| is_last_use(seat, &self.lease, seat.before(), true)) {
            self.take_back_in_memory();
        }
    }

    /// Whether users are [asked](Word::ask) for attention, by a thread that has not seen what this
    /// user has done.
    #[inline(always)]
    pub(crate) fn is_asked(&self) -> bool {
        self.word.has(ASKED)
    }

    /// Where this user looks.
    #[cfg(feature = "std")]
    pub(crate) fn word(&self) -> Counted<Word> {
        self.word.clone()
    }

    /// Takes the value back, as the only user. By value: a user whose address is known elsewhere is
    /// not kept in registers.
    #[inline(always)]
    fn take_back(&mut self) {
        let Some(seat) = self.seat.take() else { return };
        self.own = MaybeUninit::new(take_back(&self.lease));
        // SAFETY: the seat lives as long as the lease.
        leave(unsafe { seat.as_ref() }, &self.lease);
    }

    #[cfg(feature = "std")]
    #[cold]
    #[inline(never)]
    fn take_back_in_memory(&mut self) {
        self.take_back();
    }

    /// One more user. There are at most 65,536.
    pub fn duplicate(&self) -> Self {
        let new = self.lease.enter();
        if self.seat.get().is_none() {
            let own = self.lease.enter();
            // SAFETY: this is the only user, and has the value. From now on it uses the value by
            // the lease.
            let value = unsafe { self.own.assume_init_read() };
            self.lease.put(value);
            self.seat.set(Some(own));
        }
        Self {
            own: MaybeUninit::uninit(),
            seat: Cell::new(Some(new)),
            word: self.word.clone(),
            lease: self.lease.clone(),
        }
    }

    /// Whether this is the only user, and has the value.
    pub fn is_only(&self) -> bool {
        self.seat.get().is_none()
    }
}

impl<H> Drop for User<H> {
    #[inline]
    fn drop(&mut self) {
        match self.seat.get() {
            // The lease drops the value: to drop it here would tell its address. SAFETY: the only
            // user has the value, and does not use it any more.
            None => self.lease.put(unsafe { self.own.assume_init_read() }),
            // SAFETY: the seat lives as long as the lease.
            Some(seat) => leave(unsafe { seat.as_ref() }, &self.lease),
        }
    }
}

/// As [`Tenant::gain`], of the tenant in a seat.
#[cold]
#[inline(never)]
fn gain<H>(seat: &Seat, lease: &Lease<H>, before: u64) -> bool {
    // SAFETY: the caller has the seat.
    seat.tenant.with_mut(|tenant| unsafe { (*tenant).gain(seat, lease, before) })
}

/// Gives the value up if it is time to, unless this is the last tenant. Whether it is.
#[cold]
#[inline(never)]
fn is_last_use<H>(seat: &Seat, lease: &Lease<H>, steps: u64, is_done: bool) -> bool {
    // SAFETY: the caller has the seat.
    seat.tenant.with_mut(|tenant| unsafe { (*tenant).is_last_use(lease, steps, is_done) })
}

/// The value, for the only user.
#[cold]
#[inline(never)]
fn take_back<H>(lease: &Lease<H>) -> H {
    // SAFETY: there is no other tenant. The value is there.
    lease.value.with_mut(|held| unsafe { (*held).take().unwrap_unchecked() }).value
}

/// Leaves the lease, and the seat.
#[cold]
#[inline(never)]
fn leave<H>(seat: &Seat, lease: &Lease<H>) {
    let index = seat.tenant.with_mut(|tenant| {
        // SAFETY: the caller has the seat.
        let tenant = unsafe { &mut *tenant };
        tenant.give_up(lease);
        tenant.index
    });
    // This runs after a panic, too.
    seat.end_use(seat.before());
    // From now on another thread may have the seat: no reference to the tenant is left.
    lease.seats.leave(index);
    // Release ↔ Acquire in `is_last_use`: all that this tenant did with the value.
    if lease.tenants.fetch_add(1_u64.wrapping_neg(), Ordering::Release) == 2 {
        // Release ↔ Acquire in `gain`: the number of tenants, which the last tenant reads after
        // that.
        lease.word().fetch_or(WANTED, Ordering::Release);
    }
}

impl Seat {
    fn new(index: usize) -> Self {
        let tenant = UnsafeCell::new(Tenant::new(index));
        Self { steps: AtomicU64::new(0), tenant }
    }

    /// The value of `word` while the tenant of this seat, which is the caller, has the lease.
    #[inline(always)]
    fn known_word(&self) -> u64 {
        // SAFETY: the caller has the seat.
        self.tenant.with(|tenant| unsafe { (*tenant).word })
    }

    /// The steps at which the caller gives the value up.
    #[inline(always)]
    fn end(&self) -> u64 {
        // SAFETY: the caller has the seat.
        self.tenant.with(|tenant| unsafe { (*tenant).end })
    }

    /// Makes the steps odd, and returns them.
    #[inline(always)]
    fn begin_use(&self) -> u64 {
        // Odd already after a use that has panicked.
        let mark = own_load(&self.steps) | 1;
        // Relaxed: the fence orders it before the look at the word.
        self.steps.store(mark, Ordering::Relaxed);
        mark
    }

    /// Makes the steps even.
    #[inline(always)]
    fn end_use(&self, steps: u64) {
        // Release ↔ Acquire in `Lease::steps`: the value, also that of an earlier use, whose store
        // this one overwrites.
        self.steps.store(steps, Ordering::Release);
    }

    /// The steps before this use.
    fn before(&self) -> u64 {
        own_load(&self.steps) & !1
    }
}

/// What a user that is not the only one has.
struct Tenant {
    /// Of its seat.
    index: usize,
    /// `word` while this tenant has the lease, without [`STOPPED`].
    word: u64,
    /// The steps at which to give the value up.
    end: u64,
    /// See [`RUN`].
    run: u64,
    /// The revoked lease for which this tenant has run the heavy fence.
    fenced: u64,
}

impl Tenant {
    fn new(index: usize) -> Self {
        Self { index, word: NO_LEASE, end: NEVER, run: RUN, fenced: NO_LEASE }
    }

    /// Another tenant has had the seat, or none.
    fn begin(&mut self) {
        *self = Self::new(self.index);
    }

    fn is_last_use<H>(&mut self, lease: &Lease<H>, steps: u64, is_done: bool) -> bool {
        if !is_done && self.end != NEVER {
            self.end = self.end.saturating_sub(2 * (VAIN - 1));
        }
        if steps < self.end {
            return false;
        }
        let is_last = lease.has_one_tenant();
        if !is_last {
            self.give_up(lease);
        }
        is_last
    }

    /// Gives the value up, if this tenant has it.
    fn give_up<H>(&mut self, lease: &Lease<H>) {
        let mut word = self.word;
        while self.has(word) {
            let free = in_state(word, FREE);
            // Release ↔ Acquire in `gain`: the value.
            match lease.word().compare_exchange(word, free, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(found) => word = found,
            }
        }
        self.word = NO_LEASE;
    }

    /// Whether `word` says that this tenant has the lease that it was last known to have.
    fn has(&self, word: u64) -> bool {
        let others = WANTED | ASKED;
        self.word != NO_LEASE && (word | others) == (self.word | others)
    }

    /// Gets the lease, and begins a use. `before` are the tenant's steps before this use. Looks for
    /// a bounded time.
    fn gain<H>(&mut self, seat: &Seat, lease: &Lease<H>, before: u64) -> bool {
        // The caller's look had no fence if the fence isn't light.
        lease.barrier().light();
        // Acquire ↔ Release in `give_up` and `take`: the value, and the holder's steps.
        let mut word = lease.word().load(Ordering::Acquire);
        if self.has(word) {
            if (word & !self.word) & WANTED != 0 {
                self.end = if lease.has_one_tenant() { 0 } else { before + 2 * self.run };
            }
            self.word = word & !STOPPED;
            return true;
        }
        self.word = NO_LEASE;
        if self.may_take(lease, word, 0) && self.take(lease, word, before) {
            return true;
        }
        seat.end_use(before);
        let tenants = lease.tenants.load(Ordering::Relaxed);
        let interval = (SELDOM * tenants).min(MOST_SELDOM);
        let mut wait = LeaseWait { interval, overdue: interval, ..LeaseWait::default() };
        let longest = INTERVALS * interval + IDLE;
        while wait.waited < longest {
            wait.pause();
            // Acquire: as above.
            word = lease.word().load(Ordering::Acquire);
            if word & STATE == LEASED {
                word = wait.look(lease, word);
            }
            if self.may_take(lease, word, wait.waited) {
                // Relaxed: the exchange in `take` releases it.
                seat.steps.store(before + 1, Ordering::Relaxed);
                if self.take(lease, word, before) {
                    return true;
                }
                seat.end_use(before);
            }
        }
        false
    }

    /// Whether no tenant has the value, and this one doesn't leave it to others.
    fn may_take<H>(&mut self, lease: &Lease<H>, word: u64, waited: u64) -> bool {
        if word & STATE == LEASED {
            return false;
        }
        if seat_of(word) != self.index {
            self.run = RUN;
            return word & STATE == FREE || self.is_let_go(lease, word);
        }
        if word & WANTED != 0 && waited >= STAND_BACK {
            self.run = (2 * self.run).min(LONGEST_RUN);
        }
        word & WANTED == 0 || waited >= STAND_BACK
    }

    /// Whether the holder of a revoked lease is not at work.
    fn is_let_go<H>(&mut self, lease: &Lease<H>, word: u64) -> bool {
        // One fence is enough for a revoked lease: no later use of its holder begins, and the use
        // that has begun keeps `steps` odd until it ends.
        let revoked = word & !ASKED;
        if self.fenced != revoked {
            if !lease.barrier().heavy() {
                return false;
            }
            self.fenced = revoked;
        }
        lease.steps(seat_of(word)) & 1 == 0
    }

    /// Takes a lease that no tenant has.
    fn take<H>(&mut self, lease: &Lease<H>, word: u64, before: u64) -> bool {
        let mine = (word & !(SEAT | WANTED | STATE)).wrapping_add(LEASE)
            | (self.index as u64) << SEAT_AT
            | LEASED;
        // Release ↔ Acquire in `gain`: this tenant's steps.
        let taken = lease.word().compare_exchange(word, mine, Ordering::Release, Ordering::Relaxed);
        if taken.is_err() {
            return false;
        }
        self.word = mine & !STOPPED;
        let used = lease.steps(seat_of(word));
        let is_short = lease.value.with_mut(|held| {
            // SAFETY: this tenant has the value.
            let held = unsafe { (*held).as_mut().unwrap_unchecked() };
            held.is_gained(self.index, before, word, used);
            held.is_short
        });
        self.end = if is_short || lease.has_one_tenant() { 0 } else { NEVER };
        true
    }
}

/// A wait for a lease that another tenant has.
#[derive(Default)]
struct LeaseWait {
    /// Pauses so far.
    waited: u64,
    /// Pauses between two looks at `word`.
    interval: u64,
    /// Pauses after which a wanted lease may be revoked.
    overdue: u64,
    /// The lease, at the last look, without [`ASKED`].
    word: u64,
    /// When to look at the holder's steps.
    next: u64,
    /// These steps.
    steps: Option<u64>,
}

impl LeaseWait {
    fn pause(&mut self) {
        pause(self.interval as u32);
        self.waited += self.interval;
    }

    /// Marks the value wanted, or revokes a lease whose holder makes no use. Returns the word as
    /// far as it is known.
    fn look<H>(&mut self, lease: &Lease<H>, word: u64) -> u64 {
        // Relaxed, both: a tenant that takes a revoked lease has a fence before.
        let replace = |by| {
            lease.word().compare_exchange(word, by, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if word & !ASKED != self.word {
            self.word = word & !ASKED;
            (self.next, self.steps) = (self.waited + self.overdue, None);
        }
        if word & WANTED == 0 {
            self.interval = if replace(word | WANTED) { 1 } else { self.interval };
        } else if self.waited >= self.next {
            let steps = lease.steps(seat_of(word));
            let is_idle = steps & 1 == 0 && self.steps.is_none_or(|before| before == steps);
            self.next = self.waited + IDLE;
            let revoked = in_state(word, REVOKED);
            if is_idle && (self.steps.is_some() || IDLE == 0) && replace(revoked) {
                return revoked;
            }
            self.steps = Some(steps);
        }
        word
    }
}
