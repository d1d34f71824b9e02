//! Every queue by its id, as a value, and its simulations.

use std::num::NonZeroU64;
use std::sync::LazyLock;

use coherence::Schedule;
use corelane_sim::{CapacityError, Config, Info, SingleQueue, for_each_queue};

use crate::case::Case;
use crate::failure::Failure;
use crate::handles::{New, NewLending};
use crate::ledger::Counted;
use crate::several::{self, Rerun};
use crate::stream::{Stream, StreamRun};
use crate::switch::{self, Switching, SwitchingRun};
use crate::team::{self, Team, TeamRun};
use crate::trial::Wrong;
use crate::{bench, rtt};

/// A queue that can be simulated.
#[derive(Debug, Clone, Copy)]
pub struct Queue {
    /// Name on command lines. As in `lane bench`, the plain name is the queue with packed slots, if
    /// it exists.
    pub id: &'static str,
    /// The queue's properties.
    pub info: Info,
    /// Whether its slots are one word, for tokens.
    pub packed: bool,
    made: Made,
}

/// The functions that make the queue, for each kind of items that it is simulated with.
#[derive(Debug, Clone, Copy)]
enum Made {
    Single {
        numbers: New<u64>,
        lending: NewLending<u64>,
        counted: NewLending<Counted>,
    },
    Packed {
        numbers: New<NonZeroU64>,
        lending: NewLending<NonZeroU64>,
        counted: NewLending<Counted>,
    },
    Shared {
        numbers: New<u64>,
        counted: Option<New<Counted>>,
    },
}

impl Queue {
    /// A queue between one producer and one consumer, for items of any type.
    pub fn single<Q: SingleQueue<u64> + SingleQueue<Counted> + 'static>() -> Self {
        let info = <Q as corelane_sim::Queue<u64>>::INFO;
        let (numbers, lending, counted) = (Q::boxed, Q::boxed_single, Q::boxed_single);
        Self { id: info.id, info, packed: false, made: Made::Single { numbers, lending, counted } }
    }

    /// A queue between one producer and one consumer, for tokens.
    fn packed<Q: SingleQueue<NonZeroU64> + SingleQueue<Counted> + 'static>() -> Self {
        let info = <Q as corelane_sim::Queue<NonZeroU64>>::INFO;
        let (numbers, lending, counted) = (Q::boxed, Q::boxed_single, Q::boxed_single);
        Self { id: info.id, info, packed: true, made: Made::Packed { numbers, lending, counted } }
    }

    /// A queue that may have several handles on a side. It has the name of its algorithm: only the
    /// variant for items of any type is simulated.
    pub fn shared<Q>() -> Self
    where
        Q: corelane_sim::Queue<u64> + corelane_sim::Queue<Counted> + 'static,
    {
        let made = Made::Shared { numbers: Q::boxed, counted: Some(Q::boxed) };
        Self { made, ..Self::shared_of_plain::<Q>() }
    }

    /// A queue that may have several handles on a side, for items without destructors.
    fn shared_of_plain<Q: corelane_sim::Queue<u64> + 'static>() -> Self {
        let made = Made::Shared { numbers: Q::boxed, counted: None };
        Self { id: Q::INFO.algorithm(), info: Q::INFO, packed: false, made }
    }

    /// What makes the queue, if it takes numbers.
    pub(crate) fn of_numbers(&self) -> Option<New<u64>> {
        match self.made {
            Made::Single { numbers, .. } | Made::Shared { numbers, .. } => Some(numbers),
            Made::Packed { .. } => None,
        }
    }

    fn is_shared(&self) -> bool {
        matches!(self.made, Made::Shared { .. })
    }

    /// Checks whether the queue can have these options.
    ///
    /// # Errors
    ///
    /// If the capacity is 0 or too large.
    pub fn probe(&self, config: Config) -> Result<(), CapacityError> {
        match self.made {
            Made::Single { numbers, .. } | Made::Shared { numbers, .. } => {
                numbers(config).map(drop)
            }
            Made::Packed { numbers, .. } => numbers(config).map(drop),
        }
    }

    /// Whether the queue can be told its k.
    pub fn has_relaxation(&self) -> bool {
        self.info.relaxed && self.probe(Config::new(1024).relaxation(16)).is_ok()
    }

    /// Simulates `stream`.
    ///
    /// # Errors
    ///
    /// If the queue can't have this capacity, gets stuck, or returns items that were not pushed.
    ///
    /// # Panics
    ///
    /// If the machine doesn't have the cores.
    pub fn stream(&self, stream: &Stream) -> Result<StreamRun, Failure> {
        match self.made {
            Made::Single { numbers, .. } | Made::Shared { numbers, .. } => {
                bench::run(stream, numbers)
            }
            Made::Packed { numbers, .. } => bench::run(stream, numbers),
        }
    }

    /// Simulates requests and replies through two such queues, one at a time, and returns
    /// nanoseconds for one of each. Loads, bursts and payload of `stream` don't matter here.
    ///
    /// # Errors
    ///
    /// If the queue can't have this capacity, or gets stuck.
    ///
    /// # Panics
    ///
    /// If the machine doesn't have the cores.
    pub fn round_trip(&self, stream: &Stream) -> Result<f64, Failure> {
        match self.made {
            Made::Single { numbers, .. } | Made::Shared { numbers, .. } => {
                rtt::run(stream, numbers)
            }
            Made::Packed { numbers, .. } => rtt::run(stream, numbers),
        }
    }

    /// Simulates a switch between clients.
    ///
    /// # Errors
    ///
    /// If the queue can't have this capacity, gets stuck, or loses packets or changes their order.
    ///
    /// # Panics
    ///
    /// If the machine has fewer cores.
    pub fn switch(&self, switching: &Switching) -> Result<SwitchingRun, Failure> {
        match self.made {
            Made::Single { numbers, .. } | Made::Shared { numbers, .. } => {
                switch::run(switching, numbers)
            }
            Made::Packed { numbers, .. } => switch::run(switching, numbers),
        }
    }

    /// Simulates `team`.
    ///
    /// # Errors
    ///
    /// If the queue can't have this capacity, gets stuck, loses or doubles an item, or changes the
    /// order of a producer's items. If a relaxed queue changes the order of items more than it may.
    ///
    /// # Panics
    ///
    /// If the queue doesn't allow so many threads, or the machine has fewer cores.
    pub fn team(&self, team: &Team) -> Result<TeamRun, Failure> {
        match self.made {
            Made::Single { numbers, .. } | Made::Shared { numbers, .. } => {
                team::run(team, several::open(team, numbers), &self.info)
            }
            Made::Packed { numbers, .. } => {
                team::run(team, several::open(team, numbers), &self.info)
            }
        }
    }

    /// Runs the case of a seed in a chain of such queues.
    pub(crate) fn chain(&self, case: Case, schedule: Schedule) -> Result<u64, Wrong> {
        match self.made {
            Made::Single { counted, .. } | Made::Packed { counted, .. } if case.counts_drops => {
                case.run(schedule, counted)
            }
            Made::Single { lending, .. } => case.run(schedule, lending),
            Made::Packed { lending, .. } => case.run(schedule, lending),
            Made::Shared { .. } => panic!("{} lends no slots", self.id),
        }
    }

    /// Runs a case of several threads around one such queue.
    pub(crate) fn several<R: Rerun>(&self, case: R, schedule: Schedule) -> Result<u64, Wrong> {
        match self.made {
            // Items without destructors can't be counted.
            Made::Shared { counted: Some(counted), .. } if case.counts_drops() => {
                case.run(schedule, counted)
            }
            Made::Shared { numbers, .. } => case.run(schedule, numbers),
            _ => panic!("{} is between two threads", self.id),
        }
    }
}

