//! Cores that continue while a load waits for its line.

use coherence::{Machine, Report, Simulation, StoreBuffer, Time, fence, pause, work};

use crate::memory::{LINE, Memory, Shared, machine, took, until};

/// A machine that looks `lookahead` accesses ahead, and waits for `fills` lines at once.
fn ahead(lookahead: usize, fills: usize) -> Machine {
    let store_buffer = StoreBuffer { entries: 8, early_ownership: true };
    Machine { lookahead, fills, store_buffer, ..machine() }
}

/// Runs one thread alone.
fn alone(machine: Machine, thread: impl FnOnce(&Memory) + 'static) -> Report {
    let memory = Memory::new();
    let mut simulation = Simulation::new(machine, 1);
    simulation.spawn(0, move || thread(&memory));
    simulation.run().expect("the thread ends")
}

/// Loads from lines that no core has touched.
fn load_lines(memory: &Memory, lines: usize) {
    for line in 0..lines {
        memory.load(line * LINE);
    }
}

#[test]
fn misses_overlap() {
    let report = alone(ahead(8, 8), |memory| {
        assert_eq!(took(|| load_lines(memory, 4)), 4, "each keeps the core for a hit");
        // The last line was requested at 3, and arrives at 203.
        assert_eq!(took(fence), 203 - 4 + 5);
    });
    let total = report.cores[0].total;
    assert_eq!((total.read_misses, total.stall), (4, Time::ns(203 - 4)));
}

#[test]
fn misses_do_not_overlap_without_lookahead() {
    alone(ahead(0, 8), |memory| assert_eq!(took(|| load_lines(memory, 4)), 4 * 200));
}

#[test]
fn a_core_goes_no_farther_than_its_lookahead() {
    // The third load begins at 2 and then has to wait for the first.
    alone(ahead(2, 8), |memory| assert_eq!(took(|| load_lines(memory, 3)), 200));
}

#[test]
fn lines_on_their_way_are_limited() {
    alone(ahead(8, 1), |memory| {
        load_lines(memory, 3);
        pause(0);
        assert_eq!(took(|| load_lines(memory, 3)), 3, "they are there");
        assert!(coherence::now() >= Time::ns(3 * 200));
    });
}

#[test]
fn a_core_does_not_run_ahead_past_a_pause() {
    alone(ahead(8, 8), |memory| {
        pause(1);
        assert_eq!(took(|| load_lines(memory, 1)), 200);
    });
}

#[test]
fn a_store_is_not_seen_before_earlier_loads_are_done() {
    let memory = Memory::new();
    let seen: Shared<[u64; 2]> = Default::default();
    let mut simulation = Simulation::new(ahead(8, 8), 1);
    let stores = memory.clone();
    simulation.spawn(0, move || {
        stores.store(0, 0);
        fence();
        stores.load(LINE); // comes 200 later
        stores.store(0, 1);
        fence();
    });
    let sees = seen.clone();
    simulation.spawn(1, move || {
        let look = |at| {
            until(at);
            memory.load(0)
        };
        sees.set([350, 800].map(look));
    });
    simulation.run().unwrap();
    assert_eq!(seen.take(), [0, 1]);
}

#[test]
fn work_goes_on_beside_later_loads() {
    alone(ahead(64, 8), |memory| {
        memory.load(0);
        work(Time::ns(50)); // from 200 to 250
        memory.load(LINE);
        assert!(coherence::now() < Time::ns(10));
        fence();
        assert_eq!(coherence::now(), Time::ns(250 + 5));
    });
}

#[test]
fn stores_take_of_the_lookahead_too() {
    alone(ahead(2, 8), |memory| {
        memory.load(LINE); // done at 200
        memory.store(0, 1);
        assert_eq!(took(|| memory.store(0, 2)), 200 - 3, "the third has to wait");
    });
}

#[test]
fn a_store_or_a_read_of_data_resumes_guessing() {
    alone(ahead(8, 8), |memory| {
        pause(1);
        memory.store(8 * LINE, 1);
        assert_eq!(took(|| load_lines(memory, 2)), 2);
    });
    alone(ahead(8, 8), |memory| {
        pause(1);
        assert_eq!(took(|| coherence::read(memory.at(8 * LINE), 8)), 1);
        assert_eq!(took(|| load_lines(memory, 2)), 2);
    });
}

/// Core 0 stores, loads a line that arrives 300 later, and stores again, to a word of the same line
/// or of another line. Returns what another core reads of the second store, before and after.
fn second_store(word: usize) -> [u64; 3] {
    let memory = Memory::new();
    let seen: Shared<[u64; 3]> = Default::default();
    let mut simulation = Simulation::new(ahead(8, 8), 1);
    let [stores, far] = [memory.clone(), memory.clone()];
    simulation.spawn(4, move || far.store(4 * LINE, 1));
    simulation.spawn(0, move || {
        stores.store(word, 0);
        fence();
        until(1000);
        stores.store(2 * LINE, 1); // in at 1204, or, if the line is shared, at 1052
        stores.load(4 * LINE); // comes at 1302
        stores.store(word, 1);
        fence();
    });
    let sees = seen.clone();
    simulation.spawn(1, move || {
        let look = |at| {
            until(at);
            let value = memory.load(word);
            pause(0);
            value
        };
        sees.set([500, 1290, 2000].map(look));
    });
    simulation.run().unwrap();
    seen.take()
}

#[test]
fn a_store_behind_another_waits_for_earlier_loads_too() {
    assert_eq!(second_store(0), [0, 0, 1]);
    assert_eq!(second_store(2 * LINE + 1), [0, 0, 1]);
}

/// A former bug: a thread ends before its loads and work are done.
#[test]
fn a_run_ends_when_all_is_done() {
    let report = alone(ahead(64, 8), |memory| {
        memory.load(0);
        work(Time::ns(50)); // from 200 to 250
    });
    assert_eq!(report.time, Time::ns(250));
}
