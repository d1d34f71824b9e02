//! What differs between tests in tables and reports: titles, columns, and what a value is compared with.

use corelane_report::{name, ratio, short, times};

use crate::kinds::{Operation, PayloadKind, Regime, Test, Workload};
use crate::pair::Wait;
use crate::params::{CircleSetting, PairSetting, Setting, TeamSetting};
use crate::results::{CellResult, Results};
use crate::sample::{Latency, Summary};
use crate::stats::Group;

/// The name of what the machine itself can do, and its value.
pub(crate) type FloorValue = (&'static str, f64);

/// What the values of a table are compared with.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Yardsticks {
    pub(crate) floor: Option<f64>,
    pub(crate) best_peer: Option<f64>,
}

/// The floor that values of `test` are compared with, if there is one.
pub(crate) fn floor(results: &Results, test: Test, group: Group) -> Option<FloorValue> {
    let line_rtt = || results.line_rtt(group).map(|q| q.median);
    match test {
        Test::Stream | Test::Throughput => {
            results.block_handoff(group).map(|q| ("block_handoff", q.median))
        }
        Test::Rtt => line_rtt().map(|ns| ("line_rtt", ns)),
        // No news travels faster than a flag.
        Test::DataLatency => line_rtt().map(|ns| ("half line_rtt", ns / 2.0)),
        // There is no floor for waiting in a queue, nor for copies; and calls needn't reach another core.
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
                (format!("{what}, {workload} workload, {capacity}"), Some(size))
            }
        },
        Setting::Circle(CircleSetting { threads, in_flight }) => {
            let title = format!("threads in a ring, {in_flight} messages under way, {capacity}");
            (title, Some(format!("{threads} threads, {wait}")))
        }
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
    format!("{what}, {} ({load_p_ns}/{load_c_ns} ns load), {payload}", name(&pair.regime))
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

pub(crate) fn title(result: &CellResult) -> String {
    let (title, size) = chart_titles(result);
    size.map_or(title.clone(), |size| format!("{title}, {size}"))
}

pub(crate) fn header(test: Test) -> &'static [&'static str] {
    match test {
        Test::Stream => &["queue", "ns/item", "p25–p75", "× floor", "P batch", "C batch"],
        Test::Rtt => &["queue", "ns/transaction", "p25–p75", "× floor"],
        Test::OpenLoop => &["queue", "p50 ns", "p25–p75", "p99 ns", "p99.9 ns", "max ns"],
        Test::Throughput => {
            &["queue", "ns/item", "p25–p75", "M/s", "× peer", "× floor", "fair P", "fair C"]
        }
        Test::DataLatency => {
            &["queue", "mean ns", "p25–p75", "p50 ns", "p99 ns", "× peer", "× floor", "lost"]
        }
        Test::OpLatency => &[
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
        Test::FullEmpty => &["queue", "ns/call", "p25–p75", "× peer"],
        Test::Overwrite => &["queue", "ns/push", "p25–p75", "M/s", "lost", "fair P"],
        Test::Round => &["queue", "ns/message", "p25–p75", "M/s", "× peer"],
    }
}

pub(crate) fn columns(test: Test, summary: &Summary, beside: Yardsticks) -> Vec<String> {
    let value = summary.value;
    let to = |other: Option<f64>| other.map(|other| ratio(value.median / other));
    let (peer, floor) = (to(beside.best_peer), to(beside.floor));
    let lost = summary.lost.map(|share| format!("{:.0} %", 100.0 * share));
    let fair = |share: f64| format!("{share:.2}");
    let fair_p = summary.fairness.map(|fairness| fair(fairness.producers));
    let at = |times: Option<Latency>, which: fn(Latency) -> u64| {
        times.map(|times| short(which(times) as f64))
    };
    let quantiles = |times| [at(times, |times| times.p50), at(times, |times| times.p99)];
    let per_s = summary.items_per_s.or(summary.messages_per_s).map(|count| short(count / 1e6));
    let rest = match test {
        Test::Stream => {
            let batch = summary.perceived_batch;
            let floor = beside.floor.map(|floor| times(value.median / floor));
            vec![floor, batch.map(|b| short(b.producer)), batch.map(|b| short(b.consumer))]
        }
        Test::Rtt => vec![beside.floor.map(|floor| times(value.median / floor))],
        Test::OpenLoop => {
            let latency = summary.latency_ns;
            vec![at(latency, |l| l.p99), at(latency, |l| l.p999), at(latency, |l| l.max)]
        }
        Test::Throughput => {
            let fair_c = summary.fairness.map(|fairness| fair(fairness.consumers));
            vec![per_s, peer, floor, fair_p, fair_c]
        }
        Test::DataLatency => [&quantiles(summary.latency_ns)[..], &[peer, floor, lost]].concat(),
        Test::OpLatency => {
            let (push, pop) = (quantiles(summary.push_ns), quantiles(summary.pop_ns));
            [&push[..], &pop, &[peer, lost]].concat()
        }
        Test::FullEmpty => vec![peer],
        Test::Overwrite => vec![per_s, lost, fair_p],
        Test::Round => vec![per_s, peer],
    };
    let first = [short(value.median), value.spread()];
    first.into_iter().chain(rest.into_iter().map(Option::unwrap_or_default)).collect()
}

/// What the best queue of a table is good for, if that needs no further words.
pub(crate) fn purpose(result: &CellResult) -> Option<String> {
    let purpose = match &result.params.setting {
        Setting::Circle(circle) => {
            return Some(format!("for a ring of {} threads", circle.threads));
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
    Some(match result.params.wait {
        Wait::Greedy if purpose.ends_with(',') => format!("{purpose} waiting greedily,"),
        Wait::Greedy => format!("{purpose}, waiting greedily,"),
        Wait::Pause | Wait::Yield => purpose,
    })
}

pub(crate) fn reading(test: Test) -> &'static str {
    match test {
        Test::Stream | Test::Rtt | Test::OpenLoop => {
            "The batch columns are items moved per run of failed pushes (P) or pops (C): a side whose batch \
             is small is the faster one, waiting for the other."
        }
        Test::Round => {
            "A message has gone round when it was copied, freed and passed on by all threads but the first, \
             which sent it and takes it back. With more threads than cores they yield while they wait. × \
             peer is a multiple of the best bounded peer, or unbounded if all of ours are: less is better."
        }
        _ => READING_OF_SEVERAL,
    }
}

const READING_OF_SEVERAL: &str = "2x4 is two producers and four consumers; with more threads than cores they yield while they wait. \
     Fairness (fair P, fair C) is what the slowest producer or consumer moved per item of the fastest. × \
     peer and × floor are multiples of the best bounded peer and of the floor: less is better. Lost are \
     items that nobody popped: pushes that found no room and were not tried again, or what was overwritten. \
     Overwrite: 2x0 is without a consumer; there bbq is the queue whose producers wait.";
