// Above 500 lines: one world, to be read beside the other two.

//! loom's memory: every access is a step that the model checker orders in all allowed ways.
//!
//! Each access knows its caller's line. A [`Watch`] observes each access, and may change its
//! ordering.

mod watch;
mod wide;
mod words;

use core::cell::{Cell, RefCell};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::time::Duration;
use std::sync::PoisonError;

use loom::sync::atomic;

pub use loom::cell::UnsafeCell;
pub use watch::{Access, Op, Watch, watched};
pub use wide::{AtomicU128, can_exchange_two_words};
pub use words::Words;

use super::Ordering;
use watch::{fails_spuriously, ordering, swapped};

/// Makes loom treat two loads of one variable as steps whose order matters.
///
/// loom (0.7.2) runs steps that don't depend on each other in one order only, and compares each
/// step with the last one before it on the same variable. A thread that loads a variable and then
/// stores to it hides, by its own load, an earlier load of another thread, and the executions in
/// which the store comes before that load are never run (tokio-rs/loom#166, #392). Rings do this: a
/// whole model may have a single execution left.
///
/// So before each load there is a step on a variable beside it, which depends on all other such
/// steps. The step is a comparison that always fails: it writes nothing and orders nothing.
#[derive(Debug)]
struct Turn(atomic::AtomicBool);

impl Turn {
    #[track_caller]
    fn new() -> Self {
        Self(atomic::AtomicBool::new(false))
    }

    #[track_caller]
    fn take(&self) {
        let failed = self.0.compare_exchange(true, true, Ordering::Relaxed, Ordering::Relaxed);
        debug_assert!(failed.is_err());
    }
}

/// Atomics of loom whose loads take turns.
macro_rules! atomics {
    ($($(#[$doc:meta])* $name:ident $(<$T:ident>)? = $value:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name $(<$T>)? {
            turn: Turn,
            value: atomic::$name $(<$T>)?,
        }

        #[allow(dead_code, reason = "the facade is the same for each type")]
        impl $(<$T>)? $name $(<$T>)? {
            /// An atomic that holds `value`.
            #[track_caller]
            pub fn new(value: $value) -> Self {
                Self { turn: Turn::new(), value: atomic::$name::new(value) }
            }

            /// Reads one of the values that the memory model allows here.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                self.turn.take();
                self.value.load(ordering(Op::Load, Some(self), order))
            }

            /// Writes `value`.
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                self.value.store(value, ordering(Op::Store, Some(self), order));
            }

            /// Writes `new` if the value is `current`; returns the old value.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let success = ordering(Op::Cas, Some(self), success);
                let failure = ordering(Op::Load, Some(self), failure);
                let exchanged = self.value.compare_exchange(current, new, success, failure);
                exchanged.inspect(|_| swapped(self))
            }

            /// As [`compare_exchange`](Self::compare_exchange), but may fail spuriously.
            ///
            /// loom's own never does. This one does when a [`Watch`] says so.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                if fails_spuriously() {
                    return Err(self.load(failure));
                }
                self.compare_exchange(current, new, success, failure)
            }
        }
    )*};
}

atomics! {
    /// A flag.
    AtomicBool = bool;
    /// A number of 32 bits.
    AtomicU32 = u32;
    /// A number of 64 bits.
    AtomicU64 = u64;
    /// A pointer.
    AtomicPtr<T> = *mut T;
}

impl AtomicU32 {
    /// Sets the bits of `value`, and returns the old value.
    #[track_caller]
    pub fn fetch_or(&self, value: u32, order: Ordering) -> u32 {
        self.value.fetch_or(value, ordering(Op::Rmw, Some(self), order))
    }
}

impl AtomicU64 {
    /// Adds `value`, and returns the old value.
    #[track_caller]
    pub fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        self.value.fetch_add(value, ordering(Op::Rmw, Some(self), order))
    }

    /// Writes `value`, and returns the old value.
    #[track_caller]
    pub fn swap(&self, value: u64, order: Ordering) -> u64 {
        self.value.swap(value, ordering(Op::Rmw, Some(self), order))
    }

    /// Sets the bits of `value`, and returns the old value.
    #[track_caller]
    pub fn fetch_or(&self, value: u64, order: Ordering) -> u64 {
        self.value.fetch_or(value, ordering(Op::Rmw, Some(self), order))
    }

    /// Keeps the bits of `value` only, and returns the old value.
    #[track_caller]
    pub fn fetch_and(&self, value: u64, order: Ordering) -> u64 {
        self.value.fetch_and(value, ordering(Op::Rmw, Some(self), order))
    }
}

