//! All queues that can be measured, by id. corelane's queues come from the library's registry.

use std::num::NonZeroU64;
use std::sync::LazyLock;

use corelane::b_queue::BQueueAny;
use corelane::fast_forward::FfqAny;
use corelane::mc_ring_sane::McRingSane;
use corelane::scq::ScqDelayed;
use corelane::segmented::Uspsc;
use corelane::{Config, Info, Queue, for_each_queue, record_ring};
use corelane_report::{Failure, name, unknown};

use crate::channel::{self, ChannelKernel};
use crate::executor::ExecutorKernel;
use crate::ipc::IpcKernel;
use crate::kinds::{PayloadKind, TeamSize, Test, WORD};
use crate::larger::{self, Roomy};
use crate::params::{CircleSetting, PairSetting, Params, Setting, Trial, WaitSetting};
use crate::payload::{Indirect, Parcel, Payload};
use crate::sample::Sample;
use crate::steal::{self, StealKernel};
use crate::team::{self, TeamKernel};
use crate::{circle, open_loop, peers, rtt, stream};

/// Beginning of the ids of lists of other rings than the default.
const LIST_OF: &str = "uspsc-";

/// The any-type queue that represents all of these in the quick run, if it exists.
const QUICK_ANY: &str = "bqueue-any";

/// All entries, corelane's first.
pub fn entries() -> &'static [Entry] {
    static ENTRIES: LazyLock<Vec<Entry>> =
        LazyLock::new(|| ours().into_iter().chain(peers::entries()).collect());
    &ENTRIES
}

/// All entries, the queue that is measured between processes only, and those from which thieves steal.
pub fn listed() -> impl Iterator<Item = &'static Entry> {
    static RECORDS: LazyLock<Entry> = LazyLock::new(|| {
        let kind = EntryKind::Ours { items: "byte records" };
        Entry { module: "record_ring", ..Entry::channel(record_ring::INFO, kind, Vec::new()) }
    });
    let ours = |entry: &&'static Entry| !entry.is_peer();
    let peers = entries().iter().filter(|entry| entry.is_peer());
    let stolen_from = steal::entries().iter().filter(ours);
    entries().iter().filter(ours).chain([&*RECORDS]).chain(stolen_from).chain(peers)
}

pub(crate) fn find(id: &str) -> Option<&'static Entry> {
    entries().iter().find(|entry| entry.info.id == id)
}

/// The ids of the entries that `names` stand for. A name is an id, a module of queues (`lamport`, `line_ring`), or a
/// crate (`crossbeam-queue`). A module or a crate stands for its entries that `fit`.
///
/// # Errors
///
/// If a name is unknown, or none of its entries fits; then `misfit` gives the reason.
pub fn ids(
    names: &[String],
    fits: impl Fn(&Entry) -> bool,
    misfit: impl Fn(&Entry) -> String,
) -> Result<Vec<String>, Failure> {
    ids_among(entries(), names, fits, misfit)
}

/// The same with other entries.
pub(crate) fn ids_among(
    among: &[Entry],
    names: &[String],
    fits: impl Fn(&Entry) -> bool,
    misfit: impl Fn(&Entry) -> String,
) -> Result<Vec<String>, Failure> {
    let mut ids = Vec::new();
    for name in names {
        let all = called(name, among);
        let Some(first) = all.first() else {
            return Err(unknown(name, among.iter().map(|entry| entry.info.id)));
        };
        let fitting: Vec<_> = all.iter().filter(|entry| fits(entry)).collect();
        if fitting.is_empty() {
            return Err(Failure::Usage(misfit(first)));
        }
        ids.extend(fitting.into_iter().map(|entry| entry.info.id.to_owned()));
    }
    Ok(ids)
}

/// The ids of all entries that `names` stand for.
pub(crate) fn any_ids(names: &[String]) -> Result<Vec<String>, Failure> {
    ids(names, |_| true, |_| String::new())
}

pub(crate) fn called<'a>(name: &str, among: &'a [Entry]) -> Vec<&'a Entry> {
    let wanted = name.replace('-', "_");
    let ways: [&dyn Fn(&Entry) -> bool; 3] = [
        &|entry| entry.info.id.replace('-', "_") == wanted,
        &|entry| entry.module == wanted || entry.module.split("::").any(|part| part == wanted),
        &|entry| matches!(entry.kind, EntryKind::Peer { package, .. } if package == name),
    ];
    let all = ways.map(|is_it| among.iter().filter(|entry| is_it(entry)).collect::<Vec<&Entry>>());
    all.into_iter().find(|entries| !entries.is_empty()).unwrap_or_default()
}

