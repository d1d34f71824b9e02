//! Everything that can be measured, by id. Our queues come from the library's registry.

use std::num::NonZeroU64;
use std::sync::LazyLock;

use corelane::mpmc::scq::Scq;
use corelane::overwrite;
use corelane::spsc::b_queue::BQueue;
use corelane::spsc::fast_forward::Ffq;
use corelane::spsc::mc_ring_sane::McRingSane;
use corelane::spsc::segmented::Uspsc;
use corelane::{
    Info, MpmcQueue, MpmcTokenQueue, Sides, SpscQueue, SpscTokenQueue, for_each_mpmc_queue,
    for_each_mpmc_token_queue, for_each_spsc_queue, for_each_spsc_token_queue,
    for_each_unbounded_mpmc_queue, for_each_unbounded_spsc_queue,
};
use corelane_report::name;

use crate::goods::{Goods, Parcel};
use crate::kinds::{PayloadKind, TeamSize, Test};
use crate::link::{Link, Setup};
use crate::ours::{Any, DropOld, Many, ManyTokens, Packed};
use crate::params::{CircleSetting, PairSetting, Params, Setting, Trial};
use crate::payload::{Indirect, Payload};
use crate::sample::Sample;
use crate::team::{TeamKernels, handles};
use crate::{circle, open_loop, peers, rtt, stream};

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
pub fn entries() -> &'static [Entry] {
    &ENTRIES
}

/// The entry named `id`.
pub(crate) fn find(id: &str) -> Option<&'static Entry> {
    entries().iter().find(|entry| entry.id == id)
}

/// Something that can be measured.
#[derive(Debug)]
pub struct Entry {
    /// Name on command lines and in results.
    pub id: String,
    /// What it is.
    pub kind: EntryKind,
    /// Whom it is between.
    pub sides: Sides,
    /// Whether it is ever full.
    pub bounded: bool,
    /// Whether a push overwrites what was not popped in time.
    pub(crate) overwrites: bool,
    /// Whether threads wait for those of their side that began before them, running or not.
    pub(crate) takes_turns: bool,
    /// How it is measured between one producer and one consumer, if it is meant for that.
    pair: Option<PairKernels>,
    team: TeamKernels,
    circle: CircleKernel,
    probe: fn(&Setup, TeamSize) -> Result<(), String>,
}

