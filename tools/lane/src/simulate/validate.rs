//! Predictions beside measurements: the benchmarks of this machine, simulated on its calibration.

use std::collections::BTreeMap;

use coherence::{Machine, Time};
use comfy_table::{CellAlignment, Table, presets};
use corelane_simulate::{Payload, Queue, Stream, all, find};
use indicatif::ProgressBar;
use rayon::prelude::*;
use serde::Serialize;

use super::progress;
use crate::calibrate::Calibration;
use crate::cli::{BenchArgs, Positive, Regime, RunArgs, SimulateArgs, Test};
use crate::failure::Failure;
use crate::interrupt;
use crate::number::short;
use crate::pair::Cores;
use crate::results::{CellResult, Results};
use crate::runner;
use crate::spsc::Spsc;
use crate::stats::{Group, Quartiles};
use crate::suite::Plan;
use crate::work::Busy;

/// Version of the JSON file's shape.
const SCHEMA: u32 = 1;
/// Items that are simulated for a cell, after as many that warm up.
const ITEMS: u64 = 20_000;

/// Predicted and measured times.
#[derive(Debug, Serialize)]
pub(crate) struct Validation {
    schema: u32,
    command: String,
    /// The machine that was simulated for each group.
    calibrations: Vec<(Group, Calibration)>,
    cells: Vec<Prediction>,
    /// Of all cells.
    median_abs_error: f64,
    /// Of all cells, compared with those of the same group.
    kendall_tau: f64,
    /// Whether Ctrl-C ended the measurements early.
    pub(super) interrupted: bool,
}

/// One queue in one test.
#[derive(Debug, Serialize)]
struct Prediction {
    queue: String,
    test: Test,
    regime: &'static str,
    group: Group,
    measured_ns: f64,
    predicted_ns: f64,
}

impl Prediction {
    /// How much too long the prediction is, in parts of what was measured.
    fn error(&self) -> f64 {
        self.predicted_ns / self.measured_ns - 1.0
    }
}

/// Measures the queues here, and simulates the same.
pub(super) fn validate(args: &SimulateArgs) -> Result<Validation, Failure> {
    let usual = BenchArgs::default();
    let bench = BenchArgs {
        queues: queues(args).map(|queue| queue.id.clone()).collect(),
        regime: vec![Regime::Free, Regime::Fp, Regime::Fc, Regime::Balanced],
        run: RunArgs { rounds: args.rounds, ..usual.run },
        // As usual: a ring that doesn't fill at each hiccup of the machine.
        capacity: Positive(4096),
        ..usual
    };
    let plan = Plan::<Spsc>::bench(&bench)?;
    let results = runner::run(&plan)?;
    let calibrated = |group| Some((group, calibrated(&results, plan.cores, group)?));
    let calibrations: Vec<_> = results.groups().filter_map(calibrated).collect();
    let loads = Loads::measure(&results);
    let mut cells = Vec::new();
    for (group, calibration) in &calibrations {
        let here = Here { machine: calibration.machine(), call: calibration.call(), loads: &loads };
        let measured: Vec<_> =
            results.results.iter().filter(|cell| cell.groups.contains_key(group)).collect();
        let bar = progress(measured.len());
        cells.extend(predictions(&here, *group, &measured, args.seed, &bar)?);
        bar.finish_and_clear();
    }
    let errors = cells.iter().map(|cell| cell.error().abs());
    Ok(Validation {
        schema: SCHEMA,
        command: std::env::args().collect::<Vec<_>>().join(" "),
        median_abs_error: Quartiles::of(errors).map_or(f64::NAN, |errors| errors.median),
        kendall_tau: kendall_tau(cells.iter()),
        calibrations,
        cells,
        interrupted: interrupt::requested(),
    })
}

fn queues(args: &SimulateArgs) -> impl Iterator<Item = &'static Queue> {
    all().iter().filter(|queue| args.queues.is_empty() || args.queues.contains(&queue.id))
}

/// The machine as it was in the rounds of `group`.
fn calibrated(results: &Results, cores: Cores, group: Group) -> Option<Calibration> {
    let line_rtt = results.line_rtt(group)?.median;
    Some(Calibration::with(cores, line_rtt, results.block_handoff(group)?.median))
}

/// What the emulated loads really take.
struct Loads(BTreeMap<u64, Time>);

