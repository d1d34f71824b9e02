//! Runs with faults: connections that break, links that go down, processes that are killed.

mod history;
mod lanes;
mod proxy;
mod run;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use corelane_report::interrupt;

pub(super) use self::lanes::{Confirms, receive_all, send_until_stopped};
use self::run::Run;
use super::Cell;
use super::setting::Faults;
use crate::sample::Sample;
use crate::stats::median;

/// Most items that are sent and not received.
pub(super) const WINDOW: usize = 200;

/// How many runs a measurement has, and which is next.
#[derive(Debug, Clone)]
pub(super) struct Runs {
    number: usize,
    seed: Arc<AtomicU64>,
}

impl Runs {
    pub(super) fn new(number: usize, seed: u64) -> Self {
        Self { number, seed: Arc::new(AtomicU64::new(seed)) }
    }
}

impl Cell {
    /// What became of items. The value is the longest time without an item of a run, in
    /// milliseconds.
    pub(super) fn faults(&self) -> Result<Sample, String> {
        let (mut all, mut silences) = (Faults::default(), Vec::new());
        for _ in 0..self.runs.number {
            let seed = self.runs.seed.fetch_add(1, Ordering::Relaxed);
            let run = Run::start(self, seed)?.go();
            if interrupt::requested() {
                return Err("interrupted".into());
            }
            let (faults, silence) =
                run.map_err(|why| format!("{why}, in the run of --seed {seed}"))?;
            all = all.sum(faults);
            silences.push(silence.as_secs_f64() * 1e3);
        }
        Ok(Sample { faults: Some(all), ..Sample::of(median(silences)) })
    }
}

/// A generator of random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        (crate::schedule::uniform(&mut self.0) * n as f64) as u64 % n
    }
}
