//! Several threads of each process: those of one ask, and those of the other answer. Any thread may
//! answer, and get any answer.

use std::process::Command;
use std::thread;

use super::{IpcKernel, Peer, Role, Rx, Starter, Tx, Wanted, finish, repeat};
use crate::kinds::Test;
use crate::sample::Sample;
use crate::suite::wait::Strategy;
use crate::suite::wait::Usage;

/// Round trips between two looks at the clock. With some queues and many threads one takes a
/// second.
const CHUNK: u64 = 1;

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

/// Nanoseconds of a round trip: those of all threads count.
fn measure<C: Crowd>(starter: &Starter<'_>) -> Result<Sample, String> {
    let threads = starter.setting.threads;
    let mut child = Starter::command()?;
    let (txs, there) = C::to_child(starter.wanted(), &mut child)?;
    let (rxs, back) = C::from_child(starter.wanted(), &mut child)?;
    let child = starter.start(child, Role::EchoAll, &[there, back])?;
    let length = starter.trial.length;
    // Threads have the core of the thread that starts them.
    let asked = starter.here(|| {
        thread::scope(|scope| {
            let ask = |(number, (mut tx, mut rx)): (usize, (C::Tx, C::Rx))| {
                scope.spawn(move || {
                    let (mut sent, mut received, mut next) = (0_u64, 0_u64, number as u64);
                    let mut trip = || {
                        next += threads as u64;
                        sent = sent.wrapping_add(next);
                        let answer = tx.put(next).then(|| rx.get()).flatten();
                        received = received.wrapping_add(answer.ok_or("an answer is missing")?);
                        Ok::<_, String>(())
                    };
                    trip()?;
                    let (trips, ns, usage) = repeat(length, CHUNK, &mut trip)?;
                    let left = sent.wrapping_sub(received);
                    // The handles are dropped when all threads have ended.
                    Ok::<_, String>(((trips as f64 / ns, usage, trips, left), (tx, rx)))
                })
            };
            let threads: Vec<_> = txs.into_iter().zip(rxs).enumerate().map(ask).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect::<Result<Vec<_>, String>>()
        })
    });
    let (asked, handles): (Vec<_>, Vec<_>) = asked?.into_iter().unzip();
    drop(handles);
    finish(child)?;
    let left = asked.iter().fold(0_u64, |sum, (.., left)| sum.wrapping_add(*left));
    if left != 0 {
        return Err("answers are lost, doubled or damaged".into());
    }
    let trips_of_a_ns: f64 = asked.iter().map(|(rate, ..)| rate).sum();
    let trips: u64 = asked.iter().map(|(_, _, trips, _)| trips).sum();
    let usage = asked.iter().try_fold(Usage::default(), |sum, (_, usage, ..)| {
        let usage = (*usage)?;
        Some(Usage { cpu_ns: sum.cpu_ns + usage.cpu_ns, sleeps: sum.sleeps + usage.sleeps })
    });
    Ok(Sample::of(1.0 / trips_of_a_ns).with_usage(usage, trips as f64))
}

/// The threads that answer.
fn answer<C: Crowd>(peer: &Peer) -> Result<(), String> {
    if peer.role != Role::EchoAll {
        return Err("it only answers".into());
    }
    let of = Wanted::by(&peer.setting, peer.capacity);
    let (rxs, txs) = (C::open_rx(of, peer.links[0])?, C::open_tx(of, peer.links[1])?);
    thread::scope(|scope| {
        for (mut rx, mut tx) in rxs.into_iter().zip(txs) {
            scope.spawn(move || {
                while let Some(number) = rx.get() {
                    if !tx.put(number) {
                        return;
                    }
                }
            });
        }
    });
    Ok(())
}
