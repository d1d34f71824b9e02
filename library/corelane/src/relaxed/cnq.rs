//! `cnq`: the concurrent nested queue. Each entry of an outer queue is a small queue of its own.
//!
//! The outer queue, the *tube*, orders *capsules*. A producer allocates a capsule in the tube, fills
//! its slots one by one, and then allocates the next capsule. A consumer reserves a capsule in the
//! tube, and takes its items one by one, while the producer may still be filling it. So threads
//! meet in the tube once for each capsule, and not for each item.
//!
#![doc = advice!(cnq)]
//!
//! An item is visible as soon as its push has returned, and no handle holds an item back: a capsule
//! belongs to no consumer. A consumer that finds no item in its capsule, and none to reserve, looks
//! into all capsules from which items may leave. So there is nothing to flush.
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free, k-FIFO: a pop takes one of the k oldest items, and an item leaves before k younger ones have |
//! | k | [`Config::relaxation`], 256 if it is not given, and at most three times the capacity. For k below 3 the queue is the tube itself |
//! | capacity | as asked, while at most B producers push, where a group has B capsules (see below). Each further producer may cost a capsule in two groups |
//! | memory | slots for twice the capacity, and for four groups; a byte for each slot; at least 256 bytes for each capsule |
//! | full | no capsule is free. Slots may be free in capsules of other producers |
//! | empty | each item that was inside during the whole call has been popped. There may have been another item at each moment |
//! | a stopped thread | outside a call it keeps nothing. In a push it keeps one slot: pops of later items from its capsule say busy, and pops of all items two groups behind it. In a call that enters the next capsule it is in the way as in the tube |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | operations | a push or pop needs one compare-and-swap, on a line that only the other side's thread of the same capsule reads. The only handle of a side needs none. In addition a capsule needs what an item needs in the tube |
//! | paper | J. Wang: *High Performance and Dependable Asynchronous Communication on Multi-Core Systems* (2024), ch. 3 |
//!
//! # Why an item leaves at most k places out of turn
//!
//! The turns of the tube are divided into groups of B capsules of S slots, where 3·B·S ≤ k. A
//! producer pushes into a capsule of group g only when all capsules of group g − 2 and before are
//! closed. A consumer pops from group g only when all items of group g − 2 and before have been
//! popped. Let f be the first group that still has items. An item x leaves from group f or f + 1.
//! When x was pushed, no capsule of a group behind f + 2 was open. So an older item that is still
//! inside is in one of the groups f to f + 2, which have 3·B·S slots. An item y of group g stays
//! while items leave that were pushed later, into groups g − 1 to g + 1. These are 3·B·S items, too.
//!
//! # Departures from the paper
//!
//! - The paper bounds the distance of capsules in the tube one by one. Here groups do: then a thread
//!   that allocates a capsule closes another one only once a group, and the bound holds for a thread
//!   that is stopped between the two. The paper's tube must allocate a given entry or fail. Here any
//!   tube serves that allocates in order.
//! - In the paper a capsule belongs to one consumer, until it is empty and closed. If this consumer
//!   makes no more calls, its items stay in the queue, and all later ones as well. Here the consumer
//!   that has reserved a capsule only prefers it. Any consumer claims items by compare-and-swap. So
//!   neither a fragment list nor closing by consumers is needed.
//! - In the paper a producer writes an item and then counts it. If the capsule was closed meanwhile,
//!   it may not be used again until the producer has noticed. Here a producer claims a slot before it
//!   writes it, so an idle producer is in nobody's way.
//! - A capsule is used again when each of its slots says that its item has been read: a consumer that
//!   is stopped in the middle of a pop delays this capsule only.
//! - A producer that is dropped leaves its capsule to the next producer that needs one. So many
//!   short-lived producers don't waste a capsule each.
//!
//! ```
//! use corelane::{Config, relaxed::cnq};
//!
//! let (mut tx, mut rx) = cnq::queue_with(Config::new(1000).relaxation(64))?;
//! let mut other = tx.clone();
//! tx.try_push(1)?;
//! other.try_push(2)?;
//! let mut items = [rx.try_pop()?, rx.try_pop()?];
//! items.sort();
//! assert_eq!(items, [1, 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::cell::Cell;
use core::marker::PhantomData;

