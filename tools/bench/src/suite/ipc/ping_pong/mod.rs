//! Two processes, each with threads that send and threads that receive, as in paper 5, §VI. Any
//! thread of the other process may receive a message.
//!
//! As many messages as there are sending threads go there and back. A receiving thread that has a
//! message lets a sending thread of its process send the next one. A message is the time at which
//! it was sent.

mod course;
mod team;
mod turns;

use std::io::{self, Read};
use std::process::{Child, Command};

use self::course::Course;
use self::team::{Counts, Phase, Team, Watch};
use super::lane::text;
use super::{IpcKernel, Peer, Role, Rx, Starter, Tx, Wanted, finish};
use crate::kinds::Test;
use crate::sample::Sample;
use crate::suite::wait::Strategy;

/// Handles, one for each thread, and the number of the descriptor by which the child opens the
/// queue.
pub(super) type Many<H> = Result<(Vec<H>, i32), String>;

/// A queue from the threads of one process to those of the other, for records of a word.
pub(super) trait Crowd: 'static {
    /// How its calls can wait.
    const STRATEGIES: &'static [Strategy] = &[Strategy::Adaptive];

    type Tx: Tx<1> + Send;
    type Rx: Rx<1> + Send;

    /// A queue to the child.
    fn to_child(of: Wanted, child: &mut Command) -> Many<Self::Tx>;

    /// A queue from the child.
    fn from_child(of: Wanted, child: &mut Command) -> Many<Self::Rx>;

    /// The sending sides, in the child.
    fn open_tx(of: Wanted, number: i32) -> Result<Vec<Self::Tx>, String>;

    /// The receiving sides, in the child.
    fn open_rx(of: Wanted, number: i32) -> Result<Vec<Self::Rx>, String>;
}

pub(super) fn kernel<C: Crowd>() -> IpcKernel {
    IpcKernel {
        record_bytes: 8,
        strategies: C::STRATEGIES,
        tests: &[Test::PingPong],
        measure: measure::<C>,
        peer: answer::<C>,
    }
}

/// Nanoseconds of a round trip: those of all messages count. The latency is that of a message from
/// the other process.
fn measure<C: Crowd>(starter: &Starter<'_>) -> Result<Sample, String> {
    let mut command = Starter::command()?;
    let (txs, there) = C::to_child(starter.wanted(), &mut command)?;
    let (rxs, back) = C::from_child(starter.wanted(), &mut command)?;
    let (setting, course) = (starter.setting, Course::new(starter.trial.length));
    // Each sending thread begins with a turn.
    let team = Team::new(setting.threads, setting.threads, setting.pause_ns, &course);
    let mut child = starter.start(command, Role::EchoAll, &[there, back])?;
    if wait_until_ready(&mut child).is_err() {
        return finish(child).and(Err("the second process has not begun".into()));
    }
    // Threads have the core of the thread that starts them.
    let done = starter.here(|| team.run(txs, rxs));
    let told = finish(child)?;
    let there: Counts = serde_json::from_str(told.trim()).map_err(text)?;
    if [there.sent, there.received] != [done.counts.received, done.counts.sent] {
        return Err("messages are lost, doubled or damaged".into());
    }
    let trip = course.trip().ok_or("the second process has ended too early")?;
    Ok(Sample {
        cpu_ns: trip.cpu_ns.map(|sides| sides.iter().sum()),
        cpu_sides: trip.cpu_ns,
        sleeps: done.sleeps,
        latency: Some(done.latency),
        ..Sample::of(trip.ns)
    })
}

/// The second process says so when its threads may get messages.
fn wait_until_ready(child: &mut Child) -> io::Result<()> {
    let output = child.stdout.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
    output.read_exact(&mut [0])
}

/// Watches nothing: the first process measures.
struct Answers;

impl Watch for Answers {
    fn arrived(&self) -> Phase {
        Phase::Uncounted
    }
}

/// The second process: it sends a message for each one that it gets.
fn answer<C: Crowd>(peer: &Peer) -> Result<(), String> {
    if peer.role != Role::EchoAll {
        return Err("it only answers".into());
    }
    let of = Wanted::by(&peer.setting, peer.capacity);
    let (rxs, txs) = (C::open_rx(of, peer.links[0])?, C::open_tx(of, peer.links[1])?);
    let team = Team::new(of.threads, 0, peer.setting.pause_ns, &Answers);
    println!();
    let counts = team.run(txs, rxs).counts;
    println!("{}", serde_json::to_string(&counts).map_err(text)?);
    Ok(())
}
