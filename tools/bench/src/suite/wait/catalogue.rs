//! The queues whose calls wait, by id.

use std::sync::LazyLock;

use corelane::Queue;
use corelane::block::shared::Bbq;
use corelane::leased::Leased;
use corelane::line_ring::LineRing;
use corelane::list::michael_scott::Msq;
use corelane::ring::{InOrder, Ring};
use corelane::rings::lprq::Lprq;
use corelane::scq::Scq;

use super::handles::{Retrying, Waiting};
use super::{ChannelKernel, Channels, elcrq, ours, peers, permits, system, to_all};
use crate::catalogue::Entry;

/// All entries, corelane's first. To add a channel: implement [`Channel`](super::handles::Channel),
/// by `channel!` if it has `send` and `recv`, and add a line.
pub(crate) fn entries() -> &'static [Channels] {
    static ENTRIES: LazyLock<Vec<Channels>> = LazyLock::new(|| {
        let queues = [queue::<LineRing>(), queue::<Bbq>(), queue::<Leased>(), queue::<Lprq>()];
        let on_request = [sleeping::<Msq>(), sleeping::<Ring<InOrder>>(), sleeping::<Scq>()];
        let more = [elcrq::entry()].into_iter().chain(on_request).chain(system::entries());
        ours::entries()
            .into_iter()
            .chain(queues)
            .chain(peers::entries())
            .chain(permits::entries())
            .chain(to_all::entries())
            .chain(more)
            .collect()
    });
    &ENTRIES
}

/// A queue with handles that wait, and with plain handles that try again.
fn queue<Q: Queue<u64> + 'static>() -> Channels
where
    Q::Producer: 'static,
    Q::Consumer: 'static,
{
    let mut channels = sleeping::<Q>();
    channels.kernel.extend(ChannelKernel::blocking::<Retrying<Q>>());
    channels.kernel.extend(ChannelKernel::tasks::<Waiting<Q>>());
    channels
}

/// A queue with handles that wait.
fn sleeping<Q: Queue<u64> + 'static>() -> Channels {
    let kernels = ChannelKernel::blocking::<Waiting<Q>>().collect();
    Entry::ours(Q::INFO, "items of any type").of_type::<Q>().with(kernels)
}
