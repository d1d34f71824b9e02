//! `lane bench steal`: the owner's calls of a work-stealing queue, alone, beside a thief that finds
//! nothing, and while a share of its items is stolen; and owners that steal from each other.
//!
//! A queue of corelane has a line in `for_each_steal_queue!`. To add a peer: implement [`Deque`],
//! and add a line to [`entries`].

mod args;
mod deques;
mod plan;
mod pool;
mod setting;

use std::hint::{black_box, spin_loop};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use core_affinity::CoreId;
use corelane::{Info, Sides};

pub use self::args::StealArgs;
pub use self::setting::{Order, StealPolicy};
pub(crate) use self::setting::{PoolSetting, StealSetting};
use crate::catalogue::{Entry, EntryKind, Measured};
use crate::kinds::Test;
use crate::params::{Length, Trial};
use crate::sample::Sample;
use crate::threads::{self, Task};

/// All entries, also the floors: collections of one thread.
pub(crate) fn entries() -> &'static [Stealing] {
    static ENTRIES: LazyLock<Vec<Stealing>> = LazyLock::new(deques::entries);
    &ENTRIES
}

/// The owner's side of a queue.
pub(crate) trait Deque: Send + Sized {
    type Thief: Thief;

    fn new(capacity: usize) -> Self;
    /// `None` of a collection that only one thread uses.
    fn thief(&self) -> Option<Self::Thief>;
    /// Whether there was room.
    fn put(&mut self, item: u64) -> bool;
    fn get(&mut self) -> Option<u64>;
}

/// A thief's side.
pub(crate) trait Thief: Send {
    fn steal(&self) -> Option<u64>;

    /// Steals from a part of the queue that `random` chooses, if the queue has parts.
    fn steal_sampled(&self, random: u64) -> Option<u64> {
        _ = random;
        self.steal()
    }

    /// Items in the queue; 0 if it can't tell: then no queue is longer than another one.
    fn len(&self) -> usize {
        0
    }
}

/// How a queue is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StealKernel {
    pub(crate) order: Order,
    /// Whether other threads may steal.
    has_thieves: bool,
    measure: fn(Test, &Trial<'_>, &StealSetting) -> Result<Sample, String>,
}

impl StealKernel {
    pub(crate) fn fits(&self, setting: &StealSetting) -> bool {
        self.order == setting.order && (self.has_thieves || setting.thieves == 0)
    }

    pub(crate) fn measure(
        &self,
        test: Test,
        trial: &Trial<'_>,
        setting: &StealSetting,
    ) -> Result<Sample, String> {
        (self.measure)(test, trial, setting)
    }
}

/// A queue from which thieves steal.
pub(crate) type Stealing = Measured<StealKernel>;

fn with<D: Deque>(entry: Entry, order: Order, has_thieves: bool) -> Stealing {
    entry.with(StealKernel { order, has_thieves, measure: measure::<D> })
}

/// One of corelane's.
fn ours<D: Deque>(order: Order, info: Info) -> Stealing {
    with::<D>(Entry::ours(info, "items of any type").of_type::<D>(), order, true)
}

/// One of others.
fn other(id: &'static str, name: &'static str, kind: EntryKind) -> Entry {
    Entry::other(Info { id, name, sides: Sides::OneToMany, bounded: true, ..Info::RING }, kind)
}

/// Items that the owner puts and gets in turn while a thief finds nothing: so few that corelane's
/// queues have them in the owner's block, or in one that is not granted yet.
const FEW: u64 = 16;

/// What the owner and its thief tell each other.
#[derive(Default)]
struct Shared {
    is_done: AtomicBool,
    /// Items that the owner has put, stored once in a while.
    put: AtomicU64,
    /// Items that the thief may take for each 1000 that were put; if 0, all that it finds.
    per_mille: u64,
}

/// What one thread has done: its time in nanoseconds, its items and their sum.
#[derive(Default)]
struct Did {
    ns: f64,
    items: u64,
    sum: u64,
}

