//! What it takes to write to lines that another core has written to: whether it helps to have read them.

use std::sync::atomic::{Ordering, fence};
use std::time::Instant;

use crate::floor::PaddedWord;
use crate::pair::{self, Cores, Gate, Wait};
use crate::stats::Quartiles;

/// Lines that are written one after the other: a quarter of a first-level cache.
const LINES: usize = 64;
/// Rounds of either kind.
const ROUNDS: u64 = 200;

/// Nanoseconds per line for stores to many lines, and for them to be visible.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Takeover {
    pub(crate) others_ns: f64,
    pub(crate) read_ns: f64,
    pub(crate) own_ns: f64,
}

impl Takeover {
    pub(crate) fn measure(cores: Cores) -> Self {
        let lines: Vec<PaddedWord> = (0..LINES).map(|_| PaddedWord::default()).collect();
        let [yours, mine] = &[PaddedWord::default(), PaddedWord::default()];
        let (lines, gate, wait) = (&lines[..], &Gate::default(), cores.wait(Wait::Pause));
        let until = |turn: &PaddedWord, round| {
            wait.until(|| (turn.0.load(Ordering::Acquire) >= round).then_some(()));
        };
        let ((), [others, read, own]) = pair::run(
            cores,
            || {
                gate.meet(wait);
                for round in 1..=2 * ROUNDS {
                    write(lines, round);
                    yours.0.store(round, Ordering::Release);
                    until(mine, round);
                }
            },
            || {
                let mut samples: [Vec<f64>; 3] = Default::default();
                gate.meet(wait);
                for round in 1..=2 * ROUNDS {
                    until(yours, round);
                    let has_read = round % 2 == 0;
                    if has_read {
                        assert!(lines.iter().all(|line| line.0.load(Ordering::Relaxed) == round));
                    }
                    samples[usize::from(has_read)].push(timed(lines, round));
                    samples[2].push(timed(lines, round));
                    mine.0.store(round, Ordering::Release);
                }
                samples
            },
        );
        let median =
            |samples: Vec<f64>| Quartiles::of(samples).map_or(f64::NAN, |samples| samples.median);
        Self { others_ns: median(others), read_ns: median(read), own_ns: median(own) }
    }
}

/// Writes to all lines, and waits for the stores to be visible.
fn write(lines: &[PaddedWord], value: u64) {
    lines.iter().for_each(|line| line.0.store(value, Ordering::Relaxed));
    fence(Ordering::SeqCst);
}

fn timed(lines: &[PaddedWord], value: u64) -> f64 {
    // The time-stamp counter wouldn't wait for the fence; the system's clock does.
    let start = Instant::now();
    write(lines, value);
    start.elapsed().as_nanos() as f64 / LINES as f64
}
