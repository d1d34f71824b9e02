// Above 500 lines: one algorithm with its page, both of its sides and its own tests.

//! `seqring`: a ring of sequence locks, which producers overwrite.
//!
//! Each slot has a stamp: the lap of its item, and whether its producer has finished. A producer
//! gets the next position by fetch-and-add, claims the slot by writing the new lap into the stamp,
//! copies its item into the slot, and marks the slot done. A consumer reads the stamp, copies the
//! item, and reads the stamp again. The copy is valid only if the stamp is marked done and has not
//! changed. Consumers write nothing that pushes read.
//!
//! A handle that is the only one of its side works with plain stores and loads, until it is cloned,
//! and again soon after all its clones are gone.
//!
#![doc = advice!(seqring)]
//!
//! Items must be [plain data](crate::overwrite::Plain): a consumer may copy an item while a
//! producer overwrites it.
//!
//! | | |
//! |---|---|
//! | guarantee | a push never fails, and never waits for another thread. First in first out, with gaps that are counted: [`Consumer::lost`]. Lock-free, but a pop may say busy |
//! | capacity | N, the number of slots: as asked, rounded up to a power of two, at least 2. The newest N items are kept, one fewer for each item of an unfinished push |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | errors | a push has none: it succeeds even without consumers. A pop says busy if the oldest item is still being written, or if it was overtaken 64 times. Then the items behind it can't be popped until its producer finishes or the ring is overwritten; a [`snapshot`](Consumer::snapshot) copies them at once |
//! | paper | the technique: H.-J. Boehm: *Can Seqlocks Get Along With Programming Language Memory Models?* (2012) |
//!
//! # A producer that is stopped
//!
//! A producer may be stopped in the middle of a push for a long time, while other producers go
//! round the ring. Its slot is still claimed: the next producer that gets this slot marks its lap
//! void in the stamp, and loses its item. Each stopped producer costs one in N items. So each slot
//! has one writer at a time, and a push takes a bounded number of steps. When the stopped producer
//! continues, its item is lost too. All lost items are counted. A slice takes its positions
//! together, so each of its items counts as a push here.
//!
//! ```
//! use corelane::seq_ring;
//!
//! let (mut tx, mut rx) = seq_ring::queue(4)?;
//! for time in [10, 20, 30, 40, 50] {
//!     tx.push(time);
//! }
//! assert_eq!(rx.pop_iter().collect::<Vec<_>>(), [20, 30, 40, 50]);
//! assert_eq!(rx.lost(), 1);
//! # Ok::<(), corelane::CapacityError>(())
//! ```

mod resume;

use alloc::vec::Vec;
use core::cell::Cell;
use core::marker::PhantomData;

pub use resume::Heir;

use crate::memory::{AtomicU64, Ordering, fence, is_before, limit};
use crate::pad::Padded;
use crate::plain::{Plain, Words};
use crate::queue::{
    self, Built, CapacityError, Config, Info, Sides, TryPopError, TryPushError, answered_by,
    handles, queue_type,
};
use crate::region::{End, Run, State, ends, slots_for};
use crate::spin::Retries;

/// The mark of a stamp whose producer has finished.
const DONE: u64 = 1;
/// The mark of a stamp whose lap has no item, because a producer of an earlier lap had not
/// finished.
const VOID: u64 = 2;

/// How often a snapshot restarts if it finds all items overwritten.
const SNAPSHOT_TRIES: u64 = limit(16, 1);

/// How often a pop is overtaken until it says busy.
const TRIES: u64 = 64;

/// How many pushes the only producer makes between two stores of its position.
const NOTED: u64 = limit(64, 2);

/// A queue that keeps at least the `capacity` newest items.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Plain>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Plain>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    config.only(&[])?;
    let (tx, rx) = sides(config)?;
    let first = first(config, tx.slots().len());
    Ok((
        Producer { write: first, is_alone: Cell::new(true), end: tx },
        Consumer { read: first, lost: 0, is_watching: false, is_alone: Cell::new(true), end: rx },
    ))
}

/// Both ends of a new ring.
fn sides<T: Plain>(config: Config) -> Built<End<Header<T>>, End<Header<T>>> {
    let len = len::<T>(config.capacity)?;
    let first = first(config, len);
    let (tx, rx) = ends(config.memory, len, Header::new(first))?;
    begin(tx.slots(), first);
    Ok((tx, rx))
}

