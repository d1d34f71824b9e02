//! Tasks on the stack of the thread that waits for them, and on the heap.

use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use super::Fork;
use super::latch::Latch;

/// The function that runs a task: the first field of each kind of task.
pub(super) struct Head(unsafe fn(NonNull<Head>, &Fork));

/// A task in a queue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Task(NonNull<Head>);

// SAFETY: tasks are made of calls that may go to another thread.
unsafe impl Send for Task {}

impl Task {
    /// Runs the task. It doesn't panic.
    ///
    /// # Safety
    ///
    /// Each task is run once, and not when its thread has taken it back.
    pub(super) unsafe fn run(self, fork: &Fork) {
        // SAFETY: a task is there until it was run.
        unsafe {
            let Head(run) = *self.0.as_ptr();
            run(self.0, fork);
        }
    }
}

/// A call on the stack of a thread that waits until it is over, or takes it back.
#[repr(C)]
pub(super) struct OnStack<F, R> {
    head: Head,
    call: UnsafeCell<ManuallyDrop<F>>,
    output: UnsafeCell<Option<thread::Result<R>>>,
    latch: Latch,
}

impl<F: FnOnce(&Fork) -> R, R> OnStack<F, R> {
    #[inline]
    pub(super) fn new(call: F) -> Self {
        Self {
            head: Head(Self::run),
            call: UnsafeCell::new(ManuallyDrop::new(call)),
            output: UnsafeCell::new(None),
            latch: Latch::default(),
        }
    }

    #[inline]
    pub(super) fn task(&self) -> Task {
        Task(NonNull::from(self).cast())
    }

    pub(super) fn latch(&self) -> &Latch {
        &self.latch
    }

    /// # Safety
    ///
    /// That of [`Task::run`]; `head` is that of an `OnStack<F, R>`.
    unsafe fn run(head: NonNull<Head>, fork: &Fork) {
        let own = head.as_ptr().cast::<Self>();
        // SAFETY: the call is taken once, and its thread doesn't look at the output, or free it,
        // before the latch is set.
        unsafe {
            let call = ManuallyDrop::take(&mut *(*own).call.get());
            let output = catch_unwind(AssertUnwindSafe(|| call(fork)));
            *(*own).output.get() = Some(output);
            Latch::set(&raw const (*own).latch);
        }
    }

    /// The call.
    ///
    /// # Safety
    ///
    /// The task was taken back, or was in no queue. The call is taken once.
    #[inline]
    pub(super) unsafe fn take(&self) -> F {
        // SAFETY: no other thread has the call, and none uses it after this.
        unsafe { ManuallyDrop::take(&mut *self.call.get()) }
    }

    /// The output, or the payload of the panic, when the latch is set.
    pub(super) fn into_output(self) -> thread::Result<R> {
        self.output.into_inner().expect("it was run before the latch was set")
    }
}

/// A call on the heap.
#[repr(C)]
struct OnHeap<F> {
    head: Head,
    call: F,
}

/// A task of a call on the heap. The caller waits for it, and is responsible for its lifetime.
pub(super) fn on_heap<F: FnOnce(&Fork)>(call: F) -> Task {
    let head = Head(run_boxed::<F>);
    Task(NonNull::from(Box::leak(Box::new(OnHeap { head, call }))).cast())
}

/// # Safety
///
/// That of [`Task::run`]; `head` is that of an `OnHeap<F>`.
unsafe fn run_boxed<F: FnOnce(&Fork)>(head: NonNull<Head>, fork: &Fork) {
    // SAFETY: it comes from `on_heap`, and is run once.
    let boxed = unsafe { Box::from_raw(head.as_ptr().cast::<OnHeap<F>>()) };
    (boxed.call)(fork);
}
