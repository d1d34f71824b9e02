// Above 500 lines: one algorithm with its page, both of its sides and its own tests.

//! `linering`: a ring of cache lines, each with a counter of its items.
//!
//! The ring's unit is a line: a counter, `tail`, and as many items as fit beside it (seven `u64`s
//! in 64 bytes). A push writes the item and then `tail`, both in a line that the producer already
//! owns. The consumer reads `tail` once, and then pops all items before this position. There is no
//! shared write index. No line is cleared: a `tail` of the lap before is smaller than any position
//! of this lap. The consumer publishes the number of lines that it has left, once for many lines.
//!
//! Three mechanisms make it fast between cores. *Hand-back*: when the consumer leaves a line, it
//! stores `tail` again, unchanged. So the consumer's core owns the line exclusively when the
//! producer needs it next. The line then moves in one step: no shared copy has to be invalidated
//! first. *Distance*: a consumer that repeatedly catches up with a streaming producer waits for at
//! most 16 pauses before it looks again, or 64 if the stream is fast and doesn't come in bursts. So
//! the consumer doesn't take the line from the producer for every item. In a dialogue, where one or
//! two items arrive at a time, the consumer soon doesn't wait. *Fetching ahead*: each side
//! prefetches a line some lines before it needs it, where the other side is known to be done with
//! this line. The producer knows the lines that were given back. The consumer knows the lines that
//! the producer had entered when it last looked at `read`. If an item has one to four lines, the
//! producer also prefetches those of the next item.
//!
#![doc = advice!(linering)]
//!
//! [`spsc::chunk_queue`](crate::spsc::chunk_queue) lends its slots.
//!
//! | | |
//! |---|---|
//! | guarantee | wait-free, first in first out; an item is visible when its push returns |
//! | capacity | as asked, rounded up to whole lines. The ring has L·n slots, in L lines of n items: the consumer may not have given emptied lines back yet |
//! | lines | n is as many as fit beside 8 bytes in 64. For items of 29 to 1024 bytes n is 8, and a line is several lines of the machine, the first with the counter; for larger items n is 1. L = ⌈capacity/n⌉ + G + 1 |
//! | G, lines given back together | 64, at most ⌈¼·capacity/n⌉; set by [`Config::batch`] in items, rounded down to a power of two of lines |
//! | a chunk | of any length up to the free slots, or the items; one slice, a copy |
//! | misses per item | while the consumer is behind: producer 1/n, consumer 2/n (a read and the hand-back), and 1/(G·n) each for `read`. While the consumer waits for each item: 1 each, for the line |
//! | paper | none. Slots with their own state: FastForward. Distance: B-Queue. A flag that needs no clearing: NVMe's phase bit |
//!
//! ```
//! use corelane::line_ring;
//!
//! let (mut tx, mut rx) = line_ring::queue::<u64>(1000)?;
//! assert!(tx.capacity() >= 1000);
//! tx.try_push(7)?;
//! assert_eq!(rx.try_pop(), Ok(7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod lines;
mod resume;

#[doc(hidden)]
pub use resume::{Corrupt, Heir};

use alloc::boxed::Box;
use core::marker::PhantomData;
use core::mem::needs_drop;

use crate::carrier::{Carrier, Empties, Fills};
use crate::memory::{AtomicU64, Ordering, is_before, keep_order, own_load};
use crate::pad::Padded;
use crate::queue::config::ConfigOption;
use crate::queue::staging::{Staged, Staging};
use crate::queue::{
    self, CapacityError, Config, Consumer as _, Info, LentItems, LentSlots, TryPopError,
    TryPushError, answered_by, full, handles, queue_type,
};
use crate::region::{End, State, ends, most_slots, try_box};
use crate::spin::Distance;
use crate::unwind::drop_each;
pub(crate) use lines::Lines;
use lines::{Line, Place};

