//! What a command line asks for, checked and spelled out as single cells.

use std::time::Duration;

use core_affinity::CoreId;

use super::Circle;
use super::suite::{Params, Test};
use crate::catalogue::{self, Entry};
use crate::cell::Length;
use crate::cli::{Positive, RingArgs};
use crate::cores;
use crate::failure::Failure;
use crate::pair::Wait;
use crate::suite::{Cell, Plan};

impl Plan<Circle> {
    /// `lane bench ring`.
    pub(crate) fn bench(args: &RingArgs) -> Result<Self, Failure> {
        let all_cores = cores::several(&args.cores)?;
        let cores = cores::first_two(&all_cores);
        let plan = Self {
            cells: cells(args, &chosen(args)?, &all_cores),
            rounds: args.run.rounds.0,
            budget: None,
            cores,
            all_cores,
            far_above_ns: args.run.far_above_ns(cores),
            context: (),
            notes: Vec::new(),
            json: None,
            html: None,
        };
        plan.checked(&args.queues, &args.run)
    }
}

fn chosen(args: &RingArgs) -> Result<Vec<&'static Entry>, Failure> {
    let is_chosen = |entry: &&Entry| args.run.chooses(entry, &args.queues, entry.spsc.is_some());
    let chosen: Vec<_> = catalogue::entries().iter().filter(is_chosen).collect();
    match chosen.iter().find(|entry| entry.overwrites) {
        Some(Entry { id, .. }) => Err(Failure::Usage(format!(
            "{id} loses messages, and a ring waits for all of them: choose other queues"
        ))),
        None => Ok(chosen),
    }
}

/// All cells in the order of a round: for each number of threads, all queues.
fn cells(args: &RingArgs, entries: &[&'static Entry], cores: &[CoreId]) -> Vec<Cell<Circle>> {
    let Positive(in_flight) = args.in_flight;
    let Positive(capacity) = args.capacity;
    let params = |&threads: &u8| {
        let threads = usize::from(threads);
        let wait = if cores::are_shared(threads, cores) { Wait::Yield } else { args.wait };
        Params { threads, in_flight: in_flight as u64, capacity, wait }
    };
    let of_all = |params: Params| {
        let length = length(args, params.wait);
        let cell = move |entry: &&'static Entry| Cell {
            entry,
            test: Test::Round,
            params: params.clone(),
            length,
        };
        entries.iter().map(cell)
    };
    args.threads.iter().map(params).flat_map(of_all).collect()
}

fn length(args: &RingArgs, wait: Wait) -> Length {
    // Long enough for all threads of a core to have their turns.
    let usual = Duration::from_millis(if wait == Wait::Yield { 100 } else { 30 });
    match args.items {
        Some(items) => Length::Items(items.get()),
        None => Length::Time(args.duration.unwrap_or(usual)),
    }
}
