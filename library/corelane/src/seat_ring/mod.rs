// Above 500 lines: one algorithm with its page and both of its sides.

//! `seatring`: a ring for byte records of any length, for several producers and several consumers,
//! of which any may be killed. It is the queue of [`shm::Lanes`](crate::shm::Lanes) of `[u8]`.
//!
//! Each handle has a number, its *seat*. In front of the records' bytes the ring has slots, one for
//! each record. The first word of a slot says how far the record is, and the seat of the handle that
//! uses the slot. A producer takes the next slot by a compare-and-swap, writes where the record is,
//! fills the record in place and marks it full. A consumer takes the oldest full record by a
//! compare-and-swap, reads the record in place and marks it free. So a consumer may hold several
//! records, and give them back in any order. Producers make room in order, up to the oldest record
//! that is not free.
//!
//! A process that is killed leaves its seats in slots. Another process that can't go on takes such a
//! seat, which the system has released, and recovers its slots: a record that a
//! producer was writing is dropped, and a record that a consumer was reading is full again.
//!
//! | | |
//! |---|---|
//! | use it | for records of several processes to one or several processes: messages, objects, frames |
//! | don't use it | from one process to one other ([`record_ring`](crate::record_ring)), or between threads ([`bytes`](crate::bytes)) |
//! | guarantee | first in first out. A side waits only for a thread that is stopped inside an operation: a pop is busy behind a claim that has not ended, and a claim between two stores of another claim |
//! | after a death | a record that the dead consumer had not given back is popped again, in its turn. A record that was not committed is not there |
//! | capacity | N bytes, as asked, or more, and at most 65,536 records. Each record counts as its length, rounded up to 64, and at least 128. The ring has room for the longest record besides. The oldest record that is held keeps the room of all behind it |
//! | longest record | a quarter of the capacity asked for, or [`Config::block`], below 4 GiB |
//! | alignment | 64 bytes |
//! | operations | a claim and its commit: a compare-and-swap, six stores. A pop and its release: two compare-and-swaps, a store. Making room: a load for each record, and two compare-and-swaps in all |
//! | paper | none |

mod heir;
mod state;

use core::fmt;
use core::mem::ManuallyDrop;

pub use heir::Heir;

use crate::bytes::record::{self, Claims, Records};
use crate::bytes::{self, ClaimError};
use crate::memory::{AtomicU64, Ordering, Words, advance, fence, is_before, limit};
use crate::pad::Padded;
use crate::queue::config::ConfigOption;
use crate::queue::{CapacityError, Config, Info, Sides, TryPopError, handles};
use crate::region::{End, Side, State as Shared, most_slots};
use crate::spin::Retries;
#[doc(hidden)]
pub use state::SEATS;
use state::{Next, Phase, State};

/// Bytes and words of a line, the unit of room.
const LINE: usize = 64;
const WORDS: usize = LINE / 8;
/// Words of a slot.
const SLOT: usize = 4;
/// Most slots.
pub(crate) const SLOTS: usize = 1 << 16;
/// Lines for which a record counts at least.
const LEAST: usize = 2;
/// Longest record in bytes: what a slot can say.
const LONGEST: usize = u32::MAX as usize;
/// How often a handle tries while other handles are faster.
const TRIES: u64 = limit(1 << 16, 4);

/// What the handles share besides the words.
#[repr(C)]
pub(crate) struct Header {
    /// Records before it have slots: a hint.
    tail: Padded<AtomicU64>,
    /// Records before it are not full: see [`Next`].
    next: Padded<AtomicU64>,
    /// The slots of records before it may be used again.
    head: Padded<AtomicU64>,
    /// Lines before it may be used again.
    free: AtomicU64,
}

impl Header {
    /// With `first` as the number of the first record and of the first line.
    fn new(first: u64) -> Self {
        Self {
            tail: Padded(AtomicU64::new(first)),
            next: Padded(AtomicU64::new(Next::new(first, 0).0)),
            head: Padded(AtomicU64::new(first)),
            free: AtomicU64::new(first),
        }
    }
}

