//! The parameters of a measurement, and what it gives.

use corelane::Memory;
use hdrhistogram::Histogram;
use serde::Serialize;

use super::probe::typical;
use super::team::{Report, Reports};
use crate::cli::{MpmcTest, Shape, Workload};
use crate::clock::Clock;
use crate::link::Setup;
use crate::pair::Wait;
use crate::results::Latency;
use crate::spsc::merged;
use crate::stats::Quartiles;

/// How something is measured; the key of a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Params {
    /// Threads that push.
    pub(super) producers: usize,
    /// Threads that pop.
    pub(super) consumers: usize,
    /// Items the queue was made for.
    pub(super) capacity: usize,
    /// Most items per push or pop call.
    pub(super) batch: usize,
    /// What threads do besides.
    pub(super) workload: Workload,
    /// What a thread does while the queue is full or empty.
    pub(super) wait: Wait,
    /// The call that fails, in the test `full-empty`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) operation: Option<Operation>,
}

impl Params {
    /// How to open the queue.
    pub(super) fn setup(&self) -> Setup {
        Setup { capacity: self.capacity, memory: Memory::Heap }
    }

    /// How many threads on which side.
    pub(super) fn shape(&self) -> Shape {
        Shape { producers: self.producers, consumers: self.consumers }
    }
}

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Operation {
    /// Into a full queue.
    Push,
    /// From an empty one.
    Pop,
}

/// What one cell gave in one round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    /// The measured value, in the test's unit.
    pub(super) value: f64,
    fairness: Option<Fairness>,
    /// Share of the items that nobody popped: there was no room for them, or they were overwritten.
    lost: Option<f64>,
    /// How long items stayed in the queue.
    stays: Option<Histogram<u64>>,
    /// How long pushes took.
    pushes: Option<Histogram<u64>>,
    /// How long pops took.
    pops: Option<Histogram<u64>>,
}

/// Items of the slowest thread of a side per item of the fastest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Fairness {
    /// Of those that push.
    pub(super) producers: f64,
    /// Of those that pop.
    pub(super) consumers: f64,
}

impl Sample {
    /// Nothing but a value.
    pub(super) fn alone(value: f64) -> Self {
        Self { value, ..Self::default() }
    }

    /// What threads did in a measurement of `test` under `workload`.
    pub(super) fn of(test: MpmcTest, workload: Workload, reports: Reports) -> Self {
        let items = |side: &[Report]| side.iter().map(|report| report.items).sum::<u64>();
        let (pushed, popped) = (items(&reports.producers), items(&reports.consumers));
        let ns = Clock::get().ns(reports.ticks());
        let fairness = Fairness {
            producers: fairness(&reports.producers),
            consumers: fairness(&reports.consumers),
        };
        let lost = (workload == Workload::Profiling).then(|| lost(&reports.producers));
        let (pushes, pops) = (notes(reports.producers), notes(reports.consumers));
        match test {
            MpmcTest::DataLatency => {
                let value = pops.as_ref().map_or(f64::NAN, |stays| stays.mean());
                Self { value, lost, stays: pops, ..Self::default() }
            }
            MpmcTest::OpLatency => {
                let of = |times: &Option<_>| times.as_ref().map_or(f64::NAN, typical);
                Self { value: of(&pushes) + of(&pops), lost, pushes, pops, ..Self::default() }
            }
            // If nobody got an item, one takes at least as long.
            MpmcTest::Throughput | MpmcTest::FullEmpty => {
                let value = ns / popped.max(1) as f64;
                Self { value, fairness: Some(fairness), ..Self::default() }
            }
            MpmcTest::Overwrite => {
                let value = ns / pushed.max(1) as f64;
                let share = popped as f64 / pushed.max(1) as f64;
                let lost = (popped > 0).then(|| 1.0 - share.min(1.0));
                Self { value, fairness: Some(fairness), lost, ..Self::default() }
            }
        }
    }
}

fn fairness(side: &[Report]) -> f64 {
    let items = || side.iter().map(|report| report.items);
    let (slowest, fastest) = (items().min().unwrap_or(0), items().max().unwrap_or(0));
    if fastest == 0 { 1.0 } else { slowest as f64 / fastest as f64 }
}

fn lost(producers: &[Report]) -> f64 {
    let lost: u64 = producers.iter().map(|report| report.lost).sum();
    let pushed: u64 = producers.iter().map(|report| report.items).sum();
    lost as f64 / (lost + pushed).max(1) as f64
}

fn notes(side: Vec<Report>) -> Option<Histogram<u64>> {
    let notes: Vec<_> = side.into_iter().filter_map(|report| report.notes).collect();
    merged(notes.iter())
}

/// What a summary has besides the quartiles of the value.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Details {
    /// Items per second, from the median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) items_per_s: Option<f64>,
    /// Medians over rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fairness: Option<Fairness>,
    /// Share of the items that nobody popped: there was no room for them and they were not tried again, or they
    /// were overwritten; the median over rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lost: Option<f64>,
    /// Time in the queue, over all items of all rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) latency_ns: Option<Latency>,
    /// Times of single pushes, over all rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) push_ns: Option<Latency>,
    /// Times of single pops, over all rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pop_ns: Option<Latency>,
}

impl Details {
    /// Of the samples of one cell.
    pub(super) fn of(samples: &[Sample]) -> Self {
        let median = |values: &mut dyn Iterator<Item = f64>| Some(Quartiles::of(values)?.median);
        let times = |which: fn(&Sample) -> Option<&Histogram<u64>>| {
            merged(samples.iter().filter_map(which)).map(|all| Latency::of(&all))
        };
        let fairness = || samples.iter().filter_map(|sample| sample.fairness);
        let producers = median(&mut fairness().map(|fairness| fairness.producers));
        let consumers = median(&mut fairness().map(|fairness| fairness.consumers));
        let ns = median(&mut samples.iter().map(|sample| sample.value));
        Self {
            items_per_s: producers.and(ns).map(|ns| 1e9 / ns),
            fairness: producers
                .zip(consumers)
                .map(|(producers, consumers)| Fairness { producers, consumers }),
            lost: median(&mut samples.iter().filter_map(|sample| sample.lost)),
            latency_ns: times(|sample| sample.stays.as_ref()),
            push_ns: times(|sample| sample.pushes.as_ref()),
            pop_ns: times(|sample| sample.pops.as_ref()),
        }
    }
}
