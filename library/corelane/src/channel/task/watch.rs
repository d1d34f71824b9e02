// Above 500 lines: handles, futures and their documents.

//! One value that senders replace, and that receivers watch.
//!
//! A receiver gets the newest value, and not each one. So a slow receiver never holds senders up.
//! The calls and what they promise are those of Tokio's `sync::watch`. What goes beyond: threads
//! wait too, by [`Receiver::blocking_changed`] and [`Receiver::blocking_wait_for`].
//!
//! ```
//! use corelane::channel::task::watch;
//!
//! let (tx, mut rx) = watch::channel("starting");
//! let shown = std::thread::spawn(move || {
//!     while rx.blocking_changed().is_ok() {
//!         println!("{}", *rx.borrow_and_update());
//!     }
//!     *rx.borrow()
//! });
//! tx.send("running").unwrap();
//! tx.send("stopped").unwrap();
//! drop(tx);
//! assert_eq!(shown.join().unwrap(), "stopped");
//! ```
//!
//! | | |
//! |---|---|
//! | a send | replaces the value behind a lock, and wakes all receivers that wait |
//! | a look | keeps the lock until its [`Ref`] is dropped: meanwhile senders wait, and their threads are blocked |
//! | a receiver that looks late | gets the newest value; [`changed`](Receiver::changed) is ready once for all that was sent since the last look |
//! | all senders are gone | the last value stays; a receiver that has not seen it is told of it first |
//!
//! A thread that keeps a [`Ref`] must neither send nor look again: a sender may wait between the
//! two looks.

use alloc::sync::Arc;
use core::array;
use core::fmt;
use core::future::Future;
use core::mem;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::super::access::place_of_this_thread;
use super::{block, poll_task};
use crate::memory::{AtomicU64, Ordering, RwLock, RwLockReadGuard, limit};
use crate::wait::bell::{Bell, Look, Wait};
use crate::wait::thread::Habit;
use error::{RecvError, SendError};

/// A watched value, its first sender and its first receiver, which has seen the value `init`.
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let tx = Sender::new(init);
    let rx = tx.subscribe();
    (tx, rx)
}

struct Shared<T> {
    value: RwLock<T>,
    /// The version of the value, and [`CLOSED`]. Stored by senders with the lock for writing, and by
    /// the last one that goes.
    state: AtomicU64,
    senders: AtomicU64,
    receivers: AtomicU64,
    /// Receivers sleep here, each at the bell of its thread: otherwise those of several threads
    /// would wait for one lock. Senders take the lock of a bell once for all that sleep there.
    changed: [Bell; BELLS],
    /// Senders sleep here until there is no receiver.
    unwatched: Bell,
}

/// Number of bells at which receivers sleep. In models all threads have the same bell.
const BELLS: usize = limit(4, 1) as usize;

/// All senders are gone.
const CLOSED: u64 = 1;
/// From one version to the next.
const VERSION: u64 = 2;

/// The version that a state tells.
fn version(state: u64) -> u64 {
    state & !CLOSED
}

/// Nothing new has been found.
fn unless_closed<R>(state: u64) -> Look<Result<R, RecvError>> {
    match state & CLOSED {
        0 => Look::NotYet,
        _ => Look::Done(Err(RecvError(()))),
    }
}

impl<T> Shared<T> {
    /// Where a receiver sleeps whose wait begins on this thread.
    #[inline]
    fn changed(&self) -> &Bell {
        &self.changed[place_of_this_thread(BELLS)]
    }

    /// Whether the value is newer than `seen`, which is then its version. The error says that it is
    /// not, and never will be.
    #[inline]
    fn look(&self, seen: &mut u64) -> Look<Result<(), RecvError>> {
        // Acquire ↔ Release in `send_if_modified` and `Sender::drop`: what the sender did before.
        let state = self.state.load(Ordering::Acquire);
        if mem::replace(seen, version(state)) != version(state) {
            return Look::Done(Ok(()));
        }
        unless_closed(state)
    }

