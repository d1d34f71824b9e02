//! Sub-queues in one region.

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::ptr::NonNull;

use crate::memory::Cells;
use crate::pad::Padded;
use crate::queue::{CapacityError, Config, Consumer, TryPopError};
use crate::region::{Slots, State, array, most_slots, slots_up_to};

/// Most sub-queues of a queue.
pub(super) const MOST_PARTS: usize = 1 << 12;

/// Sub-queues of a queue that is asked for without their number: twice as many as threads on a
/// machine with sixteen cores.
pub(super) const PARTS: usize = 32;

/// The shared variables of a sub-queue.
pub(super) trait Variables {
    /// Variables of an empty sub-queue whose positions start at `first`.
    fn new(first: u64) -> Self;
}

/// How many sub-queues there are, and how many slots each has. Both are powers of two.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartShape {
    pub(super) n: usize,
    pub(super) slots: usize,
    first: u64,
}

impl PartShape {
    /// At most `parts` sub-queues that together have `config.capacity` slots, or up to twice as
    /// many, and `limit` at most.
    pub(super) fn of<H: State>(
        config: Config,
        parts: usize,
        limit: usize,
    ) -> Result<Self, CapacityError> {
        let slots = slots_up_to::<H>(limit, config.capacity, 0)?;
        let n = parts.clamp(1, MOST_PARTS).next_power_of_two().min(slots);
        Ok(Self { n, slots: slots / n, first: config.first })
    }

    /// `n` sub-queues, a power of two, that have `config.capacity` slots each, or up to twice as
    /// many.
    pub(super) fn of_each<H: State>(
        config: Config,
        n: usize,
        limit: usize,
    ) -> Result<Self, CapacityError> {
        let limit = limit.min(most_slots::<H>()) / n;
        let slots = slots_up_to::<H>(limit, config.capacity, 0)?;
        Ok(Self { n, slots, first: config.first })
    }
}

/// Sub-queues: each has variables in cache lines of its own, and slots.
pub(super) struct Parts<V, T> {
    variables: NonNull<Padded<V>>,
    /// The slots of all sub-queues, one sub-queue behind the other.
    cells: Cells<T>,
    shape: PartShape,
}

impl<V, T> Clone for Parts<V, T> {
    fn clone(&self) -> Self {
        Self { cells: self.cells.clone(), ..*self }
    }
}

impl<V: Variables, T> Slots for Parts<V, T> {
    const SLOT: Layout = Cells::<T>::SLOT;
    type Shape = PartShape;

    fn slots(shape: PartShape) -> Result<Layout, LayoutError> {
        Cells::<T>::slots(shape.n * shape.slots)
    }

    fn variables(shape: PartShape) -> Result<Layout, LayoutError> {
        array(Layout::new::<Padded<V>>(), shape.n)
    }

    unsafe fn init(variables: NonNull<u8>, slots: NonNull<u8>, shape: PartShape) -> Self {
        let first = variables.cast::<Padded<V>>();
        // SAFETY: the caller's contract: there is room for `n` variables and all slots.
        unsafe {
            (0..shape.n).for_each(|i| first.add(i).write(Padded(V::new(shape.first))));
            let cells = Cells::init(variables, slots, shape.n * shape.slots);
            Self { variables: first, cells, shape }
        }
    }

    unsafe fn finish(&self) {
        // SAFETY: `init` has written the variables, which are not used afterwards.
        unsafe { (0..self.shape.n).for_each(|i| self.variables.add(i).drop_in_place()) };
    }
}