use super::capsule::{
    Capsule, Capsules, MOST_SLOTS, NO_WORD, RESERVED, Shape, count, is_of, turn_of, word,
};
use super::tube::{Tube, TubeConsumer, TubeProducer, TubeShape};
use crate::block::fetch_add::Faaq;
use crate::memory::{AtomicU64, Ordering, advance, is_before, pause};
use crate::pad::Padded;
use crate::queue::config::ConfigOption;
use crate::queue::{
    self, Built, CapacityError, Config, TryPopError, TryPushError, answered_by, full, handles,
};
use crate::region::{End, State, ends, most_slots};
use crate::unwind::drop_each;

/// The k of a queue that is not told.
const USUAL: usize = 256;
/// Most capsules of a group.
const MOST_IN_GROUP: usize = 64;
/// No capsule: no word with a count of 0 has this bit.
const NONE: u64 = 1;
/// Looks at an empty capsule before the consumer looks elsewhere: its producer may be at work.
const LOOKS: u32 = crate::memory::limit(8, 0) as u32;

/// A queue for at least `capacity` items, between any number of threads on either side.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Send>(capacity: usize) -> Built<Producer<T>, Consumer<T>> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Built<Producer<T>, Consumer<T>> {
    queue_in_with::<T, Faaq>(config)
}

/// As [`queue_with`], with another tube.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_in_with<T: Send, Q: Tube>(config: Config) -> Built<Producer<T, Q>, Consumer<T, Q>> {
    config.only(&[ConfigOption::Relaxation])?;
    let Plan { shape, group } = Plan::new::<T, Q>(config)?;
    let Shape { capsules, first, .. } = shape;
    let (tx, rx) = Q::open(TubeShape { entries: capsules, group, first })?;
    let header = Header::<T, Q> {
        closed: Padded(AtomicU64::new(first)),
        finished: Padded(AtomicU64::new(first)),
        finishing: AtomicU64::new(0),
        spare: Padded(AtomicU64::new(NONE)),
        group: group as u64,
        capacity: config.capacity,
        _tube: (tx.another(), rx.another()),
        items: PhantomData,
    };
    let (sender, receiver) = ends(config.memory, shape, header)?;
    Ok((Producer::new(tx, sender), Consumer::new(rx, receiver)))
}

/// The capsules of a queue, and how many of them are a group.
struct Plan {
    shape: Shape,
    group: usize,
}

impl Plan {
    fn new<T, Q: Tube>(config: Config) -> Result<Self, CapacityError> {
        let most = most_slots::<Header<T, Q>>() / 16;
        let asked = config.capacity;
        if asked == 0 || asked > most {
            return Err(CapacityError::OutOfRange { asked, most });
        }
        // Slots of a group.
        let slots = (config.relaxation.unwrap_or(USUAL) / 3).clamp(1, asked);
        let group = (1 << (slots.ilog2() / 2)).min(MOST_IN_GROUP);
        let size = (slots / group).min(MOST_SLOTS);
        // Each of `group` producers leaves a capsule unfilled in two groups. Consumers are up to two
        // groups behind, and a third is about to be given back.
        let capsules = (2 * asked.div_ceil(size) + 4 * group).next_power_of_two();
        let first = config.first & !(capsules as u64 - 1);
        Ok(Self { shape: Shape { capsules, size, first }, group })
    }
}

/// What the handles share besides the capsules.
#[allow(missing_debug_implementations, reason = "no handle shows it")]
pub struct Header<T, Q: Tube> {
    /// All turns before it are closed. The start of a group.
    closed: Padded<AtomicU64>,
    /// All items of turns before it have been popped. The start of a group.
    finished: Padded<AtomicU64>,
    /// 1 while a consumer gives a group back.
    finishing: AtomicU64,
    /// The word of the turn of a capsule that a dropped producer has left, or [`NONE`].
    spare: Padded<AtomicU64>,
    /// B, the capsules of a group.
    group: u64,
    capacity: usize,
    /// Handles that are not used, so that no handle of the tube is ever the only one.
    _tube: (Q::Producer, Q::Consumer),
    items: PhantomData<T>,
}

impl<T, Q: Tube> State for Header<T, Q> {
    type Item = T;
    type Slots = Capsules<T>;

