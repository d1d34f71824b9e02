// Above 500 lines: one algorithm with its page and both of its sides.

//! `recordring`: a ring for byte records of any length, one producer and one consumer. Records are
//! written and read in place.
//!
//! A record is a header of 8 bytes and its bytes, rounded up to 8. The producer writes the bytes,
//! makes the next header empty, and then stores its own header: with this one store the record is
//! visible. The consumer looks only at the header at its position, which is empty until the record
//! is there. So a short record moves to the other core in one cache line, and no index is shared. A
//! record that doesn't fit before the end of the ring begins at the start of the ring: a header
//! says so.
//!
//! The consumer gives room back an eighth of the ring at a time.
//!
#![doc = advice!(recordring)]
//!
//! | | |
//! |---|---|
//! | guarantee | wait-free, first in first out; a record is visible when its commit returns |
//! | capacity | N bytes: as asked, or more. A claim finds room whenever no record is held and, with this claim, at most N bytes are inside. Each record counts as its length and 8 more, rounded up to 8 bytes, and from 512 on to 64. The ring has room for N bytes, the longest record, and a seventh |
//! | longest record | a quarter of the capacity asked for, or [`Config::block`], up to 4 GiB − 3: [`Producer::max_len`] |
//! | alignment | 8 bytes |
//! | misses per record | while the consumer waits for each record: 1 for each side, for the line with its header, and 1 for each further line. While the consumer is behind: 1 for each line |
//! | paper | none. A slot that is its own flag: FastForward |
//!
//! ```
//! use corelane::record_ring;
//!
//! let (mut tx, mut rx) = record_ring::queue(1 << 16)?;
//! let mut claim = tx.try_claim(1500)?;
//! let received = claim.len() - 1000; // a read from a socket, say
//! claim[..received].fill(7);
//! claim.commit_len(received);
//!
//! let record = rx.try_pop()?;
//! assert_eq!(*record, [7; 500]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod head;
mod place;
mod resume;

#[doc(hidden)]
pub use resume::Heir;

use core::ptr;

use crate::bytes::record::{Claims, Records, Room};
use crate::bytes::{self, ClaimError};
use crate::memory::{AtomicU64, Ordering, Words, keep_order, prefetch_to_write};
use crate::pad::Padded;
use crate::queue::config::ConfigOption;
use crate::queue::{Backing, CapacityError, Config, Info, TryPopError, handles};
use crate::region::{End, State, ends, most_slots};
use crate::spin::Distance;
use head::{Head, LINE, LONGEST, WORD, words};
use place::Place;

/// What the two sides share besides the words.
#[repr(C)]
pub(crate) struct Header {
    /// The position up to which the consumer has given room back.
    read: Padded<AtomicU64>,
    /// The consumer's position, for a consumer that continues after it.
    popped: Padded<Mark>,
    /// The producer's position, for a producer that continues after it.
    pushed: Padded<Mark>,
    /// Position and number of the first record. Never written.
    first: AtomicU64,
}

/// How far a side has come.
struct Mark {
    position: AtomicU64,
    /// Records before that.
    count: AtomicU64,
}

impl Mark {
    fn new(first: u64) -> Padded<Self> {
        Padded(Self { position: AtomicU64::new(first), count: AtomicU64::new(first) })
    }

    #[inline]
    fn store(&self, position: u64, count: u64) {
        // Relaxed, both: the system orders the end of a process before the next one takes the side,
        // and `len` is a snapshot.
        self.position.store(position, Ordering::Relaxed);
        self.count.store(count, Ordering::Relaxed);
    }
}

impl Header {
    pub(crate) fn new(first: u64) -> Self {
        let read = Padded(AtomicU64::new(first));
        Self {
            read,
            popped: Mark::new(first),
            pushed: Mark::new(first),
            first: AtomicU64::new(first),
        }
    }

    fn first(&self) -> u64 {
        // Relaxed: it was written before the queue was shared.
        self.first.load(Ordering::Relaxed)
    }
}

impl State for Header {
    type Item = u8;
    type Slots = Words;

    fn drop_items(&self, _: &Words) {}
}

/// A queue with room for at least `capacity` bytes.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue(capacity: usize) -> Result<(Producer, Consumer), CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options. Capacity and block are in bytes.
///
/// `block` is the length of the longest record that must fit.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with(config: Config) -> Result<(Producer, Consumer), CapacityError> {
    let geometry = Geometry::new(config)?;
    let (tx, rx) = ends(config.memory, geometry.len, Header::new(config.first))?;
    begin(tx.slots(), config.first);
    Ok((Producer::new(tx, geometry), Consumer::new(rx, geometry)))
}

