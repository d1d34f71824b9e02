//! The result of a measurement, and the summary of many.

use corelane_history::{Disorder, Spread};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::stats::{Quartiles, median};
use crate::suite::net::{Faults, Offered};

/// The result of one cell in one round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    /// The measured value, in the test's unit; less is better.
    pub(crate) value: f64,
    /// Items that were lost, changed or out of order.
    pub(crate) wrong: u64,
    /// Items per run of failed pushes and of failed pops (paper 1 §5.1).
    pub(crate) perceived_batch: Option<[f64; 2]>,
    /// Items of the slowest producer per item of the fastest, and the same of consumers.
    pub(crate) fairness: Option<[f64; 2]>,
    /// Failed calls per popped item.
    pub(crate) failed: Option<f64>,
    /// Items from one producer that a consumer gets in a row.
    pub(crate) run: Option<f64>,
    /// Share of the items that were not popped: there was no room for them, or they were
    /// overwritten.
    pub(crate) lost: Option<f64>,
    /// Processor time of all threads, per item.
    pub(crate) cpu_ns: Option<f64>,
    /// The same of the sending and of the receiving side, if each has threads of its own.
    pub(crate) cpu_sides: Option<[f64; 2]>,
    /// How often a thread slept, per item.
    pub(crate) sleeps: Option<f64>,
    pub(crate) kills: Option<Kills>,
    /// What became of items in runs with faults.
    pub(crate) faults: Option<Faults>,
    /// At how many items per second the latency was measured.
    pub(crate) offered: Option<Offered>,
    /// Share of the items that thieves took.
    pub(crate) stolen: Option<f64>,
    /// By the order in which calls returned, and what is certain in any order.
    pub(crate) disorder: Option<[RankAndDelay; 2]>,
    /// Allocations after a queue and its handles were made.
    pub(crate) allocations: Option<u64>,
    pub(crate) latency: Option<Histogram<u64>>,
    pub(crate) pushes: Option<Histogram<u64>>,
    pub(crate) pops: Option<Histogram<u64>>,
}

impl Sample {
    pub(crate) fn of(value: f64) -> Self {
        Self { value, ..Self::default() }
    }
}

/// What happened when processes were killed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kills {
    /// Processes that were killed.
    pub(crate) kills: u64,
    /// Records that are missing, but the one that was under way.
    pub(crate) lost: u64,
    /// Records that came twice.
    pub(crate) doubled: u64,
    /// Processes that did not find out within ten seconds.
    pub(crate) hung: u64,
    /// Descriptors and sides that were not given back.
    pub(crate) left_behind: u64,
    /// Time in which a lane is opened after a kill, at the 99th percentile.
    pub(crate) reopen_ms_p99: f64,
}

impl Kills {
    /// All of them together.
    fn sum(self, other: Self) -> Self {
        Self {
            kills: self.kills + other.kills,
            lost: self.lost + other.lost,
            doubled: self.doubled + other.doubled,
            hung: self.hung + other.hung,
            left_behind: self.left_behind + other.left_behind,
            reopen_ms_p99: self.reopen_ms_p99.max(other.reopen_ms_p99),
        }
    }
}

/// How far items left out of turn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OutOfTurn {
    /// The mean.
    pub mean: f64,
    /// 99 of 100 items have no more.
    pub p99: u32,
    /// The largest.
    pub max: u32,
}

impl From<Spread> for OutOfTurn {
    fn from(Spread { mean, p99, largest }: Spread) -> Self {
        Self { mean, p99, max: largest }
    }
}

impl OutOfTurn {
    /// The medians, and the largest of all.
    fn of(all: impl Iterator<Item = Self> + Clone) -> Self {
        let median_of = |value: fn(Self) -> f64| median(all.clone().map(value));
        Self {
            mean: median_of(|one| one.mean),
            p99: median_of(|one| one.p99.into()) as u32,
            max: all.clone().map(|one| one.max).max().unwrap_or_default(),
        }
    }
}

/// The rank errors and the delays of items.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct RankAndDelay {
    pub(crate) rank_error: OutOfTurn,
    pub(crate) delay: OutOfTurn,
}

impl From<Disorder> for RankAndDelay {
    fn from(Disorder { rank_errors, delays }: Disorder) -> Self {
        Self { rank_error: rank_errors.into(), delay: delays.into() }
    }
}

impl RankAndDelay {
    /// Those of several runs.
    pub(crate) fn of(runs: impl Iterator<Item = Self> + Clone) -> Self {
        Self {
            rank_error: OutOfTurn::of(runs.clone().map(|run| run.rank_error)),
            delay: OutOfTurn::of(runs.map(|run| run.delay)),
        }
    }
}

/// Items moved without stopping because the queue was full or empty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct PerceivedBatch {
    pub(crate) producer: f64,
    pub(crate) consumer: f64,
}

/// A value of each side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sides {
    pub(crate) producers: f64,
    pub(crate) consumers: f64,
}