    fn drop_items(&self, capsules: &Capsules<T>) {
        let mut left = capsules.iter().flat_map(|(index, capsule)| {
            // Relaxed: the drop of the handles has ordered all their accesses before this.
            let popped = count(capsule.popped.load(Ordering::Relaxed));
            let filled = count(capsule.written.filled.load(Ordering::Relaxed));
            (popped..filled).map(move |slot| capsules.position(index, slot))
        });
        // SAFETY: the slot holds an item that was never popped, and is visited once.
        drop_each(|| left.next().map(|position| unsafe { capsules.cells().read(position) }));
    }
}

/// An end of the queue.
type Side<T, Q> = End<Header<T, Q>>;

impl<T, Q: Tube> Side<T, Q> {
    /// The capsule of a turn.
    #[inline]
    fn capsule(&self, turn: u64) -> Capsule<'_> {
        self.slots().at(self.slots().index(turn))
    }

    /// The start of the group of `turn`.
    #[inline]
    fn group(&self, turn: u64) -> u64 {
        turn & !(self.header().group - 1)
    }

    /// The turn in which the capsule with this number is: one of those that are not finished.
    #[inline]
    fn turn(&self, number: u64) -> u64 {
        // Relaxed: a thread that got the number from the tube knows that the turn before is
        // finished.
        let finished = self.header().finished.load(Ordering::Relaxed);
        finished.wrapping_add(
            number.wrapping_sub(finished) & (self.slots().shape().capsules as u64 - 1),
        )
    }

    /// Items inside: a snapshot.
    fn len(&self) -> usize {
        let inside = |(_, capsule): (usize, Capsule<'_>)| {
            // Relaxed: a snapshot.
            let popped = capsule.popped.load(Ordering::Relaxed);
            let filled = capsule.written.filled.load(Ordering::Relaxed);
            if turn_of(popped) == turn_of(filled) {
                count(filled).saturating_sub(count(popped)) as usize
            } else {
                0
            }
        };
        self.slots().iter().map(inside).sum()
    }
}

/// A sending side.
pub struct Producer<T, Q: Tube = Faaq> {
    /// What `claimed` of the current capsule is, if no other producer has closed it.
    word: u64,
    /// Slots left in the current capsule; 0 if there is none.
    room: u64,
    /// The index of the current capsule.
    index: usize,
    /// Whether there is no other producer.
    is_alone: Cell<bool>,
    tube: Q::Producer,
    end: Side<T, Q>,
}

/// A receiving side.
pub struct Consumer<T, Q: Tube = Faaq> {
    /// What `popped` of the current capsule is, if no other consumer has changed it.
    word: u64,
    /// Items that are known to be in the current capsule.
    left: u64,
    /// The index of the current capsule.
    index: usize,
    /// Whether there is no other consumer.
    is_alone: Cell<bool>,
    /// A turn that this consumer has reserved, and from which items may not leave yet.
    ahead: Option<u64>,
    tube: Q::Consumer,
    end: Side<T, Q>,
}

impl<T, Q: Tube> Producer<T, Q> {
    fn new(tube: Q::Producer, end: Side<T, Q>) -> Self {
        Self { word: 0, room: 0, index: 0, is_alone: Cell::new(true), tube, end }
    }

