//! The costs of sharing: contention, false sharing, and a ring.

use coherence::{Counters, Machine, Simulation, Time, Topology, pause, read, write};

use crate::memory::{LINE, Memory, machine, run_on};

#[test]
fn contention_queues_up() {
    let memory = Memory::new();
    let report = run_on(machine(), 1, 2, move |_| {
        memory.add(0, 1);
    });
    assert_eq!(report.time, Time::ns(210 + 60));
    let stalls = report.cores.iter().map(|core| core.total.stall).sum::<Time>();
    assert_eq!(stalls, Time::ns(200 + 260));
}

#[test]
fn contention_queues_up_on_many_cores() {
    let one_l3 = |cores| {
        let mut machine = machine();
        machine.topology =
            Topology { sockets: 1, l3_per_socket: 1, cores_per_l3: cores, threads_per_core: 1 };
        let memory = Memory::new();
        run_on(machine, 1, cores, move |_| {
            memory.add(0, 1);
        })
    };
    for cores in [1, 3, 8, 32] {
        assert_eq!(one_l3(cores).time, Time::ns(210 + 60 * (cores as u64 - 1)));
    }
}

#[test]
fn clean_copies_are_handed_out_side_by_side() {
    let mut machine = machine();
    machine.topology.cores_per_l3 = 8;
    let memory = Memory::new();
    // The line comes from memory, then from its owner, and then to all others in parallel from the
    // L3.
    let report = run_on(machine, 1, 8, move |_| {
        memory.load(0);
    });
    assert_eq!(report.time, Time::ns(200 + 50 + 20));
}

/// Two cores that each count in a word of their own, `apart` words from each other.
fn counters(apart: usize) -> [Counters; 2] {
    let memory = Memory::new();
    let report = run_on(machine(), 1, 2, move |core| {
        for _ in 0..1000 {
            memory.add(core * apart, 1);
        }
    });
    [report.cores[0].total, report.cores[1].total]
}

#[test]
fn false_sharing_costs_a_miss_per_access() {
    for total in counters(1) {
        assert_eq!((total.write_misses, total.hits), (1000, 0));
    }
}

#[test]
fn padding_avoids_false_sharing() {
    for total in counters(LINE) {
        assert_eq!((total.write_misses, total.hits), (1, 999));
    }
}

/// Lamport's ring: two counters and the slots between them.
const WRITE: usize = 0;
const READ: usize = 2 * LINE;
const SLOTS: usize = 4 * LINE;
const CAPACITY: u64 = 256;

fn slot(position: u64) -> usize {
    SLOTS + (position % CAPACITY) as usize
}

fn produce(ring: &Memory, items: u64) {
    for _ in 0..items {
        let write_at = ring.load(WRITE);
        while write_at - ring.load(READ) == CAPACITY {
            pause(1);
        }
        write(ring.at(slot(write_at)), 8);
        // SAFETY: the slot is free.
        unsafe { ring.at(slot(write_at)).write(write_at) };
        ring.store(WRITE, write_at + 1);
    }
}

fn consume(ring: &Memory, items: u64) {
    for item in 0..items {
        let read_at = ring.load(READ);
        while ring.load(WRITE) == read_at {
            pause(1);
        }
        read(ring.at(slot(read_at)), 8);
        // SAFETY: the slot is full.
        assert_eq!(unsafe { ring.at(slot(read_at)).read() }, item);
        ring.store(READ, read_at + 1);
    }
}

/// Misses of the producer on core 0 and a consumer.
fn misses(machine: Machine, consumer: usize, items: u64) -> [u64; 2] {
    let ring = Memory::new();
    let mut simulation = Simulation::new(machine, 1);
    let tx = ring.clone();
    simulation.spawn(0, move || produce(&tx, items));
    simulation.spawn(consumer, move || consume(&ring, items));
    let report = simulation.run().expect("all items come through");
    [0, consumer].map(|core| report.core(core).unwrap().total.misses())
}

/// Maffione, Lettieri, Rizzo, Table 1: in the worst case Lamport's queue costs each side three
/// misses per item. The first round over the slots is left out.
#[test]
fn lamport_costs_three_misses_per_item_and_side() {
    let items = 100 * CAPACITY;
    for (machine, consumer) in
        [(machine(), 1), (Machine::i7().counting(), 1), (Machine::xeon40().counting(), 10)]
    {
        let short = misses(machine.clone(), consumer, CAPACITY);
        let long = misses(machine, consumer, CAPACITY + items);
        assert_eq!([0, 1].map(|side| long[side] - short[side]), [3 * items; 2]);
    }
}

#[test]
fn real_machines_overlap_stores() {
    let [producer, _] = misses(Machine::xeon40(), 10, 10_000);
    assert!(producer <= 3 * 10_000 + 100, "{producer}");
}