impl Shared for Header {
    type Item = u8;
    type Slots = Words;

    fn drop_items(&self, _: &Words) {}
}

/// Makes an empty ring.
pub(crate) fn begin(words: &Words, geometry: Geometry, first: u64) {
    for number in 0..geometry.slots as u64 {
        let number = first.wrapping_add(number).wrapping_sub(geometry.slots as u64);
        let slot = Slot::of(words, geometry, number);
        // Relaxed, all: the ring isn't shared yet.
        slot.end.store(first, Ordering::Relaxed);
        slot.place.store(Place { line: 0, lines: 0 }.packed(), Ordering::Relaxed);
        slot.state.store(State::free(number).0, Ordering::Relaxed);
    }
}

/// The bytes for which a record of `len` bytes counts in the capacity.
#[doc(hidden)]
pub fn size_of_record(len: usize) -> usize {
    lines(len).max(LEAST).saturating_mul(LINE)
}

/// The sizes of a ring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Geometry {
    /// Slots, a power of two.
    slots: usize,
    /// Lines of records.
    lines: usize,
    /// Bytes of the longest record.
    longest: usize,
}

impl Geometry {
    pub(crate) fn new(config: Config) -> Result<Self, CapacityError> {
        config.only(&[ConfigOption::Block])?;
        let most = (most_slots::<Header>() / (2 * WORDS)).min(u32::MAX as usize / 2);
        let capacity = config.capacity.div_ceil(LINE);
        let longest = config.block.unwrap_or(config.capacity / 4).max(1);
        if capacity == 0 || capacity > most || lines(longest) > most || longest > LONGEST {
            let asked = config.capacity.max(config.block.unwrap_or(0));
            return Err(CapacityError::OutOfRange { asked, most: most.saturating_mul(LINE) });
        }
        let slots = capacity.div_ceil(LEAST).next_power_of_two().clamp(2, SLOTS);
        // A record that doesn't fit before the end of the ring begins at the start.
        let lines = capacity.max(lines(longest)) + lines(longest);
        Ok(Self { slots, lines, longest })
    }

    /// All words.
    pub(crate) fn len(self) -> usize {
        self.first_line() + self.lines * WORDS
    }

    /// The word at which the first line begins. The word behind the first one begins a line.
    fn first_line(self) -> usize {
        1 + (self.slots * SLOT).next_multiple_of(WORDS)
    }

    /// Bytes of records that always fit.
    fn capacity(self) -> usize {
        (self.lines - lines(self.longest)) * LINE
    }

    pub(crate) fn max_len(self) -> usize {
        self.longest
    }
}

/// Lines of a record of `len` bytes.
fn lines(len: usize) -> usize {
    len.div_ceil(LINE).max(1)
}

/// Where a record is.
#[derive(Debug, Clone, Copy)]
struct Place {
    line: u32,
    lines: u32,
}

impl Place {
    fn packed(self) -> u64 {
        u64::from(self.line) << 32 | u64::from(self.lines)
    }

    fn of(packed: u64) -> Self {
        Self { line: (packed >> 32) as u32, lines: packed as u32 }
    }

    /// The place and the end of the next record, which has `lines` lines. This record ends at `end`.
    fn next(self, end: u64, lines: usize, geometry: Geometry) -> (Self, u64) {
        let behind = self.line as usize + self.lines as usize;
        let left = geometry.lines.saturating_sub(behind);
        let (line, skipped) = if lines <= left { (behind, 0) } else { (0, left) };
        let place = Self { line: line as u32, lines: lines as u32 };
        (place, end.wrapping_add((skipped + lines) as u64))
    }
}

/// The words of a slot.
struct Slot<'a> {
    /// [`State`].
    state: &'a AtomicU64,
    /// The line behind the record, counted from the first one of the first lap on.
    end: &'a AtomicU64,
    /// [`Place`].
    place: &'a AtomicU64,
    /// Bytes of the record.
    len: &'a AtomicU64,
}

