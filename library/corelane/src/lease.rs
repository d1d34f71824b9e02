//! A value that one thread at a time uses: a lock whose holder pays no locked instruction for as long as it stays the holder.
//!
//! A [`Tenant`] leases the value, and keeps the lease when it is done with a use. A tenant that waits for the value is counted
//! in `waiting`. The holder reads that count after each use, and gives the value up when it has used the value often enough. If
//! the holder doesn't come, the waiting tenant revokes the lease.
//!
//! # Why two tenants never use the value at the same time
//!
//! A tenant makes `steps` of its seat odd, and then reads `word`: it uses the value only if `word` still says that it holds the
//! lease. A tenant that revokes the lease changes `word`, and then reads the holder's `steps`: it takes the lease only if they are
//! even. Between its two accesses the holder has the light fence of a [`Barrier`], and the other tenant has the heavy fence. So
//! the holder sees that the lease is revoked, or the other tenant sees that the holder is at work. No value of `word` occurs
//! twice, since each lease has a number.
//!
//! # Short leases
//!
//! A heavy fence takes microseconds. If tenants take turns after a few uses, revoking is too slow. So when several leases in a
//! row were revoked after few uses, leases become short: a tenant gives the value up after each use, as it would a lock. When
//! one tenant gets the value many times in a row, leases become long again.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use crate::memory::{AtomicPtr, AtomicU64, Barrier, Mutex, Ordering, UnsafeCell, limit, pause};
use crate::pad::Padded;
use crate::region::{MOST_ENDS, no_memory};

/// Uses after which a holder gives the value up, if others wait.
const RUN: u64 = limit(64, 1);
/// The same for a holder that nevertheless always gets the value back: the others don't run.
const LONGEST_RUN: u64 = limit(1 << 14, 1);
/// Looks at the value's state in a call that finds it leased to another tenant.
const LOOKS: u64 = limit(200, 3);
/// Looks from which on a holder that hasn't moved is taken to be elsewhere.
const IDLE: u64 = limit(40, 1);
/// Looks for which a tenant that has given the value up leaves it to others.
const STAND_BACK: u64 = limit(20, 1);
/// A lease of fewer uses is one of a turn.
const TURN: u64 = limit(16, 2);
/// Revoked leases of turns in a row from which on leases are short.
const TURNS: u64 = limit(4, 1);
/// Short leases of one tenant in a row from which on leases are long.
const ALONE: u64 = limit(64, 2);

/// The states of a lease, in the lowest bits of a word.
const FREE: u64 = 0;
const LEASED: u64 = 1;
/// The lease is revoked, but the holder may not know it yet.
const REVOKING: u64 = 2;
/// The lease is revoked; the holder is at work if its seat says so.
const REVOKED: u64 = 3;

/// The state, the holder's seat, and the number of the lease.
const STATE: u64 = 3;
const SEAT: u64 = (MOST_ENDS - 1) << 2;
const LEASE: u64 = 4 * MOST_ENDS;

/// `waiting` while leases are short, besides the number of tenants that wait.
const SHORT: u64 = 1 << 32;
/// `waiting` when a single tenant is left.
const LEFT: u64 = 1 << 33;
/// The number of tenants that wait.
const NUMBER: u64 = SHORT - 1;

/// The index of the seat in a word.
#[inline]
fn seat_of(word: u64) -> usize {
    ((word & SEAT) >> 2) as usize
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
    /// `steps` when the tenant got its last lease.
    gained: AtomicU64,
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
        // Relaxed: the tenant whose seat it is made the segment before, or saw it, and that is known with the index.
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
            let zero = || AtomicU64::new(0);
            seats.extend((0..n).map(|_| Seat { steps: zero(), gained: zero() }));
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
                // SAFETY: `take` made the segment of so many seats, and nothing refers to it any more.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(first, 1 << segment)) });
            }
        }
    }
}

/// A value, and which tenant may use it.
pub struct Lease<H> {
    word: Padded<AtomicU64>,
    /// Tenants that wait for the value, and [`SHORT`].
    waiting: Padded<AtomicU64>,
    /// Leases in a row that were revoked after few uses.
    turns: AtomicU64,
    tenants: AtomicU64,
    seats: Seats,
    barrier: Barrier,
    /// Empty while the only user has the value itself.
    value: UnsafeCell<Option<H>>,
}

