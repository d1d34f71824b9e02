//! The options of a queue.

use super::error::CapacityError;

/// The options of a queue.
///
/// A constructor refuses an option that its queue doesn't have. The [memory](Self::memory) is only
/// a preference.
///
/// ```
/// use corelane::{Config, Memory, spsc};
///
/// let (tx, _rx) = spsc::queue_with::<u64>(Config::new(1000).memory(Memory::HugePages))?;
/// assert!(tx.capacity() >= 1000);
/// # Ok::<(), corelane::CapacityError>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Config {
    /// Items that must fit. For byte records: bytes. For queues that are never full: items of each
    /// ring. For queues that overwrite: newest items that are kept.
    pub capacity: usize,
    /// Where the shared part lives.
    pub memory: Memory,
    /// Items that are published, or given back, together, if not the algorithm's default.
    pub batch: Option<usize>,
    /// Slots, or bytes, of a block, if not the algorithm's default.
    pub block: Option<usize>,
    /// Slots of a partition between the producer and the consumer, if not the algorithm's default.
    pub distance: Option<usize>,
    /// The k of k-FIFO, if not the algorithm's default.
    pub relaxation: Option<usize>,
    /// Whether a push must fail as soon as `capacity` items are inside.
    pub exact: bool,
    /// Number that the counters start at.
    #[doc(hidden)]
    pub first: u64,
    /// Whether options that the queue doesn't have are ignored.
    pub(crate) lenient: bool,
}

/// An option that not every queue has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigOption {
    Batch,
    Block,
    Distance,
    Exact,
    Relaxation,
}

impl Config {
    /// The options of a queue on the heap for at least `capacity` items, with the algorithm's
    /// defaults.
    pub const fn new(capacity: usize) -> Self {
        Self {
            capacity,
            memory: Memory::Heap,
            batch: None,
            block: None,
            distance: None,
            relaxation: None,
            exact: false,
            first: 0,
            lenient: false,
        }
    }

    /// Makes a push fail as soon as `capacity` items are inside. Otherwise a queue may take more.
    ///
    /// For exact back-pressure. [`lamport`](crate::lamport)'s queues can be exact, also between
    /// several threads, by [`leased::queue_of_with`](crate::leased::queue_of_with). So can `ring`
    /// and `locked`, of the feature `literature`. The constructors of all other queues fail with
    /// [`CapacityError::Inexact`](crate::CapacityError::Inexact).
    pub const fn exact(mut self) -> Self {
        self.exact = true;
        self
    }

    /// Refuses options that a queue doesn't have, which would have no effect. `has` are those that
    /// it has.
    pub(crate) fn only(self, has: &[ConfigOption]) -> Result<(), CapacityError> {
        let refused = |knob, is_given| is_given && !has.contains(&knob);
        if refused(ConfigOption::Exact, self.exact) {
            return Err(CapacityError::Inexact);
        }
        let others = [
            (ConfigOption::Batch, self.batch.is_some(), "batch"),
            (ConfigOption::Block, self.block.is_some(), "block"),
            (ConfigOption::Distance, self.distance.is_some(), "distance"),
            (ConfigOption::Relaxation, self.relaxation.is_some(), "relaxation"),
        ];
        match others.into_iter().find(|&(knob, is_given, _)| refused(knob, is_given)) {
            Some((.., option)) if !self.lenient => Err(CapacityError::Unused { option }),
            _ => Ok(()),
        }
    }

    /// Where the shared part lives.
    pub const fn memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// Items that are published, or given back, together: the batch of [`b_queue`](crate::b_queue)
    /// and `mc_ring`, and the items whose lines the consumer of [`line_ring`](crate::line_ring)
    /// gives back together; items that the owner of [`steal::fifo`](crate::steal::bwos::fifo)
    /// pushes into a block before thieves may steal them. Other queues refuse it:
    /// [`CapacityError::Unused`](crate::CapacityError::Unused).
    ///
    /// Each queue's page has its default and the bounds of a value.
    pub const fn batch(mut self, items: usize) -> Self {
        self.batch = Some(items);
        self
    }

    /// Size of a block of the [block-based](crate::block) queues: slots, or bytes for [byte
    /// records](crate::bytes). Slots of a capsule of [`relaxed::cnq`](crate::relaxed::cnq). Other
    /// queues refuse it, as [`batch`](Self::batch).
    ///
    /// Each queue's page has its default and the bounds of a value.
    pub const fn block(mut self, size: usize) -> Self {
        self.block = Some(size);
        self
    }

    /// Slots of a partition, the paper's `H`: of the [improved FastForward
    /// queue](crate::fast_forward::improved), with or without
    /// [batches](crate::fast_forward::batched). Other queues refuse it, as [`batch`](Self::batch).
    ///
    /// The queue's page has the default and the bounds of a value.
    pub const fn distance(mut self, slots: usize) -> Self {
        self.distance = Some(slots);
        self
    }