/// What the two sides share besides the lines.
#[repr(C)]
pub(crate) struct Header<T> {
    /// Lines that the consumer has left, a multiple of G.
    read: Padded<AtomicU64>,
    /// The consumer's position when it was dropped. A consumer that [records](Consumer) stores each
    /// of its positions.
    popped: Padded<AtomicU64>,
    /// Position of the first item. Never written.
    first: AtomicU64,
    /// A hint for the consumer's prefetches: the lines that the producer had entered when it last
    /// looked at `read`. It is rarely written, so it may share the line of `first`.
    entered: AtomicU64,
    items: PhantomData<T>,
}

impl<T> Header<T> {
    pub(crate) fn new(first: u64) -> Self {
        let position = || Padded(AtomicU64::new(first));
        let read = Padded(AtomicU64::new(0));
        let (first, entered) = (AtomicU64::new(first), AtomicU64::new(0));
        Self { read, popped: position(), first, entered, items: PhantomData }
    }

    fn first(&self) -> u64 {
        // Relaxed: it was written before the queue was shared.
        self.first.load(Ordering::Relaxed)
    }

    /// A position as a place in front of an item, and the number of lines before its line.
    fn place(&self, lines: &Lines<T>, position: u64) -> (Place<T>, u64) {
        let before = position.wrapping_sub(self.first());
        let (line, i) = (before / Line::<T>::N as u64, before % Line::<T>::N as u64);
        let start = position.wrapping_sub(i);
        (Place { line: lines.get(line % lines.len() as u64), start, i: i as usize }, line)
    }
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Lines<T>;

    fn drop_items(&self, lines: &Lines<T>) {
        if !needs_drop::<T>() {
            return;
        }
        // Relaxed: the drop of both handles orders all their accesses before this.
        let (mut place, _) = self.place(lines, self.popped.load(Ordering::Relaxed));
        drop_each(|| {
            place.enter_next_if_done(lines);
            (place.i < place.line.filled(place.start)).then(|| {
                place.i += 1;
                // SAFETY: the item was pushed and never popped, and `place` has moved past the
                // item.
                unsafe { place.line.read(place.i - 1) }
            })
        });
    }
}

/// A queue for at least `capacity` items.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    let geometry = Geometry::new::<T>(config)?;
    let (tx, rx) = ends(config.memory, geometry.lines, Header::new(config.first))?;
    empty(tx.slots(), config.first);
    Ok((Producer::new(tx, geometry), Consumer::new(rx, geometry)?))
}

/// Makes all lines empty.
pub(crate) fn empty<T>(lines: &Lines<T>, first: u64) {
    let mut place = Place { line: lines.first, start: first, i: 0 };
    for _ in 0..lines.len() {
        // Relaxed: the queue isn't shared yet. With this `tail` the line has no items.
        place.line.tail().store(place.start, Ordering::Relaxed);
        place.enter_next(lines);
    }
}

/// The sizes of a ring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Geometry {
    /// L, the number of lines.
    pub(crate) lines: usize,
    /// G, the number of lines given back together, a power of two.
    together: u64,
}

impl Geometry {
    pub(crate) fn new<T>(config: Config) -> Result<Self, CapacityError> {
        config.only(&[ConfigOption::Batch])?;
        let n = Line::<T>::N;
        // G more lines, which the consumer may have left and not given back. And one more line, so
        // that the producer needn't wait for the line that the consumer is in.
        let most_lines = (most_slots::<Header<T>>() / 2).saturating_sub(1);
        if config.capacity == 0 || config.capacity > most_lines * n {
            let most = most_lines.saturating_mul(n);
            return Err(CapacityError::OutOfRange { asked: config.capacity, most });
        }
        let needed = config.capacity.div_ceil(n);
        let wanted = config.batch.map_or(64, |items| items / n).clamp(1, needed.div_ceil(4));
        let together = 1 << wanted.ilog2();
        Ok(Self { lines: needed + together + 1, together: together as u64 })
    }
}

