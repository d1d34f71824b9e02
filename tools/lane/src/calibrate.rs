//! `lane calibrate`: what the simulator needs to know of this machine.

use std::hint::{black_box, spin_loop};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use coherence::{Machine, Time};
use comfy_table::{CellAlignment, Table, presets};
use corelane_simulate::Measured;
use serde::{Deserialize, Serialize};

use crate::cli::CalibrateArgs;
use crate::clock::Clock;
use crate::cores;
use crate::failure::Failure;
use crate::floor::Floors;
use crate::number::short;
use crate::pair::Cores;
use crate::print;
use crate::sink::Sink;
use crate::stats::{Group, Quartiles};
use crate::takeover::Takeover;

/// Samples of which the median is taken.
const SAMPLES: usize = 15;
/// Repetitions in a sample.
const REPEATS: u64 = 20_000;
/// Version of the file's shape.
const SCHEMA: u32 = 1;

/// What was measured, in the shape of the JSON file. All in nanoseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Calibration {
    schema: u32,
    line_rtt_ns: f64,
    block_handoff_ns_per_u64: f64,
    private_ring_ns: f64,
    rmw_ns: f64,
    fence_ns: f64,
    pause_ns: f64,
    store_to_others_line_ns: f64,
    store_to_read_line_ns: f64,
    store_to_own_line_ns: f64,
}

impl Calibration {
    /// Measures everything between these cores.
    pub(crate) fn measure(cores: Cores) -> Self {
        let floors: Vec<_> = (0..5).map(|_| Floors::measure(cores)).collect();
        let median = |value: fn(&Floors) -> f64| {
            Quartiles::of(floors.iter().map(value)).map_or(f64::NAN, |values| values.median)
        };
        let (line_rtt, block_handoff) =
            (median(|floors| floors.line_rtt_ns), median(|floors| floors.block_handoff_ns));
        Self::with(cores, line_rtt, block_handoff)
    }

    /// The same with floors that were measured before.
    pub(crate) fn with(cores: Cores, line_rtt_ns: f64, block_handoff_ns_per_u64: f64) -> Self {
        let takeover = Takeover::measure(cores);
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
            store_to_others_line_ns: takeover.others_ns,
            store_to_read_line_ns: takeover.read_ns,
            store_to_own_line_ns: takeover.own_ns,
        }
    }

    /// What `lane calibrate --json` wrote.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let mend = "give a file that `lane calibrate --json FILE` wrote";
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::Usage(format!("can't read {shown} ({error}); {mend}")))?;
        let calibration: Self = serde_json::from_str(&text).map_err(|error| {
            Failure::Usage(format!("{shown} is no calibration ({error}); {mend}"))
        })?;
        match calibration.is_possible() {
            true => Ok(calibration),
            false => Err(Failure::Usage(format!("{shown} has impossible times; {mend}"))),
        }
    }

    fn is_possible(&self) -> bool {
        let times = [
            self.line_rtt_ns,
            self.block_handoff_ns_per_u64,
            self.private_ring_ns,
            self.rmw_ns,
            self.fence_ns,
            self.pause_ns,
            self.store_to_others_line_ns,
            self.store_to_read_line_ns,
            self.store_to_own_line_ns,
        ];
        self.schema == SCHEMA && times.iter().all(|ns| (0.001..1e6).contains(ns))
    }

    /// The costs that matter most, for people.
    pub(crate) fn told(&self, group: Group) -> String {
        let machine = self.machine();
        format!(
            "{}: line_rtt {} ns, block_handoff {} ns, so a line needs {} ns and a core waits for {} at \
             once; a ring of one thread {} ns, a locked instruction {} ns, a pause {} ns",
            group.name(),
            short(self.line_rtt_ns),
            short(self.block_handoff_ns_per_u64),
            short(machine.costs.same_l3.as_ns()),
            machine.fills,
            short(self.private_ring_ns),
            short(self.rmw_ns),
            short(self.pause_ns)
        )
    }

    /// Whether a line that another core has written to is this one's alone when it has read it: stores
    /// to it take about as long then as to lines that were its own before.
    fn is_migratory(&self) -> bool {
        let middle = self.store_to_others_line_ns.midpoint(self.store_to_own_line_ns);
        self.store_to_read_line_ns < middle
    }

    /// A simulated machine with these costs.
    pub(crate) fn machine(&self) -> Machine {
        self.measured().fit()
    }

    /// What a push or a pop takes if all its accesses hit.
    pub(crate) fn call(&self) -> Time {
        self.measured().call()
    }

    fn measured(&self) -> Measured {
        Measured {
            migratory: self.is_migratory(),
            line_rtt: self.line_rtt_ns,
            block_handoff: self.block_handoff_ns_per_u64,
            private_ring: self.private_ring_ns,
            rmw: self.rmw_ns,
            fence: self.fence_ns,
            pause: self.pause_ns,
        }
    }
}

