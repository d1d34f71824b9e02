//! The recommendation, computed from the measured numbers.

use std::collections::BTreeSet;

use corelane_report::{Block, name, short, times};

use crate::catalogue;
use crate::kinds::Test;
use crate::results::{CellResult, Results, best_peer, comparable};
use crate::stats::Group;
use crate::words;

/// The queues to choose, by the results: a list for each group, and the library's warnings about the queues that were
/// picked. Empty if no queue can be recommended.
pub(crate) fn blocks(results: &Results) -> Vec<Block> {
    let (mut blocks, mut picked) = (Vec::new(), BTreeSet::new());
    for group in results.groups() {
        let picks = placements(results.tables(group));
        let picks = picks.iter().filter_map(|tables| pick(results, tables, group));
        let (queues, points): (Vec<_>, Vec<_>) = picks.unzip();
        if let Some(when) = when(results, group).filter(|_| !points.is_empty()) {
            blocks.extend([Block::heading(3, when), Block::List(points)]);
        }
        picked.extend(queues.into_iter().flatten());
    }
    if !blocks.is_empty() {
        let caveat = |id| Some(format!("{id} {}", catalogue::find(id)?.info.avoid));
        let caveats = picked.into_iter().filter_map(caveat).collect();
        blocks.extend([Block::heading(3, "But don't take:"), Block::List(caveats)]);
    }
    blocks
}

/// The tables of each measurement: one for each placement.
fn placements(tables: Vec<Vec<&CellResult>>) -> Vec<Vec<Vec<&CellResult>>> {
    let mut all: Vec<Vec<Vec<&CellResult>>> = Vec::new();
    for table in tables {
        let is_other = |other: &&mut Vec<Vec<&CellResult>>| {
            let other = other[0][0];
            other.test == table[0].test && other.params.anywhere() == table[0].params.anywhere()
        };
        match all.iter_mut().find(is_other) {
            Some(tables) => tables.push(table),
            None => all.push(vec![table]),
        }
    }
    all
}

fn when(results: &Results, group: Group) -> Option<String> {
    let (rounds, all) = (results.rounds_of(group).count(), results.rounds.len());
    let distance = short(results.line_rtt(group)?.median);
    let place = match (results.machine.same_core, group) {
        (true, _) => "With both threads on one core",
        (false, Group::Near) => "While the cores are near",
        (false, Group::Far) => "While the cores are far",
    };
    Some(format!("{place} (line_rtt {distance} ns, {rounds} of {all} rounds):"))
}

/// The queues to choose if others are no faster.
const USUAL: [&str; 2] = ["linering", "bbq"];

/// Fewest measurements for a recommendation.
pub(crate) const LEAST_ROUNDS: usize = 3;

/// Whether it is a queue of corelane for general use, and an item is visible when its push returns, as with all peers.
/// Queues for comparison or study say so. Queues that publish later are faster, but can't be compared.
pub(crate) fn is_choice(result: &CellResult) -> bool {
    let info = catalogue::find(&result.queue).map(|entry| entry.info);
    !result.peer
        && !result.floor
        && info.is_none_or(|info| !info.delayed && !info.choose.starts_with("to "))
}

/// Relative difference that is not mentioned.
const LEVEL: f64 = 0.02;

