//! `d-cbo`, `radq`: items go to the better one of two random sub-queues.
//!
//! The queue consists of many rings. A push looks at two rings at random, and takes the one with
//! fewer pushes so far. A pop looks at two, and takes the one with fewer pops so far. So all rings
//! have had almost equally many pushes and almost equally many pops, and items leave almost in
//! order. This is the *choice of d with balanced operation counts*, for d = 2. `radq` compares
//! lengths instead: a push takes the shorter ring, and a pop the longer one.
//!
#![doc = advice!(literature d_cbo)]
//!
//! `radq`: **Use it**
#![doc = concat!(advice!(choose radq), ". **Don't use it** ", advice!(avoid radq), ".")]
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free. Items leave almost in order, without a bound: the rank error is some times the number of rings with high probability. With `radq` the order may also drift apart, as two rings of equal length may have had different numbers of pushes |
//! | capacity | N, the number of slots of all rings: as asked, rounded up to a power of two |
//! | memory | two cache lines of 128 bytes for each ring, besides the slots. There are 32 rings, or the number given to [`queue_of`]. If there are fewer slots, each ring has one slot |
//! | a stopped thread | in the middle of a push or a pop keeps one ring from the other threads of its side. They use the other rings. They say busy if the ring that is kept is the last one with room, or with an item |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | operations | two loads of lines that other threads write, one compare-and-swap and one store. A call that finds no room, or no item, reads the variables of all rings twice |
//! | empty, full | empty means that all rings were empty at one moment of the call, full that all were full, and no pop was unfinished |
//! | paper | K. von Geijer, P. Tsigas, E. Johansson, S. Hermansson: *Balanced Allocations over Efficient Queues: A Fast Relaxed FIFO Queue* (PPoPP 2025); `radq`: A. Haas et al.: *Distributed Queues in Shared Memory* (CF 2013), and J. Wang 2024, Table 3.2 |
//!
//! # Departures from the paper
//!
//! - A sub-queue is a ring with [one thread a side at a time](crate::ring::HeadTail). Its counters
//!   are the numbers of pushes and pops. The paper's sub-queues are lock-free and unbounded. A call
//!   that finds its ring taken goes on to another ring.
//! - The paper's queue is never full. Here a push that finds its ring full tries all others.
//! - The paper looks a second time at the number of pushes of each sub-queue before it says empty.
//!   So does this queue. It keeps only the sum of the numbers.
//!
//! ```
//! use corelane::{TryPopError, relaxed::d_cbo};
//!
//! let (mut tx, mut rx) = d_cbo::queue(100)?;
//! (0..100).for_each(|n| tx.clone().try_push(n).unwrap());
//! let mut popped: Vec<_> = rx.pop_iter().collect();
//! popped.sort();
//! assert!(popped.into_iter().eq(0..100));
//! assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
//! # Ok::<(), corelane::CapacityError>(())
//! ```

use core::marker::PhantomData;

use super::parts::{PartShape, Parts, Variables, pop_or_closed};
use crate::memory::{AtomicU64, Ordering};
use crate::pad::Padded;
use crate::queue::{
    self, CapacityError, Config, Info, Sides, TryPopError, TryPushError,
    answered_by, full, handles, queue_type,
};
use crate::random::Random;
use crate::region::{End, Run, State, ends};
use crate::ring::HeadTail;
use crate::ring::mode::{Cursors, MOST_SLOTS, Refused, Wanted, distance};
use crate::unwind::drop_each;

/// Rings of a queue that is asked for without their number: twice as many as threads on a machine
/// with sixteen cores.
const PARTS: usize = 32;

/// The counters of a ring. A side's position is also the number of its pushes, or pops.
struct Counters {
    producers: Padded<HeadTail>,
    consumers: Padded<HeadTail>,
}

impl Variables for Counters {
    fn new(first: u64) -> Self {
        let cursors = || Padded(HeadTail::new(first, 0));
        Self { producers: cursors(), consumers: cursors() }
    }
}