/// Makes the ring empty.
pub(crate) fn begin(words: &Words, first: u64) {
    // Relaxed: the queue isn't shared yet.
    words.atomic(0).store(Head::empty(first).0, Ordering::Relaxed);
}

/// The bytes for which a record of `len` bytes counts in the capacity.
///
/// ```
/// use corelane::{Config, record_ring};
///
/// let config = Config::new(3 * record_ring::size_of_record(1500)).block(1500);
/// let (mut tx, _rx) = record_ring::queue_with(config)?;
/// assert!((0..3).all(|_| tx.try_push(&[0; 1500]).is_ok()));
/// # Ok::<(), corelane::CapacityError>(())
/// ```
pub fn size_of_record(len: usize) -> usize {
    words(len).saturating_mul(WORD)
}

/// The sizes of a ring, in words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Geometry {
    /// All words.
    pub(crate) len: usize,
    /// Those of the longest record, with its header.
    longest: usize,
}

impl Geometry {
    pub(crate) fn new(config: Config) -> Result<Self, CapacityError> {
        config.only(&[ConfigOption::Block])?;
        let most = most_slots::<Header>() / 8;
        let capacity = config.capacity.div_ceil(WORD);
        let usual = (capacity.div_ceil(4).max(1) - 1) * WORD;
        let longest = words(config.block.unwrap_or(usual));
        if capacity == 0 || capacity > most || longest > most {
            let most = most.saturating_mul(WORD);
            // A queue for 0 bytes is refused, however long its records may be.
            let block = if capacity == 0 { None } else { config.block };
            let asked = config.capacity.max(block.unwrap_or(0));
            return Err(CapacityError::OutOfRange { asked, most });
        }
        // One header more: the empty header behind the last record.
        let needed = capacity.max(longest) + longest + 1;
        Ok(Self { len: needed + needed.div_ceil(7), longest })
    }

    /// Length of the longest record, in bytes.
    #[inline]
    pub(crate) fn max_len(self) -> usize {
        ((self.longest - 1) * WORD).min(LONGEST)
    }

    /// Words that are given back together.
    fn together(self) -> usize {
        self.len / 8
    }

    /// Bytes of records and their headers that always fit.
    fn capacity(self) -> usize {
        (self.len - self.together() - self.longest - 1) * WORD
    }
}

/// The sending side.
#[repr(align(128))]
pub struct Producer {
    /// Where the next record begins. Its header there is empty.
    place: Place,
    /// Number of the next record.
    count: u64,
    /// The position up to which words are free, by the last read of `read`.
    limit: u64,
    geometry: Geometry,
    end: End<Header>,
}

/// The receiving side.
#[repr(align(128))]
pub struct Consumer {
    /// Where the next record begins, or a header that is skipped.
    place: Place,
    /// Number of the next record.
    count: u64,
    /// The position up to which room was given back.
    given: u64,
    distance: Distance,
    geometry: Geometry,
    end: End<Header>,
}

/// The end of a record that a consumer keeps while it reads further ones.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Passed {
    position: u64,
    count: u64,
}

/// A consumer that pops this number of records before it catches up again is far enough behind.
const FAR_BEHIND: u64 = 128;

impl Producer {
    /// Of a ring without records.
    pub(crate) fn new(end: End<Header>, geometry: Geometry) -> Self {
        let first = end.header().first();
        let limit = first.wrapping_add(geometry.len as u64);
        Self { place: Place::start(first), count: first, limit, geometry, end }
    }

