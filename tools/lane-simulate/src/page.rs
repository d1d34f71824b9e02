//! A simulation as a document.

use corelane_bench::Regime;
use corelane_report::plot::{HeatMap, HeatRange, Scale, Square, heat_maps};
use corelane_report::{Block, Document, Media, Table, name, short};

use crate::annotate;
use crate::growth::{self, Measure};
use crate::outcome::{SideCosts, Simulation, StreamCell};

const READING: &str = "Nothing here was measured. The queues' own sources ran on simulated cores, and every \
    access to shared memory was charged to a model of the caches and to its line of the source. **Read**: a \
    load whose line was not in the cache. **Write**: a store whose line was not in the cache. **Upgrade**: a \
    store to a line that other caches had too. **Stall**: the time that the core waited for lines. **Batch**: \
    items between two times that the queue was full (P) or empty (C); a side whose batch is small is the faster \
    one. Private memory costs nothing. In a pipeline, the threads between P and C (**F**, on average) pay for a \
    pop and a push.";

const OF_STREAMS: &str = "Misses per item: reads of a line that isn't in the cache + writes to such a line + writes \
    to a line that others share; P is the producer, C the consumer. Everything is simulated.";

const OF_SWEEPS: &str = "Pipelines: items go through a queue between each core and the next; a single core \
    pushes and pops. A row of queues settles into one of several rhythms, and another --seed may show another. \
    Everything is simulated.";

/// The measures of a pipeline.
const MEASURES: [Measure<StreamCell>; 2] = [
    ("ns per item", |cell| cell.ns_per_item),
    ("misses per item and queue", StreamCell::misses_per_queue),
];

/// The whole document; on a terminal the sources only `with_lines`.
pub(crate) fn document(
    simulation: &Simulation,
    with_lines: bool,
    calibration: Option<String>,
) -> Document {
    let mut document = Document::new("corelane: simulated cache misses", "Simulated cache misses");
    document.fact(Media::SCREENS, "Simulated", simulation.circumstances());
    simulation.origin.tell(&mut document);
    document.blocks.extend(calibration.map(Block::Paragraph));
    let is_grid = simulation.cells.iter().any(|cell| cell.regime == Regime::Grid);
    let mut footer = OF_STREAMS.to_owned();
    if is_grid {
        let title = Block::heading(2, "misses per item over loads of 0 to 90 ns");
        document.blocks.extend([title, Block::Table(extremes(simulation))]);
        document.blocks.extend(maps(simulation));
        footer.clear();
    } else if simulation.is_sweep() {
        simulation.by_regime().for_each(|cells| document.blocks.extend(sweep(cells)));
        footer = OF_SWEEPS.into();
    } else {
        for cells in simulation.by_regime() {
            document.section(title(&cells[0]));
            document.add(Block::Table(table(cells)));
            let lines = cells.iter().flat_map(|cell| annotate::blocks(cell, with_lines));
            document.blocks.extend(lines);
        }
        if simulation.cells.iter().any(|cell| cell.forwarders.is_some()) {
            footer += "\nF: what each thread between them pays, on average, for a pop and a push.";
        }
    }
    if !footer.is_empty() {
        document.add(Block::On(Media::TERMINAL, vec![Block::Paragraph(footer)]));
    }
    if simulation.origin.is_interrupted() {
        document.summary = vec![Block::Paragraph("Interrupted: the rest is left out.".into())];
    }
    document.reading = READING.into();
    document
}

fn title(cell: &StreamCell) -> String {
    let StreamCell { load_p_ns, load_c_ns, .. } = cell;
    match cell.regime {
        Regime::Turns => "turns: one side fills the queue, then the other empties it".into(),
        regime => format!("{}: loads of {load_p_ns} and {load_c_ns} ns", name(&regime)),
    }
}

