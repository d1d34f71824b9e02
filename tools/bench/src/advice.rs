//! The recommendation, computed from the measured numbers.

use std::collections::BTreeSet;

use corelane_report::{Block, short, times};

use crate::catalogue;
use crate::results::{CellResult, Results, best_peer, comparable};
use crate::stats::Group;
use crate::suite::spsc::SpscSetting;

/// The queues to choose, by the results: a list for each group, and the library's warnings about
/// the queues that were picked. Empty if no queue can be recommended.
pub(crate) fn blocks(results: &Results) -> Vec<Block> {
    let (mut blocks, mut picked) = (Vec::new(), BTreeSet::new());
    for group in results.groups() {
        let picks = measurements(results.tables(group));
        let picks = picks.iter().filter_map(|tables| pick(results, tables, group));
        let (queues, points): (Vec<_>, Vec<_>) = picks.unzip();
        let points: Vec<_> = points.into_iter().flatten().collect();
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

/// The tables of each measurement: one for each condition.
fn measurements(tables: Vec<Vec<&CellResult>>) -> Vec<Vec<Vec<&CellResult>>> {
    let mut all: Vec<Vec<Vec<&CellResult>>> = Vec::new();
    for table in tables {
        let is_other = |other: &&mut Vec<Vec<&CellResult>>| {
            let other = other[0][0];
            let params = |result: &CellResult| result.params.in_any_condition();
            other.test == table[0].test && params(other) == params(table[0])
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

/// Fewest measurements for a rank.
pub(crate) const LEAST_ROUNDS: usize = 5;

/// Whether it is a queue of corelane for general use, and an item is visible when its push returns,
/// as with all peers. Queues for comparison or study say so. Queues that publish later are faster,
/// but can't be compared.
pub(crate) fn is_choice(result: &CellResult) -> bool {
    let entry = catalogue::find(&result.queue);
    let is_choice = entry.is_none_or(|entry| !entry.info.delayed && !entry.is_literature());
    !result.peer && !result.floor && is_choice
}

/// Relative difference that is not mentioned.
const LEVEL: f64 = 0.02;

/// The best queues of the tables of a measurement, one for each condition, and lines about them.
/// Tables have the fastest first. Only for tables whose purpose needs no explanation.
fn pick<'a>(
    results: &Results,
    tables: &[Vec<&'a CellResult>],
    group: Group,
) -> Option<(Vec<&'a str>, Vec<String>)> {
    // Some queues can't have all items.
    let has_ours = |table: &&Vec<&CellResult>| table.iter().any(|result| is_choice(result));
    let tables: &[_] = &tables.iter().filter(has_ours).cloned().collect::<Vec<_>>();
    let good: Option<Vec<_>> = tables.iter().map(|table| good(table, group)).collect();
    let good = good?;
    let purpose = purpose(results, good.first()?[0])?;
    let mut steady = good[0].iter().filter(|r| good.iter().all(|g| find(&r.queue, g).is_some()));
    let best = steady.clone().find(|result| is_usual(result)).or(steady.next());
    let chosen: Vec<_> = match best {
        // It is in all tables.
        Some(best) => tables.iter().filter_map(|table| find(&best.queue, table)).collect(),
        None => good.iter().map(|good| good[0]).collect(),
    };
    let line = match best {
        None => format!("{purpose} none is best everywhere: {}", each(&chosen, tables, group)),
        Some(best) if tables.len() > 1 && best.params.spsc().is_some() => {
            let (queue, unit) = (&best.queue, best.test.unit());
            let each = each(&chosen, tables, group);
            format!("{purpose} take {queue} ({unit}, the best peer in brackets): {each}")
        }
        Some(_) => format!("{purpose} {}", take_worst(results, &chosen, tables, group)?),
    };
    let queues = chosen.iter().map(|result| result.queue.as_str()).collect();
    let faster = faster_peers(&chosen, tables, group);
    Some((queues, std::iter::once(line).chain(faster).collect()))
}

fn find<'a>(queue: &str, table: &[&'a CellResult]) -> Option<&'a CellResult> {
    table.iter().copied().find(|result| result.queue == queue)
}

/// The purpose of a table, with the capacity if there are several.
fn purpose(results: &Results, first: &CellResult) -> Option<String> {
    let capacity = first.params.capacity;
    let is_other = |r: &CellResult| r.test == first.test && r.params.capacity != capacity;
    let purpose = first.suite().purpose(first)?;
    Some(match results.results.iter().any(is_other) {
        true => format!("{}, capacity {capacity},", purpose.trim_end_matches(',')),
        false => purpose,
    })
}

/// The queues chosen from each of the tables with their values.
fn each(chosen: &[&CellResult], tables: &[Vec<&CellResult>], group: Group) -> String {
    let is_one = chosen.iter().all(|result| result.queue == chosen[0].queue);
    let each = |(result, table): (&&CellResult, &Vec<&CellResult>)| {
        let value = short(result.median(group));
        let condition = result.suite().condition().unwrap_or_default();
        if !is_one {
            return format!("{} {condition} ({value})", result.queue);
        }
        let peer = best_peer(table);
        let peer = peer.map(|peer| format!(" ({} {})", peer.queue, short(peer.median(group))));
        format!("{condition}: {value}{}", peer.unwrap_or_default())
    };
    chosen.iter().zip(tables).map(each).collect::<Vec<_>>().join("; ")
}

/// What is claimed of a queue: the result in the worst condition.
fn take_worst(
    results: &Results,
    chosen: &[&CellResult],
    tables: &[Vec<&CellResult>],
    group: Group,
) -> Option<String> {
    let worst = chosen.iter().zip(tables);
    let (worst, table) =
        worst.max_by(|a, b| f64::total_cmp(&a.0.median(group), &b.0.median(group)))?;
    let value = worst.median(group);
    let peer = best_peer(table).and_then(|peer| against(worst, peer, group)).unwrap_or_default();
    // For several threads the line would be repeated many times.
    let floor = worst.floor_of(results, group).filter(|_| worst.params.spsc().is_some());
    let floor = floor.map(|(name, floor)| {
        format!(", {} the {name} floor of {}", times(value / floor), short(floor))
    });
    let (unit, condition) = (worst.test.unit(), condition(worst, tables));
    let floor = floor.unwrap_or_default();
    Some(format!("take {} ({} {unit}{condition}{peer}{floor})", worst.queue, short(value)))
}

/// A line about peers that are faster than the queues chosen from each of the tables.
fn faster_peers(
    chosen: &[&CellResult],
    tables: &[Vec<&CellResult>],
    group: Group,
) -> Option<String> {
    let faster = |(result, table): (&&CellResult, &Vec<&CellResult>)| {
        let peer = best_peer(table).filter(|peer| is_ahead(peer, result, group))?;
        let (value, peer_value) = (result.median(group), peer.median(group));
        let (ratio, condition) = (times(value / peer_value), condition(result, tables));
        let values = format!("{} against {}", short(peer_value), short(value));
        Some(format!("{} is {ratio} as fast as {}{condition} ({values})", peer.queue, result.queue))
    };
    let faster: Vec<_> = chosen.iter().zip(tables).filter_map(faster).collect();
    (!faster.is_empty()).then(|| format!("but a peer is faster: {}", faster.join("; ")))
}

/// Whether `result` is faster than `other` by more than the spread.
pub(crate) fn is_ahead(result: &CellResult, other: &CellResult, group: Group) -> bool {
    let spread = |result: &CellResult| result.groups.get(&group).map(|summary| summary.value);
    spread(result).zip(spread(other)).is_some_and(|(a, b)| a.n >= LEAST_ROUNDS && a.p75 < b.p25)
}

/// The queues of a table that may be its best: their quartiles overlap with those of the fastest.
/// `None` if there are too few rounds.
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

/// The condition of a result in words, unless it is the usual one and no table has another.
fn condition(result: &CellResult, tables: &[Vec<&CellResult>]) -> String {
    let is_usual = result.params.spsc().is_some_and(SpscSetting::is_usual);
    match result.suite().condition() {
        Some(_) if is_usual && tables.len() == 1 => String::new(),
        Some(condition) if result.params.spsc().is_some() => format!(" with {condition}"),
        Some(condition) => format!(" {condition}"),
        None => String::new(),
    }
}

/// How a result compares with the best peer. `None` if the peer is ahead, which has a line of its
/// own.
fn against(result: &CellResult, peer: &CellResult, group: Group) -> Option<String> {
    let (value, peer_value) = (result.median(group), peer.median(group));
    let (name, shown) = (&peer.queue, short(peer_value));
    if is_ahead(peer, result, group) {
        None
    } else if peer_value / value - 1.0 < LEVEL {
        Some(format!(", level with the best peer, {name} at {shown}"))
    } else {
        let faster = times(peer_value / value);
        Some(format!(", {faster} as fast as the best peer, {name} at {shown}"))
    }
}
