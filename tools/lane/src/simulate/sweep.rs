//! Pipelines on more and more cores: a row for each queue, a column for each number of cores.

use maud::{Markup, html};

use super::outcome::{Cell, Simulation};
use super::text::{right_aligned, title};
use crate::number::short;
use crate::report::lines::{self, Line, Scale};

/// What is told of a cell.
struct Measure {
    name: &'static str,
    of: fn(&Cell) -> f64,
}

const MEASURES: [Measure; 2] = [
    Measure { name: "ns per item", of: |cell| cell.ns_per_item },
    Measure { name: "misses per item and queue", of: Cell::misses_per_queue },
];

/// What a queue gives on each number of cores.
struct Row<'a> {
    queue: &'a str,
    cells: Vec<&'a Cell>,
}

/// The rows of one regime's cells. After an interruption, rows may lack cells.
fn rows(cells: &[Cell]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for cell in cells {
        match rows.iter_mut().find(|row| row.queue == cell.queue) {
            Some(row) => row.cells.push(cell),
            None => rows.push(Row { queue: &cell.queue, cells: vec![cell] }),
        }
    }
    rows
}

/// All numbers of cores, from few to many.
fn numbers(cells: &[Cell]) -> Vec<usize> {
    let mut numbers: Vec<_> = cells.iter().map(|cell| cell.cores.len()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// What a row says in each column.
fn values(row: &Row<'_>, numbers: &[usize], measure: &Measure) -> Vec<String> {
    let value = |number: &usize| {
        let cell = row.cells.iter().find(|cell| cell.cores.len() == *number);
        cell.map_or_else(String::new, |cell| short((measure.of)(cell)))
    };
    numbers.iter().map(value).collect()
}

/// For the terminal.
pub(super) fn render(simulation: &Simulation) -> String {
    let mut text = format!("{}\n", simulation.circumstances());
    for cells in simulation.by_regime() {
        let numbers = numbers(cells);
        for measure in &MEASURES {
            let header =
                ["queue".to_owned()].into_iter().chain(numbers.iter().map(usize::to_string));
            let rows = rows(cells).into_iter().map(|row| {
                [row.queue.to_owned()].into_iter().chain(values(&row, &numbers, measure))
            });
            let table = right_aligned(header, rows);
            text.push_str(&format!(
                "\n{}; {} on so many cores\n{table}\n",
                title(&cells[0]),
                measure.name
            ));
        }
    }
    text.push_str(
        "\nPipelines: items go through a queue between each core and the next; a core alone pushes and \
         pops.\nA row of queues settles into one of several rhythms, and another --seed may show another. \
         All of it is \nsimulated.\n",
    );
    text
}

/// For the page.
pub(super) fn section(cells: &[Cell]) -> Markup {
    let numbers = numbers(cells);
    let rows = rows(cells);
    html! {
        section {
            h2 { (title(&cells[0])) }
            @for measure in &MEASURES {
                article {
                    h3 { (measure.name) " by number of cores" }
                    (chart(&rows, measure))
                    table {
                        thead { tr { th { "queue" } @for number in &numbers { th { (number) } } } }
                        tbody {
                            @for row in &rows {
                                tr {
                                    td { (row.queue) }
                                    @for value in values(row, &numbers, measure) { td { (value) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn chart(rows: &[Row<'_>], measure: &Measure) -> Markup {
    let line = |row: &Row<'_>| Line {
        name: row.queue.to_owned(),
        points: row.cells.iter().map(|cell| (cell.cores.len(), (measure.of)(cell))).collect(),
        beside: Vec::new(),
    };
    lines::chart("cores", measure.name, Scale::Linear, &rows.iter().map(line).collect::<Vec<_>>())
}
