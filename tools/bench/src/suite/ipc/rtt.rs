//! A record to the other process and back.

use super::{Link, Role, Rx, Starter, Tx, finish, repeat};
use crate::sample::Sample;

/// Round trips between two looks at the clock.
const CHUNK: u64 = 8;

/// Nanoseconds of a round trip.
pub(super) fn measure<const W: usize, L: Link<W>>(starter: &Starter<'_>) -> Result<Sample, String> {
    let mut child = Starter::command()?;
    let (mut tx, there) = L::to_child(starter.wanted(), &mut child)?;
    let (mut rx, back) = L::from_child(starter.wanted(), &mut child)?;
    let child = starter.start(child, Role::Echo, &[there, back])?;
    let length = starter.trial.length;
    let asked = starter.here(move || {
        let mut last = 0;
        trip(&mut tx, &mut rx, &mut last)?;
        repeat(length, CHUNK, || trip(&mut tx, &mut rx, &mut last))
    });
    finish(child)?;
    let (trips, ns, usage) = asked?;
    let sample = Sample::of(ns / trips.max(1) as f64);
    Ok(sample.with_usage(usage, trips as f64))
}

#[inline(always)]
fn trip<const W: usize>(
    tx: &mut impl Tx<W>,
    rx: &mut impl Rx<W>,
    last: &mut u64,
) -> Result<(), String> {
    *last += 1;
    let answer = tx.put(*last).then(|| rx.get()).flatten();
    match answer == Some(*last) {
        true => Ok(()),
        false => Err("a record did not come back, or was damaged".into()),
    }
}

/// Sends back what it receives.
pub(super) fn echo<const W: usize>(mut rx: impl Rx<W>, mut tx: impl Tx<W>) {
    while let Some(number) = rx.get() {
        if !tx.put(number) {
            return;
        }
    }
}