/// Ours or not.
#[derive(Debug)]
pub enum EntryKind {
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
pub enum Slots {
    /// One word that is empty or the item; tokens only.
    Packed,
    /// Whatever items of any type need.
    Any,
    /// Words that may be overwritten while they are read; plain data only.
    Plain,
}

impl Entry {
    /// Whether it is not ours.
    pub fn is_peer(&self) -> bool {
        matches!(self.kind, EntryKind::Peer { .. })
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

    /// Whether it is measured between one producer and one consumer as such.
    pub(crate) fn is_spsc(&self) -> bool {
        self.pair.is_some()
    }

    /// An entry for a queue that carries numbers as `N`, and boxes as `B`.
    pub(crate) fn new<N, B>(id: &str, kind: EntryKind, pair: Option<PairKernels>) -> Self
    where
        N: Link<Item: Goods>,
        B: Link<Item: Goods>,
    {
        Self {
            id: id.into(),
            kind,
            sides: N::SIDES,
            bounded: N::BOUNDED,
            overwrites: N::OVERWRITES,
            takes_turns: N::TAKES_TURNS,
            pair,
            team: TeamKernels::of::<N, B>(),
            circle: circle::measure::<B>,
            probe: |setup, size| handles::<N>(setup, size).map(drop),
        }
    }

    /// Opens the queue and closes it again; the error says what is wrong with the set-up.
    pub(crate) fn probe(&self, params: &Params) -> Result<(), String> {
        (self.probe)(&params.setup(), params.size())
    }

    /// Runs `test` once; the error says what the queue did wrong.
    pub(crate) fn measure(&self, test: Test, trial: &Trial<'_>) -> Result<Sample, String> {
        match &trial.params.setting {
            Setting::Pair(setting) => {
                let kernels = self.pair.as_ref().expect("only those with kernels are chosen");
                kernels.of(test, setting.payload)(trial, setting).map_err(|wrong| {
                    format!("{wrong} items of {} came out of order or lost", name(&test))
                })
            }
            Setting::Team(setting) => self.team.measure(test, trial, setting).map_err(|fault| {
                format!("{fault}, in {} with {} threads", name(&test), setting.size)
            }),
            Setting::Circle(setting) => {
                (self.circle)(trial, setting).map(Sample::of).map_err(|wrong| {
                    let threads = setting.threads;
                    format!("{wrong} messages came out of order or changed in a ring of {threads} threads")
                })
            }
        }
    }
}

/// A kernel between one and one, compiled for one queue and one payload: the number of wrong items is its error.
type PairKernel = fn(&Trial<'_>, &PairSetting) -> Result<Sample, u64>;

/// A kernel between threads in a ring: nanoseconds per message.
type CircleKernel = fn(&Trial<'_>, &CircleSetting) -> Result<f64, u64>;

/// The kernels between one and one of one queue: `stream`, `rtt` and `open-loop`.
#[derive(Debug)]
pub(crate) struct PairKernels {
    number: [PairKernel; 3],
    indirect: [PairKernel; 3],
}

impl PairKernels {
    /// Those of a queue that carries numbers as `N` and pointers as `I`.
    pub(crate) fn new<N: Link<Item: Payload>, I: Link<Item: Payload>>() -> Self {
        Self {
            number: [stream::measure::<N>, rtt::measure::<N>, open_loop::measure::<N>],
            indirect: [stream::measure::<I>, rtt::measure::<I>, open_loop::measure::<I>],
        }
    }

    fn of(&self, test: Test, payload: PayloadKind) -> PairKernel {
        let [stream, rtt, open_loop] = match payload {
            PayloadKind::U64 => self.number,
            PayloadKind::Indirect => self.indirect,
        };
        match test {
            Test::Stream => stream,
            Test::Rtt => rtt,
            _ => open_loop,
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
    let kernels = PairKernels::new::<Packed<Q, NonZeroU64>, Packed<Q, Indirect>>();
    let kind = EntryKind::Ours { info: Q::INFO, slots: Slots::Packed };
    Entry::new::<Packed<Q, NonZeroU64>, Packed<Q, Parcel>>(Q::INFO.id, kind, Some(kernels))
}

fn any_entry<Q: SpscQueue + 'static>() -> Entry {
    let kernels = PairKernels::new::<Any<Q, u64>, Any<Q, Indirect>>();
    let kind = EntryKind::Ours { info: Q::INFO, slots: Slots::Any };
    Entry::new::<Any<Q, u64>, Any<Q, Parcel>>(Q::INFO.id, kind, Some(kernels))
}

/// The list of rings, of other rings than usual: to see what they make of it.
fn list_entry<Q: SpscQueue + 'static>(id: &str, name: &'static str) -> Entry {
    let mut entry = any_entry::<Uspsc<Q>>();
    let choose = "to compare: how much the rings in the list matter";
    let info = Info { name, choose, ..Uspsc::<Q>::INFO };
    entry.kind = EntryKind::Ours { info, slots: Slots::Any };
    entry.id = id.into();
    entry
}

fn many_entry<Q: MpmcQueue + 'static>() -> Entry {
    let kind = EntryKind::Ours { info: Q::INFO, slots: Slots::Any };
    Entry::new::<Many<Q, u64>, Many<Q, Parcel>>(Q::INFO.id, kind, None)
}

/// With as many looks as the paper's program has: to see what they make of it.
fn delayed_scq_entry() -> Entry {
    let mut entry = many_entry::<Scq<10_000>>();
    let choose = "to compare: what it does for others to look 10,000 times before giving up";
    let avoid = "calls fail: each takes 10,000 looks";
    let info = Info { choose, avoid, ..Scq::<10_000>::INFO };
    entry.kind = EntryKind::Ours { info, slots: Slots::Any };
    entry
}

fn packed_many_entry<Q: MpmcTokenQueue + 'static>() -> Entry {
    let kind = EntryKind::Ours { info: Q::INFO, slots: Slots::Packed };
    Entry::new::<ManyTokens<Q, NonZeroU64>, ManyTokens<Q, Parcel>>(Q::INFO.id, kind, None)
}

fn drop_old_entry() -> Entry {
    let info = overwrite::block::INFO;
    let kind = EntryKind::Ours { info, slots: Slots::Plain };
    Entry::new::<DropOld<u64>, DropOld<u64>>(info.id, kind, None)
}
