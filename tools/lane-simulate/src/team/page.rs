//! What came out, as a document.

use std::iter;

use corelane_report::plot::{Scale, curves};
use corelane_report::{Block, Document, Media, Table, name, short};

use super::comparison::Comparison;
use super::outcome::{TeamCell, TeamOutcome};
use super::ranking::Ranking;
use super::series::{self, MEASURES, Measured, Series, TeamMeasure};

const OF_COMPARISONS: &str = "Throughput of the fastest form of bbq for that of the next best queue: in J. Wang \
    (2024), Figs 2.8 and 2.9, measured on x86-88T beside other libraries' queues; and simulated here, beside \
    those in the tables below, with the number of threads of the larger side. Misses saved: those of the other \
    queue for those of bbq.";

const OF_RANKINGS: &str = "From the fastest to the slowest: in J. Wang (2024), Fig. 3.7, measured on 88 \
    hyperthreads; and simulated here, workload simple, with the number of threads of the larger side.";

const ON_TERMINAL: &str = "Misses are those of private caches, of all threads, per item popped; P are producers, \
    C consumers. Fair: items of the slowest thread for each of the fastest. Failed: calls that found the queue \
    full or empty, per item. Complex: up to 30 ns of work before each call; allocation isn't simulated.";

const READING: &str = "queues' own sources ran on simulated cores, a thread to each, and every access to shared \
    memory was charged to a model of the caches. **Misses** are those of private caches, per item that was \
    popped, of all threads, of producers (**P**) and of consumers (**C**); caches of the first level that \
    overflow into the second are not told apart. **Fair**: items of the slowest thread of a side for each of \
    its fastest. **Failed**: calls that found the queue full or empty, per item. The workload **complex** works \
    for up to 30 ns before each call; allocating is not simulated. Hyperthreads share caches but do not slow \
    each other down, and waiters for a line are served strictly in turn.";

/// All there is to say.
pub(super) fn document(outcome: &TeamOutcome, calibration: Option<String>) -> Document {
    let heading = "Simulated throughput between several threads";
    let mut document = Document::new("corelane: simulated throughput", heading);
    document.fact(Media::PAGE, "Simulated", outcome.circumstances());
    document.fact(Media::TERMINAL, "", format!("simulated: {}", outcome.circumstances()));
    outcome.origin.tell(&mut document);
    document.blocks.extend(calibration.map(Block::Paragraph));
    let beside_the_paper = beside_the_paper(outcome);
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

fn beside_the_paper(outcome: &TeamOutcome) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !outcome.comparisons.is_empty() {
        let names =
            ["threads", "workload", "the paper's", "simulated", "misses saved", "next best here"];
        let table = Table::new(names).with(outcome.comparisons.iter().map(compared));
        blocks.push(Block::heading(2, "Beside the paper"));
        blocks.extend([Block::Note(OF_COMPARISONS.into()), Block::Table(table)]);
    }
    if !outcome.rankings.is_empty() {
        let names = ["threads", "the paper's", "simulated"];
        let table = Table::new(names).with(outcome.rankings.iter().map(ranked));
        blocks.extend([Block::Note(OF_RANKINGS.into()), Block::Table(table)]);
    }
    blocks
}

fn workload(outcome: &TeamOutcome, cells: &[TeamCell]) -> Vec<Block> {
    let workload = name(&cells[0].workload);
    let mut blocks = vec![Block::heading(2, format!("Workload {workload}, simulated"))];
    let charts: Vec<_> = series::of(cells, outcome.beside.as_ref()).flat_map(charts).collect();
    let media = if outcome.sweep { Media::SCREENS } else { Media::PAGE };
    let all = Block::On(Media::PAGE, vec![Block::heading(3, "All figures"), figures(cells.iter())]);
    // A terminal shows numbers that grow once.
    let is_shown = |cell: &&TeamCell| !outcome.sweep || cell.producers == cell.consumers;
    if cells.iter().any(|cell| is_shown(&cell)) {
        let shown = figures(cells.iter().filter(is_shown));
        blocks.push(Block::On(Media::TERMINAL, vec![shown]));
    }
    blocks.extend([Block::On(media, charts), all]);
    blocks
}

/// A row for each cell.
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
    })))
}

fn charts(series: Series<'_>) -> Vec<Block> {
    let (title, axis) = (series.growing.title(), series.growing.axis());
    let header =
        ["queue".to_owned()].into_iter().chain(series.numbers.iter().map(usize::to_string));
    let header: Vec<_> = header.collect();
    let mut blocks = Vec::new();
    for measure in &MEASURES {
        let chart = curves([axis, measure.name], Scale::Logarithmic, &series.curves(measure));
        let table = Table::new(header.iter().cloned()).with(rows(&series, measure));
        blocks.push(Block::heading(3, format!("{title}: {} by {axis}, simulated", measure.name)));
        blocks.extend([chart, Block::Table(table)]);
    }
    blocks
}

/// For each queue its name, and a value for each number of threads; empty where there is none. Behind them what was
/// measured.
fn rows<'a>(
    series: &'a Series<'_>,
    measure: &'a TeamMeasure,
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

fn ranked(ranking: &Ranking) -> [String; 3] {
    [ranking.threads.into(), ranking.told(), ranking.here()]
}

fn compared(comparison: &Comparison) -> [String; 6] {
    let [throughput, misses] = comparison.here();
    let (workload, told) = (name(&comparison.workload), comparison.told());
    [comparison.threads.into(), workload, told, throughput, misses, comparison.others()]
}
