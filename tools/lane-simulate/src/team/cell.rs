//! The results of a queue with some numbers of threads, in the shape of the JSON file.

use corelane_bench::{OutOfTurn, Workload};
use corelane_simulate::{Member, Queue, TeamRun};
use serde::Serialize;

use super::TeamJob;
use crate::outcome::{LineCosts, PerItem, by_line};

/// One queue with one number of producers and consumers.
#[derive(Debug, Serialize)]
pub(super) struct TeamCell {
    pub(super) queue: String,
    pub(super) producers: usize,
    pub(super) consumers: usize,
    pub(super) workload: Workload,
    /// Whether items are counted when they are pushed and not when they are popped, because some
    /// are overwritten.
    pub(super) overwrites: bool,
    pub(super) bounded: bool,
    /// Items that were popped, or pushed, per second of simulated time.
    pub(super) items_per_s: f64,
    pub(super) misses_per_item: f64,
    /// Number of counted items.
    items: u64,
    pub(super) relaxed: bool,
    /// The k that was asked for. `None` is the queue's own, or the queue isn't relaxed.
    pub(super) k: Option<usize>,
    /// Older items that were inside when an item left, by the order in which calls returned.
    pub(super) rank_error: OutOfTurn,
    /// Younger items that left before an item.
    pub(super) delay: OutOfTurn,
    pub(super) wait_ns: Wait,
    pub(super) sides: [TeamSide; 2],
}

/// Nanoseconds from the return of an item's push to the return of its pop.
#[derive(Debug, Serialize)]
pub(super) struct Wait {
    pub(super) mean: f64,
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

/// The results of the threads of a side.
#[derive(Debug, Serialize)]
pub(super) struct TeamSide {
    /// Items of the slowest thread per item of the fastest.
    pub(super) fairness: f64,
    /// How often the queue was found full or empty, per item.
    pub(super) failed_per_item: f64,
    items: Vec<u64>,
    #[serde(flatten)]
    pub(super) costs: PerItem,
    pub(super) lines: Vec<LineCosts>,
}

impl TeamSide {
    /// The costs of all threads, per counted item.
    fn new(members: &[Member], counted: u64) -> Self {
        let items: Vec<u64> = members.iter().map(|member| member.items).collect();
        let most = items.iter().max().copied().unwrap_or_default().max(1);
        let least = items.iter().min().copied().unwrap_or_default();
        let failed: u64 = members.iter().map(|member| member.failed).sum();
        let (costs, lines) = by_line(members.iter().map(|member| &member.core), counted);
        Self {
            fairness: least as f64 / most as f64,
            failed_per_item: failed as f64 / counted as f64,
            items,
            costs,
            lines,
        }
    }
}

impl TeamCell {
    pub(super) fn new(queue: &Queue, job: &TeamJob<'_>, run: &TeamRun) -> Self {
        let TeamJob { size, workload, relaxation, .. } = *job;
        let journey = &run.journey;
        let [p50, p90, p99, max] = journey.waits;
        Self {
            queue: queue.id.into(),
            producers: size.producers,
            consumers: size.consumers,
            workload,
            overwrites: queue.info.overwrites,
            bounded: queue.info.bounded,
            items_per_s: run.items_per_s(),
            misses_per_item: run.misses_per_item(),
            items: run.items,
            relaxed: queue.info.relaxed,
            k: relaxation,
            rank_error: journey.disorder.rank_errors.into(),
            delay: journey.disorder.delays.into(),
            wait_ns: Wait { mean: journey.mean_wait, p50, p90, p99, max },
            sides: run.members.each_ref().map(|members| TeamSide::new(members, run.items)),
        }
    }

    /// The queue, and its k.
    pub(super) fn name(&self) -> String {
        match self.k {
            Some(k) => format!("{} k={k}", self.queue),
            None => self.queue.clone(),
        }
    }

    /// Producers and consumers.
    pub(super) fn threads(&self) -> String {
        format!("{}x{}", self.producers, self.consumers)
    }

    pub(super) fn millions_per_s(&self) -> f64 {
        self.items_per_s / 1e6
    }
}
