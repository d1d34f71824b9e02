//! The parameters of `lane bench relaxed`, and what is said about its results.

use corelane_report::name;
use serde::{Deserialize, Serialize};

use crate::kinds::{Placement, TeamSize, Test};
use crate::results::CellResult;
use crate::suite::mpmc::{MpmcSetting, Workload};
use crate::suite::{About, Suite};
use crate::table::{
    ALLOCATIONS, Column, DELAY, DELAY_CERTAIN, DELAY_P99, FAILED, FAIR_C, FAIR_P, P50, P99, P999,
    PER_S, RANK_CERTAIN, RANK_P99, RATIO_PEER, TIMES_TUBE,
};

/// Several producers and several consumers of a queue with some k.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RelaxedSetting {
    #[serde(flatten)]
    pub(crate) size: TeamSize,
    pub(crate) placement: Placement,
    /// The k that the queue tells: 1 if it is first in, first out. `None` if it has no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) k: Option<usize>,
    /// The k that the queue is asked for, if it can be told one.
    #[serde(skip)]
    pub(crate) asked: Option<usize>,
}

/// What is said about the suite.
const ABOUT: About = About {
    name: "relaxed",
    heading: "Out of turn",
    reading: "2x4 is two producers and four consumers. k is the bound of a relaxed queue: an item \
     leaves among the k oldest. The rank error of an item is the number of older items that are \
     inside when it leaves, its delay the number of younger items that leave before it, both by the \
     order in which calls returned. If a thread is stopped before its call has returned, its item \
     seems far out of turn. So the largest are those that are certain: calls that overlap may have \
     taken effect in any order. × tube: how many times as fast as its tube, the queue in which \
     cnq nests capsules: more is better. × peer is a multiple of the time of the best bounded peer: \
     less is better.",
    ..About::NONE
};

impl Suite for RelaxedSetting {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn titles(&self, result: &CellResult) -> (String, Option<String>) {
        let what = match result.test {
            Test::Throughput => "throughput, one item per call",
            Test::DataLatency => "data-latency, how long items stay",
            Test::RankError => "rank-error, how far items leave out of turn",
            _ => "memory, the most that is allocated at a time",
        };
        let (capacity, placement) = (result.params.capacity, name(&self.placement));
        let size = format!("{} threads, {}", self.size, result.params.wait.words());
        (format!("{what}, capacity {capacity}, placed {placement}"), Some(size))
    }

    fn columns(&self, test: Test) -> (&'static str, &'static [Column]) {
        match test {
            Test::Throughput => {
                (test.unit(), &[PER_S, TIMES_TUBE, RATIO_PEER, FAIR_P, FAIR_C, FAILED])
            }
            Test::DataLatency => ("mean ns", &[P50, P99, P999, RATIO_PEER]),
            Test::RankError => {
                ("rank error", &[RANK_P99, RANK_CERTAIN, DELAY, DELAY_P99, DELAY_CERTAIN])
            }
            _ => (test.unit(), &[ALLOCATIONS]),
        }
    }

    fn legend(&self, test: Test) -> &'static str {
        match test {
            Test::Throughput => {
                "Medians with quartiles; less is better. M/s: million items a second. × tube: multiple \
                 of the throughput of the queue in which cnq nests capsules; more is better. × peer: \
                 of the best bounded peer. fair P, fair C: items of the slowest producer, consumer \
                 per item of the fastest. failed: calls in vain per item."
            }
            Test::DataLatency => {
                "Time that items stay in the queue. × peer: of the best bounded peer."
            }
            Test::RankError => {
                "Rank error: older items that are inside when an item leaves; delay: younger items \
                 that leave before it; the mean and p99, by the order in which calls returned. \
                 certain: the largest, in whatever order calls that overlap took effect; below k."
            }
            _ => {
                "Most bytes at a time while the queue is made, filled and used. allocations: after \
                 the queue and its handles were made."
            }
        }
    }

    fn column(&self, _: &CellResult) -> Option<String> {
        Some(self.size.to_string())
    }

    fn relaxation(&self) -> Option<usize> {
        self.asked
    }

    fn label(&self, queue: &str) -> String {
        match self.k {
            None | Some(1) => queue.to_owned(),
            Some(k) => format!("{queue} k={k}"),
        }
    }

    fn tube<'a>(&self, queue: &'a str) -> Option<&'a str> {
        if queue == "cnq" { Some("faaq") } else { queue.strip_prefix("cnq-") }
    }

    fn is_alike(&self, other: &Self) -> bool {
        (self.size, self.placement) == (other.size, other.placement)
    }
}

impl RelaxedSetting {
    /// The same threads as in `lane bench mpmc`.
    pub(crate) fn team(&self) -> MpmcSetting {
        let &Self { size, placement, .. } = self;
        let workload = Workload::Simple;
        MpmcSetting { size, placement: Some(placement), batch: 1, workload, operation: None }
    }
}
