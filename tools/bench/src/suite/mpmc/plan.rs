//! The cells of `lane bench mpmc`.

use std::collections::BTreeSet;

use core_affinity::CoreId;
use corelane_report::{Failure, Positive, name};

use super::{FLOORS, MpmcArgs, MpmcKernel, MpmcSetting, Operation, Workload};
use crate::catalogue::{Entry, any_ids};
use crate::cores;
use crate::kinds::{Placement, TeamSize, Test, check_sizes, possible_sizes, usual_sizes};
use crate::params::{Length, Params};
use crate::plan::{Cell, Kernel, Plan, check_batches, row};
use crate::queues::{self, Subject};

/// Items a queue must hold, as in the paper: 32 KiB of 8 bytes each.
const CAPACITY: usize = 4096;
/// The same for `data-latency`. In a longer queue items would wait for its length.
const SHORT: usize = 128;

/// Queues between one producer and one consumer that are measured without being named: the
/// block-based queue of this kind, and a queue that shows the cost of an undisturbed call.
const ALSO: [&str; 2] = ["bbq-spsc", "rtrb"];

/// The queue that the test `overwrite` measures beside queues that overwrite.
const WAITS: &str = "bbq";

impl MpmcArgs {
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let mut args = Self { queues: any_ids(queues::all(), &self.queues)?, ..self.clone() };
        check_batches(&args.batch, args.capacity.map_or(CAPACITY, |Positive(items)| items))?;
        check_workloads(&args)?;
        let (cores, placements) = (cores::several(&args.cores)?, args.placement.len());
        // Threads that aren't pinned run on all cores.
        let are_all = cores::are_all(&cores);
        args.placement.retain(|placement| are_all || *placement != Placement::Free);
        let args = &args;
        // Queues that are never full take more and more memory, and most of the time of a run.
        let is_asked = |entry: &Entry| entry.is_bounded() || !args.queues.is_empty();
        let by_default = |one: &Subject| is_usual(&one.entry) && is_asked(&one.entry);
        let chosen = args.run.choose(queues::all(), &args.queues, by_default);
        let entries: Vec<_> = chosen.iter().map(|one| &one.entry).collect();
        let queues: Vec<_> =
            entries.iter().map(|entry| (entry.info.id, entry.info.sides)).collect();
        let sizes = match args.threads.is_empty() {
            true => possible_sizes(usual_sizes(), &queues),
            false => args.threads.clone(),
        };
        let mut notes = check_sizes(&sizes, &args.queues, &queues)?;
        let cells = cells(args, &chosen, &sizes, &cores);
        if args.placement.len() < placements {
            notes.push(cores::NOT_FREE.into());
        }
        if args.queues.is_empty() {
            notes.push(
                "queues that are never full are left out: name those that you want to see".into(),
            );
        }
        notes.extend(untested(args, &entries, &cells));
        notes.extend(held_up(args, &entries, &sizes, &cores));
        Plan::new(cells, cores, &args.run, &args.queues, notes)
    }
}

fn is_named(entry: &Entry, args: &MpmcArgs) -> bool {
    args.queues.iter().any(|id| id == entry.info.id)
}

fn is_usual(entry: &Entry) -> bool {
    let of_several = entry.info.sides.allow(2, 1) || entry.info.sides.allow(1, 2);
    of_several && !entry.info.relaxed || ALSO.contains(&entry.info.id)
}

/// Notes on named queues that take part in none of the tests.
fn untested(args: &MpmcArgs, entries: &[&Entry], cells: &[Cell]) -> Vec<String> {
    let is_lossy = |entry: &&&Entry| entry.info.overwrites && is_named(entry, args);
    let is_idle = |entry: &&&Entry| cells.iter().all(|cell| cell.entry.info.id != entry.info.id);
    let idle = entries.iter().filter(is_lossy).filter(is_idle);
    idle.map(|entry| format!("{} loses items: measure it with --test overwrite", entry.info.id))
        .collect()
}

/// Notes on queues that are left out if threads share cores.
fn held_up(
    args: &MpmcArgs,
    entries: &[&Entry],
    sizes: &[TeamSize],
    cores: &[CoreId],
) -> Vec<String> {
    let is_shared = |size: &TeamSize| cores::are_shared(size.threads(), cores);
    if args.test.iter().all(is_simple) || !sizes.iter().any(is_shared) {
        return Vec::new();
    }
    let note = |entry: &&Entry| {
        let id = entry.info.id;
        format!(
            "{id} left out with more threads than cores, where it takes seconds for what others do in \
             milliseconds: name it to measure that"
        )
    };
    entries.iter().filter(|entry| is_held_up(entry, args)).map(note).collect()
}

/// Whether `test` is for one thread or for queues that overwrite.
fn is_simple(test: &Test) -> bool {
    matches!(test, Test::FullEmpty | Test::Overwrite)
}

/// Whether a queue isn't measured if threads share cores: each thread would wait for threads that
/// don't run.
fn is_held_up(entry: &Entry, args: &MpmcArgs) -> bool {
    entry.info.takes_turns && !is_named(entry, args)
}

/// Whether `test` is measured with `workload`: calls at a fixed rate have no throughput, and a
/// failing call doesn't depend on the workload.
fn is_sensible(test: Test, workload: Workload) -> bool {
    match test {
        Test::Throughput => workload != Workload::Profiling,
        _ if is_simple(&test) => workload == Workload::Simple,
        _ => true,
    }
}

