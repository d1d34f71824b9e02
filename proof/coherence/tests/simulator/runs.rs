//! Whole runs: they can be repeated, and end, or are given up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use coherence::{
    Machine, Report, Simulation, StoreBuffer, Stuck, Time, Topology, compute, count, is_simulated,
    now, pause, work,
};

use crate::memory::{LINE, Memory, Shared, buffered, machine, run_on};

/// Eight cores that compete for a few lines.
fn fight(machine: Machine, seed: u64) -> Report {
    let memory = Memory::new();
    run_on(machine, seed, 8, move |core| {
        for turn in 0..200 {
            memory.add((turn + core) % 3 * LINE, 1);
            memory.store((turn * core) % 5 * LINE + 1, 1);
            memory.load((turn ^ core) % 7 * LINE);
        }
    })
}

#[test]
fn same_seed_same_run() {
    for machine in [machine(), buffered(4), Machine::i7(), Machine::x86_88t()] {
        assert_eq!(fight(machine.clone(), 5), fight(machine, 5));
    }
}

#[test]
fn another_seed_settles_ties_otherwise() {
    let first = fight(machine(), 0);
    assert!((1..5).any(|seed| fight(machine(), seed) != first));
}

#[test]
fn a_machine_may_have_128_cores() {
    let topology = Topology { sockets: 4, l3_per_socket: 4, cores_per_l3: 8, threads_per_core: 1 };
    let memory = Memory::new();
    let counts = memory.clone();
    let report = run_on(Machine { topology, ..buffered(4) }, 1, 128, move |core| {
        for _ in 0..20 {
            counts.add(0, 1);
            counts.store(LINE * (core + 1), 1);
            counts.load(LINE * ((core + 1) % 128 + 1));
        }
    });
    assert_eq!(memory.load(0), 128 * 20);
    assert_eq!(report.cores.len(), 128);
    assert_eq!(report.accesses, 128 * 20 * 3);
}

#[test]
#[should_panic(expected = "1 to 128 virtual cores")]
fn a_machine_has_no_more_than_128_cores() {
    let topology = Topology { sockets: 3, l3_per_socket: 4, cores_per_l3: 8, threads_per_core: 2 };
    Simulation::new(Machine { topology, ..machine() }, 1);
}

#[test]
#[should_panic(expected = "core 3 has a thread already")]
fn a_core_has_one_thread() {
    let mut simulation = Simulation::new(machine(), 1);
    simulation.spawn(3, || {});
    simulation.spawn(3, || {});
}

/// Sets the cell when it is dropped.
struct Told(Shared<bool>);

impl Drop for Told {
    fn drop(&mut self) {
        assert!(!is_simulated());
        self.0.set(true);
    }
}

#[test]
fn deadlock_names_the_lines() {
    let memory = Memory::new();
    let dropped: [Shared<bool>; 2] = Default::default();
    let mut simulation = Simulation::new(buffered(4), 1);
    for (core, dropped) in dropped.iter().cloned().enumerate() {
        let memory = memory.clone();
        simulation.spawn(core, move || {
            let _told = Told(dropped);
            memory.store(2 * LINE + core, 1);
            while memory.load(core * LINE) == 0 {
                pause(1);
            }
            memory.store((1 - core) * LINE, 1);
        });
    }
    simulation.spawn(5, || work(Time::ns(50_000)));
    let deadlock = simulation.run().unwrap_err();
    assert!(deadlock.time > Time::ns(200_000), "patience and the longest work");
    let cores: Vec<_> = deadlock.threads.iter().map(|thread| thread.core).collect();
    assert_eq!(cores, [0, 1]);
    for Stuck { site, .. } in &deadlock.threads {
        let site = site.unwrap();
        assert!(site.file.ends_with("runs.rs"));
        assert_eq!(site.line, line!() - 14, "{deadlock}");
    }
    assert!(deadlock.to_string().contains("core 1 at "), "{deadlock}");
    assert!(dropped.iter().all(|dropped| dropped.get()), "threads are unwound");
    assert_eq!(memory.load(2 * LINE + 1), 1, "stores are not lost");
}

#[test]
fn exchanging_a_value_for_itself_is_no_progress() {
    let memory = Memory::new();
    let mut simulation = Simulation::new(machine(), 1);
    for core in 0..2 {
        let memory = memory.clone();
        simulation.spawn(core, move || while memory.compare_exchange(0, 0, 0) {});
    }
    assert_eq!(simulation.run().unwrap_err().threads.len(), 2);
}

