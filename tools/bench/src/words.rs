//! The texts of each test in tables and reports: titles, columns, and floors.

mod executor;
mod ipc;
mod steal;
mod wait;

use corelane_report::{Row, Table, name, ratio, short, times};

use crate::kinds::{Handles, Operation, PayloadKind, Regime, Test, WORD, Workload};
use crate::pair::Wait;
use crate::params::{CircleSetting, PairSetting, Setting, TeamSetting};
use crate::results::{CellResult, Results};
use crate::sample::Summary;
use crate::stats::Group;

/// The values with which a result is compared.
#[derive(Clone, Copy)]
struct Yardsticks {
    floor: Option<f64>,
    best_peer: Option<f64>,
}

/// The floor with which a result is compared, if there is one: the machine's own limit.
pub(crate) fn floor(
    results: &Results,
    result: &CellResult,
    group: Group,
) -> Option<(&'static str, f64)> {
    if let Setting::Wait(setting) = &result.params.setting {
        return wait::floor(results, result.test, setting, group);
    }
    if let Setting::Ipc(setting) = &result.params.setting {
        return ipc::floor(results, result.test, setting, group);
    }
    let line_rtt = || results.line_rtt(group).map(|q| q.median);
    match result.test {
        Test::Stream | Test::Throughput => {
            let words = result.params.pair().map_or(1, |pair| pair.bytes() / WORD);
            results.block_handoff(group).map(|q| ("block_handoff", q.median * words as f64))
        }
        Test::Rtt => line_rtt().map(|ns| ("line_rtt", ns)),
        // No item arrives faster than a flag.
        Test::DataLatency => line_rtt().map(|ns| ("half line_rtt", ns / 2.0)),
        // Waiting in a queue has no floor, nor do copies; and calls needn't reach another core.
        _ => None,
    }
}

pub(crate) fn chart_titles(result: &CellResult) -> (String, Option<String>) {
    let capacity = format!("capacity {}", result.params.capacity);
    let wait = result.params.wait.words();
    match &result.params.setting {
        Setting::Pair(pair) => (format!("{}, {capacity}, {wait}", pair_title(result, pair)), None),
        Setting::Team(team) => match (result.test, team.operation) {
            (Test::FullEmpty, Some(Operation::Push)) => {
                (format!("full: a push that fails, one thread, {capacity}"), None)
            }
            (Test::FullEmpty, _) => {
                (format!("empty: a pop that fails, one thread, {capacity}"), None)
            }
            (test, _) => {
                let (what, workload) = (team_title(test, team), name(&team.workload));
                let size = format!("{} threads, {wait}", team.size);
                let placed =
                    team.placement.map(|placement| format!(", placed {}", name(&placement)));
                let placed = placed.unwrap_or_default();
                (format!("{what}, {workload} workload, {capacity}{placed}"), Some(size))
            }
        },
        Setting::Circle(CircleSetting { threads, in_flight }) => {
            let title = format!("threads in a ring, {in_flight} messages under way, {capacity}");
            (title, Some(format!("{threads} threads, {wait}")))
        }
        Setting::Wait(setting) => wait::titles(result, setting),
        Setting::Ipc(setting) => ipc::titles(result, setting),
        Setting::Steal(setting) => steal::titles(result, setting),
        Setting::Executor(setting) => executor::titles(result, setting),
    }
}

fn pair_title(result: &CellResult, pair: &PairSetting) -> String {
    let payload = name(&pair.payload);
    let what = match (result.test, pair.batch) {
        (Test::Rtt, _) => return format!("rtt, one item there and back, {payload}"),
        (Test::OpenLoop, _) => {
            let schedule = pair.schedule.as_deref().unwrap_or("no schedule");
            return format!("open-loop, {schedule}, {payload}");
        }
        (_, 1) => "stream, one item per call".to_owned(),
        (_, batch) => format!("stream, up to {batch} items per call"),
    };
    let PairSetting { load_p_ns, load_c_ns, .. } = pair;
    let items = match (pair.payload, pair.item_bytes) {
        (PayloadKind::U64, Some(bytes)) => format!("items of {bytes} bytes"),
        _ => payload,
    };
    let handles = match pair.handles {
        Some(Handles::Loop) => ", handles in the loop",
        Some(Handles::Field) => ", handles in a field",
        None => "",
    };
    let regime = name(&pair.regime);
    format!("{what}, {regime} ({load_p_ns}/{load_c_ns} ns load), {items}{handles}")
}

