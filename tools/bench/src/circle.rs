//! Threads in a circle, each of which copies what it gets and passes it on: the micro-kernel of paper 4, §5. A circle here,
//! as `ring` is a queue.
//!
//! The first thread sends messages and takes them back when they have been everywhere. Every other thread
//! checks what it gets, copies it into memory of its own, frees the original and passes the copy on.

use std::time::{Duration, Instant};

use corelane::{Consumer, Producer, Queue};

use crate::goods::Goods;
use crate::pair::{self, Task, Wait};
use crate::params::{CircleSetting, Length, Params, Trial};

/// Fewest messages that warm up caches, branch predictors and adaptive queues.
const WARM_UP: u64 = 5_000;

/// Nanoseconds per message that was everywhere, or how many were not what they should have been.
pub(crate) fn measure<T: Goods, Q: Queue<T>>(
    trial: &Trial<'_>,
    circle: &CircleSetting,
) -> Result<f64, u64> {
    let params = trial.params;
    let open = |_| Q::with(params.config()).expect("tried before the first round");
    let (mut senders, receivers): (Vec<_>, Vec<_>) = (0..circle.threads).map(open).unzip();
    // Each thread gets from the one before it, and the first from the last.
    senders.rotate_left(1);
    let mut seats = senders.into_iter().zip(receivers).zip(trial.cores.iter().cycle());
    let ((tx, rx), &first) = seats.next().expect("two threads at least");
    let (mut led, mut passed) = ((f64::NAN, 0), vec![0; circle.threads]);
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for (((tx, rx), &core), wrong) in seats.zip(&mut passed) {
        tasks.push((core, Box::new(move || *wrong = pass_on(tx, rx, params.wait))));
    }
    tasks.push((first, Box::new(|| led = lead(tx, rx, trial.length, (params, circle.in_flight)))));
    pair::all(tasks);
    // All threads behind a message that is wrong see it.
    let (ns, wrong) = (led.0, passed.into_iter().fold(led.1, u64::max));
    if wrong == 0 { Ok(ns) } else { Err(wrong) }
}

/// The first thread: nanoseconds per message, and the number of wrong ones.
fn lead<T, R>(tx: T, rx: R, length: Length, (params, in_flight): (&Params, u64)) -> (f64, u64)
where
    T: Producer<Item: Goods>,
    R: Consumer<Item = T::Item>,
{
    // Every slot was used, and there was memory for all that is under way.
    let warm_up = length.warm_up(WARM_UP.max(params.capacity as u64).max(in_flight));
    let (tx, rx, warmed) = send_round(tx, rx, (0, warm_up), in_flight, params.wait);
    let items = length.items(warm_up, warmed.time);
    let (mut tx, mut rx, measured) = send_round(tx, rx, (warm_up, items), in_flight, params.wait);
    send(&mut tx, T::Item::pack(LAST), params.wait);
    // SAFETY: it was packed by the thread before, and has come out here.
    let last = unsafe { params.wait.until(|| rx.try_pop().ok()).unpack() };
    let wrong = warmed.wrong + measured.wrong + u64::from(last != LAST);
    (measured.time.as_nanos() as f64 / items as f64, wrong)
}

/// Number of the message after which nothing follows.
const LAST: u64 = 0;

/// How a number of messages went round.
struct Lap {
    time: Duration,
    wrong: u64,
}

/// Sends messages number `done + 1` to `done + items` round, with so many under way at most.
///
/// The handles belong to the loop, as to a thread that was given them: behind references the compiler would
/// have to keep their fields in memory.
#[inline(never)]
fn send_round<T, R>(
    mut tx: T,
    mut rx: R,
    (done, items): (u64, u64),
    in_flight: u64,
    wait: Wait,
) -> (T, R, Lap)
where
    T: Producer<Item: Goods>,
    R: Consumer<Item = T::Item>,
{
    let start = Instant::now();
    let (mut sent, mut back, mut wrong) = (0, 0, 0);
    let (mut next, mut is_flushed) = (None, true);
    while back < items {
        let is_time = sent < items && sent - back < in_flight;
        if is_time {
            // One that found no room waits here: who waited there would never take any back.
            let message = next.take().unwrap_or_else(|| T::Item::pack(done + sent + 1));
            if tx.try_push(message).is_ok() {
                (sent, is_flushed) = (sent + 1, false);
            } else {
                next = Some(message);
            }
        }
        if let Ok(message) = rx.try_pop() {
            back += 1;
            // SAFETY: it was packed by the thread before, and has come out here.
            wrong += u64::from(unsafe { message.unpack() } != done + back);
        } else if !is_time || next.is_some() {
            // Once: it takes a line away from the next thread.
            if !is_flushed {
                tx.flush();
                is_flushed = true;
            }
            wait.pause();
        }
    }
    (tx, rx, Lap { time: start.elapsed(), wrong })
}

/// Every other thread. Returns the number of wrong messages.
fn pass_on<T, R>(mut tx: T, mut rx: R, wait: Wait) -> u64
where
    T: Producer<Item: Goods>,
    R: Consumer<Item = T::Item>,
{
    let (mut passed, mut wrong) = (0, 0);
    loop {
        let message = rx.try_pop().unwrap_or_else(|_| {
            // Nobody may wait for what waits here.
            tx.flush();
            wait.until(|| rx.try_pop().ok())
        });
        // The copy is made before the original is freed, or it would lie in the same place.
        // SAFETY: it was packed by the thread before, and has come out here.
        let (copy, number) = unsafe { (message.duplicate(), message.unpack()) };
        if number == LAST {
            send(&mut tx, copy, wait);
            return wrong;
        }
        passed += 1;
        wrong += u64::from(number != passed);
        wait.until(|| tx.try_push(copy).ok());
    }
}

/// Pushes and makes visible at once, also where publication is delayed.
fn send<T: Producer<Item: Copy>>(tx: &mut T, item: T::Item, wait: Wait) {
    wait.until(|| tx.try_push(item).ok());
    tx.flush();
}