    /// The value, if it is accepted. It is shown in the first look, and if it is newer than `seen`.
    fn look_for<'a>(
        &'a self,
        seen: &mut u64,
        is_first: bool,
        accepts: &mut impl FnMut(&T) -> bool,
    ) -> Look<Result<Ref<'a, T>, RecvError>> {
        // Acquire ↔ Release as in `look`. A state that is closed has the last version.
        let state = self.state.load(Ordering::Acquire);
        if is_first || version(state) != *seen {
            let value = self.borrow_and_update(seen);
            if accepts(&value) {
                return Look::Done(Ok(value));
            }
        }
        unless_closed(state)
    }

    fn borrow(&self, seen: u64) -> Ref<'_, T> {
        let value = self.value.read();
        // Relaxed, here and below: the lock orders it.
        let has_changed = version(self.state.load(Ordering::Relaxed)) != seen;
        Ref { value, has_changed }
    }

    fn borrow_and_update(&self, seen: &mut u64) -> Ref<'_, T> {
        let value = self.value.read();
        let newest = version(self.state.load(Ordering::Relaxed));
        let has_changed = mem::replace(seen, newest) != newest;
        Ref { value, has_changed }
    }

    fn is_unwatched(&self) -> bool {
        // Relaxed: it promises nothing else.
        self.receivers.load(Ordering::Relaxed) == 0
    }
}

/// Replaces the value. All senders of a channel are alike.
pub struct Sender<T>(Arc<Shared<T>>);

/// Watches the value. Each receiver remembers which value it has seen.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The version that it has seen.
    seen: u64,
    habit: Habit,
}

/// The value, which no sender replaces until this is dropped.
#[derive(Debug)]
pub struct Ref<'a, T> {
    value: RwLockReadGuard<'a, T>,
    has_changed: bool,
}

impl<T> Ref<'_, T> {
    /// Whether the receiver had not seen the value before. Of a sender it is false.
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Sender<T> {
    /// The sender of a value that has no receiver yet.
    ///
    /// ```
    /// use corelane::channel::task::watch;
    ///
    /// let tx = watch::Sender::new(1);
    /// assert!(tx.is_closed() && tx.send(2).is_err());
    /// let rx = tx.subscribe();
    /// tx.send(3).unwrap();
    /// assert_eq!(*rx.borrow(), 3);
    /// ```
    pub fn new(init: T) -> Self {
        Self(Arc::new(Shared {
            value: RwLock::new(init),
            state: AtomicU64::new(0),
            senders: AtomicU64::new(1),
            receivers: AtomicU64::new(0),
            changed: array::from_fn(|_| Bell::default()),
            unwatched: Bell::default(),
        }))
    }

    /// Replaces the value, and wakes all receivers that wait.
    ///
    /// # Errors
    ///
    /// If there is no receiver. The error has the new value, and the old one stays.
    #[inline]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        match self.0.is_unwatched() {
            true => Err(SendError(value)),
            false => {
                self.send_replace(value);
                Ok(())
            }
        }
    }

    /// Changes the value in place, and wakes all receivers that wait. It works without receivers.
    ///
    /// # Panics
    ///
    /// If `modify` does. Then what it has left is the value, no receiver is told, and the channel
    /// goes on.
    pub fn send_modify(&self, modify: impl FnOnce(&mut T)) {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// As [`send_modify`](Self::send_modify), but receivers are told only if `modify` says true.
    /// Returns what it says.
    ///
    /// # Panics
    ///
    /// As [`send_modify`](Self::send_modify).
    ///
    /// ```
    /// use corelane::channel::task::watch;
    ///
    /// let (tx, mut rx) = watch::channel(5);
    /// let raise = |to| tx.send_if_modified(|most| to > *most && { *most = to; true });
    /// assert!(!raise(4) && !rx.has_changed().unwrap());
    /// assert!(raise(6) && rx.has_changed().unwrap());
    /// assert_eq!(*rx.borrow_and_update(), 6);
    /// ```
    #[inline]
    pub fn send_if_modified(&self, modify: impl FnOnce(&mut T) -> bool) -> bool {
        let mut value = self.0.value.write();
        if !modify(&mut value) {
            return false;
        }
        let state = &self.0.state;
        // Release ↔ Acquire in `look`: what this thread did before. Only holders of the lock store.
        state.store(state.load(Ordering::Relaxed).wrapping_add(VERSION), Ordering::Release);
        drop(value);
        Bell::ring_each_for_all(&self.0.changed);
        true
    }

    /// Replaces the value, as [`send`](Self::send), also without receivers. Returns the old value.
    #[inline]
    pub fn send_replace(&self, mut value: T) -> T {
        self.send_modify(|old| mem::swap(old, &mut value));
        value
    }

    /// The value.
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref { value: self.0.value.read(), has_changed: false }
    }

    /// One more receiver, which has seen the value that is there now.
    pub fn subscribe(&self) -> Receiver<T> {
        // Relaxed: what is sent from now on is newer.
        Receiver::of(&self.0, version(self.0.state.load(Ordering::Relaxed)))
    }

    /// Whether there is no receiver. [`subscribe`](Self::subscribe) changes that.
    pub fn is_closed(&self) -> bool {
        self.0.is_unwatched()
    }

    /// Waits until there is no receiver.
    pub fn closed(&self) -> ClosedFuture<'_, T> {
        ClosedFuture { shared: &self.0, wait: Wait::at(&self.0.unwatched) }
    }

    /// Number of receivers.
    pub fn receiver_count(&self) -> usize {
        self.0.receivers.load(Ordering::Relaxed) as usize
    }

    /// Number of senders.
    pub fn sender_count(&self) -> usize {
        self.0.senders.load(Ordering::Relaxed) as usize
    }

    /// Whether both are of one channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        // Relaxed: only a count.
        self.0.senders.fetch_add(1, Ordering::Relaxed);
        Self(self.0.clone())
    }
}

