//! The calls of handles for items.

use std::ffi::c_void;
use std::ptr;

use corelane::shm;
use corelane::wait;

use crate::item::{Receives, Sends};
use crate::status::{Patience, Status};

/// A sending handle of a queue or lane for items. A thread uses a queue by its own handle: a handle
/// belongs to one thread at a time.
#[allow(missing_debug_implementations, reason = "C has no use for it")]
pub struct Producer(pub(crate) Option<Box<dyn Sends>>);

/// A receiving handle of a queue or lane for items. It belongs to one thread at a time.
#[allow(missing_debug_implementations, reason = "C has no use for it")]
pub struct Consumer(pub(crate) Option<Box<dyn Receives>>);

/// How a call waits.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub enum Strategy {
    /// Looks and yields for some microseconds, less if that has failed lately, and then sleeps.
    Adaptive = 0,
    /// Looks all the time. It takes a whole core.
    Spin = 1,
    /// Yields before each look. It takes a core that no other thread wants.
    Yield = 2,
    /// Sleeps at once.
    Sleep = 3,
}

impl From<Strategy> for wait::Strategy {
    fn from(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Adaptive => Self::Adaptive,
            Strategy::Spin => Self::Spin,
            Strategy::Yield => Self::Yield,
            Strategy::Sleep => Self::Sleep,
        }
    }
}

/// The processes on the other side of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub enum Peer {
    /// No process has taken that side yet.
    Absent = 0,
    /// A process has it.
    Alive = 1,
    /// The last such process has closed its handle.
    Left = 2,
    /// The last such process ended without that, or was killed.
    Died = 3,
    /// The handle is that of a queue between threads.
    Threads = 4,
}

impl From<Option<shm::Peer>> for Peer {
    fn from(peer: Option<shm::Peer>) -> Self {
        match peer {
            None => Self::Threads,
            Some(shm::Peer::Absent) => Self::Absent,
            Some(shm::Peer::Alive) => Self::Alive,
            Some(shm::Peer::Left) => Self::Left,
            Some(shm::Peer::Died) => Self::Died,
        }
    }
}

/// Gives a handle to C.
///
/// # Safety
///
/// `to` may be written.
pub(crate) unsafe fn give<H>(to: *mut *mut H, handle: H) -> Status {
    // SAFETY: the caller's contract.
    unsafe { to.write(Box::into_raw(Box::new(handle))) };
    Status::Ok
}

/// Takes a handle back, and sets C's pointer to NULL.
///
/// # Safety
///
/// `from` is NULL, or has NULL or a handle that was given to C.
pub(crate) unsafe fn take_back<H>(from: *mut *mut H) {
    // SAFETY: the caller's contract.
    let Some(from) = (unsafe { from.as_mut() }) else { return };
    let handle = std::mem::replace(from, ptr::null_mut());
    if !handle.is_null() {
        // SAFETY: the caller's contract. C's pointer to it is gone.
        drop(unsafe { Box::from_raw(handle) });
    }
}

impl Producer {
    pub(crate) fn new(calls: Box<dyn Sends>) -> Self {
        Self(Some(calls))
    }

    #[inline(always)]
    fn calls(&mut self) -> Option<&mut dyn Sends> {
        match &mut self.0 {
            Some(calls) => Some(&mut **calls),
            None => None,
        }
    }
}

impl Consumer {
    pub(crate) fn new(calls: Box<dyn Receives>) -> Self {
        Self(Some(calls))
    }

    #[inline(always)]
    fn calls(&mut self) -> Option<&mut dyn Receives> {
        match &mut self.0 {
            Some(calls) => Some(&mut **calls),
            None => None,
        }
    }
}

/// The calls of a handle, unless it is NULL, or another argument is.
macro_rules! calls {
    ($handle:ident $(, $pointer:ident)*; else $answer:expr) => {
        match $handle.and_then(|handle| handle.calls()) {
            Some(calls) if true $(&& !$pointer.is_null())* => calls,
            _ => return $answer,
        }
    };
}

/// Appends a copy of the item at `item`. While there is no room, waits for at most `timeout`
/// nanoseconds: 0 doesn't wait, `CORELANE_FOREVER` has no limit.
///
/// OK; FULL; BUSY, only without waiting; CLOSED; INVALID.
///
/// # Safety
///
/// An item can be read at `item`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_push(
    producer: Option<&mut Producer>,
    item: *const c_void,
    timeout: i64,
) -> Status {
    let calls = calls!(producer, item; else Status::Invalid);
    // SAFETY: the caller's contract.
    unsafe { calls.push(item.cast(), timeout) }
}

/// Appends copies of the first of `n` items, and returns their number. Items of other producers
/// may come between them. Waits as `corelane_push` until all are in.
///
/// Less than `n`: there is no room, the time is over, or the queue is closed; `corelane_push` says
/// which. 0 if an argument is NULL.
///
/// # Safety
///
/// `n` items can be read at `items`, each behind the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_push_many(
    producer: Option<&mut Producer>,
    items: *const c_void,
    n: usize,
    timeout: i64,
) -> usize {
    let calls = calls!(producer, items; else 0);
    // SAFETY: the caller's contract.
    unsafe { calls.push_many(items.cast(), n, timeout) }
}

