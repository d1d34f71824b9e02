//! Processor time of records that are sent at random times.

use std::io::{self, Read};

use super::{Link, Role, Rx, Starter, Tx, finish, tell, told};
use crate::clock::Clock;
use crate::params::Length;
use crate::sample::Sample;
use crate::schedule;
use crate::suite::mpmc::probe::CLOCK_COST_NS;
use crate::suite::wait::{Usage, between};
use crate::threads::Wait;

/// Processor time of a record: of the call that sends it, and of the process that receives it.
pub(super) fn measure<const W: usize, L: Link<W>>(starter: &Starter<'_>) -> Result<Sample, String> {
    let Length::Time(time) = starter.trial.length else { unreachable!("planned with a time") };
    let schedule = schedule::poisson(starter.setting.rate.unwrap_or(1) as f64, time);
    let mut child = Starter::command()?;
    let (mut tx, link) = L::to_child(starter.wanted(), &mut child)?;
    let mut child = starter.start(child, Role::Receive, &[link])?;
    let mut output = child.stdout.take().ok_or("the second process has no output")?;
    let sent = starter.here(|| {
        // The first record waits for the other process, and is not counted.
        tx.put(1);
        output.read_exact(&mut [0])?;
        let (clock, mut failed, mut calls, mut last) = (Clock::get(), 0, 0, 1);
        let begin = clock.now();
        for arrival in &schedule {
            while clock.now() < begin + clock.ticks(arrival.at_ns) {
                Wait::Spin.pause(&mut failed);
            }
            last += 1;
            let from = clock.now_in_order();
            tx.put(last);
            calls += clock.now_in_order().saturating_sub(from);
        }
        drop(tx);
        Ok::<_, io::Error>((last - 1, clock.ns(calls)))
    });
    child.stdout = Some(output);
    let usage = told(&finish(child)?);
    let (records, calls_ns) = sent.map_err(|error| error.to_string())?;
    let sending = (calls_ns - *CLOCK_COST_NS * records as f64).max(0.0);
    let sending = usage.map(|_| Usage { cpu_ns: sending, sleeps: 0.0 });
    let mut sample = Sample::default().with_sides([sending, usage], records as f64);
    sample.value = sample.cpu_ns.ok_or("a record is lost, or the system doesn't tell the time")?;
    Ok(sample)
}

/// Receives, says so after the first record, and tells what all records but the first have taken.
pub(super) fn receive<const W: usize>(mut rx: impl Rx<W>) {
    rx.get();
    println!();
    let (before, mut last) = (Usage::of_this_thread(), 1);
    while let Some(number) = rx.get() {
        last += 1;
        if number != last {
            return;
        }
    }
    tell(between(before, Usage::of_this_thread()));
}
