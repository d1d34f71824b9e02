// Above 500 lines: one world, to be read beside the other two.

//! The machine's memory: every item here is a re-export or inlines to nothing.

use core::mem::MaybeUninit;
use core::ptr::NonNull;

pub use portable_atomic::AtomicU128;

use core::sync::atomic::compiler_fence;
pub use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, fence};

use super::Ordering;

/// Two fences that order each other as two `SeqCst` fences do. Where the system supports it, one of
/// them costs its thread nothing.
///
/// Then the light fence is only a fence for the compiler, and the heavy fence asks the system to
/// run a fence on each core that runs a thread of this process, which takes microseconds.
#[derive(Debug, Clone, Copy)]
pub struct Barrier {
    is_light: bool,
    /// Between threads of several processes.
    is_wide: bool,
}

impl Barrier {
    /// The cheapest pair that the system has.
    #[expect(clippy::new_without_default, reason = "the facade has no defaults")]
    pub fn new() -> Self {
        Self { is_light: system::can_fence(), is_wide: false }
    }

    /// A pair between threads of several processes, in which some threads may have other fences
    /// than this one.
    pub fn between_processes() -> Self {
        Self { is_light: system::can_fence_processes(), is_wide: true }
    }

    /// The fence of the thread that must not be slow.
    #[inline(always)]
    pub fn light(self) {
        match self.is_light {
            true => compiler_fence(Ordering::SeqCst),
            false => fence(Ordering::SeqCst),
        }
    }

    /// Whether the light fence costs nothing.
    pub fn is_light(self) -> bool {
        self.is_light
    }

    /// The light fence, if that costs nothing, and then whether a relaxed load finds `expected`. If
    /// not, there may have been no fence.
    #[inline(always)]
    pub fn light_finds(self, value: &AtomicU64, expected: impl FnOnce() -> u64) -> bool {
        compiler_fence(Ordering::SeqCst);
        // Read after the value: an instruction can compare it in memory.
        value.load(Ordering::Relaxed) == expected()
    }

    /// The light fence, if that costs nothing, and then whether a relaxed load finds one of the
    /// bits `mask`. If so, there may have been no fence. Where the light fence is not free, the
    /// bits must always be set.
    #[inline(always)]
    pub fn light_has(self, value: &AtomicU64, mask: u64) -> bool {
        compiler_fence(Ordering::SeqCst);
        value.load(Ordering::Relaxed) & mask != 0
    }

    /// The light fence, and then a relaxed load. If the value is not 0, there may have been no
    /// fence.
    #[inline(always)]
    pub fn light_load(self, value: &AtomicU64) -> u64 {
        self.light();
        value.load(Ordering::Relaxed)
    }

    /// As [`light_load`](Self::light_load), of the bits of `mask`.
    #[inline(always)]
    pub fn light_load_u32(self, value: &AtomicU32, mask: u32) -> u32 {
        self.light();
        value.load(Ordering::Relaxed) & mask
    }

    /// The fence of the other thread. `false` if the system has refused it: then nothing is
    /// ordered.
    #[cold]
    #[must_use]
    pub fn heavy(self) -> bool {
        if self.is_wide {
            return system::fence_processes();
        }
        if self.is_light {
            return system::fence();
        }
        fence(Ordering::SeqCst);
        true
    }
}

/// Fences on all cores by the operating system.
#[cfg(all(feature = "std", target_os = "linux"))]
mod system {
    use rustix::thread::{MembarrierCommand, membarrier};
    use std::sync::OnceLock;

    /// Whether the system can fence the threads of this process.
    pub(super) fn can_fence() -> bool {
        static CAN: OnceLock<bool> = OnceLock::new();
        *CAN.get_or_init(announce)
    }

    /// Announces the process: only then the system fences its threads.
    fn announce() -> bool {
        membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
    }

    pub(super) fn fence() -> bool {
        let fence = || membarrier(MembarrierCommand::PrivateExpedited).is_ok();
        // A process that was forked must be announced anew.
        fence() || announce() && fence()
    }

    /// Whether the system can fence the threads of this process at the request of others.
    pub(super) fn can_fence_processes() -> bool {
        membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
    }

    /// Fences the threads of all processes that were announced.
    pub(super) fn fence_processes() -> bool {
        membarrier(MembarrierCommand::GlobalExpedited).is_ok()
    }
}