/// Orders the accesses before it and those after it.
#[track_caller]
pub fn fence(order: Ordering) {
    match ordering::<()>(Op::Fence, None, order) {
        // A fence weakened to Relaxed is no fence.
        Ordering::Relaxed => {}
        order => atomic::fence(order),
    }
}

/// Two fences that order each other as two `SeqCst` fences do: see `real.rs`.
#[derive(Debug, Clone, Copy)]
pub struct Barrier;

impl Barrier {
    /// A pair.
    #[expect(clippy::new_without_default, reason = "the facade has no defaults")]
    pub fn new() -> Self {
        Self
    }

    /// The fence of the thread that must not be slow.
    #[track_caller]
    pub fn light(self) {
        fence(Ordering::SeqCst);
    }

    /// Whether the light fence costs nothing.
    pub fn is_light(self) -> bool {
        true
    }

    /// The light fence, and then whether a relaxed load finds `expected`. If not, there may have
    /// been no fence.
    #[track_caller]
    pub fn light_finds(self, value: &AtomicU64, expected: impl FnOnce() -> u64) -> bool {
        let expected = expected();
        // As in `light_load`.
        value.load(Ordering::Relaxed) == expected && {
            self.light();
            value.load(Ordering::Relaxed) == expected
        }
    }

    /// The light fence, and then whether a relaxed load finds one of the bits `mask`. If so, there
    /// may have been no fence.
    #[track_caller]
    pub fn light_has(self, value: &AtomicU64, mask: u64) -> bool {
        // As in `light_load`.
        value.load(Ordering::Relaxed) & mask != 0 || {
            self.light();
            value.load(Ordering::Relaxed) & mask != 0
        }
    }

    /// The light fence, and then a relaxed load. If the value is not 0, there may have been no
    /// fence.
    #[track_caller]
    pub fn light_load(self, value: &AtomicU64) -> u64 {
        // loom's light fence orders more than the real one: here it is left out where the real one
        // need not order anything.
        match value.load(Ordering::Relaxed) {
            0 => {
                self.light();
                value.load(Ordering::Relaxed)
            }
            other => other,
        }
    }

    /// As [`light_load`](Self::light_load), of the bits of `mask`.
    #[track_caller]
    pub fn light_load_u32(self, value: &AtomicU32, mask: u32) -> u32 {
        match value.load(Ordering::Relaxed) & mask {
            0 => {
                self.light();
                value.load(Ordering::Relaxed) & mask
            }
            other => other,
        }
    }

    /// The fence of the other thread. It is never refused.
    #[track_caller]
    pub fn heavy(self) -> bool {
        fence(Ordering::SeqCst);
        true
    }
}

/// Lets other threads run: one step, for a wait of any length.
pub fn pause(spins: u32) {
    if spins > 0 {
        loom::hint::spin_loop();
    }
}

pub use loom::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// A value that one thread at a time may access.
#[derive(Debug)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// A lock around `value`.
    pub fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    /// Waits until no other thread has access.
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A value that several threads at a time may read, or one may write.
#[derive(Debug)]
pub struct RwLock<T>(loom::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// A lock around `value`.
    pub fn new(value: T) -> Self {
        Self(loom::sync::RwLock::new(value))
    }

    /// Waits until no other thread may write.
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other thread has access.
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A condition variable: a thread waits for it, and gives its lock to others meanwhile. loom's has
/// no spurious wake-ups, and wakes the thread that has waited longest.
#[derive(Debug)]
pub struct Condvar {
    condvar: loom::sync::Condvar,
    /// Stands for the memory of the condition variable. A thread that notifies still uses this
    /// memory after it has given the lock back.
    memory: UnsafeCell<()>,
}

// SAFETY: loom checks each access to the cell.
unsafe impl Sync for Condvar {}

impl Condvar {
    /// A condition variable for which no thread waits.
    #[expect(clippy::new_without_default, reason = "the facade has no defaults")]
    pub fn new() -> Self {
        Self { condvar: loom::sync::Condvar::new(), memory: UnsafeCell::new(()) }
    }

    /// Gives the lock back, sleeps until a notification, and takes the lock again.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes one of the threads that wait.
    #[track_caller]
    pub fn notify_one(&self) {
        self.memory.with(|_| ());
        self.condvar.notify_one();
    }

    /// Wakes all threads that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        self.memory.with(|_| ());
        self.condvar.notify_all();
    }
}

