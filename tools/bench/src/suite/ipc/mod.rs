//! `lane bench ipc`: queues between processes: this one, and a second one that it starts for each
//! measurement.
//!
//! The second process is the same program with the command `peer`, which calls [`be_peer`].

mod args;
mod copy;
#[cfg(feature = "iceoryx2")]
mod iceoryx;
mod ipc_channel;
mod kill;
mod kill_many;
mod lane;
mod literature;
mod mq;
mod pause;
mod peers;
mod ping_pong;
mod plan;
mod rtt;
mod scheduled;
mod setting;
mod stream;
mod system;

use std::fmt;
use std::hint::black_box;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::Instant;

use core_affinity::CoreId;
use corelane::{Info, Sides};
use corelane_report::Failure;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};

pub use self::args::IpcArgs;
pub(crate) use self::setting::IpcSetting;
use crate::catalogue::{Entry, EntryKind, Measured};
use crate::kinds::Test;
use crate::params::{Length, Trial};
use crate::sample::Sample;
use crate::suite::wait::Strategy;
use crate::suite::wait::{Usage, between};
use crate::threads::{self, Task};

/// The command that makes the program a peer.
pub const PEER: &str = "ipc-peer";

/// Sizes of records, in bytes.
pub(crate) const RECORD_BYTES: [usize; 5] = [8, 64, 1024, 16 << 10, 64 << 10];

/// Most bytes of a queue's records: enough that neither side waits for the other one at each
/// record.
pub(crate) const MOST_BYTES: usize = 4 << 20;

/// All entries. To add one: implement [`Link`], and add a line.
pub(crate) fn entries() -> &'static [Linked] {
    static ENTRIES: LazyLock<Vec<Linked>> = LazyLock::new(|| {
        let mut entries = lane::entries();
        entries.extend(literature::entries());
        entries.extend(peers::entries().into_iter().chain([ipc_channel::entry()]));
        #[cfg(feature = "iceoryx2")]
        entries.push(iceoryx::entry());
        entries.extend(system::entries());
        entries.extend(mq::entry());
        entries.push(copy::entry());
        entries
    });
    &ENTRIES
}

/// A queue between processes, and its measurements.
pub(crate) type Linked = Measured<Vec<IpcKernel>>;

/// A peer from one process to another one.
fn peer(id: &'static str, name: &'static str, kind: EntryKind, kernels: Vec<IpcKernel>) -> Linked {
    let info = Info { id, name, sides: Sides::OneToOne, bounded: true, ..Info::RING };
    Entry::other(info, kind).with(kernels)
}

/// A record of `W` words. Each of them is its number.
pub(crate) type Record<const W: usize> = [u64; W];

/// The record of a number.
#[inline(always)]
fn record<const W: usize>(number: u64) -> Record<W> {
    [number; W]
}

/// The number of a record; `None` if it is damaged.
#[inline(always)]
fn number(record: &[u64]) -> Option<u64> {
    let (&first, rest) = record.split_first()?;
    let errors = rest.iter().fold(0, |errors, word| errors | (word ^ first));
    (errors == 0).then_some(first)
}

/// What a queue is made for.
#[derive(Clone, Copy)]
struct Wanted {
    capacity: usize,
    /// Threads of each side, where there are several.
    threads: usize,
    strategy: Strategy,
}

impl Wanted {
    fn by(setting: &IpcSetting, capacity: usize) -> Self {
        Self { capacity, threads: setting.threads, strategy: setting.strategy }
    }
}

/// A queue from one process to the other.
trait Link<const W: usize>: 'static {
    /// How its calls can wait.
    const STRATEGIES: &'static [Strategy] = &[Strategy::Adaptive];

    type Tx: Tx<W> + Send;
    type Rx: Rx<W> + Send;

    /// A queue to the child, and the number of the descriptor by which the child opens it.
    fn to_child(of: Wanted, child: &mut Command) -> Result<(Self::Tx, i32), String>;

    /// A queue from the child, in the same way.
    fn from_child(of: Wanted, child: &mut Command) -> Result<(Self::Rx, i32), String>;

    /// The sending side, in the child.
    fn open_tx(of: Wanted, number: i32) -> Result<Self::Tx, String>;

    /// The receiving side, in the child.
    fn open_rx(of: Wanted, number: i32) -> Result<Self::Rx, String>;
}