    /// Claims room for a record of `len` bytes. The caller writes the record in place, and then
    /// commits the claim.
    ///
    /// # Errors
    ///
    /// [`TooLarge`](ClaimError::TooLarge) if no record may be that long. [`Full`](ClaimError::Full)
    /// if there is no room, or popped records are still held. [`Closed`](ClaimError::Closed) if
    /// there is no room and the consumer is gone. Never [`Busy`](ClaimError::Busy).
    #[inline(always)]
    pub fn try_claim(&mut self, len: usize) -> Result<Claim<'_>, ClaimError> {
        self.allocate(len)?;
        Ok(Claim::new(self, (), len, ()))
    }

    /// Whether `n` words and a header behind them are free, from the place on or from the start of
    /// the ring on.
    #[inline(always)]
    fn has_room(&mut self, n: usize) -> bool {
        let left = self.place.left(self.geometry.len);
        let skipped = if n > left { left } else { 0 };
        if !self.is_free(skipped + n + 1) {
            self.look();
            if !self.is_free(skipped + n + 1) {
                return false;
            }
        }
        if skipped > 0 {
            self.move_by(skipped, Head::skip(self.count));
        }
        true
    }

    /// Whether `n` words from the place on are free, by the last look.
    #[inline(always)]
    fn is_free(&self, n: usize) -> bool {
        self.limit.wrapping_sub(self.place.position) >= n as u64
    }

    #[inline]
    fn look(&mut self) {
        let (position, len) = (self.place.position, self.geometry.len as u64);
        // Acquire ↔ Release in `Consumer::give_back`: the records are read.
        let read = self.end.header().read.load(Ordering::Acquire);
        // The consumer can't be before the producer's last lap, nor behind the producer. If `read`
        // says so, another process, which isn't to be trusted, wrote it: then the ring is full.
        let is_possible = position.wrapping_sub(read) <= len;
        self.limit = if is_possible { read.wrapping_add(len) } else { position };
    }

    /// Shows the consumer what is at the place, which takes `n` words, and moves behind it.
    #[inline(always)]
    fn move_by(&mut self, n: usize, head: Head) {
        let words = self.end.slots();
        let next = self.place.after(n, self.geometry.len);
        let count = self.count.wrapping_add(u64::from(head.is_record()));
        // Relaxed: the store below orders it.
        words.atomic(next.index).store(Head::empty(count).0, Ordering::Relaxed);
        // Release ↔ Acquire in `Consumer::head`: the record's bytes, and the empty header behind
        // them.
        words.atomic(self.place.index).store(head.0, Ordering::Release);
        // A producer that continues here finds at the mark either this header or the empty header
        // behind it.
        keep_order();
        (self.place, self.count) = (next, count);
        self.end.header().pushed.store(next.position, count);
        self.fetch_next(n);
    }

    /// Prefetches the lines of the next record, for writing, after a record of `n` words. In a
    /// dialogue the producer then has these lines when it writes that record, and waits only for
    /// the line of the header, which the consumer reads. With long records a stream would be
    /// slower.
    #[inline(always)]
    fn fetch_next(&self, n: usize) {
        if n <= 2 * LINE {
            let header = ptr::from_ref(self.end.slots().atomic(self.place.index)).cast::<u8>();
            // They may be outside the ring.
            prefetch_to_write(header.wrapping_add(LINE * WORD));
            prefetch_to_write(header.wrapping_add(2 * LINE * WORD));
        }
    }

    /// Appends a copy of `bytes` as a record.
    ///
    /// # Errors
    ///
    /// As [`try_claim`](Self::try_claim).
    #[inline(always)]
    pub fn try_push(&mut self, bytes: &[u8]) -> Result<(), ClaimError> {
        self.try_claim(bytes.len()).map(|claim| claim.commit_copy(bytes))
    }

    /// Length of the longest record, in bytes.
    #[inline]
    pub fn max_len(&self) -> usize {
        self.geometry.max_len()
    }

    /// Records inside: a snapshot.
    pub fn records(&self) -> usize {
        // Relaxed: see `Mark::store`.
        let popped = self.end.header().popped.count.load(Ordering::Relaxed);
        records_between(popped, self.count, self.geometry)
    }

    /// Bytes from the consumer's record to the end of the last one, counted as for
    /// [`capacity`](Self::capacity), and with the words that were skipped at the end of the ring: a
    /// snapshot.
    pub fn len(&self) -> usize {
        let popped = &self.end.header().popped;
        // Relaxed, both: see `Mark::store`.
        if popped.count.load(Ordering::Relaxed) == self.count {
            return 0;
        }
        bytes_between(popped.position.load(Ordering::Relaxed), self.place.position, self.geometry)
    }
}

impl Consumer {
    /// Of a ring without records.
    pub(crate) fn new(end: End<Header>, geometry: Geometry) -> Self {
        let first = end.header().first();
        let distance = Distance::new(first);
        Self { place: Place::start(first), count: first, given: first, distance, geometry, end }
    }