// SAFETY: one tenant at a time uses the value, and may be on any thread.
unsafe impl<H: Send> Sync for Lease<H> {}

impl<H> Default for Lease<H> {
    /// The lease of a value that its only user has itself.
    fn default() -> Self {
        Self {
            word: Padded(AtomicU64::new(FREE)),
            waiting: Padded(AtomicU64::new(0)),
            turns: AtomicU64::new(0),
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
    /// Revokes the lease `word`, whose holder had `steps`.
    fn revoke(&self, word: u64, steps: u64) {
        // Relaxed, all of it: the fence in `confirm` orders it.
        let revoking = in_state(word, REVOKING);
        if self.word.compare_exchange(word, revoking, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return;
        }
        // SAFETY: the holder has this seat.
        let gained =
            unsafe { self.seats.get(seat_of(word)).as_ref() }.gained.load(Ordering::Relaxed);
        if steps.wrapping_sub(gained) >= 2 * TURN {
            self.turns.store(0, Ordering::Relaxed);
        } else if self.turns.fetch_add(1, Ordering::Relaxed) + 1 == TURNS {
            self.set_short(true);
        }
        self.confirm(revoking);
    }

    /// Makes sure that the holder knows of a revocation, or is seen at work.
    #[cold]
    fn confirm(&self, word: u64) {
        self.barrier.heavy();
        // Release ↔ Acquire in `gain`: the fence. Fails if another tenant has confirmed it.
        let revoked = in_state(word, REVOKED);
        let _ = self.word.compare_exchange(word, revoked, Ordering::Release, Ordering::Relaxed);
    }

    /// Makes leases short, or long.
    fn set_short(&self, is_short: bool) {
        self.mark(SHORT, is_short);
        // Relaxed: a hint.
        self.turns.store(0, Ordering::Relaxed);
    }

    /// Sets or clears a mark of `waiting`.
    fn mark(&self, mark: u64, is_set: bool) {
        // Relaxed, all of it: a hint.
        let mut waiting = self.waiting.load(Ordering::Relaxed);
        while (waiting & mark != 0) != is_set {
            let new = waiting ^ mark;
            match self.waiting.compare_exchange(waiting, new, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(found) => waiting = found,
            }
        }
    }

    /// Whether the tenant in a seat is using the value.
    #[inline]
    fn is_at_work(&self, index: usize) -> bool {
        // Acquire ↔ Release in `exit`: the value. SAFETY: a tenant has had the seat.
        unsafe { self.seats.get(index).as_ref() }.steps.load(Ordering::Acquire) & 1 != 0
    }
}

/// The word of a tenant without a lease: no lease has it.
const NO_LEASE: u64 = u64::MAX;

/// A user of the value of a [`Lease`], always of the same lease.
///
/// The only user has the value itself, and needs no lease, until it is duplicated.
pub struct User<H> {
    /// The value, while this is the only user.
    own: MaybeUninit<H>,
    /// `None` while this is the only user. In a box, so that a loop that owns the user keeps the user in registers.
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

    /// Uses the value. `None` if another user is using it, or has just got it. `work` also says whether this user may want
    /// to use the value again soon.
    #[inline(always)]
    pub fn with<R>(
        &mut self,
        lease: &Lease<H>,
        work: impl FnOnce(&mut H) -> (R, bool),
    ) -> Option<R> {
        let Some(mut tenant) = self.tenant.get() else {
            // SAFETY: the only user has the value.
            return Some(work(unsafe { self.own.assume_init_mut() }).0);
        };
        // SAFETY: the tenant is this user's.
        let tenant = unsafe { tenant.as_mut() };
        if !tenant.enter(lease) {
            return None;
        }
        // SAFETY: between `enter` and `exit`. The value is there as long as there are tenants.
        let (result, has_more) =
            lease.value.with_mut(|value| unsafe { work((*value).as_mut().unwrap_unchecked()) });
        if tenant.exit(lease, has_more) {
            self.take_back(lease);
        }
        Some(result)
    }

    /// Takes the value back, as the only user, if its tenant has the lease.
    #[cold]
    fn take_back(&mut self, lease: &Lease<H>) {
        let Some(tenant) = self.tenant.get() else { return };
        // SAFETY: as in `with`.
        if unsafe { tenant.as_ref() }.word == NO_LEASE {
            return;
        }
        // SAFETY: there is no other tenant, and this one has the lease. The value is there.
        let value = lease.value.with_mut(|value| unsafe { (*value).take().unwrap_unchecked() });
        self.own = MaybeUninit::new(value);
        lease.mark(LEFT, false);
        self.leave(lease);
    }

    /// One more user.
    pub fn duplicate(&self, lease: &Lease<H>) -> Self {
        if self.tenant.get().is_none() {
            // SAFETY: this is the only user, and has the value. From now on it uses the value by the lease.
            lease.value.with_mut(|value| unsafe { *value = Some(self.own.assume_init_read()) });
            self.tenant.set(Some(Tenant::boxed(lease)));
        }
        Self { own: MaybeUninit::uninit(), tenant: Cell::new(Some(Tenant::boxed(lease))) }
    }

    /// Drops the tenant.
    fn leave(&mut self, lease: &Lease<H>) {
        if let Some(tenant) = self.tenant.take() {
            // SAFETY: it came from a box, and this user alone had it.
            unsafe { Box::from_raw(tenant.as_ptr()) }.leave(lease);
        }
    }

    /// Ends the use. The user is not used any more.
    pub fn end(&mut self, lease: &Lease<H>) {
        match self.tenant.get() {
            // The lease drops the value. SAFETY: the only user has the value, and does not use it any more.
            None => {
                lease.value.with_mut(|value| unsafe { *value = Some(self.own.assume_init_read()) })
            }
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
    gained: u64,
    /// See [`RUN`].
    run: u64,
    /// Short leases in a row.
    alone: u64,
    /// Whether the tenant is counted in `waiting`.
    waits: bool,
}

impl Tenant {
    /// One more tenant, in a box.
    fn boxed<H>(lease: &Lease<H>) -> NonNull<Self> {
        let index = lease.seats.take().unwrap_or_else(no_memory);
        // Relaxed: the user of the new tenant comes from another one.
        lease.tenants.fetch_add(1, Ordering::Relaxed);
        let seat = lease.seats.get(index);
        // Relaxed: the lock of `take` and `leave` orders it. SAFETY: the seat lives as long as the lease.
        let steps = unsafe { seat.as_ref() }.steps.load(Ordering::Relaxed);
        let word = NO_LEASE;
        let this = Self { seat, index, word, steps, gained: 0, run: RUN, alone: 0, waits: false };
        NonNull::from(Box::leak(Box::new(this)))
    }

    #[inline(always)]
    fn seat(&self) -> &Seat {
        // SAFETY: the seat lives as long as the lease, and the lease as long as the tenant.
        unsafe { self.seat.as_ref() }
    }

    /// Begins a use of the value. `false` if another tenant is using it, or has just got it. After `true`, [`exit`](Self::exit)
    /// must follow.
    #[inline(always)]
    fn enter<H>(&mut self, lease: &Lease<H>) -> bool {
        // Relaxed, both: the fence orders them.
        self.seat().steps.store(self.steps.wrapping_add(1), Ordering::Relaxed);
        lease.barrier.light();
        lease.word.load(Ordering::Relaxed) == self.word || self.gain(lease)
    }

    /// Ends a use of the value; `has_more` if the tenant may want to use it again soon. Returns whether this is the last tenant.
    #[inline(always)]
    fn exit<H>(&mut self, lease: &Lease<H>, has_more: bool) -> bool {
        self.steps = self.steps.wrapping_add(2);
        // Release ↔ Acquire in `is_at_work`: the value.
        self.seat().steps.store(self.steps, Ordering::Release);
        // Relaxed: a hint.
        let waiting = lease.waiting.load(Ordering::Relaxed);
        waiting != 0 && self.consider(lease, waiting, has_more)
    }

    /// Gives the value up, if it is time.
    #[cold]
    fn consider<H>(&mut self, lease: &Lease<H>, waiting: u64, has_more: bool) -> bool {
        let is_over = self.steps.wrapping_sub(self.gained) >= 2 * self.run;
        if waiting & SHORT != 0 || waiting & NUMBER > 0 && (is_over || !has_more) {
            self.give_up(lease);
        }
        if waiting & LEFT == 0 {
            return false;
        }
        // Acquire ↔ Release in `leave`: all that the other tenants did with the value.
        let is_last = lease.tenants.load(Ordering::Acquire) == 1;
        if !is_last {
            lease.mark(LEFT, false);
        }
        is_last
    }

    /// Gives the value up, if this tenant has it.
    fn give_up<H>(&mut self, lease: &Lease<H>) {
        if self.word != NO_LEASE {
            let free = in_state(self.word, FREE);
            // Release ↔ Acquire in `gain`: the value. Fails if the lease was revoked.
            let _ =
                lease.word.compare_exchange(self.word, free, Ordering::Release, Ordering::Relaxed);
            self.word = NO_LEASE;
        }
    }

    /// Gets the lease, and begins a use. Looks for a bounded time.
    #[cold]
    #[inline(never)]
    fn gain<H>(&mut self, lease: &Lease<H>) -> bool {
        self.word = NO_LEASE;
        // Relaxed: the value was not used.
        self.seat().steps.store(self.steps, Ordering::Relaxed);
        let (mut seen, mut idle) = (None, 0);
        for look in 0..LOOKS {
            // Acquire ↔ Release in `give_up`, `confirm` and `take`: the value, and the holder's seat.
            let word = lease.word.load(Ordering::Acquire);
            match word & STATE {
                FREE if self.leaves_it(lease, word, look) => {}
                FREE if self.take(lease, word) => return true,
                REVOKED if !lease.is_at_work(seat_of(word)) && self.take(lease, word) => {
                    return true;
                }
                REVOKING => lease.confirm(word),
                LEASED => {
                    // Relaxed: a guess. SAFETY: the holder has this seat.
                    let holder = unsafe { lease.seats.get(seat_of(word)).as_ref() };
                    let now = (word, holder.steps.load(Ordering::Relaxed));
                    idle = if seen == Some(now) { idle + 1 } else { 0 };
                    seen = Some(now);
                    if idle >= IDLE && now.1 & 1 == 0 {
                        lease.revoke(word, now.1);
                    }
                }
                _ => {}
            }
            if !self.waits {
                // Relaxed: a hint.
                lease.waiting.fetch_add(1, Ordering::Relaxed);
                self.waits = true;
            }
            pause(1);
        }
        false
    }

    /// Whether this tenant leaves the free value to others, since it was the last to have it.
    fn leaves_it<H>(&mut self, lease: &Lease<H>, word: u64, look: u64) -> bool {
        if seat_of(word) != self.index
            || lease.waiting.load(Ordering::Relaxed) & NUMBER <= u64::from(self.waits)
        {
            self.run = RUN;
            return false;
        }
        if look >= STAND_BACK {
            self.run = (2 * self.run).min(LONGEST_RUN);
        }
        look < STAND_BACK
    }

    /// Takes a lease that no tenant has, and begins a use.
    fn take<H>(&mut self, lease: &Lease<H>, word: u64) -> bool {
        // Relaxed: the exchange releases it.
        self.seat().gained.store(self.steps, Ordering::Relaxed);
        self.seat().steps.store(self.steps.wrapping_add(1), Ordering::Relaxed);
        let mine = (word & !(SEAT | STATE)).wrapping_add(LEASE) | (self.index as u64) << 2 | LEASED;
        // Release ↔ Acquire in `gain`: this tenant's seat.
        if lease.word.compare_exchange(word, mine, Ordering::Release, Ordering::Relaxed).is_err() {
            self.seat().steps.store(self.steps, Ordering::Relaxed);
            return false;
        }
        (self.word, self.gained) = (mine, self.steps);
        self.stop_waiting(lease);
        self.alone = if seat_of(word) == self.index { self.alone + 1 } else { 0 };
        // Relaxed: a hint.
        if self.alone >= ALONE && lease.waiting.load(Ordering::Relaxed) & SHORT != 0 {
            lease.set_short(false);
        }
        true
    }

    fn stop_waiting<H>(&mut self, lease: &Lease<H>) {
        if self.waits {
            // Relaxed: a hint.
            lease.waiting.fetch_add(1_u64.wrapping_neg(), Ordering::Relaxed);
            self.waits = false;
        }
    }

    /// Leaves the lease. The tenant is not used any more.
    fn leave<H>(mut self, lease: &Lease<H>) {
        self.give_up(lease);
        self.stop_waiting(lease);
        lease.seats.leave(self.index);
        // Release ↔ Acquire in `consider`: all that this tenant did with the value.
        if lease.tenants.fetch_add(1_u64.wrapping_neg(), Ordering::Release) == 2 {
            lease.mark(LEFT, true);
        }
    }
}