impl<V, T> Parts<V, T> {
    /// How many sub-queues there are.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.shape.n
    }

    /// How many slots each sub-queue has.
    #[inline]
    pub(super) fn each(&self) -> usize {
        self.shape.slots
    }

    /// All slots.
    #[inline]
    pub(super) fn total(&self) -> usize {
        self.shape.n * self.shape.slots
    }

    /// The variables of a sub-queue.
    #[inline]
    pub(super) fn at(&self, part: usize) -> &V {
        debug_assert!(part < self.shape.n);
        // SAFETY: the variables live as long as the region, in which there are `n` of them.
        unsafe { &self.variables.add(part).as_ref().0 }
    }

    /// The variables of all sub-queues.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = &V> {
        (0..self.shape.n).map(|part| self.at(part))
    }

    /// All sub-queues, the one behind `part` first, and `part` last.
    #[inline]
    pub(super) fn behind(&self, part: usize) -> impl Iterator<Item = usize> + use<V, T> {
        let mask = self.shape.n - 1;
        (1..=self.shape.n).map(move |distance| part.wrapping_add(distance) & mask)
    }

    /// Whether `holds` is true for all sub-queues at the same moment. That is so if no `version`
    /// has changed between a look at the first sub-queue and a look at the last one. A version only
    /// grows.
    pub(super) fn all_at_once(
        &self,
        version: impl Fn(&V) -> u64,
        holds: impl Fn(&V) -> bool,
    ) -> bool {
        loop {
            let mut before = 0_u64;
            for part in self.iter() {
                before = before.wrapping_add(version(part));
                if !holds(part) {
                    return false;
                }
            }
            // No version has become smaller. So the sum is the same only if all are the same.
            let after = self.iter().map(&version).fold(0, u64::wrapping_add);
            if before == after {
                return true;
            }
        }
    }

    #[inline]
    fn place(&self, part: usize, position: u64) -> u64 {
        (part * self.shape.slots) as u64 + (position & (self.shape.slots as u64 - 1))
    }

    /// Writes `item` into the slot of a sub-queue at `position`.
    ///
    /// # Safety
    ///
    /// As for [`Cells::write`].
    #[inline]
    pub(super) unsafe fn write(&self, part: usize, position: u64, item: T) {
        // SAFETY: the caller's contract.
        unsafe { self.cells.write(self.place(part, position), item) };
    }

    /// The item in the slot of a sub-queue at `position`.
    ///
    /// # Safety
    ///
    /// The slot holds an item, and no other access to it is concurrent.
    #[inline]
    #[cfg(feature = "std")]
    pub(super) unsafe fn item(&self, part: usize, position: u64) -> *mut T {
        self.cells.run_to_empty(self.place(part, position), 1).cast()
    }

    /// Moves the item out of the slot of a sub-queue at `position`.
    ///
    /// # Safety
    ///
    /// As for [`Cells::read`].
    #[inline]
    pub(super) unsafe fn read(&self, part: usize, position: u64) -> T {
        // SAFETY: the caller's contract.
        unsafe { self.cells.read(self.place(part, position)) }
    }
}

