//! Memory and machine of the tests: words on pages of their own, and round costs.

use std::cell::{Cell, UnsafeCell};
use std::rc::Rc;

use coherence::{
    Costs, Machine, Protocol, Report, Simulation, StoreBuffer, Time, Topology, load, now, rmw,
    store, work,
};

/// Words of a line.
pub const LINE: usize = 8;

/// Two sockets of two L3 with two cores of two threads, without store buffers and prefetchers.
pub fn machine() -> Machine {
    let (sockets, l3_per_socket, cores_per_l3, threads_per_core) = (2, 2, 2, 2);
    Machine {
        topology: Topology { sockets, l3_per_socket, cores_per_l3, threads_per_core },
        costs: Costs {
            hit: Time::ns(1),
            store: Time::ns(2),
            rmw: Time::ns(10),
            fence: Time::ns(5),
            pause: Time::ns(3),
            l3: Time::ns(20),
            same_l3: Time::ns(50),
            same_socket: Time::ns(100),
            other_socket: Time::ns(300),
            memory: Time::ns(200),
        },
        protocol: Protocol::Mesi,
        store_buffer: StoreBuffer { entries: 0, early_ownership: false },
        lookahead: 0,
        work_per_access: Time::ns(1),
        fills: 2,
        pair_prefetcher: false,
        line: 64,
        private_cache: None,
        patience: Time::ns(100_000),
    }
}

/// The same with a store buffer.
pub fn buffered(entries: usize) -> Machine {
    Machine { store_buffer: StoreBuffer { entries, early_ownership: false }, ..machine() }
}

/// Four pages.
#[derive(Debug)]
#[repr(align(4096))]
pub struct Memory([UnsafeCell<u64>; 2048]);

impl Memory {
    pub fn new() -> Rc<Self> {
        Rc::new(Self(std::array::from_fn(|_| UnsafeCell::new(0))))
    }

    pub fn at(&self, word: usize) -> *mut u64 {
        self.0[word].get()
    }

    #[track_caller]
    pub fn load(&self, word: usize) -> u64 {
        // SAFETY: each user keeps the words alive, and they belong to one host thread.
        unsafe { load(self.at(word)) }
    }

    #[track_caller]
    pub fn store(&self, word: usize, value: u64) {
        // SAFETY: as in `load`; tests hold the words until the run ends.
        unsafe { store(self.at(word), value) }
    }

    #[track_caller]
    pub fn add(&self, word: usize, value: u64) -> u64 {
        // SAFETY: as in `load`.
        unsafe { rmw(self.at(word), |old| Some(old + value)) }
    }

    #[track_caller]
    pub fn compare_exchange(&self, word: usize, from: u64, to: u64) -> bool {
        // SAFETY: as in `load`.
        unsafe { rmw(self.at(word), |old| (old == from).then_some(to)) == from }
    }
}

/// Works until this time.
pub fn until(ns: u64) {
    work(Time::ns(ns) - now());
}

/// How long `what` takes the calling thread.
pub fn took(what: impl FnOnce()) -> u64 {
    let start = now();
    what();
    (now() - start).as_ps() / 1000
}

/// A cell for a thread's result.
pub type Shared<T> = Rc<Cell<T>>;

/// Runs the same thread on each of `cores`, with the core's number.
pub fn run_on(
    machine: Machine,
    seed: u64,
    cores: usize,
    thread: impl Fn(usize) + Clone + 'static,
) -> Report {
    let mut simulation = Simulation::new(machine, seed);
    for core in 0..cores {
        let thread = thread.clone();
        simulation.spawn(core, move || thread(core));
    }
    simulation.run().expect("all threads end")
}
