//! Predictions beside measurements: the benchmarks of this machine, simulated on its calibration.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use coherence::Time;
use corelane_bench::{
    BenchArgs, Calibration, CellResult, Cores, Group, Handles, Quartiles, Regime, Results, RunArgs,
    SpscArgs, Test, WORD, actual_load_ns, run,
};
use corelane_report::{
    Block, Document, Failure, Files, Origin, Positive, Progress, Table, interrupt, name, short,
};
use corelane_simulate::{Payload, Queue, Stream, all, find};
use rayon::prelude::*;
use serde::Serialize;

use crate::machines::Target;
use crate::options::StreamArgs;
use crate::streams::PROGRESS;

/// Version of the JSON file's shape.
const SCHEMA: u32 = 1;
/// Items that are simulated for a cell, after as many that warm up.
const ITEMS: u64 = 20_000;

/// Predicted and measured times.
#[derive(Debug, Serialize)]
struct Validation {
    #[serde(flatten)]
    origin: Origin,
    calibrations: Vec<(Group, Calibration)>,
    cells: Vec<Prediction>,
    median_abs_error: f64,
    /// Kendall's τ over all pairs of cells of the same group.
    kendall_tau: f64,
}

/// One queue in one test.
#[derive(Debug, Serialize)]
struct Prediction {
    queue: String,
    test: Test,
    regime: Regime,
    group: Group,
    measured_ns: f64,
    predicted_ns: f64,
}

impl Prediction {
    /// The relative error of the prediction; positive if the prediction is too long.
    fn error(&self) -> f64 {
        self.predicted_ns / self.measured_ns - 1.0
    }
}

/// Measures the queues here, simulates the same, and shows both.
pub(crate) fn carry_out(args: &StreamArgs) -> Result<ExitCode, Failure> {
    interrupt::listen();
    let mut files = Files::open(&args.files)?;
    let (validation, targets) = validate(args)?;
    files.publish(&validation, &validation.document(&targets))?;
    Ok(interrupt::exit_code(0))
}

fn validate(args: &StreamArgs) -> Result<(Validation, Vec<Target>), Failure> {
    let usual = SpscArgs::default();
    let bench = SpscArgs {
        queues: queues(args).map(|queue| queue.id.to_owned()).collect(),
        regime: Regime::MEASURED.into(),
        run: RunArgs { rounds: Some(args.rounds), ..usual.run },
        // The usual capacity: the ring doesn't fill at each short interruption.
        capacity: vec![Positive(4096)],
        // What is simulated.
        item: vec![WORD],
        handles: vec![Handles::Loop],
        ..usual
    };
    let plan = Arc::new(BenchArgs::Spsc(Box::new(bench)).plan()?);
    let results = run(&plan)?;
    let calibrated = |group| Some((group, calibrated(&results, plan.pair(), group)?));
    let calibrations: Vec<_> = results.groups().filter_map(calibrated).collect();
    let loads = &Loads::measure(&results);
    let (mut cells, mut targets) = (Vec::new(), Vec::new());
    for (group, calibration) in &calibrations {
        let here = Here { target: Target::of(calibration, *group), loads };
        let measured: Vec<_> =
            results.results.iter().filter(|cell| cell.groups.contains_key(group)).collect();
        let bar = Progress::new(measured.len(), PROGRESS);
        cells.extend(predictions(&here, *group, &measured, args.seed, &bar)?);
        bar.finish();
        targets.push(here.target);
    }
    let errors = cells.iter().map(|cell| cell.error().abs());
    let validation = Validation {
        origin: Origin::now("lane simulate", SCHEMA),
        median_abs_error: Quartiles::of(errors).map_or(f64::NAN, |errors| errors.median),
        kendall_tau: kendall_tau(cells.iter()),
        calibrations,
        cells,
    };
    Ok((validation, targets))
}

fn queues(args: &StreamArgs) -> impl Iterator<Item = &'static Queue> {
    all()
        .iter()
        .filter(|queue| args.queues.is_empty() || args.queues.iter().any(|id| id == queue.id))
}

fn calibrated(results: &Results, cores: Cores, group: Group) -> Option<Calibration> {
    let line_rtt = results.line_rtt(group)?.median;
    Some(Calibration::with(cores, line_rtt, results.block_handoff(group)?.median))
}

/// The real times of the emulated loads.
struct Loads(BTreeMap<u64, Time>);

impl Loads {
    fn measure(results: &Results) -> Self {
        let pairs = results.results.iter().filter_map(|cell| cell.params.spsc());
        let all = pairs.map(|pair| [pair.load_p_ns, pair.load_c_ns]);
        let mut loads: BTreeMap<_, _> = all.flatten().map(|ns| (ns, Time::ZERO)).collect();
        for (ns, time) in loads.range_mut(1..) {
            *time = Time::ps((1000.0 * actual_load_ns(*ns)) as u64);
        }
        Self(loads)
    }
}

fn predictions(
    here: &Here<'_>,
    group: Group,
    measured: &[&CellResult],
    seed: u64,
    bar: &Progress,
) -> Result<Vec<Prediction>, Failure> {
    let predict = |cell: &&CellResult| {
        let predicted_ns = here.predict(cell, seed)?;
        bar.inc(1);
        Ok(Prediction {
            queue: cell.queue.clone(),
            test: cell.test,
            regime: cell.params.spsc().map_or(Regime::Free, |pair| pair.regime),
            group,
            measured_ns: cell.median(group),
            predicted_ns,
        })
    };
    measured.par_iter().map(predict).collect()
}