/// The condition of a result, if its measurement has several: the placement, or the items and the handles.
pub(crate) fn condition(result: &CellResult) -> Option<String> {
    match &result.params.setting {
        Setting::Team(team) => team.placement.map(|placement| name(&placement)),
        Setting::Pair(pair) => {
            Some(format!("{} bytes, {}", pair.item_bytes?, name(&pair.handles?)))
        }
        Setting::Wait(wait) => Some(name(&wait.placement)),
        Setting::Circle(_) | Setting::Steal(_) | Setting::Executor(_) => None,
        Setting::Ipc(ipc) => Some(format!("{} bytes", ipc.record_bytes)),
    }
}

fn team_title(test: Test, team: &TeamSetting) -> String {
    match (test, team.batch) {
        (Test::DataLatency, _) => "data-latency, how long items stay".into(),
        (Test::OpLatency, _) => "op-latency, how long single calls take".into(),
        (Test::Overwrite, _) => "overwrite, what a push costs".into(),
        (_, 1) => "throughput, one item per call".into(),
        (_, batch) => format!("throughput, up to {batch} items per call"),
    }
}

/// The measurements of a suite.
pub(crate) fn suite(result: &CellResult) -> &'static str {
    match result.params.setting {
        Setting::Pair(_) => "Between one producer and one consumer",
        Setting::Circle(_) => "Threads in a ring",
        Setting::Team(_) => "Between several threads",
        Setting::Wait(_) => "Calls that wait",
        Setting::Ipc(_) => "Between processes",
        Setting::Steal(_) => "Work stealing",
        Setting::Executor(_) => "Executors of tasks",
    }
}

/// Numbers of threads, if they differ within a chart.
pub(crate) fn size(result: &CellResult) -> Option<String> {
    let size = match &result.params.setting {
        Setting::Team(team) if team.operation.is_none() => team.size.to_string(),
        Setting::Circle(circle) => format!("{} threads", circle.threads),
        Setting::Wait(setting) => return wait::titles(result, setting).1,
        Setting::Ipc(setting) => return ipc::titles(result, setting).1,
        Setting::Steal(setting) => return steal::titles(result, setting).1,
        Setting::Executor(setting) => return executor::titles(result, setting).1,
        _ => return None,
    };
    // Programs that had one placement had one way of waiting beside `greedy`.
    let is_usual = match (result.params.wait, &result.params.setting) {
        (Wait::Spin | Wait::Yield, Setting::Team(team)) => team.placement.is_none(),
        (wait, _) => wait != Wait::Greedy,
    };
    Some(if is_usual { size } else { format!("{size} {}", name(&result.params.wait)) })
}

pub(crate) fn title(result: &CellResult) -> String {
    let (title, size) = chart_titles(result);
    size.map_or(title.clone(), |size| format!("{title}, {size}"))
}

