//! The parameters of a measurement.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use core_affinity::CoreId;
use corelane::{Config, Queue};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schedule::Arrival;
use crate::suite::Setting;
use crate::suite::spsc::SpscSetting;
use crate::threads::Wait;

/// The parameters of a measurement; together with the test, the key of a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Params {
    /// Capacity asked for; 0 if there is none to ask for.
    #[serde(skip_serializing_if = "is_zero")]
    pub capacity: usize,
    /// How a thread waits while the queue is full or empty.
    #[serde(skip_serializing_if = "Wait::is_within")]
    pub(crate) wait: Wait,
    #[serde(flatten)]
    pub(crate) setting: Setting,
}

fn is_zero(capacity: &usize) -> bool {
    *capacity == 0
}

impl Params {
    /// The parameters of a suite, as a file has them.
    pub(crate) fn read(suite: &str, params: Value) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct OfAllSuites {
            #[serde(default)]
            capacity: usize,
            #[serde(default)]
            wait: Wait,
        }
        let OfAllSuites { capacity, wait } = OfAllSuites::deserialize(&params)?;
        Ok(Self { capacity, wait, setting: Setting::read(suite, params)? })
    }

    /// The queue's options. Peers choose their memory themselves.
    pub(crate) fn config(&self) -> Config {
        let suite = self.setting.suite();
        let mut config = Config::new(self.capacity).memory(suite.memory());
        config.relaxation = suite.relaxation();
        config
    }

    /// The parameters of a measurement between one producer and one consumer.
    pub fn spsc(&self) -> Option<&SpscSetting> {
        if let Setting::Spsc(setting) = &self.setting { Some(setting) } else { None }
    }

    /// The same parameters without the conditions in which a queue must be good: placement, items
    /// and handles.
    pub(crate) fn in_any_condition(&self) -> Self {
        let mut params = self.clone();
        params.setting.suite_mut().forget_condition();
        params
    }

    /// Whether results with these parameters are compared with each other. Strategies are.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        let is_same = (self.capacity, self.wait) == (other.capacity, other.wait);
        is_same && self.setting.is_alike(&other.setting)
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
