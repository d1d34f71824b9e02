//! The results as a document.

use corelane_report::{Block, Document, Media, Table, name, short};

use super::cell::TeamCell;
use super::outcome::TeamOutcome;
use super::{frontier, paper, series};

const ON_TERMINAL: &str = "Misses are those of private caches, of all threads, per item popped; P are producers, \
    C consumers. Fair: items of the slowest thread for each of the fastest. Failed: calls that found the queue \
    full or empty, per item. Complex: up to 30 ns of work before each call; allocation isn't simulated.";

const READING: &str = "queues' own sources ran on simulated cores, a thread to each, and every access to shared \
    memory was charged to a model of the caches. **Misses** are those of private caches, per item that was \
    popped, of all threads, of producers (**P**) and of consumers (**C**); caches of the first level that \
    overflow into the second are not distinguished. **Fair**: items of the slowest thread of a side per item of \
    its fastest. **Failed**: calls that found the queue full or empty, per item. The workload **complex** works \
    for up to 30 ns before each call; allocating is not simulated. Hyperthreads share caches but do not slow \
    each other down, and waiters for a line are served strictly in turn.";

pub(super) fn document(outcome: &TeamOutcome, calibration: Option<String>) -> Document {
    let heading = "Simulated throughput between several threads";
    let mut document = Document::new("corelane: simulated throughput", heading);
    document.fact(Media::PAGE, "Simulated", outcome.circumstances());
    document.fact(Media::TERMINAL, "", format!("simulated: {}", outcome.circumstances()));
    outcome.origin.tell(&mut document);
    document.blocks.extend(calibration.map(Block::Paragraph));
    let beside_the_paper = paper::blocks(&outcome.comparisons, &outcome.rankings);
    document.add(Block::On(Media::PAGE, beside_the_paper.clone()));
    for cells in outcome.by_workload() {
        document.blocks.extend(workload(outcome, cells));
    }
    document.add(Block::On(Media::TERMINAL, beside_the_paper));
    let measured = outcome.measured();
    let note = outcome.of_overwriting().unwrap_or_default();
    let all = if measured.is_some() { "else" } else { "of it" };
    let footer = format!("All {all} is simulated. {ON_TERMINAL}");
    let footer = [Some(footer), Some(note.clone()), measured.clone()].into_iter().flatten();
    let footer: Vec<_> = footer.filter(|text| !text.is_empty()).collect();
    document.add(Block::On(Media::TERMINAL, vec![Block::Paragraph(footer.join("\n"))]));
    let missing = outcome.missing.iter().map(|missing| format!("No result: {}", missing.why));
    document.summary.extend(missing.map(Block::Paragraph));
    if outcome.origin.is_interrupted() {
        document.summary.push(Block::Paragraph("Interrupted: the rest is left out.".into()));
    }
    let begin = match measured {
        Some(measured) => {
            format!("{measured} In the charts these are crosses. All else was simulated: the")
        }
        None => "Nothing here was measured: the".into(),
    };
    document.reading = format!("{begin} {READING} {note}");
    document
}

fn workload(outcome: &TeamOutcome, cells: &[TeamCell]) -> Vec<Block> {
    let workload = name(&cells[0].workload);
    let mut blocks = vec![Block::heading(2, format!("Workload {workload}, simulated"))];
    let charts = series::blocks(cells, outcome.beside.as_ref());
    let media = if outcome.sweep { Media::SCREENS } else { Media::PAGE };
    let all = Block::On(Media::PAGE, vec![Block::heading(3, "All figures"), figures(cells.iter())]);
    // A terminal shows only the sweep of both sides.
    let is_shown = |cell: &&TeamCell| !outcome.sweep || cell.producers == cell.consumers;
    if cells.iter().any(|cell| is_shown(&cell)) {
        let shown = figures(cells.iter().filter(is_shown));
        blocks.push(Block::On(Media::TERMINAL, vec![shown]));
        if cells.iter().any(|cell| cell.relaxed) {
            blocks.push(Block::heading(3, "How far items left out of turn"));
            blocks.push(order(cells.iter().filter(is_shown)));
        }
    }
    blocks.extend(frontier::blocks(cells));
    blocks.extend([Block::On(media, charts), all]);
    blocks
}

/// How far items left out of turn, and how long they were inside.
fn order<'a>(cells: impl Iterator<Item = &'a TeamCell>) -> Block {
    let names = [
        "threads",
        "queue",
        "M items/s",
        "rank error",
        "p99",
        "max",
        "delay",
        "p99",
        "max",
        "wait ns",
        "p99",
    ];
    Block::Table(Table::new(names).with(cells.map(|cell| {
        let TeamCell { rank_error, delay, wait_ns, .. } = cell;
        [
            cell.threads(),
            cell.name(),
            short(cell.millions_per_s()),
            short(rank_error.mean),
            rank_error.p99.to_string(),
            rank_error.max.to_string(),
            short(delay.mean),
            delay.p99.to_string(),
            delay.max.to_string(),
            short(wait_ns.mean),
            short(wait_ns.p99),
        ]
    })))
}

fn figures<'a>(cells: impl Iterator<Item = &'a TeamCell>) -> Block {
    let names = [
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
    Block::Table(Table::new(names).with(cells.map(|cell| {
        let [p, c] = &cell.sides;
        [
            cell.threads(),
            cell.name(),
            short(cell.millions_per_s()),
            short(cell.misses_per_item),
            short(p.costs.misses),
            short(c.costs.misses),
            format!("{:.2}", p.fairness),
            format!("{:.2}", c.fairness),
            short(p.failed_per_item),
            short(c.failed_per_item),
        ]
    })))
}
