//! Queues of which one thread is the owner, and from which others steal.

use std::ffi::c_void;

use corelane::steal::bwos;
use corelane::{CapacityError, TryPopError, TryPushError};

use crate::handle::{give, take_back};
use crate::size::{read, with_size, write};
use crate::status::Status;

/// The owner's handle of a queue from which other threads steal. It belongs to one thread at a
/// time.
#[allow(missing_debug_implementations, reason = "C has no use for it")]
pub struct Worker(Box<dyn Owns>);

/// A thief's handle. It belongs to one thread at a time.
#[allow(missing_debug_implementations, reason = "C has no use for it")]
pub struct Stealer(Box<dyn Steals>);

/// Which item the owner pops. Thieves always steal the oldest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub enum Order {
    /// The newest.
    Lifo = 0,
    /// The oldest.
    Fifo = 1,
}

trait Owns {
    /// # Safety
    ///
    /// An item can be read at `item`.
    unsafe fn push(&mut self, item: *const u8) -> Status;
    /// # Safety
    ///
    /// An item may be written at `into`.
    unsafe fn pop(&mut self, into: *mut u8) -> Status;
    fn stealer(&self) -> Box<dyn Steals>;
}

trait Steals {
    /// Steals up to `n` items, and sets `n` to their number.
    ///
    /// # Safety
    ///
    /// `n` items may be written at `into`.
    unsafe fn steal(&self, into: *mut u8, n: &mut usize) -> Status;
    fn another(&self) -> Box<dyn Steals>;
}

struct Of<Q, const N: usize> {
    queue: Q,
    size: usize,
}

impl<W, const N: usize> Owns for Of<W, N>
where
    W: corelane::steal::Worker<Item = [u8; N], Stealer: 'static>,
{
    unsafe fn push(&mut self, item: *const u8) -> Status {
        // SAFETY: the caller's contract.
        let item = unsafe { read::<N>(item, self.size) };
        Status::of(self.queue.try_push(item).map_err(TryPushError::into))
    }

    unsafe fn pop(&mut self, into: *mut u8) -> Status {
        Status::of(self.queue.try_pop().map_err(TryPopError::into).map(|item| {
            // SAFETY: the caller's contract.
            unsafe { write::<N>(item, into, self.size) };
        }))
    }

    fn stealer(&self) -> Box<dyn Steals> {
        Box::new(Of::<_, N> { queue: self.queue.stealer(), size: self.size })
    }
}

impl<S, const N: usize> Steals for Of<S, N>
where
    S: corelane::steal::Stealer<Item = [u8; N]> + 'static,
{
    unsafe fn steal(&self, into: *mut u8, n: &mut usize) -> Status {
        let stolen = self.queue.try_steal_some(std::mem::take(n));
        Status::of(stolen.map_err(TryPopError::into).map(|loot| {
            *n = loot.len();
            for (i, item) in loot.enumerate() {
                // SAFETY: the caller's contract.
                unsafe { write::<N>(item, into.add(i * self.size), self.size) };
            }
        }))
    }

    fn another(&self) -> Box<dyn Steals> {
        Box::new(Self { queue: self.queue.clone(), size: self.size })
    }
}

fn worker<const N: usize>(
    order: Order,
    capacity: usize,
    size: usize,
) -> Result<Box<dyn Owns>, CapacityError> {
    Ok(match order {
        Order::Lifo => Box::new(Of::<_, N> { queue: bwos::lifo::queue(capacity)?, size }),
        Order::Fifo => Box::new(Of::<_, N> { queue: bwos::fifo::queue(capacity)?, size }),
    })
}

/// Makes a queue for one owner and thieves: block-based work stealing, for at least `capacity` items
/// of `item_size` bytes, at most 1024.
///
/// OK; INVALID; NO_MEMORY. Without OK the handle is not written.
///
/// # Safety
///
/// `worker` is NULL, or may be written. `order` is one of the orders.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_worker_create(
    order: Order,
    capacity: usize,
    item_size: usize,
    worker: *mut *mut Worker,
) -> Status {
    if worker.is_null() {
        return Status::Invalid;
    }
    match with_size!(item_size, N => self::worker::<N>(order, capacity, item_size)) {
        // SAFETY: by the caller's contract, since it is not NULL.
        Some(Ok(made)) => unsafe { give(worker, Worker(made)) },
        Some(Err(error)) => error.into(),
        None => Status::Invalid,
    }
}

/// Pushes a copy of the item at `item`. Only the owner pushes and pops.
///
/// OK; FULL; INVALID.
///
/// # Safety
///
/// An item can be read at `item`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_worker_push(
    worker: Option<&mut Worker>,
    item: *const c_void,
) -> Status {
    match worker {
        // SAFETY: the caller's contract.
        Some(worker) if !item.is_null() => unsafe { worker.0.push(item.cast()) },
        _ => Status::Invalid,
    }
}

/// Removes the next item in the owner's order, and copies it to `into`.
///
/// OK; EMPTY; INVALID.
///
/// # Safety
///
/// An item may be written at `into`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_worker_pop(
    worker: Option<&mut Worker>,
    into: *mut c_void,
) -> Status {
    match worker {
        // SAFETY: the caller's contract.
        Some(worker) if !into.is_null() => unsafe { worker.0.pop(into.cast()) },
        _ => Status::Invalid,
    }
}

/// A handle for a thief. NULL of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_worker_stealer(worker: Option<&mut Worker>) -> *mut Stealer {
    match worker {
        Some(worker) => Box::into_raw(Box::new(Stealer(worker.0.stealer()))),
        None => std::ptr::null_mut(),
    }
}

/// Steals up to `n` of the oldest items in one step, copies them to `into`, and changes `n` to their
/// number.
///
/// OK; EMPTY; BUSY; CLOSED, when the owner is gone; INVALID. Without OK, `n` is 0.
///
/// # Safety
///
/// `n` is NULL or valid, and as many items may be written at `into`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_steal(
    stealer: Option<&mut Stealer>,
    into: *mut c_void,
    n: Option<&mut usize>,
) -> Status {
    let Some(n) = n else { return Status::Invalid };
    match stealer {
        // SAFETY: the caller's contract.
        Some(stealer) if !into.is_null() && *n > 0 => unsafe { stealer.0.steal(into.cast(), n) },
        _ => {
            *n = 0;
            Status::Invalid
        }
    }
}

/// One more handle for a thief. NULL of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_stealer_clone(stealer: Option<&mut Stealer>) -> *mut Stealer {
    match stealer {
        Some(stealer) => Box::into_raw(Box::new(Stealer(stealer.0.another()))),
        None => std::ptr::null_mut(),
    }
}

/// Closes the owner's handle, and sets the pointer to NULL: a second close does nothing. Thieves may
/// steal what is left.
///
/// # Safety
///
/// NULL, or where the only pointer to a handle is, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_worker_close(worker: *mut *mut Worker) {
    // SAFETY: the caller's contract.
    unsafe { take_back(worker) };
}

/// Closes a thief's handle, and sets the pointer to NULL.
///
/// # Safety
///
/// As `corelane_worker_close`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_stealer_close(stealer: *mut *mut Stealer) {
    // SAFETY: the caller's contract.
    unsafe { take_back(stealer) };
}
