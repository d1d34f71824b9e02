//! Loops over a ring as people write them: two pinned threads that try, with one `spin_loop` after each failure.
//!
//! ```console
//! $ cargo run --release --manifest-path plain/Cargo.toml [ROUNDS]
//! $ cargo run --profile one-unit --manifest-path plain/Cargo.toml [ROUNDS]
//! ```
//!
//! Prints nanoseconds an item: the median over rounds, and the quartiles. In a round all rings are measured in
//! turns, after a flag's round trip between the two cores.

use std::hint::{black_box, spin_loop};
use std::ops::Add;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Instant;

use core_affinity::CoreId;
use corelane::{SingleProducer, WriteChunkUninit, lamport, spsc};

/// Items of a measurement.
const ITEMS: usize = 1 << 22;
/// Items of a block.
const BLOCK: usize = 1024;

/// Runs both sides, each on a core. Nanoseconds an item from the first side's start to the second side's end.
fn run(send: impl FnOnce() + Send, receive: impl FnOnce() + Send) -> f64 {
    let (barrier, (times, results)) = (&Barrier::new(2), mpsc::channel());
    thread::scope(|s| {
        let started = times.clone();
        s.spawn(move || {
            core_affinity::set_for_current(CoreId { id: 0 });
            barrier.wait();
            started.send(Instant::now()).expect("main waits");
            send();
        });
        s.spawn(move || {
            core_affinity::set_for_current(CoreId { id: 1 });
            barrier.wait();
            receive();
            times.send(Instant::now()).expect("main waits");
        });
    });
    let (a, b) = (results.recv().expect("it was sent"), results.recv().expect("it was sent"));
    a.max(b).duration_since(a.min(b)).as_nanos() as f64 / ITEMS as f64
}

fn check(sum: u64) {
    let items = ITEMS as u64;
    assert_eq!(sum, items * (items - 1) / 2, "items were lost or changed");
}

/// Handles that the loops own.
macro_rules! in_loops {
    ($open:expr, $push:ident, $pop:ident) => {{
        let (mut tx, mut rx) = $open;
        let send = move || {
            for item in 0..ITEMS as u64 {
                while tx.$push(item).is_err() {
                    spin_loop();
                }
            }
        };
        let receive = move || {
            let mut sum = 0;
            for _ in 0..ITEMS {
                sum += loop {
                    match rx.$pop() {
                        Ok(item) => break item,
                        Err(_) => spin_loop(),
                    }
                };
            }
            check(sum);
        };
        run(send, receive)
    }};
}

/// Handles in a field of a struct, whose methods aren't inlined.
macro_rules! in_fields {
    ($open:expr, $tx:ty, $push:ident, $rx:ty, $pop:ident) => {{
        struct Sends {
            tx: $tx,
            sent: u64,
        }
        impl Sends {
            #[inline(never)]
            fn send(&mut self, item: u64) -> bool {
                let is_sent = self.tx.$push(item).is_ok();
                self.sent += u64::from(is_sent);
                is_sent
            }
        }
        struct Receives {
            rx: $rx,
            received: u64,
        }
        impl Receives {
            #[inline(never)]
            fn receive(&mut self) -> Option<u64> {
                let item = self.rx.$pop().ok();
                self.received += u64::from(item.is_some());
                item
            }
        }
        let (tx, rx) = $open;
        let (mut sends, mut receives) = (Sends { tx, sent: 0 }, Receives { rx, received: 0 });
        let send = move || {
            for item in 0..ITEMS as u64 {
                while !sends.send(item) {
                    spin_loop();
                }
            }
            black_box(sends.sent);
        };
        let receive = move || {
            let mut sum = 0;
            for _ in 0..ITEMS {
                sum += loop {
                    match receives.receive() {
                        Some(item) => break item,
                        None => spin_loop(),
                    }
                };
            }
            black_box(receives.received);
            check(sum);
        };
        run(send, receive)
    }};
}

/// Pushes a chunk of a ring of corelane.
///
/// # Safety
///
/// All `BLOCK` slots of the chunk have been written.
unsafe fn commit<P: SingleProducer>(chunk: WriteChunkUninit<'_, P>) {
    // SAFETY: the caller's contract.
    unsafe { chunk.commit(BLOCK) }
}

/// The same of rtrb.
///
/// # Safety
///
/// As for [`commit`].
unsafe fn commit_rtrb<T>(chunk: rtrb::chunks::WriteChunkUninit<'_, T>) {
    // SAFETY: the caller's contract.
    unsafe { chunk.commit_all() }
}

