//! A simulation as a page.

use std::time::{Duration, UNIX_EPOCH};

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::Regime;
use super::annotate::{files, lines, stall_share};
use super::outcome::{Cell, LineCosts, SideCosts, Simulation};
use super::sweep;
use super::text::title;
use crate::number::short;
use crate::report::heat::{self, Map, Range, Square};

pub(super) const STYLE: &str = include_str!("../report/style.css");

/// The whole file.
pub(super) fn render(simulation: &Simulation) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "corelane: simulated cache misses" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { h1 { "Simulated cache misses" } (circumstances(simulation)) }
                @if simulation.cells.iter().any(|cell| cell.regime == Regime::Grid) {
                    (maps(simulation))
                } @else if simulation.is_sweep() {
                    @for cells in simulation.by_regime() { (sweep::section(cells)) }
                } @else {
                    @for cells in simulation.by_regime() { (regime(cells)) }
                }
                (reading())
            }
        }
    };
    page.into_string()
}

fn circumstances(simulation: &Simulation) -> Markup {
    let when = UNIX_EPOCH + Duration::from_secs(simulation.unix_time);
    html! {
        dl {
            dt { "Simulated" } dd { (simulation.circumstances()) }
            dt { "Command" } dd { code { (simulation.command) } }
            dt { "Date" } dd { (humantime::format_rfc3339_seconds(when)) }
        }
    }
}

fn regime(cells: &[Cell]) -> Markup {
    html! {
        section {
            h2 { (title(&cells[0])) }
            table {
                thead {
                    tr {
                        th { "queue" }
                        @for (side, _) in cells[0].sides() {
                            th { (side) " misses" } th { "read" } th { "write" } th { "upgrade" }
                            th { "stall ns" } th { "batch" }
                        }
                        th { "ns/item" }
                    }
                }
                tbody { @for cell in cells { (row(cell)) } }
            }
            @for cell in cells { (listing(cell)) }
        }
    }
}

fn row(cell: &Cell) -> Markup {
    html! {
        tr {
            td { (cell.queue) }
            @for (_, side) in cell.sides() {
                td { b { (format!("{:.3}", side.costs.misses)) } }
                @for count in [side.costs.read_misses, side.costs.write_misses, side.costs.upgrades] {
                    td { (format!("{count:.3}")) }
                }
                td { (short(side.costs.stall_ns)) }
                td { (short(side.perceived_batch)) }
            }
            td { (short(cell.ns_per_item)) }
        }
    }
}

/// The source of a queue with what its lines cost.
fn listing(cell: &Cell) -> Markup {
    html! {
        details {
            summary { (cell.queue) ", line by line" }
            @for file in files(cell) {
                p { code { (file) } }
                div.source {
                    @for line in lines(cell, file) {
                        @if let Some(line) = line {
                            div.line.marked[line.costs.iter().flatten().any(|costs| costs.costs.misses > 0.0)] {
                                span.number { (line.number) } code { (line.text) }
                            }
                            (costs(cell, &line.costs))
                        } @else {
                            div.gap { "⋯" }
                        }
                    }
                }
            }
        }
    }
}

fn costs(cell: &Cell, costs: &[Option<&LineCosts>; 2]) -> Markup {
    let sides = [("producer", &cell.producer), ("consumer", &cell.consumer)];
    html! {
        @for ((name, side), line) in sides.into_iter().zip(costs) {
            @if let Some(line) = line {
                div.verdict.needed[line.costs.misses >= 0.005] {
                    b { (name) } ": " (told(line, side))
                }
            }
        }
    }
}

fn told(line: &LineCosts, side: &SideCosts) -> String {
    let costs = line.costs;
    format!(
        "{:.2} misses per item ({:.2} read, {:.2} write, {:.2} upgrade) in {:.2} accesses, {:.0} % of its stalls",
        costs.misses,
        costs.read_misses,
        costs.write_misses,
        costs.upgrades,
        costs.accesses,
        100.0 * stall_share(line, side)
    )
}

/// Maps of the producer's misses and of the consumer's.
fn maps(simulation: &Simulation) -> Markup {
    let side = |name: &str, misses: fn(&Cell) -> f64| {
        let mut maps: Vec<Map> = Vec::new();
        for cell in &simulation.cells {
            let square = Square {
                load_p_ns: cell.load_p_ns,
                load_c_ns: cell.load_c_ns,
                value: misses(cell),
            };
            match maps.iter_mut().find(|map| map.title == cell.queue) {
                Some(map) => map.squares.push(square),
                None => maps.push(Map { title: cell.queue.clone(), squares: vec![square] }),
            }
        }
        let most = simulation.cells.iter().map(misses).fold(0.0, f64::max);
        let range = Range { dark: most, bright: 0.0, logarithmic: false };
        let legend = format!(
            "Misses per item of the {name}, one square per pair of emulated loads; brighter is better, \
             and colours are the same in all maps (0 to {}). Fast producers are at the top left, fast \
             consumers at the bottom right.",
            short(most)
        );
        heat::section(&format!("Misses of the {name}"), &legend, &maps, &range)
    };
    html! {
        section {
            (side("producer", |cell| cell.producer.costs.misses))
            (side("consumer", |cell| cell.consumer.costs.misses))
        }
    }
}

fn reading() -> Markup {
    html! {
        section.reading {
            h2 { "How to read this" }
            p {
                "Nothing here was measured. The queues' own sources ran on simulated cores, and every "
                "access to shared memory was charged to a model of the caches and to its line of the "
                "source. " b { "Read" } ": a load whose line was not there. " b { "Write" } ": a store "
                "whose line was not there. " b { "Upgrade" } ": a store to a line that others had too. "
                b { "Stall" } ": the time that the core waited for lines. " b { "Batch" } ": items from "
                "one time that the queue was full (P) or empty (C) to the next; a side whose batch is "
                "small is the faster one. What a side keeps to itself costs nothing. In a pipeline, the "
                "threads between P and C (" b { "F" } ", on average) pay for a pop and a push."
            }
        }
    }
}
