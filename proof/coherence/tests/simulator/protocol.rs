//! Each transition of a line, and its exact time.

use std::cell::RefCell;
use std::rc::Rc;

use coherence::{
    Counters, Distance, Machine, PrivateCache, Protocol, Report, Simulation, Time, read, work,
    write,
};

use crate::memory::{LINE, Memory, machine, run_on, took, until};
use Op::{Load, Rmw, Store};

#[derive(Clone, Copy)]
enum Op {
    Load,
    Store,
    Rmw,
}

/// Makes one access after the other to a line, by these cores. Returns the time of each, and the
/// report.
fn script(machine: Machine, steps: &[(usize, Op)]) -> (Vec<u64>, Report) {
    let memory = Memory::new();
    let times = Rc::new(RefCell::new(vec![0; steps.len()]));
    let mut simulation = Simulation::new(machine.clone(), 1);
    for core in 0..machine.topology.cores() {
        let mine = steps.iter().copied().enumerate().filter(move |&(_, (by, _))| by == core);
        let (mine, memory, times) = (mine.collect::<Vec<_>>(), memory.clone(), times.clone());
        simulation.spawn(core, move || {
            for (step, (_, op)) in mine {
                until(1000 * step as u64);
                times.borrow_mut()[step] = took(|| match op {
                    Load => assert!(memory.load(0) <= step as u64),
                    Store => memory.store(0, step as u64),
                    Rmw => assert!(memory.add(0, 1) <= step as u64),
                });
            }
        });
    }
    let report = simulation.run().expect("the script ends");
    (times.take(), report)
}

fn times(machine: Machine, steps: &[(usize, Op)]) -> Vec<u64> {
    script(machine, steps).0
}

#[test]
fn first_touch_is_exclusive() {
    assert_eq!(times(machine(), &[(0, Load), (0, Load), (0, Store), (0, Load)]), [200, 1, 2, 1]);
    assert_eq!(times(machine(), &[(0, Store), (0, Store), (0, Load)]), [200, 2, 1]);
}

#[test]
fn modified_line_is_read_from_its_owner() {
    for (reader, takes) in [(1, 50), (2, 100), (3, 100), (4, 300), (7, 300)] {
        let steps = [(0, Store), (reader, Load), (reader, Load), (0, Load)];
        assert_eq!(times(machine(), &steps), [200, takes, 1, 1], "core {reader}");
    }
}

#[test]
fn exclusive_line_is_read_from_its_owner_and_shared() {
    let steps = [(0, Load), (2, Load), (0, Store), (2, Store)];
    assert_eq!(times(machine(), &steps), [200, 100, 100, 100]);
}

#[test]
fn shared_line_is_read_from_the_nearest_copy() {
    let steps = [(0, Store), (2, Load), (3, Load), (1, Load), (5, Load), (4, Load), (6, Load)];
    assert_eq!(times(machine(), &steps), [200, 100, 20, 20, 300, 20, 100]);
}

#[test]
fn write_waits_for_the_farthest_copy() {
    let near = [(0, Load), (1, Load), (0, Store)];
    assert_eq!(times(machine(), &near), [200, 50, 50]);
    let far = [(0, Load), (1, Load), (6, Load), (0, Store), (1, Load)];
    assert_eq!(times(machine(), &far), [200, 50, 300, 300, 50]);
    let miss = [(0, Load), (1, Load), (2, Store), (2, Store), (0, Load)];
    assert_eq!(times(machine(), &miss), [200, 50, 100, 2, 100]);
}

#[test]
fn threads_of_a_core_share_its_cache() {
    let steps = [(0, Store), (8, Load), (8, Store), (0, Rmw), (12, Load), (4, Load)];
    assert_eq!(times(machine(), &steps), [200, 1, 2, 10, 300, 1]);
}

#[test]
fn read_modify_write_takes_the_line_and_its_own_time() {
    let steps = [(0, Rmw), (0, Rmw), (1, Rmw), (4, Rmw), (4, Store)];
    assert_eq!(times(machine(), &steps), [210, 10, 60, 310, 2]);
}