/// A queue that can be measured.
#[derive(Debug)]
pub struct Entry {
    /// The queue's properties; of peers only those that are documented.
    pub info: Info,
    /// Whether it is corelane's or a peer.
    pub kind: EntryKind,
    /// The library's module of the queue; empty for peers.
    pub module: &'static str,
    /// The measurement between one producer and one consumer, if the queue is meant for that.
    pair: Option<PairKernel>,
    /// The measurement of a stream of items of more than a word, if the queue carries items of this size.
    larger: fn(usize) -> Option<larger::Kernel>,
    /// The measurement between several threads; channels have none.
    team: Option<TeamKernel>,
    /// The measurement between threads in a ring; floors and channels have none.
    circle: Option<CircleKernel>,
    /// The measurements of calls that wait, one for each way; only channels have some.
    pub(crate) channels: Vec<ChannelKernel>,
    /// The measurements between processes.
    pub(crate) ipc: Vec<IpcKernel>,
    /// The measurement of an owner and its thieves.
    pub(crate) steal: Option<StealKernel>,
    /// The measurement of an executor of tasks.
    pub(crate) executor: Option<ExecutorKernel>,
    probe: fn(Config, TeamSize) -> Result<(), String>,
}

/// A queue of corelane, or a peer.
#[derive(Debug)]
pub enum EntryKind {
    /// A queue of corelane.
    Ours {
        /// The kind of its items.
        items: &'static str,
    },
    /// A queue of another crate.
    Peer {
        /// The name of the package.
        package: &'static str,
        /// The version that was built in.
        version: String,
    },
}

impl Entry {
    /// Whether it is a peer.
    pub fn is_peer(&self) -> bool {
        matches!(self.kind, EntryKind::Peer { .. })
    }

    /// The version of a crate from the registry.
    pub(crate) fn version(&self) -> Option<&str> {
        match &self.kind {
            EntryKind::Peer { package, version } if *package != "std" => Some(version),
            _ => None,
        }
    }

    pub(crate) fn is_quick(&self) -> bool {
        let Info { id, variant_of, bounded, .. } = self.info;
        let is_usual = !id.starts_with(LIST_OF) && (variant_of.is_none() || id == QUICK_ANY);
        is_usual && (bounded || !self.is_peer())
    }

    /// Whether it is no queue, but what threads cost without one.
    pub(crate) fn is_floor(&self) -> bool {
        self.team.is_some() && self.circle.is_none()
    }

    /// Whether it is measured between one producer and one consumer.
    pub(crate) fn is_spsc(&self) -> bool {
        self.pair.is_some()
    }

    /// Whether it is measured with items of this size.
    pub(crate) fn carries(&self, bytes: usize) -> bool {
        bytes == WORD || (self.larger)(bytes).is_some()
    }

    pub(crate) fn is_bounded(&self) -> bool {
        self.info.bounded || self.info.overwrites
    }

    /// An entry for a queue of numbers as `N`, and of boxes as `B`.
    pub(crate) fn new<N: Payload, B: Payload, Q: Queue<N> + Queue<B>>(kind: EntryKind) -> Self {
        Self {
            info: <Q as Queue<N>>::INFO,
            module: module(std::any::type_name::<Q>()),
            kind,
            pair: None,
            larger: |_| None,
            team: Some(team::measure::<N, B, Q>),
            circle: Some(circle::measure::<B, Q>),
            channels: Vec::new(),
            ipc: Vec::new(),
            steal: None,
            executor: None,
            probe: |config, size| team::handles::<N, Q>(config, size).map(drop),
        }
    }

    /// An entry for a floor.
    pub(crate) fn floor(info: Info, team: TeamKernel) -> Self {
        Self { team: Some(team), ..Self::channel(info, EntryKind::Ours { items: "" }, Vec::new()) }
    }

    /// An entry for a queue whose calls wait.
    pub(crate) fn channel(info: Info, kind: EntryKind, channels: Vec<ChannelKernel>) -> Self {
        Self {
            info,
            kind,
            module: "",
            pair: None,
            larger: |_| None,
            team: None,
            circle: None,
            channels,
            ipc: Vec::new(),
            steal: None,
            executor: None,
            probe: |_, _| Ok(()),
        }
    }

