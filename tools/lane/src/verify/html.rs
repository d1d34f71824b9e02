//! A verification as a page: the sources with the verdict beside each line.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, UNIX_EPOCH};

use corelane_models::{Strength, source};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::outcome::{QueueTable, SiteVerdict, Verdict, Verification};
use super::text::{score, shown_by, summary};

const STYLE: &str = include_str!("../report/style.css");

/// The whole file.
pub(crate) fn render(verification: &Verification) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "corelane: which orderings are needed" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { h1 { "Which memory orderings are needed" } (circumstances(verification)) }
                section.advice {
                    @for line in summary(verification).lines() { p { (line) } }
                }
                section { h2 { "Queues" } (totals(verification)) }
                @for queue in &verification.queues { (queue_section(queue)) }
                (unreached(verification))
                (reading())
            }
        }
    };
    page.into_string()
}

fn circumstances(verification: &Verification) -> Markup {
    let when = UNIX_EPOCH + Duration::from_secs(verification.unix_time);
    html! {
        dl {
            dt { "Command" } dd { code { (verification.command) } }
            dt { "Date" } dd { (humantime::format_rfc3339_seconds(when)) }
        }
    }
}

fn totals(verification: &Verification) -> Markup {
    html! {
        table {
            thead { tr {
                th { "queue" } th { "models" } th { "executions" }
                @for strength in Strength::ALL { th { (strength) } }
                th { "needed" } th { "score" } th { "time" }
            } }
            tbody {
                @for queue in &verification.queues { tr {
                    td { a href={ "#" (queue.queue) } { (queue.queue) } }
                    td { (queue.models) }
                    td { (queue.executions) }
                    @for count in queue.by_strength().values() { td { (count) } }
                    td { (queue.count(Verdict::Needed)) "/" (queue.strong()) }
                    td.score { (score(queue)) }
                    td { (format!("{:.0} s", queue.seconds)) }
                } }
            }
        }
    }
}

fn queue_section(queue: &QueueTable) -> Markup {
    let files: BTreeSet<_> = queue.sites.iter().map(|site| site.site.file.as_str()).collect();
    html! {
        section id=(queue.queue) {
            h2 { (queue.queue) ": " (score(queue)) }
            @if let Some(failure) = &queue.failure {
                p { "Broken: " code { (failure.model) } " fails: " (failure.why) }
            }
            @for file in files { (listing(queue, file)) }
        }
    }
}

/// A file of a queue, with its accesses marked.
fn listing(queue: &QueueTable, file: &str) -> Markup {
    let mut sites: BTreeMap<u32, Vec<&SiteVerdict>> = BTreeMap::new();
    for site in queue.sites.iter().filter(|site| site.site.file == file) {
        sites.entry(site.site.line).or_default().push(site);
    }
    let text = source(file).unwrap_or_default();
    html! {
        details open {
            summary { (file) }
            div.source {
                @for (number, line) in (1..).zip(text.lines()) {
                    @let here = sites.get(&number).map(Vec::as_slice).unwrap_or_default();
                    @if shows(&sites, number) {
                        div.line.marked[!here.is_empty()] {
                            span.number { (number) } code { (line) }
                        }
                        @for site in here { (verdict(site)) }
                    } @else if shows(&sites, number - 1) {
                        div.gap { "⋯" }
                    }
                }
            }
        }
    }
}

/// Whether a line is near enough to a marked one to be shown.
fn shows(sites: &BTreeMap<u32, Vec<&SiteVerdict>>, number: u32) -> bool {
    const AROUND: u32 = 6;
    sites.range(number.saturating_sub(AROUND / 3)..=number + AROUND).next().is_some()
}

fn verdict(verdict: &SiteVerdict) -> Markup {
    html! {
        div class={ "verdict " (verdict.verdict.name()) } {
            b { (verdict.site.ordering) " " (verdict.site.op) }
            @if verdict.verdict != Verdict::Relaxed {
                ": " (verdict.verdict.name()) ". " (shown_by(verdict))
            }
        }
    }
}

fn unreached(verification: &Verification) -> Markup {
    let lines = verification.unreached.as_deref().unwrap_or_default();
    html! {
        @if !lines.is_empty() {
            section {
                h2 { "Not reached by any model" }
                ul { @for line in lines {
                    li { (line.file) ":" (line.line) " " code { (line.source) } }
                } }
            }
        }
    }
}

fn reading() -> Markup {
    html! {
        section.reading {
            h2 { "How to read this" }
            p {
                "A model is a small program with two threads that loom runs in every execution that "
                "the C11 memory model allows or, where these are too many, in every one in which "
                "threads are interrupted two or three times at most. Each ordering was made weaker alone and the "
                "models of the queues that have the line were run again, or, with a table from before, those that failed. " b { "Needed" } ": with any weaker ordering the model named "
                "fails. " b { "Survives" } ": no model fails, so the ordering is too strong or a model "
                "is missing. " b { "Relaxed" } ": there is no weaker one."
            }
        }
    }
}