/// The sending side.
#[repr(align(128))]
pub struct Producer<T> {
    /// The place of the next item.
    place: Place<T>,
    /// Lines entered so far.
    entered: u64,
    /// How many lines may be entered, by the last read of `read`.
    limit: u64,
    /// Lines that the consumer may have left and not given back, and the line that it is in.
    spare: usize,
    end: End<Header<T>>,
    staging: Staging<T>,
}

/// The receiving side.
///
/// A consumer with `RECORDS` stores its position after each pop, so that another one can go on
/// there.
#[repr(align(128))]
pub struct Consumer<T, const RECORDS: bool = false> {
    /// The place of the next item.
    place: Place<T>,
    /// Items of the line that have been seen. Equal to `place.i` while items are staged.
    filled: usize,
    /// Lines left so far.
    left: u64,
    /// Lines that the producer has entered, by the last read of `Header::entered`.
    entered: u64,
    /// G.
    together: u64,
    distance: Distance,
    end: End<Header<T>>,
    /// Items from `place` on that have been copied out to be lent. Boxed, so that it can be passed
    /// by reference without the handle: see `queue::try_pop_by`.
    staged: Box<Staged<T>>,
}

/// The consumer of a ring with a smaller G doesn't prefetch: it would look at `entered` too often.
const LEAST_TOGETHER: usize = 8;

// SAFETY: places point into the region that `end` keeps alive, and `End<Header<T>>` is `Send` if
// the items are.
unsafe impl<T: Send> Send for Producer<T> {}
// SAFETY: as for the producer.
unsafe impl<T: Send, const RECORDS: bool> Send for Consumer<T, RECORDS> {}

impl<T> Producer<T> {
    /// Of a ring without items.
    pub(crate) fn new(end: End<Header<T>>, geometry: Geometry) -> Self {
        let place = Place { line: end.slots().first, start: end.header().first(), i: 0 };
        Self {
            place,
            entered: 1,
            limit: geometry.lines as u64,
            spare: geometry.together as usize + 1,
            end,
            staging: Staging::new(),
        }
    }

    #[inline]
    fn look(&mut self) {
        // Acquire ↔ Release in `Consumer::leave`: the items of the lines are taken.
        let read = self.end.header().read.load(Ordering::Acquire);
        let limit = read.wrapping_add(self.end.slots().len() as u64);
        // The consumer can't have left lines that were not entered, nor enter them again. If `read`
        // says so, another process, which isn't to be trusted, wrote it: then the ring is full.
        let is_possible = limit.wrapping_sub(self.entered) <= self.end.slots().len() as u64;
        self.limit = if is_possible { limit } else { self.entered };
        let entered = &self.end.header().entered;
        if self.spare > LEAST_TOGETHER && own_load(entered) != self.entered {
            // Relaxed: a hint.
            entered.store(self.entered, Ordering::Relaxed);
        }
    }

    /// Lines that may be entered, by the last look.
    fn free_lines(&self) -> usize {
        self.limit.wrapping_sub(self.entered) as usize
    }

    /// Enters the next line, if the consumer has left it.
    #[inline(always)] // see `queue::try_pop_by`
    fn enter(&mut self) -> bool {
        if self.entered == self.limit {
            self.look();
        }
        self.enter_known()
    }

    /// Enters the next line, if the consumer is known to have left it.
    #[inline(always)] // see `queue::try_pop_by`
    fn enter_known(&mut self) -> bool {
        if self.entered == self.limit {
            return false;
        }
        self.place.enter_next(self.end.slots());
        self.entered = self.entered.wrapping_add(1);
        if Line::<T>::PRODUCER_FETCHES && self.free_lines() >= Line::<T>::KNOWN {
            self.place.line.fetch_ahead();
        }
        true
    }

