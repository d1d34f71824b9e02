//! The plan of the threads of one round.

use corelane::Sides;
use corelane_harness::rng::Rng;

/// The calls that push and pop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// One by one.
    Single,
    /// By iterators, which use chunks if the queue has chunks.
    Iterators,
    /// By lent slots.
    Chunks,
    /// By slices, the only batches of queues with several handles a side.
    Slices,
}

/// Which side is slow, so that the queue runs empty or full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Neither side.
    Even,
    /// The producers.
    SlowProducer,
    /// The consumers.
    SlowConsumer,
    /// One side or the other, for some time.
    Bursts,
}

/// The plan of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Capacity asked for.
    pub capacity: usize,
    /// Items that the algorithm handles as a group, if it is told.
    pub batch: Option<usize>,
    /// The k of k-FIFO that a relaxed queue is asked for, if it is told.
    pub relaxation: Option<usize>,
    /// First value of the counters.
    pub first: u64,
    /// Threads that push.
    pub producers: usize,
    /// Threads that pop.
    pub consumers: usize,
    /// Queues that the threads work through, one after the other.
    pub queues: usize,
    /// Items that each producer pushes; at most so many to each queue if there are several queues.
    pub pushes: usize,
    /// Operations from one stamp to the next.
    pub period: u32,
    /// The calls that push and pop.
    pub way: Way,
    /// Which side is slow.
    pub pace: Pace,
    /// Whether all threads share a core.
    pub one_core: bool,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Plan {
    /// Most items in one step of a side.
    pub(super) const STEP: usize = 40;
    /// Most items in one step, if a history has only few.
    const SHORT_STEP: usize = 8;
    /// Producers and consumers that are worth trying.
    const SHAPES: [(usize, usize); 8] =
        [(1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (1, 3), (3, 3), (4, 2)];

    /// The plan of the round with this number for two threads. Plans of successive rounds differ in
    /// everything.
    ///
    /// One round in three has many short histories, because each history closes only once.
    pub fn of_round(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut one_of = |choices: &[usize]| choices[rng.below(choices.len())];
        let short = one_of(&[0, 0, 1]) == 1;
        let capacity = one_of(match short {
            false => &[1, 2, 3, 8, 30, 64, 500, 4096],
            true => &[1, 2, 8, 64],
        });
        let one_core = one_of(&[0, 0, 0, 1]) == 1;
        Self {
            capacity,
            batch: [None, None, Some(1), Some(4), Some(16)][one_of(&[0, 1, 2, 3, 4])],
            first: [0, 0, u64::MAX - 5000][one_of(&[0, 1, 2])],
            producers: 1,
            consumers: 1,
            queues: if short { 500 } else { 1 },
            pushes: if short { one_of(&[2, 10, 30]) } else { Self::pushes(capacity, one_core) },
            // A stamp between the last push and the end would hide bugs of closing.
            period: one_of(if short { &[1, 256, 256, 256] } else { &[1, 1, 3, 16, 256] }) as u32,
            way: [Way::Single, Way::Iterators, Way::Chunks][one_of(&[0, 0, 1, 2])],
            pace: [Pace::Even, Pace::SlowProducer, Pace::SlowConsumer, Pace::Bursts]
                [one_of(&[0, 1, 2, 3])],
            relaxation: [None, Some(1), Some(2), Some(7), Some(32), Some(200)]
                [one_of(&[0, 1, 2, 3, 4, 5])],
            one_core,
            seed,
        }
    }

    /// The same for up to as many threads as a queue between these sides may have.
    pub fn of_sides(seed: u64, sides: Sides) -> Self {
        // A separate generator, so that all shapes are combined with all plans for two threads.
        let mut rng = Rng::new(!seed);
        let shapes: Vec<_> =
            Self::SHAPES.into_iter().filter(|shape| sides.allow(shape.0, shape.1)).collect();
        let (producers, consumers) = shapes[rng.below(shapes.len())];
        let plan = Self::of_round(seed);
        Self {
            producers,
            consumers,
            pushes: plan.pushes.div_ceil(producers),
            way: [Way::Single, Way::Slices][rng.below(2)],
            ..plan
        }
    }

    /// Items of a long history: fewer if threads wait for each other after a few items.
    fn pushes(capacity: usize, one_core: bool) -> usize {
        match one_core {
            // Each time that the queue is full costs a switch between threads.
            true => (50 * capacity).clamp(100, 4_000),
            false => 2_000 + 28_000 * capacity.min(64) / 64,
        }
    }

    /// Whether this is a round of short histories.
    pub(super) fn is_short(&self) -> bool {
        self.queues > 1
    }

    /// Most items in one step.
    pub(super) fn step(&self) -> usize {
        if self.is_short() { Self::SHORT_STEP } else { Self::STEP }
    }

    /// How long a side rests before its next step, in spins: about as long as the other side needs
    /// to fill or empty the queue.
    pub(super) fn rest(&self, rng: &mut Rng, slow: bool) -> usize {
        let few = self.capacity.min(self.step());
        match self.pace {
            Pace::Bursts if rng.below(16) == 0 => rng.below(50 * few + 2 * self.capacity),
            _ if slow => rng.below(10 * few),
            _ => 0,
        }
    }
}