/// The first position: that of the first slot.
fn first(config: Config, len: usize) -> u64 {
    config.first & !(len as u64 - 1)
}

/// The number of slots.
pub(crate) fn len<T>(capacity: usize) -> Result<usize, CapacityError> {
    // Two laps of one slot would have the same stamp.
    Ok(slots_for::<Header<T>>(capacity, 0)?.max(2))
}

/// Makes the ring empty, with `first` as its first position, a multiple of the number of slots.
pub(crate) fn begin<T>(slots: &Stamped<T>, first: u64) {
    let len = slots.len() as u64;
    for position in (0..len).map(|i| first.wrapping_add(i)) {
        // Relaxed: the queue isn't shared yet.
        let lap_before = slots.lap(position).wrapping_sub(slots.laps(len));
        slots.stamp(position).store(lap_before | DONE, Ordering::Relaxed);
    }
}

/// The slots, each after its stamp.
pub(crate) type Stamped<T> = Words<T, 1>;

impl<T> Stamped<T> {
    /// The lap of `position` as stamps have it, whose two lowest bits are marks.
    #[inline]
    fn lap(&self, position: u64) -> u64 {
        self.laps(position & !(self.len() as u64 - 1))
    }

    /// `positions`, a multiple of the number of slots, as stamps have it. There are at least two
    /// slots.
    #[inline]
    fn laps(&self, positions: u64) -> u64 {
        positions << 1
    }

    /// The oldest position that may have an item, if the slot at `read` has a `stamp` of a later
    /// lap.
    #[inline]
    fn oldest(&self, read: u64, stamp: u64) -> u64 {
        let further = (stamp & !(DONE | VOID)).wrapping_sub(self.lap(read)) >> 1;
        // If the stamp is one lap further, the items behind `read` in its own lap are left.
        read.wrapping_add(further).wrapping_sub(self.len() as u64 - 1)
    }
}

/// The state that the sides share besides the slots.
#[doc(hidden)]
#[derive(Debug)]
pub struct Header<T> {
    /// The next position to fill. The only producer updates it now and then.
    tail: Padded<AtomicU64>,
    /// The next position to empty. The only consumer writes it down now and then.
    head: Padded<AtomicU64>,
    items: PhantomData<T>,
}

impl<T> Header<T> {
    pub(crate) fn new(first: u64) -> Self {
        let count = || Padded(AtomicU64::new(first));
        Self { tail: count(), head: count(), items: PhantomData }
    }
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Stamped<T>;

    fn drop_items(&self, _: &Self::Slots) {
        // Plain data has no destructor.
    }
}

/// A sending side.
#[repr(align(128))]
pub struct Producer<T> {
    /// Next position to fill, while there is no other producer.
    write: u64,
    is_alone: Cell<bool>,
    end: End<Header<T>>,
}

/// A receiving side.
#[repr(align(128))]
pub struct Consumer<T> {
    /// Next position to empty, while there is no other consumer.
    read: u64,
    lost: u64,
    /// Whether it gets all items, also those that other consumers get. There is one producer.
    is_watching: bool,
    is_alone: Cell<bool>,
    end: End<Header<T>>,
}

impl<T: Plain> Producer<T> {
    /// Appends `item`. If there is no room, the oldest item is overwritten.
    #[inline(always)] // a call would cost more than a push of the only producer
    pub fn push(&mut self, item: T) {
        match self.is_alone.get() {
            true => self.put_alone(&item),
            false => self.put_each(core::slice::from_ref(&item)),
        }
    }

    /// Puts `item` into the next slot, as the only producer: all pushes of other producers have
    /// ended.
    #[inline(always)] // as `push`
    fn put_alone(&mut self, item: &T) {
        let (slots, position) = (self.end.slots(), self.write);
        let (stamp, lap) = (slots.stamp(position), slots.lap(position));
        // Release ↔ Acquire of stamps in `look`: a consumer that was overtaken sees the items that
        // are left.
        stamp.store(lap, Ordering::Release);
        // Release ↔ Acquire fence in `look`: a consumer that copies a part of this item sees the
        // new lap.
        fence(Ordering::Release);
        slots.store(position, item);
        // Release ↔ Acquire of stamps in `look`: the item.
        stamp.store(lap | DONE, Ordering::Release);
        self.write = position.wrapping_add(1);
        // This runs while consumers read this item. When the next item is written, the producer has
        // its lines.
        slots.fetch_next(position);
        if self.write % NOTED == 0 {
            // Relaxed: for consumers the position is a hint.
            self.end.header().tail.store(self.write, Ordering::Relaxed);
        }
    }