    /// An entry for what is measured between processes.
    pub(crate) fn between_processes(info: Info, kind: EntryKind, ipc: Vec<IpcKernel>) -> Self {
        Self { ipc, ..Self::channel(info, kind, Vec::new()) }
    }

    /// An entry for a queue from which thieves steal.
    pub(crate) fn stolen_from(info: Info, kind: EntryKind, kernel: StealKernel) -> Self {
        Self { steal: Some(kernel), ..Self::channel(info, kind, Vec::new()) }
    }

    /// An entry for an executor.
    pub(crate) fn executor(info: Info, kind: EntryKind, kernel: ExecutorKernel) -> Self {
        Self { executor: Some(kernel), ..Self::channel(info, kind, Vec::new()) }
    }

    /// The same entry, also measured between one producer and one consumer.
    pub(crate) fn with_pair<N: Payload, Q: Queue<N> + Queue<Indirect>>(self) -> Self {
        Self { pair: Some(measure_pair::<N, Q>), ..self }
    }

    /// The same entry, also measured with larger items.
    pub(crate) fn with_larger<Q: Roomy>(self) -> Self {
        Self { larger: larger::Kernel::for_bytes::<Q>, ..self }
    }

    /// Makes the queue and drops it. The error says what is wrong with the parameters.
    pub(crate) fn probe(&self, params: &Params) -> Result<(), String> {
        if let Setting::Wait(setting) = &params.setting {
            if params.capacity == 0 && !channel::MEETING.contains(&self.info.id) {
                return Err("it has no rendezvous, which is a capacity of 0".into());
            }
            return self.channel_kernel(setting).probe(params.capacity, setting.size);
        }
        match params.pair().and_then(|pair| (self.larger)(pair.bytes())) {
            Some(larger) => (larger.probe)(params.config()),
            None => (self.probe)(params.config(), params.size()),
        }
    }

    /// Runs `test` once. The error says what the queue did wrong.
    pub(crate) fn measure(&self, test: Test, trial: &Trial<'_>) -> Result<Sample, String> {
        let (sample, fault) = match &trial.params.setting {
            Setting::Pair(setting) => {
                let fault = format!("items of {} came out of order or lost", name(&test));
                let sample = match (self.larger)(setting.bytes()) {
                    Some(larger) => (larger.measure)(trial, setting),
                    None => {
                        let kernel = self.pair.expect("only those with a kernel are chosen");
                        kernel(test, trial, setting)
                    }
                };
                (sample, fault)
            }
            Setting::Team(setting) => {
                let kernel = self.team.expect("only those with a kernel are chosen");
                return kernel(test, trial, setting).map_err(|fault| {
                    format!("{fault}, in {} with {} threads", name(&test), setting.size)
                });
            }
            Setting::Wait(setting) => {
                let kernel = self.channel_kernel(setting);
                return kernel.measure(test, trial, setting).map_err(|fault| {
                    format!("{fault}, in {} with {} threads", name(&test), setting.size)
                });
            }
            Setting::Ipc(setting) => {
                let kernel = self.ipc.iter().find(|kernel| kernel.fits(test, setting));
                let kernel = kernel.expect("only those with a kernel are chosen");
                return kernel
                    .measure(self.info.id, test, trial, setting)
                    .map_err(|fault| format!("{fault}, in {} between processes", name(&test)));
            }
            Setting::Steal(setting) => {
                let kernel = self.steal.expect("only those with a kernel are chosen");
                return kernel.measure(test, trial, setting);
            }
            Setting::Executor(setting) => {
                let kernel = self.executor.expect("only those with a kernel are chosen");
                return kernel.measure(test, trial, setting);
            }
            Setting::Circle(setting) => {
                let threads = setting.threads;
                let fault =
                    format!("messages came out of order or changed in a ring of {threads} threads");
                let kernel = self.circle.expect("only those with a kernel are chosen");
                (kernel(trial, setting), fault)
            }
        };
        match sample.wrong {
            0 => Ok(sample),
            wrong => Err(format!("{wrong} {fault}")),
        }
    }
}

impl Entry {
    fn channel_kernel(&self, setting: &WaitSetting) -> &ChannelKernel {
        let kernel = self.channels.iter().find(|kernel| kernel.way == setting.way);
        kernel.expect("only ways that it has are chosen")
    }
}

/// The module of a queue's type in the library, such as `lamport::lazy`.
pub(crate) fn module(queue: &str) -> &str {
    let path = queue.split('<').next().and_then(|path| path.strip_prefix("corelane::"));
    path.and_then(|path| path.rsplit_once("::")).map_or("", |(module, _)| module)
}