impl<T: Default> Default for Sender<T> {
    /// The sender of the default value, which has no receiver yet.
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // Release ↔ Acquire in the drop of another sender: the state that it has stored.
        if self.0.senders.fetch_add(u64::MAX, Ordering::AcqRel) == 1 {
            // Without the lock: this thread may keep a `Ref`. No other sender stores any more.
            let state = self.0.state.load(Ordering::Relaxed);
            // Release ↔ Acquire in `look`: what the senders did before.
            self.0.state.store(state | CLOSED, Ordering::Release);
            Bell::ring_each_for_all(&self.0.changed);
        }
    }
}

impl<T> Receiver<T> {
    fn of(shared: &Arc<Shared<T>>, seen: u64) -> Self {
        // Relaxed: only a count.
        shared.receivers.fetch_add(1, Ordering::Relaxed);
        Self { shared: shared.clone(), seen, habit: Habit::new() }
    }

    /// The newest value. It doesn't count as seen.
    pub fn borrow(&self) -> Ref<'_, T> {
        self.shared.borrow(self.seen)
    }

    /// The newest value. It counts as seen: [`changed`](Self::changed) waits for a newer one.
    #[inline]
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        self.shared.borrow_and_update(&mut self.seen)
    }

    /// Whether there is a value that this receiver has not seen.
    ///
    /// # Errors
    ///
    /// If all senders are gone.
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        // Acquire ↔ Release in `send_if_modified` and `Sender::drop`: what the sender did before.
        let state = self.shared.state.load(Ordering::Acquire);
        if state & CLOSED == 0 { Ok(version(state) != self.seen) } else { Err(RecvError(())) }
    }

    /// Whether all senders are gone.
    pub fn is_closed(&self) -> bool {
        self.has_changed().is_err()
    }

    /// From now on the value counts as not seen.
    pub fn mark_changed(&mut self) {
        self.seen = self.seen.wrapping_sub(VERSION);
    }

    /// From now on the value counts as seen.
    pub fn mark_unchanged(&mut self) {
        // Relaxed: nothing is read.
        self.seen = version(self.shared.state.load(Ordering::Relaxed));
    }

    /// Waits for a value that this receiver has not seen, which then counts as seen.
    ///
    /// What the sender did before it has sent that value is visible then. A future that is dropped
    /// before it is ready has changed nothing.
    ///
    /// # Errors
    ///
    /// If this receiver has seen the value, and all senders are gone.
    pub fn changed(&mut self) -> ChangedFuture<'_, T> {
        let Self { shared, seen, .. } = self;
        ChangedFuture { shared, seen, wait: Wait::at(shared.changed()) }
    }

    /// As [`changed`](Self::changed), for a thread.
    ///
    /// # Errors
    ///
    /// As [`changed`](Self::changed).
    #[inline]
    pub fn blocking_changed(&mut self) -> Result<(), RecvError> {
        let Self { shared, seen, habit } = self;
        match shared.look(seen) {
            Look::Done(found) => found,
            _ => block(habit, shared.changed(), || shared.look(seen)),
        }
    }

    /// Waits for a value that `accepts` is true for: it is shown the value that is there, and each
    /// newer one that is there when this receiver looks. The value counts as seen.
    ///
    /// Senders wait while `accepts` runs.
    ///
    /// # Errors
    ///
    /// If it has been shown the last value, and all senders are gone.
    ///
    /// # Panics
    ///
    /// If `accepts` does.
    ///
    /// ```
    /// use corelane::channel::task::watch;
    ///
    /// # futures_executor::block_on(async {
    /// let (tx, mut rx) = watch::channel(0);
    /// std::thread::spawn(move || (1..=10).try_for_each(|progress| tx.send(progress)));
    /// assert!(*rx.wait_for(|progress| *progress > 5).await.unwrap() > 5);
    /// # });
    /// ```
    pub fn wait_for<F: FnMut(&T) -> bool>(&mut self, accepts: F) -> WaitForFuture<'_, T, F> {
        let Self { shared, seen, .. } = self;
        let wait = Wait::at(shared.changed());
        WaitForFuture { shared, seen, is_first: true, accepts, wait }
    }

    /// As [`wait_for`](Self::wait_for), for a thread.
    ///
    /// # Errors
    ///
    /// As [`wait_for`](Self::wait_for).
    ///
    /// # Panics
    ///
    /// As [`wait_for`](Self::wait_for).
    pub fn blocking_wait_for(
        &mut self,
        mut accepts: impl FnMut(&T) -> bool,
    ) -> Result<Ref<'_, T>, RecvError> {
        let Self { shared, seen, habit } = self;
        match shared.look_for(seen, true, &mut accepts) {
            Look::Done(found) => found,
            _ => block(habit, shared.changed(), || shared.look_for(seen, false, &mut accepts)),
        }
    }

    /// Whether both are of one channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T> Clone for Receiver<T> {
    /// A receiver that has seen what this one has.
    fn clone(&self) -> Self {
        Self::of(&self.shared, self.seen)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // Relaxed: the bell has a fence.
        if self.shared.receivers.fetch_add(u64::MAX, Ordering::Relaxed) == 1 {
            self.shared.unwatched.ring_for_all();
        }
    }
}

