//! `lanes`: a ring for each producer, from which all consumers take. It is the queue of
//! [`shm::Lanes`](crate::shm::Lanes).
//!
//! Each producer has a lane of its own, and writes to no other. A slot has a stamp, which says that
//! its item is there. A consumer copies the oldest item of a lane, and then takes the item: it
//! moves the lane's head by a compare-and-swap. If that fails, another consumer has taken the item,
//! and the copy is discarded. So items are [plain data](crate::overwrite::Plain).
//!
//! Slots are given back in groups of an eighth of a lane: the consumer of a group's last item
//! stores the head in a second word, which the producer reads. So a producer that waits for room
//! doesn't disturb the consumers. If a consumer stops before that store, the consumer of the next
//! group gives the slots back, or a consumer that finds the lane empty.
//!
//! So no thread ever waits for another one. A consumer that stops for ever, at any step, has taken
//! an item or has not. A producer that stops has published an item or has not, and the next
//! producer finds its position by the stamps.
//!
//! | | |
//! |---|---|
//! | use it | between several processes, of which any may be killed |
//! | don't use it | between threads ([`leased`](crate::leased)), for items of more than some words, or where the items of several producers must come in one order |
//! | guarantee | first in first out for each producer; none between producers. Pushes are wait-free, pops lock-free |
//! | capacity | of each lane as asked, or more. A lane has a power of two of slots, of which an eighth may be read and not given back yet |
//! | handles | one producer for each lane, any number of consumers |
//! | errors | a pop says busy if other consumers were faster several times. It says empty if each lane was empty when it looked at this lane: meanwhile an item may have come to a lane at which it looked before |
//! | operations | a push: the item's words and its stamp. A pop: a load of the head, the stamp, the item's words, a compare-and-swap. One compare-and-swap can take several items of a lane |
//! | paper | none. Thieves of a work-stealing queue also copy first and claim then (D. Chase, Y. Lev 2005) |

mod heir;
mod slots;

use core::marker::PhantomData;
use core::mem::MaybeUninit;

use zerocopy::FromBytes;

pub use heir::Heir;
pub use slots::{Lanes, Shape};

use crate::line_ring::Corrupt;
use crate::memory::{AtomicU64, Ordering, advance, is_before, limit};
use crate::pad::Padded;
use crate::plain::Plain;
use crate::queue::{self, Info, Sides, TryPopError, TryPushError, answered_by, handles};
use crate::region::{End, State};
use crate::spin::Retries;
use slots::Lane;

/// Most items of one lane in a row, while others may have some.
const RUN: usize = limit(32, 1) as usize;
/// How often a consumer tries to take an item of a lane.
const TRIES: u64 = limit(8, 2);

/// What all lanes share.
#[derive(Debug)]
pub struct Header<T> {
    /// Lanes that have ever had a producer are before this one.
    used: Padded<AtomicU64>,
    items: PhantomData<T>,
}

impl<T> Header<T> {
    pub(crate) fn new() -> Self {
        Self { used: Padded(AtomicU64::new(0)), items: PhantomData }
    }
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Lanes<T>;

    fn drop_items(&self, _: &Self::Slots) {
        // Plain data has no destructor.
    }
}

/// Makes all lanes empty, with `first` as the position of each first item.
pub(crate) fn begin<T>(lanes: &Lanes<T>, first: u64) {
    let Shape { lanes: count, len } = lanes.shape();
    for number in 0..count {
        let lane = lanes.lane(number);
        // Relaxed, all: the queue isn't shared yet.
        lane.head.store(first, Ordering::Relaxed);
        lane.read.store(first, Ordering::Relaxed);
        for position in (0..len as u64).map(|i| first.wrapping_add(i)) {
            lane.slots.stamp(position).store(lane.free(position), Ordering::Relaxed);
            lane.slots.note_read(position);
        }
    }
}

impl<T> Lane<'_, T> {
    /// The stamp at `position` before its item is there.
    fn free(&self, position: u64) -> u64 {
        position.wrapping_add(1).wrapping_sub(self.slots.len() as u64)
    }
}