const WRONG: &str = "items were lost or came twice";

/// The sum of the items, which are numbered from 1, with wrap-around.
fn sum_of(items: u64) -> u64 {
    (1..=items).fold(0, u64::wrapping_add)
}

/// Nanoseconds of the owner for each item that it puts, and, unless the item is stolen, gets.
fn measure<D: Deque>(
    test: Test,
    trial: &Trial<'_>,
    setting: &StealSetting,
) -> Result<Sample, String> {
    if let Some(pool) = setting.pool {
        return pool::measure::<D>(trial, pool);
    }
    let owner = D::new(trial.params.capacity);
    let per_mille = u64::from(setting.stolen_percent.unwrap_or(0)) * 10;
    let shared = Shared { per_mille, ..Shared::default() };
    let run = if test == Test::HungryThief { FEW } else { trial.params.capacity as u64 };
    let mut tasks: Vec<Task<'_, Did>> = Vec::new();
    let core = |number: usize| Some(trial.cores[number % trial.cores.len()]) as Option<CoreId>;
    if let Some(thief) = owner.thief().filter(|_| setting.thieves > 0) {
        let shared = &shared;
        tasks.push((core(1), Box::new(move || steal(thief, shared))));
    }
    let of_owner = &shared;
    tasks.push((core(0), Box::new(move || own(owner, run, trial.length, of_owner))));
    let mut did = threads::all(tasks, &|| ());
    let own = did.pop().expect("the owner came last");
    let stolen = did.pop().unwrap_or_default();
    if own.sum.wrapping_add(stolen.sum) != sum_of(own.items) {
        return Err(WRONG.into());
    }
    let stolen = stolen.items as f64 / own.items as f64;
    let value = own.ns / own.items as f64;
    Ok(Sample { stolen: Some(stolen), ..Sample::of(value) })
}

/// The owner. It owns the queue, as a thread does: behind a reference the compiler would have to
/// keep its fields in memory.
fn own<D: Deque>(mut deque: D, run: u64, length: Length, shared: &Shared) -> Did {
    let mut did = Did::default();
    let mut measured = 0;
    for part in length.parts() {
        let (begin, before) = (Instant::now(), did.items);
        // The clock is read after about 1000 items.
        while !part.is_over(did.items - before, begin) {
            (deque, did) = take_turns(deque, did, (1024 / run).max(1), run);
            shared.put.store(did.items, Ordering::Relaxed);
        }
        (did.ns, measured) = (begin.elapsed().as_nanos() as f64, did.items - before);
    }
    shared.is_done.store(true, Ordering::Release);
    // The time is that of the measured part.
    did.ns *= did.items as f64 / measured.max(1) as f64;
    did
}

/// Puts up to `run` items, and gets them all, some `turns`.
#[inline(never)]
fn take_turns<D: Deque>(mut deque: D, mut did: Did, turns: u64, run: u64) -> (D, Did) {
    for _ in 0..turns {
        for _ in 0..run {
            if !deque.put(did.items + 1) {
                break;
            }
            did.items += 1;
        }
        while let Some(item) = deque.get() {
            did.sum = did.sum.wrapping_add(black_box(item));
        }
    }
    (deque, did)
}

/// The thief.
fn steal<T: Thief>(thief: T, shared: &Shared) -> Did {
    let mut did = Did::default();
    while !shared.is_done.load(Ordering::Acquire) {
        let may = shared.put.load(Ordering::Relaxed) / 1000 * shared.per_mille;
        if shared.per_mille > 0 && did.items >= may {
            (0..16).for_each(|_| spin_loop());
            continue;
        }
        // As many as it may before it looks how far the owner is.
        for _ in 0..64 {
            let Some(item) = thief.steal() else { break };
            did.items += 1;
            did.sum = did.sum.wrapping_add(item);
            if shared.per_mille > 0 && did.items >= may {
                break;
            }
        }
    }
    did
}
