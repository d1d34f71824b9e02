//! Everything that can be measured, by id. Our queues come from the library's registry.

use std::num::NonZeroU64;
use std::sync::LazyLock;

use corelane::scq::Scq;
use corelane::overwrite;
use corelane::b_queue::BQueue;
use corelane::fast_forward::Ffq;
use corelane::mc_ring_sane::McRingSane;
use corelane::segmented::Uspsc;
use corelane::{
    Info, MpmcQueue, MpmcTokenQueue, Sides, SpscQueue, SpscTokenQueue, for_each_mpmc_queue,
    for_each_mpmc_token_queue, for_each_spsc_queue, for_each_spsc_token_queue,
    for_each_unbounded_mpmc_queue, for_each_unbounded_spsc_queue,
};

use crate::cell::{Run, Sample, Wrong};
use crate::circle;
use crate::cli::{PayloadKind, Test};
use crate::link::{Link, Setup};
use crate::mpmc::{self, Goods, Parcel};
use crate::ours::{Any, DropOld, Many, ManyTokens, Packed};
use crate::payload::{Indirect, Payload};
use crate::peers;
use crate::{open_loop, rtt, stream};

/// Ending of the id of a queue for any type of which there is also one with packed slots.
const ANY: &str = "-any";

/// Beginning of the ids of lists of other rings than usual.
const LIST_OF: &str = "uspsc-";

/// The any-type queue that stands for all of them in the quick run, should it exist.
const QUICK_ANY: &str = "bqueue-any";

static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let mut entries = ours();
    entries.extend(peers::entries());
    entries
});

/// All entries, ours first.
pub(crate) fn entries() -> &'static [Entry] {
    &ENTRIES
}

/// All that can be measured between one producer and one consumer as such.
pub(crate) fn spsc() -> impl Iterator<Item = &'static Entry> {
    entries().iter().filter(|entry| entry.spsc.is_some())
}

/// The entry named `id`.
pub(crate) fn find(id: &str) -> Option<&'static Entry> {
    entries().iter().find(|entry| entry.id == id)
}

/// Something that can be measured.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Name on command lines and in results.
    pub(crate) id: String,
    /// What it is.
    pub(crate) kind: Kind,
    /// Whom it is between.
    pub(crate) sides: Sides,
    /// Whether it is ever full.
    pub(crate) bounded: bool,
    /// Whether a push overwrites what was not popped in time.
    pub(crate) overwrites: bool,
    /// Whether threads wait for those of their side that began before them, running or not.
    pub(crate) takes_turns: bool,
    /// How it is measured between one producer and one consumer, if it is meant for that.
    pub(crate) spsc: Option<Kernels>,
    /// How it is measured between as many as it allows.
    pub(crate) mpmc: mpmc::Kernels,
    /// How it is measured between threads in a ring.
    pub(crate) circle: circle::Kernel,
}

/// Ours or not.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A queue of corelane.
    Ours {
        /// What it promises.
        info: Info,
        /// How an item lies in memory.
        slots: Slots,
    },
    /// A crate one would otherwise use.
    Peer {
        /// Its package.
        package: &'static str,
        /// The version that was built in.
        version: String,
        /// What it calls itself.
        what: &'static str,
    },
}

/// How an item lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slots {
    /// One word that is empty or the item; tokens only.
    Packed,
    /// Whatever items of any type need.
    Any,
    /// Words that may be overwritten while they are read; plain data only.
    Plain,
}

impl Entry {
    /// Whether it is not ours.
    pub(crate) fn is_peer(&self) -> bool {
        matches!(self.kind, Kind::Peer { .. })
    }

    /// Whether it is the any-type variant of a queue that is also there with packed slots.
    fn is_variant(&self) -> bool {
        !self.is_peer() && self.id.ends_with(ANY)
    }

    /// Whether the quick run takes it.
    pub(crate) fn is_quick(&self) -> bool {
        let is_usual =
            !self.id.starts_with(LIST_OF) && (!self.is_variant() || self.id == QUICK_ANY);
        is_usual && (self.bounded || !self.is_peer())
    }

