//! The costs of a run: in total, by core, and by place in the source.

use std::fmt;
use std::ops::AddAssign;
use std::panic::Location;

use crate::{Distance, Time};

/// The costs of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// When the last thread and the last store were done.
    pub time: Time,
    /// Number of simulated accesses: loads, stores, read-modify-writes, and lines of plain data.
    pub accesses: u64,
    /// Number of steps, if the [schedule](crate::Schedule) counts them; 0 if time decides.
    pub steps: u64,
    /// The cores that ran a thread, in order.
    pub cores: Vec<CoreReport>,
}

impl Report {
    /// The core with this number, if it ran a thread.
    pub fn core(&self, core: usize) -> Option<&CoreReport> {
        self.cores.iter().find(|report| report.core == core)
    }
}

/// The costs of a core's thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreReport {
    /// Number of the core.
    pub core: usize,
    /// When the thread ended.
    pub ended: Time,
    /// For how long its accesses were [counted](crate::count).
    pub counted: Time,
    /// All accesses that were counted.
    pub total: Counters,
    /// The same by place in the source, in source order.
    pub sites: Vec<SiteReport>,
}

/// The costs of a core's accesses at one place in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteReport {
    /// The place.
    pub site: Site,
    /// Its accesses.
    pub counters: Counters,
}

/// A place in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// Path of the file, as the compiler knows it.
    pub file: &'static str,
    /// Line, counted from 1.
    pub line: u32,
    /// Column, counted from 1.
    pub column: u32,
}

impl From<&Location<'static>> for Site {
    fn from(location: &Location<'static>) -> Self {
        Self { file: location.file(), line: location.line(), column: location.column() }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// The costs of accesses.
///
/// A miss of a buffered store is charged to the place of the store, although its core doesn't wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Accesses that hit the core's own cache or store buffer.
    pub hits: u64,
    /// Loads whose line wasn't in the cache.
    pub read_misses: u64,
    /// Stores and read-modify-writes whose line wasn't in the cache.
    pub write_misses: u64,
    /// Stores and read-modify-writes whose line was in the cache, but not exclusively.
    pub upgrades: u64,
    /// Read misses that fetched the other line of the pair as well.
    pub prefetches: u64,
    /// Misses by [`Distance`].
    pub transfers: [u64; 5],
    /// Time that the core waited, beyond the time of hits: for lines, for room in the store buffer,
    /// and for the store buffer to be empty.
    pub stall: Time,
}

impl Counters {
    /// Misses of all kinds.
    pub fn misses(&self) -> u64 {
        self.read_misses + self.write_misses + self.upgrades
    }

    /// Requests to the cache: all accesses, and another miss for each store whose line was taken
    /// away between its early request and its turn.
    pub fn requests(&self) -> u64 {
        self.hits + self.misses()
    }

    /// Misses that were served from this distance.
    pub fn from(&self, distance: Distance) -> u64 {
        self.transfers[distance as usize]
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.hits += other.hits;
        self.read_misses += other.read_misses;
        self.write_misses += other.write_misses;
        self.upgrades += other.upgrades;
        self.prefetches += other.prefetches;
        for (mine, theirs) in self.transfers.iter_mut().zip(other.transfers) {
            *mine += theirs;
        }
        self.stall += other.stall;
    }
}

/// No thread has written for too long: the threads wait for each other, or for an event that never
/// comes. Or they have written too often for a [`Schedule`](crate::Schedule) that looks for bugs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlock {
    /// When the run was given up.
    pub time: Time,
    /// The threads that hadn't ended.
    pub threads: Vec<Stuck>,
}

/// A thread in a deadlock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// Its core.
    pub core: usize,
    /// Its last access, if it had any.
    pub site: Option<Site>,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing was written for long, or only in vain, before {}:", self.time)?;
        for Stuck { core, site } in &self.threads {
            match site {
                Some(site) => write!(f, " core {core} at {site};")?,
                None => write!(f, " core {core} before its first access;")?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Deadlock {}