impl<'a> Slot<'a> {
    #[inline]
    fn of(words: &'a Words, geometry: Geometry, number: u64) -> Self {
        let first = 1 + SLOT * (number as usize & (geometry.slots - 1));
        let word = |i| words.atomic(first + i);
        Slot { state: word(0), end: word(1), place: word(2), len: word(3) }
    }

    #[inline]
    fn state(&self) -> State {
        // Acquire ↔ Release in `set`: the words of the slot, and what the last handle has read or
        // written.
        State(self.state.load(Ordering::Acquire))
    }

    #[inline]
    fn set(&self, state: State) {
        // Release ↔ Acquire in `state`.
        self.state.store(state.0, Ordering::Release);
    }
}

/// The ring, as any handle sees it. Not stable.
#[doc(hidden)]
pub struct Ring {
    geometry: Geometry,
    seat: u16,
    end: End<Header>,
}

impl Ring {
    #[inline]
    fn header(&self) -> &Header {
        self.end.header()
    }

    #[inline]
    fn slot(&self, number: u64) -> Slot<'_> {
        Slot::of(self.end.slots(), self.geometry, number)
    }

    #[inline]
    fn slots(&self) -> u64 {
        self.geometry.slots as u64
    }

    /// The place and the end of record `number`, which has `lines` lines. `None` while this thread
    /// doesn't see where the record before it is.
    #[inline]
    fn behind(&self, number: u64, lines: usize) -> Option<(Place, u64)> {
        let before = self.slot(number.wrapping_sub(1));
        let state = before.state();
        let is_late = state.ahead_of(number.wrapping_sub(1)) < 0;
        if is_late || state.phase() == Some(Phase::Taken) {
            return None;
        }
        // Relaxed, both: the state above orders them. If the slot has another record already, record
        // `number` has a slot, and the caller's exchange fails.
        let end = before.end.load(Ordering::Relaxed);
        let place = Place::of(before.place.load(Ordering::Relaxed));
        Some(place.next(end, lines, self.geometry))
    }

    /// Writes where a record is whose slot this handle has.
    #[inline]
    fn tell(&self, number: u64, (place, end): (Place, u64), state: State) {
        let slot = self.slot(number);
        // Release ↔ the fence in `reclaim`: the slot is taken.
        slot.end.store(end, Ordering::Release);
        // Relaxed: `set` orders it.
        slot.place.store(place.packed(), Ordering::Relaxed);
        slot.set(state);
    }

    /// Makes the slots and lines of free records usable, up to the first record that isn't free.
    /// Returns whether there were any.
    #[cold]
    fn reclaim(&self) -> bool {
        let Header { head, free, .. } = self.header();
        // Relaxed: if it is out of date, its slot has another record, or is freed once more.
        let first = head.load(Ordering::Relaxed);
        let is_free = |number: &u64| self.slot(*number).state() == State::free(*number);
        let numbers = (0..self.slots()).map(|i| first.wrapping_add(i));
        let Some(last) = numbers.take_while(is_free).last() else { return false };
        // Relaxed: checked below.
        let end = self.slot(last).end.load(Ordering::Relaxed);
        // Acquire ↔ Release in `tell`: if the end is that of a later record, its slot is seen taken.
        fence(Ordering::Acquire);
        if State(self.slot(last).state.load(Ordering::Relaxed)) != State::free(last) {
            // Another producer was faster.
            return true;
        }
        // Release ↔ Acquire in `has_room`: the records have been read.
        advance(free, end, Ordering::Release);
        // Relaxed: a producer that takes one of the slots reads its state.
        advance(head, last.wrapping_add(1), Ordering::Relaxed);
        true
    }

    /// The record at which consumers look next.
    fn next(&self) -> (Next, u64) {
        // Acquire ↔ Release in `set_back`: the record is full.
        let next = Next(self.header().next.load(Ordering::Acquire));
        // Relaxed: it only has to be near.
        (next, next.number(self.header().head.load(Ordering::Relaxed)))
    }

    /// Makes what a dead handle has left usable again: the record that it was writing is dropped,
    /// and the records that it was reading are full again. Returns whether there were any. No other
    /// thread has or recovers this seat.
    pub fn recover(&self, side: Side, seat: u16) -> bool {
        let mut found = false;
        for i in 0..self.slots() {
            let (state, number) = self.seen(i);
            if state.seat() != seat {
                continue;
            }
            match (side, state.phase()) {
                (Side::Producer, Some(Phase::Taken)) => {
                    // Its producer had found room for at least a line.
                    let Some(place) = self.behind(number, 1) else { continue };
                    self.slot(number).len.store(0, Ordering::Relaxed);
                    self.tell(number, place, State::free(number));
                }
                (Side::Producer, Some(Phase::Filling)) => {
                    self.slot(number).set(State::free(number));
                }
                (Side::Consumer, Some(Phase::Reading)) => {
                    self.slot(number).set(State::full(number));
                    self.set_back(number);
                }
                _ => continue,
            }
            found = true;
        }
        found
    }

    /// The state of the slot at place `i`, and the number of its record.
    fn seen(&self, i: u64) -> (State, u64) {
        let state = self.slot(i).state();
        // Relaxed: it only has to be near.
        (state, state.number(self.header().head.load(Ordering::Relaxed)))
    }

    /// Lets consumers look at record `number`, which is full again.
    fn set_back(&self, number: u64) {
        let (mut next, mut at) = self.next();
        loop {
            // A consumer has found it already: this thread was stopped meanwhile.
            if self.slot(number).state() != State::full(number) {
                return;
            }
            let to = if is_before(number, at) { number } else { at };
            // Release ↔ Acquire in `next` and `take`: the record is full. Relaxed where it fails:
            // it is tried again.
            let (new, order) = (next.set_back(to).0, Ordering::Release);
            match self.header().next.compare_exchange(next.0, new, order, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => next = Next(found),
            }
            at = next.number(at);
        }
    }

    /// Lets consumers look at full records behind which they look: a process that recovered them was
    /// killed then. Returns whether there were any.
    pub fn find_forgotten(&self) -> bool {
        let (_, next) = self.next();
        let forgotten = (0..self.slots()).map(|i| self.seen(i)).filter(|(state, number)| {
            state.phase() == Some(Phase::Full) && is_before(*number, next)
        });
        forgotten.map(|(_, number)| self.set_back(number)).count() > 0
    }

    /// The seats of handles that use slots.
    pub fn users(&self) -> impl Iterator<Item = (Side, u16)> + '_ {
        (0..self.slots()).filter_map(|i| {
            let state = self.slot(i).state();
            let side = match state.phase()? {
                Phase::Taken | Phase::Filling => Side::Producer,
                Phase::Reading => Side::Consumer,
                Phase::Free | Phase::Full => return None,
            };
            Some((side, state.seat()))
        })
    }

    /// Records that wait.
    fn records(&self) -> usize {
        // Relaxed: a hint.
        let tail = self.header().tail.load(Ordering::Relaxed);
        let len = tail.wrapping_sub(self.next().1) as i64;
        len.clamp(0, self.slots() as i64) as usize
    }
}

