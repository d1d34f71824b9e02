//! What `lane bench` needs to know of this suite.

use maud::{Markup, html};

use super::kernels::Run;
use super::params::{Details, Operation, Params, Sample};
use crate::cli::{MpmcTest, Workload};
use crate::number::{ratio, short};
use crate::pair::Wait;
use crate::results::{CellResult, Floor, Latency, Results, Summary};
use crate::stats::Group;
use crate::suite::{Cell, Plan, Suite, Yardsticks};

/// Several producers, several consumers.
#[derive(Debug, Clone)]
pub(crate) struct Mpmc;

impl Suite for Mpmc {
    const NAME: &'static str = "mpmc";
    /// Of several queues and many numbers of threads that would be said again and again.
    const ADVICE_NAMES_FLOOR: bool = false;
    type Test = MpmcTest;
    type Params = Params;
    type Sample = Sample;
    type Details = Details;
    type Context = ();

    fn name(test: MpmcTest) -> &'static str {
        test.name()
    }

    fn unit(test: MpmcTest) -> &'static str {
        match test {
            MpmcTest::Throughput => "ns/item",
            MpmcTest::DataLatency => "ns in the queue",
            MpmcTest::OpLatency => "ns for a push and a pop",
            MpmcTest::FullEmpty => "ns/call",
            MpmcTest::Overwrite => "ns/push",
        }
    }

    fn probe(cell: &Cell<Self>) -> Result<(), String> {
        cell.entry.mpmc.probe(&cell.params)
    }

    fn measure(plan: &Plan<Self>, cell: &Cell<Self>) -> Result<Sample, String> {
        let run = Run { params: &cell.params, length: cell.length, cores: &plan.all_cores };
        cell.entry.mpmc.measure(cell.test, &run).map_err(|fault| {
            format!("{fault}, in {} with {} threads", cell.test.name(), cell.params.shape())
        })
    }

    fn value(sample: &Sample) -> f64 {
        sample.value
    }

    fn details(samples: &[Sample]) -> Details {
        Details::of(samples)
    }

    fn floor(results: &Results<Self>, test: MpmcTest, group: Group) -> Option<Floor> {
        match test {
            MpmcTest::Throughput => {
                results.block_handoff(group).map(|q| ("block_handoff", q.median))
            }
            // No news travels faster than a flag.
            MpmcTest::DataLatency => {
                results.line_rtt(group).map(|q| ("half line_rtt", q.median / 2.0))
            }
            // Calls needn't reach another core, and a thread alone has none to reach.
            MpmcTest::OpLatency | MpmcTest::FullEmpty | MpmcTest::Overwrite => None,
        }
    }

    fn title(result: &CellResult<Self>) -> String {
        let (title, shape) = Self::chart_titles(result);
        shape.map_or(title.clone(), |shape| format!("{title}, {shape}"))
    }

    fn header(test: MpmcTest) -> &'static [&'static str] {
        match test {
            MpmcTest::Throughput => {
                &["queue", "ns/item", "p25–p75", "M/s", "× peer", "× floor", "fair P", "fair C"]
            }
            MpmcTest::DataLatency => {
                &["queue", "mean ns", "p25–p75", "p50 ns", "p99 ns", "× peer", "× floor", "lost"]
            }
            MpmcTest::OpLatency => &[
                "queue",
                "push + pop ns",
                "p25–p75",
                "push p50",
                "push p99",
                "pop p50",
                "pop p99",
                "× peer",
                "lost",
            ],
            MpmcTest::FullEmpty => &["queue", "ns/call", "p25–p75", "× peer"],
            MpmcTest::Overwrite => &["queue", "ns/push", "p25–p75", "M/s", "lost", "fair P"],
        }
    }

    fn columns(
        test: MpmcTest,
        summary: &Summary<Self>,
        beside: &Yardsticks,
    ) -> impl IntoIterator<Item = String> {
        let (value, details) = (summary.value, &summary.details);
        let to = |other: Option<f64>| other.map(|other| ratio(value.median / other));
        let (peer, floor) = (to(beside.best_peer), to(beside.floor));
        let lost = details.lost.map(|share| format!("{:.0} %", 100.0 * share));
        let quantiles = |times: Option<Latency>| {
            let at = |which: fn(Latency) -> u64| times.map(|times| short(which(times) as f64));
            [at(|times| times.p50), at(|times| times.p99)]
        };
        let rest = match test {
            MpmcTest::Throughput => {
                let fair = |fairness: Option<f64>| fairness.map(|share| format!("{share:.2}"));
                let fairness = details.fairness;
                vec![
                    details.items_per_s.map(|items| short(items / 1e6)),
                    peer,
                    floor,
                    fair(fairness.map(|fairness| fairness.producers)),
                    fair(fairness.map(|fairness| fairness.consumers)),
                ]
            }
            MpmcTest::DataLatency => {
                [&quantiles(details.latency_ns)[..], &[peer, floor, lost]].concat()
            }
            MpmcTest::OpLatency => {
                let (push, pop) = (quantiles(details.push_ns), quantiles(details.pop_ns));
                [&push[..], &pop, &[peer, lost]].concat()
            }
            MpmcTest::FullEmpty => vec![peer],
            MpmcTest::Overwrite => vec![
                details.items_per_s.map(|items| short(items / 1e6)),
                lost,
                details.fairness.map(|fairness| format!("{:.2}", fairness.producers)),
            ],
        };
        let first = [short(value.median), value.spread()];
        first.into_iter().chain(rest.into_iter().map(Option::unwrap_or_default))
    }

    fn purpose(result: &CellResult<Self>) -> Option<String> {
        let params = &result.params;
        if params.workload != Workload::Simple {
            return None;
        }
        let what = match (result.test, params.batch) {
            (MpmcTest::Throughput, 1) => format!("for {} threads", params.shape()),
            (MpmcTest::Throughput, n) => {
                format!("for {} threads, {n} items a call,", params.shape())
            }
            (MpmcTest::DataLatency, _) => format!("for short stays, {} threads,", params.shape()),
            (MpmcTest::OpLatency | MpmcTest::FullEmpty | MpmcTest::Overwrite, _) => return None,
        };
        let wait = if params.wait == Wait::Greedy { " waiting greedily," } else { "" };
        Some(format!("{what}{wait}"))
    }

    fn reading() -> Markup {
        html! {
            "2x4 is two producers and four consumers; with more threads than cores they yield while they "
            "wait. Fairness (fair P, fair C) is what the slowest producer or consumer moved per item of "
            "the fastest. \u{d7} peer and \u{d7} floor are multiples of the best bounded peer and of the "
            "floor: less is better. Lost are items that nobody popped: pushes that found no room and were not "
            "tried again, or what was overwritten. Overwrite: 2x0 is without a consumer; there bbq is the queue "
            "whose producers wait."
        }
    }

    fn shares_chart(one: &CellResult<Self>, other: &CellResult<Self>) -> bool {
        Self::chart_titles(one).0 == Self::chart_titles(other).0
    }

    fn chart_titles(result: &CellResult<Self>) -> (String, Option<String>) {
        let params = &result.params;
        let (workload, capacity) = (params.workload.name(), params.capacity);
        let calls = match params.batch {
            1 => "one item per call".to_owned(),
            batch => format!("up to {batch} items per call"),
        };
        let what = match (result.test, params.operation) {
            (MpmcTest::FullEmpty, Some(Operation::Push)) => {
                return (format!("full: a push that fails, one thread, capacity {capacity}"), None);
            }
            (MpmcTest::FullEmpty, _) => {
                return (format!("empty: a pop that fails, one thread, capacity {capacity}"), None);
            }
            (MpmcTest::Throughput, _) => format!("throughput, {calls}"),
            (MpmcTest::DataLatency, _) => "data-latency, how long items stay".to_owned(),
            (MpmcTest::Overwrite, _) => "overwrite, what a push costs".to_owned(),
            (MpmcTest::OpLatency, _) => "op-latency, how long single calls take".to_owned(),
        };
        let shape = format!("{} threads, {}", params.shape(), params.wait.words());
        (format!("{what}, {workload} workload, capacity {capacity}"), Some(shape))
    }
}
