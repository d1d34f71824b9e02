//! The results as a document.

use corelane_report::plot::{Curve, Scale};
use corelane_report::{Block, Document, Media, Table, name, short};

use super::cell::{Setting, StealCell};
use super::outcome::StealOutcome;
use super::paper;
use crate::growth::{self, Measure};
use crate::options::StealTest;

const ON_TERMINAL: &str = "All of it is simulated. M ops/s: million puts, gets and steals per second, of all threads. Misses are \
    those of private caches; those of the owner, and of all threads of a pool, per item that was got or stolen; those of \
    thieves per item stolen. Failed: attempts to steal that got nothing, per item.";

const READING: &str = "Nothing here was measured: the queues' own sources ran on simulated cores, a thread to each, and every \
    access to shared memory was charged to a model of the caches and to its line of the source. **Stolen**: the owner puts \
    until its queue is full and gets until it is empty, while thieves take a share of the items. **Pool**: each thread puts \
    until its own queue is full, gets until it is empty, and then attempts to steal a share of the capacity, the balancing factor, from \
    the other threads' queues. **Operations** are puts, gets and steals of all threads. **Misses** are those of private \
    caches: per item that was got or stolen, and of thieves per item stolen. **Failed**: attempts to steal that got nothing, \
    per item. Private memory and computing cost nothing.";

/// The measures that are shown over percents.
const MEASURES: [Measure<StealCell>; 2] = [
    ("million operations per second", StealCell::millions_per_s),
    ("misses per item, of all threads", StealCell::misses_per_item),
];

/// Misses per item from which on a line of the source is shown.
const MISSES: f64 = 0.0005;

pub(super) fn document(outcome: &StealOutcome, calibrations: Vec<String>) -> Document {
    let mut document =
        Document::new("corelane: simulated work stealing", "Simulated work stealing");
    document.fact(Media::PAGE, "Simulated", outcome.circumstances());
    document.fact(Media::TERMINAL, "", format!("simulated: {}", outcome.circumstances()));
    outcome.origin.tell(&mut document);
    document.blocks.extend(calibrations.into_iter().map(Block::Paragraph));
    for machine in &outcome.machines {
        for test in [StealTest::Stolen, StealTest::Pool] {
            let cells = outcome.of(machine, test);
            if !cells.is_empty() {
                document.blocks.extend(test_blocks(machine, test, &cells));
            }
        }
    }
    document.blocks.extend(paper::blocks(&outcome.comparisons, &outcome.machines));
    document.add(Block::On(Media::TERMINAL, vec![Block::Paragraph(ON_TERMINAL.into())]));
    if outcome.origin.is_interrupted() {
        document.summary = vec![Block::Paragraph("Interrupted: the rest is left out.".into())];
    }
    document.reading = READING.into();
    document
}

fn test_blocks(machine: &str, test: StealTest, cells: &[&StealCell]) -> Vec<Block> {
    let (title, axis) = match test {
        StealTest::Stolen => ("an owner and its thieves", "percent stolen"),
        StealTest::Pool => ("a pool", "balancing factor, percent"),
    };
    let mut blocks =
        vec![Block::heading(2, format!("{machine}, {}: {title}, simulated", name(&test)))];
    let mut charts = Vec::new();
    for (measure, of) in MEASURES {
        charts.push(Block::heading(3, format!("{measure} by {axis}")));
        charts.extend(growth::blocks([axis, measure], Scale::Linear, &curves(cells, of), &[]));
    }
    blocks.push(Block::On(Media::PAGE, charts));
    blocks.push(figures(test, cells));
    blocks.extend(cells.iter().filter_map(|cell| lines(cell)));
    blocks
}

/// A line for each queue, and each distance or policy if there are several.
fn curves(cells: &[&StealCell], of: fn(&StealCell) -> f64) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    let is_alike = cells.iter().all(|cell| cell.setting.variant() == cells[0].setting.variant());
    for cell in cells {
        let name = match is_alike {
            true => cell.queue.clone(),
            false => format!("{}, {}", cell.queue, cell.setting.variant()),
        };
        let point = (cell.setting.percent(), of(cell));
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { name, points: vec![point], beside: Vec::new() }),
        }
    }
    curves
}

fn figures(test: StealTest, cells: &[&StealCell]) -> Block {
    let only = |shown: StealTest| if test == shown { Media::ALL } else { Media::NOWHERE };
    let (stolen, pool) = (only(StealTest::Stolen), only(StealTest::Pool));
    let has_several = cells.iter().any(|cell| cell.all_runs_ops_per_s.len() > 1);
    let several = if has_several { Media::ALL } else { Media::NOWHERE };
    let columns = [
        (Media::ALL, "queue"),
        (stolen, "distance"),
        (pool, "policy"),
        (stolen, "asked"),
        (pool, "balancing"),
        (Media::ALL, "stolen"),
        (Media::ALL, "M ops/s"),
        (several, "range"),
        (stolen, "owner's"),
        (stolen, "owner misses"),
        (pool, "misses"),
        (stolen, "thief misses"),
        (Media::ALL, "failed"),
    ];
    let columns = columns.map(|(media, name)| (media, name.to_owned()));
    let place = |cell: &StealCell| cells.iter().position(|other| other.queue == cell.queue);
    let mut rows = cells.to_vec();
    rows.sort_by_key(|cell| (place(cell), order(&cell.setting), cell.setting.percent()));
    Block::Table(Table::of(columns).with(rows.into_iter().map(|cell| {
        let (percent, variant) = (format!("{} %", cell.setting.percent()), cell.setting.variant());
        let misses = short_misses(cell.owner_misses());
        [
            cell.queue.clone(),
            variant.clone(),
            variant,
            percent.clone(),
            percent,
            format!("{:.1} %", 100.0 * cell.stolen),
            short(cell.millions_per_s()),
            cell.range().map_or_else(String::new, |range| range.map(short).join(" to ")),
            short(cell.sides[0].ops_per_s / 1e6),
            misses.clone(),
            misses,
            cell.misses_per_steal().map_or_else(String::new, short_misses),
            short(cell.failed_per_item),
        ]
    })))
}

/// The place of a distance or a policy among the others.
fn order(setting: &Setting) -> u8 {
    match setting {
        Setting::Stolen { distance, .. } => *distance as u8,
        Setting::Pool { policy, .. } => *policy as u8,
    }
}

fn short_misses(misses: f64) -> String {
    format!("{misses:.3}")
}

/// The lines of the source that miss.
fn lines(cell: &StealCell) -> Option<Block> {
    let mut table =
        Table::new(["line", "thread", "misses per item", "read", "write", "upgrade", "stall ns"]);
    for side in &cell.sides {
        for line in side.lines.iter().filter(|line| line.costs.misses >= MISSES) {
            let costs = &line.costs;
            let misses = [costs.misses, costs.read_misses, costs.write_misses, costs.upgrades];
            let place = [format!("{}:{}", line.file, line.line), side.role.to_owned()];
            let stall = [short(costs.stall_ns)];
            table.row(place.into_iter().chain(misses.map(short_misses)).chain(stall));
        }
    }
    let title = format!("{}, {}, line by line", cell.queue, cell.setting.words());
    let folded = Block::Folded(title, false, vec![Block::Table(table.clone())]);
    (!table.rows.is_empty()).then(|| Block::On(Media::PAGE, vec![folded]))
}