static SINGLE: LazyLock<Vec<Queue>> =
    LazyLock::new(|| registered().into_iter().filter(|queue| !queue.is_shared()).collect());
static SHARED: LazyLock<Vec<Queue>> =
    LazyLock::new(|| registered().into_iter().filter(Queue::is_shared).collect());

/// All queues between one producer and one consumer, in the order of the library's registry.
pub fn all() -> &'static [Queue] {
    &SINGLE
}

/// All queues that may have several handles on a side.
pub fn all_shared() -> &'static [Queue] {
    &SHARED
}

/// All queues, those for several threads first.
pub fn team_queues() -> Vec<Queue> {
    [all_shared(), all()].concat()
}

/// The queue between one producer and one consumer named `id`.
pub fn find(id: &str) -> Option<&'static Queue> {
    all().iter().find(|queue| queue.id == id)
}

fn registered() -> Vec<Queue> {
    let mut queues = Vec::new();
    macro_rules! add {
        (single any $id:ident: $queue:ty) => {
            queues.push(Queue::single::<$queue>());
        };
        (single token $id:ident: $queue:ty) => {
            queues.push(Queue::packed::<$queue>());
        };
        (shared any $id:ident: $queue:ty) => {
            queues.push(Queue::shared::<$queue>());
        };
        (relaxed any $id:ident: $queue:ty) => {
            queues.push(Queue::shared::<$queue>());
        };
        (shared plain $id:ident: $queue:ty) => {
            queues.push(Queue::shared_of_plain::<$queue>());
        };
        ($($other:tt)*) => {};
    }
    for_each_queue!(add);
    queues
}
