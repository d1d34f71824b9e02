//! The costs of this machine that the simulator needs.

use std::hint::{black_box, spin_loop};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Instant;

use corelane_report::{Block, Document, Failure, Table, short};
use serde::{Deserialize, Serialize};

use crate::clock::median_ns;
use crate::floor::{Floors, PaddedWord, await_count};
use crate::stats::{Group, median};
use crate::threads::{self, Cores, Gate, Wait};

/// Samples of which the median is taken.
const SAMPLES: usize = 15;
/// Repetitions in a sample.
const REPEATS: u64 = 20_000;
/// Lines that are written one after the other: a quarter of a first-level cache.
const LINES: usize = 64;
/// Rounds in which the lines are read first, and as many rounds in which they are not.
const TAKEOVERS: u64 = 200;
/// Version of the file's shape.
const SCHEMA: u32 = 1;

/// The measurements, in the shape of the JSON file. All in nanoseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Calibration {
    schema: u32,
    /// A flag to the other core and back.
    pub line_rtt_ns: f64,
    /// A `u64` of a block that moves to the other core.
    pub block_handoff_ns_per_u64: f64,
    /// An item's push and pop in a ring of one thread.
    pub private_ring_ns: f64,
    /// A locked instruction.
    pub rmw_ns: f64,
    /// A store and a full fence.
    pub fence_ns: f64,
    /// A pause.
    pub pause_ns: f64,
    store_to_others_line_ns: f64,
    store_to_read_line_ns: f64,
    store_to_own_line_ns: f64,
}

impl Calibration {
    /// Measures all costs between these cores.
    pub fn measure(cores: Cores) -> Self {
        let floors: Vec<_> = (0..5).map(|_| Floors::measure(cores, false)).collect();
        let median = |value: fn(&Floors) -> f64| median(floors.iter().map(value));
        Self::with(
            cores,
            median(|floors| floors.line_rtt_ns),
            median(|floors| floors.block_handoff_ns),
        )
    }

    /// As [`measure`](Self::measure), with floors that were measured before.
    pub fn with(cores: Cores, line_rtt_ns: f64, block_handoff_ns_per_u64: f64) -> Self {
        let [store_to_others_line_ns, store_to_read_line_ns, store_to_own_line_ns] =
            takeover(cores);
        Self {
            schema: SCHEMA,
            line_rtt_ns,
            block_handoff_ns_per_u64,
            private_ring_ns: private_ring(),
            rmw_ns: timed(|word| {
                word.fetch_add(1, Ordering::AcqRel);
            }),
            fence_ns: timed(|word| {
                word.store(1, Ordering::Relaxed);
                fence(Ordering::SeqCst);
            }),
            pause_ns: timed(|_| spin_loop()),
            store_to_others_line_ns,
            store_to_read_line_ns,
            store_to_own_line_ns,
        }
    }

    /// Reads a file that `lane calibrate --json` has written.
    ///
    /// # Errors
    ///
    /// If the file can't be read or used.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let refused = |what: String| {
            let mend = "give a file that `lane calibrate --json FILE` wrote";
            Failure::Usage(format!("{what}; {mend}"))
        };
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| refused(format!("can't read {shown} ({error})")))?;
        let calibration: Self = serde_json::from_str(&text)
            .map_err(|error| refused(format!("{shown} is no calibration ({error})")))?;
        match calibration.is_possible() {
            true => Ok(calibration),
            false => Err(refused(format!("{shown} has impossible times"))),
        }
    }

    fn is_possible(&self) -> bool {
        let mut times = self.times().into_iter();
        self.schema == SCHEMA && times.all(|(_, ns)| (0.001..1e6).contains(&ns))
    }

    /// Whether a core owns a line exclusively after it has read a line that another core has
    /// written to: stores to these lines then take about as long as stores to the core's own lines.
    pub fn is_migratory(&self) -> bool {
        let middle = self.store_to_others_line_ns.midpoint(self.store_to_own_line_ns);
        self.store_to_read_line_ns < middle
    }

    /// The times with their names, for people.
    fn times(&self) -> [(&'static str, f64); 9] {
        [
            ("a flag to the other core and back (line_rtt)", self.line_rtt_ns),
            ("a u64 of a block handed over (block_handoff)", self.block_handoff_ns_per_u64),
            ("an item through a ring of one thread", self.private_ring_ns),
            ("a locked instruction", self.rmw_ns),
            ("a store and a full fence", self.fence_ns),
            ("a pause", self.pause_ns),
            ("a store to one of many lines of the other core", self.store_to_others_line_ns),
            ("the same after reading them", self.store_to_read_line_ns),
            ("the same again", self.store_to_own_line_ns),
        ]
    }

    /// The measurements, for people.
    pub fn document(&self) -> Document {
        let rows = self.times().map(|(what, ns)| [what.to_owned(), short(ns)]);
        let read = match self.is_migratory() {
            true => "moves to that one as a whole",
            false => "is shared with it",
        };
        let group = Group::of(self.line_rtt_ns, Group::FAR_ABOVE_NS).name();
        let mut document = Document::new("corelane: calibration", "Calibration");
        document.add(Block::Table(Table::new(["measured", "ns"]).with(rows)));
        document.add(Block::Paragraph(format!(
            "The cores are {group}. A line that one core wrote to and the other reads {read}. `lane simulate \
             --machine FILE` says what the simulated machine is like that takes as long."
        )));
        document
    }
}

