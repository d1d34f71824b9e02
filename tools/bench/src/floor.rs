//! The costs of the caches alone: the floors with which every queue is compared.

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::median_ns;
use crate::line_stream::line_stream;
use crate::threads::{self, Cores, Gate, Wait};

/// Round trips per sample.
const TRIPS: usize = 1000;
/// Samples of which the median is taken.
const SAMPLES: usize = 9;

/// Words of one block: 4 KiB.
const BLOCK: usize = 512;
/// Blocks in flight. Their 32 KiB fit the first-level cache, as a queue's slots should.
const BLOCKS: usize = 8;
/// Blocks handed over per sample.
const HANDOFFS: usize = 100;

/// A word alone in its cache line, and in the other line of the prefetcher's pair.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct PaddedWord(pub(crate) AtomicU64);

/// Measured floors.
#[derive(Clone, Copy)]
pub(crate) struct Floors {
    /// Two threads bounce one flag each way: ns per round trip.
    pub(crate) line_rtt_ns: f64,
    /// One thread writes blocks of 4 KiB, the other sums them: ns per u64.
    pub(crate) block_handoff_ns: f64,
    /// One thread writes lines, the other sums them, in the fastest of several ways: ns per u64.
    pub(crate) line_stream_ns: f64,
    /// Two threads wake each other: ns per round trip between the cores, and on one core. Only for
    /// calls that wait.
    pub(crate) futex_rtt_ns: Option<[f64; 2]>,
}

impl Floors {
    /// The floors between two cores; with `sleep`, also those of threads that sleep.
    pub(crate) fn measure(cores: Cores, sleep: bool) -> Self {
        let one = Cores { consumer: cores.producer, ..cores };
        Self {
            line_rtt_ns: line_rtt(cores),
            block_handoff_ns: block_handoff(cores),
            line_stream_ns: line_stream(cores),
            futex_rtt_ns: if sleep {
                futex_rtt(cores).zip(futex_rtt(one)).map(Into::into)
            } else {
                None
            },
        }
    }
}

/// Nanoseconds for a flag to the other core and one back.
///
/// The flags count; the thread that reads a flag doesn't clear it. Clearing would hand the line
/// over writable, and is sometimes faster: it has two modes, 55 and 90 ns on an EPYC, where
/// counting takes 105. So a queue whose consumer writes its slots can be a little below the floor.
/// Each sample has flags of its own: the time depends on where a line's home in the cache is, by a
/// quarter from one line to another.
pub(crate) fn line_rtt(cores: Cores) -> f64 {
    let flags: Vec<[PaddedWord; 2]> = (0..SAMPLES).map(|_| Default::default()).collect();
    let (gate, wait) = (&Gate::default(), cores.wait(Wait::Spin));
    let (ns, ()) = threads::run(
        cores,
        || {
            gate.meet(wait);
            let mut flags = flags.iter();
            median_ns(SAMPLES, || {
                let [ping, pong] = flags.next().expect("a sample has flags");
                for trip in (1..).take(TRIPS) {
                    // Release and Acquire as a queue needs them: the floor must not be cheaper.
                    ping.0.store(trip, Ordering::Release);
                    await_count(pong, trip, wait);
                }
            })
        },
        || {
            gate.meet(wait);
            for [ping, pong] in &flags {
                for trip in (1..).take(TRIPS) {
                    await_count(ping, trip, wait);
                    pong.0.store(trip, Ordering::Release);
                }
            }
        },
    );
    ns / TRIPS as f64
}

pub(crate) fn await_count(counter: &PaddedWord, value: u64, wait: Wait) {
    wait.until(|| (counter.0.load(Ordering::Acquire) >= value).then_some(()));
}

/// Round trips per sample of threads that sleep.
#[cfg(target_os = "linux")]
const SLEEPS: usize = 10;

/// Nanoseconds in which two threads wake each other in turn.
#[cfg(target_os = "linux")]
fn futex_rtt(cores: Cores) -> Option<f64> {
    use rustix::thread::futex;
    use std::sync::atomic::AtomicU32;

    let (ping, pong) = (&AtomicU32::new(0), &AtomicU32::new(0));
    let ring = |word: &AtomicU32| {
        // Release ↔ Acquire below, as a queue needs them.
        word.fetch_add(1, Ordering::Release);
        futex::wake(word, futex::Flags::PRIVATE, 1).expect("the word is there");
    };
    let sleep = |word: &AtomicU32, old: u32| {
        while word.load(Ordering::Acquire) == old {
            // Also ends without a ring: then the word is read again.
            _ = futex::wait(word, futex::Flags::PRIVATE, old, None);
        }
    };
    let (ns, ()) = threads::run(
        cores,
        move || {
            let mut trips = 0..;
            median_ns(SAMPLES, || {
                for trip in trips.by_ref().take(SLEEPS) {
                    ring(ping);
                    sleep(pong, trip);
                }
            })
        },
        move || {
            for trip in (0..).take(SAMPLES * SLEEPS) {
                sleep(ping, trip);
                ring(pong);
            }
        },
    );
    Some(ns / SLEEPS as f64)
}

#[cfg(not(target_os = "linux"))]
fn futex_rtt(_: Cores) -> Option<f64> {
    None
}

/// Plain words and not atomics, so that both sides may use vector instructions.
#[repr(align(128))]
struct Block(UnsafeCell<[u64; BLOCK]>);

// SAFETY: in `block_handoff` a block is written only while `read` says that the consumer has
// finished with it, and read only while `written` says that the producer has; both counters are
// released and acquired.
unsafe impl Sync for Block {}

/// Nanoseconds per u64 when whole blocks of a small ring move from one core to the other.
pub(crate) fn block_handoff(cores: Cores) -> f64 {
    let ring: Vec<_> = (0..BLOCKS).map(|_| Block(UnsafeCell::new([0; BLOCK]))).collect();
    let block = |number: u64| ring[number as usize % BLOCKS].0.get();
    let (written, read) = (&PaddedWord::default(), &PaddedWord::default());
    let (gate, wait) = (&Gate::default(), cores.wait(Wait::Spin));
    let total = (SAMPLES * HANDOFFS) as u64;
    let ((), ns) = threads::run(
        cores,
        || {
            gate.meet(wait);
            for number in 0..total {
                await_count(read, (number + 1).saturating_sub(BLOCKS as u64), wait);
                // SAFETY: the consumer has finished with this block, and reads it again only after
                // `written` is stored below.
                unsafe { (*block(number)).fill(number) };
                written.0.store(number + 1, Ordering::Release);
            }
        },
        || {
            gate.meet(wait);
            let mut numbers = 0..total;
            median_ns(SAMPLES, || {
                for number in numbers.by_ref().take(HANDOFFS) {
                    await_count(written, number + 1, wait);
                    // SAFETY: the producer has written this block, and waits for `read` before it
                    // writes the block again.
                    let words = unsafe { &*block(number) };
                    let sum = words.iter().fold(0, |sum: u64, word| sum.wrapping_add(*word));
                    read.0.store(number + 1, Ordering::Release);
                    assert_eq!(black_box(sum), number * BLOCK as u64, "a block arrived torn");
                }
            })
        },
    );
    ns / (HANDOFFS * BLOCK) as f64
}