#[cfg(not(all(feature = "std", target_os = "linux")))]
mod system {
    pub(super) fn can_fence() -> bool {
        false
    }

    pub(super) fn fence() -> bool {
        unreachable!("the system can't")
    }

    pub(super) fn can_fence_processes() -> bool {
        false
    }

    pub(super) fn fence_processes() -> bool {
        false
    }
}

/// The compiler keeps all accesses before this call before those after it. If this process dies
/// between them, another process finds only the former.
#[inline(always)]
pub fn keep_order() {
    compiler_fence(Ordering::SeqCst);
}

/// The value that the calling thread has stored last, where no other thread stores at the same
/// time.
#[inline(always)]
pub(crate) fn own_load(variable: &AtomicU64) -> u64 {
    variable.load(Ordering::Relaxed)
}

/// Fetches the line at `address` into this core's cache, to be written soon. The address need not
/// be valid.
///
/// `_mm_prefetch` fetches the line for reading if the target isn't known to have `prefetchw`.
/// Intel's processors before Broadwell execute `prefetchw` as no operation.
#[inline(always)]
pub fn prefetch_to_write(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch never faults, and changes no memory.
    unsafe {
        core::arch::asm!(
            "prefetchw [{}]",
            in(reg) address.addr(),
            options(nostack, preserves_flags, nomem)
        );
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!(
            "prfm pstl1keep, [{}]",
            in(reg) address.addr(),
            options(nostack, preserves_flags, nomem)
        );
    }
    let _ = address;
}

/// Fetches the line at `address` into this core's cache, to be read soon. The address need not be
/// valid.
#[inline(always)]
pub fn prefetch_to_read(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch never faults, and changes no memory.
    unsafe {
        core::arch::asm!(
            "prefetcht0 [{}]",
            in(reg) address.addr(),
            options(nostack, preserves_flags, nomem)
        );
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!(
            "prfm pldl1keep, [{}]",
            in(reg) address.addr(),
            options(nostack, preserves_flags, nomem)
        );
    }
    let _ = address;
}

/// Waits for about `spins` turns of a spin loop.
#[inline]
pub fn pause(spins: u32) {
    for _ in 0..spins {
        core::hint::spin_loop();
    }
}

/// Whether an [`AtomicU128`] works without a lock.
pub fn can_exchange_two_words() -> bool {
    AtomicU128::is_lock_free()
}

#[cfg(feature = "std")]
pub use locks::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(not(feature = "std"))]
pub(crate) use spinning::Mutex;

/// A lock that needs no operating system.
#[cfg(not(feature = "std"))]
mod spinning {
    use core::cell::UnsafeCell;
    use core::ops::{Deref, DerefMut};
    use core::sync::atomic::{AtomicBool, Ordering};

    /// A value that one thread at a time may access.
    #[derive(Debug)]
    pub(crate) struct Mutex<T> {
        is_taken: AtomicBool,
        value: UnsafeCell<T>,
    }

    // SAFETY: only the thread that has taken the lock accesses the value.
    unsafe impl<T: Send> Sync for Mutex<T> {}

    impl<T> Mutex<T> {
        /// A lock around `value`.
        pub(crate) const fn new(value: T) -> Self {
            Self { is_taken: AtomicBool::new(false), value: UnsafeCell::new(value) }
        }

        /// Waits until no other thread has access.
        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            // Acquire ↔ Release in `drop`: the value.
            while self.is_taken.swap(true, Ordering::Acquire) {
                super::pause(1);
            }
            MutexGuard(self)
        }
    }

    /// Access to the value of a [`Mutex`].
    pub(crate) struct MutexGuard<'a, T>(&'a Mutex<T>);

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            // SAFETY: this guard has taken the lock, and is not accessed mutably.
            unsafe { &*self.0.value.get() }
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            // SAFETY: this guard has taken the lock, and is not accessed otherwise.
            unsafe { &mut *self.0.value.get() }
        }
    }

    impl<T> Drop for MutexGuard<'_, T> {
        fn drop(&mut self) {
            // Release ↔ Acquire in `lock`: the value.
            self.0.is_taken.store(false, Ordering::Release);
        }
    }
}