    /// How far items may leave out of turn, in the [relaxed](crate::relaxed) queues: a pop takes one
    /// of the `k` oldest items. 1 is first in, first out. Other queues refuse it, as
    /// [`batch`](Self::batch).
    ///
    /// Each queue's page has its default and the bounds of a value.
    pub const fn relaxation(mut self, k: usize) -> Self {
        self.relaxation = Some(k);
        self
    }

    /// Number that the counters start at, rounded down where an algorithm needs a multiple.
    ///
    /// For tests: counters have 64 bits and wrap after centuries.
    #[doc(hidden)]
    pub const fn first(mut self, position: u64) -> Self {
        self.first = position;
        self
    }

    /// Sets each option that is a size of groups to `size`.
    ///
    /// For tests, which don't know the queue.
    #[doc(hidden)]
    pub const fn grouped(self, size: usize) -> Self {
        self.batch(size).block(size).distance(size).lenient()
    }

    /// Options that the queue doesn't have are ignored.
    ///
    /// For tests, which don't know the queue.
    #[doc(hidden)]
    pub const fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }
}

/// Where a queue's shared memory comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Memory {
    /// The global allocator.
    #[default]
    Heap,
    /// Pages of 2 MiB, so that a large ring takes few entries of the TLB.
    ///
    /// Falls back to transparent huge pages, and to the heap if the machine maps no memory. The
    /// [`Backing`] of the finished queue says which memory the queue has.
    HugePages,
    /// Slots mapped twice, one behind the other, so that any run of slots is one slice.
    ///
    /// Only queues that lend their slots benefit. The size of all slots together must be a multiple
    /// of the page size. Otherwise, or if the machine maps no memory, falls back to the heap.
    ///
    /// After a fork the child process doesn't have these slots. The child may drop a handle of
    /// items without destructors. Any other use of the queue ends the child.
    Mirrored,
}

/// What the memory of a finished queue really is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backing {
    /// The global allocator.
    Heap,
    /// Reserved pages of 2 MiB.
    HugePages,
    /// Ordinary mapped pages that the kernel has been asked to merge into huge ones.
    TransparentHugePages,
    /// Slots mapped twice.
    Mirrored,
    /// Pages that several processes may map.
    Shared,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Queue;

    /// What the queue refuses.
    fn refused<Q: Queue<u64>>() -> [bool; 4] {
        let config = Config::new(64);
        let option = |config| match Q::with(config) {
            Err(CapacityError::Unused { option }) => Some(option),
            Err(CapacityError::Inexact) => Some("exact"),
            Err(error) => panic!("{error}"),
            Ok(_) => None,
        };
        let options = [
            (config.batch(8), "batch"),
            (config.block(8), "block"),
            (config.distance(8), "distance"),
            (config.exact(), "exact"),
        ];
        assert_eq!(option(config.grouped(8)), None);
        options.map(|(config, name)| {
            let refused = option(config);
            assert!(refused.is_none_or(|refused| refused == name));
            refused.is_some()
        })
    }

    #[test]
    fn options_without_effect_are_refused() {
        use crate::block::{self, bytes::BbqBytes, fetch_add::Faaq};
        use crate::fast_forward::{FfqAny, batched::BiffqAny, improved::IffqAny};
        use crate::{b_queue, lamport, leased, line_ring, rings, scq, segmented, seq_ring};

        let (batch, block) = ([false, true, true, true], [true, false, true, true]);
        let (distance, exact) = ([true, true, false, true], [true, true, true, false]);
        let none = [true; 4];
        assert_eq!(refused::<line_ring::LineRing>(), batch);
        assert_eq!(refused::<leased::Leased>(), batch);
        assert_eq!(refused::<segmented::Uspsc>(), batch);
        assert_eq!(refused::<b_queue::BQueueAny>(), batch);
        assert_eq!(refused::<block::single::BbqSpsc>(), block);
        assert_eq!(refused::<block::shared::Bbq>(), block);
        assert_eq!(refused::<block::one_consumer::BbqMpsc>(), block);
        assert_eq!(refused::<block::one_producer::BbqSpmc>(), block);
        assert_eq!(refused::<Faaq>(), block);
        assert_eq!(refused::<BbqBytes>(), block);
        assert_eq!(refused::<IffqAny>(), distance);
        assert_eq!(refused::<BiffqAny>(), distance);
        assert_eq!(refused::<lamport::lazy::Llq>(), exact);
        assert_eq!(refused::<lamport::batched::Blq>(), exact);
        assert_eq!(refused::<FfqAny>(), none);
        assert_eq!(refused::<scq::Scq>(), none);
        assert_eq!(refused::<rings::lprq::Lprq>(), none);
        assert_eq!(refused::<seq_ring::SeqRing>(), none);
    }
}
