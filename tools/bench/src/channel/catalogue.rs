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

use super::handles::{Retrying, Sleeps, Spins, SpinsThenSleeps, Waiting, Yields};
use super::{ChannelKernel, elcrq, ours, peers, system};
use crate::catalogue::{Entry, EntryKind, module};

/// All entries, corelane's first. To add a channel: implement [`Channel`](super::handles::Channel), by `channel!` if it has
/// `send` and `recv`, and add a line.
pub(crate) fn entries() -> &'static [Entry] {
    static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        let queues = [queue::<LineRing>(), queue::<Bbq>(), queue::<Leased>(), queue::<Lprq>()];
        let on_request = [sleeping::<Msq>(), sleeping::<Ring<InOrder>>(), sleeping::<Scq>()];
        let more = [elcrq::entry()].into_iter().chain(on_request).chain(system::entries());
        ours::entries().into_iter().chain(queues).chain(peers::entries()).chain(more).collect()
    });
    &ENTRIES
}

/// A queue with handles that wait, and with plain handles that try again.
fn queue<Q: Queue<u64> + 'static>() -> Entry
where
    Q::Producer: 'static,
    Q::Consumer: 'static,
{
    let mut entry = sleeping::<Q>();
    entry.channels.push(ChannelKernel::blocking::<Retrying<Q, Spins>>());
    entry.channels.push(ChannelKernel::blocking::<Retrying<Q, Yields>>());
    #[cfg(feature = "peers")]
    entry.channels.extend(ChannelKernel::tasks::<Waiting<Q>>());
    entry
}

/// A queue with handles that wait.
fn sleeping<Q: Queue<u64> + 'static>() -> Entry {
    let channels = vec![
        ChannelKernel::blocking::<Waiting<Q>>(),
        ChannelKernel::blocking::<Waiting<Q, Sleeps>>(),
        ChannelKernel::blocking::<Waiting<Q, SpinsThenSleeps>>(),
    ];
    let kind = EntryKind::Ours { items: "items of any type" };
    let mut entry = Entry::channel(Q::INFO, kind, channels);
    entry.module = module(std::any::type_name::<Q>());
    entry
}
