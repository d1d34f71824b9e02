//! The parameters of a measurement.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use core_affinity::CoreId;
use corelane::{Config, Memory, Queue};
use serde::{Deserialize, Serialize};

use crate::beside::Beside;
use crate::kinds::{
    Computation, Handles, HttpLoad, MemoryKind, Mode, Operation, Order, PayloadKind, Placement,
    Regime, Runtime, Sharing, StealPolicy, Strategy, TeamSize, WORD, Workload,
};
use crate::pair::Wait;
use crate::schedule::Arrival;

/// The parameters of a measurement; together with the test, the key of a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Capacity asked for; 0 if there is none to ask for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub capacity: usize,
    /// How a thread waits while the queue is full or empty.
    #[serde(default, skip_serializing_if = "Wait::is_within")]
    pub(crate) wait: Wait,
    #[serde(flatten)]
    pub(crate) setting: Setting,
}

fn is_zero(capacity: &usize) -> bool {
    *capacity == 0
}

/// The parameters of each kind of measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Setting {
    Pair(PairSetting),
    Team(TeamSetting),
    Circle(CircleSetting),
    Wait(WaitSetting),
    Ipc(IpcSetting),
    Steal(StealSetting),
    Executor(ExecutorSetting),
}

/// One producer, one consumer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairSetting {
    /// Most items per push or pop call.
    pub batch: usize,
    pub(crate) payload: PayloadKind,
    /// Size of an item; `None` in results of programs that had only items of one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) item_bytes: Option<usize>,
    /// `None` in results of programs that had only handles in the loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) handles: Option<Handles>,
    /// Name of the pair of loads.
    pub regime: Regime,
    /// Emulated load of the producer.
    pub load_p_ns: u64,
    /// Emulated load of the consumer.
    pub load_c_ns: u64,
    pub(crate) memory: MemoryKind,
    /// The source of the send times, in an open-loop test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schedule: Option<String>,
}

impl PairSetting {
    pub(crate) fn bytes(&self) -> usize {
        self.item_bytes.unwrap_or(WORD)
    }

    pub(crate) fn is_field(&self) -> bool {
        self.handles == Some(Handles::Field)
    }

    /// Whether its items are words, and its handles are in the loop.
    pub(crate) fn is_usual(&self) -> bool {
        self.bytes() == WORD && !self.is_field()
    }

    /// Whether it streams numbers one by one without load. Only then there are other items than words, and other
    /// handles than those in the loop.
    pub(crate) fn is_plain(&self) -> bool {
        let is_idle = self.load_p_ns == 0 && self.load_c_ns == 0 && self.regime != Regime::Grid;
        is_idle && self.batch == 1 && self.payload == PayloadKind::U64
    }
}

/// Several producers and several consumers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TeamSetting {
    #[serde(flatten)]
    pub(crate) size: TeamSize,
    /// `None` with a single thread, and in results of programs that had only one placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) placement: Option<Placement>,
    pub(crate) batch: usize,
    pub(crate) workload: Workload,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operation: Option<Operation>,
}

/// Threads in a circle, each with a queue to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CircleSetting {
    pub(crate) threads: usize,
    pub(crate) in_flight: u64,
}

/// Threads or tasks whose calls wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WaitSetting {
    #[serde(flatten)]
    pub(crate) size: TeamSize,
    pub(crate) placement: Placement,
    #[serde(flatten)]
    pub(crate) way: Way,
    /// Of `ping-pong`: whether both sides sleep before each item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sleeps: Option<bool>,
    /// Items per second, if they are sent on a schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<u64>,
    /// What computes beside.
    #[serde(flatten)]
    pub(crate) beside: Option<Beside>,
}

/// Two processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct IpcSetting {
    pub(crate) record_bytes: usize,
    pub(crate) strategy: Strategy,
    /// Threads of each process.
    pub(crate) threads: usize,
    /// Records per second, if they are sent on a schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<u64>,
}

/// An owner and its thieves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StealSetting {
    pub(crate) order: Order,
    pub(crate) thieves: usize,
    /// The share of the items that thieves take; `None` if they take what they find.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stolen_percent: Option<u8>,
    /// Of a pool, whose threads are all thieves, too.
    #[serde(flatten)]
    pub(crate) pool: Option<PoolSetting>,
}

/// Threads that have a queue each, and steal from each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct PoolSetting {
    pub(crate) threads: usize,
    /// What each thread attempts to steal in a round, of the capacity.
    pub(crate) balancing_percent: u8,
    pub(crate) policy: StealPolicy,
}

/// An executor of tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExecutorSetting {
    pub(crate) workers: usize,
    /// Of a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) connections: Option<usize>,
    /// What loads a server; `None` if it is a thread of this program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) load: Option<HttpLoad>,
    /// Of `fork-join`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) computation: Option<Computation>,
    /// How long a task of `grain` takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) task_ns: Option<u64>,
}

/// How the calls of a queue wait. A queue may have several ways.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Way {
    pub(crate) mode: Mode,
    pub(crate) runtime: Runtime,
    pub(crate) strategy: Strategy,
    pub(crate) handles: Sharing,
}

impl Params {
    /// The queue's options. Peers choose their memory themselves.
    pub(crate) fn config(&self) -> Config {
        let memory = self.pair().map_or(Memory::Heap, |pair| pair.memory.into());
        Config::new(self.capacity).memory(memory)
    }

