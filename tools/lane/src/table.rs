//! Results as text.

use comfy_table::{CellAlignment, Table, presets};

use crate::grid::Map;
use crate::number::short;
use crate::results::{CellResult, Results};
use crate::stats::{Group, Quartiles};
use crate::suite::Suite;

/// All tables, group by group, with the floors.
pub(crate) fn render<S: Suite>(results: &Results<S>) -> String {
    let mut text = format!("{}\n", results.machine.summary());
    for group in results.groups() {
        text.push_str(&format!("\n{}; {}\n", place(results, group), floors(results, group)));
        for table in results.tables(group) {
            text.push_str(&format!("\n{}\n{}\n", S::title(table[0]), rows(results, &table, group)));
        }
        text.push_str(&S::more_text(results, group));
    }
    text.push_str(&left_out(results));
    text
}

/// What a group means, as a heading.
pub(crate) fn place<S: Suite>(results: &Results<S>, group: Group) -> &'static str {
    match (results.machine.same_core, group) {
        (true, _) => "Same core: the threads take turns",
        (false, Group::Near) => "Near: the cores share a cache",
        (false, Group::Far) => "Far: the cores share no cache",
    }
}

/// One line on the rounds of a group and their floors.
pub(crate) fn floors<S: Suite>(results: &Results<S>, group: Group) -> String {
    let floor = |name, unit, quartiles: Option<Quartiles>| {
        quartiles.map_or_else(String::new, |q| {
            format!("; {name} {} {unit} ({})", short(q.median), q.spread())
        })
    };
    format!(
        "{} rounds{}{}",
        results.rounds_of(group).count(),
        floor("line_rtt", "ns", results.line_rtt(group)),
        floor("block_handoff", "ns/u64", results.block_handoff(group)),
    )
}

/// What isn't in the numbers.
pub(crate) fn left_out<S: Suite>(results: &Results<S>) -> String {
    let mut text = String::new();
    if results.mixed_rounds > 0 {
        let rounds = results.mixed_rounds;
        text = format!("\n{rounds} mixed rounds left out: the cores moved between near and far.\n");
    }
    if results.interrupted {
        text.push_str("\nInterrupted: fewer rounds than asked for.\n");
    }
    text
}

/// Millions of items per second: the producer's load to the right, the consumer's upwards.
pub(crate) fn matrix(map: &Map<'_>) -> Table {
    let mut text = Table::new();
    text.load_style(presets::NOTHING);
    let columns = map.columns();
    let row = |c: u64| columns.iter().map(move |&p| map.at(p, c).map_or("".into(), short));
    for c in map.rows().into_iter().rev() {
        text.add_row(std::iter::once(format!("{c} ns")).chain(row(c)));
    }
    let loads = columns.iter().map(|p| format!("{p} ns"));
    text.add_row(std::iter::once("C / P".into()).chain(loads));
    align_right(&mut text);
    text
}

fn align_right(text: &mut Table) {
    for column in text.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

fn rows<S: Suite>(results: &Results<S>, table: &[&CellResult<S>], group: Group) -> Table {
    let test = table[0].test;
    let beside = results.yardsticks(table, group);
    let mut text = Table::new();
    text.load_style(presets::NOTHING);
    text.set_header(S::header(test));
    for result in table {
        let Some(summary) = result.groups.get(&group) else { continue };
        let name = result.label();
        let mut cells = vec![if result.peer { format!("  {name}") } else { name }];
        cells.extend(S::columns(test, summary, &beside));
        text.add_row(cells);
    }
    align_right(&mut text);
    text
}
