//! A worker that wakes one task wakes no other worker for it: mostly it runs the task itself at
//! once. If the calling task runs for long after that, this timer wakes another worker.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Wake};
use std::time::Duration;

use async_io::Timer;
use corelane::steal::pool::Handle;

use crate::home::Runnable;

/// The longest time for which a task waits behind a task that runs long while another worker
/// sleeps.
const LONG: Duration = Duration::from_millis(2);

/// The timer of an executor.
pub(crate) struct Watch {
    is_armed: AtomicBool,
    timer: Mutex<Timer>,
    handle: Weak<Handle<Runnable>>,
}

impl Watch {
    pub(crate) fn new(handle: &Arc<Handle<Runnable>>) -> Arc<Self> {
        let timer = Mutex::new(Timer::never());
        Arc::new(Self { is_armed: AtomicBool::new(false), timer, handle: Arc::downgrade(handle) })
    }

    /// A task was pushed of which no other worker knows.
    #[inline]
    pub(crate) fn arm(self: &Arc<Self>) {
        // Relaxed: `Local::push_last` and `Handle::wake` have fences. If the timer seems to be
        // armed, it finds the task when it ends.
        if !self.is_armed.load(Ordering::Relaxed) {
            self.set();
        }
    }

    /// The timer has its waker, and the waker the timer: this frees both.
    pub(crate) fn end(&self) {
        let mut timer = self.timer.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = std::mem::replace(&mut *timer, Timer::never());
        drop(timer);
        drop(ended);
    }

    #[cold]
    #[inline(never)]
    fn set(self: &Arc<Self>) {
        if self.is_armed.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut timer = self.timer.lock().unwrap_or_else(PoisonError::into_inner);
        timer.set_after(LONG);
        let waker = Arc::clone(self).into();
        let polled = Pin::new(&mut *timer).poll(&mut Context::from_waker(&waker));
        drop(timer);
        if polled.is_ready() {
            self.wake_by_ref();
        }
    }
}

impl Wake for Watch {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_armed.store(false, Ordering::Relaxed);
        if let Some(handle) = self.handle.upgrade() {
            handle.wake();
        }
    }
}
