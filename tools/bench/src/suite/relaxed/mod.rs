//! `lane bench relaxed`: queues whose items may leave out of turn, beside queues that are first in,
//! first out. Throughput and latency are those of `lane bench mpmc`.

mod args;
pub(crate) mod frontier;
mod memory;
mod plan;
mod rank_error;
mod setting;

use corelane::Queue;

pub use self::args::RelaxedArgs;
pub(crate) use self::setting::RelaxedSetting;
use crate::kinds::Test;
use crate::params::Trial;
use crate::payload::Payload;
use crate::sample::Sample;

/// Measures rank errors or memory of one queue. The error says what the queue did wrong.
pub(crate) type RelaxedKernel = fn(Test, &Trial<'_>, &RelaxedSetting) -> Result<Sample, String>;

/// Measures a queue that carries numbers as `N`.
pub(crate) fn measure<N: Payload, Q: Queue<N> + 'static>(
    test: Test,
    trial: &Trial<'_>,
    setting: &RelaxedSetting,
) -> Result<Sample, String> {
    match test {
        Test::Memory => Ok(memory::measure(Q::with, trial, setting)),
        // In boxes, so that the loops are compiled once: reading the clock takes longer than a call.
        _ => rank_error::measure(Q::boxed, trial, setting),
    }
}