    /// Publishes the first `i` items of the line to the consumer. `line` and `start` are those of
    /// the place: after a write to a slot the compiler would load them again, since the slot might
    /// be part of the handle.
    #[inline(always)]
    fn show(&mut self, line: Line<T>, start: u64, i: usize) {
        // Release ↔ Acquire in `Line::filled`: the items.
        line.tail().store(start.wrapping_add(i as u64), Ordering::Release);
        // After the store, so that the processor can forward this value if the caller keeps the
        // handle in memory.
        self.place.i = i;
        line.fetch_to_write(i);
    }

    /// Writes `item` at its place.
    #[inline(always)] // see `queue::try_pop_by`
    fn push(&mut self, item: T) -> Result<(), T> {
        if self.place.is_done() && !self.enter() {
            return Err(item);
        }
        let Place { line, start, i } = self.place;
        // SAFETY: the consumer has left this line, and `i` is below N.
        unsafe { line.write(i, item) };
        self.show(line, start, i + 1);
        Ok(())
    }

    /// Pushes the first of `n` items at `from`, as many as there is room for, and returns their
    /// number.
    ///
    /// # Safety
    ///
    /// `from` points to `n` items. The caller doesn't use those that were pushed, or they are
    /// copies.
    unsafe fn push_run(&mut self, from: *const T, n: usize) -> usize {
        let mut done = 0;
        while done < n && (!self.place.is_done() || self.enter()) {
            let run = (n - done).min(Line::<T>::N - self.place.i);
            // SAFETY: the consumer has left this line, and the places of the run are below N.
            unsafe { self.place.line.write_run(self.place.i, from.add(done), run) };
            // Read after the write here: it costs less than to keep three values for a run.
            self.show(self.place.line, self.place.start, self.place.i + run);
            done += run;
        }
        done
    }
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        self.push(item).map_err(|item| full(self.is_closed(), item))
    }

    #[inline]
    fn capacity(&self) -> usize {
        (self.end.slots().len() - self.spare) * Line::<T>::N
    }

    fn slots(&self) -> usize {
        self.end.slots().len() * Line::<T>::N
    }

    answered_by!(closed: end);
    answered_by!(lent: slots);

    fn push_slice(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        // SAFETY: copies of the items are pushed.
        unsafe { self.push_run(items.as_ptr(), items.len()) }
    }
}

impl<T> Empties for Producer<T> {
    #[inline(always)] // as `try_push`
    fn push_from(&mut self, item: &mut Carrier<T>) -> bool {
        if self.place.is_done() && !self.enter() {
            return false;
        }
        self.fill_place(item);
        true
    }

    #[inline(always)] // as `try_push`
    fn push_quickly(&mut self, item: &mut Carrier<T>) -> bool {
        if self.place.is_done() && !self.enter_known() {
            return false;
        }
        self.fill_place(item);
        true
    }
}

impl<T> Producer<T> {
    /// Pushes the item, for which there is a place in the line.
    #[inline(always)] // as `try_push`
    fn fill_place(&mut self, item: &mut Carrier<T>) {
        let Place { line, start, i } = self.place;
        // SAFETY: the consumer has left this line, and `i` is below N. The caller has an item.
        unsafe { line.write_from(i, item) };
        self.show(line, start, i + 1);
    }
}