/// A sending side.
#[repr(align(128))]
pub struct Producer {
    /// The number of the next record, or an earlier one.
    number: u64,
    /// Slots and lines before these may be used again, as far as this handle knows.
    head: u64,
    free: u64,
    /// Most records that are inside when this handle pushes one.
    most: u64,
    pub(crate) ring: Ring,
}

/// A receiving side.
#[repr(align(128))]
pub struct Consumer {
    pub(crate) ring: Ring,
}

/// A slot that a producer has.
#[derive(Debug)]
pub struct Allocated {
    number: u64,
    line: u32,
}

/// A slot that a consumer has.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    number: u64,
    line: u32,
}

impl Producer {
    /// The seat is that of no other producer.
    pub(crate) fn new(end: End<Header>, geometry: Geometry, seat: u16) -> Self {
        let most = geometry.slots as u64;
        let ring = Ring { geometry, seat, end };
        ring.recover(Side::Producer, seat);
        let Header { tail, head, .. } = ring.header();
        // Relaxed, both: as far as they are out of date, the handle finds it when it looks.
        let (number, head) = (tail.load(Ordering::Relaxed), head.load(Ordering::Relaxed));
        let number = if is_before(number, head) { head } else { number };
        // It knows of no free slot yet.
        let head = number.wrapping_sub(most);
        Self { number, head, free: 0, most, ring }
    }