impl Counters {
    fn pushes(&self) -> u64 {
        self.producers.tail()
    }

    fn pops(&self) -> u64 {
        self.consumers.tail()
    }

    /// Items inside.
    fn len(&self) -> u64 {
        // Pops first, so that a ring without items seems to have none.
        let pops = self.pops();
        distance(pops, self.pushes())
    }

    /// Whether no pop is unfinished.
    fn rests(&self) -> bool {
        self.consumers.rests_at(self.pops())
    }
}

/// Whether `a` is less than `b`. Both have 63 bits, and may have wrapped.
#[inline]
fn is_less(a: u64, b: u64) -> bool {
    ((a.wrapping_sub(b) << 1) as i64) < 0
}

/// What a handle compares.
#[derive(Debug, Clone, Copy)]
enum Balance {
    /// Numbers of pushes, or pops, so far.
    Operations,
    /// Numbers of items inside.
    Lengths,
}

/// What all handles share besides the rings.
struct Header<T> {
    /// Handles made so far: each has random numbers of its own.
    handles: AtomicU64,
    items: PhantomData<T>,
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Parts<Counters, T>;

    fn drop_items(&self, parts: &Parts<Counters, T>) {
        let mut left = (0..parts.count()).flat_map(|part| {
            let Counters { producers, consumers } = parts.at(part);
            // No call is unfinished: a handle in the middle of a call is never dropped.
            let (read, write) = (consumers.done().unwrap_or(0), producers.done().unwrap_or(0));
            (0..distance(read, write)).map(move |i| (part, read.wrapping_add(i)))
        });
        // SAFETY: these slots hold items that were never popped, and each is listed once.
        drop_each(|| left.next().map(|(part, position)| unsafe { parts.read(part, position) }));
    }
}

/// A queue for at least `capacity` items, between any number of threads on either side. It compares
/// operation counts.
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
    open(config, PARTS, Balance::Operations)
}

/// As [`queue_with`], with `rings` rings, rounded up to a power of two: at most 4,096, and at most
/// as many as slots. More rings mean less contention and larger rank errors.
///
/// ```
/// use corelane::{Config, relaxed::d_cbo};
///
/// let (mut tx, mut rx) = d_cbo::queue_of(Config::new(64), 1)?;
/// (0..64).for_each(|n| tx.try_push(n).unwrap());
/// assert!(rx.pop_iter().eq(0..64), "one ring is in order");
/// # Ok::<(), corelane::CapacityError>(())
/// ```
///
/// # Errors
///
/// As [`queue`].
pub fn queue_of<T: Send>(
    config: Config,
    rings: usize,
) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    open(config, rings, Balance::Operations)
}

/// `radq`: as [`queue_with`], but compares lengths.
///
/// # Errors
///
/// As [`queue`].
pub fn radq_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    open(config, PARTS, Balance::Lengths)
}

fn open<T: Send>(
    config: Config,
    rings: usize,
    balance: Balance,
) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    config.only(&[])?;
    let shape = PartShape::of::<Header<T>>(config, rings, MOST_SLOTS)?;
    let header = Header { handles: AtomicU64::new(2), items: PhantomData };
    let (tx, rx) = ends(config.memory, shape, header)?;
    let [one, other] = [0, 1].map(Random::new);
    Ok((Producer { end: tx, random: one, balance }, Consumer { end: rx, random: other, balance }))
}

/// A part of a handle: its access to the queue.
type Side<T> = End<Header<T>>;

impl<T> Side<T> {
    /// Random numbers for a new handle.
    fn fresh(&self) -> Random {
        // Relaxed: only the number matters.
        Random::new(self.header().handles.fetch_add(1, Ordering::Relaxed))
    }

    fn len(&self) -> usize {
        let len: u64 = self.slots().iter().map(Counters::len).sum();
        (len as usize).min(self.slots().total())
    }