/// [`Consumer::try_pop`] from an algorithm's own `pop`, which doesn't know whether the queue is
/// closed. Looks once more when all producers are gone, for the items that they pushed last.
#[inline]
pub(super) fn pop_or_closed<C: Consumer>(
    consumer: &mut C,
    pop: impl Fn(&mut C) -> Result<C::Item, TryPopError>,
) -> Result<C::Item, TryPopError> {
    match pop(consumer) {
        Err(TryPopError::Empty) if consumer.is_closed() => match pop(consumer) {
            Err(TryPopError::Empty) => Err(TryPopError::Closed),
            popped => popped,
        },
        popped => popped,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::queue::Queue;
    use alloc::sync::Arc;
    use alloc::vec::Vec;
    use std::thread;

    use crate::{Producer, TryPushError};

    /// Pushes all numbers of `range`, and retries while there is no room.
    fn push_all(mut tx: impl Producer<Item = u64>, range: core::ops::Range<u64>) {
        for mut number in range {
            while let Err(error) = tx.try_push(number) {
                assert!(!matches!(error, TryPushError::Closed(_)), "the consumers are there");
                number = error.into_inner();
                thread::yield_now();
            }
        }
    }

    /// Pops until the queue is closed.
    fn pop_all(mut rx: impl Consumer<Item = u64>) -> Vec<u64> {
        let mut numbers = Vec::new();
        loop {
            match rx.try_pop() {
                Ok(number) => numbers.push(number),
                Err(TryPopError::Closed) => return numbers,
                Err(_) => thread::yield_now(),
            }
        }
    }

    /// Several threads a side: each item arrives once.
    pub(in crate::relaxed) fn none_is_lost_or_doubled<Q: Queue<u64>>(config: Config)
    where
        Q::Producer: 'static,
        Q::Consumer: 'static,
    {
        const THREADS: u64 = 3;
        const EACH: u64 = 20_000;
        let (tx, rx) = Q::with(config).unwrap();
        let mut numbers: Vec<u64> = thread::scope(|s| {
            let txs: Vec<_> = (1..THREADS).map(|_| tx.try_clone().unwrap()).collect();
            let rxs: Vec<_> = (1..THREADS).map(|_| rx.try_clone().unwrap()).collect();
            for (i, tx) in txs.into_iter().chain([tx]).enumerate() {
                let first = i as u64 * EACH;
                s.spawn(move || push_all(tx, first..first + EACH));
            }
            let consumers: Vec<_> =
                rxs.into_iter().chain([rx]).map(|rx| s.spawn(move || pop_all(rx))).collect();
            consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect()
        });
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..THREADS * EACH));
    }

    /// A bounded queue takes its capacity at least and its slots at most, in use as when new, with
    /// counters that wrap. It says how many items are inside.
    pub(in crate::relaxed) fn has_its_capacity<Q: Queue<u64>>(config: Config) {
        for first in [0, (1 << 47) - 3, (1 << 62) - 3, u64::MAX - 5] {
            let (mut tx, mut rx) = Q::with(config.first(first)).unwrap();
            let (capacity, slots) = (tx.capacity(), tx.slots());
            assert!(config.capacity <= capacity && capacity <= slots);
            let mut inside = 0;
            for round in 0..50 {
                while tx.try_push(0).is_ok() {
                    inside += 1;
                    assert_eq!((tx.len(), rx.len()), (inside, inside), "exact");
                }
                assert!(matches!(tx.try_push(0), Err(TryPushError::Full(0))));
                assert!(tx.is_full() && capacity <= inside && inside <= slots, "{inside}");
                for _ in 0..inside.min(1 + round % 7 * capacity / 6) {
                    assert!(!rx.is_empty());
                    rx.try_pop().unwrap();
                    inside -= 1;
                }
                assert_eq!((tx.len(), rx.len()), (inside, inside));
            }
            while rx.try_pop().is_ok() {
                inside -= 1;
            }
            assert_eq!((inside, rx.is_empty(), tx.is_empty()), (0, true, true));
            assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
        }
    }

    /// No item has a rank error or a delay of k or more, by one thread with several handles.
    pub(in crate::relaxed) fn is_k_fifo<Q: Queue<u64>>(config: Config) {
        let (tx, rx) = Q::with(config).unwrap();
        let k = rx.relaxation();
        let mut txs: Vec<_> = (0..5).map(|_| tx.try_clone().unwrap()).collect();
        let mut rxs: Vec<_> = (0..3).map(|_| rx.try_clone().unwrap()).collect();
        // The items inside, oldest first, each with the number of younger items that have left.
        let mut inside: Vec<(u64, usize)> = Vec::new();
        let mut random = crate::random::Random::new(7);
        let mut next = 0;
        for step in 0..20_000 {
            let pushes = if step / 500 % 2 == 0 { 6 } else { 4 };
            if random.below(10) < pushes {
                let tx = random.below(txs.len());
                if txs[tx].try_push(next).is_ok() {
                    inside.push((next, 0));
                    next += 1;
                }
            } else if let Ok(item) = rxs[random.below(3)].try_pop() {
                let rank = inside.iter().position(|(number, _)| *number == item).unwrap();
                let (_, delay) = inside.remove(rank);
                assert!(rank < k && delay < k, "rank error {rank}, delay {delay}, k {k}");
                inside[..rank].iter_mut().for_each(|(_, delay)| *delay += 1);
            } else {
                assert_eq!(inside.len(), 0, "empty although there are items");
            }
        }
    }

    /// Items that are never popped are dropped once.
    pub(in crate::relaxed) fn drops_what_is_left<Q: Queue<Arc<()>>>(config: Config) {
        let item = Arc::new(());
        let (mut tx, mut rx) = Q::with(config).unwrap();
        (0..7).for_each(|_| tx.try_push(item.clone()).unwrap());
        drop(rx.try_pop());
        drop((tx, rx));
        assert_eq!(Arc::strong_count(&item), 1);
    }
}