/// Blocks of 1024 items, filled and read in the slices that the ring lends. `$commit` pushes a chunk.
macro_rules! in_blocks {
    ($item:ty, $open:expr, $commit:expr) => {{
        let (mut tx, mut rx) = $open;
        let block: Vec<$item> = (0..BLOCK).map(|item| item as $item).collect();
        let send = move || {
            for _ in 0..ITEMS / BLOCK {
                let mut chunk = loop {
                    match tx.write_chunk_uninit(BLOCK) {
                        Ok(chunk) if chunk.len() == BLOCK => break chunk,
                        _ => spin_loop(),
                    }
                };
                let (first, second) = chunk.as_mut_slices();
                for (slot, item) in first.iter_mut().chain(second).zip(&block) {
                    slot.write(*item);
                }
                // SAFETY: the chunk has `BLOCK` slots, as the block has items, and all have been written.
                unsafe { $commit(chunk) };
            }
        };
        let receive = move || {
            for _ in 0..ITEMS / BLOCK {
                let chunk = loop {
                    match rx.read_chunk(BLOCK) {
                        Ok(chunk) if chunk.len() == BLOCK => break chunk,
                        _ => spin_loop(),
                    }
                };
                let (first, second) = chunk.as_slices();
                assert_eq!(first[0], 0 as $item, "a block was lost or torn");
                black_box([first, second].map(sum::<$item>));
                chunk.commit_all();
            }
        };
        run(send, receive)
    }};
}

/// In eight lanes, so that it isn't a chain of additions.
fn sum<T: Copy + Default + Add<Output = T>>(items: &[T]) -> [T; 8] {
    let mut sums = [T::default(); 8];
    for eight in items.chunks_exact(8) {
        for (sum, item) in sums.iter_mut().zip(eight) {
            *sum = *sum + *item;
        }
    }
    sums
}

/// A flag that goes to the other core and comes back.
fn round_trip() -> f64 {
    #[repr(align(128))]
    struct Flag(AtomicU64);
    let (there, back) = (&Flag(AtomicU64::new(0)), &Flag(AtomicU64::new(0)));
    let wait = |flag: &Flag, turn| {
        while flag.0.load(Ordering::Acquire) != turn {
            spin_loop();
        }
    };
    let turns = 1..=ITEMS as u64 / 64;
    let of_all = run(
        || {
            for turn in turns.clone() {
                there.0.store(turn, Ordering::Release);
                wait(back, turn);
            }
        },
        || {
            for turn in turns.clone() {
                wait(there, turn);
                back.0.store(turn, Ordering::Release);
            }
        },
    );
    of_all * 64.0
}

/// What is measured, and how.
type Row = (&'static str, fn() -> f64);

const ROWS: &[Row] = &[
    ("round trip of a flag", round_trip),
    ("loop: linering", || in_loops!(spsc::queue(4096).unwrap(), try_push, try_pop)),
    ("loop: rtrb", || in_loops!(rtrb::RingBuffer::new(4096), push, pop)),
    ("field: linering", || {
        in_fields!(
            spsc::queue(4096).unwrap(),
            spsc::Producer<u64>,
            try_push,
            spsc::Consumer<u64>,
            try_pop
        )
    }),
    ("field: rtrb", || {
        in_fields!(rtrb::RingBuffer::new(4096), rtrb::Producer<u64>, push, rtrb::Consumer<u64>, pop)
    }),
    ("blocks of u64: linering", || in_blocks!(u64, spsc::queue(8192).unwrap(), commit)),
    ("blocks of u64: blq", || in_blocks!(u64, lamport::batched::queue(8192).unwrap(), commit)),
    ("blocks of u64: rtrb", || in_blocks!(u64, rtrb::RingBuffer::new(8192), commit_rtrb)),
    ("blocks of f32: linering", || in_blocks!(f32, spsc::queue(8192).unwrap(), commit)),
    ("blocks of f32: blq", || in_blocks!(f32, lamport::batched::queue(8192).unwrap(), commit)),
    ("blocks of f32: rtrb", || in_blocks!(f32, rtrb::RingBuffer::new(8192), commit_rtrb)),
];

fn main() {
    let rounds = std::env::args().nth(1).map_or(9, |rounds| {
        rounds.parse().ok().filter(|rounds| *rounds > 0).unwrap_or_else(|| {
            eprintln!("error: {rounds} is no number of rounds: give one from 1 on");
            std::process::exit(2)
        })
    });
    let mut all = vec![Vec::new(); ROWS.len()];
    for _ in 0..rounds {
        for ((_, measure), times) in ROWS.iter().zip(&mut all) {
            times.push(measure());
        }
    }
    println!("| ns | median | quartiles |\n|---|--:|--:|");
    for ((name, _), times) in ROWS.iter().zip(&mut all) {
        times.sort_by(f64::total_cmp);
        let at = |quarter: usize| times[quarter * (rounds - 1) / 4];
        println!("| {name} | {:.2} | {:.2}–{:.2} |", at(2), at(1), at(3));
    }
}
