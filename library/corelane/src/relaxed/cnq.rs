// Above 500 lines: one algorithm with its page, both of its sides and its own tests.

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
//! | guarantee | k-FIFO: a pop takes one of the k oldest items, and an item leaves before k younger ones have. Deadlock-free among as many producers as a group has capsules |
//! | capsules | of S slots: [`Config::block`]. Without it, a group has the larger a number of capsules, up to 64, the larger k is: 4 for 256, 32 for 10,000. Best are half as many as a side has threads |
//! | k | [`Config::relaxation`], 256 if it is not given, and at most three times the capacity. For k below 3 one slot at a time is open: first in, first out, but slower than the tube |
//! | capacity | as asked |
//! | memory | slots for twice the capacity, and for four groups; a byte for each slot; at least 256 bytes for each capsule |
//! | full | no capsule is free. Slots may be free in capsules of other producers |
//! | busy | as below behind a stopped thread. More producers than a group has capsules may close each other's capsules before they push: a push that has lost eight capsules says busy |
//! | empty | each item that was inside during the whole call has been popped. There may have been another item at each moment |
//! | a stopped thread | outside a call it keeps nothing. In a push it keeps one slot: pops of later items from its capsule say busy, and pops of all items two groups behind it. In a call that enters the next capsule it is in the way as in the tube |
//! | handles | at most 65,535 a side; cloning one more panics |
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
//! - Producers share a capsule until two push at the same moment. Those that meet spread over 2, 4 or
//!   8 capsules, and gather again when they don't meet. Producers that meet there, too, fill 1, 2, 4
//!   or 8 capsules alone. If such a capsule is closed before it is full, its producer is slow, and
//!   shares. So without contention items are in order, and slow producers don't waste a capsule
//!   each. A consumer that meets others in a capsule which it has not reserved looks for another one.
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
    Begun, Capsule, Capsules, FINISHED, Look, MOST_SLOTS, NO_WORD, RESERVED, Shape, count, turn_of,
    word,
};
use super::rank_error::{RankError, Samples};
use super::tube::{Tube, TubeConsumer, TubeProducer, TubeShape};
use crate::block::fetch_add::Faaq;
use crate::memory::{AtomicBool, AtomicU64, Ordering, advance, is_before, limit, pause};
use crate::pad::Padded;
use crate::queue::config::ConfigOption;
use crate::queue::{
    self, Built, CapacityError, Config, TryPopError, TryPushError, answered_by, full, handles,
};
use crate::region::{End, Slots, State, ends, most_slots};
use crate::spin::{Backoff, Distance, Retries};
use crate::unwind::drop_each;

/// The k of a queue that is not told.
const USUAL: usize = 256;
/// Most capsules of a group.
const MOST_IN_GROUP: usize = 64;
/// Capsules that a push allocates before it says busy.
const TRIES: u64 = limit(8, 3);
/// Most lanes.
const LANES: u64 = limit(8, 1);
/// Pushes without a meeting after which a producer spreads over fewer lanes.
const CALM: u32 = 32;
/// Meetings after which a slow producer tries once to fill a capsule alone.
const CROWDED: u32 = 16;
/// Meetings in a capsule after which a consumer looks for another one.
const CROWDED_POPS: u32 = 2;
/// Most capsules that a producer fills alone before it shares again.
const MOST_ALONE: u32 = limit(8, 1) as u32;
/// Items that a consumer pops before it catches up with a producer, if it is far enough behind.
const FAR_BEHIND: u64 = 16;
/// Looks at an empty capsule before the consumer looks elsewhere: its producer may be at work.
const LOOKS: u64 = limit(8, 0);
/// Waits of a consumer whose next capsule is too far ahead, or whose group another consumer gives
/// back, before it looks for items of others.
const WAITS: u64 = limit(64, 0);

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
    config.only(&[ConfigOption::Relaxation, ConfigOption::Block])?;
    let shape = shape::<T, Q>(config)?;
    let Shape { capsules, group, first, .. } = shape;
    // All of it is too large if the tube is.
    let bytes = size_of::<T>().max(1).saturating_mul(shape.slots());
    let too_large = CapacityError::OutOfMemory { bytes };
    if Capsules::<T>::variables(shape).is_err() || Capsules::<T>::slots(shape).is_err() {
        return Err(too_large);
    }
    let (tx, rx) = Q::open(TubeShape { entries: capsules, group, first }).map_err(|_| too_large)?;
    let header = Header::<T, Q> {
        closed: Padded(AtomicU64::new(first)),
        finished: Padded(AtomicU64::new(first)),
        finishing: Padded(AtomicBool::new(false)),
        collecting: Padded(AtomicBool::new(false)),
        lanes: [(); LANES as usize].map(|()| Padded(AtomicU64::new(first.wrapping_sub(1)))),
        producers: AtomicU64::new(0),
        consumers: AtomicU64::new(0),
        samples: Padded(Samples::new()),
        capacity: config.capacity,
        _tube: (tx.clone(), rx.clone()),
        items: PhantomData,
    };
    let (sender, receiver) = ends(config.memory, shape, header)?;
    Ok((Producer::new(tx, rx.clone(), sender), Consumer::new(rx, receiver)))
}