    /// Takes the slot of the next record, if there is a slot and room.
    fn take(&mut self, lines: usize) -> Result<Allocated, ClaimError> {
        let mut retries = Retries::default();
        for _ in 0..TRIES {
            let number = self.number;
            let state = self.ring.slot(number).state();
            let before = number.wrapping_sub(self.ring.slots());
            if state != State::free(before) {
                if state.ahead_of(before) > 0 {
                    self.skip();
                    continue;
                }
                return Err(ClaimError::Full);
            }
            let Some((place, end)) = self.ring.behind(number, lines) else {
                if retries.again(true) {
                    continue;
                }
                return Err(ClaimError::Busy);
            };
            if !self.has_room(number, end) {
                // Unless another producer has taken the slot meanwhile.
                if self.ring.slot(number).state() == state {
                    return Err(ClaimError::Full);
                }
                continue;
            }
            let taken = State::new(number, self.ring.seat, Phase::Taken);
            // Relaxed: `state` above has acquired what the last handle of the slot has done.
            let order = Ordering::Relaxed;
            let word = self.ring.slot(number).state;
            if word.compare_exchange(state.0, taken.0, order, order).is_ok() {
                let filling = State::new(number, self.ring.seat, Phase::Filling);
                self.ring.tell(number, (place, end), filling);
                self.number = number.wrapping_add(1);
                self.tell_tail();
                return Ok(Allocated { number, line: place.line });
            }
        }
        Err(ClaimError::Busy)
    }

    /// Moves behind a record that has its slot.
    fn skip(&mut self) {
        let Header { tail, head, .. } = self.ring.header();
        // Relaxed, both: hints.
        let (tail, head) = (tail.load(Ordering::Relaxed), head.load(Ordering::Relaxed));
        self.number = self.number.wrapping_add(1);
        // This handle may have been idle for many laps.
        if is_before(self.number, head) {
            self.number = head;
        }
        // No process that isn't to be trusted can send this one further than a lap.
        if tail.wrapping_sub(self.number) <= self.ring.slots() {
            self.number = tail;
        }
    }

    /// Says that the records before this handle's number have slots.
    fn tell_tail(&self) {
        // Relaxed: a hint.
        advance(&self.ring.header().tail, self.number, Ordering::Relaxed);
    }

    /// Whether there is room for record `number`, which ends at `end`.
    fn has_room(&mut self, number: u64, end: u64) -> bool {
        let lines = self.ring.geometry.lines as u64;
        let fits = |head: u64, free: u64, most| {
            number.wrapping_sub(head) < most && end.wrapping_sub(free) <= lines
        };
        loop {
            if fits(self.head, self.free, self.most) {
                return true;
            }
            let Header { head, free, .. } = self.ring.header();
            // Acquire ↔ Release in `reclaim`: the records have been read.
            let now = (head.load(Ordering::Relaxed), free.load(Ordering::Acquire));
            if now == (self.head, self.free) && !self.ring.reclaim() {
                return false;
            }
            (self.head, self.free) = now;
        }
    }

