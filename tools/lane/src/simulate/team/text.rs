//! What came out, on the terminal.

use std::iter;

use comfy_table::Table;

use super::outcome::{Cell, Outcome};
use super::series::{self, MEASURES, Measure, Measured, Series};
use crate::number::short;
use crate::simulate::text::right_aligned;

/// What the columns of a comparison are.
pub(super) const COMPARED: [&str; 6] =
    ["threads", "workload", "the paper's", "simulated", "misses saved", "next best here"];

/// What the columns of a ranking are.
pub(super) const RANKED: [&str; 3] = ["threads", "the paper's", "simulated"];

/// What the columns of a table of cells are.
pub(super) const COLUMNS: [&str; 10] = [
    "threads",
    "queue",
    "M items/s",
    "misses",
    "P misses",
    "C misses",
    "P fair",
    "C fair",
    "P failed",
    "C failed",
];

/// All of it.
pub(super) fn render(outcome: &Outcome) -> String {
    let mut text = format!("{}\n", outcome.circumstances());
    for cells in outcome.by_workload() {
        let workload = cells[0].workload.name();
        let shown = |cell: &&Cell| !outcome.sweep || cell.producers == cell.consumers;
        let shown: Vec<_> = cells.iter().filter(shown).collect();
        if !shown.is_empty() {
            text.push_str(&format!("\nworkload {workload}\n{}\n", table(&shown)));
        }
        if outcome.sweep {
            text.extend(
                series::of(cells, outcome.beside.as_ref()).map(|series| tables(workload, &series)),
            );
        }
    }
    if !outcome.comparisons.is_empty() {
        let rows = outcome.comparisons.iter().map(compared);
        text.push_str(&format!(
            "\nthroughput of the best bbq for that of the next best queue; Wang 2024, Figs 2.8 and 2.9, on \
             x86-88T\n{}\n",
            right_aligned(COMPARED, rows)
        ));
    }
    if !outcome.rankings.is_empty() {
        text.push_str(&format!(
            "\nfrom the fastest to the slowest, workload simple; Wang 2024, Fig. 3.7, on 88 hyperthreads\n{}\n",
            right_aligned(RANKED, outcome.rankings.iter().map(ranked))
        ));
    }
    let measured = outcome.measured();
    let all = if measured.is_some() { "else" } else { "of it" };
    text.push_str(&format!(
        "\nAll {all} is simulated. Misses are those of private caches, of all threads, per item popped; P \
         are producers, \nC consumers. Fair: items of the slowest thread for each of the fastest. Failed: \
         calls that found the \nqueue full or empty, per item. Complex: up to 30 ns of work before each \
         call; allocation isn't simulated.\n",
    ));
    if let Some(note) = outcome.of_overwriting() {
        text.push_str(&format!("{note}\n"));
    }
    if let Some(measured) = measured {
        text.push_str(&format!("{measured}\n"));
    }
    for missing in &outcome.missing {
        text.push_str(&format!("\nNo result: {}\n", missing.why));
    }
    if outcome.interrupted {
        text.push_str("\nInterrupted: the rest is left out.\n");
    }
    text
}

fn table(cells: &[&Cell]) -> Table {
    right_aligned(COLUMNS, cells.iter().map(|cell| row(cell)))
}

/// What is said of a cell, by [`COLUMNS`].
pub(super) fn row(cell: &Cell) -> [String; 10] {
    let [p, c] = &cell.sides;
    [
        format!("{}x{}", cell.producers, cell.consumers),
        cell.queue.clone(),
        short(cell.millions_per_s()),
        short(cell.misses_per_item),
        short(p.costs.misses),
        short(c.costs.misses),
        format!("{:.2}", p.fairness),
        format!("{:.2}", c.fairness),
        short(p.failed_per_item),
        short(c.failed_per_item),
    ]
}

fn tables(workload: &str, series: &Series<'_>) -> String {
    let table = |measure: &Measure| {
        let header =
            ["queue".to_owned()].into_iter().chain(series.numbers.iter().map(usize::to_string));
        format!(
            "\n{workload}, {}: {} by {}\n{}\n",
            series.growing.title(),
            measure.name,
            series.growing.axis(),
            right_aligned(header, rows(series, measure))
        )
    };
    MEASURES.iter().map(table).collect()
}

/// For each queue its name, and a value for each number of threads; empty where there is none. Behind them what was
/// measured.
pub(super) fn rows<'a>(
    series: &'a Series<'_>,
    measure: &'a Measure,
) -> impl Iterator<Item = Vec<String>> + 'a {
    let row = |name: String, value: &dyn Fn(usize) -> Option<f64>| {
        let values =
            series.numbers.iter().map(|number| value(*number).map_or_else(String::new, short));
        iter::once(name).chain(values).collect()
    };
    let simulated = series.rows.iter().map(move |(queue, cells)| {
        let cell = |number| cells.iter().find(|(at, _)| *at == number);
        row((*queue).to_owned(), &|number| cell(number).map(|(_, cell)| (measure.of)(cell)))
    });
    let beside = series.beside.iter().filter(|_| measure.is_throughput);
    simulated.chain(beside.map(move |Measured { queue, distance, points }| {
        let point = |number| points.iter().find(|(at, _)| *at == number);
        row(format!("{queue}, measured {distance}"), &|number| {
            point(number).map(|(_, value)| *value)
        })
    }))
}

/// What is said of a ranking, by [`RANKED`].
pub(super) fn ranked(ranking: &super::ranking::Ranking) -> [String; 3] {
    [ranking.threads.into(), ranking.told(), ranking.here()]
}

/// What is said of a comparison, by [`COMPARED`].
pub(super) fn compared(comparison: &super::comparison::Comparison) -> [String; 6] {
    let [throughput, misses] = comparison.here();
    let (workload, told) = (comparison.workload.name().to_owned(), comparison.told());
    [comparison.threads.into(), workload, told, throughput, misses, comparison.others()]
}