#[test]
fn panics_come_through() {
    let dropped: Shared<bool> = Rc::default();
    let mut simulation = Simulation::new(machine(), 1);
    let told = Told(dropped.clone());
    simulation.spawn(0, move || {
        let _told = told;
        pause(100);
    });
    simulation.spawn(1, || {
        pause(1);
        panic!("as planned");
    });
    let panic = catch_unwind(AssertUnwindSafe(|| simulation.run())).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"as planned"));
    assert!(dropped.get());
    assert!(!is_simulated());
}

#[test]
fn destructors_of_a_panicking_thread_find_its_stores() {
    struct Adds(Rc<Memory>);
    impl Drop for Adds {
        fn drop(&mut self) {
            assert!(!is_simulated());
            self.0.add(0, 1);
        }
    }
    let memory = Memory::new();
    let mut simulation = Simulation::new(buffered(4), 1);
    for core in 0..2 {
        let adds = Adds(memory.clone());
        simulation.spawn(core, move || {
            pause(100 * core as u32);
            adds.0.store(core * LINE, 5);
            panic!("as planned");
        });
    }
    catch_unwind(AssertUnwindSafe(|| simulation.run())).unwrap_err();
    assert_eq!(memory.load(0), 5 + 2);
}

#[test]
fn outside_of_a_run_memory_is_plain() {
    let memory = Memory::new();
    memory.store(0, 3);
    assert_eq!(memory.add(0, 1), 3);
    assert_eq!(memory.load(0), 4);
    assert_eq!(now(), Time::ZERO);
}

#[test]
fn time_passes_as_told() {
    let report = run_on(machine(), 1, 1, |_| {
        assert!(is_simulated());
        work(Time::ns(7));
        pause(2);
        assert_eq!(now(), Time::ns(13));
    });
    assert_eq!(report.time, Time::ns(13));
    assert_eq!(report.accesses, 0);
}

#[test]
fn only_accesses_to_be_counted_are_counted() {
    let memory = Memory::new();
    let report = run_on(machine(), 1, 1, move |_| {
        count(false);
        memory.load(0);
        count(true);
        memory.load(0);
        memory.load(LINE);
        count(false);
        memory.load(2 * LINE);
    });
    let core = &report.cores[0];
    assert_eq!((core.total.hits, core.total.read_misses), (1, 1));
    assert_eq!((core.counted, core.ended), (Time::ns(201), Time::ns(601)));
    assert_eq!(report.accesses, 4);
}

/// A store is counted if it was made while accesses were counted, whenever it enters the cache.
#[test]
fn a_store_that_waits_is_counted_as_when_it_was_made() {
    let memory = Memory::new();
    let store_buffer = StoreBuffer { entries: 8, early_ownership: false };
    let report = run_on(Machine { store_buffer, ..machine() }, 1, 1, move |_| {
        memory.store(0, 1);
        count(false);
        memory.store(LINE, 1);
        count(true);
        memory.store(LINE, 2);
        memory.load(0);
    });
    let total = report.cores[0].total;
    assert_eq!((total.hits, total.write_misses), (2, 1));
}

#[test]
fn first_touch_of_a_line_is_progress() {
    let memory = Memory::new();
    let report = run_on(Machine { patience: Time::ns(300), ..machine() }, 1, 1, move |_| {
        for line in 0..100 {
            memory.load(line * LINE);
        }
    });
    assert_eq!(report.time, Time::ns(100 * 200));
}

#[test]
fn a_panic_loses_no_store_of_others() {
    let memory = Memory::new();
    let mut simulation = Simulation::new(buffered(4), 1);
    let stores = memory.clone();
    simulation.spawn(0, move || {
        stores.store(0, 1);
        pause(1000);
    });
    simulation.spawn(1, || {
        pause(1);
        panic!("as planned");
    });
    catch_unwind(AssertUnwindSafe(|| simulation.run())).unwrap_err();
    assert_eq!(memory.load(0), 1);
}

/// A former bug: only [`work`] adds to the patience.
#[test]
fn long_computations_are_no_deadlock() {
    let memory = Memory::new();
    let mut simulation = Simulation::new(machine(), 1);
    simulation.spawn(0, move || {
        compute(Time::ns(200_000));
        memory.load(0);
    });
    simulation.run().unwrap();
}

/// A former bug: the deadline overflows, and a release build gives the run up at once.
#[test]
fn patience_may_be_endless() {
    let memory = Memory::new();
    run_on(Machine { patience: Time::ps(u64::MAX), ..machine() }, 1, 2, move |_| {
        memory.load(0);
        memory.store(0, 1);
        memory.load(0);
    });
}
