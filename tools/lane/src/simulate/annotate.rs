//! A queue's source with what each line costs.

use std::collections::BTreeSet;

use corelane_models::source;

use super::outcome::{Cell, LineCosts, SideCosts, Simulation};
use super::text::title;

/// Lines that are shown before and after one that costs something.
const AROUND: u32 = 2;

/// A line of the source, and what it costs either side. `None` stands for lines left out.
pub(super) type Annotated<'a> = Option<Line<'a>>;

/// A line of the source.
pub(super) struct Line<'a> {
    pub(super) number: u32,
    pub(super) text: &'a str,
    /// The producer's costs, and the consumer's.
    pub(super) costs: [Option<&'a LineCosts>; 2],
}

/// The files in which accesses of a cell are.
pub(super) fn files(cell: &Cell) -> BTreeSet<&str> {
    let lines = cell.producer.lines.iter().chain(&cell.consumer.lines);
    lines.map(|line| line.file.as_str()).filter(|file| source(file).is_some()).collect()
}

/// The lines of `file` that cost something, and those around them.
pub(super) fn lines<'a>(cell: &'a Cell, file: &str) -> Vec<Annotated<'a>> {
    let find = |side: &'a SideCosts, number| {
        side.lines.iter().find(|line| line.file == file && line.line == number)
    };
    let costly: BTreeSet<u32> = [&cell.producer, &cell.consumer]
        .into_iter()
        .flat_map(|side| side.lines.iter().filter(|line| line.file == file))
        .map(|line| line.line)
        .collect();
    let is_shown = |number: u32| {
        costly.range(number.saturating_sub(AROUND)..=number + AROUND).next().is_some()
    };
    let mut shown = Vec::new();
    for (number, text) in (1..).zip(source(file).unwrap_or_default().lines()) {
        if is_shown(number) {
            let costs = [&cell.producer, &cell.consumer].map(|side| find(side, number));
            shown.push(Some(Line { number, text, costs }));
        } else if shown.last().is_some_and(Option::is_some) {
            shown.push(None);
        }
    }
    shown
}

/// The share of a side's stalls that a line has.
pub(super) fn stall_share(line: &LineCosts, side: &SideCosts) -> f64 {
    line.costs.stall_ns / side.costs.stall_ns.max(f64::MIN_POSITIVE)
}

/// For the terminal.
pub(super) fn render(simulation: &Simulation) -> String {
    simulation.cells.iter().map(render_cell).collect()
}

fn render_cell(cell: &Cell) -> String {
    let mut text = format!("\n{}, {}\n", cell.queue, title(cell));
    for file in files(cell) {
        text.push_str(&format!("\n  P misses stall   C misses stall   {file}\n"));
        for line in lines(cell, file) {
            text.push_str(&match line {
                Some(line) => render_line(cell, &line),
                None => format!("{:37}⋯\n", ""),
            });
        }
    }
    let [p, c] = [&cell.producer, &cell.consumer].map(|side| side.costs.misses);
    text.push_str(&format!(
        "\n  {p:>8.2} misses per item of the producer, {c:.2} of the consumer\n"
    ));
    text
}

fn render_line(cell: &Cell, line: &Line<'_>) -> String {
    let sides = [&cell.producer, &cell.consumer];
    let [p, c] = [0, 1].map(|side| match line.costs[side] {
        Some(costs) => {
            let share = 100.0 * stall_share(costs, sides[side]);
            format!("{:8.2} {share:3.0} %", costs.costs.misses)
        }
        None => " ".repeat(14),
    });
    format!("  {p}   {c} {:>5} {}\n", line.number, line.text).trim_end().to_owned() + "\n"
}