impl<T> queue::LendSlots for Producer<T> {
    fn free_up_to(&mut self, wanted: usize) -> usize {
        let here = Line::<T>::N - self.place.i;
        let free = |this: &Self| {
            (here + this.free_lines() * Line::<T>::N).min(queue::Producer::slots(this))
        };
        if free(self) < wanted {
            self.look();
        }
        wanted.min(free(self))
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, T> {
        self.staging.lend(n)
    }

    unsafe fn publish(&mut self, n: usize) {
        let from = self.staging.written(n).as_ptr().cast();
        // SAFETY: `n` items are staged, by the caller's contract, and they are not staged any more.
        let pushed = unsafe { self.push_run(from, n) };
        debug_assert_eq!(pushed, n, "as many slots were free");
    }
}

impl<T, const RECORDS: bool> Consumer<T, RECORDS> {
    /// Of a ring without items.
    pub(crate) fn new(end: End<Header<T>>, geometry: Geometry) -> Result<Self, CapacityError> {
        let first = end.header().first();
        let staged = try_box(Staged::new())
            .map_err(|_| CapacityError::OutOfMemory { bytes: size_of::<Staged<T>>() })?;
        Ok(Self {
            place: Place { line: end.slots().first, start: first, i: 0 },
            filled: 0,
            left: 0,
            entered: 0,
            together: geometry.together,
            distance: Distance::new(first),
            end,
            staged,
        })
    }

    /// The place of the next item.
    #[inline(always)]
    fn position(&self) -> u64 {
        self.place.start.wrapping_add(self.place.i as u64)
    }

    /// Stores that all items before the place are taken, for a consumer that continues after this
    /// one.
    #[inline(always)]
    fn record(&self) {
        if RECORDS {
            // Relaxed: the system orders the end of a process before the next one takes the side.
            self.end.header().popped.store(self.position(), Ordering::Relaxed);
            if Line::<T>::IS_GROUP {
                // A consumer that dies has not touched the slots of items that it has not recorded:
                // see `Line::hand_back`.
                keep_order();
            }
        }
    }

    /// Enters the next line. Gives G lines back together, after G lines have been left.
    #[inline(always)] // see `queue::try_pop_by`
    fn leave(&mut self) {
        // Hand-back: the value is unchanged, but now the consumer's core owns the line. Relaxed:
        // the value is not new, and the store below orders it before the producer's next `tail`.
        let tail = self.place.start.wrapping_add(Line::<T>::N as u64);
        self.place.line.tail().store(tail, Ordering::Relaxed);
        self.left = self.left.wrapping_add(1);
        if self.left & (self.together - 1) == 0 {
            // Release ↔ Acquire in `Producer::look`: the items are taken, and `tail` is handed
            // back.
            self.end.header().read.store(self.left, Ordering::Release);
            if self.together >= LEAST_TOGETHER as u64 {
                // Relaxed: a hint.
                self.entered = self.end.header().entered.load(Ordering::Relaxed);
            }
        }
        self.place.enter_next(self.end.slots());
        self.filled = 0;
        if is_before(self.left.wrapping_add(Line::<T>::KNOWN as u64), self.entered) {
            self.place.line.fetch_ahead();
        }
    }

    /// Looks for items behind those that are known. `WAITS`: keeps a distance from a producer that
    /// is writing into the line.
    #[inline(always)] // see `queue::try_pop_by`
    fn refill<const WAITS: bool>(&mut self) -> Result<(), TryPopError> {
        // No calls here: otherwise a method that pops would save registers at its start. And
        // values, so that a handle in a loop stays in registers: see `queue::try_pop_by`.
        //
        // Read before the look, so that the look finds all that the producer pushed before it was
        // dropped.
        let closed = self.is_closed();
        if self.place.is_done() {
            self.leave();
        }
        if let Some(item) = self.staged.take() {
            // The caller reads it from its slot.
            // SAFETY: `i` is below N, and the consumer has not moved past this place, so the
            // producer doesn't access it.
            unsafe { self.place.line.write(self.place.i, item) };
            self.filled = self.place.i + 1;
            return Ok(());
        }
        let mut filled = self.place.line.filled(self.place.start);
        if WAITS && filled != Line::<T>::N {
            let position = self.position();
            let far_behind = self.end.slots().len() as u64 / 2 * Line::<T>::N as u64;
            let waited;
            (self.distance, waited) =
                self.distance.caught_up_with(position, 1, far_behind, Distance::FAST);
            if waited {
                let before = filled;
                filled = self.place.line.filled(self.place.start);
                self.distance = self.distance.looked_again(filled > before);
            }
        }
        if filled <= self.place.i {
            self.place.line.fetch_to_read(self.place.i);
            return Err(if closed { TryPopError::Closed } else { TryPopError::Empty });
        }
        self.filled = filled;
        Ok(())
    }
}

impl<T, const RECORDS: bool> queue::Consumer for Consumer<T, RECORDS> {
    type Item = T;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        if self.place.i == self.filled {
            self.refill::<true>()?;
        }
        let i = self.place.i;
        self.place.i = i + 1;
        // SAFETY: all slots before `filled` hold items, by `tail`, and `place` has moved past this
        // one.
        let item = unsafe { self.place.line.read(i) };
        self.record();
        // SAFETY: as above.
        unsafe { self.place.line.hand_back(i, 1) };
        Ok(item)
    }

