//! One measurement: a queue, a test and its parameters.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::cli::{MemoryKind, PayloadKind};
use crate::link::Setup;
use crate::pair::{Cores, Wait};

/// What is measured; the key of a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Params {
    /// Items the queue was made for.
    pub(crate) capacity: usize,
    /// Most items per push or pop call.
    pub(crate) batch: usize,
    /// What the items are.
    pub(crate) payload: PayloadKind,
    /// Name of the pair of loads.
    pub(crate) regime: &'static str,
    /// Emulated load of the producer.
    pub(crate) load_p_ns: u64,
    /// Emulated load of the consumer.
    pub(crate) load_c_ns: u64,
    /// Where our queues live.
    pub(crate) memory: MemoryKind,
    /// What a side does while the queue is full or empty.
    pub(crate) wait: Wait,
    /// What sets the send times, in an open-loop test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schedule: Option<String>,
}

impl Params {
    /// How to open the queue.
    pub(crate) fn setup(&self) -> Setup {
        Setup { capacity: self.capacity, memory: self.memory.into() }
    }
}

/// How long a cell measures.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Length {
    /// As many items as take about this long, estimated while warming up.
    Time(Duration),
    /// Exactly this many items.
    Items(u64),
}

impl Length {
    /// Items of the warm-up, of which `usual` are plenty.
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
                // A stall while warming up must not leave next to nothing to measure.
                ((length.as_secs_f64() / per_item) as u64).max(1000)
            }
            Self::Items(items) => items,
        }
    }
}

/// What a kernel gets besides its queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    /// What to measure.
    pub(crate) params: &'a Params,
    /// How long.
    pub(crate) length: Length,
    /// Where.
    pub(crate) cores: Cores,
    /// When items are sent, in an open-loop test.
    pub(crate) schedule: &'a [crate::schedule::Arrival],
}

/// What one cell gave in one round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    /// The measured value, in the test's unit.
    pub(crate) value: f64,
    /// Items per run of failed pushes and of failed pops (paper 1 §5.1).
    pub(crate) perceived_batch: Option<PerceivedBatch>,
    /// All latencies in nanoseconds.
    pub(crate) latency: Option<Histogram<u64>>,
}

/// Items moved without stopping because the queue was full or empty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct PerceivedBatch {
    /// On the producer's side.
    pub(crate) producer: f64,
    /// On the consumer's side.
    pub(crate) consumer: f64,
}

/// Items that a consumer got out of order, doubled or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// How many didn't carry the expected number.
    pub(crate) items: u64,
}