#[test]
fn owner_serves_all_readers_under_moesi() {
    let steps = [(0, Store), (2, Load), (3, Load), (0, Load), (0, Store)];
    assert_eq!(times(machine(), &steps), [200, 100, 20, 1, 100]);
    let moesi = Machine { protocol: Protocol::Moesi, ..machine() };
    assert_eq!(times(moesi.clone(), &steps), [200, 100, 100, 1, 100]);
    let clean = [(0, Load), (2, Load), (3, Load)];
    assert_eq!(times(moesi.clone(), &clean), [200, 100, 20]);
    // A store to an exclusive line makes it dirty.
    let later = [(0, Load), (0, Store), (2, Load), (3, Load)];
    assert_eq!(times(moesi, &later), [200, 2, 100, 100]);
}

/// A core that reads a line that another core has written to can then write to it without a miss,
/// once.
#[test]
fn written_lines_migrate_to_readers() {
    let migratory = Machine { protocol: Protocol::Migratory, ..machine() };
    let steps = [(0, Store), (2, Load), (2, Store), (0, Load), (2, Load), (0, Store), (2, Load)];
    assert_eq!(times(migratory.clone(), &steps), [200, 100, 2, 100, 100, 100, 100]);
    assert_eq!(times(machine(), &steps), [200, 100, 100, 100, 1, 100, 100]);
    // A line that was only read is shared, dirty or not.
    let steps = [(0, Store), (2, Load), (3, Load), (2, Load), (3, Load)];
    assert_eq!(times(migratory, &steps), [200, 100, 50, 1, 1]);
}

#[test]
fn misses_are_counted_by_kind_and_distance() {
    let steps = [(0, Store), (2, Load), (0, Store), (4, Store), (0, Load), (0, Load), (0, Rmw)];
    let (_, report) = script(machine(), &steps);
    let expected = Counters {
        hits: 1,
        read_misses: 1,
        write_misses: 1,
        upgrades: 2,
        prefetches: 0,
        transfers: [0, 0, 1, 2, 1],
        stall: Time::ns(198 + 98 + 299 + 300),
    };
    let total = report.core(0).unwrap().total;
    assert_eq!(total, expected);
    assert_eq!(total.misses(), 4);
    assert_eq!(total.from(Distance::OtherSocket), 2);
    assert_eq!(report.accesses, 7);
    let sum: Counters = report.cores.iter().fold(Counters::default(), |mut sum, core| {
        sum += core.total;
        sum
    });
    assert_eq!(sum.requests(), report.accesses);
}

#[test]
fn each_place_in_the_source_has_its_own_account() {
    let (_, report) = script(machine(), &[(0, Store), (0, Load), (0, Load)]);
    let sites = &report.core(0).unwrap().sites;
    let hits: Vec<_> = sites.iter().map(|site| site.counters.hits).collect();
    assert_eq!(hits, [2, 0], "the load, then the store");
    assert!(sites[0].site.file.ends_with("protocol.rs"));
    assert_eq!(sites[0].site.line + 1, sites[1].site.line);
}

/// Runs one thread. Returns its costs.
fn alone(machine: Machine, thread: impl FnOnce(&Memory) + 'static) -> Counters {
    let memory = Memory::new();
    let mut simulation = Simulation::new(machine, 1);
    simulation.spawn(0, move || thread(&memory));
    simulation.run().expect("the thread ends").core(0).unwrap().total
}

#[test]
fn plain_data_cost_a_miss_for_each_line() {
    let total = alone(machine(), |memory| {
        write(memory.at(4), LINE * 8 * 3);
        read(memory.at(4), LINE * 8 * 3);
        read(memory.at(512 - 4), LINE * 8);
        read(memory.at(0), 0);
    });
    assert_eq!((total.write_misses, total.read_misses, total.hits), (4, 2, 4));
}

#[test]
fn line_size_is_a_parameter() {
    let total = alone(Machine { line: 128, ..machine() }, |memory| read(memory.at(0), 256));
    assert_eq!(total.misses(), 2);
}

