//! The places and orderings of atomic accesses.

use std::fmt;
use std::panic::Location;

use corelane_loom::memory::{Access, Op as FacadeOp, Ordering};
use include_dir::{Dir, include_dir};
use serde::{Deserialize, Serialize};

/// The library's sources, from which the models are compiled.
static SOURCES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../library/corelane/src");
/// The end of the prefix of the compiler's names of these files. The rest is the same on all
/// machines.
const SOURCES_AT: &str = "corelane/src/";

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Reads; also a failed compare-and-swap.
    Load,
    /// Writes.
    Store,
    /// Reads and writes in one step.
    Rmw,
    /// Compares, and swaps if equal.
    Cas,
    /// Orders other accesses.
    Fence,
}

impl From<FacadeOp> for Op {
    fn from(op: FacadeOp) -> Self {
        match op {
            FacadeOp::Load => Self::Load,
            FacadeOp::Store => Self::Store,
            FacadeOp::Rmw => Self::Rmw,
            FacadeOp::Cas => Self::Cas,
            FacadeOp::Fence => Self::Fence,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Rmw => "rmw",
            Self::Cas => "cas",
            Self::Fence => "fence",
        })
    }
}

/// An ordering, from weak to strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Strength {
    /// Orders no other access. In place of a fence: no fence.
    Relaxed,
    /// Observes released accesses.
    Acquire,
    /// Releases all earlier accesses.
    Release,
    /// Acquires and releases.
    AcqRel,
    /// Acquires and releases, in a single order for all threads.
    SeqCst,
}

impl Strength {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Relaxed, Self::Acquire, Self::Release, Self::AcqRel, Self::SeqCst];

    /// The orderings one step weaker that `op` can have.
    pub fn weaker(self, op: Op) -> &'static [Self] {
        match (self, op) {
            (Self::Relaxed, _) => &[],
            (Self::Acquire | Self::Release, _) => &[Self::Relaxed],
            (Self::AcqRel, _) => &[Self::Acquire, Self::Release],
            (Self::SeqCst, Op::Load) => &[Self::Acquire],
            (Self::SeqCst, Op::Store) => &[Self::Release],
            (Self::SeqCst, Op::Rmw | Op::Cas | Op::Fence) => &[Self::AcqRel],
        }
    }
}

impl From<Ordering> for Strength {
    fn from(ordering: Ordering) -> Self {
        match ordering {
            Ordering::Relaxed => Self::Relaxed,
            Ordering::Acquire => Self::Acquire,
            Ordering::Release => Self::Release,
            Ordering::AcqRel => Self::AcqRel,
            // No ordering is stronger.
            _ => Self::SeqCst,
        }
    }
}

impl From<Strength> for Ordering {
    fn from(strength: Strength) -> Self {
        match strength {
            Strength::Relaxed => Self::Relaxed,
            Strength::Acquire => Self::Acquire,
            Strength::Release => Self::Release,
            Strength::AcqRel => Self::AcqRel,
            Strength::SeqCst => Self::SeqCst,
        }
    }
}

impl fmt::Display for Strength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As in the source.
        f.pad(&format!("{self:?}"))
    }
}

/// An atomic access in the source, and its ordering.
///
/// A compare-and-swap is two accesses: a `cas`, and a `load` for its failure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Site {
    /// File, from the library's `src` on; the compiler's name for files elsewhere.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What the access does.
    pub op: Op,
    /// The ordering.
    pub ordering: Strength,
}

impl Site {
    pub(crate) fn new(at: &Location<'_>, op: FacadeOp, ordering: Ordering) -> Self {
        Self {
            file: file(at).to_owned(),
            line: at.line(),
            column: at.column(),
            op: op.into(),
            ordering: ordering.into(),
        }
    }

    /// Whether `access` is done here.
    pub(crate) fn is_at(&self, access: &Access) -> bool {
        let at = access.location;
        self.line == at.line()
            && self.column == at.column()
            && self.op == access.op.into()
            && self.ordering == access.ordering.into()
            && self.file == file(at)
    }
}

fn file<'a>(at: &Location<'a>) -> &'a str {
    source_name(at.file())
}

/// The name that [`source`] has for the file that the compiler calls `path`; `path` itself for
/// files outside of the library.
pub fn source_name(path: &str) -> &str {
    path.rsplit_once(SOURCES_AT).map_or(path, |(_, file)| file)
}

/// The text of a source file of the library, by its name in a [`Site`].
pub fn source(file: &str) -> Option<&'static str> {
    SOURCES.get_file(file)?.contents_utf8()
}

/// Names of the source files of all algorithms: all files that use the facade, without the facade
/// itself.
pub fn sources() -> Vec<&'static str> {
    fn collect(dir: &'static Dir<'_>, into: &mut Vec<&'static str>) {
        into.extend(dir.files().filter_map(|file| file.path().to_str()));
        dir.dirs().filter(|dir| !dir.path().ends_with("memory")).for_each(|dir| collect(dir, into));
    }
    let mut files = Vec::new();
    collect(&SOURCES, &mut files);
    files.sort_unstable();
    files
}