    #[inline]
    fn capacity(&self) -> usize {
        (self.end.slots().len() - self.together as usize - 1) * Line::<T>::N
    }

    fn slots(&self) -> usize {
        self.end.slots().len() * Line::<T>::N
    }

    answered_by!(closed: end);
    answered_by!(lent: items);

    fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        let mut done = 0;
        while done < into.len() {
            // Without a wait: the caller takes batches anyway, perhaps of many queues by turns.
            if self.place.i == self.filled && self.refill::<false>().is_err() {
                break;
            }
            let n = (into.len() - done).min(self.filled - self.place.i);
            for (i, slot) in into[done..][..n].iter_mut().enumerate() {
                // SAFETY: all slots before `filled` hold items, by `tail`.
                *slot = unsafe { self.place.line.read(self.place.i + i) };
            }
            let from = self.place.i;
            self.place.i += n;
            self.record();
            // SAFETY: as above, and `place` has moved past them.
            unsafe { self.place.line.hand_back(from, n) };
            done += n;
        }
        done
    }
}

impl<T, const RECORDS: bool> Fills for Consumer<T, RECORDS> {
    #[inline(always)] // as `try_pop`
    fn pop_into(&mut self, item: &mut Carrier<T>) -> Result<(), TryPopError> {
        if self.place.i == self.filled {
            self.refill::<true>()?;
        }
        self.empty_place(item);
        Ok(())
    }

    #[inline(always)] // as `try_pop`
    fn pop_quickly(&mut self, item: &mut Carrier<T>) -> bool {
        if self.place.i == self.filled && !self.enter_filled() {
            return false;
        }
        self.empty_place(item);
        true
    }
}

impl<T, const RECORDS: bool> Consumer<T, RECORDS> {
    /// Pops the item at the place, which has been seen.
    #[inline(always)] // as `try_pop`
    fn empty_place(&mut self, item: &mut Carrier<T>) {
        let i = self.place.i;
        self.place.i = i + 1;
        // SAFETY: as in `try_pop`. The caller has room.
        unsafe { self.place.line.read_into(i, item) };
        self.record();
        // SAFETY: as above.
        unsafe { self.place.line.hand_back(i, 1) };
    }

    /// If no items are staged, leaves a finished line and returns whether the next line is full.
    /// Otherwise [`refill`](Self::refill) looks.
    #[inline(always)] // as `try_pop`
    fn enter_filled(&mut self) -> bool {
        if !self.place.is_done() || self.staged.len() > 0 {
            return false;
        }
        self.leave();
        let is_full = self.place.line.filled(self.place.start) == Line::<T>::N;
        if is_full {
            self.filled = Line::<T>::N;
        }
        is_full
    }
}

