//! Schedules that look for bugs: they find the bugs, and nothing else.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use coherence::{
    Deadlock, Machine, Report, Schedule, Simulation, StoreBuffer, Time, fence, now, pause, work,
};

use crate::memory::{LINE, Memory, Shared, buffered, machine};

/// Priorities for programs of about a dozen steps.
fn priorities(depth: u32) -> Schedule {
    Schedule::Priorities { depth, steps: 12 }
}

fn all() -> [Schedule; 4] {
    [Schedule::Random, priorities(1), priorities(2), priorities(3)]
}

/// Runs the same thread on each of `cores`, with the core's number.
fn run_by(
    schedule: Schedule,
    machine: &Machine,
    seed: u64,
    cores: Range<usize>,
    thread: impl Fn(usize) + Clone + 'static,
) -> Result<Report, Deadlock> {
    let mut simulation = Simulation::new(machine.clone(), seed).schedule(schedule);
    for core in cores {
        let thread = thread.clone();
        simulation.spawn(core, move || thread(core));
    }
    simulation.run()
}

/// For how many of `seeds` both of two threads miss the other's store.
fn both_miss(schedule: Schedule, machine: &Machine, seeds: Range<u64>, fenced: bool) -> usize {
    let is_missed = |&seed: &u64| {
        let memory = Memory::new();
        let sum: Shared<u64> = Rc::default();
        let sees = sum.clone();
        let thread = move |core| {
            memory.store(core * LINE, 1);
            if fenced {
                fence();
            }
            sees.set(sees.get() + memory.load((1 - core) * LINE));
        };
        run_by(schedule, machine, seed, 0..2, thread).unwrap();
        sum.get() == 0
    };
    seeds.filter(is_missed).count()
}

#[test]
fn store_buffering_is_found() {
    for schedule in all() {
        assert!(both_miss(schedule, &buffered(4), 0..50, false) > 0, "{schedule:?}");
    }
}

#[test]
fn store_buffering_is_not_found_with_fences_or_without_buffers() {
    for schedule in all() {
        assert_eq!(both_miss(schedule, &buffered(4), 0..500, true), 0, "{schedule:?}");
        assert_eq!(both_miss(schedule, &machine(), 0..500, false), 0, "{schedule:?}");
    }
}

#[test]
fn messages_arrive_whole() {
    for (schedule, seed) in all().into_iter().flat_map(|by| (0..200).map(move |seed| (by, seed))) {
        let memory = Memory::new();
        let thread = move |core| {
            if core == 0 {
                memory.store(0, 7);
                memory.store(LINE, 1);
                return;
            }
            while memory.load(LINE) == 0 {
                pause(1);
            }
            assert_eq!(memory.load(0), 7);
        };
        run_by(schedule, &buffered(4), seed, 0..2, thread).unwrap();
    }
}

#[test]
fn no_increment_is_lost() {
    for schedule in all() {
        let memory = Memory::new();
        let counts = memory.clone();
        let thread = move |core| {
            for turn in 0..100 {
                counts.store((core + 1) * LINE, turn);
                counts.add(0, 1);
            }
        };
        let report = run_by(schedule, &buffered(4), 3, 0..16, thread).unwrap();
        assert_eq!(memory.load(0), 1600);
        assert!(report.steps > report.accesses);
    }
}

/// A program of two threads, and whether its bug has shown.
struct Buggy {
    thread: fn(&Memory, usize),
    has_shown: fn(&Memory) -> bool,
}

const RUNS: u64 = 5000;

impl Buggy {
    /// How many of the runs show the bug, and how many steps a run has. There are no store buffers.
    fn try_depth(&self, depth: u32, steps: u64) -> (u64, u64) {
        let (mut found, mut last_steps) = (0, 0);
        for seed in 0..RUNS {
            let memory = Memory::new();
            let (shared, thread) = (memory.clone(), self.thread);
            let schedule = Schedule::Priorities { depth, steps };
            let report =
                run_by(schedule, &machine(), seed, 0..2, move |core| thread(&shared, core));
            last_steps = report.unwrap().steps;
            found += u64::from((self.has_shown)(&memory));
        }
        (found, last_steps)
    }

    /// Checks that the bug is found at its depth with the expected frequency, and never at a lesser
    /// depth.
    #[track_caller]
    fn assert_depth(&self, depth: u32) {
        let (found, steps) = self.try_depth(depth - 1, 10);
        assert_eq!(found, 0);
        let (found, _) = self.try_depth(depth, steps);
        assert!(found >= RUNS / (2 * steps.pow(depth - 1)), "{found} of {RUNS}");
    }
}

#[test]
fn a_lost_update_needs_one_change() {
    let thread = |memory: &Memory, _| memory.store(0, memory.load(0) + 1);
    Buggy { thread, has_shown: |memory| memory.load(0) == 1 }.assert_depth(2);
}

#[test]
fn a_reader_between_two_stores_needs_two_changes() {
    let thread = |memory: &Memory, core| {
        if core == 0 {
            memory.store(0, 1);
            memory.store(0, 2);
        } else {
            let seen = memory.load(0) * 10 + memory.load(0);
            memory.store(LINE, seen);
        }
    };
    Buggy { thread, has_shown: |memory| memory.load(LINE) == 12 }.assert_depth(3);
}

/// Four threads that add, store and load.
fn mix(schedule: Schedule, seed: u64) -> Report {
    let memory = Memory::new();
    let thread = move |core| {
        for turn in 0..50 {
            memory.add((turn + core) % 3 * LINE, 1);
            memory.store((turn * core) % 5 * LINE + 1, 1);
            if memory.load((turn ^ core) % 7 * LINE).is_multiple_of(5) {
                pause(1);
            }
        }
    };
    run_by(schedule, &Machine::i7(), seed, 0..4, thread).unwrap()
}