/// The capsules of a queue.
fn shape<T, Q: Tube>(config: Config) -> Result<Shape, CapacityError> {
    let most = most_slots::<Header<T, Q>>() / 16;
    let asked = config.capacity;
    if asked == 0 || asked > most {
        return Err(CapacityError::OutOfRange { asked, most });
    }
    let k = config.relaxation.unwrap_or(USUAL);
    // Slots of a group.
    let slots = (k / 3).clamp(1, asked);
    let group = match config.block {
        Some(size) => 1 << (slots / size.clamp(1, slots)).ilog2(),
        None => (1 << (slots.ilog2().saturating_sub(1) / 2)).min(MOST_IN_GROUP),
    };
    let size = config.block.unwrap_or(slots / group).clamp(1, (slots / group).min(MOST_SLOTS));
    // Producers may leave half of the slots unfilled. Consumers are up to two groups behind, and a
    // third is about to be given back.
    let (parts, behind) = (limit(2, 1) as usize, limit(4, 3) as usize);
    let capsules = (parts * asked.div_ceil(size) + behind * group).next_power_of_two();
    let first = config.first & !(capsules as u64 - 1);
    Ok(Shape { capsules, size, group, window: if k < 3 { 1 } else { 2 }, first })
}

/// What the handles share besides the capsules.
struct Header<T, Q: Tube> {
    /// All turns before it are closed. The start of a group.
    closed: Padded<AtomicU64>,
    /// All items of turns before it have been popped. The start of a group.
    finished: Padded<AtomicU64>,
    /// Whether a thread is giving a group back.
    finishing: Padded<AtomicBool>,
    /// Whether a producer looks whether it can give a group back.
    collecting: Padded<AtomicBool>,
    /// The turns of the capsules that producers share. They may be over.
    lanes: [Padded<AtomicU64>; LANES as usize],
    /// Number of producers so far.
    producers: AtomicU64,
    /// Number of consumers so far.
    consumers: AtomicU64,
    samples: Padded<Samples>,
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

    /// B, the capsules of a group.
    #[inline]
    fn group(&self) -> u64 {
        self.slots().shape().group as u64
    }

    /// Capsules of the groups into which producers push, and from which consumers pop.
    #[inline]
    fn window(&self) -> u64 {
        self.group() * self.slots().shape().window as u64
    }

    /// No slot of the capsule of `turn` will be claimed any more.
    fn count_closed(&self, turn: u64) {
        // Release ↔ Acquire in `close_before`: the capsule is closed.
        self.slots().group(turn).closed.fetch_add(1, Ordering::Release);
    }

    /// Sets a flag of the capsule of `turn`.
    fn set(&self, turn: u64, flag: u64) {
        if self.capsule(turn).set(turn, flag) {
            // Release ↔ Acquire in `is_done`: the capsule is finished, and was reserved.
            self.slots().group(turn).finished.fetch_add(1, Ordering::Release);
        }
    }

    /// Reserves the oldest capsule that was not reserved, and returns its turn.
    fn reserve(&self, tube: &mut Q::Consumer) -> Option<u64> {
        let turn = self.turn(tube.reserve()?);
        self.set(turn, RESERVED);
        Some(turn)
    }

    /// Whether all capsules of the group from `start` on are finished and were reserved.
    fn is_done(&self, start: u64) -> bool {
        // Acquire ↔ Release in `set`.
        let count = self.slots().group(start).finished.load(Ordering::Acquire);
        self.slots().is_complete(count, start)
    }

    /// Gives back the group from `start` on, which is done. `false` if another thread is about to.
    fn finish(&self, tube: &mut Q::Consumer, start: u64) -> bool {
        let (group, Header { finished, finishing, .. }) = (self.group(), self.header());
        // Relaxed: only a look, which leaves the line to others. Acquire ↔ Release below: which groups
        // were given back.
        let is_first = !finishing.load(Ordering::Relaxed)
            && finishing
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
        if !is_first {
            return finished.load(Ordering::Relaxed) != start;
        }
        if finished.load(Ordering::Relaxed) == start {
            // Release ↔ Acquire in `oldest`: all that was popped. Before the capsules are given back:
            // see `turn`.
            finished.store(start.wrapping_add(group), Ordering::Release);
            tube.consume(start, group);
        }
        // Release ↔ Acquire above.
        finishing.store(false, Ordering::Release);
        true
    }

    /// The start of the oldest group that was not given back.
    fn oldest(&self) -> u64 {
        // Acquire ↔ Release in `finish`: all that was popped before.
        self.header().finished.load(Ordering::Acquire)
    }

    /// `n` turns from `start` on.
    fn turns(&self, start: u64, n: u64) -> impl Iterator<Item = u64> + use<T, Q> {
        (0..n).map(move |i| start.wrapping_add(i))
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
            let turn = turn_of(capsule.popped.load(Ordering::Relaxed));
            capsule.counts(turn).map(|(popped, filled)| filled.saturating_sub(popped) as usize)
        };
        self.slots().iter().filter_map(inside).sum()
    }
}

