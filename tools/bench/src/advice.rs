//! The recommendation, computed from the measured numbers.

use std::collections::BTreeSet;

use corelane_report::{Block, short, times};

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
        let tables = results.tables(group);
        let picks = tables.iter().filter_map(|table| pick(results, table, group));
        let (queues, points): (Vec<_>, Vec<_>) = picks.unzip();
        if let Some(when) = when(results, group).filter(|_| !points.is_empty()) {
            blocks.extend([Block::heading(3, when), Block::List(points)]);
        }
        picked.extend(queues);
    }
    if !blocks.is_empty() {
        let caveat = |id| Some(format!("{id} {}", catalogue::find(id)?.info.avoid));
        let caveats = picked.into_iter().filter_map(caveat).collect();
        blocks.extend([Block::heading(3, "But don't take:"), Block::List(caveats)]);
    }
    blocks
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
    !result.peer && info.is_none_or(|info| !info.delayed && !info.choose.starts_with("to "))
}

/// Relative difference that is not mentioned.
const LEVEL: f64 = 0.02;

/// The best queue of a table that has the fastest first, and a line about it. Only for tables whose purpose needs no
/// explanation.
fn pick<'a>(
    results: &Results,
    table: &[&'a CellResult],
    group: Group,
) -> Option<(&'a str, String)> {
    let mut ours = comparable(table);
    ours.retain(|result| is_choice(result));
    let spread = |result: &CellResult| result.groups.get(&group).map(|s| s.value);
    let first = spread(ours.first()?)?;
    // A queue whose quartiles overlap with those of the fastest may be as fast.
    ours.retain(|result| spread(result).is_some_and(|q| q.p25 <= first.p75));
    let usual = ours.iter().find(|result| USUAL.contains(&result.queue.as_str()));
    let best = *usual.or(ours.first())?;
    if spread(best)?.n < LEAST_ROUNDS {
        return None;
    }
    let (purpose, value) = (words::purpose(best)?, best.median(group));
    let peer = best_peer(table).map(|peer| against(value, &peer.queue, peer.median(group)));
    // For several threads the line would be repeated many times.
    let floor =
        words::floor(results, best.test, group).filter(|_| !Test::MPMC.contains(&best.test));
    let floor = floor.map(|(name, floor)| {
        format!(", {} the {name} floor of {}", times(value / floor), short(floor))
    });
    let line = format!(
        "{purpose} take {} ({} {}{}{})",
        best.queue,
        short(value),
        best.test.unit(),
        peer.unwrap_or_default(),
        floor.unwrap_or_default()
    );
    Some((&best.queue, line))
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