/// A sending side.
trait Tx<const W: usize> {
    /// Sends the record of a number, after a wait for room. False if the other process has closed
    /// its side.
    fn put(&mut self, number: u64) -> bool;
}

/// A receiving side.
trait Rx<const W: usize> {
    /// The number of the next record, after a wait for it. `None` if it is damaged, or if the other
    /// process has closed its side and no record is left.
    fn get(&mut self) -> Option<u64>;
}

/// The measurements of a queue for records of one size.
#[derive(Clone, Copy)]
pub(crate) struct IpcKernel {
    pub(crate) record_bytes: usize,
    strategies: &'static [Strategy],
    tests: &'static [Test],
    measure: fn(&Starter<'_>) -> Result<Sample, String>,
    peer: fn(&Peer) -> Result<(), String>,
}

impl fmt::Debug for IpcKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, {:?}", self.record_bytes, self.strategies)
    }
}

/// A queue for records of each size.
trait Links: Link<1> + Link<8> + Link<128> + Link<2048> + Link<8192> {}

impl<L: Link<1> + Link<8> + Link<128> + Link<2048> + Link<8192>> Links for L {}

impl IpcKernel {
    /// For records of each size.
    fn each<L: Links>() -> [Self; RECORD_BYTES.len()] {
        [
            Self::of::<1, L>(),
            Self::of::<8, L>(),
            Self::of::<128, L>(),
            Self::of::<2048, L>(),
            Self::of::<8192, L>(),
        ]
    }

    fn of<const W: usize, L: Link<W>>() -> Self {
        Self {
            record_bytes: 8 * W,
            strategies: L::STRATEGIES,
            tests: &[Test::Rtt, Test::Stream, Test::Cpu],
            measure: measure::<W, L>,
            peer: be_peer_of::<W, L>,
        }
    }

    /// The same for some tests only.
    fn only(self, tests: &'static [Test]) -> Self {
        Self { tests, ..self }
    }

    /// Whether it is this measurement.
    pub(crate) fn fits(&self, test: Test, setting: &IpcSetting) -> bool {
        self.record_bytes == setting.record_bytes
            && self.strategies.contains(&setting.strategy)
            && self.tests.contains(&test)
    }

    /// Runs `test` once. The error says what went wrong.
    pub(crate) fn measure(
        &self,
        queue: &str,
        test: Test,
        trial: &Trial<'_>,
        setting: &IpcSetting,
    ) -> Result<Sample, String> {
        (self.measure)(&Starter { queue, test, trial, setting })
    }
}

/// What the second process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Role {
    /// Sends back what it receives.
    Echo,
    /// Sends for as long as it can.
    Send,
    /// Receives, and tells what that has taken.
    Receive,
    /// Sends the records that follow those that others have sent.
    GoOnSending,
    /// Sends on what it receives, after others that did.
    PassOn,
    /// Sends a message for each that it receives, with several threads.
    EchoAll,
}

/// The second process, as its command line says it.
#[derive(Serialize, Deserialize)]
struct Peer {
    queue: String,
    test: Test,
    setting: IpcSetting,
    capacity: usize,
    role: Role,
    core: Option<usize>,
    links: Vec<i32>,
}

/// Starts the second process of a measurement.
struct Starter<'a> {
    queue: &'a str,
    test: Test,
    trial: &'a Trial<'a>,
    setting: &'a IpcSetting,
}

impl Starter<'_> {
    /// What the queue is made for.
    fn wanted(&self) -> Wanted {
        Wanted::by(self.setting, self.trial.params.capacity)
    }

    /// A second process that is not started yet, so that it can be given descriptors.
    fn command() -> Result<Command, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        Ok(Command::new(program))
    }

    /// Starts it.
    fn start(&self, mut child: Command, role: Role, links: &[i32]) -> Result<Child, String> {
        let peer = Peer {
            queue: self.queue.to_owned(),
            test: self.test,
            setting: self.setting.clone(),
            capacity: self.trial.params.capacity,
            role,
            core: self.cores()[1].map(|core| core.id),
            links: links.to_vec(),
        };
        let peer = serde_json::to_string(&peer).map_err(|error| error.to_string())?;
        // The end of its input tells it that the measurement is over.
        let child = child.arg(PEER).arg(peer).stdin(Stdio::piped()).stdout(Stdio::piped());
        child.spawn().map_err(|error| format!("the second process doesn't start: {error}"))
    }

    /// The core of this process, and that of the second one.
    fn cores(&self) -> [Option<CoreId>; 2] {
        let cores = self.trial.cores;
        [cores.first().copied(), cores.get(1).or(cores.first()).copied()]
    }

    /// Runs this process's part on its core.
    fn here<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        let mut result = None;
        let task: Vec<Task<'_, ()>> =
            vec![(self.cores()[0], Box::new(|| result = Some(black_box(work)())))];
        threads::all(task, &|| ());
        result.expect("its thread is done")
    }
}

