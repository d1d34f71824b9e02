// Above 500 lines: one protocol, with the argument why it is right.

//! A value that one thread at a time uses: a lock whose holder pays no locked instruction for as
//! long as it stays the holder.
//!
//! A tenant leases the value, and keeps the lease when it is done with a use. A tenant that waits
//! says so in `word`. The holder reads `word` at each use, and gives the value up when it has used
//! the value often enough. If the holder doesn't come, the waiting tenant revokes the lease.
//!
//! # Why two tenants never use the value at the same time
//!
//! A tenant makes `steps` of its seat odd, and then reads `word`: it uses the value only if `word`
//! still says that it holds the lease. A tenant that finds a revoked lease in `word` reads the
//! former holder's `steps`: it takes the lease only if they are even, or if it was the holder
//! itself. Between its two accesses the holder has the light fence of a `Barrier`, and the other
//! tenant has the heavy fence. So the holder sees that the lease is revoked, or the other tenant
//! sees that the holder is at work. No value of `word` occurs twice: each lease has a number, of 45
//! bits.
//!
//! # Short leases
//!
//! A heavy fence takes microseconds. If tenants take turns after a few uses, revoking is too slow.
//! So when several leases were revoked after few uses, and none after many, leases become short: a
//! tenant gives the value up after each use, as it would a lock. When one tenant gets the value
//! many times in a row, leases become long again.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use crate::carrier::{By, Use};
use crate::memory::{AtomicPtr, AtomicU64, Barrier, Mutex, Ordering, UnsafeCell, limit, pause};
use crate::pad::Padded;
use crate::region::{MOST_ENDS, no_memory};

/// Uses after which a holder gives the value up, if others wait.
const RUN: u64 = limit(256, 1);
/// The same for a holder that nevertheless always gets the value back: the others don't run.
const LONGEST_RUN: u64 = limit(1 << 14, 1);
/// Pauses between looks at `word` in a call that finds the value leased to another tenant, for each
/// tenant. The tenant that was the first to say that it wants the value looks after each pause. So
/// the holder is seldom disturbed.
const SELDOM: u64 = limit(4, 1);
/// The most of these.
const MOST_SELDOM: u64 = limit(200, 1);
/// Such times in a call: enough to revoke the lease of a holder that is elsewhere, also if another
/// tenant changes `word` meanwhile.
const INTERVALS: u64 = 3;
/// Pauses in which the holder of a lease that has not changed for such a time is to move. Otherwise
/// it is taken to be elsewhere.
const IDLE: u64 = limit(8, 0);
/// Uses that count for one in which there was nothing to be done.
const VAIN: u64 = limit(16, 1);
/// Pauses for which a tenant that has given the value up leaves it to others.
const STAND_BACK: u64 = limit(20, 1);
/// A lease of fewer uses is one of a turn.
const TURN: u64 = limit(16, 2);
/// Revoked leases of turns, without another revoked one between them, from which on leases are
/// short.
const TURNS: u64 = limit(4, 1);
/// Short leases of one tenant in a row from which on leases are long.
const ALONE: u64 = limit(64, 2);

/// The states of a lease.
const STATE: u64 = 3;
/// No tenant has the value. The seat is that of the last one.
const FREE: u64 = 0;
const LEASED: u64 = 1;
/// The holder is to use the value no more, but may be at work.
const REVOKED: u64 = 2;
/// Others wait for the value.
const WANTED: u64 = 4;
/// The seat of the holder.
const SEAT: u64 = (MOST_ENDS - 1) << 3;
/// One lease more: the number of the lease is above all else.
const LEASE: u64 = MOST_ENDS << 3;

/// The `word` of a tenant without a lease: no lease has it.
const NO_LEASE: u64 = u64::MAX;
/// The end of a lease that nobody else wants.
const NEVER: u64 = u64::MAX;

/// The index of the seat in a word.
#[inline]
fn seat_of(word: u64) -> usize {
    ((word & SEAT) >> 3) as usize
}

/// `word` in another state.
#[inline]
fn in_state(word: u64, state: u64) -> u64 {
    word & !STATE | state
}

