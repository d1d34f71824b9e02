// Above 500 lines: one world, to be read beside the other two.

//! Simulated memory: every access counts in a model of caches, and for its caller's line.
//!
//! Variables have their real size and place, so they share cache lines as on the machine. Outside
//! of a simulation they are the machine's variables, so that queues can be made and inspected.
//!
//! While a simulation runs, no other thread may use its queues: its threads are coroutines of one
//! host thread. The simulator orders their accesses, not the machine.

mod wide;

use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic;
use core::time::Duration;

use coherence::is_simulated;

pub use wide::{AtomicU128, can_exchange_two_words};

use super::Ordering;

/// Atomics whose accesses are simulated where there is a simulation.
macro_rules! atomics {
    ($($(#[$doc:meta])* $name:ident $(<$T:ident>)? = $value:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct $name $(<$T>)? (atomic::$name $(<$T>)?);

        #[allow(dead_code, reason = "the facade is the same for each type")]
        #[allow(clippy::not_unsafe_ptr_arg_deref, reason = "a pointer is only a value here")]
        impl $(<$T>)? $name $(<$T>)? {
            /// An atomic that holds `value`.
            pub fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }

            /// Reads the value.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                match is_simulated() {
                    // SAFETY: the pointer is to an atomic of this type, which only this simulation
                    // uses.
                    true => unsafe { coherence::load(self.0.as_ptr()) },
                    false => self.0.load(order),
                }
            }

            /// Writes `value`.
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                match is_simulated() {
                    // SAFETY: as in `load`; an atomic that is dropped is forgotten, and an end that
                    // leaves its queue waits for its stores.
                    true => unsafe { coherence::store(self.0.as_ptr(), value) },
                    false => self.0.store(value, order),
                }
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
                if !is_simulated() {
                    return self.0.compare_exchange(current, new, success, failure);
                }
                let update = |old| (old == current).then_some(new);
                // SAFETY: as in `load`.
                let old = unsafe { coherence::rmw(self.0.as_ptr(), update) };
                if old == current { Ok(old) } else { Err(old) }
            }

            /// As [`compare_exchange`](Self::compare_exchange).
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }
        }

        impl $(<$T>)? Drop for $name $(<$T>)? {
            fn drop(&mut self) {
                coherence::forget(self.0.as_ptr());
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
        match is_simulated() {
            // SAFETY: as in `load`.
            true => unsafe { coherence::rmw(self.0.as_ptr(), |old| Some(old | value)) },
            false => self.0.fetch_or(value, order),
        }
    }
}

impl AtomicU64 {
    /// Adds `value`, and returns the old value.
    #[track_caller]
    pub fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        match is_simulated() {
            // SAFETY: as in `load`.
            true => unsafe { coherence::rmw(self.0.as_ptr(), |old| Some(old.wrapping_add(value))) },
            false => self.0.fetch_add(value, order),
        }
    }

    /// Writes `value`, and returns the old value.
    #[track_caller]
    pub fn swap(&self, value: u64, order: Ordering) -> u64 {
        match is_simulated() {
            // SAFETY: as in `load`.
            true => unsafe { coherence::rmw(self.0.as_ptr(), |_| Some(value)) },
            false => self.0.swap(value, order),
        }
    }

    /// Sets the bits of `value`, and returns the old value.
    #[track_caller]
    pub fn fetch_or(&self, value: u64, order: Ordering) -> u64 {
        match is_simulated() {
            // SAFETY: as in `load`.
            true => unsafe { coherence::rmw(self.0.as_ptr(), |old| Some(old | value)) },
            false => self.0.fetch_or(value, order),
        }
    }

    /// Keeps the bits of `value` only, and returns the old value.
    #[track_caller]
    pub fn fetch_and(&self, value: u64, order: Ordering) -> u64 {
        match is_simulated() {
            // SAFETY: as in `load`.
            true => unsafe { coherence::rmw(self.0.as_ptr(), |old| Some(old & value)) },
            false => self.0.fetch_and(value, order),
        }
    }
}

/// Orders the accesses before it and those after it. All fences but the strongest are free on a
/// machine that keeps stores in order.
#[track_caller]
pub fn fence(order: Ordering) {
    match is_simulated() {
        true if order == Ordering::SeqCst => coherence::fence(),
        true => {}
        false => atomic::fence(order),
    }
}