impl Drop for Condvar {
    fn drop(&mut self) {
        // A model that has already failed leaves values behind.
        if !std::thread::panicking() {
            self.memory.with_mut(|_| ());
        }
    }
}

/// A thread that can be woken.
struct Sleeper(loom::thread::Thread);

impl std::task::Wake for Sleeper {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

/// Where one thread sleeps.
pub(crate) struct Parker(std::task::Waker);

impl Parker {
    /// Of the calling thread.
    pub(crate) fn new() -> Self {
        Self(std::sync::Arc::new(Sleeper(loom::thread::current())).into())
    }

    /// Wakes the thread.
    pub(crate) fn waker(&self) -> &std::task::Waker {
        &self.0
    }

    /// Sleeps until this thread is woken. With a deadline it doesn't sleep.
    pub(crate) fn park(&self, until: Option<std::time::Instant>) {
        if until.is_none() {
            loom::thread::park();
        }
    }
}

/// Lets other threads run.
pub(crate) fn yield_now() {
    loom::thread::yield_now();
}

/// The same. A model has no time.
pub(crate) fn timed_yield() -> Duration {
    yield_now();
    Duration::ZERO
}

/// Not known. A model has no processors.
pub(crate) fn processor_use() -> Option<super::ProcessorUse> {
    None
}

/// The number of calls so far: a model has no time.
#[cfg(feature = "literature")]
pub(crate) fn time() -> u64 {
    static CALLS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    CALLS.fetch_add(1, Ordering::Relaxed)
}

/// As in the real world.
pub(crate) fn nap() -> bool {
    false
}

/// The slots of a ring, as in the real world.
///
/// Items are contiguous in plain memory, so that runs of items can be lent as slices. Each slot has
/// a tracker, by which loom sees the threads that access the slot.
#[derive(Debug)]
pub struct Cells<T> {
    base: NonNull<MaybeUninit<T>>,
    trackers: std::sync::Arc<[UnsafeCell<()>]>,
}

impl<T> Clone for Cells<T> {
    fn clone(&self) -> Self {
        Self { base: self.base, trackers: self.trackers.clone() }
    }
}

impl<T> Cells<T> {
    /// The `len` slots that start at `base`. Their indices are the bits of a position below the
    /// next power of two.
    ///
    /// # Safety
    ///
    /// `base` points to `len` slots, at least one, which outlive the array and its clones. Every
    /// position that the array is asked for has an index below `len`.
    pub unsafe fn new(base: NonNull<MaybeUninit<T>>, len: usize) -> Self {
        Self { base, trackers: (0..len).map(|_| UnsafeCell::new(())).collect() }
    }

    /// Number of slots.
    pub(crate) fn len(&self) -> usize {
        self.trackers.len()
    }

    fn index(&self, position: u64) -> usize {
        position as usize & (self.len().next_power_of_two() - 1)
    }

    fn slot(&self, position: u64) -> *mut MaybeUninit<T> {
        // SAFETY: by the word of the caller of `new`, `base` is the first of `len` slots, and
        // `index` is below that.
        unsafe { self.base.as_ptr().add(self.index(position)) }
    }

    /// Writes `item` into the slot at `position`.
    ///
    /// # Safety
    ///
    /// The slot holds no item, and no other access to it is concurrent.
    #[track_caller]
    pub unsafe fn write(&self, position: u64, item: T) {
        self.trackers[self.index(position)].with_mut(|_| ());
        // SAFETY: the caller's contract; the tracker has found no concurrent access.
        unsafe { self.slot(position).write(MaybeUninit::new(item)) };
    }

    /// Moves the item out of the slot at `position`.
    ///
    /// # Safety
    ///
    /// The slot holds an item, which counts as moved after this call, and no write to it is
    /// concurrent.
    #[track_caller]
    pub unsafe fn read(&self, position: u64) -> T {
        self.trackers[self.index(position)].with_mut(|_| ());
        // SAFETY: the caller's contract; the tracker has found no concurrent access.
        unsafe { self.slot(position).read().assume_init() }
    }

    /// First of the `n` slots from `position` on, to be written next.
    ///
    /// The run must not cross the end of the ring.
    #[track_caller]
    pub fn run_to_fill(&self, position: u64, n: usize) -> *mut MaybeUninit<T> {
        self.run(position, n)
    }

