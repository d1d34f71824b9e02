//! The suite of queues between one producer and one consumer.

use hdrhistogram::Histogram;
use maud::{Markup, html};
use serde::Serialize;

use crate::cell::{Params, PerceivedBatch, Run, Sample};
use crate::cli::{PayloadKind, Test};
use crate::number::{short, times};
use crate::pair::Wait;
use crate::results::{CellResult, Floor, Latency, Results, Summary};
use crate::schedule::Arrival;
use crate::stats::{Group, Quartiles};
use crate::suite::{Cell, Plan, Suite, Yardsticks};
use crate::{grid, report, table};

/// One producer, one consumer.
#[derive(Debug, Clone)]
pub(crate) struct Spsc;

/// What a summary has besides the quartiles.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Details {
    /// Medians over rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    perceived_batch: Option<PerceivedBatch>,
    /// Over all items of all rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ns: Option<Latency>,
}

impl Suite for Spsc {
    const NAME: &'static str = "spsc";
    type Test = Test;
    type Params = Params;
    type Sample = Sample;
    type Details = Details;
    /// Send times of open-loop cells.
    type Context = Vec<Arrival>;

    fn name(test: Test) -> &'static str {
        test.name()
    }

    fn unit(test: Test) -> &'static str {
        test.unit()
    }

    fn probe(cell: &Cell<Self>) -> Result<(), String> {
        cell.kernels().probe(&cell.params.setup())
    }

    fn measure(plan: &Plan<Self>, cell: &Cell<Self>) -> Result<Sample, String> {
        let run = Run {
            params: &cell.params,
            length: cell.length,
            cores: plan.cores,
            schedule: &plan.context,
        };
        cell.kernels().measure(cell.test, &run).map_err(|wrong| {
            let (items, test) = (wrong.items, cell.test.name());
            format!("{items} items of {test} came out of order or lost")
        })
    }

    fn value(sample: &Sample) -> f64 {
        sample.value
    }

    fn details(samples: &[Sample]) -> Details {
        Details { perceived_batch: perceived(samples), latency_ns: latency(samples) }
    }

    fn floor(results: &Results<Self>, test: Test, group: Group) -> Option<Floor> {
        match test {
            Test::Stream => results.block_handoff(group).map(|q| ("block_handoff", q.median)),
            Test::Rtt => results.line_rtt(group).map(|q| ("line_rtt", q.median)),
            // There is no floor for waiting in a queue.
            Test::OpenLoop => None,
        }
    }

    fn title(result: &CellResult<Self>) -> String {
        let params = &result.params;
        let what = match result.test {
            Test::Stream if params.batch == 1 => "stream, one item per call".to_owned(),
            Test::Stream => format!("stream, up to {} items per call", params.batch),
            Test::Rtt => "rtt, one item there and back".to_owned(),
            Test::OpenLoop => {
                format!("open-loop, {}", params.schedule.as_deref().unwrap_or("no schedule"))
            }
        };
        let regime = match result.test {
            Test::Stream => {
                format!(", {} ({}/{} ns load)", params.regime, params.load_p_ns, params.load_c_ns)
            }
            Test::Rtt | Test::OpenLoop => String::new(),
        };
        let (payload, capacity) = (params.payload.name(), params.capacity);
        format!("{what}{regime}, {payload}, capacity {capacity}, {}", params.wait.words())
    }

    fn header(test: Test) -> &'static [&'static str] {
        match test {
            Test::Stream => &["queue", "ns/item", "p25–p75", "× floor", "P batch", "C batch"],
            Test::Rtt => &["queue", "ns/transaction", "p25–p75", "× floor", "", ""],
            Test::OpenLoop => &["queue", "p50 ns", "p25–p75", "p99 ns", "p99.9 ns", "max ns"],
        }
    }

    fn columns(
        test: Test,
        summary: &Summary<Self>,
        beside: &Yardsticks,
    ) -> impl IntoIterator<Item = String> {
        let (value, details) = (summary.value, &summary.details);
        let [a, b, c] = match (test, details.perceived_batch, details.latency_ns) {
            (Test::OpenLoop, _, Some(l)) => [l.p99, l.p999, l.max].map(|ns| short(ns as f64)),
            (_, batch, _) => {
                let (p, c) = batch.map_or_else(Default::default, |batch| {
                    (short(batch.producer), short(batch.consumer))
                });
                let floor = beside.floor.map(|floor| times(value.median / floor));
                [floor.unwrap_or_default(), p, c]
            }
        };
        [short(value.median), value.spread(), a, b, c]
    }

    fn purpose(result: &CellResult<Self>) -> Option<String> {
        let params = &result.params;
        if params.payload != PayloadKind::U64 || params.regime != "free" {
            return None;
        }
        let purpose = match (result.test, params.batch) {
            (Test::Stream, 1) => "to stream items one by one".to_owned(),
            (Test::Stream, batch) => format!("to stream in batches of {batch}"),
            (Test::Rtt, _) => "for the shortest round trip".to_owned(),
            (Test::OpenLoop, _) => "for the lowest median latency under this schedule".to_owned(),
        };
        Some(match params.wait {
            Wait::Greedy => format!("{purpose}, waiting greedily,"),
            Wait::Pause | Wait::Yield => purpose,
        })
    }

    fn reading() -> Markup {
        html! {
            "The batch columns are items moved per run of failed pushes (P) or pops (C): a side whose "
            "batch is small is the faster one, waiting for the other."
        }
    }

    fn has_table(params: &Params) -> bool {
        params.regime != grid::REGIME
    }

    fn more_text(results: &Results<Self>, group: Group) -> String {
        let maps = grid::maps(results, group);
        maps.iter().map(|map| format!("\n{}\n{}\n", map.title(), table::matrix(map))).collect()
    }

    fn more_html(results: &Results<Self>, group: Group) -> Markup {
        let maps = grid::maps(results, group);
        html! { @if !maps.is_empty() { (report::throughput(&maps)) } }
    }
}

fn perceived(samples: &[Sample]) -> Option<PerceivedBatch> {
    let median = |side: fn(PerceivedBatch) -> f64| {
        let values = samples.iter().filter_map(|sample| sample.perceived_batch.map(side));
        Some(Quartiles::of(values)?.median)
    };
    Some(PerceivedBatch { producer: median(|b| b.producer)?, consumer: median(|b| b.consumer)? })
}

fn latency(samples: &[Sample]) -> Option<Latency> {
    let histograms = samples.iter().filter_map(|sample| sample.latency.as_ref());
    merged(histograms).map(|all| Latency::of(&all))
}

/// All histograms in one, if there are any.
pub(crate) fn merged<'a>(
    mut histograms: impl Iterator<Item = &'a Histogram<u64>>,
) -> Option<Histogram<u64>> {
    let mut all = histograms.next()?.clone();
    for histogram in histograms {
        all.add(histogram).expect("all have the same bounds");
    }
    Some(all)
}