/// The sending side: one lane.
#[repr(align(128))]
pub struct Producer<T> {
    /// Number of the lane.
    lane: usize,
    /// Next position to fill.
    write: u64,
    /// The position up to which slots were given back when this producer last looked. They are free
    /// up to a lap behind it.
    read: u64,
    end: End<Header<T>>,
}

/// A receiving side: of all lanes.
#[repr(align(128))]
pub struct Consumer<T> {
    /// The lane of the last item.
    turn: usize,
    /// Items that this lane may still give before another lane has its turn.
    run: usize,
    /// A lane of which this consumer has given slots back that another consumer had read.
    given_back: Option<usize>,
    end: End<Header<T>>,
}

impl<T: Plain> Producer<T> {
    /// Continues in this lane, behind its last item. No other thread may use the lane as a producer
    /// any more.
    ///
    /// # Errors
    ///
    /// If no producer can have left the lane so.
    pub(crate) fn resume(end: End<Header<T>>, number: usize) -> Result<Self, Corrupt> {
        let lane = end.slots().lane(number);
        // Acquire ↔ Release in `take`: the slots before the head are free.
        let head = lane.head.load(Ordering::Acquire);
        let mut write = head;
        // Relaxed: the system orders all that the dead producer did before this.
        let stamp = |position| lane.slots.stamp(position).load(Ordering::Relaxed);
        while write.wrapping_sub(head) < lane.slots.len() as u64
            && stamp(write) == write.wrapping_add(1)
        {
            write = write.wrapping_add(1);
        }
        if stamp(write) != lane.free(write) {
            return Err(Corrupt);
        }
        // Relaxed: for a consumer that doesn't know of the lane yet, the lane is empty.
        advance(&end.header().used.0, number as u64 + 1, Ordering::Relaxed);
        Ok(Self { lane: number, write, read: head, end })
    }

    /// Number of free slots, counted up to `wanted`.
    #[inline]
    fn free_up_to(&mut self, wanted: usize) -> usize {
        let lane = self.end.slots().lane(self.lane);
        let len = lane.slots.len();
        let free = |read| len.saturating_sub(self.write.wrapping_sub(read) as usize);
        if free(self.read) < wanted {
            // Acquire ↔ Release in `give_back`: the slots before that have been read.
            let read = lane.read.load(Ordering::Acquire);
            // It may be older than the position that this producer found when it began.
            if is_before(self.read, read) {
                self.read = read;
            }
        }
        free(self.read)
    }

    /// Items of this lane that were pushed, by all producers that have had it.
    pub fn count(&self) -> u64 {
        self.write
    }
}

impl<T: Plain> queue::Producer for Producer<T> {
    type Item = T;

    #[inline(always)] // a call would cost more than the push itself
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        if self.free_up_to(1) == 0 {
            return Err(queue::full(queue::Producer::is_closed(self), item));
        }
        let slots = self.end.slots().lane(self.lane).slots;
        slots.is_read(self.write);
        slots.store(self.write, &item);
        self.write = self.write.wrapping_add(1);
        // Release ↔ Acquire in `copy`: the item.
        slots.stamp(self.write.wrapping_sub(1)).store(self.write, Ordering::Release);
        Ok(())
    }

    /// Of this producer's lane.
    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().shape().promised()
    }

    fn slots(&self) -> usize {
        self.end.slots().shape().len
    }

    answered_by!(closed: end);

    /// Of this producer's lane.
    fn len(&mut self) -> usize {
        queue::Producer::slots(self) - self.free_up_to(usize::MAX)
    }

    fn is_full(&mut self) -> bool {
        self.free_up_to(1) == 0
    }
}

impl<T: Plain + FromBytes> Consumer<T> {
    pub(crate) fn new(end: End<Header<T>>) -> Self {
        Self { turn: 0, run: 0, given_back: None, end }
    }

    /// A lane of which this consumer has given slots back without a pop. Its producer may wait for
    /// them.
    pub fn given_back(&mut self) -> Option<usize> {
        self.given_back.take()
    }

    /// Number of the lane that gave the last item.
    pub fn last_lane(&self) -> usize {
        self.turn
    }