/// Does what the command line asks for.
pub(crate) fn carry_out(args: &CalibrateArgs) -> Result<ExitCode, Failure> {
    let mut json = args.json.as_deref().map(Sink::open).transpose()?;
    let calibration = Calibration::measure(cores::pair(args.cores)?);
    let mut text = render(&calibration);
    if let Some(sink) = &mut json {
        let contents = serde_json::to_string_pretty(&calibration).expect("results are plain data");
        let path = sink.replace(&contents)?;
        text.push_str(&format!(
            "\nWritten: {path}\nSimulate it with: lane simulate --machine {path}\n"
        ));
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn render(calibration: &Calibration) -> String {
    let machine = calibration.machine();
    let group = Group::of(calibration.line_rtt_ns, Group::FAR_ABOVE_NS).name();
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["measured", "ns"]);
    for (what, ns) in [
        ("a flag to the other core and back (line_rtt)", calibration.line_rtt_ns),
        ("a u64 of a block handed over (block_handoff)", calibration.block_handoff_ns_per_u64),
        ("an item through a ring of one thread", calibration.private_ring_ns),
        ("a locked instruction", calibration.rmw_ns),
        ("a store and a full fence", calibration.fence_ns),
        ("a pause", calibration.pause_ns),
        ("a store to one of many lines of the other core", calibration.store_to_others_line_ns),
        ("the same after reading them", calibration.store_to_read_line_ns),
        ("the same again", calibration.store_to_own_line_ns),
    ] {
        table.add_row([what.to_owned(), short(ns)]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let read = match calibration.is_migratory() {
        true => "moves to that one as a whole",
        false => "is shared with it",
    };
    format!(
        "{table}\n\nThe cores are {group}. Simulated floors take as long if a line needs {} ns from core to \
         core,\nand a core waits for up to {} lines at once. A line that one core wrote to and the other \
         reads\n{read}.\n",
        short(machine.costs.same_l3.as_ns()),
        machine.fills
    )
}

/// Nanoseconds of one `step` on a word of this thread.
fn timed(step: impl Fn(&AtomicU64)) -> f64 {
    let word = AtomicU64::new(0);
    per_repeat(|| (0..REPEATS).for_each(|_| step(black_box(&word))))
}

/// Nanoseconds of an item through a ring that both ends of are one thread's: what a push and a pop take
/// if all their accesses hit.
fn private_ring() -> f64 {
    const MASK: u64 = 255;
    let slots: Vec<AtomicU64> = (0..=MASK).map(AtomicU64::new).collect();
    let (write, read) = (&AtomicU64::new(0), &AtomicU64::new(0));
    let slot = |at: u64| &slots[(at & MASK) as usize];
    per_repeat(|| {
        // A burst in, a burst out: the loads of one don't wait for the stores of the other.
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

/// The median time of `work`, divided by [`REPEATS`].
fn per_repeat(work: impl Fn()) -> f64 {
    let clock = Clock::get();
    work();
    let sample = |_| {
        let from = clock.now();
        work();
        clock.ns(clock.now().saturating_sub(from)) / REPEATS as f64
    };
    Quartiles::of((0..SAMPLES).map(sample)).map_or(f64::NAN, |samples| samples.median)
}