/// Nanoseconds of one `step` on a word of this thread.
fn timed(step: impl Fn(&AtomicU64)) -> f64 {
    let word = AtomicU64::new(0);
    per_repeat(|| (0..REPEATS).for_each(|_| step(black_box(&word))))
}

/// Nanoseconds of a push and a pop in a ring whose two ends are in one thread: all accesses hit.
fn private_ring() -> f64 {
    const MASK: u64 = 255;
    let slots: Vec<AtomicU64> = (0..=MASK).map(AtomicU64::new).collect();
    let (write, read) = (&AtomicU64::new(0), &AtomicU64::new(0));
    let slot = |at: u64| &slots[(at & MASK) as usize];
    per_repeat(|| {
        // Pushes a burst, then pops it, so that the loads of pops don't wait for the stores of
        // pushes.
        for _ in 0..REPEATS / 100 {
            for item in 0..100 {
                let at = write.load(Ordering::Relaxed);
                if at - read.load(Ordering::Acquire) <= MASK {
                    slot(at).store(item, Ordering::Relaxed);
                    write.store(at + 1, Ordering::Release);
                }
            }
            for _ in 0..100 {
                let at = read.load(Ordering::Relaxed);
                if at != write.load(Ordering::Acquire) {
                    black_box(slot(at).load(Ordering::Relaxed));
                    read.store(at + 1, Ordering::Release);
                }
            }
        }
    })
}

/// The median time of `work`, after one call to warm up, divided by [`REPEATS`].
fn per_repeat(work: impl Fn()) -> f64 {
    work();
    median_ns(SAMPLES, work) / REPEATS as f64
}

/// Nanoseconds per line until stores to many lines are visible: to lines of the other core, to the
/// same lines after reading them, and to own lines.
fn takeover(cores: Cores) -> [f64; 3] {
    let lines: Vec<PaddedWord> = (0..LINES).map(|_| PaddedWord::default()).collect();
    let [yours, mine] = &[PaddedWord::default(), PaddedWord::default()];
    let (lines, gate, wait) = (&lines[..], &Gate::default(), cores.wait(Wait::Spin));
    let ((), samples) = threads::run(
        cores,
        || {
            gate.meet(wait);
            for round in 1..=2 * TAKEOVERS {
                write(lines, round);
                yours.0.store(round, Ordering::Release);
                await_count(mine, round, wait);
            }
        },
        || {
            let mut samples: [Vec<f64>; 3] = Default::default();
            gate.meet(wait);
            for round in 1..=2 * TAKEOVERS {
                await_count(yours, round, wait);
                let has_read = round % 2 == 0;
                if has_read {
                    assert!(lines.iter().all(|line| line.0.load(Ordering::Relaxed) == round));
                }
                samples[usize::from(has_read)].push(timed_write(lines, round));
                samples[2].push(timed_write(lines, round));
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

fn timed_write(lines: &[PaddedWord], value: u64) -> f64 {
    // The system's clock waits for the fence; the time-stamp counter would not.
    let start = Instant::now();
    write(lines, value);
    start.elapsed().as_nanos() as f64 / LINES as f64
}