/// The results of one cell in the rounds of one group.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Summary {
    /// The quartiles of the value over rounds.
    #[serde(flatten)]
    pub value: Quartiles,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) perceived_batch: Option<PerceivedBatch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) items_per_s: Option<f64>,
    /// Messages per second that have passed all threads, from the median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) messages_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fairness: Option<Sides>,
    /// Failed calls per popped item; the median over rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<f64>,
    /// Items from one producer that a consumer gets in a row; the median over rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<f64>,
    /// Share of the items that were not popped; the median over rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lost: Option<f64>,
    /// Processor time of all threads; the median over rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu_ns_per_item: Option<f64>,
    /// The same of each side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu_ns: Option<Sides>,
    /// How often a thread slept; the median over rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sleeps_per_item: Option<f64>,
    /// Share of the items that thieves took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stolen: Option<f64>,
    /// By the order in which calls returned.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) disorder: Option<RankAndDelay>,
    /// In whatever order calls that overlap took effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) certain: Option<RankAndDelay>,
    /// Allocations after a queue and its handles were made; the most of a round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allocations: Option<u64>,
    /// All kills of all rounds.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) kills: Option<Kills>,
    /// All runs with faults of all rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) faults: Option<Faults>,
    /// At how many items per second latencies were measured: the same in all rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offered: Option<Offered>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) latency_ns: Option<Latency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) push_ns: Option<Latency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pop_ns: Option<Latency>,
}

impl Summary {
    /// The summary of samples, if there are any. Samples of a ring count messages.
    pub(crate) fn of(samples: &[Sample], is_ring: bool) -> Option<Self> {
        let value = Quartiles::of(samples.iter().map(|sample| sample.value))?;
        let median = |of: &dyn Fn(&Sample) -> Option<f64>| {
            Some(Quartiles::of(samples.iter().filter_map(of))?.median)
        };
        let times = |of: fn(&Sample) -> Option<&Histogram<u64>>| {
            merged(samples.iter().filter_map(of)).map(|all| Latency::of(&all))
        };
        let both = |of: fn(&Sample) -> Option<[f64; 2]>| {
            Some([median(&|sample| Some(of(sample)?[0]))?, median(&|sample| Some(of(sample)?[1]))?])
        };
        let sides = |both: Option<[f64; 2]>| {
            both.map(|[producers, consumers]| Sides { producers, consumers })
        };
        let [batch, fairness] =
            [both(|sample| sample.perceived_batch), both(|sample| sample.fairness)];
        let disorder = |of: usize| {
            let all = samples.iter().filter_map(move |sample| Some(sample.disorder?[of]));
            all.clone().next().map(|_| RankAndDelay::of(all))
        };
        let per_s = Some(1e9 / value.median);
        Some(Self {
            value,
            perceived_batch: batch
                .map(|[producer, consumer]| PerceivedBatch { producer, consumer }),
            items_per_s: fairness.and(per_s),
            messages_per_s: per_s.filter(|_| is_ring),
            fairness: sides(fairness),
            failed: median(&|sample| sample.failed),
            run: median(&|sample| sample.run),
            lost: median(&|sample| sample.lost),
            cpu_ns_per_item: median(&|sample| sample.cpu_ns),
            cpu_ns: sides(both(|sample| sample.cpu_sides)),
            sleeps_per_item: median(&|sample| sample.sleeps),
            stolen: median(&|sample| sample.stolen),
            disorder: disorder(0),
            certain: disorder(1),
            allocations: samples.iter().filter_map(|sample| sample.allocations).max(),
            kills: samples.iter().filter_map(|sample| sample.kills).reduce(Kills::sum),
            faults: samples.iter().filter_map(|sample| sample.faults).reduce(Faults::sum),
            offered: samples.iter().find_map(|sample| sample.offered),
            latency_ns: times(|sample| sample.latency.as_ref()),
            push_ns: times(|sample| sample.pushes.as_ref()),
            pop_ns: times(|sample| sample.pops.as_ref()),
        })
    }
}

/// Latency percentiles in nanoseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Latency {
    pub(crate) items: u64,
    pub(crate) p50: u64,
    pub(crate) p99: u64,
    #[serde(rename = "p99.9")]
    pub(crate) p999: u64,
    pub(crate) max: u64,
}

impl Latency {
    fn of(latencies: &Histogram<u64>) -> Self {
        Self {
            items: latencies.len(),
            p50: latencies.value_at_quantile(0.5),
            p99: latencies.value_at_quantile(0.99),
            p999: latencies.value_at_quantile(0.999),
            max: latencies.max(),
        }
    }
}

pub(crate) fn merged<'a>(
    mut histograms: impl Iterator<Item = &'a Histogram<u64>>,
) -> Option<Histogram<u64>> {
    let mut all = histograms.next()?.clone();
    for histogram in histograms {
        all.add(histogram).expect("all have the same bounds");
    }
    Some(all)
}

/// An empty histogram of times up to a minute; longer ones aren't told apart.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(60_000_000_000, 3).expect("valid bounds")
}
