//! Loops over queues as people write them, in a program of their own that is compiled as theirs: a
//! file for each kind.
//!
//! ```console
//! $ cargo run --release --manifest-path plain/Cargo.toml [ROUNDS]
//! $ cargo run --profile one-unit --manifest-path plain/Cargo.toml [ROUNDS] --case loop,field
//! ```
//!
//! Prints nanoseconds an item: the median over rounds, and the quartiles. In a round all queues are
//! measured in turns, after a flag's round trip between the first two cores. `compare` runs it
//! beside `lane`.

mod blocking;
mod blocks;
mod cli;
mod executors;
mod one_to_one;
mod pair;
#[cfg(target_os = "linux")]
mod processes;
mod several;
mod tasks;

use std::num::{NonZeroU64, NonZeroUsize};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use thingbuf::Recycle;

/// The kind of a measurement.
type Case = &'static str;

/// What is measured, of which queue, and how: nanoseconds an item.
type Row = (Case, &'static str, fn() -> f64);

/// Measures the loops that people write over queues, and prints nanoseconds an item.
#[derive(Parser)]
struct Options {
    /// How often everything is measured.
    #[arg(default_value = "9")]
    rounds: NonZeroUsize,
    /// Kinds of measurements; all without it.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    case: Vec<String>,
    /// Print what there is to measure, one `case<tab>queue` a line.
    #[arg(long)]
    list: bool,
    /// Print values only, one `case<tab>queue<tab>ns` a line.
    #[arg(long)]
    bare: bool,
    /// The other process of a measurement between processes.
    #[arg(long, hide = true, num_args = 1.., allow_hyphen_values = true)]
    other_process: Vec<String>,
}

/// Slots of thingbuf that stay as they are: the next push overwrites them.
struct Leave;

impl Recycle<Option<NonZeroU64>> for Leave {
    fn new_element(&self) -> Option<NonZeroU64> {
        None
    }

    #[inline]
    fn recycle(&self, _: &mut Option<NonZeroU64>) {}
}

/// The handles of a queue that is its own handle.
fn both<Q>(queue: Q) -> (Arc<Q>, Arc<Q>) {
    let queue = Arc::new(queue);
    (Arc::clone(&queue), queue)
}

/// Two handles of each side.
fn four<T: Clone, R: Clone>((tx, rx): (T, R)) -> (Vec<T>, Vec<R>) {
    (vec![tx.clone(), tx], vec![rx.clone(), rx])
}

/// All measurements, the round trip of a flag first.
fn rows() -> Vec<Row> {
    let flag: &[Row] = &[("round-trip", "flag", pair::round_trip)];
    let all = [
        flag,
        one_to_one::ROWS,
        blocks::ROWS,
        several::ROWS,
        blocking::ROWS,
        tasks::ROWS,
        #[cfg(target_os = "linux")]
        processes::ROWS,
        executors::ROWS,
    ];
    all.concat()
}

fn main() -> ExitCode {
    let options = cli::options::<Options>();
    #[cfg(target_os = "linux")]
    if !options.other_process.is_empty() {
        processes::be_other(&options.other_process);
        return ExitCode::SUCCESS;
    }
    let mut rows = rows();
    if let Some(case) = options.case.iter().find(|case| rows.iter().all(|row| row.0 != **case)) {
        eprintln!("error: there is no case {case}; --list shows all");
        return ExitCode::from(2);
    }
    rows.retain(|row| row.1 == "flag" || options.case.is_empty() || is_in(&options.case, row));
    if options.list {
        rows.iter().for_each(|(case, queue, _)| println!("{case}\t{queue}"));
        return ExitCode::SUCCESS;
    }
    let rounds = options.rounds.get();
    let mut all = vec![Vec::new(); rows.len()];
    for _ in 0..rounds {
        for ((.., measure), times) in rows.iter().zip(&mut all) {
            times.push(measure());
        }
    }
    if !options.bare {
        println!("| | | ns | quartiles |\n|---|---|--:|--:|");
    }
    for ((case, queue, _), times) in rows.iter().zip(&mut all) {
        times.sort_by(f64::total_cmp);
        let at = |quarter: usize| times[quarter * (rounds - 1) / 4];
        match options.bare {
            true => println!("{case}\t{queue}\t{}", at(2)),
            false => println!("| {case} | {queue} | {:.2} | {:.2}–{:.2} |", at(2), at(1), at(3)),
        }
    }
    ExitCode::SUCCESS
}

fn is_in(cases: &[String], row: &Row) -> bool {
    cases.iter().any(|case| case == row.0)
}
