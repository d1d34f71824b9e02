//! The cost of a call that fails because the queue is full or empty, in a single thread.

use std::hint::black_box;
use std::time::Instant;

use corelane::{Consumer, Producer, Queue};

use crate::params::{Length, Trial};
use crate::payload::{NO_POOL, Payload};
use crate::sample::Sample;
use crate::stats::median;
use crate::suite::mpmc::Operation;
use crate::threads;

/// Calls that are timed together.
const CALLS: u64 = 1000;

pub(super) fn measure<T: Payload, Q: Queue<T>>(
    trial: &Trial<'_>,
    operation: Option<Operation>,
) -> Result<Sample, String> {
    let work = || match operation {
        Some(Operation::Push) => full::<T, Q>(trial),
        _ => empty::<T, Q>(trial),
    };
    let mut results = threads::all(vec![(Some(trial.cores[0]), Box::new(work))], &|| ());
    results.pop().expect("its thread is done").map(Sample::of)
}

fn full<T: Payload, Q: Queue<T>>(trial: &Trial<'_>) -> Result<f64, String> {
    // The consumer is kept: otherwise the queue would be closed and not full.
    let (mut tx, _rx) = trial.open::<T, Q>();
    // A list of rings in a pool holds eight times the items that it was asked for.
    let most = 8 * trial.params.capacity as u64 + 1024;
    if (1..=most).all(|number| tx.try_push(T::make(NO_POOL, number)).is_ok()) {
        return Err("it takes more items than it can hold".into());
    }
    let item = T::make(NO_POOL, most + 1);
    time(trial.length, || tx.try_push(black_box(item)).is_ok())
}

fn empty<T: Payload, Q: Queue<T>>(trial: &Trial<'_>) -> Result<f64, String> {
    // The producer is kept: otherwise the queue would be closed and not empty.
    let (_tx, mut rx) = trial.open::<T, Q>();
    time(trial.length, || rx.try_pop().is_ok())
}

/// Nanoseconds per call: the median of groups of calls, which a lost time slice does not change.
fn time(length: Length, mut succeeds: impl FnMut() -> bool) -> Result<f64, String> {
    let begin = Instant::now();
    let mut group = || {
        let from = Instant::now();
        let successes = (0..CALLS).filter(|_| succeeds()).count();
        let ns = from.elapsed().as_nanos() as f64 / CALLS as f64;
        (successes == 0).then_some(ns).ok_or("a call succeeded on a queue that was full or empty")
    };
    group()?;
    let mut times = Vec::new();
    loop {
        times.push(group()?);
        let is_over = match length {
            Length::Time(time) => begin.elapsed() >= time,
            Length::Items(items) => times.len() as u64 * CALLS >= items,
        };
        if is_over {
            return Ok(median(times));
        }
    }
}