/// Lends free slots in a row: up to `n`, which this call changes to their number. Write items there,
/// and publish them. Any other call of the handle ends the loan, and nothing is pushed.
///
/// Only one-to-one queues and lanes lend slots, for items of 1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48,
/// 56, 64, 96, 128, 256, 512 or 1024 bytes. Without OK, `n` is 0 and `slots` isn't written.
///
/// OK; FULL; CLOSED; INVALID.
///
/// # Safety
///
/// `slots` and `n` are NULL, or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_lend(
    producer: Option<&mut Producer>,
    slots: *mut *mut c_void,
    n: *mut usize,
) -> Status {
    let calls = calls!(producer, slots, n; else Status::Invalid);
    // SAFETY: the caller's contract.
    unsafe { loan(calls.lend(*n), slots, n) }
}

/// Pushes the items in the first `n` lent slots.
///
/// OK; INVALID, also if fewer slots are lent.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_publish(producer: Option<&mut Producer>, n: usize) -> Status {
    calls!(producer; else Status::Invalid).publish(n)
}

/// # Safety
///
/// Both may be written.
unsafe fn loan(
    lent: Result<(*mut u8, usize), Status>,
    to: *mut *mut c_void,
    n: *mut usize,
) -> Status {
    let (slots, lent, status) = match lent {
        Ok((slots, lent)) => (Some(slots), lent, Status::Ok),
        Err(status) => (None, 0, status),
    };
    // SAFETY: the caller's contract.
    unsafe {
        n.write(lent);
        if let Some(slots) = slots {
            to.write(slots.cast());
        }
    }
    status
}

/// Removes the oldest item, and copies it to `into`. While there is none, waits for at most `timeout`
/// nanoseconds: 0 doesn't wait, `CORELANE_FOREVER` has no limit.
///
/// OK; EMPTY; BUSY, only without waiting; CLOSED; INVALID. Without OK, `into` is not written.
///
/// # Safety
///
/// An item may be written at `into`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_pop(
    consumer: Option<&mut Consumer>,
    into: *mut c_void,
    timeout: i64,
) -> Status {
    let calls = calls!(consumer, into; else Status::Invalid);
    // SAFETY: the caller's contract.
    unsafe { calls.pop(into.cast(), timeout) }
}

/// Removes up to `n` of the oldest items, copies them to `into`, and returns their number. Waits as
/// `corelane_pop` for the first one only.
///
/// 0: there is no item, the time is over, the queue is closed, or an argument is NULL;
/// `corelane_pop` says which.
///
/// # Safety
///
/// `n` items may be written at `into`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_pop_many(
    consumer: Option<&mut Consumer>,
    into: *mut c_void,
    n: usize,
    timeout: i64,
) -> usize {
    let calls = calls!(consumer, into; else 0);
    // SAFETY: the caller's contract.
    unsafe { calls.pop_many(into.cast(), n, timeout) }
}

/// Lends the oldest items in a row, in place: up to `n`, which this call changes to their number.
/// Release those that are done with. Any other call of the handle ends the loan, and the items stay
/// in the queue. For the queues that lend slots: see `corelane_lend`.
///
/// OK; EMPTY; CLOSED; INVALID.
///
/// # Safety
///
/// `items` and `n` are NULL, or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_peek(
    consumer: Option<&mut Consumer>,
    items: *mut *mut c_void,
    n: *mut usize,
) -> Status {
    let calls = calls!(consumer, items, n; else Status::Invalid);
    // SAFETY: the caller's contract.
    unsafe { loan(calls.peek(*n), items, n) }
}

/// Removes the first `n` lent items.
///
/// OK; INVALID, also if fewer items are lent.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_release(consumer: Option<&mut Consumer>, n: usize) -> Status {
    calls!(consumer; else Status::Invalid).release(n)
}

/// Number of items that this consumer found overwritten. 0 of other queues, and of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_lost(consumer: Option<&mut Consumer>) -> u64 {
    calls!(consumer; else 0).lost()
}

/// One more handle of the same side. NULL if the side may have no more handles, as those of
/// one-to-one queues and of lanes: a lane's side is taken by `corelane_lane_producer` and
/// `corelane_lane_consumer`. NULL of NULL. It may be called while other threads use handles
/// of their own.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_producer_clone(handle: Option<&mut Producer>) -> *mut Producer {
    let another = calls!(handle; else ptr::null_mut()).another();
    another.map_or(ptr::null_mut(), |calls| Box::into_raw(Box::new(Producer::new(calls))))
}