/// Refuses workloads without a test, and tests without a workload.
fn check_workloads(args: &MpmcArgs) -> Result<(), Failure> {
    let by_default = args.test == [Test::Throughput, Test::FullEmpty, Test::Overwrite];
    let has_workload = |test: &Test| args.workload.iter().any(|w| is_sensible(*test, *w));
    let idle_test = args.test.iter().find(|test| !is_simple(test) && !has_workload(test));
    let idle_workload =
        args.workload.iter().find(|w| !args.test.iter().any(|test| is_sensible(*test, **w)));
    match (idle_test, idle_workload) {
        (None, None) => Ok(()),
        (None, Some(Workload::Simple | Workload::Complex)) if !by_default => Ok(()),
        _ => Err(Failure::Usage(
            "the workload profiling needs --test data-latency or op-latency, and throughput needs \
             --workload simple or complex"
                .into(),
        )),
    }
}

/// All cells in the order of a round: for each set of parameters, all queues.
fn cells(
    args: &MpmcArgs,
    queues: &[&'static Subject],
    sizes: &[TeamSize],
    cores: &[CoreId],
) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &test in &args.test {
        let usual = if test == Test::DataLatency { SHORT } else { CAPACITY };
        let capacity = args.capacity.map_or(usual, |Positive(items)| items);
        for team in settings(args, test, sizes, cores) {
            let threads = team.size.threads();
            let shared = cores::are_shared(threads, cores);
            let can = |queue: &&Subject| {
                can(&queue.entry, test, &team) && !(shared && is_held_up(&queue.entry, args))
            };
            // A single thread never waits.
            let wanted = if test == Test::FullEmpty { &args.wait[..1] } else { &args.wait };
            let waits: Vec<_> = wanted.iter().map(|wait| wait.on(shared)).collect();
            for (number, &wait) in waits.iter().enumerate() {
                if waits[..number].contains(&wait) {
                    continue;
                }
                let chosen: Vec<_> = queues.iter().copied().filter(can).collect();
                // Only queues are faster in batches, or slower with other work.
                let is_plain = team.batch == 1 && team.workload == Workload::Simple;
                let has_floors = test == Test::Throughput && is_plain && !chosen.is_empty();
                let length = length(args, test, team.workload, threads.div_ceil(cores.len()));
                let params = Params { capacity, wait, setting: team.clone().into() };
                cells.extend(row(chosen, test, params.clone(), length, |queue| {
                    let (probe, size) = (queue.kernel.probe, team.size);
                    kernel(queue.kernel.mpmc, test, &team)
                        .and_probe(move |params| probe(params.config(), size))
                }));
                let floors = FLOORS.iter().filter(|_| has_floors);
                cells.extend(row(floors, test, params, length, |floor| {
                    kernel(floor.kernel, test, &team)
                }));
            }
        }
    }
    cells
}

fn kernel(measure: MpmcKernel, test: Test, team: &MpmcSetting) -> Kernel {
    let team = team.clone();
    Kernel::of(move |trial| {
        measure(test, trial, &team)
            .map_err(|fault| format!("{fault}, in {} with {} threads", name(&test), team.size))
    })
}

fn can(entry: &Entry, test: Test, team: &MpmcSetting) -> bool {
    let TeamSize { producers, consumers } = team.size;
    let is_of_test = match test {
        // Beside the queues that overwrite, the similar queue whose producers wait.
        Test::Overwrite => entry.info.overwrites || (entry.info.id == WAITS && consumers > 0),
        _ => !entry.info.overwrites,
    };
    is_of_test
        && entry.info.sides.allow(producers, consumers.max(1))
        && (entry.info.bounded || team.operation != Some(Operation::Push))
}

fn settings(args: &MpmcArgs, test: Test, sizes: &[TeamSize], cores: &[CoreId]) -> Vec<MpmcSetting> {
    if test == Test::FullEmpty {
        let fails = |operation| MpmcSetting {
            size: TeamSize::ONE,
            placement: None,
            batch: 1,
            workload: Workload::Simple,
            operation: Some(operation),
        };
        return [Operation::Push, Operation::Pop].map(fails).into();
    }
    // Only throughput is measured in batches.
    let batches = if test == Test::Throughput { &args.batch[..] } else { &[Positive(1)] };
    let sizes = sizes_of(test, sizes);
    let mut all = Vec::new();
    for &workload in args.workload.iter().filter(|workload| is_sensible(test, **workload)) {
        for &Positive(batch) in batches {
            for &placement in &args.placement {
                for &size in &sizes {
                    let placement = Some(cores::simplest(size, placement, cores));
                    let team = MpmcSetting { size, placement, batch, workload, operation: None };
                    if !all.contains(&team) {
                        all.push(team);
                    }
                }
            }
        }
    }
    all
}

/// The numbers of threads of a test: `overwrite` has one consumer or none.
fn sizes_of(test: Test, sizes: &[TeamSize]) -> Vec<TeamSize> {
    if test != Test::Overwrite {
        return sizes.to_vec();
    }
    let producers: BTreeSet<_> = sizes.iter().map(|size| size.producers).collect();
    let both = |producers| [0, 1].map(|consumers| TeamSize { producers, consumers });
    producers.into_iter().flat_map(both).collect()
}

fn length(args: &MpmcArgs, test: Test, workload: Workload, threads_per_core: usize) -> Length {
    let usual_ms = match (test, workload) {
        (Test::FullEmpty, _) => 5,
        (_, Workload::Profiling) => 200,
        // Some three time slices of 3 ms for each thread of a core.
        _ => (10 * threads_per_core as u64).max(40),
    };
    // Without a consumer there are no items to be popped.
    let items = args.items.filter(|_| test != Test::Overwrite);
    Length::of(items, args.duration, usual_ms)
}