    /// Claims up to `wanted` slots, and returns the number of the first and how many there are.
    #[inline(always)]
    fn claim(&mut self, wanted: u64) -> Option<(u64, u64)> {
        loop {
            let n = wanted.min(self.room);
            if n == 0 {
                if !self.enter() {
                    return None;
                }
                continue;
            }
            let claimed = &self.end.slots().at(self.index).written.claimed;
            let next = self.word.wrapping_add(n);
            // Relaxed, all: only the count matters, and that of a closed capsule is the last one.
            let is_claimed = match self.is_alone.get() {
                true => {
                    claimed.store(next, Ordering::Relaxed);
                    true
                }
                false => claimed
                    .compare_exchange(self.word, next, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok(),
            };
            if is_claimed {
                let slot = count(self.word);
                self.word = next;
                self.room -= n;
                return Some((slot, n));
            }
            // Another producer has closed the capsule.
            self.room = 0;
        }
    }

    /// Publishes the slots that were claimed.
    #[inline]
    fn fill(&self) {
        let filled = &self.end.slots().at(self.index).written.filled;
        // Release ↔ Acquire in `Consumer::look`: the items.
        filled.store(self.word, Ordering::Release);
    }

    /// Enters another capsule. `false` if none is free.
    #[cold]
    #[inline(never)]
    fn enter(&mut self) -> bool {
        self.is_alone.set(self.end.is_only());
        if self.adopt() {
            return true;
        }
        while let Some(number) = self.tube.allocate() {
            let turn = self.end.turn(number);
            let target = self.end.group(turn).wrapping_sub(self.end.header().group);
            close_before(&self.end, target);
            let is_begun = self.end.capsule(turn).begin(turn);
            self.tube.produce(turn);
            if is_begun {
                self.work_in(turn, word(turn));
                return true;
            }
        }
        false
    }

    /// Enters the capsule that a dropped producer has left, if there is one.
    fn adopt(&mut self) -> bool {
        let spare = &self.end.header().spare;
        if spare.load(Ordering::Relaxed) == NONE {
            return false;
        }
        // Acquire ↔ Release in `drop`: what the dropped producer wrote.
        let left = spare.swap(NONE, Ordering::Acquire);
        if left == NONE {
            return false;
        }
        let turn = turn_of(left);
        let capsule = self.end.capsule(turn);
        let claimed = capsule.written.claimed.load(Ordering::Relaxed);
        let is_open = is_of(claimed, turn) && !capsule.is_final(claimed);
        if is_open {
            self.work_in(turn, claimed);
        }
        is_open
    }

    /// The capsule of `turn` is the current one.
    fn work_in(&mut self, turn: u64, claimed: u64) {
        self.index = self.end.slots().index(turn);
        self.word = claimed;
        self.room = self.end.slots().shape().size as u64 - count(claimed);
    }

    /// Why `item` can't be pushed.
    #[cold]
    fn refusal(&self, item: T) -> TryPushError<T> {
        let is_closed = self.end.peer_is_gone();
        // Relaxed: any other value means that another call is unfinished.
        match is_closed || self.end.header().finishing.load(Ordering::Relaxed) == 0 {
            true => full(is_closed, item),
            false => TryPushError::Busy(item),
        }
    }
}

/// Closes all capsules of turns before `target`, the start of a group.
fn close_before<T, Q: Tube>(end: &Side<T, Q>, target: u64) {
    let Header { closed, group, .. } = end.header();
    loop {
        // Acquire ↔ Release below: the capsules are closed.
        let start = closed.load(Ordering::Acquire);
        if !is_before(start, target) {
            return;
        }
        for turn in (0..*group).map(|i| start.wrapping_add(i)) {
            end.capsule(turn).close(turn);
        }
        // Release ↔ Acquire above.
        advance(closed, start.wrapping_add(*group), Ordering::Release);
    }
}

impl<T, Q: Tube> queue::Producer for Producer<T, Q> {
    type Item = T;

    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let Some((slot, _)) = self.claim(1) else { return Err(self.refusal(item)) };
        let capsules = self.end.slots();
        // SAFETY: the slot was claimed by this thread alone, and its last item has been read.
        unsafe { capsules.cells().write(capsules.position(self.index, slot), item) };
        self.fill();
        Ok(())
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.header().capacity
    }

    fn slots(&self) -> usize {
        self.end.slots().shape().slots()
    }

    answered_by!(closed: end);

    /// Visits all capsules.
    fn len(&mut self) -> usize {
        self.end.len()
    }

    /// Enters another capsule, if the current one is full.
    fn is_full(&mut self) -> bool {
        self.room == 0 && !self.enter()
    }