/// Measures a queue between one producer and one consumer.
type PairKernel = fn(Test, &Trial<'_>, &PairSetting) -> Sample;

/// Measures a queue between threads in a ring.
type CircleKernel = fn(&Trial<'_>, &CircleSetting) -> Sample;

/// Measures a queue that carries numbers as `N`, and pointers, between one producer and one consumer.
fn measure_pair<N: Payload, Q: Queue<N> + Queue<Indirect>>(
    test: Test,
    trial: &Trial<'_>,
    pair: &PairSetting,
) -> Sample {
    match (test, pair.payload) {
        (Test::Stream, PayloadKind::U64) if pair.is_field() => {
            stream::measure_fields::<N, Q>(trial, pair)
        }
        (Test::Stream, PayloadKind::U64) => stream::measure::<N, Q>(trial, pair),
        (Test::Stream, PayloadKind::Indirect) => stream::measure::<Indirect, Q>(trial, pair),
        (Test::Rtt, PayloadKind::U64) => rtt::measure::<N, Q>(trial),
        (Test::Rtt, PayloadKind::Indirect) => rtt::measure::<Indirect, Q>(trial),
        (_, PayloadKind::U64) => open_loop::measure::<N, Q>(trial),
        (_, PayloadKind::Indirect) => open_loop::measure::<Indirect, Q>(trial),
    }
}

fn ours() -> Vec<Entry> {
    let mut entries = Vec::new();
    macro_rules! add {
        (single any $id:ident: $queue:ty) => {
            entries.push(any::<$queue>())
        };
        (single token $id:ident: $queue:ty) => {
            entries.push(single::<NonZeroU64, $queue>("tokens in packed slots"))
        };
        (shared any $id:ident: $queue:ty) => {
            entries.push(shared::<u64, Parcel, $queue>("items of any type"))
        };
        (shared token $id:ident: $queue:ty) => {
            entries.push(shared::<NonZeroU64, Parcel, $queue>("tokens in packed slots"))
        };
        // Boxes aren't plain data.
        (shared plain $id:ident: $queue:ty) => {
            entries.push(shared::<u64, u64, $queue>("plain data"))
        };
    }
    for_each_queue!(add);
    entries.push(list::<FfqAny>("uspsc-ffq", "list of the paper's rings"));
    entries.push(list::<BQueueAny>("uspsc-bqueue", "list of B-Queues"));
    // Not in the registry, because it has a thread of its own.
    entries.push(single::<u64, McRingSane>("items of any type"));
    // With as many looks as the paper's program has: to see what they make of it.
    entries.push(shared::<u64, Parcel, ScqDelayed<10_000>>("items of any type"));
    entries
}

fn single<N, Q>(items: &'static str) -> Entry
where
    N: Payload,
    Q: Queue<N> + Queue<Indirect> + Queue<Parcel>,
{
    shared::<N, Parcel, Q>(items).with_pair::<N, Q>()
}

/// A queue between one producer and one consumer that carries items of any type.
fn any<Q>() -> Entry
where
    Q: Queue<u64> + Queue<Indirect> + Queue<Parcel> + Roomy,
{
    single::<u64, Q>("items of any type").with_larger::<Q>()
}

fn shared<N: Payload, B: Payload, Q: Queue<N> + Queue<B>>(items: &'static str) -> Entry {
    Entry::new::<N, B, Q>(EntryKind::Ours { items })
}

/// A list of other rings than the default, for comparison.
fn list<Q>(id: &'static str, name: &'static str) -> Entry
where
    Uspsc<Q>: Queue<u64> + Queue<Indirect> + Queue<Parcel>,
{
    let mut entry = single::<u64, Uspsc<Q>>("items of any type");
    let choose = "to compare: how much the rings in the list matter";
    entry.info = Info { id, name, choose, ..entry.info };
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_has_an_id_of_its_own_a_known_algorithm_and_a_version() {
        for (number, entry) in entries().iter().enumerate() {
            let Info { id, variant_of, .. } = entry.info;
            assert!(entries()[..number].iter().all(|other| other.info.id != id), "{id} twice");
            assert!(variant_of.is_none_or(|of| find(of).is_some()), "{id} is a variant of none");
            let is_unknown =
                matches!(&entry.kind, EntryKind::Peer { version, .. } if version == "unknown");
            assert!(!is_unknown, "{id} has no version");
        }
    }
}
