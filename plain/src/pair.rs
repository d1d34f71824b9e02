//! Threads on cores that start together, and a flag's round trip between the first two cores.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use core_affinity::CoreId;

/// Items of the warm-up and of the measurement between two threads.
pub const PARTS: [u64; 2] = [50_000, 1 << 21];

/// Where threads meet.
pub struct Gate {
    arrived: AtomicUsize,
    threads: usize,
}

impl Gate {
    pub fn of(threads: usize) -> Self {
        Self { arrived: AtomicUsize::new(0), threads }
    }

    /// Returns when all threads are here. `wait` is called until then.
    pub fn meet(&self, wait: impl Fn()) {
        let arrived = self.arrived.fetch_add(1, Ordering::AcqRel) + 1;
        let complete = arrived.next_multiple_of(self.threads);
        while self.arrived.load(Ordering::Acquire) < complete {
            wait();
        }
    }
}

/// Binds this thread to a core.
pub fn pin(core: usize) {
    assert!(core_affinity::set_for_current(CoreId { id: core }), "there is no core {core}");
}

/// Runs both sides, each on a core; they begin each part at the gate. `send` returns when the last
/// part began, and `receive` when it ended. Nanoseconds of this part.
pub fn run(
    send: impl FnOnce(&Gate) -> Instant + Send,
    receive: impl FnOnce(&Gate) -> Instant + Send,
) -> f64 {
    let gate = &Gate::of(2);
    let time = thread::scope(|scope| {
        let receives = scope.spawn(move || {
            pin(1);
            receive(gate)
        });
        let sends = scope.spawn(move || {
            pin(0);
            send(gate)
        });
        let begin = sends.join().expect("it sends all items");
        receives.join().expect("it receives all items").duration_since(begin)
    });
    nanoseconds(time)
}

pub fn nanoseconds(time: Duration) -> f64 {
    time.as_nanos() as f64
}

/// Nanoseconds in which a flag goes to the other core and comes back.
pub fn round_trip() -> f64 {
    #[repr(align(128))]
    struct Flag(AtomicU64);
    const TURNS: u64 = 1 << 15;
    let (there, back) = (&Flag(AtomicU64::new(0)), &Flag(AtomicU64::new(0)));
    let wait = |flag: &Flag, turn| {
        while flag.0.load(Ordering::Acquire) != turn {
            spin_loop();
        }
    };
    let time = run(
        |gate| {
            gate.meet(spin_loop);
            let begin = Instant::now();
            for turn in 1..=TURNS {
                there.0.store(turn, Ordering::Release);
                wait(back, turn);
            }
            begin
        },
        |gate| {
            gate.meet(spin_loop);
            for turn in 1..=TURNS {
                wait(there, turn);
                back.0.store(turn, Ordering::Release);
            }
            Instant::now()
        },
    );
    time / TURNS as f64
}