    /// Claims room for a record of `len` bytes.
    pub fn try_claim(&mut self, len: usize) -> Result<Claim<'_>, ClaimError> {
        let allocated = self.allocate(len)?;
        Ok(Claim::new(self, allocated, len, ()))
    }

    /// Appends a copy of `bytes` as a record.
    pub fn try_push(&mut self, bytes: &[u8]) -> Result<(), ClaimError> {
        self.try_claim(bytes.len()).map(|claim| claim.commit_copy(bytes))
    }

    /// This handle finds the ring full when `records` records are inside.
    #[doc(hidden)]
    pub fn limit(&mut self, records: usize) {
        self.most = self.ring.slots().min(records.max(1) as u64);
    }
}

impl Consumer {
    /// The seat is that of no other consumer.
    pub(crate) fn new(end: End<Header>, geometry: Geometry, seat: u16) -> Self {
        let ring = Ring { geometry, seat, end };
        ring.recover(Side::Consumer, seat);
        Self { ring }
    }

    /// Takes the oldest full record.
    fn take(&mut self) -> Result<Found, TryPopError> {
        let ring = &self.ring;
        let (mut next, mut number) = ring.next();
        for _ in 0..TRIES {
            let slot = ring.slot(number);
            let state = slot.state();
            if state == State::full(number) {
                let reading = State::new(number, ring.seat, Phase::Reading);
                // Relaxed: `state` above has acquired the record.
                let order = Ordering::Relaxed;
                if slot.state.compare_exchange(state.0, reading.0, order, order).is_err() {
                    continue;
                }
                // Relaxed: if it fails, another handle was faster.
                let moved = next.at(number.wrapping_add(1));
                let _ = ring.header().next.compare_exchange(next.0, moved.0, order, order);
                let place = Place::of(slot.place.load(Ordering::Relaxed));
                return Ok(Found { number, line: place.line });
            }
            match state.ahead_of(number) {
                // No producer has taken the slot for this record.
                ..0 => return Err(TryPopError::Empty),
                0 if matches!(state.phase(), Some(Phase::Taken | Phase::Filling)) => {
                    return Err(TryPopError::Busy);
                }
                _ => {}
            }
            // Another consumer has it, or had it.
            let moved = next.at(number.wrapping_add(1));
            // Relaxed: what was full at `next` is taken. Acquire ↔ Release in `set_back`, where it
            // fails: the record is full.
            let (done, failed) = (Ordering::Relaxed, Ordering::Acquire);
            let found = ring.header().next.compare_exchange(next.0, moved.0, done, failed);
            next = found.map_or_else(Next, |_| moved);
            number = next.number(number);
        }
        Err(TryPopError::Busy)
    }

    /// Takes the oldest record, and lends its bytes.
    pub fn try_pop(&mut self) -> Result<Record<'_>, TryPopError> {
        let found = self.reserve(&mut false)?;
        Ok(Record::new(self, found, ()))
    }

    /// Bytes of the record, which lie in the ring whatever another process wrote.
    fn bytes_of(&self, found: Found) -> usize {
        // Relaxed: `take` has acquired the record.
        let len = self.ring.slot(found.number).len.load(Ordering::Relaxed) as usize;
        let left = self.ring.geometry.lines.saturating_sub(found.line as usize) * LINE;
        len.min(left)
    }
}

/// The calls that both sides have.
macro_rules! both {
    ($($side:ident)*) => {$(
        impl $side {
            /// Bytes that the ring always has room for.
            pub fn capacity(&self) -> usize {
                self.ring.geometry.capacity()
            }

            /// Records that wait: a snapshot, which counts those that producers are writing.
            pub fn records(&self) -> usize {
                self.ring.records()
            }

            /// Whether all handles of the other side are gone.
            pub fn is_closed(&self) -> bool {
                self.ring.end.peer_is_gone()
            }
        }

        handles!(@debug [] $side);
    )*};
}

both! { Producer Consumer }

/// Room for a record, from [`Producer::try_claim`].
pub type Claim<'a> = bytes::Claim<'a, Producer>;

/// A record in place, from [`Consumer::try_pop`].
pub type Record<'a> = bytes::Record<'a, Consumer>;

/// Room for a record. Dropping it aborts the claim.
#[derive(Debug)]
pub struct Room<'a> {
    ring: &'a Ring,
    allocated: Allocated,
}