/// Heading and content of a column beside the queue, the value and its quartiles.
type Column = (&'static str, fn(&Summary, Yardsticks) -> Option<String>);

const TIMES_FLOOR: Column = ("× floor", |s, beside| Some(times(s.value.median / beside.floor?)));
const RATIO_FLOOR: Column = ("× floor", |s, beside| Some(ratio(s.value.median / beside.floor?)));
const RATIO_PEER: Column = ("× peer", |s, beside| Some(ratio(s.value.median / beside.best_peer?)));
const PER_S: Column = ("M/s", |s, _| Some(short(s.items_per_s.or(s.messages_per_s)? / 1e6)));
const LOST: Column = ("lost", |s, _| Some(format!("{:.0} %", 100.0 * s.lost?)));
const FAIR_P: Column = ("fair P", |s, _| Some(format!("{:.2}", s.fairness?.producers)));
const FAIR_C: Column = ("fair C", |s, _| Some(format!("{:.2}", s.fairness?.consumers)));
const FAILED: Column = ("failed", |s, _| Some(short(s.failed?)));
const RUN: Column = ("run", |s, _| Some(short(s.run?)));
const BATCH_P: Column = ("P batch", |s, _| Some(short(s.perceived_batch?.producer)));
const BATCH_C: Column = ("C batch", |s, _| Some(short(s.perceived_batch?.consumer)));
const P50: Column = ("p50 ns", |s, _| Some(short(s.latency_ns?.p50 as f64)));
const P99: Column = ("p99 ns", |s, _| Some(short(s.latency_ns?.p99 as f64)));
const P999: Column = ("p99.9 ns", |s, _| Some(short(s.latency_ns?.p999 as f64)));
const MAX: Column = ("max ns", |s, _| Some(short(s.latency_ns?.max as f64)));
const PUSH_P50: Column = ("push p50", |s, _| Some(short(s.push_ns?.p50 as f64)));
const PUSH_P99: Column = ("push p99", |s, _| Some(short(s.push_ns?.p99 as f64)));
const POP_P50: Column = ("pop p50", |s, _| Some(short(s.pop_ns?.p50 as f64)));
const POP_P99: Column = ("pop p99", |s, _| Some(short(s.pop_ns?.p99 as f64)));

/// The heading of the value of `test`, and the columns behind its quartiles.
fn columns(result: &CellResult) -> (&'static str, &'static [Column]) {
    let test = result.test;
    match test {
        _ if result.is_of_wait() => wait::columns(test),
        _ if result.is_of_ipc() => ipc::columns(test),
        Test::Stream => (test.unit(), &[TIMES_FLOOR, BATCH_P, BATCH_C]),
        Test::Rtt => (test.unit(), &[TIMES_FLOOR]),
        Test::OpenLoop => ("p50 ns", &[P99, P999, MAX]),
        Test::Throughput => {
            (test.unit(), &[PER_S, RATIO_PEER, RATIO_FLOOR, FAIR_P, FAIR_C, FAILED, RUN])
        }
        Test::DataLatency => ("mean ns", &[P50, P99, RATIO_PEER, RATIO_FLOOR, LOST]),
        Test::OpLatency => {
            ("push + pop ns", &[PUSH_P50, PUSH_P99, POP_P50, POP_P99, RATIO_PEER, LOST])
        }
        Test::FullEmpty => (test.unit(), &[RATIO_PEER]),
        Test::Overwrite => (test.unit(), &[PER_S, LOST, FAIR_P]),
        Test::Round => (test.unit(), &[PER_S, RATIO_PEER]),
        Test::Owner | Test::HungryThief | Test::Stolen | Test::Pool => steal::columns(test),
        _ if result.is_of_executor() => executor::columns(test),
        // Only of suites that have words of their own.
        _ => (test.unit(), &[]),
    }
}

/// The results of one test and one set of parameters in the rounds of `group`.
pub(crate) fn table(
    all: &Results,
    results: &[&CellResult],
    group: Group,
    best_peer: Option<f64>,
) -> Table {
    let (value, columns) = columns(results[0]);
    let headings = columns.iter().map(|(heading, _)| *heading);
    let what = if results[0].is_of_executor() { "executor" } else { "queue" };
    let mut table = Table::new([what, value, "p25–p75"].into_iter().chain(headings));
    for result in results {
        let Some(summary) = result.groups.get(&group) else { continue };
        let floor = floor(all, result, group).map(|(_, floor)| floor);
        let beside = Yardsticks { floor, best_peer };
        let mut cells = vec![result.label(), short(summary.value.median), summary.value.spread()];
        cells.extend(columns.iter().map(|(_, cell)| cell(summary, beside).unwrap_or_default()));
        table.rows.push(Row { cells, is_quiet: result.peer || result.floor });
    }
    table
}

/// The purpose of the best queue of a table, if it needs no explanation.
pub(crate) fn purpose(result: &CellResult) -> Option<String> {
    let purpose = match &result.params.setting {
        Setting::Circle(circle) => {
            return Some(format!("for a ring of {} threads", circle.threads));
        }
        Setting::Wait(_) | Setting::Ipc(_) | Setting::Steal(_) | Setting::Executor(_) => {
            return None;
        }
        Setting::Pair(pair) => match (result.test, pair.batch) {
            _ if pair.payload != PayloadKind::U64 || pair.regime != Regime::Free => return None,
            (Test::Stream, 1) => "to stream items one by one".to_owned(),
            (Test::Stream, batch) => format!("to stream in batches of {batch}"),
            (Test::Rtt, _) => "for the shortest round trip".to_owned(),
            _ => "for the lowest median latency under this schedule".to_owned(),
        },
        Setting::Team(team) => match (result.test, team.batch) {
            _ if team.workload != Workload::Simple => return None,
            (Test::Throughput, 1) => format!("for {} threads", team.size),
            (Test::Throughput, n) => format!("for {} threads, {n} items a call,", team.size),
            (Test::DataLatency, _) => format!("for short stays, {} threads,", team.size),
            _ => return None,
        },
    };
    let wait = result.params.wait;
    let is_usual = match result.params.setting {
        Setting::Team(_) => wait == Wait::PauseYield,
        _ => wait != Wait::Greedy,
    };
    Some(match is_usual {
        true => purpose,
        false => format!("{}, {},", purpose.trim_end_matches(','), wait.words()),
    })
}

/// The meaning of the columns of a table of `test`, in a line or two.
pub(crate) fn legend(result: &CellResult) -> &'static str {
    match result.test {
        test if result.is_of_wait() => wait::legend(test),
        test if result.is_of_ipc() => ipc::legend(test),
        Test::Stream => {
            "Medians with quartiles; less is better. × floor: of a block_handoff of as many bytes. P batch, C batch: items that the \
             producer, the consumer moves before it waits; the smaller one is of the faster side."
        }
        Test::Rtt => "Medians with quartiles; less is better. × floor: of line_rtt.",
        Test::OpenLoop => {
            "Time from an item's intended send time to its pop. p99: one of a hundred items takes longer."
        }
        Test::Throughput => {
            "Medians with quartiles; less is better. M/s: million items a second. × peer, × floor: of the best bounded \
             peer, of block_handoff. fair P, fair C: items of the slowest producer, consumer per item of the fastest. \
             failed: calls in vain per item. run: items of one producer that a consumer gets in a row. counter, lock: what \
             an item costs if its producer and its consumer add to one counter, take one lock."
        }
        Test::DataLatency => {
            "Time that items stay in the queue. × peer, × floor: of the best bounded peer, of half a line_rtt. lost: \
             found no room."
        }
        Test::OpLatency => {
            "A push and a pop together, without the slowest hundredth. × peer: of the best bounded peer. lost: found no room."
        }
        Test::FullEmpty => {
            "Medians with quartiles; less is better. × peer: of the best bounded peer."
        }
        Test::Overwrite => {
            "M/s: million pushes a second. lost: overwritten before they were popped. fair P: items of the slowest producer \
             per item of the fastest. bbq doesn't overwrite: its producers wait."
        }
        Test::Round => {
            "Medians with quartiles; less is better. M/s: million messages a second. × peer: of the best bounded peer."
        }
        Test::Owner | Test::HungryThief | Test::Stolen | Test::Pool => steal::LEGEND,
        _ if result.is_of_executor() => executor::LEGEND,
        // Only of suites that have words of their own.
        _ => "",
    }
}