/// Two fences that order each other as two `SeqCst` fences do: see `real.rs`.
#[derive(Debug, Clone, Copy)]
pub struct Barrier;

/// Turns of a spin loop that a heavy fence takes, some microseconds.
const HEAVY: u32 = 100;

impl Barrier {
    /// A pair.
    #[expect(clippy::new_without_default, reason = "the facade has no defaults")]
    pub fn new() -> Self {
        Self
    }

    /// The fence of the thread that must not be slow.
    #[track_caller]
    pub fn light(self) {
        if !is_simulated() {
            atomic::fence(Ordering::SeqCst);
        }
    }

    /// Whether the light fence costs nothing.
    pub fn is_light(self) -> bool {
        true
    }

    /// The light fence, and then whether a relaxed load finds `expected`.
    #[track_caller]
    pub fn light_finds(self, value: &AtomicU64, expected: impl FnOnce() -> u64) -> bool {
        self.light();
        value.load(Ordering::Relaxed) == expected()
    }

    /// The light fence, and then whether a relaxed load finds one of the bits `mask`.
    #[track_caller]
    pub fn light_has(self, value: &AtomicU64, mask: u64) -> bool {
        self.light();
        value.load(Ordering::Relaxed) & mask != 0
    }

    /// The light fence, and then a relaxed load. If the value is not 0, there may have been no
    /// fence.
    #[track_caller]
    pub fn light_load(self, value: &AtomicU64) -> u64 {
        self.light();
        value.load(Ordering::Relaxed)
    }

    /// As [`light_load`](Self::light_load), of the bits of `mask`.
    #[track_caller]
    pub fn light_load_u32(self, value: &AtomicU32, mask: u32) -> u32 {
        self.light();
        value.load(Ordering::Relaxed) & mask
    }

    /// The fence of the other thread. It is never refused.
    #[track_caller]
    pub fn heavy(self) -> bool {
        if is_simulated() {
            coherence::fence_all();
            // The time that the system takes for it.
            pause(HEAVY);
        } else {
            atomic::fence(Ordering::SeqCst);
        }
        true
    }
}

/// The value that the calling thread has stored last, where no other thread stores at the same
/// time.
#[track_caller]
pub(crate) fn own_load(variable: &AtomicU64) -> u64 {
    variable.load(Ordering::Relaxed)
}

/// Does nothing: here a thread is stopped only between two accesses, in program order.
pub fn keep_order() {}

/// Nothing: it changes no value.
pub fn prefetch_to_write(_: *const u8) {}

/// Nothing: it changes no value.
pub fn prefetch_to_read(_: *const u8) {}

/// Waits for about `spins` turns of a spin loop.
pub fn pause(spins: u32) {
    coherence::pause(spins);
}

/// A value whose accesses the algorithm orders.
#[derive(Debug)]
#[repr(transparent)]
pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// A cell that holds `value`.
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Reads through `f`.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        coherence::read(self.0.get(), size_of::<T>());
        f(self.0.get())
    }

    /// Writes through `f`.
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        coherence::write(self.0.get(), size_of::<T>());
        f(self.0.get())
    }
}

/// A value that one thread at a time may access.
///
/// Taking the lock and giving it back are a read-modify-write each, on one word beside the value,
/// as in the operating system's lock. A thread that finds the lock taken reads the word until the
/// lock is free; a real thread would sleep after a while. So there are as many misses, but sleeping
/// and waking cost nothing here.
#[derive(Debug)]
pub struct Mutex<T> {
    is_taken: AtomicBool,
    value: core::cell::UnsafeCell<T>,
}

// SAFETY: only the thread that has taken the lock accesses the value.
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    /// A lock around `value`.
    pub fn new(value: T) -> Self {
        Self { is_taken: AtomicBool::new(false), value: core::cell::UnsafeCell::new(value) }
    }

    /// Waits until no other thread has access.
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let take =
            || self.is_taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        while take().is_err() {
            while self.is_taken.load(Ordering::Relaxed) {
                pause(1);
            }
        }
        MutexGuard(self)
    }
}

/// Access to the value of a [`Mutex`].
#[derive(Debug)]
pub struct MutexGuard<'a, T>(&'a Mutex<T>);

