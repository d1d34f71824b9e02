//! What a command line asks for, checked and spelled out as single cells.

use std::collections::BTreeSet;
use std::time::Duration;

use core_affinity::CoreId;

use super::Mpmc;
use super::params::{Operation, Params};
use crate::catalogue::{self, Entry};
use crate::cell::Length;
use crate::cli::{MpmcArgs, MpmcTest, Positive, Shape, Workload};
use crate::cores;
use crate::failure::Failure;
use crate::pair::Wait;
use crate::plan::check_batches;
use crate::shapes;
use crate::suite::{Cell, Plan};

/// Items a queue must hold, as the paper has it: 32 KiB of 8 bytes each.
const CAPACITY: usize = 4096;
/// The same for `data-latency`. In a longer queue items would wait for its length.
const SHORT: usize = 128;

/// Queues between one producer and one consumer that are measured without being named: the one whose
/// relatives are measured, and what a call costs that nobody disturbs.
const ALSO: [&str; 2] = ["bbq-spsc", "rtrb"];

/// The queue that the test `overwrite` measures beside those that overwrite.
const WAITS: &str = "bbq";

impl Plan<Mpmc> {
    /// `lane bench mpmc`.
    pub(crate) fn bench(args: &MpmcArgs) -> Result<Self, Failure> {
        check_batches(&args.batch, args.capacity.map_or(CAPACITY, |Positive(items)| items))?;
        check_workloads(args)?;
        let all_cores = cores::several(&args.cores)?;
        let cores = cores::first_two(&all_cores);
        let entries = chosen(args);
        let (shapes, mut notes) = shapes(args, &entries)?;
        let cells = cells(args, &entries, &shapes, &all_cores);
        notes.extend(untested(args, &entries, &cells));
        notes.extend(held_up(args, &entries, &shapes, &all_cores));
        let plan = Self {
            cells,
            rounds: args.run.rounds.0,
            budget: None,
            cores,
            all_cores,
            far_above_ns: args.run.far_above_ns(cores),
            context: (),
            notes,
            json: None,
            html: None,
        };
        plan.checked(&args.queues, &args.run)
    }
}

fn chosen(args: &MpmcArgs) -> Vec<&'static Entry> {
    let usual = |entry: &Entry| entry.sides.allow(2, 1) || entry.sides.allow(1, 2);
    let usual = |entry: &Entry| usual(entry) || ALSO.contains(&entry.id.as_str());
    let wanted = |entry: &&Entry| args.run.chooses(entry, &args.queues, usual(entry));
    catalogue::entries().iter().filter(wanted).collect()
}