    /// An entry for a queue that carries numbers as `N`, and boxes as `B`.
    pub(crate) fn new<N, B>(id: &str, kind: Kind, spsc: Option<Kernels>) -> Self
    where
        N: Link<Item: Goods>,
        B: Link<Item: Goods>,
    {
        let (sides, bounded) = (N::SIDES, N::BOUNDED);
        let (overwrites, takes_turns) = (N::OVERWRITES, N::TAKES_TURNS);
        let (mpmc, circle) = (mpmc::Kernels::of::<N, B>(), circle::Kernel::of::<B>());
        Self { id: id.into(), kind, sides, bounded, overwrites, takes_turns, spsc, mpmc, circle }
    }
}

/// A kernel, compiled for one queue and one payload.
type Kernel = fn(&Run<'_>) -> Result<Sample, Wrong>;

/// The kernels of one queue.
#[derive(Debug)]
pub(crate) struct Kernels {
    number: KernelSet,
    indirect: KernelSet,
}

/// The kernels of one queue and one payload.
#[derive(Debug)]
pub(crate) struct KernelSet {
    probe: fn(&Setup) -> Result<(), String>,
    stream: Kernel,
    rtt: Kernel,
    open_loop: Kernel,
}

impl Kernels {
    /// Those of a queue that carries numbers as `N` and pointers as `I`.
    pub(crate) fn new<N: Link<Item: Payload>, I: Link<Item: Payload>>() -> Self {
        Self { number: KernelSet::new::<N>(), indirect: KernelSet::new::<I>() }
    }

    /// Those for `payload`.
    pub(crate) fn of(&self, payload: PayloadKind) -> &KernelSet {
        match payload {
            PayloadKind::U64 => &self.number,
            PayloadKind::Indirect => &self.indirect,
        }
    }
}

impl KernelSet {
    fn new<L: Link<Item: Payload>>() -> Self {
        Self {
            probe: |setup| L::open(setup).map(drop),
            stream: stream::measure::<L>,
            rtt: rtt::measure::<L>,
            open_loop: open_loop::measure::<L>,
        }
    }

    /// Opens the queue and closes it again; the error says what is wrong with the set-up.
    pub(crate) fn probe(&self, setup: &Setup) -> Result<(), String> {
        (self.probe)(setup)
    }

    /// Runs `test` once.
    pub(crate) fn measure(&self, test: Test, run: &Run<'_>) -> Result<Sample, Wrong> {
        match test {
            Test::Stream => (self.stream)(run),
            Test::Rtt => (self.rtt)(run),
            Test::OpenLoop => (self.open_loop)(run),
        }
    }
}

/// The library's queues. Where there are packed slots they have the plain id.
fn ours() -> Vec<Entry> {
    let mut packed = Vec::new();
    let mut any = Vec::new();
    macro_rules! add_packed {
        ($name:ident, $queue:ty) => {
            packed.push(packed_entry::<$queue>())
        };
    }
    macro_rules! add_any {
        ($name:ident, $queue:ty) => {
            any.push(any_entry::<$queue>())
        };
    }
    for_each_spsc_token_queue!(add_packed);
    for_each_spsc_queue!(add_any);
    for_each_unbounded_spsc_queue!(add_any);
    any.push(list_entry::<Ffq>("uspsc-ffq", "list of the paper's rings"));
    any.push(list_entry::<BQueue>("uspsc-bqueue", "list of B-Queues"));
    // Has a thread of its own, and so is none of the queues that everything else is stamped on.
    any.push(any_entry::<McRingSane>());
    let mut entries = merged(packed, any);
    entries.extend(many());
    entries
}

/// Packed slots have the plain id, and come before any other of the same queue.
fn merged(mut packed: Vec<Entry>, any: Vec<Entry>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for mut entry in any {
        if let Some(at) = packed.iter().position(|packed| packed.id == entry.id) {
            entries.push(packed.remove(at));
            entry.id.push_str(ANY);
        }
        entries.push(entry);
    }
    entries.append(&mut packed);
    entries
}

/// The library's queues that may have several handles on one side at least.
fn many() -> Vec<Entry> {
    let mut packed = Vec::new();
    let mut any = Vec::new();
    macro_rules! add_packed {
        ($name:ident, $queue:ty) => {
            packed.push(packed_many_entry::<$queue>())
        };
    }
    macro_rules! add_any {
        ($name:ident, $queue:ty) => {
            any.push(many_entry::<$queue>())
        };
    }
    for_each_mpmc_token_queue!(add_packed);
    for_each_mpmc_queue!(add_any);
    for_each_unbounded_mpmc_queue!(add_any);
    any.push(delayed_scq_entry());
    let mut entries = merged(packed, any);
    entries.push(drop_old_entry());
    entries
}

fn packed_entry<Q: SpscTokenQueue + 'static>() -> Entry {
    let kernels = Kernels::new::<Packed<Q, NonZeroU64>, Packed<Q, Indirect>>();
    let kind = Kind::Ours { info: Q::INFO, slots: Slots::Packed };
    Entry::new::<Packed<Q, NonZeroU64>, Packed<Q, Parcel>>(Q::INFO.id, kind, Some(kernels))
}