    fn push_slice(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        let mut rest = items;
        while !rest.is_empty() {
            let Some((slot, n)) = self.claim(rest.len() as u64) else { break };
            let (now, later) = rest.split_at(n as usize);
            let capsules = self.end.slots();
            for (item, slot) in now.iter().zip(slot..) {
                // SAFETY: as in `try_push`.
                unsafe { capsules.cells().write(capsules.position(self.index, slot), *item) };
            }
            self.fill();
            rest = later;
        }
        items.len() - rest.len()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// What a consumer sees of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// An item.
    Item,
    /// No item is left, and none will come.
    Finished,
    /// No item is left, and none will come, but no consumer has reserved the capsule.
    Unreserved,
    /// No item, as far as this thread sees.
    Nothing,
}

impl<T, Q: Tube> Consumer<T, Q> {
    fn new(tube: Q::Consumer, end: Side<T, Q>) -> Self {
        let is_alone = Cell::new(true);
        Self { word: NO_WORD, left: 0, index: 0, is_alone, ahead: None, tube, end }
    }

    /// Claims up to `wanted` items, and returns the slot of the first and how many there are.
    #[inline(always)]
    fn claim(&mut self, wanted: u64) -> Result<(u64, u64), TryPopError> {
        loop {
            let n = wanted.min(self.left);
            if n == 0 {
                self.find()?;
                continue;
            }
            let popped = self.end.slots().at(self.index).popped;
            let next = self.word.wrapping_add(n);
            // Release ↔ Acquire in `look`: how many slots are filled.
            let claimed = match self.is_alone.get() {
                true => {
                    popped.store(next, Ordering::Release);
                    Ok(())
                }
                false => popped
                    .compare_exchange(self.word, next, Ordering::Release, Ordering::Relaxed)
                    .map(drop),
            };
            match claimed {
                Ok(()) => {
                    let slot = count(self.word);
                    self.word = next;
                    self.left -= n;
                    return Ok((slot, n));
                }
                Err(found) => self.catch_up(found),
            }
        }
    }

    /// Another consumer has changed `popped` of the current capsule.
    #[cold]
    fn catch_up(&mut self, found: u64) {
        let is_same = turn_of(found) == turn_of(self.word);
        let taken = count(found).wrapping_sub(count(self.word));
        self.left = if is_same { self.left.saturating_sub(taken) } else { 0 };
        self.word = if is_same { found } else { NO_WORD };
    }

    /// Looks at a turn. If there is an item, its capsule is the current one.
    fn look(&mut self, turn: u64) -> Look {
        let index = self.end.slots().index(turn);
        let capsule = self.end.slots().at(index);
        // Acquire ↔ Release in `claim`: `filled` is not less. Acquire ↔ Release in `reserve`: the
        // tube's turn has been reserved.
        let popped = capsule.popped.load(Ordering::Acquire);
        // Acquire ↔ Release in `fill`: the items.
        let filled = capsule.written.filled.load(Ordering::Acquire);
        if !is_of(popped, turn) || !is_of(filled, turn) {
            return Look::Nothing;
        }
        if count(filled) > count(popped) {
            (self.index, self.word) = (index, popped);
            self.left = count(filled) - count(popped);
            return Look::Item;
        }
        let claimed = capsule.written.claimed.load(Ordering::Acquire);
        let is_over =
            is_of(claimed, turn) && capsule.is_final(claimed) && count(claimed) == count(popped);
        match is_over {
            true if popped & RESERVED == 0 => Look::Unreserved,
            true => Look::Finished,
            false => Look::Nothing,
        }
    }

    /// Finds an item, which is the next one of the current capsule then.
    #[cold]
    #[inline(never)]
    fn find(&mut self) -> Result<(), TryPopError> {
        self.is_alone.set(self.end.is_only());
        if self.look_again() {
            return Ok(());
        }
        // Before the search: all items of producers that are gone are found.
        let is_closed = self.end.peer_is_gone();
        loop {
            // Acquire ↔ Release in `finish`: all that was popped before.
            let start = self.end.header().finished.load(Ordering::Acquire);
            let group = self.end.header().group;
            if self.ahead.is_none() {
                self.reserve();
            }
            if let Some(turn) = self.ahead.filter(|turn| is_within(*turn, start, group)) {
                self.ahead = None;
                if self.look(turn) == Look::Item {
                    return Ok(());
                }
            }
            let (mut finished, mut unreserved) = (0, false);
            for i in 0..2 * group {
                match self.look(start.wrapping_add(i)) {
                    Look::Item => return Ok(()),
                    Look::Finished if i < group => finished += 1,
                    Look::Unreserved => unreserved = true,
                    _ => {}
                }
            }
            if finished == group {
                if !self.finish(start) {
                    return Err(TryPopError::Busy);
                }
                continue;
            }
            if unreserved && self.reserve() {
                continue;
            }
            if self.end.header().finished.load(Ordering::Relaxed) != start {
                continue;
            }
            // Relaxed: a thread that knows of a push knows which turns were closed before.
            let closed = self.end.header().closed.load(Ordering::Relaxed);
            return Err(match (is_before(start, closed), is_closed) {
                // There may be items behind these groups.
                (true, _) => TryPopError::Busy,
                (false, true) => TryPopError::Closed,
                (false, false) => TryPopError::Empty,
            });
        }
    }

