//! The results of a queue with some numbers of threads, in the shape of the JSON file.

use corelane_bench::{TeamSize, Workload};
use corelane_simulate::{Member, Queue, TeamRun};
use serde::Serialize;

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
    pub(super) sides: [TeamSide; 2],
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
    pub(super) fn new(queue: &Queue, size: TeamSize, workload: Workload, run: &TeamRun) -> Self {
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
            sides: run.members.each_ref().map(|members| TeamSide::new(members, run.items)),
        }
    }

    pub(super) fn millions_per_s(&self) -> f64 {
        self.items_per_s / 1e6
    }
}
