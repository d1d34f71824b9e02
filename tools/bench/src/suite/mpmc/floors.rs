//! What the threads' meeting in one place costs without a queue. An item is two additions, a
//! producer's and a consumer's.

use std::hint::black_box;
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, Mutex, PoisonError};

use corelane::{Info, Sides};

use super::account::{Counts, Tally};
use super::effort::{Effort, Member, NoEffort};
use super::parts::{Common, Part};
use super::probe::{Probe, Silent};
use super::thread::{self, Worker};
use super::{MpmcKernel, Task, crew, fairness, start, ticks};
use crate::catalogue::{Entry, Measured};
use crate::clock::Clock;
use crate::floor::PaddedWord;
use crate::params::Trial;
use crate::sample::Sample;
use crate::suite::mpmc::MpmcSetting;

/// The floors of throughput between several threads. A queue whose threads meet less often than
/// once an item can be faster.
pub(super) static FLOORS: LazyLock<[Measured<MpmcKernel>; 2]> = LazyLock::new(|| {
    let floor = |id, kernel: MpmcKernel| {
        let info = Info { id, name: id, sides: Sides::ManyToMany, ..Info::RING };
        Entry { is_floor: true, ..Entry::ours(info, "") }.with(kernel)
    };
    [
        floor("counter", |_, trial, team| {
            let counter = PaddedWord::default();
            // As a queue needs it: the floor must not be cheaper.
            Ok(measure(trial, team, || _ = black_box(counter.0.fetch_add(1, Ordering::AcqRel))))
        }),
        floor("lock", |_, trial, team| {
            let counter = Alone(Mutex::new(0));
            Ok(measure(trial, team, || {
                *black_box(counter.0.lock().unwrap_or_else(PoisonError::into_inner)) += 1;
            }))
        }),
    ]
});

fn measure(trial: &Trial<'_>, team: &MpmcSetting, add: impl Fn() + Sync) -> Sample {
    let common = &Common::of(team, trial.length);
    let add = &add;
    let task = |(core, member)| -> Task<'_, _> {
        (
            core,
            Box::new(move || {
                thread::run::<_, NoEffort, Silent>(
                    Adder { add, tally: Tally::default() },
                    member,
                    common,
                )
            }),
        )
    };
    let sides = start(crew(trial, team).map(task).collect(), team, common);
    let additions: u64 = sides.iter().flatten().map(|thread| thread.items).sum();
    let value = 2.0 * Clock::get().ns(ticks(&sides)) / additions.max(1) as f64;
    Sample { fairness: Some(sides.map(|side| fairness(&side))), ..Sample::of(value) }
}

/// A lock and what it guards, in a cache line of their own.
#[repr(align(128))]
struct Alone(Mutex<u64>);

/// A thread that adds again and again.
struct Adder<'a, F> {
    add: &'a F,
    tally: Tally,
}

impl<F: Fn()> Worker for Adder<'_, F> {
    fn single<E: Effort, P: Probe>(mut self, _: Member, probe: P, part: &Part) -> (Self, P) {
        let before = self.tally.items;
        while !part.is_over() {
            (0..E::CHUNK).for_each(|_| (self.add)());
            self.tally.items += E::CHUNK;
            part.popped(self.tally.items - before);
        }
        (self, probe)
    }

    /// An addition for a whole batch would cost an item next to nothing. So this is never called.
    fn batches<E: Effort>(self, member: Member, part: &Part, _: usize) -> Self {
        self.single::<E, _>(member, Silent, part).0
    }

    fn settle(self, _: &Common) -> Self {
        self
    }

    fn counts(&self) -> Counts {
        Counts { tally: self.tally, ..Counts::default() }
    }
}
