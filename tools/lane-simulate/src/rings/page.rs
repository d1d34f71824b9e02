//! The results as a document.

use corelane_report::plot::Scale;
use corelane_report::{Block, Document, Media, Table, times};

use super::outcome::{Comparison, RingsCell, RingsOutcome};
use crate::growth::{self, Measure};

const READING: &str = "Nothing here was measured: the sources of lane bench rings ran on three simulated cores, and each access to \
    shared memory was charged to a model of the caches. Instructions take a fixed time besides: 3 ns for a call, 2 ns for an entry that it moves.";

const NOTE: &str = "J. Wang 2024, §2.6.3, the text on Fig. 2.12, measured on x86-88T: how many times faster bbq is. The thesis ported the whole \
    io_uring of Linux 5.14 to user space, without I/O; here are its two rings only, whose gain is that of the rings. times: faster than io-uring.";

const MEASURES: [Measure<RingsCell>; 3] = [
    ("ns per request", RingsCell::ns),
    ("misses of the kernel per request", RingsCell::kernel_misses),
    ("misses of the application's two threads per request", RingsCell::application_misses),
];

pub(super) fn document(outcome: &RingsOutcome, calibration: Option<String>) -> Document {
    let mut document = Document::new("corelane: simulated rings", "Simulated rings of io_uring");
    document.fact(Media::PAGE, "Simulated", outcome.circumstances());
    document.fact(Media::TERMINAL, "", format!("simulated: {}", outcome.circumstances()));
    outcome.origin.tell(&mut document);
    document.blocks.extend(calibration.map(Block::Paragraph));
    for batch in outcome.batches() {
        let rows = growth::rows(
            &outcome.cells,
            |cell| &cell.queue,
            |cell| (cell.batch == batch).then_some(cell.entries),
        );
        document.section(format!("{}, simulated", batches(batch)));
        for (measure, of) in MEASURES {
            let axes = ["entries of the SQ", measure];
            document.add(Block::heading(3, format!("{measure} by entries of the SQ")));
            let lines = growth::lines(&rows, of);
            document.blocks.extend(growth::blocks(axes, Scale::Linear, &lines, &[]));
        }
    }
    document.blocks.extend(beside_the_thesis(&outcome.comparisons));
    if outcome.origin.is_interrupted() {
        document.summary = vec![Block::Paragraph("Interrupted: the rest is left out.".into())];
    }
    document.reading = READING.into();
    document
}

fn batches(most: usize) -> String {
    match most {
        1 => "batches of 1".into(),
        most => format!("batches of 1 to {most}"),
    }
}

fn beside_the_thesis(comparisons: &[Comparison]) -> Vec<Block> {
    let Some(first) = comparisons.first() else { return Vec::new() };
    let names = first.gains.iter().map(|(queue, _)| queue.clone());
    let table = Table::new(["", "bbq in the thesis"].map(str::to_owned).into_iter().chain(names));
    let row = |comparison: &Comparison| {
        let Comparison { batch, entries, paper, gains } = comparison;
        let what = format!("{}, SQ of {entries}", batches(*batch));
        let gains = gains.iter().map(|(_, gain)| times(*gain));
        [what, format!("{paper}×")].into_iter().chain(gains).collect::<Vec<_>>()
    };
    let table = Block::Table(table.with(comparisons.iter().map(row)));
    vec![Block::heading(2, "Beside the thesis"), Block::Note(NOTE.into()), table]
}