/// What a tenant tells others.
#[derive(Debug)]
#[repr(align(128))]
struct Seat {
    /// Twice the number of uses, and one more during a use.
    steps: AtomicU64,
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
        let (segment, place) = Self::place(index);
        if place == 0 {
            let (mut seats, n) = (Vec::new(), 1 << segment);
            seats.try_reserve_exact(n).ok()?;
            seats.extend((0..n).map(|_| Seat { steps: AtomicU64::new(0) }));
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
pub struct Lease<H> {
    /// The state of the lease, its holder's seat, and its number.
    word: Padded<AtomicU64>,
    tenants: AtomicU64,
    seats: Seats,
    barrier: Barrier,
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

impl<H> Default for Lease<H> {
    /// The lease of a value that its only user has itself.
    fn default() -> Self {
        Self {
            word: Padded(AtomicU64::new(FREE)),
            tenants: AtomicU64::new(0),
            seats: Seats::new(),
            barrier: Barrier::new(),
            value: UnsafeCell::new(None),
        }
    }
}

impl<H> fmt::Debug for Lease<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").finish_non_exhaustive()
    }
}

impl<H> Lease<H> {
    /// The steps of the tenant in a seat.
    #[inline]
    fn steps(&self, index: usize) -> u64 {
        // Acquire ↔ Release in `exit`: the value. SAFETY: a tenant has had the seat.
        unsafe { self.seats.get(index).as_ref() }.steps.load(Ordering::Acquire)
    }

    fn has_one_tenant(&self) -> bool {
        // Acquire ↔ Release in `leave`: all that the other tenants did with the value.
        self.tenants.load(Ordering::Acquire) == 1
    }

    /// Lends the value of the only user.
    fn put(&self, value: H) {
        // SAFETY: no tenant uses it yet.
        self.value.with_mut(|held| unsafe { *held = Some(Held::new(value)) });
    }
}

/// A user of the value of a [`Lease`], always of the same lease.
///
/// The only user has the value itself, and needs no lease, until it is duplicated.
pub struct User<H> {
    /// The value, while this is the only user.
    own: MaybeUninit<H>,
    /// `None` while this is the only user. In a box, so that a loop that owns the user keeps the
    /// user in registers.
    tenant: Cell<Option<NonNull<Tenant>>>,
}

// SAFETY: a user has the value or shares it by the lease, and its tenant alone.
unsafe impl<H: Send> Send for User<H> {}

impl<H> fmt::Debug for User<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").finish_non_exhaustive()
    }
}

impl<H> User<H> {
    /// The only user of `value`.
    pub fn new(value: H) -> Self {
        Self { own: MaybeUninit::new(value), tenant: Cell::new(None) }
    }

    /// Uses the value. `None` if another user is using it, or has just got it. `work` also says
    /// whether it has done anything.
    ///
    /// # Safety
    ///
    /// It is always the same lease, and `end` was not called.
    #[inline]
    pub unsafe fn with<R>(
        &mut self,
        lease: &Lease<H>,
        work: impl FnOnce(&mut H) -> (R, bool),
    ) -> Option<R> {
        // SAFETY: the caller's contract.
        unsafe { self.give(lease, By(work)) }.ok()
    }

    /// As [`with`](Self::with). The error is the work, if the value was not used.
    ///
    /// # Safety
    ///
    /// As for [`with`](Self::with).
    #[inline(always)]
    pub(crate) unsafe fn give<R, W: Use<H, Output = (R, bool)>>(
        &mut self,
        lease: &Lease<H>,
        work: W,
    ) -> Result<R, W> {
        let Some(mut tenant) = self.tenant.get() else {
            // SAFETY: the only user has the value.
            return Ok(work.run(unsafe { self.own.assume_init_mut() }).0);
        };
        // SAFETY: the tenant is this user's.
        let tenant = unsafe { tenant.as_mut() };
        if !tenant.enter(lease) {
            return Err(work);
        }
        // SAFETY: between `enter` and `exit`. The value is there as long as there are tenants.
        let (result, is_done) = lease
            .value
            .with_mut(|held| work.run(unsafe { &mut (*held).as_mut().unwrap_unchecked().value }));
        if tenant.exit(lease, is_done) {
            self.take_back(lease);
        }
        Ok(result)
    }

    /// Takes the value back, as the only user.
    #[cold]
    fn take_back(&mut self, lease: &Lease<H>) {
        // SAFETY: there is no other tenant. The value is there.
        let held = lease.value.with_mut(|held| unsafe { (*held).take().unwrap_unchecked() });
        self.own = MaybeUninit::new(held.value);
        self.leave(lease);
    }

