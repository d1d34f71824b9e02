//! Senders that don't keep a channel open.

use alloc::sync::Arc;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};

use super::Sender;
use super::access::PerThread;
use super::common::{Common, End};
use super::ends::Tx;

/// A sender that doesn't keep the channel open: when all [`Sender`]s are gone, the channel is
/// disconnected. From [`Sender::downgrade`].
///
/// ```
/// use corelane::channel;
///
/// let (tx, rx) = channel::unbounded();
/// let weak = tx.downgrade();
/// weak.upgrade().unwrap().send(1).unwrap();
/// drop(tx);
/// assert!(weak.upgrade().is_none());
/// assert_eq!(rx.iter().collect::<Vec<_>>(), [1]);
/// ```
pub struct WeakSender<T> {
    end: Arc<PerThread<End<Tx<T>>>>,
    common: Arc<Common<T>>,
}

// SAFETY: as for `Sender`.
unsafe impl<T: Send> Send for WeakSender<T> {}
// SAFETY: as for `Sender`.
unsafe impl<T: Send> Sync for WeakSender<T> {}

// As for `Sender`.
impl<T> UnwindSafe for WeakSender<T> {}
impl<T> RefUnwindSafe for WeakSender<T> {}
impl<T> Unpin for WeakSender<T> {}

impl<T> WeakSender<T> {
    pub(super) fn new(end: Arc<PerThread<End<Tx<T>>>>, common: Arc<Common<T>>) -> Self {
        common.enter_weak_sender();
        Self { end, common }
    }

    /// A sender, unless all senders are gone.
    pub fn upgrade(&self) -> Option<Sender<T>> {
        let entered = self.common.enter_sender_again();
        entered.then(|| Sender::of_end(self.end.clone(), self.common.clone()))
    }

    /// The number of senders that keep the channel open.
    pub fn sender_count(&self) -> usize {
        self.common.counts().senders
    }

    /// The number of weak senders.
    pub fn weak_sender_count(&self) -> usize {
        self.common.counts().weak_senders
    }

    /// The number of receivers.
    pub fn receiver_count(&self) -> usize {
        self.common.counts().receivers
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        Self::new(self.end.clone(), self.common.clone())
    }
}

impl<T> Drop for WeakSender<T> {
    fn drop(&mut self) {
        self.common.leave_weak_sender();
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("WeakSender { .. }")
    }
}
