//! `lldq`: each producer has a sub-queue of its own, and consumers search all of them.
//!
//! A push goes into the producer's own ring. A pop begins at a random ring and takes the oldest
//! item of the first ring that has one. So producers don't contend, and consumers seldom do.
//!
#![doc = advice!(literature lldq)]
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free. The items of one producer leave in order (*local linearizability*). There is no bound for items of different producers: an item may be overtaken by any number of items |
//! | capacity | N, the number of slots of each ring: as asked, rounded up to a power of two. A push says full if its own ring is full, though other rings may have room |
//! | memory | 16 rings of N slots each, and two cache lines of 128 bytes for each |
//! | a stopped thread | a producer stops nothing but its own ring; a consumer keeps one ring from other consumers, which take the items of other rings, or say busy |
//! | handles | at most 65,536 a side; cloning one more panics. The first 16 producers have a ring each. Later ones share them: two pushes into one ring at the same time make one of them say busy |
//! | operations | one compare-and-swap and one store. A pop reads the counters of rings until it finds an item; if there is none, those of all rings twice |
//! | empty, full | empty means that all rings were empty at one moment of the call |
//! | paper | A. Haas, T. A. Henzinger, A. Holzer et al.: *Local Linearizability for Concurrent Container-Type Data Structures* (CONCUR 2016); J. Wang 2024, §3.2 (P4, P5), Table 3.2 |
//!
//! # Departures from the paper
//!
//! - The paper's sub-queues are lists without a bound, and made when a thread first pushes. Here
//!   they are rings, as in [`d_cbo`](super::d_cbo), and their number is fixed.
//! - A ring belongs to a handle, not to a thread.
//!
//! ```
//! use corelane::relaxed::lldq;
//!
//! let (mut tx, mut rx) = lldq::queue(8)?;
//! let mut other = tx.clone();
//! (0..4).for_each(|n| tx.try_push(("one", n)).unwrap());
//! (0..4).for_each(|n| other.try_push(("other", n)).unwrap());
//! let popped: Vec<_> = rx.pop_iter().collect();
//! let of_one = popped.iter().filter(|(name, _)| *name == "one").map(|(_, n)| *n);
//! assert!(of_one.eq(0..4));
//! assert_eq!(popped.len(), 8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::counted_rings::{self, Side};
use super::parts::pop_or_closed;
use crate::memory::limit;
use crate::queue::{
    self, CapacityError, Config, Info, Sides, TryPopError, TryPushError, answered_by, full,
    handles, queue_type,
};
use crate::random::Random;
use crate::ring::mode::Refused;

/// Rings of a queue.
const RINGS: usize = limit(16, 2) as usize;

/// A queue for at least `capacity` items of each producer, between any number of threads on either
/// side.
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
    let (tx, rx) = counted_rings::open_each(config, RINGS)?;
    Ok((Producer { end: tx, ring: 0 }, Consumer { end: rx, random: Random::new(1) }))
}

/// A sending side.
pub struct Producer<T> {
    end: Side<T>,
    /// The producer's own ring.
    ring: usize,
}

/// A receiving side.
pub struct Consumer<T> {
    end: Side<T>,
    random: Random,
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        match self.end.take_slot(self.ring) {
            Ok(run) => self.end.fill((self.ring, run), item),
            Err(Refused::Busy) => return Err(TryPushError::Busy(item)),
            Err(Refused::Short(_)) if self.is_closed() => return Err(full(true, item)),
            Err(Refused::Short(_)) if self.end.is_full_ring(self.ring) => {
                return Err(full(false, item));
            }
            Err(Refused::Short(_)) => return Err(TryPushError::Busy(item)),
        }
        Ok(())
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().each()
    }

    fn slots(&self) -> usize {
        self.end.slots().total()
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        self.end.len()
    }

    fn is_full(&mut self) -> bool {
        self.end.is_full_ring(self.ring)
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Consumer<T> {
    #[inline]
    fn pop(&mut self) -> Result<T, TryPopError> {
        let ring = self.end.any(&mut self.random);
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
        self.end.slots().each()
    }

    fn slots(&self) -> usize {
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
        usize::MAX
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        let end = self.end.duplicate();
        let ring = end.next_ring();
        Self { end, ring }
    }
}

impl<T> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        Self { end: self.end.duplicate(), random: Random::new(self.end.next_handle()) }
    }
}

handles! {
    [T] Producer<T>: producer of T;
    [T] Consumer<T>: consumer of T;
}

queue_type!(Lldq of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "lldq",
    name: "locally linearizable distributed queue",
    paper: "Haas et al. 2016; Wang 2024, Table 3.2",
    sides: Sides::ManyToMany,
    guarantee: "deadlock-free, each producer's items in order",
    relaxed: true,
    capacity: "n for each producer, rounded up to a power of two",
    choose: advice!(choose lldq),
    avoid: advice!(avoid lldq),
    ..Info::RING
});

#[cfg(test)]
mod tests {
    use super::super::parts::tests;
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn none_is_lost_or_doubled() {
        for capacity in [1, 8, 1000] {
            tests::none_is_lost_or_doubled::<Lldq>(Config::new(capacity));
        }
    }

    #[test]
    fn capacity_is_a_promise() {
        for capacity in [1, 2, 31] {
            tests::has_its_capacity::<Lldq>(Config::new(capacity));
        }
    }

    #[test]
    fn what_is_left_is_dropped() {
        tests::drops_what_is_left::<Lldq>(Config::new(8));
    }

    /// The items of each producer leave in order, also those of producers that share a ring.
    #[test]
    fn each_producers_items_are_in_order() {
        let (tx, mut rx) = queue(64).unwrap();
        let mut txs: Vec<_> = (0..40).map(|_| tx.clone()).collect();
        let mut last = [-1; 40];
        for n in 0..1000 {
            txs.iter_mut().enumerate().for_each(|(i, tx)| tx.try_push((i, n)).unwrap());
            for _ in 0..40 {
                let (i, n) = rx.try_pop().unwrap();
                assert!(last[i] < n);
                last[i] = n;
            }
            if n % 16 == 0 {
                rx.pop_iter().for_each(|(i, n)| last[i] = n);
            }
        }
    }
}