    /// One more user.
    ///
    /// # Safety
    ///
    /// As for [`with`](Self::with). There are at most 65,536 users.
    pub unsafe fn duplicate(&self, lease: &Lease<H>) -> Self {
        let new = Tenant::boxed(lease);
        if self.tenant.get().is_none() {
            let own = Tenant::boxed(lease);
            // SAFETY: this is the only user, and has the value. From now on it uses the value by
            // the lease.
            let value = unsafe { self.own.assume_init_read() };
            lease.put(value);
            self.tenant.set(Some(own));
        }
        Self { own: MaybeUninit::uninit(), tenant: Cell::new(Some(new)) }
    }

    /// Whether this is the only user, and has the value.
    pub fn is_only(&self) -> bool {
        self.tenant.get().is_none()
    }

    /// Drops the tenant.
    fn leave(&mut self, lease: &Lease<H>) {
        if let Some(tenant) = self.tenant.take() {
            // SAFETY: it came from a box, and this user alone had it.
            unsafe { Box::from_raw(tenant.as_ptr()) }.leave(lease);
        }
    }

    /// Ends the use.
    ///
    /// # Safety
    ///
    /// As for [`with`](Self::with).
    pub unsafe fn end(&mut self, lease: &Lease<H>) {
        match self.tenant.get() {
            // The lease drops the value. SAFETY: the only user has the value, and does not use it
            // any more.
            None => lease.put(unsafe { self.own.assume_init_read() }),
            Some(_) => self.leave(lease),
        }
    }
}

/// What a user that is not the only one has.
struct Tenant {
    seat: NonNull<Seat>,
    index: usize,
    /// `word` while this tenant has the lease.
    word: u64,
    /// As in its seat, without the mark of a use.
    steps: u64,
    /// The value of `steps` at which to give the value up.
    end: u64,
    /// See [`RUN`].
    run: u64,
    /// The revoked lease after which this tenant has had the heavy fence.
    fenced: u64,
}

impl Tenant {
    /// One more tenant, in a box.
    fn boxed<H>(lease: &Lease<H>) -> NonNull<Self> {
        let index = lease.seats.take().unwrap_or_else(no_memory);
        // Relaxed: the user of the new tenant comes from another one.
        lease.tenants.fetch_add(1, Ordering::Relaxed);
        let seat = lease.seats.get(index);
        // Relaxed: the lock of `take` and `leave` orders it. SAFETY: the seat lives as long as the
        // lease.
        let steps = unsafe { seat.as_ref() }.steps.load(Ordering::Relaxed);
        let this =
            Self { seat, index, word: NO_LEASE, steps, end: NEVER, run: RUN, fenced: NO_LEASE };
        NonNull::from(Box::leak(Box::new(this)))
    }

    #[inline(always)]
    fn tell(&self, steps: u64, order: Ordering) {
        // SAFETY: the seat lives as long as the lease, and the lease as long as the tenant.
        unsafe { self.seat.as_ref() }.steps.store(steps, order);
    }

    /// Begins a use of the value. `false` if another tenant is using it, or has just got it. After
    /// `true`, [`exit`](Self::exit) must follow.
    #[inline(always)]
    fn enter<H>(&mut self, lease: &Lease<H>) -> bool {
        // Relaxed, both: the fence orders them.
        self.tell(self.steps + 1, Ordering::Relaxed);
        lease.barrier.light();
        lease.word.load(Ordering::Relaxed) == self.word || self.gain(lease)
    }

    /// Ends a use of the value; `is_done` if the use was not in vain. Returns whether this is the
    /// last tenant.
    #[inline(always)]
    fn exit<H>(&mut self, lease: &Lease<H>, is_done: bool) -> bool {
        let steps = self.steps + 2;
        self.steps = steps;
        // Release ↔ Acquire in `Lease::steps`: the value.
        self.tell(steps, Ordering::Release);
        if !is_done && self.end != NEVER {
            self.end = self.end.saturating_sub(2 * (VAIN - 1));
        }
        steps >= self.end && self.end_lease(lease)
    }

