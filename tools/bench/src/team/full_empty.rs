//! What it costs to be told that a queue is full, or empty. One thread, nobody else.

use std::hint::black_box;
use std::time::Instant;

use corelane::{Consumer, Producer, Queue};

use super::account::Fault;
use crate::goods::{Goods, number};
use crate::pair;
use crate::params::{Length, Trial};
use crate::sample::Sample;
use crate::stats::Quartiles;

/// Calls that are timed together.
const CALLS: u64 = 1000;

pub(super) fn full<T: Goods, Q: Queue<T>>(trial: &Trial<'_>) -> Result<Sample, Fault> {
    alone(trial, || {
        let (mut tx, mut rx) =
            Q::with(trial.params.config()).expect("tried before the first round");
        let most = 4 * trial.params.capacity as u64 + 1024;
        let mut counts = 1..=most;
        if counts.all(|count| tx.try_push(T::pack(number(0, count))).is_ok()) {
            return Err(Fault::NeverFull);
        }
        let item = T::pack(number(0, most + 1));
        let result = time(trial.length, || tx.try_push(black_box(item)).is_ok());
        // The consumer stays, else the queue is closed and not full.
        black_box(rx.try_pop().is_ok());
        result
    })
}

pub(super) fn empty<T: Goods, Q: Queue<T>>(trial: &Trial<'_>) -> Result<Sample, Fault> {
    alone(trial, || {
        let (mut tx, mut rx) =
            Q::with(trial.params.config()).expect("tried before the first round");
        let result = time(trial.length, || rx.try_pop().is_ok());
        // The producer stays, else the queue is closed and not empty.
        black_box(tx.try_push(T::pack(number(0, 1))).is_ok());
        result
    })
}

fn alone(
    trial: &Trial<'_>,
    work: impl FnOnce() -> Result<Sample, Fault> + Send,
) -> Result<Sample, Fault> {
    let mut result = None;
    pair::all(vec![(trial.cores[0], Box::new(|| result = Some(work())))]);
    result.expect("its thread is done")
}

/// Nanoseconds per call: the median of groups of calls, which survives a stolen time slice.
fn time(length: Length, mut succeeds: impl FnMut() -> bool) -> Result<Sample, Fault> {
    let begin = Instant::now();
    let (mut times, mut calls) = (Vec::new(), 0);
    let mut group = |calls: u64| {
        let from = Instant::now();
        let successes = (0..calls).filter(|_| succeeds()).count();
        (successes == 0).then_some(from.elapsed().as_nanos() as f64 / calls as f64)
    };
    group(CALLS).ok_or(Fault::Answered)?;
    loop {
        times.push(group(CALLS).ok_or(Fault::Answered)?);
        calls += CALLS;
        let is_over = match length {
            Length::Time(time) => begin.elapsed() >= time,
            Length::Items(items) => calls >= items,
        };
        if is_over {
            let value = Quartiles::of(times).map_or(f64::NAN, |times| times.median);
            return Ok(Sample::of(value));
        }
    }
}