pub(crate) fn reading(result: &CellResult) -> &'static str {
    match result.test {
        _ if result.is_of_wait() => wait::READING,
        _ if result.is_of_ipc() => ipc::READING,
        _ if result.is_of_executor() => executor::READING,
        Test::Owner | Test::HungryThief | Test::Stolen | Test::Pool => steal::READING,
        Test::Stream | Test::Rtt | Test::OpenLoop => {
            "The batch columns are items moved per run of failed pushes (P) or pops (C): a side whose batch \
             is small is the faster one, waiting for the other. Handles in the loop are local variables, which the \
             compiler keeps in registers; handles in a field are behind a call that isn't inlined, as in most programs."
        }
        Test::Round => {
            "A message has gone round when all threads but the first have copied, freed and passed it on, and \
             the first thread, which sent it, has taken it back. With more threads than cores they yield while \
             they wait. × peer is a multiple of the best bounded peer, or of the best unbounded peer if all \
             queues of corelane are unbounded: less is better."
        }
        _ => {
            "2x4 is two producers and four consumers. Placed apart: no core has both sides; mixed: each core has both; \
             free: threads aren't pinned. Counter and lock are floors: what an item costs if its producer and its \
             consumer do nothing but add to one counter, or take one lock. Fairness (fair P, fair C) is the number of items of the slowest producer or consumer per \
             item of the fastest. × peer and × floor are multiples of the best bounded peer and of the floor: \
             less is better. Lost are items that no consumer popped: pushes that found no room and were not \
             retried, or overwritten items. Overwrite: 2x0 is without a consumer; there bbq is the queue whose \
             producers wait."
        }
    }
}
