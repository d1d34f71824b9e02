//! `mcring-sane`: MCRingBuffer with a timer that tells the producer to flush.
//!
//! The authors of B-Queue tried several remedies for the deadlock of [`mcring`](crate::mc_ring).
//! This is their third: a timer sets a variable; each push reads the variable, and flushes if it is
//! set. A producer that has stopped pushing doesn't flush, as their §2.6 shows. And the shared
//! variable has a cost.
//!
#![doc = advice!(literature mcring_sane)]
//!
//! [`bqueue`](crate::b_queue) needs no timer.
//!
//! | | |
//! |---|---|
//! | guarantee | wait-free, first in first out; an item is visible after its batch, a flush, or the next push that finds the timer fired |
//! | capacity | N − B + 1, as `mcring` |
//! | period | 10 µs as in the paper, or as often as the operating system wakes a sleeping thread |
//! | paper | Wang, Zhang, Tang, Hua: *B-Queue*, §2.6 (3), §5.3 |
//!
//! Each queue has a timer thread of its own. This thread ends within a period after the producer is
//! dropped.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use crate::mc_ring;
pub use crate::mc_ring::Consumer;
use crate::memory::{AtomicBool, Ordering};
use crate::pad::Padded;
use crate::queue::{
    self, CapacityError, Config, Info, LentSlots, TryPushError, answered_by, handles, queue_type,
};

/// Time from one flush to the next.
const PERIOD: Duration = Duration::from_micros(10);

/// A queue for at least `capacity` items, and its timer.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
///
/// # Panics
///
/// If the timer's thread can't be started.
pub fn queue<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
///
/// # Panics
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    let (ring, consumer) = mc_ring::queue_with(config)?;
    let due = Arc::new(Padded(AtomicBool::new(false)));
    let timer = Arc::downgrade(&due);
    thread::Builder::new()
        .name("mcring-sane".into())
        .spawn(move || tick(&timer))
        .expect("a thread for the timer");
    Ok((Producer { ring, due }, consumer))
}

/// Sets the variable once in each period until the producer is dropped.
fn tick(due: &Weak<Padded<AtomicBool>>) {
    while let Some(due) = due.upgrade() {
        // Relaxed: a hint to flush soon, which orders nothing.
        due.store(true, Ordering::Relaxed);
        drop(due);
        thread::sleep(PERIOD);
    }
}

/// The sending side.
pub struct Producer<T> {
    ring: mc_ring::Producer<T>,
    due: Arc<Padded<AtomicBool>>,
}

impl<T> Producer<T> {
    /// Flushes if the timer has fired since the last flush.
    #[inline]
    fn flush_if_due(&mut self) {
        // Relaxed: see `tick`. If this overwrites a later tick, the flush below serves that tick
        // too.
        if self.due.load(Ordering::Relaxed) {
            self.due.store(false, Ordering::Relaxed);
            self.ring.flush();
        }
    }
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let result = self.ring.try_push(item);
        self.flush_if_due();
        result
    }

    answered_by!(handle: ring);
    answered_by!(lent: slots);

    fn flush(&mut self) {
        self.ring.flush();
    }
}

impl<T> queue::LendSlots for Producer<T> {
    fn free_up_to(&mut self, wanted: usize) -> usize {
        self.ring.free_slots(wanted)
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, T> {
        // SAFETY: the caller's contract.
        unsafe { self.ring.lend(n) }
    }

    unsafe fn publish(&mut self, n: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.ring.publish(n) };
        self.flush_if_due();
    }
}

handles! {
    [T] Producer<T>: single_producer of T;
}

queue_type!(McRingSane of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "mcring-sane",
    name: "MCRingBuffer with a timer",
    paper: "Wang, Zhang, Tang, Hua 2012, §2.6 (3)",
    guarantee: "wait-free FIFO; an item is visible after its batch, a flush or a timer tick",
    delayed: true,
    choose: advice!(choose mcring_sane),
    avoid: advice!(avoid mcring_sane),
    ..Info::RING
});
