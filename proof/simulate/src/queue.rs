//! Every queue by its id, as a value: what makes its handles, boxed, so that what is done with them is compiled once for
//! all queues. What is counted doesn't depend on how a queue's calls are reached.

use std::num::NonZeroU64;
use std::sync::LazyLock;

use coherence::Schedule;
use corelane_sim::{
    Built, CapacityError, Config, Consumer, Info, Producer, SingleConsumer, SingleProducer,
    for_each_queue,
};

use crate::ledger::Counted;
use crate::rtt;
use crate::schedules::{Case, Wrong};
use crate::several::{self, Rerun};
use crate::stream::{self, Failure, Stream, StreamRun};
use crate::team::{self, Team, TeamRun};

/// Makes a queue.
pub(crate) type New<P, C> = fn(Config) -> Built<P, C>;

/// A sending side.
pub(crate) type Tx<T> = Box<dyn Producer<Item = T>>;
/// A receiving side.
pub(crate) type Rx<T> = Box<dyn Consumer<Item = T>>;

/// Makes a queue between one producer and one consumer.
pub(crate) type Single<T> =
    New<Box<dyn SingleProducer<Item = T>>, Box<dyn SingleConsumer<Item = T>>>;

/// A producer of a queue that may have several.
pub(crate) type SharedTx<T> = Box<dyn SharedProducer<Item = T>>;
/// A consumer of a queue that may have several.
pub(crate) type SharedRx<T> = Box<dyn SharedConsumer<Item = T>>;
/// Makes a queue that may have several handles on a side.
pub(crate) type Shared<T> = New<SharedTx<T>, SharedRx<T>>;

/// A producer that can be cloned in its box, if the queue may have several.
pub(crate) trait SharedProducer: Producer {
    fn boxed_clone(&self) -> Option<SharedTx<Self::Item>>;
}

impl<P: Producer + 'static> SharedProducer for P {
    fn boxed_clone(&self) -> Option<SharedTx<P::Item>> {
        Some(Box::new(self.try_clone()?))
    }
}

/// A consumer that can be cloned in its box, if the queue may have several.
pub(crate) trait SharedConsumer: Consumer {
    fn boxed_clone(&self) -> Option<SharedRx<Self::Item>>;
}

impl<C: Consumer + 'static> SharedConsumer for C {
    fn boxed_clone(&self) -> Option<SharedRx<C::Item>> {
        Some(Box::new(self.try_clone()?))
    }
}

/// A clone of a producer, if there may be several.
pub(crate) fn another_tx<T>(tx: &SharedTx<T>) -> Option<SharedTx<T>> {
    (**tx).boxed_clone()
}

/// A clone of a consumer, if there may be several.
pub(crate) fn another_rx<T>(rx: &SharedRx<T>) -> Option<SharedRx<T>> {
    (**rx).boxed_clone()
}

/// A queue that can be simulated.
#[derive(Debug, Clone, Copy)]
pub struct Queue {
    /// Name on command lines. As in `lane bench`, the plain name is that of packed slots if there are
    /// such.
    pub id: &'static str,
    /// What it promises.
    pub info: Info,
    /// Whether its slots are one word, for tokens.
    pub packed: bool,
    made: Made,
}

/// What makes a queue, for each kind of items that it is simulated with.
#[derive(Debug, Clone, Copy)]
enum Made {
    Single { numbers: Single<u64>, counted: Single<Counted> },
    Packed { numbers: Single<NonZeroU64>, counted: Single<Counted> },
    Shared { numbers: Shared<u64>, counted: Option<Shared<Counted>> },
}

fn single<Q, T>(
    config: Config,
) -> Built<Box<dyn SingleProducer<Item = T>>, Box<dyn SingleConsumer<Item = T>>>
where
    Q: corelane_sim::Queue<
            T,
            Producer: SingleProducer + 'static,
            Consumer: SingleConsumer + 'static,
        >,
{
    let (tx, rx) = Q::with(config)?;
    Ok((Box::new(tx), Box::new(rx)))
}

fn shared<Q, T>(config: Config) -> Built<SharedTx<T>, SharedRx<T>>
where
    Q: corelane_sim::Queue<T, Producer: 'static, Consumer: 'static>,
{
    let (tx, rx) = Q::with(config)?;
    Ok((Box::new(tx), Box::new(rx)))
}

/// A queue's handles for whoever only pushes and pops.
fn plain<T>(new: Single<T>, config: Config) -> Built<Tx<T>, Rx<T>> {
    let (tx, rx) = new(config)?;
    Ok((tx, rx))
}

/// As [`plain`].
fn plain_shared<T>(new: Shared<T>, config: Config) -> Built<Tx<T>, Rx<T>> {
    let (tx, rx) = new(config)?;
    Ok((tx, rx))
}

/// As [`plain`], for a team of two.
fn pair<T>(new: Single<T>, config: Config) -> Built<Vec<Tx<T>>, Vec<Rx<T>>> {
    let (tx, rx) = new(config)?;
    Ok((vec![tx], vec![rx]))
}