    /// Removes the oldest record, and lends its bytes.
    ///
    /// # Errors
    ///
    /// [`Empty`](TryPopError::Empty) if there is none. [`Closed`](TryPopError::Closed) if there is
    /// none and the producer is gone. Never [`Busy`](TryPopError::Busy).
    #[inline(always)]
    pub fn try_pop(&mut self) -> Result<Record<'_>, TryPopError> {
        let found = self.reserve(&mut false)?;
        Ok(Record::new(self, found, ()))
    }

    /// The length of the next record, if it is there and begins at `place`.
    #[inline(always)]
    fn record_at(&self, place: Place) -> Option<usize> {
        let len = self.head(place).len(self.count)?;
        // Only a producer that isn't to be trusted writes other lengths.
        (words(len) <= place.left(self.geometry.len)).then_some(len)
    }

    /// The oldest record: at the place, or at the start of the ring if the rest is skipped. Its
    /// place and length.
    fn find(&self) -> Option<(Place, usize)> {
        let mut place = self.place;
        if self.head(place).is_skip(self.count) {
            place = place.next_lap(self.geometry.len);
        }
        self.record_at(place).map(|len| (place, len))
    }

    /// Finds the oldest record: moves to it, and returns its length.
    fn look(&mut self) -> Option<usize> {
        let (place, len) = self.find()?;
        self.place = place;
        Some(len)
    }

    #[inline(always)]
    fn head(&self, place: Place) -> Head {
        // Acquire ↔ Release in `Producer::move_by`: the record's bytes, and the empty header behind
        // them.
        Head(self.end.slots().atomic(place.index).load(Ordering::Acquire))
    }

    /// Looks behind the end of the ring, and again after a wait if the consumer has followed the
    /// producer closely.
    #[cold]
    #[inline(never)]
    fn look_again(&mut self) -> Result<usize, TryPopError> {
        // Read before the look, so that the look finds all that the producer pushed before it was
        // dropped.
        let closed = self.is_closed();
        if let Some(len) = self.look() {
            return Ok(len);
        }
        let waited;
        (self.distance, waited) = self.distance.caught_up(self.count, 1, FAR_BEHIND);
        match if waited { self.look() } else { None } {
            Some(len) => Ok(len),
            None if closed => Err(TryPopError::Closed),
            None => Err(TryPopError::Empty),
        }
    }

    /// Gives room back up to this position, if it is at least an eighth of the ring.
    #[inline(always)]
    fn give_back(&mut self, position: u64) {
        if position.wrapping_sub(self.given) >= self.geometry.together() as u64 {
            self.given = position;
            // Release ↔ Acquire in `Producer::look`: the records are read, also by the last
            // consumer.
            self.end.header().read.store(position, Ordering::Release);
        }
    }

    /// Moves behind a record of `len` bytes at the place, and keeps it. Not stable.
    #[doc(hidden)]
    pub fn pass(&mut self, len: usize) -> Passed {
        self.place = self.place.after(words(len), self.geometry.len);
        self.count = self.count.wrapping_add(1);
        Passed { position: self.place.position, count: self.count }
    }

    /// Gives back the records up to one that was passed, which is behind those that were given back.
    #[doc(hidden)]
    pub fn give_back_passed(&mut self, Passed { position, count }: Passed) {
        self.end.header().popped.store(position, count);
        self.give_back(position);
    }

    /// Records inside: a snapshot.
    pub fn records(&self) -> usize {
        // Relaxed: see `Mark::store`.
        let pushed = self.end.header().pushed.count.load(Ordering::Relaxed);
        records_between(self.count, pushed, self.geometry)
    }

    /// Bytes from the oldest record to the end of the last one: see [`Producer::len`].
    pub fn len(&self) -> usize {
        let Some((place, len)) = self.find() else { return 0 };
        let pushed = self.end.header().pushed.position.load(Ordering::Relaxed);
        // The producer stores its position after the record is there.
        bytes_between(place.position, pushed, self.geometry).max(words(len) * WORD)
    }
}

/// Bytes between the positions of the two sides. The other side's position may be old, or wrong.
fn bytes_between(popped: u64, pushed: u64, geometry: Geometry) -> usize {
    let inside = pushed.wrapping_sub(popped) as i64;
    inside.clamp(0, geometry.len as i64) as usize * WORD
}

/// Records between two numbers. The other side's number may be old, or wrong.
fn records_between(popped: u64, pushed: u64, geometry: Geometry) -> usize {
    (pushed.wrapping_sub(popped) as i64).clamp(0, geometry.len as i64) as usize
}