    /// Lanes that have ever had a producer.
    fn used(&self) -> usize {
        // Relaxed: see `Producer::resume`. Another process may have written anything.
        let used = self.end.header().used.load(Ordering::Relaxed);
        self.end.slots().shape().lanes.min(used as usize)
    }

    /// Takes up to `into.len()` items of one lane, and returns their number.
    #[inline]
    fn pop_into(&mut self, into: &mut [MaybeUninit<T>]) -> Result<usize, TryPopError> {
        if self.run > 0 {
            if let Ok(taken) = self.take(self.turn, into) {
                self.run = self.run.saturating_sub(taken);
                return Ok(taken);
            }
        }
        self.look_at_all(into)
    }

    /// See [`take`].
    #[inline(always)]
    fn take(&mut self, number: usize, into: &mut [MaybeUninit<T>]) -> Result<usize, TryPopError> {
        let lanes = self.end.slots();
        let (lane, together) = (lanes.lane(number), lanes.shape().together() as u64);
        let taken = take(&lane, together, into);
        if taken == Err(TryPopError::Empty) && find_given_back(&lane, together) {
            self.given_back = Some(number);
        }
        taken
    }

    /// As [`pop_into`](Self::pop_into), from the next lane that has items.
    fn look_at_all(&mut self, into: &mut [MaybeUninit<T>]) -> Result<usize, TryPopError> {
        let (used, mut nothing) = (self.used(), TryPopError::Empty);
        let after = self.turn + 1;
        for number in (after..used).chain(0..after.min(used)) {
            match self.take(number, into) {
                Ok(taken) => {
                    (self.turn, self.run) = (number, RUN.saturating_sub(taken));
                    return Ok(taken);
                }
                Err(TryPopError::Empty) => {}
                Err(busy) => nothing = busy,
            }
        }
        Err(nothing)
    }

    /// Takes up to `into.len()` items of one lane, and returns their number.
    pub(crate) fn pop_some(&mut self, into: &mut [T]) -> Result<usize, TryPopError> {
        // SAFETY: every pattern of bits is an item, and only copies of initialised words are
        // written there.
        self.pop_or_closed(unsafe { &mut *(into as *mut [T] as *mut [MaybeUninit<T>]) })
    }

    /// As [`pop_into`](Self::pop_into), and says closed if all producers are gone.
    #[inline]
    fn pop_or_closed(&mut self, into: &mut [MaybeUninit<T>]) -> Result<usize, TryPopError> {
        match self.pop_into(into) {
            // A look after the last producer has gone finds all items that producers pushed.
            Err(TryPopError::Empty) if queue::Consumer::is_closed(self) => {
                self.pop_into(into).map_err(|error| match error {
                    TryPopError::Empty => TryPopError::Closed,
                    other => other,
                })
            }
            other => other,
        }
    }
}

/// Takes up to `into.len()` items of a lane, whose slots are given back by groups of `together`.
/// Returns their number, at least 1.
///
/// # Errors
///
/// If there is none, or other consumers were faster again and again.
#[inline(always)]
fn take<T: Plain + FromBytes>(
    lane: &Lane<'_, T>,
    together: u64,
    into: &mut [MaybeUninit<T>],
) -> Result<usize, TryPopError> {
    // Relaxed: if it is out of date, the exchange fails.
    let mut head = lane.head.load(Ordering::Relaxed);
    for _ in 0..TRIES {
        let taken = copy(lane, head, into);
        if taken == 0 {
            // Relaxed: another consumer may have taken the items.
            let now = lane.head.load(Ordering::Relaxed);
            if now == head {
                return Err(TryPopError::Empty);
            }
            head = now;
            continue;
        }
        let next = head.wrapping_add(taken as u64);
        // Release ↔ Acquire here, and in a producer that goes on: the slots have been read. Relaxed
        // where it fails: it is tried again.
        match lane.head.compare_exchange(head, next, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => {
                // `together` is a power of two: whether a group ends between both.
                if head ^ next >= together {
                    give_back(lane, next);
                }
                return Ok(taken);
            }
            Err(now) => head = now,
        }
    }
    Err(TryPopError::Busy)
}