    fn is_empty(&self) -> bool {
        self.slots().all_at_once(Counters::pushes, |ring| ring.len() == 0)
    }

    fn is_full(&self) -> bool {
        let n = self.slots().each() as u64;
        self.slots().all_at_once(Counters::pops, |ring| ring.len() >= n && ring.rests())
    }

    /// Two rings at random.
    #[inline]
    fn two(&self, random: &mut Random) -> [usize; 2] {
        [(); 2].map(|()| random.below(self.slots().count()))
    }
}

/// A sending side.
pub struct Producer<T> {
    end: Side<T>,
    random: Random,
    balance: Balance,
}

/// A receiving side.
pub struct Consumer<T> {
    end: Side<T>,
    random: Random,
    balance: Balance,
}

impl<T> Producer<T> {
    /// The ring to push into.
    #[inline]
    fn choose(&mut self) -> usize {
        let [one, other] = self.end.two(&mut self.random);
        let rings = self.end.slots();
        let count = |ring: usize| match self.balance {
            Balance::Operations => rings.at(ring).pushes(),
            Balance::Lengths => rings.at(ring).len(),
        };
        if is_less(count(other), count(one)) { other } else { one }
    }

    /// Takes a free slot of this ring.
    #[inline]
    fn take(&self, ring: usize) -> Result<Run, Refused> {
        let (n, Counters { producers, consumers }) =
            (self.end.slots().each() as u64, self.end.slots().at(ring));
        producers.take(Wanted::UpTo(1), || consumers.tail().wrapping_add(n))
    }

    /// Takes a free slot of any ring, the chosen one first.
    #[inline]
    fn allocate(&mut self) -> Result<(usize, Run), TryPushError<()>> {
        let ring = self.choose();
        match self.take(ring) {
            Ok(run) => Ok((ring, run)),
            Err(_) => self.allocate_behind(ring),
        }
    }

    /// Takes a free slot of any ring behind `first`.
    #[cold]
    fn allocate_behind(&self, first: usize) -> Result<(usize, Run), TryPushError<()>> {
        while !self.end.is_full() {
            let mut is_busy = false;
            for ring in self.end.slots().behind(first) {
                match self.take(ring) {
                    Ok(run) => return Ok((ring, run)),
                    Err(Refused::Busy) => is_busy = true,
                    Err(Refused::Short(_)) => is_busy |= !self.end.slots().at(ring).rests(),
                }
            }
            if is_busy {
                return Err(TryPushError::Busy(()));
            }
        }
        Err(full(self.end.peer_is_gone(), ()))
    }
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let (ring, run) = match self.allocate() {
            Ok(taken) => taken,
            Err(refused) => return Err(refused.with(item)),
        };
        let rings = self.end.slots();
        // SAFETY: the slot's last item has been taken, and the slot is allocated to this thread
        // alone.
        unsafe { rings.write(ring, run.position, item) };
        rings.at(ring).producers.finish(run);
        Ok(())
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().total()
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        self.end.len()
    }

    fn is_full(&mut self) -> bool {
        self.end.is_full()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Consumer<T> {
    /// The ring to pop from.
    #[inline]
    fn choose(&mut self) -> usize {
        let [one, other] = self.end.two(&mut self.random);
        let rings = self.end.slots();
        let is_other = match self.balance {
            Balance::Operations => is_less(rings.at(other).pops(), rings.at(one).pops()),
            Balance::Lengths => is_less(rings.at(one).len(), rings.at(other).len()),
        };
        if is_other { other } else { one }
    }

    /// Takes the oldest item of this ring.
    #[inline]
    fn take(&self, ring: usize) -> Result<T, Refused> {
        let rings = self.end.slots();
        let Counters { producers, consumers } = rings.at(ring);
        let run = consumers.take(Wanted::UpTo(1), || producers.tail())?;
        // SAFETY: the slot holds an item, and is reserved to this thread alone.
        let item = unsafe { rings.read(ring, run.position) };
        consumers.finish(run);
        Ok(item)
    }

    #[inline]
    fn pop(&mut self) -> Result<T, TryPopError> {
        let ring = self.choose();
        self.take(ring).or_else(|_| self.pop_behind(ring))
    }

    /// Takes an item of any ring behind `first`.
    #[cold]
    fn pop_behind(&self, first: usize) -> Result<T, TryPopError> {
        while !self.end.is_empty() {
            let mut is_busy = false;
            for ring in self.end.slots().behind(first) {
                match self.take(ring) {
                    Ok(item) => return Ok(item),
                    Err(refused) => is_busy |= matches!(refused, Refused::Busy),
                }
            }
            if is_busy {
                return Err(TryPopError::Busy);
            }
        }
        Err(TryPopError::Empty)
    }
}

impl<T> queue::Consumer for Consumer<T> {
    type Item = T;

    #[inline]
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        pop_or_closed(self, Self::pop)
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().total()
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        self.end.len()
    }

    fn is_empty(&mut self) -> bool {
        self.end.is_empty()
    }

    fn relaxation(&self) -> usize {
        if self.end.slots().count() == 1 { 1 } else { usize::MAX }
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        Self { end: self.end.duplicate(), random: self.end.fresh(), balance: self.balance }
    }
}

