//! What `lane bench` needs to know of this suite.

use corelane::Memory;
use maud::{Markup, html};
use serde::Serialize;

use super::kernel::Run;
use crate::link::Setup;
use crate::number::{ratio, short};
use crate::pair::Wait;
use crate::results::{CellResult, Floor, Results, Summary};
use crate::stats::{Group, Quartiles};
use crate::suite::{Cell, Plan, Suite, Yardsticks};

/// Threads in a circle.
#[derive(Debug, Clone)]
pub(crate) struct Circle;

/// The only test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Test {
    /// Messages that go round.
    Round,
}

/// How something is measured; the key of a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Params {
    /// Threads of the circle, each with a queue to the next.
    pub(super) threads: usize,
    /// Most messages under way.
    pub(super) in_flight: u64,
    /// Messages that each queue was made for.
    pub(super) capacity: usize,
    /// What a thread does while its queues are full or empty.
    pub(super) wait: Wait,
}

impl Params {
    /// How to open a queue.
    pub(super) fn setup(&self) -> Setup {
        Setup { capacity: self.capacity, memory: Memory::Heap }
    }
}

/// What a summary has besides the quartiles.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Details {
    /// Messages per second that were everywhere, from the median.
    messages_per_s: Option<f64>,
}

impl Suite for Circle {
    const NAME: &'static str = "ring";
    type Test = Test;
    type Params = Params;
    type Sample = f64;
    type Details = Details;
    type Context = ();

    fn name(_test: Test) -> &'static str {
        "round"
    }

    fn unit(_test: Test) -> &'static str {
        "ns/message"
    }

    fn probe(cell: &Cell<Self>) -> Result<(), String> {
        cell.entry.circle.probe(&cell.params)
    }

    fn measure(plan: &Plan<Self>, cell: &Cell<Self>) -> Result<f64, String> {
        let run = Run { params: &cell.params, length: cell.length, cores: &plan.all_cores };
        let threads = cell.params.threads;
        cell.entry.circle.measure(&run).map_err(|wrong| {
            format!("{wrong} messages came out of order or changed in a ring of {threads} threads")
        })
    }

    fn value(sample: &f64) -> f64 {
        *sample
    }

    fn details(samples: &[f64]) -> Details {
        let ns = Quartiles::of(samples.iter().copied());
        Details { messages_per_s: ns.map(|ns| 1e9 / ns.median) }
    }

    /// How fast copies are made, freed and passed on without a queue nobody can say.
    fn floor(_results: &Results<Self>, _test: Test, _group: Group) -> Option<Floor> {
        None
    }

    fn title(result: &CellResult<Self>) -> String {
        let (title, shape) = Self::chart_titles(result);
        shape.map_or(title.clone(), |shape| format!("{title}, {shape}"))
    }

    fn header(_test: Test) -> &'static [&'static str] {
        &["queue", "ns/message", "p25–p75", "M/s", "× peer"]
    }

    fn columns(
        _test: Test,
        summary: &Summary<Self>,
        beside: &Yardsticks,
    ) -> impl IntoIterator<Item = String> {
        let (value, details) = (summary.value, &summary.details);
        let per_s = details.messages_per_s.map(|messages| short(messages / 1e6));
        let peer = beside.best_peer.map(|peer| ratio(value.median / peer));
        [short(value.median), value.spread(), per_s.unwrap_or_default(), peer.unwrap_or_default()]
    }

    fn purpose(result: &CellResult<Self>) -> Option<String> {
        Some(format!("for a ring of {} threads", result.params.threads))
    }

    fn reading() -> Markup {
        html! {
            "A message has gone round when it was copied, freed and passed on by all threads but the first, "
            "which sent it and takes it back. With more threads than cores they yield while they wait. \u{d7} "
            "peer is a multiple of the best bounded peer, or unbounded if all of ours are: less is better."
        }
    }

    fn shares_chart(one: &CellResult<Self>, other: &CellResult<Self>) -> bool {
        Self::chart_titles(one).0 == Self::chart_titles(other).0
    }

    fn chart_titles(result: &CellResult<Self>) -> (String, Option<String>) {
        let Params { threads, in_flight, capacity, wait } = result.params;
        let title =
            format!("threads in a ring, {in_flight} messages under way, capacity {capacity}");
        (title, Some(format!("{threads} threads, {}", wait.words())))
    }
}