/// Gives the slots before `head` back to the producer.
#[cold]
#[inline(never)]
fn give_back<T>(lane: &Lane<'_, T>, head: u64) {
    // Release ↔ Acquire in `Producer::free_up_to`: the slots have been read.
    advance(lane.read, head, Ordering::Release);
}

/// Gives slots back that a stopped consumer has read and not given back. Returns whether there were
/// any.
#[inline(always)]
fn find_given_back<T>(lane: &Lane<'_, T>, together: u64) -> bool {
    // Acquire ↔ Release in `take`: the slots before the head have been read.
    let head = lane.head.load(Ordering::Acquire);
    // Relaxed: if it is out of date, the same slots are given back once more.
    let is_late = head.wrapping_sub(lane.read.load(Ordering::Relaxed)) >= together;
    if is_late {
        give_back(lane, head);
    }
    is_late
}

/// Copies the items that are there from `head` on, up to `into.len()`, and returns their number.
#[inline(always)]
fn copy<T: Plain>(lane: &Lane<'_, T>, head: u64, into: &mut [MaybeUninit<T>]) -> usize {
    let most = into.len().min(lane.slots.len());
    for (i, place) in into[..most].iter_mut().enumerate() {
        let position = head.wrapping_add(i as u64);
        // Acquire ↔ Release in `try_push`: the item.
        if lane.slots.stamp(position).load(Ordering::Acquire) != position.wrapping_add(1) {
            return i;
        }
        *place = lane.slots.load(position);
        lane.slots.note_read(position.wrapping_add(lane.slots.len() as u64));
    }
    most
}

impl<T: Plain + FromBytes> queue::Consumer for Consumer<T> {
    type Item = T;

    #[inline(always)] // a call would cost more than the pop itself
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        let mut item = MaybeUninit::uninit();
        self.pop_or_closed(core::slice::from_mut(&mut item))?;
        // SAFETY: the item was copied whole, and its producer has not written to the slot
        // meanwhile: the head had not moved.
        Ok(unsafe { item.assume_init() })
    }

    /// Of all lanes together.
    fn capacity(&self) -> usize {
        let shape = self.end.slots().shape();
        shape.lanes * shape.promised()
    }

    fn slots(&self) -> usize {
        let Shape { lanes, len } = self.end.slots().shape();
        lanes * len
    }

    answered_by!(closed: end);

    /// Counts each lane for itself.
    fn len(&mut self) -> usize {
        (0..self.used()).map(|number| waiting(&self.end.slots().lane(number), usize::MAX)).sum()
    }

    fn is_empty(&mut self) -> bool {
        (0..self.used()).all(|number| waiting(&self.end.slots().lane(number), 1) == 0)
    }

    /// Items of one lane are taken together.
    fn pop_slice(&mut self, into: &mut [T]) -> usize {
        let (mut retries, mut done) = (Retries::default(), 0);
        while done < into.len() {
            match self.pop_some(&mut into[done..]) {
                Ok(taken) => done += taken,
                Err(error) if retries.again(error == TryPopError::Busy) => {}
                Err(_) => break,
            }
        }
        done
    }
}

/// Items that wait in a lane, counted up to `most`.
fn waiting<T>(lane: &Lane<'_, T>, most: usize) -> usize {
    // Relaxed, all: a snapshot.
    let head = lane.head.load(Ordering::Relaxed);
    let is_there = |i: &usize| {
        let position = head.wrapping_add(*i as u64);
        let stamp = lane.slots.stamp(position).load(Ordering::Relaxed);
        !is_before(stamp, position.wrapping_add(1))
    };
    (0..most.min(lane.slots.len())).take_while(is_there).count()
}

handles! {
    [T: Plain] Producer<T>: producer of T;
    [T: Plain + FromBytes] Consumer<T>: consumer of T;
}

/// For the programs that check and measure it; not stable.
#[doc(hidden)]
pub const INFO: Info = Info {
    id: "lanes",
    name: "a ring for each producer",
    paper: "none; see its page",
    sides: Sides::ManyToMany,
    guarantee: "lock-free, FIFO of each producer",
    choose: "between several processes of which any may die",
    avoid: "between threads (leased), or where items of several producers must come in one order",
    ..Info::RING
};