impl<T> core::ops::Deref for MutexGuard<'_, T> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        let value = self.0.value.get();
        coherence::read(value, size_of::<T>());
        // SAFETY: this guard has taken the lock, and is not accessed mutably.
        unsafe { &*value }
    }
}

impl<T> core::ops::DerefMut for MutexGuard<'_, T> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        let value = self.0.value.get();
        coherence::write(value, size_of::<T>());
        // SAFETY: this guard has taken the lock, and is not accessed otherwise.
        unsafe { &mut *value }
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        let taken = &self.0.is_taken;
        let given = taken.compare_exchange(true, false, Ordering::Release, Ordering::Relaxed);
        debug_assert!(given.is_ok());
    }
}

/// A value that several threads at a time may read, or one may write.
///
/// As [`Mutex`]: a thread that waits reads until the lock is free.
#[derive(Debug)]
pub struct RwLock<T> {
    /// Number of readers, or [`WRITTEN`].
    users: AtomicU64,
    value: core::cell::UnsafeCell<T>,
}

/// A thread may write.
const WRITTEN: u64 = u64::MAX;

// SAFETY: the threads that have taken the lock either all read, or there is one of them.
unsafe impl<T: Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    /// A lock around `value`.
    pub fn new(value: T) -> Self {
        Self { users: AtomicU64::new(0), value: core::cell::UnsafeCell::new(value) }
    }

    /// Waits until no other thread may write.
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        loop {
            let users = self.users.load(Ordering::Relaxed);
            if users != WRITTEN && self.exchange(users, users + 1, Ordering::Acquire) {
                return RwLockReadGuard(self);
            }
            pause(1);
        }
    }

    /// Waits until no other thread has access.
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        while !self.exchange(0, WRITTEN, Ordering::Acquire) {
            while self.users.load(Ordering::Relaxed) != 0 {
                pause(1);
            }
        }
        RwLockWriteGuard(self)
    }

    #[track_caller]
    fn exchange(&self, users: u64, new: u64, order: Ordering) -> bool {
        self.users.compare_exchange(users, new, order, Ordering::Relaxed).is_ok()
    }
}

/// Shared access to the value of a [`RwLock`].
#[derive(Debug)]
pub struct RwLockReadGuard<'a, T>(&'a RwLock<T>);

impl<T> core::ops::Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        let value = self.0.value.get();
        coherence::read(value, size_of::<T>());
        // SAFETY: this guard is one of readers.
        unsafe { &*value }
    }
}

impl<T> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.0.users.fetch_add(u64::MAX, Ordering::Release); // one less
    }
}

/// The only access to the value of a [`RwLock`].
#[derive(Debug)]
pub struct RwLockWriteGuard<'a, T>(&'a RwLock<T>);

impl<T> core::ops::Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        let value = self.0.value.get();
        coherence::read(value, size_of::<T>());
        // SAFETY: this guard has taken the lock, and is not accessed mutably.
        unsafe { &*value }
    }
}

impl<T> core::ops::DerefMut for RwLockWriteGuard<'_, T> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        let value = self.0.value.get();
        coherence::write(value, size_of::<T>());
        // SAFETY: this guard has taken the lock, and is not accessed otherwise.
        unsafe { &mut *value }
    }
}

impl<T> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        let given = self.0.exchange(WRITTEN, 0, Ordering::Release);
        debug_assert!(given);
    }
}

/// Whether a thread was woken since it slept the last time.
#[derive(Debug)]
struct Token(AtomicBool);

impl std::task::Wake for Token {
    fn wake(self: std::sync::Arc<Self>) {
        // Read-modify-writes in both places: to wake a thread also orders what was done before.
        let _ = self.0.compare_exchange(false, true, Ordering::Release, Ordering::Relaxed);
    }
}

/// Where one thread sleeps. A thread that no other thread wakes sleeps for ever.
pub(crate) struct Parker(std::sync::Arc<Token>, std::task::Waker);

impl Parker {
    /// Of the calling thread.
    pub(crate) fn new() -> Self {
        let token = std::sync::Arc::new(Token(AtomicBool::new(false)));
        Self(token.clone(), token.into())
    }

    /// Wakes the thread.
    pub(crate) fn waker(&self) -> &std::task::Waker {
        &self.1
    }