/// Waits for a new value: see [`Receiver::changed`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct ChangedFuture<'a, T> {
    shared: &'a Shared<T>,
    seen: &'a mut u64,
    wait: Wait<'a>,
}

impl<T> Future for ChangedFuture<'_, T> {
    type Output = Result<(), RecvError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { shared, seen, wait } = self.get_mut();
        poll_task(wait, context, || shared.look(seen))
    }
}

/// Waits for a value that is accepted: see [`Receiver::wait_for`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct WaitForFuture<'a, T, F> {
    shared: &'a Shared<T>,
    seen: &'a mut u64,
    is_first: bool,
    accepts: F,
    wait: Wait<'a>,
}

// `accepts` is not pinned.
impl<T, F> Unpin for WaitForFuture<'_, T, F> {}

impl<'a, T, F: FnMut(&T) -> bool> Future for WaitForFuture<'a, T, F> {
    type Output = Result<Ref<'a, T>, RecvError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { shared, seen, is_first, accepts, wait } = self.get_mut();
        let look = || shared.look_for(seen, mem::take(is_first), accepts);
        poll_task(wait, context, look)
    }
}

/// Waits until there is no receiver: see [`Sender::closed`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct ClosedFuture<'a, T> {
    shared: &'a Shared<T>,
    wait: Wait<'a>,
}

impl<T> Future for ClosedFuture<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { shared, wait } = self.get_mut();
        let look = || if shared.is_unwatched() { Look::Done(()) } else { Look::NotYet };
        poll_task(wait, context, look)
    }
}

impl<T: fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("value", &self.0.value).finish_non_exhaustive()
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = &self.shared.value;
        f.debug_struct("Receiver").field("value", value).finish_non_exhaustive()
    }
}

/// Why a call failed.
pub mod error {
    use core::error::Error;
    use core::fmt;

    /// There is no receiver. Has the value that was not sent.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct SendError<T>(pub T);

    impl<T> fmt::Debug for SendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("SendError(..)")
        }
    }

    impl<T> fmt::Display for SendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("channel closed")
        }
    }

    impl<T> Error for SendError<T> {}

    /// All senders are gone.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct RecvError(pub(super) ());

    impl fmt::Display for RecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("channel closed")
        }
    }

    impl Error for RecvError {}
}

/// `$future` shows nothing.
macro_rules! debug {
    ($($future:ident<$($of:tt),*>;)*) => {$(
        impl<$($of),*> fmt::Debug for $future<'_, $($of),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($future)).finish_non_exhaustive()
            }
        }
    )*};
}

debug! {
    ChangedFuture<T>;
    WaitForFuture<T, F>;
    ClosedFuture<T>;
}
