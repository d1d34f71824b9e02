//! Every queue by its id.

use std::num::NonZeroU64;
use std::sync::LazyLock;

use coherence::Schedule;
use corelane_sim::{
    Built, CapacityError, Config, Info, SpscQueue, SpscTokenQueue, for_each_spsc_queue,
    for_each_spsc_token_queue, for_each_unbounded_spsc_queue,
};

use crate::ledger::Counted;
use crate::rtt;
use crate::schedules::{Case, Wrong};
use crate::stream::{self, Failure, Run, Stream};
use crate::team::{self, Team, TeamRun};

/// Ending of the id of a queue for any type of which there is also one with packed slots.
const ANY: &str = "-any";

/// A queue that can be simulated.
#[derive(Debug, Clone)]
pub struct Queue {
    /// Name on command lines. As in `lane bench`, the plain name is that of packed slots if there are
    /// such.
    pub id: String,
    /// What it promises.
    pub info: Info,
    /// Whether its slots are one word, for tokens.
    pub packed: bool,
    pub(crate) probe: fn(Config) -> Result<(), CapacityError>,
    stream: fn(&Stream) -> Result<Run, Failure>,
    round_trip: fn(&Stream) -> Result<f64, Failure>,
    pub(crate) team: fn(&Team) -> Result<TeamRun, Failure>,
    pub(crate) test: fn(Case, Schedule) -> Result<u64, Wrong>,
}

impl Queue {
    /// Whether there can be such a queue.
    ///
    /// # Errors
    ///
    /// If the capacity is 0 or too large.
    pub fn probe(&self, config: Config) -> Result<(), CapacityError> {
        (self.probe)(config)
    }

    /// Simulates `stream`.
    ///
    /// # Errors
    ///
    /// If the queue can't have this capacity, gets stuck, or gives items that were not pushed.
    ///
    /// # Panics
    ///
    /// If the machine doesn't have the cores.
    pub fn stream(&self, stream: &Stream) -> Result<Run, Failure> {
        (self.stream)(stream)
    }

    /// Simulates requests and replies through two such queues, one at a time, and returns nanoseconds for
    /// one of each. Loads, bursts and payload of `stream` don't matter here.
    ///
    /// # Errors
    ///
    /// If the queue can't have this capacity, or gets stuck.
    ///
    /// # Panics
    ///
    /// If the machine doesn't have the cores.
    pub fn round_trip(&self, stream: &Stream) -> Result<f64, Failure> {
        (self.round_trip)(stream)
    }

    fn any<Q: SpscQueue + 'static>() -> Self {
        Self {
            id: Q::INFO.id.into(),
            info: Q::INFO,
            packed: false,
            probe: |config| Q::channel::<u64>(config).map(drop),
            stream: |stream| stream::run(stream, Q::channel::<u64>),
            round_trip: |stream| rtt::run(stream, Q::channel::<u64>),
            team: |team| team::run(team, pair(Q::channel::<u64>), None),
            test: |case, schedule| match case.counts_drops {
                true => case.run(schedule, Q::channel::<Counted>),
                false => case.run(schedule, Q::channel::<u64>),
            },
        }
    }

    fn packed<Q: SpscTokenQueue + 'static>() -> Self {
        Self {
            id: Q::INFO.id.into(),
            info: Q::INFO,
            packed: true,
            probe: |config| Q::channel::<NonZeroU64>(config).map(drop),
            stream: |stream| stream::run(stream, Q::channel::<NonZeroU64>),
            round_trip: |stream| rtt::run(stream, Q::channel::<NonZeroU64>),
            team: |team| team::run(team, pair(Q::channel::<NonZeroU64>), None),
            test: |case, schedule| match case.counts_drops {
                true => case.run(schedule, Q::channel::<Counted>),
                false => case.run(schedule, Q::channel::<NonZeroU64>),
            },
        }
    }
}

/// A side of one handle each.
fn pair<P, C>(
    channel: impl FnOnce(Config) -> Built<P, C>,
) -> impl FnOnce(Config) -> Built<Vec<P>, Vec<C>> {
    |config| channel(config).map(|(tx, rx)| (vec![tx], vec![rx]))
}

static QUEUES: LazyLock<Vec<Queue>> = LazyLock::new(registered);

/// All queues, in the order of the library's registry.
pub fn all() -> &'static [Queue] {
    &QUEUES
}

/// The queue named `id`.
pub fn find(id: &str) -> Option<&'static Queue> {
    all().iter().find(|queue| queue.id == id)
}

fn registered() -> Vec<Queue> {
    let (mut any, mut packed) = (Vec::new(), Vec::new());
    macro_rules! add_any {
        ($name:ident, $queue:ty) => {
            any.push(Queue::any::<$queue>())
        };
    }
    macro_rules! add_packed {
        ($name:ident, $queue:ty) => {
            packed.push(Queue::packed::<$queue>())
        };
    }
    for_each_spsc_queue!(add_any);
    for_each_unbounded_spsc_queue!(add_any);
    for_each_spsc_token_queue!(add_packed);
    let mut queues = Vec::new();
    for mut queue in any {
        if let Some(at) = packed.iter().position(|packed| packed.id == queue.id) {
            queues.push(packed.remove(at));
            queue.id.push_str(ANY);
        }
        queues.push(queue);
    }
    queues
}
