//! Small random programs, and all their outcomes on a machine that keeps stores in order.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use coherence::{Chance, Machine, Protocol, Report, Schedule, Simulation, StoreBuffer, Time};
use coherence::{fence, load, pause, rmw, store, work};

use crate::memory::{LINE, Memory, buffered, machine};
use Op::{Add, Fence, Load, Store};

/// A word or half of one: two words of two halves each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    half: usize,
    halves: usize,
}

#[derive(Debug, Clone, Copy)]
enum Op {
    Load(Place),
    Store(Place, u32),
    /// Adds to each half.
    Add(Place, u32),
    Fence,
}

type Program = Vec<Vec<Op>>;
type Halves = [u32; 4];
/// The values that each thread has read, in order, and the memory in the end.
type Outcome = (Vec<Vec<[u32; 2]>>, Halves);

/// A program, perhaps with accesses to halves of words.
fn program(seed: u64, has_halves: bool) -> Program {
    let chance = &mut Chance::new(seed << 32);
    let (threads, length) = [(2, 3), (2, 4), (3, 2), (4, 2)][chance.below(4) as usize];
    let mut value = 0;
    let mut op = || {
        value += 1;
        let place = match chance.below(8) {
            half @ 0..2 if has_halves => Place { half: half as usize, halves: 1 },
            0..5 => Place { half: 0, halves: 2 },
            _ => Place { half: 2, halves: 2 },
        };
        match chance.below(9) {
            0..4 => Load(place),
            4..7 => Store(place, value),
            7 => Add(place, 100 * value),
            _ => Fence,
        }
    };
    (0..threads).map(|_| (0..length).map(|_| op()).collect()).collect()
}

/// Threads with their buffers, and the values that they have read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    next: Vec<usize>,
    buffers: Vec<VecDeque<(usize, u32, usize)>>,
    read: Vec<Vec<[u32; 2]>>,
    memory: Halves,
}

/// All outcomes of a program, with or without buffers.
fn outcomes(program: &Program, is_buffered: bool) -> BTreeSet<Outcome> {
    let threads = program.len();
    let start = State {
        next: vec![0; threads],
        buffers: vec![VecDeque::new(); threads],
        read: vec![Vec::new(); threads],
        memory: [0; 4],
    };
    let (mut seen, mut ends) = (BTreeSet::from([start.clone()]), BTreeSet::new());
    let mut open = vec![start];
    while let Some(state) = open.pop() {
        let steps = (0..threads).flat_map(|thread| {
            [state.drained(thread), state.stepped(program, thread, is_buffered)]
        });
        let steps: Vec<_> = steps.flatten().collect();
        if steps.is_empty() {
            ends.insert((state.read, state.memory));
        }
        open.extend(steps.into_iter().filter(|next| seen.insert(next.clone())));
    }
    ends
}

impl State {
    /// The oldest store of a thread becomes visible.
    fn drained(&self, thread: usize) -> Option<Self> {
        let mut next = self.clone();
        let (half, value, halves) = next.buffers[thread].pop_front()?;
        next.memory[half..half + halves].fill(value);
        Some(next)
    }

    /// A thread makes its next access.
    fn stepped(&self, program: &Program, thread: usize, is_buffered: bool) -> Option<Self> {
        let op = *program[thread].get(self.next[thread])?;
        let is_empty = self.buffers[thread].is_empty();
        let mut next = self.clone();
        next.next[thread] += 1;
        match op {
            Load(place) => next.read[thread].push(self.look(thread, place)),
            Store(Place { half, halves }, value) if is_buffered => {
                next.buffers[thread].push_back((half, value, halves));
            }
            Store(Place { half, halves }, value) => next.memory[half..half + halves].fill(value),
            Add(..) | Fence if !is_empty => return None,
            Add(place, value) => {
                next.read[thread].push(self.look(thread, place));
                let Place { half, halves } = place;
                next.memory[half..half + halves].iter_mut().for_each(|half| *half += value);
            }
            Fence => {}
        }
        Some(next)
    }

    /// The value that a thread reads from its buffer and from memory.
    fn look(&self, thread: usize, place: Place) -> [u32; 2] {
        let mut found = self.memory;
        for &(half, value, halves) in &self.buffers[thread] {
            found[half..half + halves].fill(value);
        }
        [found[place.half], if place.halves == 2 { found[place.half + 1] } else { 0 }]
    }
}