    /// First of the `n` slots from `position` on, to be read next. For loom, moving an item out is
    /// a write.
    ///
    /// The run must not cross the end of the ring.
    #[track_caller]
    pub fn run_to_empty(&self, position: u64, n: usize) -> *mut MaybeUninit<T> {
        self.run(position, n)
    }

    /// The index of a slot that is not written at the same time.
    #[track_caller]
    fn touch(&self, position: u64) -> usize {
        let index = self.index(position);
        self.trackers[index].with(|_| ());
        index
    }

    #[track_caller]
    fn run(&self, position: u64, n: usize) -> *mut MaybeUninit<T> {
        for tracker in &self.trackers[self.index(position)..][..n] {
            tracker.with_mut(|_| ());
        }
        self.slot(position)
    }
}

/// When a value was made, and whether it has been freed.
#[derive(Debug)]
pub(crate) struct Made {
    time: UnsafeCell<()>,
    is_over: Cell<bool>,
}

impl Made {
    /// Now.
    #[track_caller]
    pub(crate) fn now() -> Self {
        Self { time: UnsafeCell::new(()), is_over: Cell::new(false) }
    }

    /// Fails if the thread doesn't know that the value has been made, or if the value has been
    /// freed.
    #[track_caller]
    pub(crate) fn is_before_now(&self) {
        assert!(!self.is_over.get(), "use after free");
        // For loom, making a cell is a write.
        self.time.with(|_| ());
    }

    /// The value is about to be freed. Fails if the thread doesn't know that all accesses are over.
    #[track_caller]
    pub(crate) fn ends(&self) {
        self.time.with_mut(|_| ());
        assert!(!self.is_over.replace(true), "freed twice");
    }
}

// SAFETY: loom checks each access to the cell, and switches threads at its own accesses only.
unsafe impl Sync for Made {}

/// How far a slot has been read. For reads that are no accesses for loom, because their result may
/// be discarded. loom executes a read at its place in the program, so it would not find a read that
/// a processor executes after the next write.
#[derive(Debug)]
pub(crate) struct Read(atomic::AtomicU64);

impl Read {
    /// Not at all.
    pub(crate) fn new() -> Self {
        Self(atomic::AtomicU64::new(0))
    }

    /// Before `position`.
    pub(crate) fn note(&self, position: u64) {
        let mut noted = self.0.load(Ordering::Relaxed);
        while noted == 0 || super::is_before(noted, position) {
            match self.0.compare_exchange(noted, position, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => noted = found,
            }
        }
    }

    /// Fails if the thread doesn't know that the slot has been read before `position`.
    pub(crate) fn is_over(&self, position: u64) {
        let noted = self.0.load(Ordering::Relaxed);
        assert!(noted == 0 || !super::is_before(noted, position), "written while it is read");
    }
}

/// Boxes that have been freed, and are kept so that no address is used twice.
#[derive(Debug)]
pub(crate) struct Freed<T>(RefCell<Vec<*mut T>>);

impl<T> Freed<T> {
    /// No boxes yet.
    pub(crate) fn new() -> Self {
        Self(RefCell::default())
    }

    /// From now on `value` counts as freed.
    ///
    /// # Safety
    ///
    /// `value` comes from a box, and is not used any more.
    pub(crate) unsafe fn add(&self, value: *mut T) {
        self.0.borrow_mut().push(value);
    }
}

impl<T> Drop for Freed<T> {
    fn drop(&mut self) {
        for value in self.0.get_mut().drain(..) {
            // SAFETY: the contract of `add`.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

/// Makes an empty cell at a place that may hold anything.
///
/// # Safety
///
/// The place may be written.
pub(crate) unsafe fn empty_cell<T>(place: *mut UnsafeCell<MaybeUninit<T>>) {
    // SAFETY: the caller's contract.
    unsafe { place.write(UnsafeCell::new(MaybeUninit::uninit())) };
}

/// Calls `work`, which here may panic. On the machine it can't unwind.
pub(crate) fn without_unwinding<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// The value that the calling thread has stored last, where no other thread stores at the same
/// time: loom fails if one does.
#[track_caller]
pub(crate) fn own_load(variable: &AtomicU64) -> u64 {
    // SAFETY: loom checks it.
    unsafe { variable.value.unsync_load() }
}

/// Does nothing: here a thread is stopped only between two accesses, in program order.
pub fn keep_order() {}

/// Nothing: it changes no value.
pub fn prefetch_to_write(_: *const u8) {}

/// Nothing: it changes no value.
pub fn prefetch_to_read(_: *const u8) {}