    /// Puts `items` into the next slots, beside other producers.
    fn put_each(&mut self, items: &[T]) {
        let (slots, n) = (self.end.slots(), items.len() as u64);
        // Relaxed: the slots are claimed by their stamps.
        let position = self.end.header().tail.fetch_add(n, Ordering::Relaxed);
        let run = Run { position, n };
        for (i, item) in items.iter().enumerate() {
            self.put(run.slot(i), item);
        }
        if slots.lap(position) != slots.lap(run.end()) {
            self.take_over();
        }
    }

    /// Puts `item` into the slot at `position`. The item is lost if a producer of an earlier lap
    /// has not finished in the slot, or a producer of a later lap has claimed it.
    #[inline]
    fn put(&self, position: u64, item: &T) {
        let slots = self.end.slots();
        let (stamp, lap) = (slots.stamp(position), slots.lap(position));
        // Relaxed: the exchange fails if the value is out of date.
        let mut seen = stamp.load(Ordering::Relaxed);
        while is_before(seen, lap) {
            let is_free = seen & DONE != 0;
            let claimed = if is_free { lap } else { lap | VOID };
            // Acquire ↔ Release of the slot's last producer: its item was written before. Release ↔
            // Acquire of stamps in `look`: a consumer that was overtaken sees that earlier
            // positions have been taken.
            match stamp.compare_exchange(seen, claimed, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) if is_free => return self.write_claimed(position, item),
                Ok(_) => return,
                Err(found) => seen = found,
            }
        }
    }

    /// Writes `item` into the slot at `position`, which this thread has claimed.
    #[inline]
    fn write_claimed(&self, position: u64, item: &T) {
        let slots = self.end.slots();
        // Release ↔ Acquire fence in `look`: a consumer that copies a part of this item sees the
        // new lap.
        fence(Ordering::Release);
        slots.store(position, item);
        // Release ↔ Acquire of stamps in `look`: the item. Release ↔ Acquire in `put`: this item
        // was written before the next one. A void lap stays void.
        slots.stamp(position).fetch_or(DONE, Ordering::Release);
    }

    /// Continues as the only producer, if all other producers are gone.
    fn take_over(&mut self) {
        if self.end.is_only() {
            // Relaxed: all writes of other producers are visible, and no other thread writes any
            // more.
            self.write = self.end.header().tail.load(Ordering::Relaxed);
            self.is_alone.set(true);
        }
    }
}

impl<T: Plain> queue::Producer for Producer<T> {
    type Item = T;

