//! What `lane tune` says.

use corelane_report::{Block, Document, Media, Row, Table, name, ratio, short};

use super::code;
use super::goal::{Goal, Values};
use super::search::{Outcome, Ranked, Variant};

/// Rows of a table.
const SHOWN: usize = 12;

pub(super) fn document(outcome: &Outcome, workload: &str, goal: Goal) -> Document {
    let mut document = Document::new("corelane: which queue for this workload", "Which queue?");
    document.fact(Media::SCREENS, "Workload", workload);
    document.summary.push(Block::Paragraph(reason(outcome, goal)));
    document.summary.push(Block::Code(code::of(outcome.best())));
    if outcome.best().is_peer() {
        let text = format!("Of corelane take {}:", words(&outcome.ours));
        document.summary.extend([Block::Paragraph(text), Block::Code(code::of(&outcome.ours))]);
    }
    let others = outcome.goals.iter().filter(|(other, (one, _))| {
        *other != goal && words_of_way(one) != words_of_way(outcome.best())
    });
    document.summary.extend(others.map(|(other, (one, measured))| {
        let (other, way, values) = (name(other), words_of_way(one), values(measured));
        Block::Paragraph(format!("With --for {other}: {way}; {values}."))
    }));
    document.add(Block::heading(3, "The settings that were compared last"));
    document.add(Block::Table(table(&outcome.last)));
    document.add(Block::heading(3, "All queues, as the program uses its queue now"));
    document.add(Block::Table(table(&outcome.first)));
    document.add(Block::Note(LEGEND.into()));
    document
}

const LEGEND: &str = "Best first. ns/item: time of the whole run, with the threads' own work. p50, p99: from when an \
     item is ready until a consumer has it. cpu ns: processor time of all threads for an item, with their own work. \
     A difference of a few percent means nothing.";

/// What is recommended, and why.
pub(super) fn reason(outcome: &Outcome, goal: Goal) -> String {
    let Some((best, measured)) = outcome.last.first() else { return String::new() };
    let mut text = format!("Take {}: {}.", words(best), values(measured));
    let fastest = outcome.last.iter().map(|one| one.1.time).fold(f64::INFINITY, f64::min);
    text += &match goal {
        Goal::Throughput if measured.time <= fastest * 1.005 => " Nothing here is faster.".into(),
        Goal::Throughput => format!(
            " The fastest takes {} ns an item, with more processor time or a longer wait.",
            short(fastest)
        ),
        Goal::Latency => " It is chosen by its p99 latency.".to_owned(),
        Goal::Cpu => " It is chosen by its processor time.".to_owned(),
    };
    let other = |is_other: &dyn Fn(&Variant) -> bool| {
        let all = [&outcome.last, &outcome.first].map(|all| {
            // Values of the same part are compared.
            let of_best =
                all.iter().find(|(one, _)| one.entry().info.id == best.entry().info.id)?;
            Some((all.iter().find(|(one, _)| is_other(one))?, of_best))
        });
        all.into_iter().flatten().next()
    };
    let id = best.entry().info.id;
    if let Some((peer, of_best)) = other(&|one| one.is_peer() != best.is_peer()) {
        let other = if best.is_peer() { "best queue of corelane" } else { "best peer" };
        text += &format!(" The {other}, {}.", margin(peer, &of_best.1));
    }
    let is_next = |one: &Variant| one.entry().info.id != id && one.is_peer() == best.is_peer();
    if let Some((next, of_best)) = other(&is_next) {
        text += &format!(" The next queue, {}.", margin(next, &of_best.1));
    }
    text
}

/// How a setting differs from the best one.
fn margin((one, measured): &Ranked, best: &Values) -> String {
    let part = |of: fn(&Values) -> f64, what| {
        let (it, best) = (of(measured), of(best));
        (best > 0.0).then(|| format!("{} the {what}", ratio(it / best)))
    };
    let parts = [
        part(|one| one.time, "time"),
        part(|one| one.p99, "p99 latency"),
        part(|one| one.cpu, "processor time"),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    format!("{}, takes {}", words_of_way(one), parts.join(", "))
}

/// A setting in words.
fn words(variant: &Variant) -> String {
    format!("{}, capacity {}", words_of_way(variant), variant.capacity)
}

/// The same without the capacity.
fn words_of_way(variant: &Variant) -> String {
    let id = variant.entry().info.id;
    let batch = match variant.batch {
        1 => "one item a call".to_owned(),
        n => format!("batches of {n}"),
    };
    match variant.candidate.is_queue() {
        true => format!("{id}, {batch}, {} wait", name(&variant.strategy)),
        false => format!("{id}, a channel"),
    }
}

fn values(Values { time, p50, p99, cpu }: &Values) -> String {
    let cpu =
        if *cpu > 0.0 { format!(", {} ns of processor time", short(*cpu)) } else { String::new() };
    format!("{} ns an item, latency {} ns (p99 {}){cpu}", short(*time), short(*p50), short(*p99))
}

fn table(all: &[Ranked]) -> Table {
    let headings = ["queue", "wait", "batch", "capacity", "ns/item", "p50 ns", "p99 ns", "cpu ns"];
    let mut table = Table::new(headings);
    for (variant, Values { time, p50, p99, cpu }) in all.iter().take(SHOWN) {
        let wait = match variant.candidate.is_queue() {
            true => name(&variant.strategy),
            false => "its own".into(),
        };
        let mut cells = vec![variant.entry().info.id.to_owned(), wait];
        cells.extend([variant.batch, variant.capacity].map(|n| n.to_string()));
        cells.extend([time, p50, p99, cpu].map(|value| short(*value)));
        table.rows.push(Row { cells, is_quiet: variant.is_peer() });
    }
    table
}