/// The standard library's locks, without poison: no algorithm panics behind one, and what users do
/// to a value before they panic is the value.
#[cfg(feature = "std")]
mod locks {
    use std::sync::{self, PoisonError};

    pub use std::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

    /// A value that one thread at a time may access.
    #[derive(Debug)]
    pub struct Mutex<T>(sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// A lock around `value`.
        pub const fn new(value: T) -> Self {
            Self(sync::Mutex::new(value))
        }

        /// Waits until no other thread has access.
        #[inline]
        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    /// A value that several threads at a time may read, or one may write.
    #[derive(Debug)]
    pub struct RwLock<T>(sync::RwLock<T>);

    impl<T> RwLock<T> {
        /// A lock around `value`.
        pub const fn new(value: T) -> Self {
            Self(sync::RwLock::new(value))
        }

        /// Waits until no other thread may write.
        #[inline]
        pub fn read(&self) -> RwLockReadGuard<'_, T> {
            self.0.read().unwrap_or_else(PoisonError::into_inner)
        }

        /// Waits until no other thread has access.
        #[inline]
        pub fn write(&self) -> RwLockWriteGuard<'_, T> {
            self.0.write().unwrap_or_else(PoisonError::into_inner)
        }
    }

    /// A condition variable: a thread waits for it, and gives its lock to others meanwhile.
    #[derive(Debug)]
    pub struct Condvar(sync::Condvar);

    impl Condvar {
        /// A condition variable for which no thread waits.
        #[expect(clippy::new_without_default, reason = "the facade has no defaults")]
        pub const fn new() -> Self {
            Self(sync::Condvar::new())
        }

        /// Gives the lock back, sleeps until a notification or a spurious wake-up, and takes the
        /// lock again.
        pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
            self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
        }

        /// Wakes one of the threads that wait.
        #[inline]
        pub fn notify_one(&self) {
            self.0.notify_one();
        }

        /// Wakes all threads that wait.
        #[inline]
        pub fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

/// The time since any moment, in units of the machine.
#[cfg(all(feature = "std", feature = "literature"))]
#[inline]
pub(crate) fn time() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: all processors of this kind have the instruction.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    {
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        START.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64
    }
}

#[cfg(feature = "std")]
pub(crate) use threads::{Parker, nap, processor_use, timed_yield, yield_now};

/// Threads that sleep.
#[cfg(feature = "std")]
mod threads {
    use alloc::sync::Arc;
    use alloc::task::Wake;
    use core::task::Waker;
    use std::thread::{self, Thread};
    use std::time::{Duration, Instant};

    use crate::memory::ProcessorUse;

    pub(crate) use std::thread::yield_now;

    /// Lets other threads run. Returns for how long.
    pub(crate) fn timed_yield() -> Duration {
        let begin = Instant::now();
        yield_now();
        begin.elapsed()
    }

    /// What this thread has taken of its processor until now. Only on Linux.
    #[cfg(target_os = "linux")]
    pub(crate) fn processor_use() -> Option<ProcessorUse> {
        let mut usage = core::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the call writes no more than a `rusage`, and zeros are one, too.
        let usage = unsafe {
            let failed = libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
            (failed == 0).then(|| usage.assume_init())?
        };
        let time = |time: libc::timeval| {
            let us = u64::try_from(time.tv_usec).unwrap_or_default();
            Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or_default())
                + Duration::from_micros(us)
        };
        let busy = time(usage.ru_utime) + time(usage.ru_stime);
        Some(ProcessorUse { busy, sleeps: u64::try_from(usage.ru_nvcsw).ok()? })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn processor_use() -> Option<ProcessorUse> {
        None
    }

    /// Sleeps for a millisecond. `false` in worlds without a clock.
    pub(crate) fn nap() -> bool {
        thread::sleep(Duration::from_millis(1));
        true
    }

    /// A thread that can be woken.
    struct Sleeper(Thread);

    impl Wake for Sleeper {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }

