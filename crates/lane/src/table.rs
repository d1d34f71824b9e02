//! Results as text.

use comfy_table::{CellAlignment, Table, presets};

use crate::cli::Test;
use crate::grid::{self, Map};
use crate::number::{short, times};
use crate::results::{CellResult, Results, Summary};
use crate::stats::{Group, Quartiles};

/// All tables, group by group, with the floors.
pub(crate) fn render(results: &Results) -> String {
    let mut text = format!("{}\n", results.machine.summary());
    for group in results.groups() {
        text.push_str(&format!("\n{}; {}\n", place(results, group), floors(results, group)));
        for table in results.tables(group) {
            text.push_str(&format!("\n{}\n{}\n", title(table[0]), rows(results, &table, group)));
        }
        for map in grid::maps(results, group) {
            text.push_str(&format!("\n{}\n{}\n", map.title(), matrix(&map)));
        }
    }
    text.push_str(&left_out(results));
    text
}

/// What this table is about, in words.
pub(crate) fn title(result: &CellResult) -> String {
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
    format!(
        "{what}{regime}, {}, capacity {}, {}",
        params.payload.name(),
        params.capacity,
        params.wait.words()
    )
}

/// What a group means, as a heading.
pub(crate) fn place(results: &Results, group: Group) -> &'static str {
    match (results.machine.same_core, group) {
        (true, _) => "Same core: the threads take turns",
        (false, Group::Near) => "Near: the cores share a cache",
        (false, Group::Far) => "Far: the cores share no cache",
    }
}

/// One line on the rounds of a group and their floors.
pub(crate) fn floors(results: &Results, group: Group) -> String {
    let floor = |name, unit, quartiles: Option<Quartiles>| {
        quartiles.map_or_else(String::new, |q| {
            format!("; {name} {} {unit} ({}–{})", short(q.median), short(q.p25), short(q.p75))
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
pub(crate) fn left_out(results: &Results) -> String {
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
fn matrix(map: &Map<'_>) -> Table {
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

fn rows(results: &Results, table: &[&CellResult], group: Group) -> Table {
    let test = table[0].test;
    let floor = results.floor(test, group);
    let mut text = Table::new();
    text.load_style(presets::NOTHING);
    text.set_header(header(test));
    for result in table {
        let Some(summary) = result.groups.get(&group) else { continue };
        let name = if result.peer { format!("  {}", result.queue) } else { result.queue.clone() };
        let mut cells = vec![name];
        cells.extend(columns(test, summary, floor.map(|(_, floor)| floor)));
        text.add_row(cells);
    }
    align_right(&mut text);
    text
}

/// Names of the columns of a table of `test`.
pub(crate) fn header(test: Test) -> [&'static str; 6] {
    match test {
        Test::Stream => ["queue", "ns/item", "p25–p75", "× floor", "P batch", "C batch"],
        Test::Rtt => ["queue", "ns/transaction", "p25–p75", "× floor", "", ""],
        Test::OpenLoop => ["queue", "p50 ns", "p25–p75", "p99 ns", "p99.9 ns", "max ns"],
    }
}

/// The columns after the queue's name.
pub(crate) fn columns(test: Test, summary: &Summary, floor: Option<f64>) -> [String; 5] {
    let value = summary.value;
    let spread = format!("{}–{}", short(value.p25), short(value.p75));
    let last = match (test, summary.perceived_batch, summary.latency_ns) {
        (Test::OpenLoop, _, Some(l)) => [l.p99, l.p999, l.max].map(|ns| short(ns as f64)),
        (_, batch, _) => {
            let (p, c) = batch.map_or_else(Default::default, |batch| {
                (short(batch.producer), short(batch.consumer))
            });
            [floor.map_or_else(String::new, |floor| times(value.median / floor)), p, c]
        }
    };
    let [a, b, c] = last;
    [short(value.median), spread, a, b, c]
}