/// Runs a program, with the two words `apart` words from each other.
fn run(
    program: &Program,
    machine: &Machine,
    schedule: Schedule,
    seed: u64,
    apart: usize,
) -> (Outcome, Report) {
    let memory = Memory::new();
    let read = Rc::new(RefCell::new(vec![Vec::new(); program.len()]));
    let mut simulation = Simulation::new(machine.clone(), seed).schedule(schedule);
    let mut chance = Chance::new(!seed);
    // Threads of one core, of neighbouring cores, and of other cores.
    let cores = [[0, 8, 1, 4], [0, 4, 1, 5], [0, 1, 8, 9]][chance.below(3) as usize];
    for (thread, ops) in program.iter().cloned().enumerate() {
        let (memory, read) = (memory.clone(), read.clone());
        let mut chance = Chance::new(u64::from(chance.any()) << 32);
        simulation.spawn(cores[thread], move || {
            if schedule == Schedule::Time {
                (0..2).filter(|_| chance.below(2) == 0).for_each(|word| {
                    memory.load(word * apart);
                });
            }
            for op in ops {
                if schedule == Schedule::Time {
                    match chance.below(4) {
                        0 => work(Time::ns(chance.below(300))),
                        1 => pause(chance.below(40) as u32),
                        _ => {}
                    }
                }
                let found = access(&memory, apart, op);
                read.borrow_mut()[thread].extend(found);
            }
        });
    }
    let report = simulation.run().expect("all end");
    let halves = [0, apart].map(|word| halves_of(memory.load(word)));
    ((read.take(), [halves[0][0], halves[0][1], halves[1][0], halves[1][1]]), report)
}

fn halves_of(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

/// Makes an access. Returns the value read.
fn access(memory: &Memory, apart: usize, op: Op) -> Option<[u32; 2]> {
    let whole = |place: Place| memory.at(place.half / 2 * apart);
    let half = |place: Place| whole(place).cast::<u32>().wrapping_add(place.half % 2);
    let both = |value: u32| u64::from(value) << 32 | u64::from(value);
    // SAFETY: both words are within the memory, which outlives the run and which only its threads
    // use.
    unsafe {
        match op {
            Load(place) if place.halves == 1 => Some([load(half(place)), 0]),
            Load(place) => Some(halves_of(load(whole(place)))),
            Store(place, value) if place.halves == 1 => {
                store(half(place), value);
                None
            }
            Store(place, value) => {
                store(whole(place), both(value));
                None
            }
            Add(place, value) if place.halves == 1 => {
                Some([rmw(half(place), |old| Some(old + value)), 0])
            }
            Add(place, value) => Some(halves_of(rmw(whole(place), |old| Some(old + both(value))))),
            Fence => {
                fence();
                None
            }
        }
    }
}

/// Machines that differ in all features that might let a thread read a wrong value.
fn machines() -> Vec<Machine> {
    let early = |entries| StoreBuffer { entries, early_ownership: true };
    vec![
        buffered(1),
        buffered(4),
        Machine { store_buffer: early(1), ..machine() },
        Machine { store_buffer: early(8), pair_prefetcher: true, ..machine() },
        Machine { lookahead: 16, fills: 1, pair_prefetcher: true, ..buffered(4) },
        Machine { lookahead: 2, store_buffer: early(4), protocol: Protocol::Moesi, ..machine() },
    ]
}

/// Checks that all outcomes of a program's runs are allowed.
#[track_caller]
fn assert_allowed(seeds: std::ops::Range<u64>, schedules: &[Schedule]) {
    for seed in seeds {
        let program = program(seed, seed % 2 == 0);
        let allowed = [false, true].map(|is_buffered| outcomes(&program, is_buffered));
        for machine in machines().into_iter().chain([machine()]) {
            let is_buffered = machine.store_buffer.entries > 0;
            for &schedule in schedules {
                for apart in [1, LINE, 2 * LINE] {
                    for run_seed in 0..4 {
                        let (outcome, report) = run(&program, &machine, schedule, run_seed, apart);
                        assert!(
                            allowed[usize::from(is_buffered)].contains(&outcome),
                            "{program:?} by {schedule:?}, seed {run_seed}, {apart} apart on {machine:?}: {outcome:?}"
                        );
                        let requests =
                            report.cores.iter().map(|core| core.total.requests()).sum::<u64>();
                        let early = machine.store_buffer.early_ownership;
                        assert!(
                            requests == report.accesses || early && requests > report.accesses,
                            "{program:?} by {schedule:?}, seed {run_seed}, {apart} apart on {machine:?}: {report:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn by_time_all_outcomes_are_allowed() {
    assert_allowed(0..60, &[Schedule::Time]);
}

#[test]
fn by_other_schedules_all_outcomes_are_allowed() {
    let priorities = |depth| Schedule::Priorities { depth, steps: 20 };
    assert_allowed(60..90, &[Schedule::Random, priorities(1), priorities(3)]);
}

/// A load of a part of a buffered store waits for the store, and so has fewer outcomes than
/// allowed.
#[test]
fn by_chance_all_allowed_outcomes_occur() {
    for seed in 100..140 {
        let program = program(seed, false);
        if program.len() > 3 {
            continue;
        }
        let mut missing = outcomes(&program, true);
        for run_seed in 0..20_000 {
            let (outcome, _) = run(&program, &buffered(8), Schedule::Random, run_seed, LINE);
            missing.remove(&outcome);
            if missing.is_empty() {
                break;
            }
        }
        assert!(missing.is_empty(), "{program:?} lacks {missing:?}");
    }
}
