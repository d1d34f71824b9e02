//! `locked`: a ring behind a lock, as in every textbook.
//!
//! One lock guards two indices. A thread that holds the lock pushes or pops. A producer that finds
//! no room, or a consumer that finds no item, may return, or sleep until there is one. The thread
//! sleeps on one of two condition variables. The other side notifies this variable if a thread
//! waits.
//!
#![doc = advice!(literature locked)]
//!
//! A thread that waits for an item or for room sleeps. A call that finds the lock taken waits for
//! it, and may sleep in the operating system: even the `try_` calls.
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free, first in first out (linearizable) |
//! | capacity | N, the number of slots: as asked, rounded up to a power of two; or [exactly](Config::exact) as asked |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | operations | a call takes the lock once, even [`push_slice`](crate::Producer::push_slice) and [`pop_slice`](crate::Consumer::pop_slice) |
//! | paper | none; monitors are from C. A. R. Hoare: *Monitors: An Operating System Structuring Concept*, CACM 17(10), 1974, whose §4 is a bounded buffer |
//!
//! Besides the calls of all queues, a [`Producer`] has [`push`](Producer::push) and a [`Consumer`]
//! has [`pop`](Consumer::pop): these calls wait. Both kinds of calls can be mixed, on the same
//! queue and on the same handle.
//!
//! ```
//! use corelane::locked;
//!
//! let (mut tx, mut rx) = locked::queue(2)?;
//! let thread = std::thread::spawn(move || {
//!     let mut sum = 0;
//!     while let Ok(item) = rx.pop() {
//!         sum += item;
//!     }
//!     sum
//! });
//! for item in 1..=100 {
//!     tx.push(item)?;
//! }
//! drop(tx);
//! assert_eq!(thread.join().unwrap(), 5050);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::fmt;
use core::marker::PhantomData;

use crate::memory::{Cells, Condvar, Mutex, MutexGuard};
use crate::pad::Padded;
use crate::queue::config::ConfigOption;
use crate::queue::{
    self, Backing, CapacityError, Config, Info, Producer as _, Sides, TryPopError, TryPushError,
    full, handles, queue_type,
};
use crate::region::{End, State, ends, slots_for};
use crate::unwind::drop_each;

/// What the lock guards. Positions from `read` to `write` hold items.
#[derive(Debug)]
struct Indices {
    write: u64,
    read: u64,
    producers: Crowd,
    consumers: Crowd,
}

/// The handles and the waiting threads of one side.
#[derive(Debug)]
struct Crowd {
    /// Number of handles.
    handles: u64,
    /// Number of threads that sleep, or have been notified and don't run yet.
    waiting: u64,
}

impl Indices {
    #[inline]
    fn len(&self) -> usize {
        self.write.wrapping_sub(self.read) as usize
    }
}

/// All of it, except the condition variables, is accessed under the lock.
#[derive(Debug)]
#[repr(C)]
struct Header<T> {
    indices: Padded<Mutex<Indices>>,
    /// Producers wait for it.
    not_full: Padded<Condvar>,
    /// Consumers wait for it.
    not_empty: Padded<Condvar>,
    items: PhantomData<T>,
}

impl<T> Header<T> {
    fn new(first: u64) -> Self {
        let crowd = || Crowd { handles: 1, waiting: 0 };
        let (producers, consumers) = (crowd(), crowd());
        let indices = Mutex::new(Indices { write: first, read: first, producers, consumers });
        let condvar = || Padded(Condvar::new());
        let (not_full, not_empty) = (condvar(), condvar());
        Self { indices: Padded(indices), not_full, not_empty, items: PhantomData }
    }
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Cells<T>;

    fn drop_items(&self, slots: &Cells<T>) {
        let indices = self.indices.lock();
        let (mut read, write) = (indices.read, indices.write);
        drop(indices);
        drop_each(|| {
            (read != write).then(|| {
                let position = read;
                read = read.wrapping_add(1);
                // SAFETY: the slot holds an item that was never popped; `read` moves past it.
                unsafe { slots.read(position) }
            })
        });
    }
}

/// Wakes one of the `waiting` threads if `n` is 1, and all of them if `n` items or slots are more.
#[inline]
fn wake(condvar: &Condvar, waiting: u64, n: usize) {
    match n {
        _ if waiting == 0 => {}
        0 => {}
        1 => condvar.notify_one(),
        _ => condvar.notify_all(),
    }
}

/// The error of a waiting call: all handles of the other side are gone.
///
/// The error of a push holds the item that was not pushed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Closed<T = ()>(T);

impl<T> Closed<T> {
    /// The item that was not pushed.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Closed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closed(..)")
    }
}

impl<T> fmt::Display for Closed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the other side of the queue is gone")
    }
}

impl<T> core::error::Error for Closed<T> {}

/// A queue for at least `capacity` items, between any number of threads on either side.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    config.only(&[ConfigOption::Exact])?;
    let len = slots_for::<Header<T>>(config.capacity, 0)?;
    let (tx, rx) = ends(config.memory, len, Header::new(config.first))?;
    let capacity = if config.exact { config.capacity } else { len };
    Ok((Producer { capacity, end: tx }, Consumer { capacity, end: rx }))
}

/// A sending side.
pub struct Producer<T> {
    /// N, or the capacity asked for if it is exact.
    capacity: usize,
    end: End<Header<T>>,
}

/// A receiving side.
pub struct Consumer<T> {
    /// See [`Producer`].
    capacity: usize,
    end: End<Header<T>>,
}

