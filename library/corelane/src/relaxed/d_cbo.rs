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

use super::counted_rings::{self, Side};
use super::parts::{PARTS, pop_or_closed};
use crate::queue::{
    self, CapacityError, Config, Info, Sides, TryPopError, TryPushError, answered_by, handles,
    queue_type,
};
use crate::random::Random;

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
    let (tx, rx) = counted_rings::open(config, rings)?;
    let [one, other] = [0, 1].map(Random::new);
    Ok((Producer { end: tx, random: one, balance }, Consumer { end: rx, random: other, balance }))
}

/// Two rings at random.
#[inline]
fn two<T>(end: &Side<T>, random: &mut Random) -> [usize; 2] {
    [(); 2].map(|()| end.any(random))
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
        let [one, other] = two(&self.end, &mut self.random);
        let rings = self.end.slots();
        let count = |ring: usize| match self.balance {
            Balance::Operations => rings.at(ring).pushes(),
            Balance::Lengths => rings.at(ring).len(),
        };
        if is_less(count(other), count(one)) { other } else { one }
    }
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let ring = self.choose();
        let slot = self.end.take_slot(ring).map(|run| (ring, run));
        match slot.or_else(|_| self.end.take_slot_behind(ring)) {
            Ok(slot) => self.end.fill(slot, item),
            Err(refused) => return Err(refused.with(item)),
        }
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
        let [one, other] = two(&self.end, &mut self.random);
        let rings = self.end.slots();
        let is_other = match self.balance {
            Balance::Operations => is_less(rings.at(other).pops(), rings.at(one).pops()),
            Balance::Lengths => is_less(rings.at(one).len(), rings.at(other).len()),
        };
        if is_other { other } else { one }
    }

    #[inline]
    fn pop(&mut self) -> Result<T, TryPopError> {
        let ring = self.choose();
        self.end.take_item(ring).or_else(|_| self.end.take_item_behind(ring))
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
        Self {
            end: self.end.duplicate(),
            random: Random::new(self.end.next_handle()),
            balance: self.balance,
        }
    }
}

impl<T> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        Self {
            end: self.end.duplicate(),
            random: Random::new(self.end.next_handle()),
            balance: self.balance,
        }
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