impl Claims for Producer {
    type Allocated = Allocated;
    type Room<'a> = Room<'a>;
    const CHANGES_IN_VAIN: bool = true;

    #[inline]
    fn allocate(&mut self, len: usize) -> Result<Allocated, ClaimError> {
        let most = self.ring.geometry.max_len();
        if len > most {
            return Err(ClaimError::TooLarge { len, most });
        }
        self.take(lines(len)).map_err(|error| match error {
            ClaimError::Full if self.is_closed() => ClaimError::Closed,
            other => other,
        })
    }

    #[inline]
    unsafe fn room(&mut self, allocated: Allocated) -> Room<'_> {
        Room { ring: &self.ring, allocated }
    }

    fn capacity(&self) -> usize {
        self.capacity()
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }

    fn max_len(&self) -> usize {
        self.ring.geometry.max_len()
    }

    fn most_records(&self, len: usize) -> usize {
        (self.capacity() / size_of_record(len)).min(self.most as usize)
    }
}

// SAFETY: `take` has found these lines free, and the slot is this handle's. All bytes of the ring
// are initialised, and no consumer looks at them before the commit.
unsafe impl record::Room for Room<'_> {
    type Allocated = Allocated;

    #[inline]
    fn bytes(&self, len: usize) -> *mut u8 {
        let first = self.ring.geometry.first_line() + self.allocated.line as usize * WORDS;
        self.ring.end.slots().bytes_to_fill(first, len.div_ceil(8))
    }

    #[inline]
    fn commit(self, len: usize) {
        let Self { ring, allocated: Allocated { number, .. } } = &*ManuallyDrop::new(self);
        let slot = ring.slot(*number);
        // Relaxed: `set` orders it.
        slot.len.store(len as u64, Ordering::Relaxed);
        slot.set(State::full(*number));
    }

    fn suspend(self) -> Allocated {
        let Allocated { number, line } = ManuallyDrop::new(self).allocated;
        Allocated { number, line }
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let number = self.allocated.number;
        self.ring.slot(number).set(State::free(number));
    }
}

// SAFETY: the slot is this handle's from `reserve` to `release`. No producer writes to the lines of
// a record that isn't free. `bytes_of` bounds the length.
unsafe impl Records for Consumer {
    type Found = Found;

    #[inline]
    fn reserve(&mut self, _: &mut bool) -> Result<(Found, usize), TryPopError> {
        let found = match self.take() {
            // A look after the last producer has gone finds all that producers pushed.
            Err(TryPopError::Empty) if self.is_closed() => {
                self.take().map_err(|error| match error {
                    TryPopError::Empty => TryPopError::Closed,
                    other => other,
                })?
            }
            other => other?,
        };
        Ok((found, self.bytes_of(found)))
    }

    #[inline]
    unsafe fn bytes(&self, found: Found, len: usize) -> *const u8 {
        let Geometry { lines, .. } = self.ring.geometry;
        let line = (found.line as usize).min(lines);
        let first = self.ring.geometry.first_line() + line * WORDS;
        self.ring.end.slots().bytes_to_empty(first, len.div_ceil(8))
    }

    #[inline]
    unsafe fn release(&mut self, found: Found, _: usize) {
        self.ring.slot(found.number).set(State::free(found.number));
    }

    fn capacity(&self) -> usize {
        self.capacity()
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("seat", &self.seat).finish_non_exhaustive()
    }
}

/// For the programs that check and measure it; not stable.
#[doc(hidden)]
pub const INFO: Info = Info {
    id: "seatring",
    name: "ring of byte records, for several processes",
    paper: "none; see its page",
    sides: Sides::ManyToMany,
    guarantee: "FIFO; waits for threads stopped inside an operation",
    capacity: "n bytes, or more; the ring has room for the longest record besides",
    choose: "for records of several processes, of which any may die",
    avoid: "between threads (bbq-bytes), or from one process to one other (recordring)",
    ..Info::RING
};
