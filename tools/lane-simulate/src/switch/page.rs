//! The results as a document.

use corelane_bench::SwitchTest;
use corelane_report::plot::Scale;
use corelane_report::{Block, Document, Media};

use super::outcome::{SwitchCell, SwitchOutcome};
use super::paper;
use crate::growth::{self, Measure};

const READING: &str = "Nothing here was measured: the queues' own sources, the switch and its clients ran on simulated cores, and \
    each access to shared memory and to a packet's first line was charged to a model of the caches. Each client has a core, \
    and the switch a physical core. Instructions take a fixed time besides: 15 ns of the switch for a packet, 10 ns of a client, 3 ns for a call of a port.";

const MEASURES: [Measure<SwitchCell>; 2] = [
    ("million packets a second", SwitchCell::millions_per_s),
    ("misses of the switch per packet", SwitchCell::switch_misses),
];

pub(super) fn document(outcome: &SwitchOutcome, calibration: Option<String>) -> Document {
    let mut document = Document::new("corelane: a simulated switch", "A simulated switch");
    document.fact(Media::PAGE, "Simulated", outcome.circumstances());
    document.fact(Media::TERMINAL, "", format!("simulated: {}", outcome.circumstances()));
    outcome.origin.tell(&mut document);
    document.blocks.extend(calibration.map(Block::Paragraph));
    for workload in outcome.workloads() {
        let rows = growth::rows(
            &outcome.cells,
            |cell| &cell.queue,
            |cell| (cell.workload() == workload).then_some(cell.clients),
        );
        let words = match workload.0 {
            SwitchTest::Flooding => "flooding",
            SwitchTest::RequestResponse => "requests and responses",
        };
        let title = format!("{words}, clients send {} in one go, simulated", workload.1);
        document.add(Block::heading(2, title));
        for (measure, of) in MEASURES {
            let axes = ["clients", measure];
            document.add(Block::heading(3, format!("{measure} by clients")));
            let lines = growth::lines(&rows, of);
            document.blocks.extend(growth::blocks(axes, Scale::Linear, &lines, &[]));
        }
    }
    document.blocks.extend(paper::blocks(&outcome.comparisons));
    if outcome.origin.is_interrupted() {
        document.summary = vec![Block::Paragraph("Interrupted: the rest is left out.".into())];
    }
    document.reading = READING.into();
    document
}
