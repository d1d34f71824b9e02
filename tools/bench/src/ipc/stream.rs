//! As many records as the other process can send.

use std::time::Instant;

use super::{Link, Role, Rx, Starter, Tx, finish, number, record};
use crate::channel::{Usage, between};
use crate::params::Length;
use crate::sample::Sample;

/// Records between two looks at the clock.
const CHUNK: u64 = 64;

/// Nanoseconds of a record.
pub(super) fn measure<const W: usize, L: Link<W>>(starter: &Starter<'_>) -> Result<Sample, String> {
    let mut child = Starter::command()?;
    let (rx, link) = L::from_child(starter.trial.params.capacity, &mut child)?;
    let child = starter.start(child, Role::Send, &[link])?;
    let length = starter.trial.length;
    // Its end, which is dropped here, ends the other process.
    let received = starter.here(move || receive(rx, length));
    finish(child)?;
    let (records, ns, usage) = received?;
    let sample = Sample::of(ns / records.max(1) as f64);
    Ok(sample.with_usage(usage, records as f64))
}

fn receive<const W: usize>(
    mut rx: impl Rx<W>,
    length: Length,
) -> Result<(u64, f64, Option<Usage>), String> {
    let (mut last, mut result) = (0, (0, 0.0, None));
    next(&mut rx, &mut last)?;
    for length in length.parts() {
        let (from, usage, begin) = (last, Usage::of_this_thread(), Instant::now());
        while !length.is_over(last - from, begin) {
            for _ in 0..CHUNK {
                next(&mut rx, &mut last)?;
            }
        }
        let ns = begin.elapsed().as_nanos() as f64;
        result = (last - from, ns, between(usage, Usage::of_this_thread()));
    }
    Ok(result)
}

#[inline(always)]
fn next<const W: usize>(rx: &mut impl Rx<W>, last: &mut u64) -> Result<(), String> {
    *last += 1;
    match rx.get().and_then(|record| number(&record)) == Some(*last) {
        true => Ok(()),
        false => Err("a record is lost, damaged or out of order".into()),
    }
}

/// Sends until the other process ends.
pub(super) fn send<const W: usize>(mut tx: impl Tx<W>) {
    let mut last = 1;
    while tx.put(&record(last)) {
        last += 1;
    }
}