/// The queues of one regime. A page has room for each kind of miss.
fn table(cells: &[StreamCell]) -> Table {
    let is_pair = cells[0].forwarders.is_none();
    let on_terminal = if is_pair { Media::TERMINAL } else { Media::NOWHERE };
    let everywhere = if is_pair { Media::ALL } else { Media::PAGE };
    let mut columns = vec![(Media::ALL, "queue".to_owned())];
    for (side, _) in cells[0].sides() {
        columns.extend([
            (Media::ALL, format!("{side} misses")),
            (on_terminal, format!("{side} rd+wr+up")),
            (Media::PAGE, "read".into()),
            (Media::PAGE, "write".into()),
            (Media::PAGE, "upgrade".into()),
            (Media::ALL, format!("{side} stall ns")),
            (everywhere, format!("{side} batch")),
        ]);
    }
    columns.push((Media::ALL, "ns/item".into()));
    let values = |side: &SideCosts| {
        let costs = &side.costs;
        let kinds = [costs.read_misses, costs.write_misses, costs.upgrades];
        let [read, write, upgrade] = kinds.map(|count| format!("{count:.3}"));
        [
            format!("{:.3}", costs.misses),
            kinds.map(|count| format!("{count:.2}")).join(" + "),
            read,
            write,
            upgrade,
            short(costs.stall_ns),
            short(side.perceived_batch),
        ]
    };
    Table::of(columns).with(cells.iter().map(|cell| {
        let mut row = vec![cell.queue.clone()];
        row.extend(cell.sides().flat_map(|(_, side)| values(side)));
        row.push(short(cell.ns_per_item));
        row
    }))
}

/// For each queue the fewest and the most misses of a producer, and of a consumer.
fn extremes(simulation: &Simulation) -> Table {
    let mut queues: Vec<&str> = simulation.cells.iter().map(|cell| cell.queue.as_str()).collect();
    queues.sort_unstable();
    queues.dedup();
    let rows = queues.into_iter().map(|queue| {
        let cells = || simulation.cells.iter().filter(|cell| cell.queue == queue);
        let range = |misses: fn(&StreamCell) -> f64| {
            let fewest = cells().map(misses).fold(f64::INFINITY, f64::min);
            [fewest, cells().map(misses).fold(0.0, f64::max)].map(|misses| format!("{misses:.3}"))
        };
        let [p_fewest, p_most] = range(|cell| cell.producer.costs.misses);
        let [c_fewest, c_most] = range(|cell| cell.consumer.costs.misses);
        [queue.to_owned(), p_fewest, p_most, c_fewest, c_most]
    });
    Table::new(["queue", "P fewest", "P most", "C fewest", "C most"]).with(rows)
}

/// Maps of the producer's misses and of the consumer's.
fn maps(simulation: &Simulation) -> Vec<Block> {
    let side = |name: &str, misses: fn(&StreamCell) -> f64| {
        let mut maps: Vec<HeatMap> = Vec::new();
        for cell in &simulation.cells {
            let loads = [cell.load_p_ns, cell.load_c_ns];
            let square = Square { loads, value: misses(cell) };
            match maps.iter_mut().find(|map| map.title == cell.queue) {
                Some(map) => map.squares.push(square),
                None => maps.push(HeatMap { title: cell.queue.clone(), squares: vec![square] }),
            }
        }
        let most = simulation.cells.iter().map(misses).fold(0.0, f64::max);
        let range = HeatRange { dark: most, bright: 0.0, logarithmic: false };
        let legend = format!(
            "Misses per item of the {name}, one square per pair of emulated loads; brighter is better, and \
             colours are the same in all maps (0 to {}). Fast producers are at the top left, fast \
             consumers at the bottom right.",
            short(most)
        );
        heat_maps(&format!("Misses of the {name}"), legend, &maps, range)
    };
    let producer = side("producer", |cell| cell.producer.costs.misses);
    let consumer = side("consumer", |cell| cell.consumer.costs.misses);
    vec![Block::On(Media::PAGE, [producer, consumer].concat())]
}

/// Pipelines over the number of cores.
fn sweep(cells: &[StreamCell]) -> Vec<Block> {
    let title = title(&cells[0]);
    let rows = growth::rows(cells, |cell| &cell.queue, |cell| Some(cell.cores.len()));
    let mut blocks = vec![Block::heading(2, title)];
    for (measure, of) in MEASURES {
        blocks.push(Block::heading(3, format!("{measure} by number of cores")));
        let lines = growth::lines(&rows, of);
        blocks.extend(growth::blocks(["cores", measure], Scale::Linear, &lines, &[]));
    }
    blocks
}
