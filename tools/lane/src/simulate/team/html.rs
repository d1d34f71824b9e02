//! What came out, as a page.

use std::time::{Duration, UNIX_EPOCH};

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::outcome::{Cell, Outcome};
use super::series::{self, MEASURES, Series};
use super::text::{COLUMNS, COMPARED, RANKED, compared, ranked, row, rows};
use crate::report::lines::{Scale, chart};
use crate::simulate::html::STYLE;

/// The whole file.
pub(super) fn render(outcome: &Outcome) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "corelane: simulated throughput" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { h1 { "Simulated throughput between several threads" } (circumstances(outcome)) }
                @if !outcome.comparisons.is_empty() { (comparisons(outcome)) }
                @for cells in outcome.by_workload() { (workload(outcome, cells)) }
                (reading(outcome))
            }
        }
    };
    page.into_string()
}

fn circumstances(outcome: &Outcome) -> Markup {
    let when = UNIX_EPOCH + Duration::from_secs(outcome.unix_time);
    html! {
        dl {
            dt { "Simulated" } dd { (outcome.circumstances().trim_start_matches("simulated: ")) }
            dt { "Command" } dd { code { (outcome.command) } }
            dt { "Date" } dd { (humantime::format_rfc3339_seconds(when)) }
            @for missing in &outcome.missing { dt { "No result" } dd { (missing.why) } }
            @if outcome.interrupted { dt { "Interrupted" } dd { "The rest is left out." } }
        }
    }
}

fn comparisons(outcome: &Outcome) -> Markup {
    html! {
        section {
            h2 { "Beside the paper" }
            p.legend {
                "Throughput of the fastest form of bbq for that of the next best queue: in J. Wang (2024), "
                "Figs 2.8 and 2.9, measured on x86-88T beside other libraries' queues; and simulated here, "
                "beside those in the tables below, with the number of threads of the larger side. Misses "
                "saved: those of the other queue for those of bbq."
            }
            (table(&COMPARED, outcome.comparisons.iter().map(compared)))
            @if !outcome.rankings.is_empty() {
                p.legend {
                    "From the fastest to the slowest: in J. Wang (2024), Fig. 3.7, measured on 88 hyperthreads; and "
                    "simulated here, workload simple, with the number of threads of the larger side."
                }
                (table(&RANKED, outcome.rankings.iter().map(ranked)))
            }
        }
    }
}

/// A table whose cells are text.
fn table<R: IntoIterator<Item = String>>(
    header: &[impl AsRef<str>],
    rows: impl Iterator<Item = R>,
) -> Markup {
    html! {
        table {
            thead { tr { @for name in header { th { (name.as_ref()) } } } }
            tbody { @for row in rows { tr { @for value in row { td { (value) } } } } }
        }
    }
}

fn workload(outcome: &Outcome, cells: &[Cell]) -> Markup {
    html! {
        section {
            h2 { "Workload " (cells[0].workload.name()) ", simulated" }
            @for series in series::of(cells, outcome.beside.as_ref()) { (charts(&series)) }
            h3 { "All figures" }
            (table(&COLUMNS, cells.iter().map(row)))
        }
    }
}

fn charts(series: &Series<'_>) -> Markup {
    html! {
        @for measure in &MEASURES {
            article {
                h3 { (series.growing.title()) ": " (measure.name) ", simulated" }
                (chart(series.growing.axis(), measure.name, Scale::Logarithmic, &series.lines(measure)))
                (table(&header(series), rows(series, measure)))
            }
        }
    }
}

fn header(series: &Series<'_>) -> Vec<String> {
    ["queue".to_owned()].into_iter().chain(series.numbers.iter().map(usize::to_string)).collect()
}

fn reading(outcome: &Outcome) -> Markup {
    html! {
        section.reading {
            h2 { "How to read this" }
            p {
                @match outcome.measured() {
                    Some(measured) => { (measured) " In the charts these are crosses. All else was simulated: the" }
                    None => { "Nothing here was measured: the" }
                }
                " queues' own sources ran on simulated cores, a thread to "
                "each, and every access to shared memory was charged to a model of the caches. "
                b { "Misses" } " are those of private caches, per item that was popped, of all threads, "
                "of producers (" b { "P" } ") and of consumers (" b { "C" } "); caches of the first level "
                "that overflow into the second are not told apart. " b { "Fair" } ": items of the slowest "
                "thread of a side for each of its fastest. " b { "Failed" } ": calls that found the queue "
                "full or empty, per item. The workload " b { "complex" } " works for up to 30 ns before "
                "each call; allocating is not simulated. Hyperthreads share caches but do not slow each "
                "other down, and waiters for a line are served strictly in turn. "
                @if let Some(note) = outcome.of_overwriting() { (note) }
            }
        }
    }
}
