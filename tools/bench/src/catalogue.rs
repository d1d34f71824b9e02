//! What can be measured, by id.

use std::sync::LazyLock;

use corelane::{Info, record_ring};
use corelane_report::{Failure, unknown};

use crate::queues;
use crate::suite::steal;

/// A queue, or what else can be measured.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The queue's properties; of peers only those that are documented.
    pub info: Info,
    /// Whether it is corelane's or a peer.
    pub kind: EntryKind,
    /// The library's module of the queue; empty for peers.
    pub module: &'static str,
    /// Whether it is no queue, but what threads cost without one.
    pub(crate) is_floor: bool,
}

/// A queue of corelane, or a peer.
#[derive(Debug, Clone)]
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
    /// A queue of corelane that carries `items`.
    pub(crate) fn ours(info: Info, items: &'static str) -> Self {
        Self { info, kind: EntryKind::Ours { items }, module: "", is_floor: false }
    }

    pub(crate) fn other(info: Info, kind: EntryKind) -> Self {
        Self { info, kind, module: "", is_floor: false }
    }

    /// The same in the module of the type `Q`, such as `lamport::lazy`.
    pub(crate) fn of_type<Q>(self) -> Self {
        let path = std::any::type_name::<Q>().split('<').next();
        let path = path.and_then(|path| path.strip_prefix("corelane::"));
        let module = path.and_then(|path| path.rsplit_once("::")).map_or("", |(module, _)| module);
        Self { module, ..self }
    }

    /// What measures it.
    pub(crate) fn with<K>(self, kernel: K) -> Measured<K> {
        Measured { entry: self, kernel }
    }

    /// Whether it is a peer.
    pub fn is_peer(&self) -> bool {
        matches!(self.kind, EntryKind::Peer { .. })
    }

    /// Whether it carries items of any type.
    pub(crate) fn is_for_any(&self) -> bool {
        !matches!(self.kind, EntryKind::Ours { items } if items != "items of any type")
    }

    /// The package of a peer.
    pub(crate) fn package(&self) -> Option<&'static str> {
        match self.kind {
            EntryKind::Peer { package, .. } => Some(package),
            EntryKind::Ours { .. } => None,
        }
    }

    /// The version of a crate from the registry.
    pub(crate) fn version(&self) -> Option<&str> {
        match &self.kind {
            EntryKind::Peer { package, version } if *package != "std" => Some(version),
            _ => None,
        }
    }

    /// Whether it is there only to compare or to learn: its advice says so.
    pub fn is_literature(&self) -> bool {
        self.info.choose.starts_with("to ")
    }

    pub(crate) fn is_bounded(&self) -> bool {
        self.info.bounded || self.info.overwrites
    }
}

/// An entry, and what measures it.
#[derive(Debug)]
pub(crate) struct Measured<K> {
    pub(crate) entry: Entry,
    pub(crate) kernel: K,
}

impl<K> AsRef<Entry> for Measured<K> {
    fn as_ref(&self) -> &Entry {
        &self.entry
    }
}

impl AsRef<Entry> for Entry {
    fn as_ref(&self) -> &Entry {
        self
    }
}

/// The queues and peers that are measured through calls that don't wait, corelane's first.
pub fn entries() -> impl Iterator<Item = &'static Entry> + Clone {
    queues::all().iter().map(Measured::as_ref)
}

/// All entries, the queue that is measured between processes only, and those from which thieves
/// steal.
pub fn listed() -> impl Iterator<Item = &'static Entry> {
    static RECORDS: LazyLock<Entry> = LazyLock::new(|| Entry {
        module: "record_ring",
        ..Entry::ours(record_ring::INFO, "byte records")
    });
    let ours = |entry: &&'static Entry| !entry.is_peer();
    let stolen_from = steal::entries().iter().map(Measured::as_ref).filter(ours);
    let peers = entries().filter(|entry| entry.is_peer());
    entries().filter(ours).chain([&*RECORDS]).chain(stolen_from).chain(peers)
}

/// The entries of the list that `names` stand for, as [`ids`] reads them.
///
/// # Errors
///
/// If a name is unknown.
pub fn listed_as(names: &[String]) -> Result<Vec<&'static Entry>, Failure> {
    let all: Vec<_> = listed().collect();
    let ids = any_ids(&all, names)?;
    let is_named = |entry: &&Entry| ids.iter().any(|id| id == entry.info.id);
    Ok(all.into_iter().filter(is_named).collect())
}

pub(crate) fn find(id: &str) -> Option<&'static Entry> {
    entries().find(|entry| entry.info.id == id)
}

/// The ids of the queues that `names` stand for. A name is an id, a module of queues (`lamport`,
/// `line_ring`), or a crate (`crossbeam-queue`). A module or a crate stands for its entries that
/// `fit`.
///
/// # Errors
///
/// If a name is unknown, or none of its entries fits; then `misfit` gives the reason.
pub fn ids(
    names: &[String],
    fits: impl Fn(&Entry) -> bool,
    misfit: impl Fn(&Entry) -> String,
) -> Result<Vec<String>, Failure> {
    ids_among(queues::all(), names, |queue| fits(&queue.entry), misfit)
}

/// The same with other entries.
pub(crate) fn ids_among<E: AsRef<Entry>>(
    among: &[E],
    names: &[String],
    fits: impl Fn(&E) -> bool,
    misfit: impl Fn(&Entry) -> String,
) -> Result<Vec<String>, Failure> {
    let mut ids = Vec::new();
    for name in names {
        let all = called(name, among);
        let Some(first) = all.first() else {
            return Err(unknown(name, among.iter().map(|one| one.as_ref().info.id)));
        };
        let fitting: Vec<_> = all.iter().filter(|one| fits(one)).collect();
        if fitting.is_empty() {
            return Err(Failure::Usage(misfit((*first).as_ref())));
        }
        ids.extend(fitting.into_iter().map(|one| (*one).as_ref().info.id.to_owned()));
    }
    Ok(ids)
}

/// The ids of all of these entries that `names` stand for.
pub(crate) fn any_ids<E: AsRef<Entry>>(
    among: &[E],
    names: &[String],
) -> Result<Vec<String>, Failure> {
    ids_among(among, names, |_| true, |_| String::new())
}

pub(crate) fn called<'a, E: AsRef<Entry>>(name: &str, among: &'a [E]) -> Vec<&'a E> {
    let wanted = name.replace('-', "_");
    let ways: [&dyn Fn(&Entry) -> bool; 3] = [
        &|entry| entry.info.id.replace('-', "_") == wanted,
        &|entry| entry.module == wanted || entry.module.split("::").any(|part| part == wanted),
        &|entry| matches!(entry.kind, EntryKind::Peer { package, .. } if package == name),
    ];
    let all = ways.map(|is_it| among.iter().filter(|one| is_it((*one).as_ref())).collect());
    all.into_iter().find(|all: &Vec<_>| !all.is_empty()).unwrap_or_default()
}
