//! `lane bench ring`: threads in a ring, each of which copies a message and passes the copy on: the
//! micro-kernel of paper 4, §5.
//!
//! The first thread sends messages and takes them back after they have passed all threads. Every
//! other thread checks a message, copies it into memory of its own, frees the original and passes
//! the copy on.

mod args;
mod plan;
mod setting;

use std::hint::black_box;
use std::time::Instant;

use corelane::{Consumer, Producer, Queue};

pub use self::args::RingArgs;
pub(crate) use self::setting::RingSetting;
use crate::params::Trial;
use crate::payload::{NO_POOL, Payload};
use crate::sample::Sample;
use crate::threads::{self, Task, Wait};

/// Fewest messages that warm up caches, branch predictors and adaptive queues.
const WARM_UP: u64 = 5_000;

/// Measures a queue between threads in a ring.
pub(crate) type RingKernel = fn(&Trial<'_>, &RingSetting) -> Sample;

/// Nanoseconds per message that has passed all threads.
pub(crate) fn measure<T: Payload, Q: Queue<T>>(trial: &Trial<'_>, ring: &RingSetting) -> Sample {
    let open = |_| trial.open::<T, Q>();
    let (mut senders, receivers): (Vec<_>, Vec<_>) = (0..ring.threads).map(open).unzip();
    // Each thread receives from the previous thread, and the first from the last.
    senders.rotate_left(1);
    let mut tasks: Vec<Task<'_, (f64, u64)>> = Vec::new();
    for ((tx, rx), &core) in senders.into_iter().zip(receivers).zip(trial.cores.iter().cycle()) {
        tasks.push(match tasks.is_empty() {
            // Boxes of tasks may share lines. So each handle moves to the stack of its thread.
            true => {
                let in_flight = ring.in_flight;
                (Some(core), Box::new(move || lead(black_box(tx), black_box(rx), trial, in_flight)))
            }
            false => {
                let wait = trial.params.wait;
                (Some(core), Box::new(move || (0.0, pass_on(black_box(tx), black_box(rx), wait))))
            }
        });
    }
    // The first thread starts after the others.
    tasks.rotate_left(1);
    let reports = threads::all(tasks, &|| ());
    // All threads after a wrong message count it.
    let wrong = reports.iter().map(|report| report.1).max().unwrap_or(0);
    // Only the first thread has measured a time.
    Sample { wrong, ..Sample::of(reports.iter().map(|report| report.0).sum()) }
}

/// The first thread. Returns nanoseconds per message, and the number of wrong messages.
fn lead<T, R>(tx: T, rx: R, trial: &Trial<'_>, in_flight: u64) -> (f64, u64)
where
    T: Producer<Item: Payload>,
    R: Consumer<Item = T::Item>,
{
    let (length, wait) = (trial.length, trial.params.wait);
    // After the warm-up every slot was used, and all messages under way have had memory.
    let warm_up = length.warm_up(WARM_UP.max(trial.params.capacity as u64).max(in_flight));
    let start = Instant::now();
    let (tx, rx, warmed) = send_round(tx, rx, (0, warm_up), in_flight, wait);
    let items = length.items(warm_up, start.elapsed());
    let start = Instant::now();
    let (mut tx, mut rx, wrong) = send_round(tx, rx, (warm_up, items), in_flight, wait);
    let time = start.elapsed();
    wait.send(&mut tx, T::Item::make(NO_POOL, LAST));
    // SAFETY: the previous thread made the message, and it was popped here.
    let last = unsafe { wait.until(|| rx.try_pop().ok()).take() };
    (time.as_nanos() as f64 / items as f64, warmed + wrong + u64::from(last != LAST))
}

/// Number of the last message.
const LAST: u64 = 0;

/// Sends messages number `done + 1` to `done + items` through the ring, with at most `in_flight`
/// under way. Returns the number of wrong messages.
///
/// Owns the handles, as a thread does: behind references the compiler would have to keep their
/// fields in memory.
#[inline(never)]
fn send_round<T, R>(
    mut tx: T,
    mut rx: R,
    (done, items): (u64, u64),
    in_flight: u64,
    wait: Wait,
) -> (T, R, u64)
where
    T: Producer<Item: Payload>,
    R: Consumer<Item = T::Item>,
{
    let (mut sent, mut back, mut wrong) = (0, 0, 0);
    let (mut next, mut is_flushed, mut failed) = (None, true, 0);
    while back < items {
        let is_time = sent < items && sent - back < in_flight;
        if is_time {
            // A message that found no room is kept: while this thread waited for room, it would
            // take no message back.
            let message = next.take().unwrap_or_else(|| T::Item::make(NO_POOL, done + sent + 1));
            if tx.try_push(message).is_ok() {
                (sent, is_flushed) = (sent + 1, false);
            } else {
                next = Some(message);
            }
        }
        if let Ok(message) = rx.try_pop() {
            (back, failed) = (back + 1, 0);
            // SAFETY: as in `lead`.
            wrong += u64::from(unsafe { message.take() } != done + back);
        } else if !is_time || next.is_some() {
            // Only once: a flush takes a line away from the next thread.
            if !is_flushed {
                tx.flush();
                is_flushed = true;
            }
            wait.pause(&mut failed);
        }
    }
    (tx, rx, wrong)
}

/// Every other thread. Returns the number of wrong messages.
fn pass_on<T, R>(mut tx: T, mut rx: R, wait: Wait) -> u64
where
    T: Producer<Item: Payload>,
    R: Consumer<Item = T::Item>,
{
    let (mut passed, mut wrong) = (0, 0);
    loop {
        let message = rx.try_pop().unwrap_or_else(|_| {
            // The next thread may be waiting for messages that are not visible yet.
            tx.flush();
            wait.until(|| rx.try_pop().ok())
        });
        // SAFETY: as in `lead`.
        let number = unsafe { message.read() };
        // The copy is made before the original is freed. Otherwise it would have the same address.
        let copy = T::Item::make(NO_POOL, number);
        // SAFETY: as in `lead`.
        unsafe { message.free() };
        if number == LAST {
            wait.send(&mut tx, copy);
            return wrong;
        }
        passed += 1;
        wrong += u64::from(number != passed);
        wait.until(|| tx.try_push(copy).ok());
    }
}