/// The calls that both sides have.
macro_rules! both {
    ($($side:ident)*) => {$(
        impl $side {
            /// Bytes that the queue always has room for. Each record counts as its length and 8
            /// more, rounded up to 8 bytes, and from 512 on to 64.
            #[inline]
            pub fn capacity(&self) -> usize {
                self.geometry.capacity()
            }

            /// Whether no record is inside, as far as [`len`](Self::len) counts.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Whether the other side has been dropped.
            ///
            /// `true` also means that all that the dropped handle did happens before this call
            /// returns.
            #[inline]
            pub fn is_closed(&self) -> bool {
                self.end.peer_is_gone()
            }

            /// What kind of memory the queue lives in.
            pub fn backing(&self) -> Backing {
                self.end.backing()
            }

            /// Records that this side has moved since the ring was made.
            #[doc(hidden)]
            pub fn count(&self) -> u64 {
                self.count.wrapping_sub(self.end.header().first())
            }
        }

        handles!(@debug [] $side);
    )*};
}

both! { Producer Consumer }

/// Room for a record, from [`Producer::try_claim`]. If a claim is dropped or forgotten, the queue
/// is as it was.
///
/// The bytes are those that were in the ring before: zeros or parts of old records. The first byte
/// is aligned to 8 bytes.
pub type Claim<'a> = bytes::Claim<'a, Producer>;

/// A record in place, from [`Consumer::try_pop`]. Dropping a record gives its room back. A record
/// that is forgotten ([`core::mem::forget`]) is popped again.
///
/// The first byte is aligned to 8 bytes.
pub type Record<'a> = bytes::Record<'a, Consumer>;

impl Claims for Producer {
    type Allocated = ();
    type Room<'a> = &'a mut Self;
    const CHANGES_IN_VAIN: bool = false;

    #[inline(always)]
    fn allocate(&mut self, len: usize) -> Result<(), ClaimError> {
        let most = self.max_len();
        if len > most {
            return Err(ClaimError::TooLarge { len, most });
        }
        match self.has_room(words(len)) {
            true => Ok(()),
            false if self.is_closed() => Err(ClaimError::Closed),
            false => Err(ClaimError::Full),
        }
    }

    #[inline(always)]
    unsafe fn room(&mut self, (): ()) -> &mut Self {
        self
    }

    fn capacity(&self) -> usize {
        self.capacity()
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }

    fn max_len(&self) -> usize {
        self.max_len()
    }
}

// SAFETY: `allocate` has found these bytes free, in a row, behind the header at the place. All
// bytes of the ring are initialised, and the consumer doesn't look at them before the commit.
unsafe impl Room for &mut Producer {
    type Allocated = ();

    #[inline(always)]
    fn bytes(&self, len: usize) -> *mut u8 {
        self.end.slots().bytes_to_fill(self.place.index + 1, len.div_ceil(WORD))
    }

    #[inline(always)]
    fn commit(self, len: usize) {
        self.move_by(words(len), Head::record(self.count, len));
    }

    fn suspend(self) {}
}

// SAFETY: the record lies at the place in one piece. The producer doesn't write there until
// `release`.
unsafe impl Records for Consumer {
    type Found = ();

    #[inline(always)] // a call would cost more than the pop itself
    fn reserve(&mut self, _: &mut bool) -> Result<((), usize), TryPopError> {
        let len = match self.record_at(self.place) {
            Some(len) => len,
            None => self.look_again()?,
        };
        Ok(((), len))
    }

    #[inline(always)]
    unsafe fn bytes(&self, (): (), len: usize) -> *const u8 {
        self.end.slots().bytes_to_empty(self.place.index + 1, len.div_ceil(WORD))
    }

    /// Moves behind the record at the place.
    #[inline(always)]
    unsafe fn release(&mut self, (): (), len: usize) {
        self.place = self.place.after(words(len), self.geometry.len);
        self.count = self.count.wrapping_add(1);
        self.end.header().popped.store(self.place.position, self.count);
        self.give_back(self.place.position);
    }

    fn capacity(&self) -> usize {
        self.capacity()
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }
}

/// For the programs that check and measure it; not stable.
#[doc(hidden)]
pub const INFO: Info = Info {
    id: "recordring",
    name: "ring of byte records",
    paper: "none; see its page",
    capacity: "n bytes, or more; the ring has room for the longest record besides",
    choose: advice!(choose recordring),
    avoid: advice!(avoid recordring),
    ..Info::RING
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_what_is_too_large() {
        let asked = |config| match queue_with(config) {
            Err(CapacityError::OutOfRange { asked, most }) => {
                assert!(asked == 0 || asked > most);
                asked
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(asked(Config::new(0)), 0);
        assert_eq!(asked(Config::new(0).block(usize::MAX)), 0);
        assert_eq!(asked(Config::new(usize::MAX)), usize::MAX);
        assert_eq!(asked(Config::new(4096).block(usize::MAX)), usize::MAX);
    }
}