fn any_entry<Q: SpscQueue + 'static>() -> Entry {
    let kernels = Kernels::new::<Any<Q, u64>, Any<Q, Indirect>>();
    let kind = Kind::Ours { info: Q::INFO, slots: Slots::Any };
    Entry::new::<Any<Q, u64>, Any<Q, Parcel>>(Q::INFO.id, kind, Some(kernels))
}

/// The list of rings, of other rings than usual: to see what they make of it.
fn list_entry<Q: SpscQueue + 'static>(id: &str, name: &'static str) -> Entry {
    let mut entry = any_entry::<Uspsc<Q>>();
    let choose = "to compare: how much the rings in the list matter";
    let info = Info { name, choose, ..Uspsc::<Q>::INFO };
    entry.kind = Kind::Ours { info, slots: Slots::Any };
    entry.id = id.into();
    entry
}

fn many_entry<Q: MpmcQueue + 'static>() -> Entry {
    let kind = Kind::Ours { info: Q::INFO, slots: Slots::Any };
    Entry::new::<Many<Q, u64>, Many<Q, Parcel>>(Q::INFO.id, kind, None)
}

/// With as many looks as the paper's program has: to see what they make of it.
fn delayed_scq_entry() -> Entry {
    let mut entry = many_entry::<Scq<10_000>>();
    let choose = "to compare: what it does for others to look 10,000 times before giving up";
    let avoid = "calls fail: each takes 10,000 looks";
    let info = Info { choose, avoid, ..Scq::<10_000>::INFO };
    entry.kind = Kind::Ours { info, slots: Slots::Any };
    entry
}

fn packed_many_entry<Q: MpmcTokenQueue + 'static>() -> Entry {
    let kind = Kind::Ours { info: Q::INFO, slots: Slots::Packed };
    Entry::new::<ManyTokens<Q, NonZeroU64>, ManyTokens<Q, Parcel>>(Q::INFO.id, kind, None)
}

fn drop_old_entry() -> Entry {
    let info = block::overwriting::INFO;
    let kind = Kind::Ours { info, slots: Slots::Plain };
    Entry::new::<DropOld<u64>, DropOld<u64>>(info.id, kind, None)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_unique() {
        let ids: HashSet<_> = entries().iter().map(|entry| &entry.id).collect();
        assert_eq!(ids.len(), entries().len());
    }

    #[test]
    fn every_queue_with_packed_slots_keeps_its_any_type_variant() {
        let is_packed =
            |entry: &&Entry| matches!(entry.kind, Kind::Ours { slots: Slots::Packed, .. });
        for entry in entries().iter().filter(is_packed) {
            let variant = format!("{}{ANY}", entry.id);
            assert!(find(&variant).is_some(), "no {variant}");
        }
    }
}