impl Loads {
    fn measure(results: &Results) -> Self {
        let all = results.results.iter().map(|cell| [cell.params.load_p_ns, cell.params.load_c_ns]);
        let mut loads: BTreeMap<_, _> = all.flatten().map(|ns| (ns, Time::ZERO)).collect();
        for (ns, time) in loads.range_mut(1..) {
            *time = Time::ps((1000.0 * Busy::actual_ns(*ns)) as u64);
        }
        Self(loads)
    }
}

fn predictions(
    here: &Here<'_>,
    group: Group,
    measured: &[&CellResult],
    seed: u64,
    bar: &ProgressBar,
) -> Result<Vec<Prediction>, Failure> {
    let predict = |cell: &&CellResult| {
        let predicted_ns = here.predict(cell, seed)?;
        bar.inc(1);
        Ok(Prediction {
            queue: cell.queue.clone(),
            test: cell.test,
            regime: cell.params.regime,
            group,
            measured_ns: cell.median(group),
            predicted_ns,
        })
    };
    measured.par_iter().map(predict).collect()
}

/// This machine, as it is simulated.
struct Here<'a> {
    machine: Machine,
    call: Time,
    loads: &'a Loads,
}

impl Here<'_> {
    fn predict(&self, cell: &CellResult, seed: u64) -> Result<f64, Failure> {
        let params = &cell.params;
        let stream = Stream {
            seed,
            capacity: params.capacity,
            burst: params.batch,
            loads: [params.load_p_ns, params.load_c_ns].map(|ns| self.loads.0[&ns]),
            payload: Payload::Embedded,
            call: self.call,
            warm_up: ITEMS,
            items: ITEMS,
            ..Stream::new(self.machine.clone())
        };
        let queue = find(&cell.queue).expect("only queues that can be simulated were measured");
        let predicted = match cell.test {
            Test::Rtt => queue.round_trip(&stream),
            _ => queue.stream(&stream).map(|run| run.ns_per_item()),
        };
        predicted.map_err(|error| Failure::Run(format!("{}: {error}", cell.queue)))
    }
}

/// Kendall's τ between measured and predicted times, over all pairs of cells of the same group; in the
/// form for ties (τ-b), because where loads decide many predictions are the same.
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
    /// Tables: one for each test, regime and group, and what they come to.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        for (group, calibration) in &self.calibrations {
            text.push_str(&format!("\n{}\n", calibration.told(*group)));
        }
        let mut cells: Vec<_> = self.cells.iter().collect();
        cells.sort_by_key(|cell| (cell.group, cell.test.name(), cell.regime));
        let alike = |a: &&Prediction, b: &&Prediction| {
            (a.group, a.test, a.regime) == (b.group, b.test, b.regime)
        };
        for cells in cells.chunk_by(alike) {
            text.push_str(&format!("\n{}\n{}\n", title(cells), table(cells)));
        }
        text.push_str(&format!(
            "\nMedian absolute error {:.0} %, Kendall's τ {} over {} cells.\n",
            100.0 * self.median_abs_error,
            told(self.kendall_tau),
            self.cells.len()
        ));
        if self.interrupted {
            text.push_str("Interrupted: fewer rounds than asked for.\n");
        }
        text
    }
}

fn title(cells: &[&Prediction]) -> String {
    let errors = Quartiles::of(cells.iter().map(|cell| cell.error().abs()));
    let regime = if cells[0].test == Test::Stream { cells[0].regime } else { "one at a time" };
    format!(
        "{} {regime}, {}, {}: median absolute error {:.0} %, τ {}",
        cells[0].test.name(),
        cells[0].group.name(),
        cells[0].test.unit(),
        100.0 * errors.map_or(f64::NAN, |errors| errors.median),
        told(kendall_tau(cells.iter().copied()))
    )
}

/// τ for people; there is none where all predictions are the same.
fn told(tau: f64) -> String {
    if tau.is_nan() { "–".into() } else { format!("{tau:.2}") }
}

fn table(cells: &[&Prediction]) -> Table {
    let mut cells = cells.to_vec();
    cells.sort_by(|a, b| a.measured_ns.total_cmp(&b.measured_ns));
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["queue", "measured", "predicted", "error"]);
    for cell in cells {
        table.add_row([
            cell.queue.clone(),
            short(cell.measured_ns),
            short(cell.predicted_ns),
            format!("{:+.0} %", 100.0 * cell.error()),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(times: [(f64, f64); 3]) -> Vec<Prediction> {
        let cell = |(measured_ns, predicted_ns)| Prediction {
            queue: "lq".into(),
            test: Test::Rtt,
            regime: "free",
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
