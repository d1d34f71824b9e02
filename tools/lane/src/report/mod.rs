//! The report: one HTML file, readable without a network.

mod bars;
mod canvas;
pub(crate) mod heat;
pub(crate) mod lines;

use std::time::{Duration, UNIX_EPOCH};

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::advice::Advice;
use crate::grid;
use crate::number::short;
use crate::results::{CellResult, Results};
use crate::stats::Group;
use crate::suite::{Suite, Yardsticks};
use crate::table;

const STYLE: &str = include_str!("style.css");

/// The whole file.
pub(crate) fn render<S: Suite>(results: &Results<S>) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "corelane: queues on this machine" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "Queues on this machine" } (circumstances(results))
                    p.key {
                        span.ours { "corelane" } span.peer { "peers" } span.floor { "floor" }
                    }
                }
                @if let Some(advice) = Advice::of(results) { (which_one(&advice)) }
                @for group in results.groups() { (group_section(results, group)) }
                (rounds(results))
                (reading::<S>())
            }
        }
    };
    page.into_string()
}

/// Which queues to take for what.
fn which_one(advice: &Advice) -> Markup {
    html! {
        section.advice {
            h2 { "Which one to take" }
            @for (when, picks) in &advice.groups {
                p { (when) ":" }
                ul { @for pick in picks { li { (pick) } } }
            }
            p { "When not to take them:" }
            ul { @for caveat in &advice.caveats { li { (caveat) } } }
        }
    }
}

/// Where and how the numbers were measured.
fn circumstances<S: Suite>(results: &Results<S>) -> Markup {
    let when = UNIX_EPOCH + Duration::from_secs(results.unix_time);
    html! {
        dl {
            dt { "Machine" } dd { (results.machine.summary()) }
            dt { "Command" } dd { code { (results.command) } }
            dt { "Date" } dd { (humantime::format_rfc3339_seconds(when)) }
            dt { "Rounds" }
            dd { (results.rounds.len()) " counted, queues interleaved. " (table::left_out(results)) }
        }
    }
}

fn group_section<S: Suite>(results: &Results<S>, group: Group) -> Markup {
    let tables = results.tables(group);
    html! {
        section {
            h2 { (table::place(results, group)) }
            p.floors { (table::floors(results, group)) }
            @for tables in tables.chunk_by(|a, b| S::shares_chart(a[0], b[0])) {
                (comparison(results, tables, group))
            }
            (S::more_html(results, group))
        }
    }
}

/// Heat maps of throughput. One pair of loads, none at all, is ten times as fast as the rest.
pub(crate) fn throughput(maps: &[grid::Map<'_>]) -> Markup {
    let squares = |map: &grid::Map<'_>| map.points.iter().map(square).collect();
    let maps: Vec<_> =
        maps.iter().map(|map| heat::Map { title: map.title(), squares: squares(map) }).collect();
    let values = || maps.iter().flat_map(|map| map.squares.iter().map(|square| square.value));
    let (dark, bright) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let legend = format!(
        "Million items per second, one square per pair of emulated loads; brighter is better; colours \
         are logarithmic and the same in all maps ({} to {}). Fast producers are at the top left, fast \
         consumers at the bottom right.",
        short(dark),
        short(bright)
    );
    let range = heat::Range { dark, bright, logarithmic: true };
    heat::section("Throughput under load", &legend, &maps, &range)
}

fn square(point: &grid::Point) -> heat::Square {
    let grid::Point { load_p_ns, load_c_ns, throughput } = *point;
    heat::Square { load_p_ns, load_c_ns, value: throughput }
}

/// One chart with its numbers.
fn comparison<S: Suite>(
    results: &Results<S>,
    tables: &[Vec<&CellResult<S>>],
    group: Group,
) -> Markup {
    let (title, _) = S::chart_titles(tables[0][0]);
    let floor = S::floor(results, tables[0][0].test, group);
    html! {
        article {
            h3 { (title) }
            div.chart { (PreEscaped(bars::draw(tables, group, floor))) }
            details {
                summary { "Numbers" }
                @for table in tables { (numbers(table, group, &results.yardsticks(table, group))) }
            }
        }
    }
}

fn numbers<S: Suite>(table: &[&CellResult<S>], group: Group, beside: &Yardsticks) -> Markup {
    let test = table[0].test;
    let (_, heading) = S::chart_titles(table[0]);
    html! {
        @if let Some(heading) = heading { h4 { (heading) } }
        table {
            thead { tr { @for name in S::header(test) { th { (name) } } } }
            tbody {
                @for result in table {
                    @if let Some(summary) = result.groups.get(&group) {
                        tr.peer[result.peer] {
                            td { (result.label()) }
                            @for value in S::columns(test, summary, beside) { td { (value) } }
                        }
                    }
                }
            }
        }
    }
}

/// The floors round by round.
fn rounds<S: Suite>(results: &Results<S>) -> Markup {
    html! {
        section {
            h2 { "Rounds" }
            details {
                summary { "Floors of each round" }
                table {
                    thead {
                        tr { th { "round" } th { "group" } th { "line_rtt ns" } th { "block_handoff ns/u64" } }
                    }
                    tbody {
                        @for (number, round) in (1..).zip(&results.rounds) {
                            tr {
                                td { (number) }
                                td { (round.group.name()) }
                                td { (short(round.line_rtt_ns)) }
                                td { (short(round.block_handoff_ns_per_u64)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn reading<S: Suite>() -> Markup {
    html! {
        section.reading {
            h2 { "How to read this" }
            p {
                "Bars are medians over rounds, whiskers the quartiles. The dashed line is the floor, "
                "measured in the same rounds without any queue: "
                code { "line_rtt" } " is two threads bouncing one flag each way, "
                code { "block_handoff" } " is one thread writing blocks of 4 KiB and the other summing "
                "them, one flag per block. "
                "Near and far are rounds in which the two cores did or did not share a cache; they are "
                "never averaged. " (S::reading())
            }
        }
    }
}