/// The simulated model of this machine.
struct Here<'a> {
    target: Target,
    loads: &'a Loads,
}

impl Here<'_> {
    fn predict(&self, cell: &CellResult, seed: u64) -> Result<f64, Failure> {
        let params = &cell.params;
        let pair = params.spsc().expect("only pairs were measured");
        let stream = Stream {
            seed,
            capacity: params.capacity,
            burst: pair.batch,
            loads: [pair.load_p_ns, pair.load_c_ns].map(|ns| self.loads.0[&ns]),
            payload: Payload::Embedded,
            call: self.target.call,
            warm_up: ITEMS,
            items: ITEMS,
            ..Stream::new(self.target.machine.clone())
        };
        let queue = find(&cell.queue).expect("only queues that can be simulated were measured");
        let predicted = match cell.test {
            Test::Rtt => queue.round_trip(&stream),
            _ => queue.stream(&stream).map(|run| run.ns_per_item()),
        };
        predicted.map_err(|error| Failure::Run(format!("{}: {error}", cell.queue)))
    }
}

/// Kendall's τ between measured and predicted times, over all pairs of cells of the same group; in
/// the form for ties (τ-b), because many predictions are equal when the loads decide.
fn kendall_tau<'a>(cells: impl Iterator<Item = &'a Prediction>) -> f64 {
    let cells: Vec<_> = cells.collect();
    let (mut agree, mut measured_pairs, mut predicted_pairs) = (0.0, 0.0_f64, 0.0_f64);
    for (number, a) in cells.iter().enumerate() {
        for b in cells[..number].iter().filter(|b| b.group == a.group) {
            let measured = a.measured_ns.total_cmp(&b.measured_ns) as i8;
            let predicted = a.predicted_ns.total_cmp(&b.predicted_ns) as i8;
            agree += f64::from(measured * predicted);
            measured_pairs += f64::from(measured.abs());
            predicted_pairs += f64::from(predicted.abs());
        }
    }
    agree / (measured_pairs * predicted_pairs).sqrt()
}

impl Validation {
    /// Tables: one for each test, regime and group, and a summary.
    fn document(&self, targets: &[Target]) -> Document {
        let mut document =
            Document::new("corelane: predictions", "Predictions beside measurements");
        let told = targets.iter().filter_map(|target| target.told.clone());
        document.blocks.extend(told.map(Block::Paragraph));
        let mut cells: Vec<_> = self.cells.iter().collect();
        cells.sort_by_key(|cell| (cell.group, cell.test, cell.regime));
        let are_alike = |a: &&Prediction, b: &&Prediction| {
            (a.group, a.test, a.regime) == (b.group, b.test, b.regime)
        };
        for cells in cells.chunk_by(are_alike) {
            document.section(title(cells));
            document.add(Block::Table(table(cells)));
        }
        document.add(Block::Paragraph(format!(
            "Median absolute error {:.0} %, Kendall's τ {} over {} cells.",
            100.0 * self.median_abs_error,
            told_tau(self.kendall_tau),
            self.cells.len()
        )));
        if self.origin.is_interrupted() {
            let text = "Interrupted: fewer rounds than asked for.";
            document.add(Block::Paragraph(text.into()));
        }
        document
    }
}

fn title(cells: &[&Prediction]) -> String {
    let errors = Quartiles::of(cells.iter().map(|cell| cell.error().abs()));
    let test = cells[0].test;
    let regime = match test {
        Test::Stream => name(&cells[0].regime),
        _ => "one at a time".into(),
    };
    format!(
        "{} {regime}, {}, {}: median absolute error {:.0} %, τ {}",
        name(&test),
        cells[0].group.name(),
        test.unit(),
        100.0 * errors.map_or(f64::NAN, |errors| errors.median),
        told_tau(kendall_tau(cells.iter().copied()))
    )
}

/// τ for people; there is none if all predictions are equal.
fn told_tau(tau: f64) -> String {
    if tau.is_nan() { "–".into() } else { format!("{tau:.2}") }
}

fn table(cells: &[&Prediction]) -> Table {
    let mut cells = cells.to_vec();
    cells.sort_by(|a, b| a.measured_ns.total_cmp(&b.measured_ns));
    Table::new(["queue", "measured", "predicted", "error"]).with(cells.into_iter().map(|cell| {
        let error = format!("{:+.0} %", 100.0 * cell.error());
        [cell.queue.clone(), short(cell.measured_ns), short(cell.predicted_ns), error]
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(times: [(f64, f64); 3]) -> Vec<Prediction> {
        let cell = |(measured_ns, predicted_ns)| Prediction {
            queue: "lq".into(),
            test: Test::Rtt,
            regime: Regime::Free,
            group: Group::Near,
            measured_ns,
            predicted_ns,
        };
        times.into_iter().map(cell).collect()
    }

    #[test]
    fn kendall_counts_pairs_in_order() {
        let tau = |times| kendall_tau(cells(times).iter());
        assert_eq!(tau([(1.0, 5.0), (2.0, 6.0), (3.0, 7.0)]), 1.0);
        assert_eq!(tau([(1.0, 7.0), (2.0, 6.0), (3.0, 5.0)]), -1.0);
        assert_eq!(tau([(1.0, 6.0), (2.0, 5.0), (3.0, 7.0)]), 1.0 / 3.0);
        assert_eq!(tau([(1.0, 6.0), (2.0, 6.0), (3.0, 7.0)]), 2.0 / 6.0_f64.sqrt());
    }
}