// SAFETY: items are lent from `staged`, which forgets items when they are released, and `place`
// moves past them.
unsafe impl<T, const RECORDS: bool> queue::LendItems for Consumer<T, RECORDS> {
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        let mut place = self.place.clone();
        let mut count = 0;
        for _ in 0..self.end.slots().len() {
            place.enter_next_if_done(self.end.slots());
            let filled = place.line.filled(place.start);
            count += filled.saturating_sub(place.i);
            if filled < Line::<T>::N || count >= wanted {
                break;
            }
            place.i = filled;
        }
        wanted.min(count)
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        let (lines, header) = (self.end.slots(), self.end.header());
        let most = wanted.min(queue::Consumer::slots(self));
        let at = |n: usize| header.place(lines, self.position().wrapping_add(n as u64)).0;
        let mut place = at(self.staged.len());
        // If the last item is there, the producer needs none of these lines.
        let last = at(most.max(1) - 1);
        let are_all_there = last.line.filled(last.start) > last.i;
        // A staged item must not be read from its slot again, also if there is no memory for
        // others.
        self.filled = self.place.i;
        self.staged.close_up();
        while self.staged.len() < most {
            place.enter_next_if_done(lines);
            let (i, rest) = (place.i, most - self.staged.len());
            let run = place.line.filled(place.start).saturating_sub(i).min(rest);
            if run == 0 {
                break;
            }
            if are_all_there && !Line::<T>::IS_GROUP {
                place.line.fetch_ahead();
            }
            // SAFETY: these items were pushed and not popped, and `staged` reads each item only
            // once.
            unsafe { self.staged.stage_run(run, |to| place.line.read_run(i, to, run)) };
            place.i += run;
        }
        wanted.min(self.staged.len())
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, T> {
        self.staged.lend(n)
    }

    unsafe fn release(&mut self, n: usize) {
        // SAFETY: `n` items are staged and have been moved out, by the caller's contract.
        unsafe { self.staged.forget(n) };
        let mut rest = n;
        while rest > 0 {
            if self.place.is_done() {
                // Before the line can be given back.
                self.record();
                self.leave();
            }
            let run = rest.min(Line::<T>::N - self.place.i);
            self.place.i += run;
            rest -= run;
        }
        self.filled = self.place.i;
        self.record();
    }
}

impl<T, const RECORDS: bool> Drop for Consumer<T, RECORDS> {
    #[inline]
    fn drop(&mut self) {
        if !needs_drop::<T>() {
            // Nothing reads the consumer's place later, so it can stay in registers: see
            // `End::shared`.
            return;
        }
        // Staged items are dropped here; the items behind them, when both handles are gone.
        let position = self.position().wrapping_add(self.staged.len() as u64);
        // Relaxed: it is read only after the drop of both handles, which orders it.
        self.end.header().popped.store(position, Ordering::Relaxed);
    }
}

handles! {
    [T] Producer<T>: single_producer of T;
    [T, const RECORDS: bool] Consumer<T, RECORDS>: single_consumer of T;
}

queue_type!(LineRing of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "linering",
    name: "line ring",
    paper: "none; see its page",
    capacity: "n, rounded up to lines, and up to G lines more",
    choose: advice!(choose linering),
    avoid: advice!(avoid linering),
    ..Info::RING
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn items_as_large_as_memory_are_refused() {
        const HUGE: usize = (1 << 61) - 3000;
        for capacity in [1, (1 << 58) - 65] {
            let error = queue::<[u8; HUGE]>(capacity).unwrap_err();
            assert_eq!(error, CapacityError::OutOfRange { asked: capacity, most: 0 });
        }
    }

    #[test]
    fn the_capacity_asked_for_always_fits() {
        for asked in [1, 6, 7, 8, 100, 1000] {
            let (mut tx, mut rx) = queue::<u64>(asked).unwrap();
            // For any place of the consumer in its line, and any number of lines not given back.
            for step in 0..1000 {
                let free = tx.push_iter(0..);
                assert!(free > 0 || step > 0);
                for _ in 0..step % (asked + 2) {
                    let _ = rx.try_pop();
                }
                if !tx.is_full() {
                    continue;
                }
                assert!(rx.len() >= asked, "full with {} of {asked}", rx.len());
            }
        }
    }
}
