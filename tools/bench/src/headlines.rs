//! Headings that say the result.

use std::collections::BTreeMap;

use corelane_report::short;

use crate::advice::{LEAST_ROUNDS, is_choice};
use crate::results::{CellResult, Results, best_peer, comparable};
use crate::stats::Group;

/// The result of all tables of a group.
pub(crate) fn of_group(results: &Results, group: Group) -> String {
    let place = match (results.machine.same_core, group) {
        (true, _) => "On one core",
        (false, Group::Near) => "Between near cores",
        (false, Group::Far) => "Between far cores",
    };
    let tables = results.tables(group);
    match most_often(&tables, group) {
        Some(most) => format!("{place} {most}"),
        None if !tables.iter().any(|table| table[0].test.is_time()) => place.into(),
        None => format!("{place} nothing is ranked: a rank needs {LEAST_ROUNDS} rounds"),
    }
}

/// The result of the tables of a chart; `None` if they have too few rounds.
pub(crate) fn of_chart(tables: &[Vec<&CellResult>], group: Group) -> Option<String> {
    let [table] = tables else { return most_often(tables, group) };
    let first = fastest(table, group)?;
    let (value, unit) = (short(first.median(group)), first.test.unit());
    let ours = || comparable(table).into_iter().find(|result| is_choice(result));
    let other = if first.peer { ours() } else { best_peer(table) };
    let other = other.map(|other| {
        let value = short(other.median(group));
        match other.peer {
            true => format!(", and the best peer, {}, {value}", other.queue),
            false => format!(", and {} {value}", other.queue),
        }
    });
    let label = first.label();
    Some(format!("{label} takes {value} {unit}{}", other.unwrap_or_default()))
}

/// Which queue is first in most tables.
fn most_often(tables: &[Vec<&CellResult>], group: Group) -> Option<String> {
    let mut firsts: BTreeMap<String, usize> = BTreeMap::new();
    for first in tables.iter().filter_map(|table| fastest(table, group)) {
        *firsts.entry(first.label()).or_default() += 1;
    }
    let all: usize = firsts.values().sum();
    let (queue, count) = firsts.into_iter().max_by_key(|(_, count)| *count)?;
    Some(format!("{queue} takes the least time in {count} of {all} tests"))
}

/// The first of a table of times, if it has enough rounds, and all have the same load. Queues that
/// are there to compare don't count.
fn fastest<'a>(table: &[&'a CellResult], group: Group) -> Option<&'a CellResult> {
    let load = |result: &&CellResult| Some(result.groups.get(&group)?.offered?.per_s);
    if table.iter().any(|result| load(result) != table.first().and_then(load)) {
        return None;
    }
    table.first().filter(|first| first.test.is_time())?;
    let mut all = comparable(table).into_iter();
    let first = all.find(|result| result.peer || is_choice(result))?;
    let rounds = first.groups.get(&group)?.value.n;
    (rounds >= LEAST_ROUNDS).then_some(first)
}