    /// Gives the value up, unless this is the last tenant.
    #[cold]
    fn end_lease<H>(&mut self, lease: &Lease<H>) -> bool {
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
            match lease.word.compare_exchange(word, free, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(found) => word = found,
            }
        }
        self.word = NO_LEASE;
    }

    /// Whether `word` says that this tenant has the lease that it was last known to have.
    fn has(&self, word: u64) -> bool {
        self.word != NO_LEASE && (word | WANTED) == (self.word | WANTED)
    }

    /// Gets the lease, and begins a use. Looks for a bounded time.
    #[cold]
    #[inline(never)]
    fn gain<H>(&mut self, lease: &Lease<H>) -> bool {
        // Acquire ↔ Release in `give_up` and `take`: the value, and the holder's steps.
        let mut word = lease.word.load(Ordering::Acquire);
        if self.has(word) {
            self.word = word;
            self.end = if lease.has_one_tenant() { 0 } else { self.steps + 2 * self.run };
            return true;
        }
        self.word = NO_LEASE;
        if self.may_take(lease, word, 0) && self.take(lease, word) {
            return true;
        }
        // Release ↔ Acquire in `Lease::steps`: this store overwrites that of the last `exit`.
        self.tell(self.steps, Ordering::Release);
        let tenants = lease.tenants.load(Ordering::Relaxed);
        let interval = (SELDOM * tenants).min(MOST_SELDOM);
        let mut wait = LeaseWait { interval, overdue: interval, ..LeaseWait::default() };
        let longest = INTERVALS * interval + IDLE;
        while wait.waited < longest {
            wait.pause();
            // Acquire: as above.
            word = lease.word.load(Ordering::Acquire);
            if word & STATE == LEASED {
                word = wait.look(lease, word);
            }
            if self.may_take(lease, word, wait.waited) {
                // Relaxed: the exchange in `take` releases it.
                self.tell(self.steps + 1, Ordering::Relaxed);
                if self.take(lease, word) {
                    return true;
                }
                // Release: as above.
                self.tell(self.steps, Ordering::Release);
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
        if self.fenced != word {
            if !lease.barrier.heavy() {
                return false;
            }
            self.fenced = word;
        }
        lease.steps(seat_of(word)) & 1 == 0
    }

    /// Takes a lease that no tenant has.
    fn take<H>(&mut self, lease: &Lease<H>, word: u64) -> bool {
        let mine = (word & !(SEAT | WANTED | STATE)).wrapping_add(LEASE)
            | (self.index as u64) << 3
            | LEASED;
        // Release ↔ Acquire in `gain`: this tenant's steps.
        if lease.word.compare_exchange(word, mine, Ordering::Release, Ordering::Relaxed).is_err() {
            return false;
        }
        self.word = mine;
        let used = lease.steps(seat_of(word));
        let is_short = lease.value.with_mut(|held| {
            // SAFETY: this tenant has the value.
            let held = unsafe { (*held).as_mut().unwrap_unchecked() };
            held.is_gained(self.index, self.steps, word, used);
            held.is_short
        });
        self.end = if is_short || lease.has_one_tenant() { 0 } else { NEVER };
        true
    }

    /// Leaves the lease. The tenant is not used any more.
    fn leave<H>(mut self, lease: &Lease<H>) {
        self.give_up(lease);
        // Even, also after a panic. Release: as in `gain`.
        self.tell(self.steps, Ordering::Release);
        lease.seats.leave(self.index);
        // Release ↔ Acquire in `end_lease`: all that this tenant did with the value.
        if lease.tenants.fetch_add(1_u64.wrapping_neg(), Ordering::Release) == 2 {
            // Release ↔ Acquire in `gain`: the number of tenants, at which the tenant that is left
            // looks then.
            lease.word.fetch_or(WANTED, Ordering::Release);
        }
    }
}

/// A wait for a lease that another tenant has.
#[derive(Default)]
struct LeaseWait {
    /// Pauses so far.
    waited: u64,
    /// Pauses between two looks at `word`.
    interval: u64,
    /// Pauses after which a wanted lease is overdue.
    overdue: u64,
    /// The lease, at the last look.
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

    /// Says that the value is wanted, or revokes a lease whose holder is elsewhere. Returns the
    /// word as far as it is known.
    fn look<H>(&mut self, lease: &Lease<H>, word: u64) -> u64 {
        // Relaxed, both: a tenant that takes a revoked lease has a fence before.
        let replace = |by| {
            lease.word.compare_exchange(word, by, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if word != self.word {
            (self.word, self.next, self.steps) = (word, self.waited + self.overdue, None);
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