impl<T> Producer<T> {
    /// Appends `item`, and sleeps until there is room for it.
    ///
    /// # Errors
    ///
    /// [`Closed`] with the item if there is no room and all consumers are gone.
    pub fn push(&mut self, item: T) -> Result<(), Closed<T>> {
        let mut indices = self.lock();
        while indices.len() == self.capacity() {
            if indices.consumers.handles == 0 {
                return Err(Closed(item));
            }
            indices.producers.waiting += 1;
            indices = self.end.header().not_full.wait(indices);
            indices.producers.waiting -= 1;
        }
        self.put(&mut indices, item);
        self.leave(indices, 1);
        Ok(())
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Indices> {
        self.end.header().indices.lock()
    }

    /// Appends an item, for which there is room.
    #[inline]
    fn put(&self, indices: &mut Indices, item: T) {
        // SAFETY: fewer than N positions are full, so the slot is free; and this thread has the
        // lock.
        unsafe { self.end.slots().write(indices.write, item) };
        indices.write = indices.write.wrapping_add(1);
    }

    /// Gives the lock back, and notifies consumers of `n` new items.
    #[inline]
    fn leave(&self, indices: MutexGuard<'_, Indices>, n: usize) {
        let waiting = indices.consumers.waiting;
        drop(indices);
        wake(&self.end.header().not_empty, waiting, n);
    }
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let mut indices = self.lock();
        if indices.len() == self.capacity() {
            return Err(full(indices.consumers.handles == 0, item));
        }
        self.put(&mut indices, item);
        self.leave(indices, 1);
        Ok(())
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.capacity
    }

    fn len(&mut self) -> usize {
        self.lock().len()
    }

    fn is_closed(&self) -> bool {
        self.lock().consumers.handles == 0
    }

    /// Appends all items that fit, under one lock.
    fn push_slice(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        let mut indices = self.lock();
        let n = items.len().min(self.capacity() - indices.len());
        items[..n].iter().for_each(|item| self.put(&mut indices, *item));
        self.leave(indices, n);
        n
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn backing(&self) -> Backing {
        self.end.backing()
    }
}

impl<T> Consumer<T> {
    /// Removes the oldest item, and sleeps until there is one.
    ///
    /// # Errors
    ///
    /// [`Closed`] if there is no item and all producers are gone.
    pub fn pop(&mut self) -> Result<T, Closed> {
        let mut indices = self.lock();
        while indices.len() == 0 {
            if indices.producers.handles == 0 {
                return Err(Closed(()));
            }
            indices.consumers.waiting += 1;
            indices = self.end.header().not_empty.wait(indices);
            indices.consumers.waiting -= 1;
        }
        let item = self.take(&mut indices);
        self.leave(indices, 1);
        Ok(item)
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Indices> {
        self.end.header().indices.lock()
    }

    /// Removes the oldest item. There is one.
    #[inline]
    fn take(&self, indices: &mut Indices) -> T {
        let position = indices.read;
        indices.read = position.wrapping_add(1);
        // SAFETY: the slot holds an item, `read` has moved past it, and this thread has the lock.
        unsafe { self.end.slots().read(position) }
    }

    /// Gives the lock back, and notifies producers of `n` free slots.
    #[inline]
    fn leave(&self, indices: MutexGuard<'_, Indices>, n: usize) {
        let waiting = indices.producers.waiting;
        drop(indices);
        wake(&self.end.header().not_full, waiting, n);
    }
}

impl<T> queue::Consumer for Consumer<T> {
    type Item = T;

    #[inline]
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        let mut indices = self.lock();
        if indices.len() == 0 {
            let closed = indices.producers.handles == 0;
            return Err(if closed { TryPopError::Closed } else { TryPopError::Empty });
        }
        let item = self.take(&mut indices);
        self.leave(indices, 1);
        Ok(item)
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.capacity
    }

    fn len(&mut self) -> usize {
        self.lock().len()
    }

    fn is_closed(&self) -> bool {
        self.lock().producers.handles == 0
    }

    /// Removes all items that it can, under one lock.
    fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        let mut indices = self.lock();
        let n = into.len().min(indices.len());
        into[..n].iter_mut().for_each(|slot| *slot = self.take(&mut indices));
        self.leave(indices, n);
        n
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn backing(&self) -> Backing {
        self.end.backing()
    }
}

impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        let end = self.end.duplicate();
        self.lock().producers.handles += 1;
        Self { end, ..*self }
    }
}

impl<T> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        let end = self.end.duplicate();
        self.lock().consumers.handles += 1;
        Self { end, ..*self }
    }
}

// The last handle of a side, when it is dropped, must wake every sleeping thread of the other side.
// No thread may go to sleep without noticing that drop. So handles are counted under the lock, in
// addition to the count of ends.

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        let mut indices = self.lock();
        indices.producers.handles -= 1;
        let is_last = indices.producers.handles == 0;
        drop(indices);
        if is_last {
            self.end.header().not_empty.notify_all();
        }
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        let mut indices = self.lock();
        indices.consumers.handles -= 1;
        let is_last = indices.consumers.handles == 0;
        drop(indices);
        if is_last {
            self.end.header().not_full.notify_all();
        }
    }
}

handles! {
    [T] Producer<T>: producer of T;
    [T] Consumer<T>: consumer of T;
}

queue_type!(Locked of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "locked",
    name: "ring behind a lock, with condition variables",
    paper: "Hoare 1974, §4",
    sides: Sides::ManyToMany,
    guarantee: "deadlock-free FIFO",
    choose: advice!(choose locked),
    avoid: advice!(avoid locked),
    ..Info::RING
});
