//! A simulation on the terminal.

use comfy_table::{CellAlignment, Table, presets};

use super::Regime;
use super::outcome::{Cell, SideCosts, Simulation};
use crate::number::short;

/// The tables, a regime each; a grid is told by its extremes.
pub(super) fn render(simulation: &Simulation) -> String {
    let mut text = format!("{}\n", simulation.circumstances());
    if simulation.cells.first().is_some_and(|cell| cell.regime == Regime::Grid) {
        text.push_str(&format!(
            "\nmisses per item over loads of 0 to 90 ns\n{}\n",
            grid(simulation)
        ));
    } else {
        for cells in simulation.by_regime() {
            let table = match cells[0].forwarders {
                Some(_) => pipelines(cells),
                None => table(cells),
            };
            text.push_str(&format!("\n{}\n{table}\n", title(&cells[0])));
        }
        text.push_str(
            "\nMisses per item: reads of a line that isn't there + writes to one + writes to a line that \
             \nothers share; P is the producer, C the consumer. All of it is simulated.\n",
        );
        if simulation.cells.iter().any(|cell| cell.forwarders.is_some()) {
            text.push_str(
                "F: what each thread between them pays, on average, for a pop and a push.\n",
            );
        }
    }
    if simulation.interrupted {
        text.push_str("\nInterrupted: the rest is left out.\n");
    }
    text
}

/// The regime, for people.
pub(super) fn title(cell: &Cell) -> String {
    let Cell { load_p_ns, load_c_ns, .. } = cell;
    match cell.regime {
        Regime::Turns => "turns: one side fills the queue, then the other empties it".into(),
        regime => format!("{}: loads of {load_p_ns} and {load_c_ns} ns", regime.name()),
    }
}

fn table(cells: &[Cell]) -> Table {
    let kinds = |side: &SideCosts| {
        let costs = side.costs;
        format!("{:.2} + {:.2} + {:.2}", costs.read_misses, costs.write_misses, costs.upgrades)
    };
    let header = [
        "queue",
        "P misses",
        "C misses",
        "P rd+wr+up",
        "C rd+wr+up",
        "P stall ns",
        "C stall ns",
        "P batch",
        "C batch",
        "ns/item",
    ];
    let rows = cells.iter().map(|cell| {
        let (p, c) = (&cell.producer, &cell.consumer);
        [
            cell.queue.clone(),
            format!("{:.3}", p.costs.misses),
            format!("{:.3}", c.costs.misses),
            kinds(p),
            kinds(c),
            short(p.costs.stall_ns),
            short(c.costs.stall_ns),
            short(p.perceived_batch),
            short(c.perceived_batch),
            short(cell.ns_per_item),
        ]
    });
    right_aligned(header, rows)
}

/// Queues with threads between producer and consumer.
fn pipelines(cells: &[Cell]) -> Table {
    let names = |what: &str| {
        let named = |(side, _)| format!("{side} {what}");
        cells[0].sides().map(named).collect::<Vec<_>>()
    };
    let header = [vec!["queue".into()], names("misses"), names("stall ns"), vec!["ns/item".into()]];
    let rows = cells.iter().map(|cell| {
        let misses = cell.sides().map(|(_, side)| format!("{:.3}", side.costs.misses));
        let stalls = cell.sides().map(|(_, side)| short(side.costs.stall_ns));
        [
            vec![cell.queue.clone()],
            misses.collect(),
            stalls.collect(),
            vec![short(cell.ns_per_item)],
        ]
        .concat()
    });
    right_aligned(header.concat(), rows)
}

/// For each queue the fewest and the most misses of a producer, and of a consumer.
fn grid(simulation: &Simulation) -> Table {
    let mut queues: Vec<&str> = simulation.cells.iter().map(|cell| cell.queue.as_str()).collect();
    queues.sort_unstable();
    queues.dedup();
    let header = ["queue", "P fewest", "P most", "C fewest", "C most"];
    let rows = queues.into_iter().map(|queue| {
        let cells = || simulation.cells.iter().filter(|cell| cell.queue == queue);
        let range = |misses: fn(&Cell) -> f64| {
            let fewest = cells().map(misses).fold(f64::INFINITY, f64::min);
            [fewest, cells().map(misses).fold(0.0, f64::max)].map(|misses| format!("{misses:.3}"))
        };
        let [p_fewest, p_most] = range(|cell| cell.producer.costs.misses);
        let [c_fewest, c_most] = range(|cell| cell.consumer.costs.misses);
        [queue.to_owned(), p_fewest, p_most, c_fewest, c_most]
    });
    right_aligned(header, rows)
}

/// A table whose columns but the first are numbers.
pub(super) fn right_aligned<R: IntoIterator<Item = String>>(
    header: impl IntoIterator<Item = impl Into<String>>,
    rows: impl Iterator<Item = R>,
) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.into_iter().map(Into::<String>::into));
    rows.for_each(|row| {
        table.add_row(row);
    });
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
