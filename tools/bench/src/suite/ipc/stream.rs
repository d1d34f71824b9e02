//! As many records as the other process can send.

use super::{Link, Role, Rx, Starter, Tx, finish, repeat};
use crate::sample::Sample;

/// Records between two looks at the clock.
const CHUNK: u64 = 64;

/// Nanoseconds of a record.
pub(super) fn measure<const W: usize, L: Link<W>>(starter: &Starter<'_>) -> Result<Sample, String> {
    let mut child = Starter::command()?;
    let (mut rx, link) = L::from_child(starter.wanted(), &mut child)?;
    let child = starter.start(child, Role::Send, &[link])?;
    let length = starter.trial.length;
    // Its end, which is dropped here, ends the other process.
    let received = starter.here(move || {
        let mut last = 0;
        next(&mut rx, &mut last)?;
        repeat(length, CHUNK, || next(&mut rx, &mut last))
    });
    finish(child)?;
    let (records, ns, usage) = received?;
    let sample = Sample::of(ns / records.max(1) as f64);
    Ok(sample.with_usage(usage, records as f64))
}

#[inline(always)]
fn next<const W: usize>(rx: &mut impl Rx<W>, last: &mut u64) -> Result<(), String> {
    *last += 1;
    match rx.get() == Some(*last) {
        true => Ok(()),
        false => Err("a record is lost, damaged or out of order".into()),
    }
}

/// Sends until the other process ends.
pub(super) fn send<const W: usize>(mut tx: impl Tx<W>) {
    let mut last = 1;
    while tx.put(last) {
        last += 1;
    }
}