    /// The parameters of a measurement between one producer and one consumer.
    pub fn pair(&self) -> Option<&PairSetting> {
        if let Setting::Pair(pair) = &self.setting { Some(pair) } else { None }
    }

    /// The same parameters without the conditions in which a queue must be good: placement, items and handles.
    pub(crate) fn in_any_condition(&self) -> Self {
        let mut params = self.clone();
        match &mut params.setting {
            Setting::Team(team) => team.placement = None,
            Setting::Pair(pair) => (pair.item_bytes, pair.handles) = (None, None),
            Setting::Circle(_)
            | Setting::Wait(_)
            | Setting::Ipc(_)
            | Setting::Steal(_)
            | Setting::Executor(_) => {}
        }
        params
    }

    /// Whether results with these parameters are compared with each other. Strategies are.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        if let (Setting::Ipc(a), Setting::Ipc(b)) = (&self.setting, &other.setting) {
            let is_same = IpcSetting { strategy: a.strategy, ..b.clone() } == *a;
            return self.capacity == other.capacity && is_same;
        }
        let (Setting::Wait(a), Setting::Wait(b)) = (&self.setting, &other.setting) else {
            return self == other;
        };
        let way = |a: &WaitSetting| (a.way.mode, a.way.runtime);
        let is_same = WaitSetting { way: a.way, ..b.clone() } == *a;
        self.capacity == other.capacity && is_same && way(a) == way(b)
    }

    /// The processes that compute beside.
    pub(crate) fn beside(&self) -> Option<Beside> {
        if let Setting::Wait(wait) = &self.setting { wait.beside } else { None }
    }

    /// The name of the suite on command lines and in results.
    pub(crate) fn suite(&self) -> &'static str {
        match self.setting {
            Setting::Pair(_) => "spsc",
            Setting::Team(_) => "mpmc",
            Setting::Circle(_) => "ring",
            Setting::Wait(_) => "wait",
            Setting::Ipc(_) => "ipc",
            Setting::Steal(_) => "steal",
            Setting::Executor(_) => "executor",
        }
    }

    pub(crate) fn size(&self) -> TeamSize {
        match &self.setting {
            Setting::Team(team) => team.size,
            Setting::Wait(wait) => wait.size,
            Setting::Pair(_)
            | Setting::Circle(_)
            | Setting::Ipc(_)
            | Setting::Steal(_)
            | Setting::Executor(_) => TeamSize { producers: 1, consumers: 1 },
        }
    }
}

/// Longest warm-up.
const WARM_UP: Duration = Duration::from_millis(5);
/// Most items of a warm-up, when items are counted.
const WARM_UP_ITEMS: u64 = 1000;

/// The length of a cell's measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Length {
    /// As many items as take about this time, estimated in the warm-up.
    Time(Duration),
    /// Exactly this many items.
    Items(u64),
}

impl Length {
    /// `items` items, or else `duration`, which is `usual_ms` unless given.
    pub(crate) fn of(items: Option<NonZeroU64>, duration: Option<Duration>, usual_ms: u64) -> Self {
        let duration = duration.unwrap_or(Duration::from_millis(usual_ms));
        items.map_or(Self::Time(duration), |items| Self::Items(items.get()))
    }

    /// The approximate time of a measurement, including the warm-up.
    pub(crate) fn time(self) -> Duration {
        match self {
            Self::Time(length) => length.mul_f64(1.2) + Duration::from_millis(3),
            Self::Items(items) => Duration::from_nanos(50 * items),
        }
    }

    /// The lengths of the warm-up and of the measured part, where neither is estimated.
    pub(crate) fn parts(self) -> [Self; 2] {
        let warm_up = match self {
            Self::Time(time) => Self::Time((time / 4).min(WARM_UP)),
            Self::Items(items) => Self::Items(items.min(WARM_UP_ITEMS)),
        };
        [warm_up, self]
    }

    /// Whether it is over after `items`, of which the first began at `begin`.
    pub(crate) fn is_over(self, items: u64, begin: Instant) -> bool {
        match self {
            Self::Time(length) => begin.elapsed() >= length,
            Self::Items(all) => items >= all,
        }
    }

    /// Items of the warm-up: `usual`, or fewer for a short measurement.
    pub(crate) fn warm_up(self, usual: u64) -> u64 {
        match self {
            Self::Time(_) => usual,
            Self::Items(items) => usual.min(items),
        }
    }

    /// Items of the measurement, after `items` took `warm_up`.
    pub(crate) fn items(self, items: u64, warm_up: Duration) -> u64 {
        match self {
            Self::Time(length) => {
                let per_item = warm_up.as_secs_f64().max(1e-9) / items.max(1) as f64;
                // A stall in the warm-up must not leave too few items to measure.
                ((length.as_secs_f64() / per_item) as u64).max(1000)
            }
            Self::Items(items) => items,
        }
    }
}

/// The arguments of a kernel besides its queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trial<'a> {
    pub(crate) params: &'a Params,
    pub(crate) length: Length,
    /// The cores, in the order in which threads get them.
    pub(crate) cores: &'a [CoreId],
    pub(crate) schedule: &'a [Arrival],
}

impl Trial<'_> {
    /// Makes the queue. `probe` has checked before the first round that this succeeds.
    pub(crate) fn open<T, Q: Queue<T>>(&self) -> (Q::Producer, Q::Consumer) {
        Q::with(self.params.config()).expect("tried before the first round")
    }
}