#[test]
fn same_seed_same_run() {
    let stopped = Schedule::Stopped { core: 2, step: 100 };
    for schedule in [Schedule::Random, Schedule::Priorities { depth: 4, steps: 1000 }, stopped] {
        assert_eq!(mix(schedule, 5), mix(schedule, 5));
        assert_ne!(mix(schedule, 5), mix(schedule, 6));
    }
}

/// Wherever a thread is stopped, all others end before it continues.
#[test]
fn a_stopped_thread_is_last() {
    // The thread takes more than 20 steps.
    for (step, seed) in (1..20).flat_map(|step| [1, 2, 3].map(|seed| (step, seed))) {
        let memory = Memory::new();
        let ended: Shared<Vec<usize>> = Rc::default();
        let (counts, ends) = (memory.clone(), ended.clone());
        let thread = move |core| {
            for _ in 0..20 {
                counts.add(0, 1);
            }
            let mut all = ends.take();
            all.push(core);
            ends.set(all);
        };
        let schedule = Schedule::Stopped { core: 1, step };
        run_by(schedule, &buffered(4), seed, 0..4, thread).unwrap();
        assert_eq!(ended.take().last(), Some(&1), "stopped at {step}");
        assert_eq!(memory.load(0), 80);
    }
}

#[test]
fn waiting_for_a_stopped_thread_is_given_up() {
    let memory = Memory::new();
    let thread = move |core| {
        while core == 0 && memory.load(0) == 0 {
            pause(1);
        }
        memory.store(0, 1);
    };
    let run = |core, step| {
        let schedule = Schedule::Stopped { core, step };
        run_by(schedule, &buffered(4), 1, 0..2, thread.clone())
    };
    assert!(run(1, 1).is_err());
    run(1, 1000).unwrap();
    run(0, 1).unwrap();
}

#[test]
fn deadlock_names_the_lines() {
    let waits: [fn(); 3] = [|| pause(1), || work(Time::ns(100)), || ()];
    for (schedule, wait) in all().into_iter().flat_map(|by| waits.map(|wait| (by, wait))) {
        let memory = Memory::new();
        let thread = move |core| {
            memory.store(2 * LINE, 1);
            while memory.load(core * LINE) == 0 {
                wait();
            }
        };
        let deadlock = run_by(schedule, &buffered(4), 1, 0..2, thread).unwrap_err();
        let lines: Vec<_> = deadlock.threads.iter().map(|stuck| stuck.site.unwrap().line).collect();
        assert_eq!(lines, [line!() - 6; 2], "{deadlock}");
    }
}

#[test]
fn a_waiting_thread_starves_no_other() {
    let waits: [fn(); 3] = [|| pause(1), || work(Time::ns(100)), || ()];
    for (schedule, wait) in all().into_iter().flat_map(|by| waits.map(|wait| (by, wait))) {
        for seed in 0..20 {
            let memory = Memory::new();
            // Each thread waits for the previous one. The first does not wait.
            let thread = move |core| {
                while core > 0 && memory.load(core * LINE) == 0 {
                    wait();
                }
                memory.store((core + 1) * LINE, 1);
            };
            run_by(schedule, &buffered(4), seed, 0..8, thread).unwrap();
        }
    }
}

#[test]
#[should_panic(expected = "the schedule comes before the threads")]
fn schedule_comes_first() {
    let mut simulation = Simulation::new(machine(), 1);
    simulation.spawn(0, || {});
    let _ = simulation.schedule(Schedule::Random);
}

#[test]
fn lines_asked_for_early_are_counted_once() {
    let store_buffer = StoreBuffer { entries: 4, early_ownership: true };
    let machine = Machine { store_buffer, ..machine() };
    let memory = Memory::new();
    let report = run_by(Schedule::Random, &machine, 1, 0..1, move |_| memory.store(0, 1)).unwrap();
    let total = report.cores[0].total;
    assert_eq!((total.write_misses, total.hits), (1, 0));
}

#[test]
fn a_load_that_sees_a_store_is_later() {
    for (schedule, seed) in all().into_iter().flat_map(|by| (0..20).map(move |seed| (by, seed))) {
        let memory = Memory::new();
        let thread = move |core| {
            if core == 0 {
                work(Time::ns(10_000));
                return memory.store(0, 1);
            }
            while memory.load(0) == 0 {
                pause(1);
            }
            assert!(now() > Time::ns(10_000));
        };
        run_by(schedule, &buffered(4), seed, 0..2, thread).unwrap();
    }
}

/// A panic empties all store buffers, and nothing wakes the threads that wait for an empty buffer.
#[test]
fn a_caught_panic_blocks_no_thread() {
    struct Looks(Rc<Memory>);
    impl Drop for Looks {
        fn drop(&mut self) {
            self.0.load(LINE);
        }
    }
    for seed in 0..100 {
        let memory = Memory::new();
        let thread = move |core| {
            let looks = Looks(memory.clone());
            if core == 0 {
                let panics = move || {
                    let _looks = looks;
                    resume_unwind(Box::new(()));
                };
                catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
            } else {
                memory.store(0, 1);
                fence();
            }
        };
        let report = run_by(Schedule::Random, &buffered(4), seed, 0..2, thread).unwrap();
        assert_eq!(report.cores.len(), 2, "seed {seed}");
    }
}

/// A former bug: no random step can be chosen from a number of steps above 32 bits.
#[test]
fn runs_may_be_long() {
    let schedule = Schedule::Priorities { depth: 3, steps: u64::MAX };
    run_by(schedule, &machine(), 1, 0..2, |_| pause(1)).unwrap();
}