/// Closes a handle, and sets the pointer to NULL: a second close does nothing. The last
/// handle frees the queue. When all handles of a side are closed, the other side finds the
/// queue closed.
///
/// # Safety
///
/// NULL, or where the only pointer to a handle is, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_producer_close(handle: *mut *mut Producer) {
    // SAFETY: the caller's contract.
    unsafe { take_back(handle) };
}

/// Number of items for which there is always room: as asked, or a little more. 0 of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_producer_capacity(handle: Option<&mut Producer>) -> usize {
    calls!(handle; else 0).capacity()
}

/// Number of items in the queue, as far as this handle sees. 0 of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_producer_len(handle: Option<&mut Producer>) -> usize {
    calls!(handle; else 0).len()
}

/// Number of items that were pushed since the lane was made, by all processes that have had this
/// side: where a process goes on that takes it over. 0 of lanes with several producers, of queues
/// between threads, and of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_producer_position(handle: Option<&mut Producer>) -> u64 {
    calls!(handle; else 0).position()
}

/// Bytes of an item. 0 of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_producer_item_size(handle: Option<&mut Producer>) -> usize {
    calls!(handle; else 0).size()
}

/// Whether all handles of the other side are closed. What they did before is visible then.
/// True of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_producer_is_closed(handle: Option<&mut Producer>) -> bool {
    calls!(handle; else true).is_closed()
}

/// Chooses how this handle's calls wait.
///
/// OK; INVALID.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_producer_strategy(
    handle: Option<&mut Producer>,
    how: Strategy,
) -> Status {
    let Some(handle) = handle else { return Status::Invalid };
    handle.0 = handle.0.take().map(|calls| calls.by(how.into()));
    Status::Ok
}

/// Checks the process on the other side of a lane. If all processes that had it are dead,
/// the side is closed from now on.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_producer_peer(handle: Option<&mut Producer>) -> Peer {
    calls!(handle; else Peer::Threads).peer().into()
}

/// Waits until a process has the other side of a lane, for at most `timeout` nanoseconds, or
/// `CORELANE_FOREVER`. Whether one has come.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_producer_wait_for_peer(
    handle: Option<&mut Producer>,
    timeout: i64,
) -> bool {
    calls!(handle; else false).wait_for_peer(Patience::from(timeout).time())
}

/// One more handle of the same side. NULL if the side may have no more handles, as those of
/// one-to-one queues and of lanes: a lane's side is taken by `corelane_lane_producer` and
/// `corelane_lane_consumer`. NULL of NULL. It may be called while other threads use handles
/// of their own.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_consumer_clone(handle: Option<&mut Consumer>) -> *mut Consumer {
    let another = calls!(handle; else ptr::null_mut()).another();
    another.map_or(ptr::null_mut(), |calls| Box::into_raw(Box::new(Consumer::new(calls))))
}

/// Closes a handle, and sets the pointer to NULL: a second close does nothing. The last
/// handle frees the queue. When all handles of a side are closed, the other side finds the
/// queue closed.
///
/// # Safety
///
/// NULL, or where the only pointer to a handle is, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_consumer_close(handle: *mut *mut Consumer) {
    // SAFETY: the caller's contract.
    unsafe { take_back(handle) };
}

/// Number of items for which there is always room: as asked, or a little more. 0 of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_consumer_capacity(handle: Option<&mut Consumer>) -> usize {
    calls!(handle; else 0).capacity()
}

/// Number of items in the queue, as far as this handle sees. 0 of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_consumer_len(handle: Option<&mut Consumer>) -> usize {
    calls!(handle; else 0).len()
}

/// Number of items that were popped since the lane was made, by all processes that have had this
/// side: where a process goes on that takes it over. 0 of lanes with several producers, of queues
/// between threads, and of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_consumer_position(handle: Option<&mut Consumer>) -> u64 {
    calls!(handle; else 0).position()
}

/// Bytes of an item. 0 of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_consumer_item_size(handle: Option<&mut Consumer>) -> usize {
    calls!(handle; else 0).size()
}

/// Whether all handles of the other side are closed. What they did before is visible then.
/// True of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_consumer_is_closed(handle: Option<&mut Consumer>) -> bool {
    calls!(handle; else true).is_closed()
}

/// Chooses how this handle's calls wait.
///
/// OK; INVALID.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_consumer_strategy(
    handle: Option<&mut Consumer>,
    how: Strategy,
) -> Status {
    let Some(handle) = handle else { return Status::Invalid };
    handle.0 = handle.0.take().map(|calls| calls.by(how.into()));
    Status::Ok
}

/// Checks the process on the other side of a lane. If all processes that had it are dead,
/// the side is closed from now on.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_consumer_peer(handle: Option<&mut Consumer>) -> Peer {
    calls!(handle; else Peer::Threads).peer().into()
}

/// Waits until a process has the other side of a lane, for at most `timeout` nanoseconds, or
/// `CORELANE_FOREVER`. Whether one has come.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_consumer_wait_for_peer(
    handle: Option<&mut Consumer>,
    timeout: i64,
) -> bool {
    calls!(handle; else false).wait_for_peer(Patience::from(timeout).time())
}