impl<T> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        Self { end: self.end.duplicate(), random: self.end.fresh(), balance: self.balance }
    }
}

handles! {
    [T] Producer<T>: producer of T;
    [T] Consumer<T>: consumer of T;
}

const INFO: Info = Info {
    id: "d-cbo",
    name: "choice of two with balanced operation counts",
    paper: "von Geijer et al. 2025",
    sides: Sides::ManyToMany,
    guarantee: "deadlock-free, almost in order",
    relaxed: true,
    choose: advice!(choose d_cbo),
    avoid: advice!(avoid d_cbo),
    ..Info::RING
};

queue_type!(DCbo of [T: Send] T: Producer<T>, Consumer<T> = queue_with; INFO);

queue_type!(
    /// `radq`.
    Radq of [T: Send] T: Producer<T>, Consumer<T> = radq_with; Info {
        id: "radq",
        name: "random-balanced distributed queue",
        paper: "Haas et al. 2013; Wang 2024, Table 3.2",
        choose: advice!(choose radq),
        avoid: advice!(avoid radq),
        ..INFO
    }
);

#[cfg(test)]
mod tests {
    use super::super::parts::tests;
    use super::*;

    #[test]
    fn none_is_lost_or_doubled() {
        for capacity in [1, 8, 1000] {
            tests::none_is_lost_or_doubled::<DCbo>(Config::new(capacity));
            tests::none_is_lost_or_doubled::<Radq>(Config::new(capacity));
        }
    }

    #[test]
    fn capacity_is_a_promise() {
        for capacity in [1, 2, 31, 100] {
            tests::has_its_capacity::<DCbo>(Config::new(capacity));
            tests::has_its_capacity::<Radq>(Config::new(capacity));
        }
    }

    #[test]
    fn what_is_left_is_dropped() {
        tests::drops_what_is_left::<DCbo>(Config::new(8));
    }

    /// Of a hundred thousand pushes each ring gets almost the same number.
    #[test]
    fn operations_are_balanced() {
        let (mut tx, mut rx) = queue_of(Config::new(64), 8).unwrap();
        for n in 0..100_000 {
            tx.try_push(n).unwrap();
            if n % 3 == 0 {
                rx.pop_iter().for_each(drop);
            }
        }
        let counts = tx.end.slots().iter().map(|ring| [ring.pushes(), ring.pops()]);
        for count in counts.flatten() {
            assert!(count.abs_diff(100_000 / 8) < 20, "{count}");
        }
    }

    #[test]
    fn counters_wrap() {
        assert!(is_less((1 << 63) - 1, 0) && is_less(0, 1) && !is_less(1, 1) && !is_less(2, 1));
    }
}