/// How a producer gets along with others that it meets: they push into the same capsule at the same
/// moment.
#[derive(Debug, Clone, Copy)]
struct Meetings {
    /// The logarithm of the number of lanes over which producers spread.
    spread: u32,
    /// Pushes since the last meeting.
    calm: u32,
    /// Meetings, although producers are spread over all lanes.
    crowded: u32,
    /// Capsules that the producer fills alone after such a meeting. 0 if it was too slow to fill one.
    patience: u32,
    /// Capsules that it still fills alone.
    own: u32,
}

impl Meetings {
    const NONE: Self = Self { spread: 0, calm: 0, crowded: 0, patience: 1, own: 0 };

    /// The producer has met another one. There are lanes for a spread of `most`.
    fn meet(&mut self, most: u32) {
        self.calm = 0;
        if self.spread < most {
            self.spread += 1;
            return;
        }
        self.crowded = (self.crowded + 1) % CROWDED;
        if self.crowded == 0 {
            self.patience = self.patience.max(1);
        }
        self.own = self.patience;
    }

    /// The producer has pushed into a shared capsule.
    #[inline]
    fn pass(&mut self) {
        self.calm += 1;
        if self.calm == CALM {
            self.spread = self.spread.saturating_sub(1);
            self.calm = 0;
        }
    }

    /// The producer has filled a capsule alone, or another one has closed it before.
    fn end_alone(&mut self, is_filled: bool) {
        match is_filled {
            true => self.patience = (2 * self.patience).min(MOST_ALONE),
            false => (self.patience, self.own) = (0, 0),
        }
    }

    /// Whether the producer fills the next capsule alone: one of those that it has left.
    fn take_own(&mut self) -> bool {
        let takes = self.own > 0;
        self.own -= u32::from(takes);
        takes
    }
}

/// A sending side.
pub struct Producer<T, Q: Tube = Faaq> {
    /// What `claimed` of the current capsule is, if no other producer has closed it.
    word: u64,
    /// Slots left in the current capsule, as far as this producer knows; 0 if there is none.
    room: u64,
    /// The index of the current capsule.
    index: usize,
    /// Whether there is no other producer.
    is_alone: Cell<bool>,
    /// Whether other producers push into the current capsule, too.
    shares: bool,
    meetings: Meetings,
    /// Decides which lane this producer uses.
    number: u64,
    /// Whether the last call gave up because other producers closed each capsule that it allocated.
    is_hurried: bool,
    tube: Q::Producer,
    /// Gives groups back, if consumers don't.
    collector: Q::Consumer,
    end: Side<T, Q>,
}

/// A receiving side.
pub struct Consumer<T, Q: Tube = Faaq> {
    /// What `popped` of the current capsule is, if no other consumer has changed it.
    word: u64,
    /// Items of the current capsule that this consumer may pop before it looks again.
    left: u64,
    /// What `left` was after that look, without items that other consumers have popped since.
    given: u64,
    /// Pops, up to the last look.
    pops: u64,
    /// The pop whose rank error is estimated next.
    next_sample: u64,
    /// Whether this consumer has reserved the current capsule.
    owns: bool,
    /// Meetings with other consumers in the current capsule, since the last look.
    meetings: u32,
    /// Decides where this consumer looks, if it meets others.
    number: u64,
    /// How far this consumer stays behind producers.
    distance: Distance,
    /// The index of the current capsule.
    index: usize,
    /// Whether there is no other consumer.
    is_alone: Cell<bool>,
    /// A turn that this consumer has reserved, and from which items may not leave yet.
    ahead: Option<u64>,
    /// A turn, without its upper bits, that this consumer has left although it is not over: its
    /// producer is slow.
    behind: Option<u64>,
    tube: Q::Consumer,
    end: Side<T, Q>,
}

impl<T, Q: Tube> Producer<T, Q> {
    fn new(tube: Q::Producer, collector: Q::Consumer, end: Side<T, Q>) -> Self {
        let is_alone = Cell::new(true);
        let (shares, is_hurried, meetings) = (true, false, Meetings::NONE);
        // Relaxed: only the number matters.
        let number = end.header().producers.fetch_add(1, Ordering::Relaxed);
        Self {
            word: 0,
            room: 0,
            index: 0,
            is_alone,
            shares,
            meetings,
            number,
            is_hurried,
            tube,
            collector,
            end,
        }
    }

    /// Claims up to `wanted` slots, and returns the number of the first and how many there are.
    #[inline(always)]
    fn claim(&mut self, wanted: u64) -> Option<(u64, u64)> {
        for _ in 0..TRIES {
            let has_room = self.room > 0 && (!self.shares || self.is_free());
            let n = wanted.min(self.room);
            if has_room && self.advance(n) {
                if self.room == 0 {
                    self.end.count_closed(turn_of(self.word));
                    if !self.shares {
                        self.meetings.end_alone(true);
                    }
                }
                return Some((count(self.word) - n, n));
            }
            if !self.enter() {
                return None;
            }
        }
        self.is_hurried = true;
        None
    }

