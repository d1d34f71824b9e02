//! Stores that wait, and what waits for them.

use std::cell::Cell;
use std::rc::Rc;

use coherence::{Machine, Simulation, StoreBuffer, Time, fence, load, pause, read, write};

use crate::memory::{LINE, Memory, Shared, buffered, machine, took, until};

/// Runs one thread alone and returns the end of its run.
fn alone(machine: Machine, thread: impl FnOnce(&Memory) + 'static) -> Time {
    let memory = Memory::new();
    let mut simulation = Simulation::new(machine, 1);
    simulation.spawn(0, move || thread(&memory));
    simulation.run().expect("the thread ends").time
}

#[test]
fn stores_wait_only_when_the_buffer_is_full() {
    let end = alone(buffered(3), |memory| {
        for line in 0..3 {
            assert_eq!(took(|| memory.store(line * LINE, 1)), 2);
        }
        // The first store is sent at 2, has its line at 202, and is in at 204.
        assert_eq!(took(|| memory.store(3 * LINE, 1)), 204 - 6 + 2);
    });
    assert_eq!(end, Time::ns(2 + 4 * 202));
}

#[test]
fn lines_asked_for_early_arrive_together() {
    let store_buffer = StoreBuffer { entries: 3, early_ownership: true };
    let end = alone(Machine { store_buffer, ..machine() }, |memory| {
        for line in 0..3 {
            memory.store(line * LINE, 1);
        }
        assert_eq!(took(fence), 206 - 6 + 5, "the last, asked for at 4, is in at 206");
    });
    assert_eq!(end, Time::ns(211));
}

#[test]
fn stores_that_hit_take_no_room() {
    alone(buffered(1), |memory| {
        memory.store(0, 1);
        assert_eq!(took(fence), 202 + 5);
        for _ in 0..3 {
            assert_eq!(took(|| memory.store(1, 1)), 2);
        }
        assert_eq!(took(fence), 5);
    });
}

#[test]
fn read_modify_write_waits_for_the_buffer() {
    alone(buffered(8), |memory| {
        memory.store(0, 1);
        assert_eq!(took(|| assert_eq!(memory.add(0, 1), 1)), 202 + 10);
        assert_eq!(memory.load(0), 2);
    });
}

#[test]
fn own_stores_are_forwarded() {
    alone(buffered(8), |memory| {
        memory.store(0, 1);
        memory.store(0, 2);
        assert_eq!(took(|| assert_eq!(memory.load(0), 2)), 1);
        write(memory.at(LINE), 16);
        assert_eq!(took(|| read(memory.at(LINE + 1), 8)), 1);
    });
}

#[test]
fn load_of_more_than_was_stored_waits() {
    alone(buffered(8), |memory| {
        memory.store(0, 7);
        memory.store(1, 8);
        let pair = memory.at(0).cast::<[u64; 2]>();
        let read = move || {
            // SAFETY: the words are beside each other, and this thread's only.
            assert_eq!(unsafe { load(pair) }, [7, 8]);
        };
        assert_eq!(took(read), 202 + 2 - 4 + 1);
    });
}

#[test]
fn plain_read_finds_atomic_stores() {
    alone(buffered(8), |memory| {
        memory.store(0, 7);
        read(memory.at(0), 8);
        // SAFETY: the word is this thread's only.
        assert_eq!(unsafe { memory.at(0).read() }, 7);
    });
}

#[test]
fn store_is_seen_when_it_is_in() {
    let seen: Shared<Vec<u64>> = Rc::new(Cell::new(Vec::new()));
    let memory = Memory::new();
    let mut simulation = Simulation::new(buffered(8), 1);
    let stores = memory.clone();
    simulation.spawn(0, move || {
        stores.store(LINE, 1); // sent at 2, in at 204
        stores.store(0, 1); // sent at 204, has its line at 254, in at 256: who asks between waits
    });
    let sees = seen.clone();
    simulation.spawn(1, move || {
        let look = |at| {
            until(at);
            memory.load(0)
        };
        look(0);
        sees.set([253, 255].map(look).to_vec());
    });
    simulation.run().unwrap();
    assert_eq!(seen.take(), [0, 1]);
}

#[test]
fn store_that_loses_its_early_line_misses_again() {
    let store_buffer = StoreBuffer { entries: 8, early_ownership: true };
    let memory = Memory::new();
    let mut simulation = Simulation::new(Machine { store_buffer, ..machine() }, 1);
    let [stores, shares] = [memory.clone(), memory.clone()];
    simulation.spawn(0, move || {
        until(500);
        stores.store(LINE, 1); // shared with another socket: in at 802
        stores.store(0, 1); // has its line at 702
    });
    simulation.spawn(1, move || {
        until(750);
        memory.load(0);
    });
    simulation.spawn(4, move || {
        shares.load(LINE);
    });
    let report = simulation.run().unwrap();
    let total = report.core(0).unwrap().total;
    assert_eq!((total.write_misses, total.upgrades, total.hits), (2, 1, 0));
    assert_eq!(total.requests(), 3);
    assert_eq!(report.accesses, 4);
}

#[test]
fn stores_left_at_the_end_of_a_thread_are_seen() {
    let memory = Memory::new();
    let mut simulation = Simulation::new(buffered(8), 1);
    let stores = memory.clone();
    simulation.spawn(0, move || stores.store(0, 1));
    let waits = memory.clone();
    simulation.spawn(1, move || {
        while waits.load(0) == 0 {
            pause(1);
        }
        waits.store(1, 2);
    });
    simulation.run().unwrap();
    assert_eq!((memory.load(0), memory.load(1)), (1, 2));
}
