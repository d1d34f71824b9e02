//! What a receiver takes of its core while no item comes.

use std::thread;
use std::time::{Duration, Instant};

use super::handles::{Blocking, Receiver, Sender};
use super::usage::{Usage, between};
use crate::cores;
use crate::params::{Length, Trial};
use crate::sample::Sample;
use crate::suite::wait::WaitSetting;
use crate::threads::{self, Gate, Wait};

/// Nanoseconds of processor time in a second.
pub(super) fn measure<C: Blocking>(
    trial: &Trial<'_>,
    setting: &WaitSetting,
) -> Result<Sample, String> {
    let (mut txs, mut rxs) = C::open(setting.wanted(trial.params.capacity))?;
    let seats = cores::seats(setting.size, setting.placement, trial.cores);
    let (gate, length) = (&Gate::default(), trial.length);
    let ((), (used, time, item)) = threads::run_on(
        [seats[0], seats[1]],
        move || {
            gate.meet(Wait::Yield);
            if let Length::Time(time) = length {
                thread::sleep(time);
            }
            txs.iter_mut().for_each(|tx| _ = tx.put(1));
        },
        move || {
            gate.meet(Wait::Yield);
            let (begin, before) = (Instant::now(), Usage::of_this_thread());
            let item = rxs.iter_mut().find_map(Receiver::get);
            (between(before, Usage::of_this_thread()), begin.elapsed(), item)
        },
    );
    if item != Some(1) {
        return Err("the item was lost".into());
    }
    let seconds = time.max(Duration::from_nanos(1)).as_secs_f64();
    Ok(Sample::of(used.map_or(f64::NAN, |used| used.cpu_ns / seconds)))
}