    /// Never fails.
    #[inline(always)] // as `push`
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        self.push(item);
        Ok(())
    }

    answered_by!(end);

    /// Counts up to 64 popped items too many.
    fn len(&mut self) -> usize {
        let Header { tail, head, .. } = self.end.header();
        // Relaxed, both: a snapshot.
        let read = head.load(Ordering::Relaxed);
        let write = if self.is_alone.get() { self.write } else { tail.load(Ordering::Relaxed) };
        (write.wrapping_sub(read) as i64).clamp(0, self.end.slots().len() as i64) as usize
    }

    /// Appends all of them.
    fn push_slice(&mut self, items: &[T]) -> usize {
        match self.is_alone.get() {
            true => items.iter().for_each(|item| self.put_alone(item)),
            false => self.put_each(items),
        }
        items.len()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// The outcome of a consumer's look at a position.
enum Found<T> {
    Item(T),
    /// No item that may be taken, and why.
    Nothing(TryPopError),
    /// No item, because a producer of an earlier lap had not finished in the slot.
    Void,
    /// The slot has a later lap. There may be items from this position on.
    Overwritten(u64),
}

impl<T: Plain> Consumer<T> {
    /// Number of items that this handle found overwritten: no consumer has popped them, and none
    /// will.
    ///
    /// One consumer counts each lost item. A pop counts the items that it finds overwritten. Items
    /// that were overwritten since are not counted yet.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Appends copies of the items in the queue to `into`, from the oldest to the newest, and
    /// returns how many it missed.
    ///
    /// The items stay in the queue. The newest items at the time of the call are copied first, so
    /// that producers overwrite only the oldest items meanwhile. At most
    /// [`capacity`](Self::capacity) items are copied, so a snapshot ends even while producers push.
    ///
    /// A snapshot misses items that were overwritten since the last pop, items that are still being
    /// written, and items that were lost to a [stopped
    /// producer](crate::seq_ring#a-producer-that-is-stopped).
    ///
    /// ```
    /// use corelane::overwrite;
    ///
    /// let (mut tx, mut rx) = overwrite::queue(4)?;
    /// for event in 1..=6 {
    ///     tx.push(event);
    /// }
    /// let mut events = Vec::new();
    /// let missed = rx.snapshot(&mut events);
    /// assert_eq!((events, missed), (vec![3, 4, 5, 6], 2));
    /// assert_eq!(rx.try_pop(), Ok(3)); // all are still there
    /// # Ok::<(), corelane::CapacityError>(())
    /// ```
    pub fn snapshot(&mut self, into: &mut Vec<T>) -> u64 {
        let read = self.read();
        let before = into.len();
        let mut end = self.newest(read);
        for _ in 0..SNAPSHOT_TRIES {
            self.copy_back_from(end, read, into);
            if into.len() > before || end == read {
                break;
            }
            // Producers have gone once round the ring since `end` was read: this thread was stopped
            // meanwhile.
            end = self.newest(read);
        }
        into[before..].reverse();
        end.wrapping_sub(read) - (into.len() - before) as u64
    }

    /// Appends copies of the items before `end`, newest first, to `into`. Stops at `read` or at the
    /// first overwritten item.
    fn copy_back_from(&self, end: u64, read: u64, into: &mut Vec<T>) {
        let most = end.wrapping_sub(read).min(self.end.slots().len() as u64);
        // The newest first: producers overwrite the oldest.
        for i in 1..=most {
            match self.look(end.wrapping_sub(i)) {
                Found::Item(item) => into.push(item),
                // The item is still being written, or the lap is void.
                Found::Nothing(_) | Found::Void => {}
                Found::Overwritten(_) => break,
            }
        }
    }

    /// The position behind the newest item, or behind `read` if there is none.
    fn newest(&self, read: u64) -> u64 {
        let slots = self.end.slots();
        // Relaxed: `tail` includes all pushes that this thread has observed, except the last
        // `NOTED`.
        let tail = self.end.header().tail.load(Ordering::Relaxed);
        let mut end = if is_before(tail, read) { read } else { tail };
        for _ in 0..NOTED {
            // Relaxed: `look` reads the items.
            if is_before(slots.stamp(end).load(Ordering::Relaxed), slots.lap(end)) {
                break;
            }
            end = end.wrapping_add(1);
        }
        end
    }

    /// The next position to empty.
    #[inline]
    fn read(&self) -> u64 {
        match self.is_alone.get() {
            true => self.read,
            // Acquire ↔ Release in `go_on`: the items that made another consumer move on.
            false => self.end.header().head.load(Ordering::Acquire),
        }
    }

    /// Copies the item at the position `read`, if there is one.
    #[inline(always)] // see `queue::try_pop_by`
    fn look(&self, read: u64) -> Found<T> {
        let slots = self.end.slots();
        let (stamp, lap) = (slots.stamp(read), slots.lap(read));
        // Acquire ↔ Release of the slot's producer: the item. Acquire ↔ Release of all stores of
        // stamps: if the slot has been overwritten, the items that are left.
        let seen = stamp.load(Ordering::Acquire);
        if seen == lap | DONE {
            let item = slots.load(read);
            // Acquire ↔ the producers' Release fences: the later lap, if a part of a later item was
            // copied.
            fence(Ordering::Acquire);
            // Acquire: as above, if the stamp has another lap.
            let now = stamp.load(Ordering::Acquire);
            return match now == seen {
                // SAFETY: no producer has written to the slot while the item was copied.
                true => Found::Item(unsafe { item.assume_init() }),
                false => Found::Overwritten(self.oldest(read, now)),
            };
        }
        if is_before(seen, lap) {
            // Relaxed: a thread that has observed a push has observed that all earlier positions
            // were taken.
            let tail = self.end.header().tail.load(Ordering::Relaxed);
            let is_taken = is_before(read, tail);
            return Found::Nothing(if is_taken { TryPopError::Busy } else { TryPopError::Empty });
        }
        match seen {
            _ if seen == lap => Found::Nothing(TryPopError::Busy),
            _ if seen & !DONE == lap | VOID => Found::Void,
            _ => Found::Overwritten(self.oldest(read, seen)),
        }
    }

    /// The oldest position that may have an item, if the slot at `read` has been found overwritten.
    fn oldest(&self, read: u64, stamp: u64) -> u64 {
        let slots = self.end.slots();
        let oldest = slots.oldest(read, stamp);
        // Relaxed: `tail` only saves steps.
        let tail = self.end.header().tail.load(Ordering::Relaxed);
        let left = tail.wrapping_sub(slots.len() as u64);
        if is_before(oldest, left) { left } else { oldest }
    }

    /// Moves from the position `from` to `to`, unless another consumer has moved on from `from`.
    #[inline]
    fn go_on(&mut self, from: u64, to: u64) -> bool {
        if self.is_alone.get() {
            self.read = to;
            if from / NOTED != to / NOTED && !self.is_watching {
                // Relaxed: producers only count by it.
                self.end.header().head.store(to, Ordering::Relaxed);
            }
            return true;
        }
        let (head, slots) = (&self.end.header().head, self.end.slots());
        // Release ↔ Acquire in `read`: the items that make this consumer move on.
        if head.compare_exchange(from, to, Ordering::Release, Ordering::Relaxed).is_err() {
            return false;
        }
        if slots.lap(from) != slots.lap(to) && self.end.is_only() {
            // Relaxed: all writes of other consumers are visible. Another consumer may have moved
            // on from `to` before it was dropped.
            self.read = head.load(Ordering::Relaxed);
            self.is_alone.set(true);
        }
        true
    }

    /// Moves from `from` to `to`. All items between are lost.
    fn lose(&mut self, from: u64, to: u64) {
        if self.go_on(from, to) {
            self.lost = self.lost.wrapping_add(to.wrapping_sub(from));
        }
    }
}

impl<T: Plain> queue::Consumer for Consumer<T> {
    type Item = T;

    #[inline(always)] // a call would cost more than a pop of the only consumer
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        let mut closed = false;
        for _ in 0..TRIES {
            let read = self.read();
            match self.look(read) {
                Found::Item(item) if self.go_on(read, read.wrapping_add(1)) => return Ok(item),
                Found::Item(_) => {}
                Found::Void => self.lose(read, read.wrapping_add(1)),
                Found::Overwritten(next) => self.lose(read, next),
                // Looks once more, for items that producers pushed before they were dropped. An
                // item that a dead process was writing never comes.
                Found::Nothing(_) if !closed && self.end.peer_is_gone() => closed = true,
                Found::Nothing(_) if closed => return Err(TryPopError::Closed),
                // A producer that is stopped, or dead, may be in the way for long.
                Found::Nothing(_) if self.is_watching => return Err(TryPopError::Empty),
                Found::Nothing(reason) => return Err(reason),
            }
        }
        Err(TryPopError::Busy)
    }

    answered_by!(end);

    fn len(&mut self) -> usize {
        let read = self.read();
        (self.newest(read).wrapping_sub(read) as usize).min(self.end.slots().len())
    }

    fn pop_slice(&mut self, into: &mut [T]) -> usize {
        let (mut retries, mut tries) = (Retries::default(), TRIES);
        let mut done = 0;
        while done < into.len() && tries > 0 {
            tries -= 1;
            let read = self.read();
            let (mut next, mut stopped) = (read, None);
            for slot in &mut into[done..] {
                match self.look(next) {
                    Found::Item(item) => *slot = item,
                    other => {
                        stopped = Some(other);
                        break;
                    }
                }
                next = next.wrapping_add(1);
            }
            match stopped {
                _ if next != read => {
                    if self.go_on(read, next) {
                        done += next.wrapping_sub(read) as usize;
                    }
                }
                Some(Found::Void) => self.lose(read, read.wrapping_add(1)),
                Some(Found::Overwritten(next)) => self.lose(read, next),
                Some(Found::Nothing(reason)) if retries.again(reason == TryPopError::Busy) => {}
                _ => break,
            }
        }
        done
    }

    fn lost(&self) -> u64 {
        self.lost
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T: Plain> Clone for Producer<T> {
    fn clone(&self) -> Self {
        if self.is_alone.replace(false) {
            // Relaxed: there is no other producer yet, and for consumers the position is a hint.
            self.end.header().tail.store(self.write, Ordering::Relaxed);
        }
        Self { write: 0, is_alone: Cell::new(false), end: self.end.duplicate() }
    }
}

impl<T: Plain> Clone for Consumer<T> {
    /// Another handle, which has lost nothing yet.
    fn clone(&self) -> Self {
        if self.is_alone.replace(false) {
            // Relaxed: there is no other consumer yet.
            self.end.header().head.store(self.read, Ordering::Relaxed);
        }
        let is_alone = Cell::new(false);
        Self { read: 0, lost: 0, is_watching: false, is_alone, end: self.end.duplicate() }
    }
}

handles! {
    [T: Plain] Producer<T>: producer of T;
    [T: Plain] Consumer<T>: consumer of T;
}

queue_type!(SeqRing of [T: Plain] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "seqring",
    name: "ring of sequence locks",
    paper: "after Boehm 2012",
    sides: Sides::ManyToMany,
    guarantee: "a push never fails or waits; FIFO with gaps",
    overwrites: true,
    choose: advice!(choose seqring),
    avoid: advice!(avoid seqring),
    ..Info::RING
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept() {
        for (first, clones) in [(0, 0), (u64::MAX - 20, 0), (0, 1), (u64::MAX - 20, 1)] {
            let (mut tx, mut rx) = queue_with(Config::new(16).first(first)).unwrap();
            let others = (vec![tx.clone(); clones], vec![rx.clone(); clones]);
            (0..100_u64).for_each(|i| tx.push(i));
            let mut copied = vec![7];
            assert_eq!(rx.snapshot(&mut copied), 84);
            assert!(copied[1..].iter().copied().eq(84..100), "{copied:?}");
            let kept: Vec<_> = rx.pop_iter().collect();
            assert!(kept.iter().copied().eq(84..100), "{kept:?}");
            assert_eq!(rx.lost(), 84);
            tx.push(100);
            copied.clear();
            assert_eq!((rx.snapshot(&mut copied), &copied[..]), (0, &[100][..]));
            assert_eq!((rx.try_pop(), rx.lost()), (Ok(100), 84));
            assert_eq!(rx.snapshot(&mut copied), 0);
            drop(others);
        }
    }

    /// The producer of the first item is stopped in the middle of its push, and another producer
    /// goes round the ring.
    #[test]
    fn a_stopped_producer_delays_no_other_thread() {
        let (mut tx, mut rx) = queue(4).unwrap();
        let stopped = tx.clone();
        let position = stopped.end.header().tail.fetch_add(1, Ordering::Relaxed);
        let stamp = stopped.end.slots().stamp(position);
        stamp.store(stopped.end.slots().lap(position), Ordering::Relaxed);
        tx.push(1);
        let mut copied = Vec::new();
        assert_eq!((rx.try_pop(), rx.snapshot(&mut copied)), (Err(TryPopError::Busy), 1));
        assert_eq!(copied, [1]);
        (2..=9).for_each(|i| tx.push(i));
        copied.clear();
        assert_eq!((rx.snapshot(&mut copied), &copied[..]), (7, &[6, 7, 9][..]), "8 is void");
        assert_eq!(rx.pop_iter().collect::<Vec<_>>(), [6, 7, 9]);
        assert_eq!(rx.lost(), 7, "1 to 5, 8, and the stopped producer's item");
        stamp.fetch_or(DONE, Ordering::Release);
        (10..=14).for_each(|i| tx.push(i));
        assert_eq!(rx.pop_iter().collect::<Vec<_>>(), [11, 12, 13, 14]);
        assert_eq!(rx.lost(), 8);
    }

    #[test]
    fn several_consumers_count_each_lost_item_once() {
        let (mut tx, mut rx) = queue(16).unwrap();
        let mut other = rx.clone();
        let (mut pushed, mut popped) = (0_u64, 0);
        for round in 0..200 {
            for _ in 0..round % 41 {
                tx.push(pushed);
                pushed += 1;
            }
            popped += rx.pop_iter().take(round % 5).count() as u64;
            popped += other.pop_iter().take(round % 3).count() as u64;
        }
        popped += rx.pop_iter().count() as u64;
        assert_eq!(popped + rx.lost() + other.lost(), pushed);
        assert!(rx.lost() > 0 && other.lost() > 0);
    }
}
