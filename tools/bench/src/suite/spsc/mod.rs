//! `lane bench spsc`: one producer and one consumer.

mod args;
pub(crate) mod grid;
mod handle_in_field;
mod open_loop;
mod plan;
pub(crate) mod quick;
mod rtt;
mod setting;
mod stream;
pub(crate) mod words;

use corelane::Queue;

pub use self::args::SpscArgs;
pub use self::quick::QuickArgs;
pub(crate) use self::setting::item_bytes;
pub use self::setting::{Handles, MemoryKind, PayloadKind, Regime, SpscSetting};
use crate::kinds::Test;
use crate::params::Trial;
use crate::payload::{Indirect, Payload};
use crate::sample::Sample;

/// Measures a queue between one producer and one consumer.
pub(crate) type SpscKernel = fn(Test, &Trial<'_>, &SpscSetting) -> Sample;

/// Measures a queue that carries numbers as `N`, and pointers.
pub(crate) fn measure<N: Payload, Q: Queue<N> + Queue<Indirect> + 'static>(
    test: Test,
    trial: &Trial<'_>,
    setting: &SpscSetting,
) -> Sample {
    match (test, setting.payload) {
        (Test::Stream, PayloadKind::U64) if setting.is_field() => {
            stream::measure_fields::<N, Q>(trial, setting)
        }
        (Test::Stream, PayloadKind::U64) => stream::measure::<N, Q>(trial, setting),
        (Test::Stream, PayloadKind::Indirect) => stream::measure::<Indirect, Q>(trial, setting),
        (Test::Rtt, PayloadKind::U64) => rtt::measure::<N, Q>(trial),
        (Test::Rtt, PayloadKind::Indirect) => rtt::measure::<Indirect, Q>(trial),
        (_, PayloadKind::U64) => open_loop::measure::<N, Q>(trial),
        (_, PayloadKind::Indirect) => open_loop::measure::<Indirect, Q>(trial),
    }
}