/// Repeats a step until the time is over. Returns how often, its time, and what this thread took,
/// without the warm-up.
///
/// The second process starts during the first step, which the caller makes before. So there is one
/// place that makes steps, and the compiler inlines them.
fn repeat(
    length: Length,
    chunk: u64,
    mut step: impl FnMut() -> Result<(), String>,
) -> Result<(u64, f64, Option<Usage>), String> {
    let mut result = (0, 0.0, None);
    for length in length.parts() {
        let (mut steps, usage, begin) = (0, Usage::of_this_thread(), Instant::now());
        while !length.is_over(steps, begin) {
            for _ in 0..chunk {
                step()?;
            }
            steps += chunk;
        }
        let ns = begin.elapsed().as_nanos() as f64;
        result = (steps, ns, between(usage, Usage::of_this_thread()));
    }
    Ok(result)
}

/// Ends the input of the second process, waits for its end, and returns what it has written.
fn finish(child: Child) -> Result<String, String> {
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("the second process failed: {}", output.status)),
    }
}

fn measure<const W: usize, L: Link<W>>(starter: &Starter<'_>) -> Result<Sample, String> {
    match starter.test {
        Test::Rtt => rtt::measure::<W, L>(starter),
        Test::Stream => stream::measure::<W, L>(starter),
        _ => scheduled::measure::<W, L>(starter),
    }
}

fn be_peer_of<const W: usize, L: Link<W>>(peer: &Peer) -> Result<(), String> {
    let (of, links) = (Wanted::by(&peer.setting, peer.capacity), &peer.links);
    match peer.role {
        Role::Echo => rtt::echo(L::open_rx(of, links[0])?, L::open_tx(of, links[1])?),
        Role::Send => stream::send(L::open_tx(of, links[0])?),
        Role::Receive => scheduled::receive(L::open_rx(of, links[0])?),
        Role::GoOnSending | Role::PassOn | Role::EchoAll => {
            return Err("this queue has no such role".into());
        }
    }
    Ok(())
}

/// Does the part of the second process of a measurement, as `what` says.
///
/// # Errors
///
/// If it was not started by a measurement.
pub fn be_peer(what: &str) -> Result<(), Failure> {
    let failed = |why: String| Failure::Run(format!("the second process of a measurement: {why}"));
    let peer: Peer = serde_json::from_str(what)
        .map_err(|_| Failure::Usage(format!("{PEER} is started by `lane bench ipc` only")))?;
    // Not every queue tells that the other side is gone.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    if let Some(id) = peer.core {
        core_affinity::set_for_current(CoreId { id });
    }
    let kernels = entries().iter().filter(|one| one.entry.info.id == peer.queue);
    let kernel =
        kernels.flat_map(|one| &one.kernel).find(|kernel| kernel.fits(peer.test, &peer.setting));
    let kernel = kernel.ok_or_else(|| failed(format!("no {}", peer.queue)))?;
    peers::watch();
    (kernel.peer)(&peer).map_err(failed)
}

/// Processor time of a process's main thread, as text.
fn tell(usage: Option<Usage>) {
    if let Some(Usage { cpu_ns, sleeps }) = usage {
        println!("{cpu_ns} {sleeps}");
    }
}

/// What the second process has told.
fn told(text: &str) -> Option<Usage> {
    let mut numbers = text.split_whitespace().map(str::parse);
    Some(Usage { cpu_ns: numbers.next()?.ok()?, sleeps: numbers.next()?.ok()? })
}