/// The numbers of threads to measure, and notes on queues that are named and can have none of them.
fn shapes(
    args: &MpmcArgs,
    entries: &[&'static Entry],
) -> Result<(Vec<Shape>, Vec<String>), Failure> {
    if args.threads.is_empty() {
        return Ok((shapes::possible(shapes::usual(), entries), Vec::new()));
    }
    let notes = shapes::check(&args.threads, &args.queues, entries)?;
    Ok((args.threads.clone(), notes))
}

/// Notes on queues that are named and take part in none of the tests.
fn untested(args: &MpmcArgs, entries: &[&'static Entry], cells: &[Cell<Mpmc>]) -> Vec<String> {
    let is_named = |entry: &&&Entry| entry.overwrites && args.queues.contains(&entry.id);
    let is_idle = |entry: &&&Entry| cells.iter().all(|cell| cell.entry.id != entry.id);
    let idle = entries.iter().filter(is_named).filter(is_idle);
    idle.map(|entry| format!("{} loses items: measure it with --test overwrite", entry.id))
        .collect()
}

/// Notes on queues that are left out where threads share cores.
fn held_up(
    args: &MpmcArgs,
    entries: &[&'static Entry],
    shapes: &[Shape],
    cores: &[CoreId],
) -> Vec<String> {
    // The others have one thread, or are for queues that overwrite.
    let is_of_all = |test: &MpmcTest| !matches!(test, MpmcTest::FullEmpty | MpmcTest::Overwrite);
    let is_shared = |shape: &Shape| cores::are_shared(shape.producers + shape.consumers, cores);
    let are_any = args.test.iter().any(is_of_all) && shapes.iter().any(is_shared);
    let left_out = entries.iter().filter(|entry| are_any && is_held_up(entry, args));
    left_out
        .map(|entry| {
            let id = &entry.id;
            format!(
                "{id} left out with more threads than cores, where it takes seconds for what others do \
                 in milliseconds: name it to measure that"
            )
        })
        .collect()
}

/// Whether a queue isn't measured where threads share cores: each would wait for those that don't run.
fn is_held_up(entry: &Entry, args: &MpmcArgs) -> bool {
    entry.takes_turns && !args.queues.contains(&entry.id)
}

/// Whether `test` is measured with `workload`: with calls at a fixed rate there is no throughput, and a
/// call that fails does so whatever is done besides.
fn is_sensible(test: MpmcTest, workload: Workload) -> bool {
    match test {
        MpmcTest::Throughput => workload != Workload::Profiling,
        MpmcTest::DataLatency | MpmcTest::OpLatency => true,
        MpmcTest::FullEmpty | MpmcTest::Overwrite => workload == Workload::Simple,
    }
}

/// Refuses workloads that no test is measured with, and tests that aren't with any.
fn check_workloads(args: &MpmcArgs) -> Result<(), Failure> {
    let by_default = args.test == [MpmcTest::Throughput, MpmcTest::FullEmpty, MpmcTest::Overwrite];
    let idle_test = args.test.iter().find(|test| {
        !matches!(test, MpmcTest::FullEmpty | MpmcTest::Overwrite)
            && !args.workload.iter().any(|w| is_sensible(**test, *w))
    });
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
    entries: &[&'static Entry],
    shapes: &[Shape],
    cores: &[CoreId],
) -> Vec<Cell<Mpmc>> {
    let mut cells = Vec::new();
    for &test in &args.test {
        for params in variations(args, test, shapes, cores) {
            let shared = cores::are_shared(params.producers + params.consumers, cores);
            let can =
                |entry: &&&Entry| can(entry, test, &params) && !(shared && is_held_up(entry, args));
            let length = length(args, test, &params);
            let cell =
                |entry: &&'static Entry| Cell { entry, test, params: params.clone(), length };
            cells.extend(entries.iter().filter(can).map(cell));
        }
    }
    cells
}

/// Whether a queue is measured so.
fn can(entry: &Entry, test: MpmcTest, params: &Params) -> bool {
    let has_consumer = params.consumers > 0;
    let is_of_test = match test {
        // Beside those that overwrite, the relative whose producers wait.
        MpmcTest::Overwrite => entry.overwrites || (entry.id == WAITS && has_consumer),
        _ => !entry.overwrites,
    };
    is_of_test
        && entry.sides.allow(params.producers, params.consumers.max(1))
        && (entry.bounded || params.operation != Some(Operation::Push))
}

/// The sets of parameters of a test.
fn variations(args: &MpmcArgs, test: MpmcTest, shapes: &[Shape], cores: &[CoreId]) -> Vec<Params> {
    let usual = if test == MpmcTest::DataLatency { SHORT } else { CAPACITY };
    let params = Params {
        producers: 1,
        consumers: 1,
        capacity: args.capacity.map_or(usual, |Positive(items)| items),
        batch: 1,
        workload: Workload::Simple,
        wait: args.wait[0],
        operation: None,
    };
    if test == MpmcTest::FullEmpty {
        let fail = |operation| Params { operation: Some(operation), ..params.clone() };
        return [Operation::Push, Operation::Pop].map(fail).into();
    }
    // Only throughput is measured in batches.
    let batches = if test == MpmcTest::Throughput { &args.batch[..] } else { &[Positive(1)] };
    let mut all = Vec::new();
    for &workload in args.workload.iter().filter(|workload| is_sensible(test, **workload)) {
        for &Positive(batch) in batches {
            for Shape { producers, consumers } in shapes_of(test, shapes) {
                for wait in waits(args, producers + consumers, cores) {
                    let more = Params { producers, consumers, batch, workload, wait, ..params };
                    all.push(more);
                }
            }
        }
    }
    all
}

/// The numbers of threads of a test: `overwrite` has one consumer or none.
fn shapes_of(test: MpmcTest, shapes: &[Shape]) -> Vec<Shape> {
    if test != MpmcTest::Overwrite {
        return shapes.to_vec();
    }
    let producers: BTreeSet<_> = shapes.iter().map(|shape| shape.producers).collect();
    let both = |producers| [0, 1].map(|consumers| Shape { producers, consumers });
    producers.into_iter().flat_map(both).collect()
}

/// The ways to wait. Threads that share a core must let the others run.
fn waits(args: &MpmcArgs, threads: usize, cores: &[CoreId]) -> Vec<Wait> {
    if cores::are_shared(threads, cores) { vec![Wait::Yield] } else { args.wait.clone() }
}

fn length(args: &MpmcArgs, test: MpmcTest, params: &Params) -> Length {
    let usual = match (test, params.workload, params.wait) {
        (MpmcTest::FullEmpty, ..) => 5,
        (_, Workload::Profiling, _) => 200,
        // Long enough for all threads of a core to have their turns.
        (_, _, Wait::Yield) => 100,
        _ => 30,
    };
    match args.items {
        // Without a consumer there are no items to be popped.
        Some(items) if test != MpmcTest::Overwrite => Length::Items(items.get()),
        _ => Length::Time(args.duration.unwrap_or(Duration::from_millis(usual))),
    }
}