    /// Claims the next `n` slots of the current capsule.
    #[inline(always)]
    fn advance(&mut self, n: u64) -> bool {
        let claimed = &self.end.slots().at(self.index).written.claimed;
        let (word, next) = (self.word, self.word.wrapping_add(n));
        // Relaxed, all: only the count matters, and that of a closed capsule is the last one.
        let is_claimed = match self.is_alone.get() && !self.shares {
            true => {
                claimed.store(next, Ordering::Relaxed);
                true
            }
            false => {
                claimed.compare_exchange(word, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            }
        };
        match is_claimed {
            true => {
                self.word = next;
                self.room -= n;
                if self.shares {
                    self.meetings.pass();
                }
            }
            // Another producer is at work here.
            false if self.shares => self.meet(),
            // It was closed: this producer is slow.
            false => self.meetings.end_alone(false),
        }
        is_claimed
    }

    /// Publishes the slots that were claimed.
    #[inline]
    fn fill(&self) {
        let filled = &self.end.slots().at(self.index).written.filled;
        // Release ↔ Acquire in `Consumer::look`: the items.
        filled.store(self.word, Ordering::Release);
    }

    /// Whether no other producer is in the middle of a push into the shared capsule, and this one
    /// should go on there.
    fn is_free(&mut self) -> bool {
        let written = self.end.slots().at(self.index).written;
        // Acquire ↔ Release in `fill`: what other producers wrote.
        let filled = written.filled.load(Ordering::Acquire);
        let claimed = written.claimed.load(Ordering::Relaxed);
        if turn_of(claimed) != turn_of(self.word)
            || self.end.slots().at(self.index).is_final(claimed)
        {
            self.room = 0;
            return false;
        }
        if filled != claimed {
            self.meet();
            return false;
        }
        self.word = claimed;
        self.room = self.end.slots().shape().size as u64 - count(claimed);
        true
    }

    /// Another capsule is better.
    #[cold]
    fn meet(&mut self) {
        self.meetings.meet(self.end.group().min(LANES).ilog2());
        (self.shares, self.room) = (self.meetings.own == 0, 0);
    }

    /// The turn of the capsule that this producer shares with others.
    fn lane(&self) -> &AtomicU64 {
        let lane = self.number & ((1 << self.meetings.spread) - 1);
        &self.end.header().lanes[lane as usize]
    }

    /// Enters another capsule. `false` if none is free.
    #[cold]
    #[inline(never)]
    fn enter(&mut self) -> bool {
        self.is_alone.set(self.end.is_only());
        self.room = 0;
        // Relaxed, here and below: `claimed` and `filled` order what producers did.
        let is_alone = self.is_alone.get();
        let shared = self.lane().load(Ordering::Relaxed);
        let shares = self.shares || is_alone || !self.meetings.take_own();
        self.shares = shares && !is_alone;
        if shares && self.share(shared) {
            return true;
        }
        let Some(turn) = self.allocate() else {
            self.shares = true;
            // Not if another producer is at work there: this call must end.
            return self.share(shared) && self.is_free();
        };
        self.work_in(turn, word(turn));
        if self.shares {
            let is_first = self
                .lane()
                .compare_exchange(shared, turn, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
            self.shares = is_first;
        }
        let beside = if self.shares { 1 << self.meetings.spread } else { self.end.ends() };
        let written = self.end.slots().at(self.index).written;
        // Relaxed: for a statistic.
        written.beside.store(beside.min(self.end.window()), Ordering::Relaxed);
        true
    }

    /// Enters the capsule that producers share, if slots are left there.
    fn share(&mut self, turn: u64) -> bool {
        let claimed = self.open(turn);
        claimed.into_iter().for_each(|claimed| self.work_in(turn, claimed));
        claimed.is_some()
    }

    /// The word of `claimed` of this turn, if slots are left.
    fn open(&self, turn: u64) -> Option<u64> {
        self.end.capsule(turn).open(turn)
    }

    /// The next turn, whose capsule is empty and open.
    fn allocate(&mut self) -> Option<u64> {
        let mut backoff = Backoff::new();
        for _ in 0..TRIES {
            let Some(number) = self.tube.allocate() else {
                match self.give_back() {
                    Some(true) => continue,
                    Some(false) => self.is_hurried = false,
                    None => self.is_hurried = true,
                }
                return None;
            };
            let (turn, begun) = self.begin(number);
            match begun {
                Begun::Open => return Some(turn),
                Begun::Closed => self.end.count_closed(turn),
                // Others are two groups ahead already. They must not drive each other on for ever.
                Begun::ClosedByAnother => backoff.wait(),
            }
        }
        self.is_hurried = true;
        None
    }

    /// Begins the turn of the capsule with this number, which this producer has allocated.
    fn begin(&mut self, number: u64) -> (u64, Begun) {
        let (turn, group) = (self.end.turn(number), self.end.group());
        // Only groups of the window are open.
        let after = self.end.window() - group;
        close_before(&self.end, (turn & !(group - 1)).wrapping_sub(after));
        let begun = self.end.capsule(turn).begin(turn);
        self.tube.produce(turn);
        (turn, begun)
    }

    /// Gives back the oldest group, if all its items have been popped. Consumers do that when they
    /// pop again, but nothing may be left for them to pop: producers may have closed each other's
    /// capsules before they pushed. `false` if the group still has items, `None` if another producer
    /// is here: all together would disturb consumers.
    fn give_back(&mut self) -> Option<bool> {
        let end = &self.end;
        let collecting = &end.header().collecting;
        // Relaxed, all: only the lines of capsules are kept from others.
        let is_first = !collecting.load(Ordering::Relaxed)
            && collecting
                .compare_exchange(false, true, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if !is_first {
            return None;
        }
        let start = end.oldest();
        let is_over = |turn| {
            let is_over = end.capsule(turn).look(turn) == Look::Over;
            if is_over {
                end.set(turn, FINISHED);
            }
            is_over
        };
        let is_over = end.turns(start, end.group()).all(is_over);
        if is_over {
            while !end.is_done(start) && end.reserve(&mut self.collector).is_some() {}
            if end.is_done(start) {
                end.finish(&mut self.collector, start);
            }
        }
        collecting.store(false, Ordering::Relaxed);
        Some(is_over || end.oldest() != start)
    }

    /// The capsule of `turn` is the current one.
    fn work_in(&mut self, turn: u64, claimed: u64) {
        self.index = self.end.slots().index(turn);
        self.word = claimed;
        self.room = self.end.slots().shape().size as u64 - count(claimed);
    }

    /// Why `item` can't be pushed.
    #[cold]
    fn refusal<I>(&self, item: I) -> TryPushError<I> {
        let (is_closed, header) = (self.end.peer_is_gone(), self.end.header());
        // Relaxed, all: any other value means that another call is unfinished.
        let is_finishing = header.finishing.load(Ordering::Relaxed);
        let mut lanes = header.lanes.iter();
        let is_shared = lanes.any(|lane| self.open(lane.load(Ordering::Relaxed)).is_some());
        match is_closed || !is_finishing && !is_shared && !self.is_hurried {
            true => full(is_closed, item),
            false => TryPushError::Busy(item),
        }
    }
}

/// Closes all capsules of turns before `target`, the start of a group.
fn close_before<T, Q: Tube>(end: &Side<T, Q>, target: u64) {
    let (closed, group) = (&end.header().closed, end.group());
    loop {
        // Acquire ↔ Release below: the capsules are closed.
        let start = closed.load(Ordering::Acquire);
        if !is_before(start, target) {
            return;
        }
        // Acquire ↔ Release in `count_closed`.
        let count = end.slots().group(start).closed.load(Ordering::Acquire);
        if !end.slots().is_complete(count, start) {
            end.turns(start, group).for_each(|turn| close(end, turn));
        }
        // Release ↔ Acquire above.
        advance(closed, start.wrapping_add(group), Ordering::Release);
    }
}

/// Closes the capsule of `turn`, if it is open.
fn close<T, Q: Tube>(end: &Side<T, Q>, turn: u64) {
    if end.capsule(turn).close(turn) {
        end.count_closed(turn);
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
        let has_room = self.room > 0
            && match self.shares {
                true => self.is_free(),
                false => self.open(turn_of(self.word)) == Some(self.word),
            };
        !has_room && !self.enter()
    }

    fn push_slice(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        let mut retries = Retries::default();
        let mut rest = items;
        while !rest.is_empty() {
            let Some((slot, n)) = self.claim(rest.len() as u64) else {
                match retries.again(matches!(self.refusal(()), TryPushError::Busy(()))) {
                    true => continue,
                    false => break,
                }
            };
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

impl<T, Q: Tube> Consumer<T, Q> {
    fn new(tube: Q::Consumer, end: Side<T, Q>) -> Self {
        let is_alone = Cell::new(true);
        // Relaxed: only the number matters.
        let number = end.header().consumers.fetch_add(1, Ordering::Relaxed);
        let mut new = Self {
            word: NO_WORD,
            left: 0,
            given: 0,
            pops: 0,
            next_sample: 0,
            owns: false,
            meetings: 0,
            number,
            distance: Distance::new(0),
            index: 0,
            is_alone,
            ahead: None,
            behind: None,
            tube,
            end,
        };
        new.wait_for_sample();
        new
    }

    /// How far items left out of turn, since any handle was last asked.
    ///
    /// Consumers estimate the rank error of one of some thousand items. How many older items are
    /// inside follows from the counts of all open capsules, if producers push equally often. The
    /// bound is [`relaxation`](queue::Consumer::relaxation).
    ///
    /// ```
    /// use corelane::{Config, Consumer, Producer, relaxed::cnq};
    ///
    /// let (mut tx, mut rx) = cnq::queue_with(Config::new(5000).relaxation(300))?;
    /// for n in 0..5000 {
    ///     tx.try_push(n)?;
    /// }
    /// assert_eq!(rx.pop_iter().count(), 5000);
    /// assert_eq!(rx.rank_error().max, 0); // one producer and one consumer
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rank_error(&self) -> RankError {
        self.end.header().samples.take()
    }

    /// Changes with each push.
    pub(crate) fn pushed(&self) -> u64 {
        let start = self.end.oldest();
        // Producers may be a group ahead of the window.
        let turns = self.end.turns(start, self.end.window() + self.end.group());
        // Relaxed: a thread that knows of a push sees its word, or a later one.
        let filled = |turn| self.end.capsule(turn).written.filled.load(Ordering::Relaxed);
        turns.map(filled).fold(start, u64::wrapping_add)
    }

    /// Whether another look may find an item.
    pub(crate) fn may_have_item(&self) -> bool {
        let start = self.end.oldest();
        let mut turns = self.end.turns(start, self.end.window());
        let has_items = |turn| matches!(self.end.capsule(turn).look(turn), Look::Items { .. });
        // There may be items behind these groups.
        turns.any(has_items) || is_before(start, self.end.header().closed.load(Ordering::Relaxed))
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
                Err(found) => self.meet(found),
            }
        }
    }

    /// Another consumer is at work in the current capsule.
    #[cold]
    fn meet(&mut self, found: u64) {
        self.catch_up(found);
        self.meetings += 1;
        if !self.owns && self.meetings == CROWDED_POPS {
            // Elsewhere than where others look.
            self.index = self.index.wrapping_add(1 + self.number as usize);
            (self.word, self.left, self.given) = (NO_WORD, 0, self.given - self.left);
        }
    }

    /// Another consumer has changed `popped` of the current capsule.
    #[cold]
    fn catch_up(&mut self, found: u64) {
        let is_same = turn_of(found) == turn_of(self.word);
        let taken = count(found).wrapping_sub(count(self.word));
        let left = if is_same { self.left.saturating_sub(taken) } else { 0 };
        self.given -= self.left - left;
        self.left = left;
        self.word = if is_same { found } else { NO_WORD };
    }

    /// Looks at a turn. If there are items, its capsule is the current one.
    fn look(&mut self, turn: u64) -> Look {
        let look = self.end.capsule(turn).look(turn);
        match look {
            Look::Items { popped, left } => self.work_in(turn, popped, left),
            Look::Over => self.end.set(turn, FINISHED),
            Look::Nothing => {}
        }
        look
    }

    /// The capsule of `turn` is the current one.
    fn work_in(&mut self, turn: u64, popped: u64, left: u64) {
        self.count_pops();
        if self.pops >= self.next_sample {
            // With its upper bits, which a word doesn't have.
            self.end.header().samples.add(self.older(self.end.turn(turn), count(popped)));
            self.wait_for_sample();
        }
        self.index = self.end.slots().index(turn);
        self.word = popped;
        self.left = left.min(self.next_sample - self.pops);
        self.given = self.left;
        self.meetings = 0;
    }

    /// The next sample is that of one of the next pops: on average, one of 256 for each capsule that
    /// must be looked at. Chance decides, so that samples are of all slots.
    fn wait_for_sample(&mut self) {
        let chance = (self.pops ^ self.number << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.next_sample = self.pops + 1 + chance % (512 * self.end.window());
    }

    /// Counts the pops since the last look.
    fn count_pops(&mut self) {
        self.pops += self.given - self.left;
        self.given = self.left;
    }

    /// About how many items are inside that are older than that of a slot: a producer that began a
    /// capsule earlier is ahead of one that began later. If P capsules of S slots are filled beside each
    /// other, equally fast, the next one begins each time that each of them has got S / P items.
    fn older(&self, turn: u64, slot: u64) -> u64 {
        let (start, shape) =
            (self.end.header().finished.load(Ordering::Relaxed), self.end.slots().shape());
        let turns = self.end.turns(start, self.end.window());
        let beside = self.end.capsule(turn).written.beside.load(Ordering::Relaxed) as i64;
        let inside = |other: u64| {
            let (popped, filled) = self.end.capsule(other).counts(other)?;
            let lead = turn.wrapping_sub(other) as i64 * shape.size as i64 / beside;
            let older = slot.saturating_add_signed(lead).min(filled);
            Some(older.saturating_sub(popped))
        };
        turns.filter(|other| *other != turn).filter_map(inside).sum()
    }

    /// Finds an item, which is the next one of the current capsule then.
    #[cold]
    #[inline(never)]
    fn find(&mut self) -> Result<(), TryPopError> {
        self.is_alone.set(self.end.is_only());
        self.count_pops();
        // It may be given back already.
        let mut current = (self.word != NO_WORD).then(|| turn_of(self.word));
        if let Some(turn) = current {
            if count(self.word) < self.end.slots().shape().size as u64 {
                (self.distance, _) = self.distance.caught_up(self.pops, 1, FAR_BEHIND);
            }
            if self.linger(turn) {
                return Ok(());
            }
        }
        if self.goes_back() {
            return Ok(());
        }
        // Before the search: it finds all items of producers that are gone.
        let is_closed = self.end.peer_is_gone();
        let mut waits = 0;
        loop {
            let start = self.end.oldest();
            if self.end.is_done(start) {
                if self.end.finish(&mut self.tube, start) {
                    continue;
                }
                // The other thread will soon be done. A search would disturb others.
                if waits != WAITS {
                    waits += 1;
                    pause(4);
                    continue;
                }
                return if self.search(start) { Ok(()) } else { Err(TryPopError::Busy) };
            }
            if self.ahead.is_some() || self.reserve() {
                match self
                    .ahead
                    .take_if(|turn| is_before(*turn, start.wrapping_add(self.end.window())))
                {
                    Some(turn) => {
                        // Once more: what was pushed before the next capsule was allocated is there.
                        if current.take().is_some_and(|turn| self.stays(turn)) {
                            self.ahead = Some(turn);
                            return Ok(());
                        }
                        if self.linger(turn) {
                            self.owns = true;
                            return Ok(());
                        }
                        continue;
                    }
                    None if waits != WAITS => {
                        waits += 1;
                        pause(4);
                        continue;
                    }
                    None => {}
                }
            }
            if self.search(start) {
                self.owns = false;
                return Ok(());
            }
            let is_old = self.end.header().finished.load(Ordering::Relaxed) != start;
            if is_old || self.end.is_done(start) {
                continue;
            }
            if (self.ahead.is_none() || self.is_unreserved(start)) && self.reserve() {
                continue;
            }
            // Relaxed: a thread that knows of a push knows which turns were closed before.
            let closed = self.end.header().closed.load(Ordering::Relaxed);
            return Err(match is_closed {
                // There may be items behind these groups.
                _ if is_before(start, closed) => TryPopError::Busy,
                true => TryPopError::Closed,
                false => TryPopError::Empty,
            });
        }
    }

    /// Whether this consumer stays in its capsule, before it enters the next one. If not, and the
    /// capsule is not over, the consumer looks there again later.
    fn stays(&mut self, turn: u64) -> bool {
        let look = self.look(turn);
        let is_older = |behind| is_before(word(turn), word(behind));
        if look == Look::Nothing && self.behind.is_none_or(is_older) {
            self.behind = Some(turn);
        }
        matches!(look, Look::Items { .. })
    }

    /// Whether the capsule that this consumer has left has items again.
    fn goes_back(&mut self) -> bool {
        let Some(turn) = self.behind else { return false };
        let look = self.look(turn);
        if look == Look::Over || is_before(word(turn), word(self.end.oldest())) {
            self.behind = None;
        }
        matches!(look, Look::Items { .. })
    }

    /// Looks at all turns from which items may leave, from the oldest group on.
    fn search(&mut self, start: u64) -> bool {
        let group = self.end.group();
        // Not all consumers begin with the same capsule.
        let first = self.index as u64;
        let mut turns = (0..self.end.window()).map(|i| {
            start.wrapping_add(i & group).wrapping_add(first.wrapping_add(i) & (group - 1))
        });
        turns.any(|turn| matches!(self.look(turn), Look::Items { .. }))
    }

    /// Whether a capsule of the group from `start` on is published, and not reserved. The tube may
    /// have it behind later ones.
    fn is_unreserved(&self, start: u64) -> bool {
        let mut turns = self.end.turns(start, self.end.group());
        turns.any(|turn| self.end.capsule(turn).is_unreserved(turn))
    }

    /// Looks at a turn, and again for a while if its producer may be at work.
    fn linger(&mut self, turn: u64) -> bool {
        let mut looks = 0;
        loop {
            match self.look(turn) {
                Look::Items { .. } => return true,
                Look::Nothing if looks != LOOKS => {
                    looks += 1;
                    pause(1);
                }
                _ => return false,
            }
        }
    }

    /// Reserves a capsule. Of two, this consumer keeps the older one: others find the other.
    fn reserve(&mut self) -> bool {
        let Some(turn) = self.end.reserve(&mut self.tube) else { return false };
        self.ahead = match self.ahead {
            Some(other) if is_before(other, turn) => Some(other),
            _ => Some(turn),
        };
        true
    }
}

impl<T, Q: Tube> queue::Consumer for Consumer<T, Q> {
    type Item = T;

    #[inline]
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        let (slot, _) = self.claim(1)?;
        let capsules = self.end.slots();
        // SAFETY: the slot holds an item, which this thread alone has claimed.
        let item = unsafe { capsules.cells().read(capsules.position(self.index, slot)) };
        capsules.at(self.index).mark_read(slot);
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
        let Shape { group, size, window, .. } = self.end.slots().shape();
        if window == 1 { group * size } else { 3 * group * size }
    }

    /// Visits all capsules.
    fn len(&mut self) -> usize {
        self.end.len()
    }

    fn is_empty(&mut self) -> bool {
        if self.left > 0 {
            let found = self.end.slots().at(self.index).popped.load(Ordering::Relaxed);
            if found != self.word {
                self.catch_up(found);
            }
        }
        self.left == 0 && self.find().is_err()
    }

    fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        let mut retries = Retries::default();
        let mut done = 0;
        while done < into.len() {
            let (slot, n) = match self.claim((into.len() - done) as u64) {
                Ok(claimed) => claimed,
                Err(error) if retries.again(error == TryPopError::Busy) => continue,
                Err(_) => break,
            };
            let capsules = self.end.slots();
            for (place, slot) in into[done..][..n as usize].iter_mut().zip(slot..) {
                // SAFETY: as in `try_pop`.
                *place = unsafe { capsules.cells().read(capsules.position(self.index, slot)) };
                capsules.at(self.index).mark_read(slot);
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
        let (tube, collector) = (self.tube.clone(), self.collector.clone());
        let other = Self::new(tube, collector, self.end.duplicate());
        other.is_alone.set(false);
        other
    }
}

impl<T, Q: Tube> Clone for Consumer<T, Q> {
    fn clone(&self) -> Self {
        self.is_alone.set(false);
        let other = Self::new(self.tube.clone(), self.end.duplicate());
        other.is_alone.set(false);
        other
    }
}

impl<T, Q: Tube> Drop for Producer<T, Q> {
    /// Leaves its own capsule to producers that share one, or closes it.
    fn drop(&mut self) {
        let (shared, turn) = (self.lane(), self.end.turn(self.index as u64));
        let before = shared.load(Ordering::Relaxed);
        if self.room == 0 || self.shares || before == turn || self.open(turn) != Some(self.word) {
            return;
        }
        let is_left = self.open(before).is_none()
            // Relaxed, both: as in `enter`.
            && shared.compare_exchange(before, turn, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if !is_left {
            close(&self.end, turn);
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
    use crate::wait::{self, Strategy};

    fn all_arrive<Q: Tube>(k: usize, producers: u64, consumers: u64) {
        // Each capsule may cost a switch between threads.
        let items = if Q::INFO.takes_turns { 300 } else { 60_000 };
        let config = Config::new(200).relaxation(k);
        let (tx, rx) = Cnq::<Q>::with(config).unwrap();
        let found = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for producer in 0..producers {
                let mut tx = tx.clone();
                scope.spawn(move || {
                    for n in 0..items {
                        while tx.try_push(producer * items + n).is_err() {
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
        assert_eq!(found, (0..producers * items).collect::<Vec<_>>());
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

    /// As if producers had closed each other's capsules before they pushed: full without an item.
    fn exhaust<T>(tx: &mut Producer<T>) {
        while let Some(number) = TubeProducer::allocate(&mut tx.tube) {
            tx.begin(number);
        }
    }

    #[test]
    fn a_queue_without_items_is_not_full() {
        for k in [1, 3, 12, 256] {
            let (mut tx, mut rx) = queue_with(Config::new(10).relaxation(k)).unwrap();
            let mut other = tx.clone();
            for n in 0..100 {
                exhaust(&mut other);
                tx.try_push(n).unwrap();
                assert_eq!(rx.try_pop(), Ok(n));
            }
        }
    }

    #[test]
    fn sleepers_find_room_in_a_queue_without_items() {
        let (tx, rx) = wait::pair(queue_with(Config::new(100).relaxation(12)).unwrap());
        let (tx, mut rx) = (tx.strategy(Strategy::Sleep), rx.strategy(Strategy::Sleep));
        thread::scope(|scope| {
            scope.spawn(move || assert_eq!(rx.iter().count(), 200));
            let mut other = tx.clone();
            for _ in 0..50 {
                exhaust(&mut other.queue);
                let pushes: Vec<_> = (0..4)
                    .map(|n| (n, tx.clone()))
                    .map(|(n, mut tx)| scope.spawn(move || tx.push(n).unwrap()))
                    .collect();
                pushes.into_iter().for_each(|push| push.join().unwrap());
            }
            drop((tx, other));
        });
    }

    /// Fills and drains, in order, and returns what consumers estimate.
    fn in_order(first: u64, handles: usize) -> RankError {
        let config = Config::new(5000).relaxation(256).first(first);
        let (tx, mut rx) = queue_with(config).unwrap();
        let mut all: Vec<_> = (0..handles).map(|_| tx.clone()).collect();
        for _ in 0..50 {
            for n in 0..5000 {
                all[n % handles].try_push(n).unwrap();
            }
            assert!(rx.pop_iter().eq(0..5000), "in order");
        }
        rx.rank_error()
    }

    #[test]
    fn rank_errors_of_items_in_order_are_0() {
        for first in [0, u64::MAX - 100_000] {
            for handles in [1, 4] {
                let found = in_order(first, handles);
                assert!(found.samples > 10 && found.max == 0, "{found:?}");
            }
        }
    }

    #[test]
    fn pushes_that_do_not_meet_keep_the_order() {
        let (tx, mut rx) = queue_with(Config::new(1000).relaxation(256)).unwrap();
        let mut all: Vec<_> = (0..5).map(|_| tx.clone()).collect();
        for n in 0..50_000 {
            all[n * n % 7 % 5].try_push(n).unwrap();
            if n % 900 == 899 {
                assert!(rx.pop_iter().eq(n - 899..=n));
            }
        }
    }
}
