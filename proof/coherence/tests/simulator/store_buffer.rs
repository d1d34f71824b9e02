//! Stores that wait, and accesses that wait for them.

use std::cell::Cell;
use std::rc::Rc;

use coherence::{Machine, Simulation, StoreBuffer, Time, fence, forget, load, pause, read, write};

use crate::memory::{LINE, Memory, Shared, buffered, machine, took, until};

/// Runs one thread alone and returns when it ends.
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
fn store_is_visible_when_it_enters_the_cache() {
    let seen: Shared<Vec<u64>> = Rc::new(Cell::new(Vec::new()));
    let memory = Memory::new();
    let mut simulation = Simulation::new(buffered(8), 1);
    let stores = memory.clone();
    simulation.spawn(0, move || {
        stores.store(LINE, 1); // sent at 2, in at 204
        stores.store(0, 1); // sent at 204, has its line at 254, in at 256: a load in between waits
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

#[test]
fn neighbours_are_not_forwarded_nor_waited_for() {
    alone(buffered(8), |memory| {
        memory.store(1, 1);
        fence();
        until(1000);
        memory.store(LINE + 1, 1);
        for word in [0, 2] {
            assert_eq!(took(|| assert_eq!(memory.load(word), 0)), 1);
        }
    });
    alone(buffered(8), |memory| {
        fence();
        memory.store(1, 1); // sent at 7, in at 209
        memory.store(LINE, 1);
        assert_eq!(took(|| assert_eq!(memory.load(2), 0)), 209 - 9 + 1, "not for the other one");
    });
}

#[test]
fn a_line_that_is_busy_is_not_asked_for_early() {
    let store_buffer = StoreBuffer { entries: 8, early_ownership: true };
    let memory = Memory::new();
    let mut simulation = Simulation::new(Machine { store_buffer, ..machine() }, 1);
    let holds = memory.clone();
    simulation.spawn(4, move || {
        holds.add(LINE, 1); // until 210
    });
    simulation.spawn(0, move || {
        until(100);
        memory.store(0, 1); // in at 302
        memory.store(LINE, 1); // sent then, and in at 604
        fence();
        assert_eq!(coherence::now(), Time::ns(604 + 5));
    });
    simulation.run().unwrap();
}

#[test]
fn threads_of_a_core_do_not_wait_for_each_others_stores() {
    let memory = Memory::new();
    let mut simulation = Simulation::new(buffered(4), 1);
    let stores = memory.clone();
    simulation.spawn(0, move || stores.store(0, 1)); // in at 204
    simulation.spawn(8, move || {
        until(100);
        assert_eq!(took(|| memory.store(1, 1)), 2);
        assert_eq!(took(fence), 206 - 102 + 5);
    });
    simulation.run().unwrap();
}

#[test]
fn a_copy_is_kept_until_the_line_is_with_its_owner() {
    for (at, takes) in [(1051, 1), (1052, 2 + 50)] {
        let memory = Memory::new();
        let mut simulation = Simulation::new(buffered(4), 1);
        let stores = memory.clone();
        simulation.spawn(0, move || {
            stores.load(0);
            until(1000);
            stores.store(0, 1); // sent at 1002, has its line at 1052, is in at 1054
        });
        simulation.spawn(1, move || {
            until(500);
            memory.load(0);
            until(at);
            assert_eq!(took(|| assert_eq!(memory.load(0), u64::from(takes > 1))), takes);
        });
        simulation.run().unwrap();
    }
}

/// A former bug: a read-modify-write that waits for a line takes its value before the line arrives.
#[test]
fn read_modify_write_finds_the_store_that_is_served_before_it() {
    let memory = Memory::new();
    let mut simulation = Simulation::new(buffered(4), 1);
    let stores = memory.clone();
    simulation.spawn(0, move || stores.store(0, 5)); // sent at 2, in at 204
    let adds = memory.clone();
    simulation.spawn(1, move || {
        until(100);
        assert_eq!(took(|| assert_eq!(adds.add(0, 1), 5)), 104 + 60);
    });
    simulation.run().unwrap();
    assert_eq!(memory.load(0), 6);
}

/// A former bug: a store whose line was requested early is counted again if it enters with another
/// store.
#[test]
fn stores_that_enter_together_are_counted_once() {
    let store_buffer = StoreBuffer { entries: 8, early_ownership: true };
    let memory = Memory::new();
    let mut simulation = Simulation::new(Machine { store_buffer, ..machine() }, 1);
    let holds = memory.clone();
    simulation.spawn(4, move || {
        holds.add(LINE, 1); // until 210
    });
    simulation.spawn(0, move || {
        until(100);
        memory.store(0, 1); // in at 302
        memory.store(LINE, 1); // not asked for early, because the line is busy
        until(250);
        memory.store(LINE + 1, 1); // asked for early
    });
    let total = simulation.run().unwrap().core(0).unwrap().total;
    assert_eq!((total.write_misses, total.hits), (2, 1));
}

/// A former bug: a store waits for a busy line before it queues up, and a read-modify-write queues
/// up at once.
#[test]
fn requests_are_served_in_the_order_in_which_they_are_made() {
    let memory = Memory::new();
    let mut simulation = Simulation::new(buffered(4), 1);
    let [first, second] = [memory.clone(), memory.clone()];
    simulation.spawn(0, move || {
        first.add(0, 1); // until 210
    });
    simulation.spawn(1, move || {
        until(100);
        second.store(0, 7);
        fence();
    });
    simulation.spawn(2, move || {
        until(150);
        assert_eq!(memory.add(0, 1), 7);
    });
    simulation.run().unwrap();
}

#[test]
fn a_forgotten_store_is_not_written() {
    let memory = Memory::new();
    let mut simulation = Simulation::new(buffered(4), 1);
    let stores = memory.clone();
    simulation.spawn(0, move || {
        stores.store(0, 1);
        stores.store(1, 1);
        forget(stores.at(0));
        fence();
        assert_eq!([0, 1].map(|word| stores.load(word)), [0, 1]);
    });
    simulation.run().unwrap();
}