impl Queue {
    /// One between one producer and one consumer, for items of any type.
    pub fn single<Q>() -> Self
    where
        Q: corelane_sim::Queue<
                u64,
                Producer: SingleProducer + 'static,
                Consumer: SingleConsumer + 'static,
            >,
        Q: corelane_sim::Queue<
                Counted,
                Producer: SingleProducer + 'static,
                Consumer: SingleConsumer + 'static,
            >,
    {
        let info = <Q as corelane_sim::Queue<u64>>::INFO;
        let made = Made::Single { numbers: single::<Q, _>, counted: single::<Q, _> };
        Self { id: info.id, info, packed: false, made }
    }

    /// One between one producer and one consumer, for tokens.
    fn packed<Q>() -> Self
    where
        Q: corelane_sim::Queue<
                NonZeroU64,
                Producer: SingleProducer + 'static,
                Consumer: SingleConsumer + 'static,
            >,
        Q: corelane_sim::Queue<
                Counted,
                Producer: SingleProducer + 'static,
                Consumer: SingleConsumer + 'static,
            >,
    {
        let info = <Q as corelane_sim::Queue<NonZeroU64>>::INFO;
        let made = Made::Packed { numbers: single::<Q, _>, counted: single::<Q, _> };
        Self { id: info.id, info, packed: true, made }
    }

    /// One that may have several handles on a side. It has the name of its algorithm: only that for items of any type
    /// is simulated.
    fn shared<Q>() -> Self
    where
        Q: corelane_sim::Queue<u64, Producer: 'static, Consumer: 'static>,
        Q: corelane_sim::Queue<Counted, Producer: 'static, Consumer: 'static>,
    {
        let made = Made::Shared { numbers: shared::<Q, _>, counted: Some(shared::<Q, _>) };
        Self { made, ..Self::shared_of_plain::<Q>() }
    }

    /// One that may have several handles on a side, for items without destructors.
    fn shared_of_plain<Q>() -> Self
    where
        Q: corelane_sim::Queue<u64, Producer: 'static, Consumer: 'static>,
    {
        let info = Q::INFO;
        let made = Made::Shared { numbers: shared::<Q, _>, counted: None };
        Self { id: info.algorithm(), info, packed: false, made }
    }

    fn is_shared(&self) -> bool {
        matches!(self.made, Made::Shared { .. })
    }

    /// Whether there can be such a queue.
    ///
    /// # Errors
    ///
    /// If the capacity is 0 or too large.
    pub fn probe(&self, config: Config) -> Result<(), CapacityError> {
        match self.made {
            Made::Single { numbers, .. } => numbers(config).map(drop),
            Made::Packed { numbers, .. } => numbers(config).map(drop),
            Made::Shared { numbers, .. } => numbers(config).map(drop),
        }
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
    pub fn stream(&self, stream: &Stream) -> Result<StreamRun, Failure> {
        match self.made {
            Made::Single { numbers, .. } => stream::run(stream, &|config| plain(numbers, config)),
            Made::Packed { numbers, .. } => stream::run(stream, &|config| plain(numbers, config)),
            Made::Shared { numbers, .. } => {
                stream::run(stream, &|config| plain_shared(numbers, config))
            }
        }
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
        match self.made {
            Made::Single { numbers, .. } => rtt::run(stream, &|config| plain(numbers, config)),
            Made::Packed { numbers, .. } => rtt::run(stream, &|config| plain(numbers, config)),
            Made::Shared { numbers, .. } => {
                rtt::run(stream, &|config| plain_shared(numbers, config))
            }
        }
    }

    /// Simulates `team`.
    ///
    /// # Errors
    ///
    /// If the queue can't have this capacity, gets stuck, loses or doubles an item, or changes the order
    /// of a producer's items.
    ///
    /// # Panics
    ///
    /// If the queue doesn't allow so many threads, or the machine has fewer cores.
    pub fn team(&self, team: &Team) -> Result<TeamRun, Failure> {
        let overwrites = self.info.overwrites;
        let config = team.config();
        match self.made {
            Made::Single { numbers, .. } => team::run(team, pair(numbers, config), overwrites),
            Made::Packed { numbers, .. } => team::run(team, pair(numbers, config), overwrites),
            Made::Shared { numbers, .. } => {
                team::run(team, several::open(team, numbers, config), overwrites)
            }
        }
    }

    /// Runs the case of a seed in a chain of such queues.
    pub(crate) fn chain(&self, case: Case, schedule: Schedule) -> Result<u64, Wrong> {
        match self.made {
            Made::Single { counted, .. } | Made::Packed { counted, .. } if case.counts_drops => {
                case.run(schedule, counted)
            }
            Made::Single { numbers, .. } => case.run(schedule, numbers),
            Made::Packed { numbers, .. } => case.run(schedule, numbers),
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
        (shared plain $id:ident: $queue:ty) => {
            queues.push(Queue::shared_of_plain::<$queue>());
        };
        ($($other:tt)*) => {};
    }
    for_each_queue!(add);
    queues
}
