//! What it takes to write to lines that another core has written to: whether it helps to have read them.

use std::sync::atomic::{Ordering, fence};
use std::time::Instant;

use crate::floor::{PaddedWord, await_count};
use crate::pair::{self, Cores, Gate, Wait};
use crate::stats::median;

/// Lines that are written one after the other: a quarter of a first-level cache.
const LINES: usize = 64;
/// Rounds of either kind.
const ROUNDS: u64 = 200;

/// Nanoseconds per line for stores to many lines to be visible: lines of the other core, the same after reading them, and
/// own lines.
pub(crate) fn measure(cores: Cores) -> [f64; 3] {
    let lines: Vec<PaddedWord> = (0..LINES).map(|_| PaddedWord::default()).collect();
    let [yours, mine] = &[PaddedWord::default(), PaddedWord::default()];
    let (lines, gate, wait) = (&lines[..], &Gate::default(), cores.wait(Wait::Pause));
    let ((), samples) = pair::run(
        cores,
        || {
            gate.meet(wait);
            for round in 1..=2 * ROUNDS {
                write(lines, round);
                yours.0.store(round, Ordering::Release);
                await_count(mine, round, wait);
            }
        },
        || {
            let mut samples: [Vec<f64>; 3] = Default::default();
            gate.meet(wait);
            for round in 1..=2 * ROUNDS {
                await_count(yours, round, wait);
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
    samples.map(median)
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
