//! `lane bench wait`: channels, which are queues whose calls wait for room and for items.
//!
//! A thread of such a call may sleep, so a measurement can't tell it that the time is over. It ends
//! as programs do: the producers stop and drop their handles, and the consumers take what is left
//! until the channel is closed.

mod args;
pub(crate) mod beside;
mod catalogue;
mod elcrq;
mod handles;
mod idle;
mod ours;
mod peers;
mod permits;
mod ping_pong;
mod plan;
mod scheduled;
mod setting;
mod stream;
mod system;
mod tasks;
mod to_all;
mod usage;

use std::fmt;

pub use self::args::WaitArgs;
pub(crate) use self::beside::Beside;
pub(crate) use self::catalogue::entries;
use self::handles::{Blocking, Channel, Ends, Wanted};
pub(crate) use self::handles::{Receiver, Sender};
pub use self::setting::{Mode, Runtime, Strategy};
pub(crate) use self::setting::{Sharing, WaitSetting, Way};
pub(crate) use self::usage::{Usage, between};
use crate::catalogue::Measured;
use crate::kinds::{TeamSize, Test};
use crate::params::Trial;
use crate::sample::Sample;

/// Those that have a capacity of 0. Others refuse it, or have a place for one item then.
pub(crate) const MEETING: [&str; 8] = [
    "channel",
    "channel-local",
    "channel-select",
    "std-channel",
    "crossbeam-channel",
    "crossbeam-select",
    "kanal",
    "flume",
];

/// A queue whose calls wait, and its measurements: one for each way.
pub(crate) type Channels = Measured<Vec<ChannelKernel>>;

/// The measurements of a queue that waits in one way.
pub(crate) struct ChannelKernel {
    pub(crate) way: Way,
    measure: fn(Test, &Trial<'_>, &WaitSetting) -> Result<Sample, String>,
    probe: fn(Wanted) -> Result<(), String>,
    /// Its handles in boxes, if its calls block threads.
    open: Option<fn(Wanted) -> Result<BoxedEnds, String>>,
}

/// The handles of both sides, in boxes.
type BoxedEnds = Ends<Box<dyn Sender>, Box<dyn Receiver>>;

fn boxed<C: Blocking>(of: Wanted) -> Result<BoxedEnds, String> {
    let (txs, rxs) = C::open(of)?;
    let txs = txs.into_iter().map(|tx| Box::new(tx) as Box<dyn Sender>);
    Ok((txs.collect(), rxs.into_iter().map(|rx| Box::new(rx) as Box<dyn Receiver>).collect()))
}

impl fmt::Debug for ChannelKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.way.fmt(f)
    }
}

impl ChannelKernel {
    /// The measurements of a channel whose calls block threads.
    fn blocking<C: Blocking>() -> impl Iterator<Item = Self> {
        let (mode, runtime) = (Mode::Blocking, Runtime::None);
        C::STRATEGIES.iter().map(move |&strategy| Self {
            way: Way { mode, runtime, strategy, handles: C::HANDLES },
            measure: measure::<C>,
            probe: |of| C::open(of).map(drop),
            open: Some(boxed::<C>),
        })
    }

    /// The measurements of a channel whose calls return futures, on each runtime.
    fn tasks<C: Channel<Tx: tasks::Sender, Rx: tasks::Receiver>>() -> impl Iterator<Item = Self> {
        let (mode, strategy) = (Mode::Async, Strategy::Adaptive);
        Runtime::OF_TASKS.into_iter().map(move |runtime| Self {
            way: Way { mode, runtime, strategy, handles: C::HANDLES },
            measure: tasks::measure::<C>,
            probe: |of| C::open(of).map(drop),
            open: None,
        })
    }

    /// Both.
    fn both<C: Blocking<Tx: tasks::Sender, Rx: tasks::Receiver>>() -> Vec<Self> {
        Self::blocking::<C>().chain(Self::tasks::<C>()).collect()
    }

    /// Runs `test` once. The error says what the channel did wrong.
    pub(crate) fn measure(
        &self,
        test: Test,
        trial: &Trial<'_>,
        setting: &WaitSetting,
    ) -> Result<Sample, String> {
        (self.measure)(test, trial, setting)
    }

    /// Whether its calls block threads.
    pub(crate) fn blocks(&self) -> bool {
        self.open.is_some()
    }

    /// A handle for each thread. The error says why there are none.
    pub(crate) fn handles(&self, capacity: usize, size: TeamSize) -> Result<BoxedEnds, String> {
        let open = self.open.ok_or("its calls don't block threads")?;
        open(Wanted { capacity, size, strategy: self.way.strategy })
    }

    /// Makes the channel and drops it. The error says what is wrong with the parameters.
    pub(crate) fn probe(&self, capacity: usize, size: TeamSize) -> Result<(), String> {
        (self.probe)(Wanted { capacity, size, strategy: self.way.strategy })
    }
}

impl WaitSetting {
    /// What a channel for so many items is made for.
    fn wanted(&self, capacity: usize) -> Wanted {
        Wanted { capacity, size: self.size, strategy: self.way.strategy }
    }
}

fn measure<C: Blocking>(
    test: Test,
    trial: &Trial<'_>,
    setting: &WaitSetting,
) -> Result<Sample, String> {
    match test {
        Test::Stream => stream::measure::<C>(trial, setting),
        Test::PingPong => ping_pong::measure::<C>(trial, setting),
        Test::Idle => idle::measure::<C>(trial, setting),
        _ => scheduled::measure::<C>(test, trial, setting),
    }
}

/// Whether the system tells the processor time of a thread.
pub(crate) fn has_usage() -> bool {
    Usage::of_this_thread().is_some()
}