    /// Whether an item has come into the current capsule, or comes soon.
    fn look_again(&mut self) -> bool {
        if self.word == NO_WORD {
            return false;
        }
        let turn = turn_of(self.word);
        for _ in 0..LOOKS {
            if self.look(turn) == Look::Item {
                return true;
            }
            let claimed = self.end.capsule(turn).written.claimed.load(Ordering::Relaxed);
            if !is_of(claimed, turn) || self.end.capsule(turn).is_final(claimed) {
                break;
            }
            pause(1);
        }
        self.look(turn) == Look::Item
    }

    /// Reserves a capsule. Of two, this consumer keeps the older one: others find the other.
    fn reserve(&mut self) -> bool {
        let Some(number) = self.tube.reserve() else { return false };
        let turn = self.end.turn(number);
        // Release ↔ Acquire in `look`: the reservation.
        self.end.capsule(turn).popped.fetch_or(RESERVED, Ordering::Release);
        if is_of(self.word, turn) {
            self.word |= RESERVED;
        }
        self.ahead = match self.ahead {
            Some(other) if is_before(other, turn) => Some(other),
            _ => Some(turn),
        };
        true
    }

    /// All items of the group from `start` on have been popped: gives it back. `false` if another
    /// thread is about to.
    fn finish(&mut self, start: u64) -> bool {
        let Header { finished, finishing, group, .. } = self.end.header();
        // Acquire ↔ Release below: which groups were given back.
        let is_first =
            finishing.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if !is_first {
            return finished.load(Ordering::Relaxed) != start;
        }
        if finished.load(Ordering::Relaxed) == start {
            // Release ↔ Acquire in `find`: all that was popped. Before the capsules are given back:
            // see `turn`.
            finished.store(start.wrapping_add(*group), Ordering::Release);
            self.tube.consume(start, *group);
        }
        self.end.header().finishing.store(0, Ordering::Release);
        true
    }
}

/// Whether items may leave from `turn`, while the group that starts at `start` is the first that is
/// not finished.
fn is_within(turn: u64, start: u64, group: u64) -> bool {
    is_before(turn, start.wrapping_add(2 * group))
}

impl<T, Q: Tube> queue::Consumer for Consumer<T, Q> {
    type Item = T;

    #[inline]
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        let (slot, _) = self.claim(1)?;
        let capsules = self.end.slots();
        // SAFETY: the slot holds an item, which this thread alone has claimed.
        let item = unsafe { capsules.cells().read(capsules.position(self.index, slot)) };
        capsules.at(self.index).is_read(slot);
        Ok(item)
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.header().capacity
    }

    fn slots(&self) -> usize {
        self.end.slots().shape().slots()
    }

    answered_by!(closed: end);

    fn relaxation(&self) -> usize {
        3 * self.end.header().group as usize * self.end.slots().shape().size
    }

    /// Visits all capsules.
    fn len(&mut self) -> usize {
        self.end.len()
    }

    fn is_empty(&mut self) -> bool {
        self.left == 0 && self.find().is_err()
    }

    fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        let mut done = 0;
        while done < into.len() {
            let Ok((slot, n)) = self.claim((into.len() - done) as u64) else { break };
            let capsules = self.end.slots();
            for (place, slot) in into[done..][..n as usize].iter_mut().zip(slot..) {
                // SAFETY: as in `try_pop`.
                *place = unsafe { capsules.cells().read(capsules.position(self.index, slot)) };
                capsules.at(self.index).is_read(slot);
            }
            done += n as usize;
        }
        done
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T, Q: Tube> Clone for Producer<T, Q> {
    fn clone(&self) -> Self {
        self.is_alone.set(false);
        let other = Self::new(self.tube.another(), self.end.duplicate());
        other.is_alone.set(false);
        other
    }
}

impl<T, Q: Tube> Clone for Consumer<T, Q> {
    fn clone(&self) -> Self {
        self.is_alone.set(false);
        let other = Self::new(self.tube.another(), self.end.duplicate());
        other.is_alone.set(false);
        other
    }
}

impl<T, Q: Tube> Drop for Producer<T, Q> {
    /// Leaves the current capsule to another producer.
    fn drop(&mut self) {
        if self.room == 0 {
            return;
        }
        // Release ↔ Acquire in `adopt`: all that this producer wrote.
        let before = self.end.header().spare.swap(word(turn_of(self.word)), Ordering::Release);
        if before != NONE {
            let turn = turn_of(before);
            self.end.capsule(turn).close(turn);
        }
    }
}

handles! {
    [T, Q: Tube] Producer<T, Q>: producer of T;
    [T, Q: Tube] Consumer<T, Q>: consumer of T;
}

/// A nested queue over the tube `Q`.
#[derive(Debug)]
pub struct Cnq<Q>(PhantomData<Q>);

impl<T: Send, Q: Tube> queue::Queue<T> for Cnq<Q> {
    const INFO: queue::Info = Q::INFO;
    type Producer = Producer<T, Q>;
    type Consumer = Consumer<T, Q>;

    fn with(config: Config) -> Built<Self::Producer, Self::Consumer> {
        queue_in_with(config)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread;
    use std::vec::Vec;

    use super::*;
    use crate::Queue;
    use crate::block::shared::Bbq;
    use crate::scq::Scq;

    fn all_arrive<Q: Tube>(k: usize, producers: u64, consumers: u64) {
        const ITEMS: u64 = 60_000;
        let config = Config::new(200).relaxation(k);
        let (tx, rx) = Cnq::<Q>::with(config).unwrap();
        let found = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for producer in 0..producers {
                let mut tx = tx.clone();
                scope.spawn(move || {
                    for n in 0..ITEMS {
                        while tx.try_push(producer * ITEMS + n).is_err() {
                            thread::yield_now();
                        }
                    }
                });
            }
            for _ in 0..consumers {
                let (mut rx, found) = (rx.clone(), &found);
                scope.spawn(move || {
                    let mut mine = Vec::new();
                    loop {
                        match rx.try_pop() {
                            Ok(n) => mine.push(n),
                            Err(TryPopError::Closed) => break,
                            Err(_) => thread::yield_now(),
                        }
                    }
                    found.lock().unwrap().extend(mine);
                });
            }
            drop((tx, rx));
        });
        let mut found = found.into_inner().unwrap();
        found.sort_unstable();
        assert_eq!(found, (0..producers * ITEMS).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_is_lost_over_any_tube() {
        for k in [3, 16, 256] {
            for (producers, consumers) in [(1, 1), (3, 1), (1, 3), (3, 3)] {
                all_arrive::<Faaq>(k, producers, consumers);
                all_arrive::<Bbq>(k, producers, consumers);
                all_arrive::<Scq>(k, producers, consumers);
                #[cfg(feature = "literature")]
                all_arrive::<crate::ring::Ring<crate::ring::InOrder>>(k, producers, consumers);
            }
        }
    }

    #[test]
    fn one_producer_and_one_consumer_keep_the_order() {
        for (capacity, k) in [(1, 1), (1, 300), (10, 16), (1000, 256), (1000, 10_000)] {
            let (mut tx, mut rx) = queue_with(Config::new(capacity).relaxation(k)).unwrap();
            for lap in 0..50 {
                let pushed = (0..).take_while(|n| tx.try_push(lap * 100_000 + n).is_ok()).count();
                assert!(pushed >= capacity, "{pushed} of {capacity}");
                assert_eq!(tx.len(), pushed);
                let popped = rx.pop_iter().zip(0..).map(|(n, i)| assert_eq!(n, lap * 100_000 + i));
                assert_eq!(popped.count(), pushed);
                assert_eq!((rx.len(), rx.try_pop()), (0, Err(TryPopError::Empty)));
            }
        }
    }
}