    /// Sleeps until this thread is woken. With a deadline, for a while.
    pub(crate) fn park(&self, until: Option<std::time::Instant>) {
        let take = || {
            let token = &self.0.0;
            token.compare_exchange(true, false, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        while !take() && until.is_none() {
            while !self.0.0.load(Ordering::Relaxed) {
                pause(1);
            }
        }
    }
}

/// Lets other threads run.
pub(crate) fn yield_now() {
    pause(1);
}

/// The same. The time of the host is not that of the simulated machine.
pub(crate) fn timed_yield() -> Duration {
    yield_now();
    Duration::ZERO
}

/// Not known. The host's processors are not those of the simulated machine.
pub(crate) fn processor_use() -> Option<super::ProcessorUse> {
    None
}

/// The time of the calling thread's core.
#[cfg(feature = "literature")]
pub(crate) fn time() -> u64 {
    coherence::now().as_ps()
}

/// As in the real world.
pub(crate) fn nap() -> bool {
    false
}

/// A condition variable: a thread waits for it, and gives its lock to others meanwhile.
///
/// Each notification increments a count, as in the operating system's condition variable. A waiting
/// thread reads the count until it changes. Here all waiting threads see a notification that would
/// wake only one.
#[derive(Debug)]
pub struct Condvar(AtomicU64);

impl Condvar {
    /// A condition variable for which no thread waits.
    #[expect(clippy::new_without_default, reason = "the facade has no defaults")]
    pub fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Gives the lock back, waits for a notification, and takes the lock again.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let mutex = guard.0;
        let before = self.0.load(Ordering::Relaxed);
        drop(guard);
        while self.0.load(Ordering::Relaxed) == before {
            pause(1);
        }
        mutex.lock()
    }

    /// Wakes one of the threads that wait, or several.
    #[track_caller]
    pub fn notify_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Wakes all threads that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The slots of a ring, as in the real world.
#[derive(Debug)]
pub struct Cells<T> {
    base: NonNull<MaybeUninit<T>>,
    mask: usize,
}

impl<T> Clone for Cells<T> {
    fn clone(&self) -> Self {
        Self { base: self.base, mask: self.mask }
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
        Self { base, mask: len.next_power_of_two() - 1 }
    }

    /// Number of slots, of a ring whose length is a power of two.
    pub(crate) fn len(&self) -> usize {
        self.mask + 1
    }

    /// Address of the slot at `position`.
    pub(super) fn slot(&self, position: u64) -> *mut MaybeUninit<T> {
        // SAFETY: by the word of the caller of `new`, `base` is the first of the slots, and the
        // masked position is among them.
        unsafe { self.base.as_ptr().add(position as usize & self.mask) }
    }

    /// Writes `item` into the slot at `position`.
    ///
    /// # Safety
    ///
    /// The slot holds no item, and no other access to it is concurrent.
    #[track_caller]
    pub unsafe fn write(&self, position: u64, item: T) {
        let slot = self.run_to_fill(position, 1);
        // SAFETY: the caller's contract.
        unsafe { slot.write(MaybeUninit::new(item)) };
    }

    /// Moves the item out of the slot at `position`.
    ///
    /// # Safety
    ///
    /// The slot holds an item, which counts as moved after this call, and no write to it is
    /// concurrent.
    #[track_caller]
    pub unsafe fn read(&self, position: u64) -> T {
        let slot = self.run_to_empty(position, 1);
        // SAFETY: the caller's contract.
        unsafe { slot.read().assume_init() }
    }

    /// First of the `n` slots from `position` on, to be written next: all writes are counted here.
    ///
    /// The run must not cross the end of the ring.
    #[track_caller]
    pub fn run_to_fill(&self, position: u64, n: usize) -> *mut MaybeUninit<T> {
        let slot = self.slot(position);
        coherence::write(slot, n * size_of::<T>());
        slot
    }

    /// First of the `n` slots from `position` on, to be read next: all reads are counted here.
    ///
    /// The run must not cross the end of the ring.
    #[track_caller]
    pub fn run_to_empty(&self, position: u64, n: usize) -> *mut MaybeUninit<T> {
        let slot = self.slot(position);
        coherence::read(slot, n * size_of::<T>());
        slot
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
