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
//!   shares. So without contention items are almost always in order, and slow producers waste no
//!   capsules. A consumer that meets others in a capsule which it has not reserved looks elsewhere.
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

/// Public for the models, which take its steps one by one; not for use, and not stable.
#[doc(hidden)]
pub mod capsule;
/// As above.
#[doc(hidden)]
pub mod capsules;
mod consumer;
mod meetings;
mod producer;
mod rank_error;
#[cfg(test)]
mod tests;
mod tube;

use core::marker::PhantomData;

use capsule::{Capsule, MOST_SLOTS, RESERVED, count, turn_of};
use capsules::{Capsules, Shape};
pub use consumer::Consumer;
pub use producer::Producer;
pub use rank_error::RankError;
use rank_error::Samples;
pub use tube::{Tube, TubeConsumer, TubeProducer, TubeShape};

use crate::block::fetch_add::Faaq;
use crate::memory::{AtomicBool, AtomicU64, Ordering, limit};
use crate::pad::Padded;
use crate::queue::config::ConfigOption;
use crate::queue::{self, Built, CapacityError, Config};
use crate::region::{End, Slots, State, ends, most_slots};
use crate::unwind::drop_each;

/// The k of a queue that is not told.
const USUAL: usize = 256;
/// Most capsules of a group.
const MOST_IN_GROUP: usize = 64;
/// Most lanes.
const LANES: u64 = limit(8, 1);

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
        finishing: Padded(Flag(AtomicBool::new(false))),
        collecting: Padded(Flag(AtomicBool::new(false))),
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

/// Of one thread at a time. The others don't wait for it.
struct Flag(AtomicBool);

impl Flag {
    /// Whether the flag is this thread's now.
    fn take(&self) -> bool {
        // Relaxed: only a look, which leaves the line to others. Acquire ↔ Release below: what the last
        // thread did.
        !self.is_taken()
            && self.0.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn is_taken(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn give_back(&self) {
        // Release ↔ Acquire above.
        self.0.store(false, Ordering::Release);
    }
}

/// What the handles share besides the capsules.
struct Header<T, Q: Tube> {
    /// Of the thread that gives a group back.
    finishing: Padded<Flag>,
    /// Of the producer that looks whether it can give a group back.
    collecting: Padded<Flag>,
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

    /// Reserves the oldest capsule that was not reserved, and returns its turn.
    fn reserve(&self, tube: &mut Q::Consumer) -> Option<u64> {
        let turn = self.turn(tube.reserve()?);
        self.slots().set(turn, RESERVED);
        Some(turn)
    }

    /// Gives back the group from `start` on, which is done. `false` if another thread is about to.
    fn finish(&self, tube: &mut Q::Consumer, start: u64) -> bool {
        let (capsules, finishing) = (self.slots(), &self.header().finishing);
        if !finishing.take() {
            return capsules.oldest() != start;
        }
        if capsules.oldest() == start {
            // Before the capsules are given back: see `turn`.
            capsules.finish_group(start);
            tube.consume(start, self.group());
        }
        finishing.give_back();
        true
    }

    /// The turn in which the capsule with this number is: one of those that are not finished.
    #[inline]
    fn turn(&self, number: u64) -> u64 {
        // A thread that got the number from the tube knows that the turn before is finished.
        let oldest = self.slots().oldest();
        oldest
            .wrapping_add(number.wrapping_sub(oldest) & (self.slots().shape().capsules as u64 - 1))
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