#[test]
fn prefetcher_fetches_the_pair() {
    let reads = |memory: &Memory| {
        assert_eq!(took(|| read(memory.at(LINE), 8)), 200);
        read(memory.at(0), 8);
        write(memory.at(0), 8);
        read(memory.at(2 * LINE), 8);
    };
    let without = alone(machine(), reads);
    assert_eq!((without.misses(), without.prefetches, without.hits), (3, 0, 1));
    let with = alone(Machine { pair_prefetcher: true, ..machine() }, reads);
    assert_eq!((with.misses(), with.prefetches, with.hits), (2, 2, 2));
}

#[test]
fn prefetcher_takes_nothing_dirty() {
    let memory = Memory::new();
    let mut simulation = Simulation::new(Machine { pair_prefetcher: true, ..machine() }, 1);
    let writes = memory.clone();
    simulation.spawn(0, move || writes.store(0, 1));
    simulation.spawn(1, move || {
        until(1000);
        memory.load(LINE);
        memory.load(0);
    });
    let report = simulation.run().unwrap();
    let total = report.core(1).unwrap().total;
    assert_eq!((total.misses(), total.prefetches), (2, 0));
}

/// Four lines in two sets: a line without room goes to the L3, dirty or not, and comes from there.
#[test]
fn a_line_without_room_in_a_cache_is_in_the_l3() {
    let small = Some(PrivateCache { bytes: 4 * 64, ways: 2 });
    let memory = Memory::new();
    let report = run_on(Machine { private_cache: small, ..machine() }, 1, 3, move |core| {
        if core == 0 {
            memory.store(0, 1);
            memory.load(2 * LINE);
            memory.load(0);
            // The set is full, and line 2 was used less recently.
            memory.load(4 * LINE);
            memory.load(0);
            memory.load(2 * LINE);
            memory.load(6 * LINE);
            memory.load(8 * LINE);
            memory.store(0, 2);
        } else if core == 2 {
            work(Time::ns(100_000));
            memory.load(6 * LINE);
            memory.load(2 * LINE);
        }
    });
    let from = |core: usize| report.cores[core].total.transfers;
    assert_eq!(from(0), [2, 0, 0, 0, 5]);
    assert_eq!(report.cores[0].total.hits, 2);
    // Both lines have gone to the other L3.
    assert_eq!(from(2), [0, 0, 2, 0, 0]);
    assert_eq!(report.core(2).unwrap().ended, Time::ns(100_200));
}

#[test]
fn a_prefetched_line_is_on_its_way() {
    let memory = Memory::new();
    let mut simulation = Simulation::new(Machine { pair_prefetcher: true, ..machine() }, 1);
    let loads = memory.clone();
    simulation.spawn(0, move || assert_eq!(loads.load(0), 0)); // comes at 200, with its pair
    simulation.spawn(1, move || {
        until(100);
        assert_eq!(took(|| assert_eq!(memory.load(LINE), 0)), 100 + 50, "from its new owner");
    });
    simulation.run().unwrap();
}

#[test]
fn prefetcher_takes_nothing_that_is_on_its_way() {
    let memory = Memory::new();
    let mut simulation = Simulation::new(Machine { pair_prefetcher: true, ..machine() }, 1);
    let [stores, loads] = [memory.clone(), memory.clone()];
    simulation.spawn(4, move || stores.store(LINE, 1));
    simulation.spawn(0, move || {
        until(1000);
        loads.load(0); // comes at 1200, without its pair, which is dirty
    });
    simulation.spawn(1, move || {
        until(1100);
        assert_eq!(took(|| assert_eq!(memory.load(LINE), 1)), 300);
        assert_eq!(took(|| assert_eq!(memory.load(0), 0)), 50, "it didn't come along");
    });
    simulation.run().unwrap();
}

/// A former bug: a shared line that is on its way is a hit for the other thread of the core.
#[test]
fn line_on_its_way_is_there_for_neither_thread_of_a_core() {
    let memory = Memory::new();
    let mut simulation = Simulation::new(machine(), 1);
    for (core, start) in [(4, 0), (0, 1000), (8, 1010)] {
        let memory = memory.clone();
        simulation.spawn(core, move || {
            until(start);
            let load = took(|| assert_eq!(memory.load(0), 0));
            assert!(load >= 200, "core {core}: {load}");
        });
    }
    simulation.run().unwrap();
}