        fn wake_by_ref(self: &Arc<Self>) {
            self.0.unpark();
        }
    }

    /// Where one thread sleeps.
    pub(crate) struct Parker(Waker);

    impl Parker {
        /// Of the calling thread.
        pub(crate) fn new() -> Self {
            Self(Waker::from(Arc::new(Sleeper(thread::current()))))
        }

        /// Wakes the thread.
        pub(crate) fn waker(&self) -> &Waker {
            &self.0
        }

        /// Sleeps until this thread is woken, a spurious wake-up, or `until`. If it was woken since
        /// the last sleep, it returns at once.
        pub(crate) fn park(&self, until: Option<Instant>) {
            match until {
                None => thread::park(),
                Some(until) => {
                    thread::park_timeout(until.saturating_duration_since(Instant::now()));
                }
            }
        }
    }
}

/// A value whose accesses the algorithm orders.
#[derive(Debug)]
#[repr(transparent)]
pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// A cell that holds `value`.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Reads through `f`.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    /// Writes through `f`.
    #[inline]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// Makes an empty cell at a place that may hold anything. Not
/// `write(UnsafeCell::new(MaybeUninit::uninit()))`: without optimisation that makes the cell on the
/// stack first, however large it is.
///
/// # Safety
///
/// The place may be written.
#[inline(always)]
pub(crate) unsafe fn empty_cell<T>(_: *mut UnsafeCell<MaybeUninit<T>>) {
    // It is transparent, so it holds anything.
}

/// The slots of a ring: a power of two of them, addressed by positions that only grow.
///
/// A position is reduced to an index here and nowhere else. Slots are contiguous, so a run of slots
/// can be lent as a slice. The algorithm decides when a slot may be accessed.
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
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.mask + 1
    }

    /// Address of the slot at `position`.
    #[inline]
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
    #[inline]
    pub unsafe fn write(&self, position: u64, item: T) {
        // SAFETY: the caller's contract.
        unsafe { self.slot(position).write(MaybeUninit::new(item)) };
    }

    /// Moves the item out of the slot at `position`.
    ///
    /// # Safety
    ///
    /// The slot holds an item, which counts as moved after this call, and no write to it is
    /// concurrent.
    #[inline]
    pub unsafe fn read(&self, position: u64) -> T {
        // SAFETY: the caller's contract.
        unsafe { self.slot(position).read().assume_init() }
    }

    /// First of the `n` slots from `position` on, to be written next.
    ///
    /// The run must not cross the end of the ring.
    #[inline]
    pub fn run_to_fill(&self, position: u64, _n: usize) -> *mut MaybeUninit<T> {
        self.slot(position)
    }

    /// First of the `n` slots from `position` on, to be read next.
    ///
    /// The run must not cross the end of the ring.
    #[inline]
    pub fn run_to_empty(&self, position: u64, _n: usize) -> *mut MaybeUninit<T> {
        self.slot(position)
    }
}

/// Slots at positions that are larger than their own.
#[derive(Debug)]
pub struct Shifted<T>(*mut MaybeUninit<T>);

impl<T> Clone for Shifted<T> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<T> Shifted<T> {
    /// As [`Cells::write`].
    ///
    /// # Safety
    ///
    /// As there. There is a slot at `position`.
    #[inline]
    pub unsafe fn write(&self, position: u64, item: T) {
        // SAFETY: the caller's contract.
        unsafe { self.0.wrapping_add(position as usize).write(MaybeUninit::new(item)) };
    }

    /// As [`Cells::read`].
    ///
    /// # Safety
    ///
    /// As there. There is a slot at `position`.
    #[inline]
    pub unsafe fn read(&self, position: u64) -> T {
        // SAFETY: the caller's contract.
        unsafe { self.0.wrapping_add(position as usize).read().assume_init() }
    }
}

impl<T> Cells<T> {
    /// These slots, at positions that are larger by `offset`.
    pub fn shifted(&self, offset: u64) -> Shifted<T> {
        Shifted(self.base.as_ptr().wrapping_sub(offset as usize))
    }
}

/// Calls `work` out of line, for the rare work of a handle. If `work` panics, the process is
/// aborted.
///
/// Unwinding drops the handle, and for this the handle needs an address. So a loop that owns a
/// handle, and makes a call that may unwind, even rarely, would keep the handle in memory in each
/// turn, and not in registers.
#[inline(always)]
pub(crate) fn without_unwinding<R>(work: impl FnOnce() -> R) -> R {
    #[cold]
    #[inline(never)]
    // In C's calling convention no call unwinds.
    extern "C" fn call<R, W: FnOnce() -> R>(work: W) -> R {
        work()
    }
    call(work)
}