/// The best queues of the tables of a measurement's placements, and a line about them. Tables have the fastest first.
/// Only for tables whose purpose needs no explanation.
fn pick<'a>(
    results: &Results,
    tables: &[Vec<&'a CellResult>],
    group: Group,
) -> Option<(Vec<&'a str>, String)> {
    let good: Option<Vec<_>> = tables.iter().map(|table| good(table, group)).collect();
    let good = good?;
    let purpose = words::purpose(good[0][0])?;
    let of = |queue: &str, all: &[&'a CellResult]| all.iter().copied().find(|r| r.queue == queue);
    let mut steady = good[0].iter().filter(|r| good.iter().all(|g| of(&r.queue, g).is_some()));
    let Some(best) = steady.clone().find(|result| is_usual(result)).or(steady.next()) else {
        let each = |good: &Vec<&CellResult>| {
            let value = short(good[0].median(group));
            format!("{}{} ({value})", good[0].queue, placed(good[0]))
        };
        let each = good.iter().map(each).collect::<Vec<_>>().join(", ");
        let queues = good.iter().map(|good| good[0].queue.as_str()).collect();
        return Some((queues, format!("{purpose} none is best everywhere: {each}")));
    };
    // What is claimed is the result of the worst placement.
    let values = tables.iter().filter_map(|table| Some((of(&best.queue, table)?, table)));
    let (worst, table) =
        values.max_by(|a, b| f64::total_cmp(&a.0.median(group), &b.0.median(group)))?;
    let value = worst.median(group);
    let peer = best_peer(table).map(|peer| against(value, &peer.queue, peer.median(group)));
    // For several threads the line would be repeated many times.
    let floor =
        words::floor(results, best.test, group).filter(|_| !Test::MPMC.contains(&best.test));
    let floor = floor.map(|(name, floor)| {
        format!(", {} the {name} floor of {}", times(value / floor), short(floor))
    });
    let line = format!(
        "{purpose} take {} ({} {}{}{}{})",
        best.queue,
        short(value),
        best.test.unit(),
        placed(worst),
        peer.unwrap_or_default(),
        floor.unwrap_or_default()
    );
    Some((vec![&best.queue], line))
}

/// The queues of a table that may be its best: their quartiles overlap with those of the fastest. `None` if there are
/// too few rounds.
fn good<'a>(table: &[&'a CellResult], group: Group) -> Option<Vec<&'a CellResult>> {
    let mut ours = comparable(table);
    ours.retain(|result| is_choice(result));
    let spread = |result: &CellResult| result.groups.get(&group).map(|s| s.value);
    let first = spread(ours.first()?).filter(|first| first.n >= LEAST_ROUNDS)?;
    ours.retain(|result| spread(result).is_some_and(|q| q.p25 <= first.p75 && q.n >= LEAST_ROUNDS));
    Some(ours)
}

fn is_usual(result: &CellResult) -> bool {
    USUAL.contains(&result.queue.as_str())
}

/// The placement of a result in words, if it has one.
fn placed(result: &CellResult) -> String {
    result.params.placement().map_or(String::new(), |placement| format!(" {}", name(&placement)))
}

/// How `value` compares with the value of the best peer.
fn against(value: f64, name: &str, peer: f64) -> String {
    let peer_value = short(peer);
    if (peer / value - 1.0).abs() < LEVEL {
        format!(", level with the best peer, {name} at {peer_value}")
    } else if peer > value {
        let faster = times(peer / value);
        format!(", {faster} as fast as the best peer, {name} at {peer_value}")
    } else {
        let slower = times(value / peer);
        format!(", though the best peer, {name} at {peer_value}, is {slower} as fast")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The recommendation for medians of queues in placements, with quartiles 1 below and 1 above.
    fn advice(medians: &[(&str, &str, f64)]) -> Vec<String> {
        let result = |&(queue, placement, median): &(&str, &str, f64)| {
            json!({
                "suite": "mpmc", "test": "throughput", "queue": queue, "unit": "ns/item",
                "peer": queue == "kanal", "floor": queue == "counter",
                "params": { "producers": 2, "consumers": 2, "placement": placement, "capacity": 8, "batch": 1,
                            "workload": "simple", "wait": "pause-yield" },
                "groups": { "near": { "n": 3, "p25": median - 1.0, "median": median, "p75": median + 1.0 } },
            })
        };
        let results = json!({
            "schema": 1, "command": "", "unix_time": 0, "interrupted": false, "mixed_rounds": 0,
            "machine": { "cpu": "", "cpus": 2, "virtual_machine": false, "arch": "", "os": "", "cores": [0, 1],
                         "same_core": false, "optimised": true },
            "rounds": [{ "line_rtt_ns": 100.0, "block_handoff_ns_per_u64": 1.0, "group": "near" }],
            "results": medians.iter().map(result).collect::<Vec<_>>(),
        });
        match &blocks(&serde_json::from_value(results).expect("they have the shape of a file"))[1] {
            Block::List(points) => points.clone(),
            _ => panic!("no list"),
        }
    }

    #[test]
    fn a_queue_must_be_among_the_best_in_all_placements() {
        let mut medians = vec![
            ("counter", "apart", 1.0),
            ("scq", "apart", 10.0),
            ("bbq", "apart", 11.0),
            ("kanal", "apart", 12.0),
            ("bbq", "mixed", 20.0),
            ("scq", "mixed", 30.0),
            ("kanal", "mixed", 40.0),
        ];
        let line = "for 2x2 threads take bbq (20.0 ns/item mixed, 2.0× as fast as the best peer, kanal at 40.0)";
        assert_eq!(advice(&medians), [line]);
        medians.push(("scq", "free", 10.0));
        medians.push(("bbq", "free", 13.0));
        let line = "for 2x2 threads none is best everywhere: scq apart (10.0), bbq mixed (20.0), scq free (10.0)";
        assert_eq!(advice(&medians), [line]);
    }
}
