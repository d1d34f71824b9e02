//! How the handles of a channel reach the queue.

use alloc::sync::Arc;
use core::cell::{Cell, RefCell};
use core::fmt;

use thread_local::ThreadLocal;

use crate::memory::Mutex;

/// What kind of handle it is: [`Shared`] or [`Exclusive`].
pub trait Access: sealed::Access {}

/// Handles that many threads may use at once, and that can be cloned.
///
/// Each thread that uses a handle has a part of its own in the channel, which all clones of the handle share.
#[derive(Debug)]
pub struct Shared;

/// A handle that one thread at a time may use. It takes a little less time for each call.
#[derive(Debug)]
pub struct Exclusive;

impl Access for Shared {}
impl Access for Exclusive {}

pub(super) mod sealed {
    /// Where a handle has its end of the queue.
    pub trait Access {
        type Of<H: Send>;

        fn new<H: Send>(end: H) -> Self::Of<H>;

        /// `work` must not use the same handle, or run code that does.
        fn with<H: Clone + Send, R>(of: &Self::Of<H>, work: impl FnOnce(&mut H) -> R) -> R;

        /// One more end.
        fn another<H: Clone + Send>(of: &Self::Of<H>) -> H;
    }
}

impl sealed::Access for Exclusive {
    type Of<H: Send> = RefCell<H>;

    fn new<H: Send>(end: H) -> RefCell<H> {
        RefCell::new(end)
    }

    #[inline(always)] // a call would cost more than the work
    fn with<H: Clone + Send, R>(of: &RefCell<H>, work: impl FnOnce(&mut H) -> R) -> R {
        work(&mut of.borrow_mut())
    }

    fn another<H: Clone + Send>(of: &RefCell<H>) -> H {
        of.borrow().clone()
    }
}

impl sealed::Access for Shared {
    type Of<H: Send> = Arc<PerThread<H>>;

    fn new<H: Send>(end: H) -> Arc<PerThread<H>> {
        Arc::new(PerThread { first: Mutex::new(end), ends: ThreadLocal::new() })
    }

    #[inline(always)] // a call would cost more than the work
    fn with<H: Clone + Send, R>(of: &Arc<PerThread<H>>, work: impl FnOnce(&mut H) -> R) -> R {
        if !HAS_ENDS.get() && !of.begin() {
            return work(&mut of.first.lock());
        }
        work(&mut of.ends.get_or(|| of.duplicate()).borrow_mut())
    }

    fn another<H: Clone + Send>(of: &Arc<PerThread<H>>) -> H {
        of.first.lock().clone()
    }
}

std::thread_local! {
    /// Whether this thread may have ends of its own: not yet, or until its local variables are destroyed.
    static HAS_ENDS: Cell<bool> = const { Cell::new(false) };
    static ENDING: Ending = const { Ending };
}

/// Dropped when the thread ends, and before what `ThreadLocal` knows of it.
struct Ending;

impl Drop for Ending {
    fn drop(&mut self) {
        HAS_ENDS.set(false);
    }
}

/// An end for each thread.
pub struct PerThread<H: Send> {
    /// The one that is cloned.
    first: Mutex<H>,
    ends: ThreadLocal<RefCell<H>>,
}

impl<H: Clone + Send> PerThread<H> {
    /// Whether this thread may have an end of its own. Otherwise it is ending.
    #[cold]
    #[inline(never)]
    fn begin(&self) -> bool {
        // `ENDING` is destroyed, or it is used for the first time now, after `ends`: then it is destroyed before it.
        let is_ending = ENDING.try_with(|_| self.ends.get_or(|| self.duplicate())).is_err();
        HAS_ENDS.set(!is_ending);
        !is_ending
    }

    #[cold]
    #[inline(never)]
    fn duplicate(&self) -> RefCell<H> {
        RefCell::new(self.first.lock().clone())
    }
}

impl<H: Send> fmt::Debug for PerThread<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerThread").finish_non_exhaustive()
    }
}
