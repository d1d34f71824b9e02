//! Channels: messages between threads and tasks, with calls that wait.
//!
//! ```
//! use corelane::channel;
//!
//! let (tx, rx) = channel::bounded(100);
//! let other = tx.clone();
//! std::thread::spawn(move || tx.send("hello").unwrap());
//! std::thread::spawn(move || other.send("world").unwrap());
//! assert_eq!(rx.iter().count(), 2); // until all senders are dropped
//! ```
//!
//! Names and errors are those of `std::sync::mpsc` and `crossbeam-channel`, the errors' texts those
//! of the latter. So a program moves to these channels with its `use` lines. What goes beyond:
//! tasks send and receive too.
//!
//! | | a thread waits | a thread waits until a time | doesn't wait | a task waits |
//! |---|---|---|---|---|
//! | a message | [`send`](Sender::send), [`recv`](Receiver::recv) | [`send_timeout`](Sender::send_timeout), [`recv_timeout`](Receiver::recv_timeout), or with a deadline | [`try_send`](Sender::try_send), [`try_recv`](Receiver::try_recv) | [`send_async`](Sender::send_async), [`recv_async`](Receiver::recv_async) |
//! | several | [`send_all`](Sender::send_all), [`recv_many`](Receiver::recv_many), [`iter`](Receiver::iter) | | [`try_iter`](Receiver::try_iter), [`drain`](Receiver::drain) | with feature `futures`: `sink`, `stream` |
//! | from several channels | [`select!`](crate::select), [`Select`] | `default(timeout)`, [`select_timeout`](Select::select_timeout) | `default`, [`try_select`](Select::try_select) | [`ready_async`](Select::ready_async) |
//!
//! On Linux, event loops take a descriptor: `Receiver::ready_fd`.
//!
//! # Which one?
//!
//! | you have | take |
//! |---|---|
//! | any number of senders and receivers, a bound for the messages | [`bounded`] |
//! | no bound | [`unbounded`] |
//! | one sender or one receiver, which has one thread | the same in [`spsc`], [`mpsc`], [`spmc`]: their only handle has no part for each thread, and can't be shared by mistake |
//! | a sender and a receiver that meet | [`bounded`] with capacity 0 |
//! | one message, such as an answer | [`oneshot`](oneshot()) |
//! | messages of the clock | [`after`], [`at`], [`tick`], [`never`](never()) |
//!
//! A shared handle has an end of the queue for each thread that uses it. A hot loop takes one for
//! itself: [`Sender::local`], [`Receiver::local`].
//!
//! # What a channel promises
//!
//! | | |
//! |---|---|
//! | order | first in first out (linearizable), among all senders and receivers |
//! | capacity | exactly as asked. [`len`](Receiver::len) counts all messages whose send has returned |
//! | the other side is gone | a send says so at once, and gives the message back. A receiver first gets what is there. When the last receiver is dropped, all messages are dropped |
//! | waiting | as [`wait`](crate::wait): some microseconds of looking, if that has been worth it lately, then sleep. No processor time while it sleeps |
//! | a stopped thread | a thread that loses its core in the middle of a call keeps the other threads of its side waiting, as one that has a lock |
//! | queue | [`leased`](crate::leased) over a [line ring](crate::line_ring) with a counter of popped messages, or over a [list of rings](crate::segmented) |
//! | memory | about 7 KiB, and 2 KiB for each thread that uses a shared handle, besides the messages |
//! | handles | at most 65,536 threads and local handles a side |
//!
//! # Tasks
//!
//! A future needs nothing of its runtime. Poll a future that has begun, or drop it: while it is
//! kept, it may have taken the ring that another sleeper needs.
//!
//! | dropped before it is ready | its message |
//! |---|---|
//! | a receive | stays in the channel. With capacity 0 the next receiver gets it if a sender has chosen this future |
//! | a send | is dropped, and is not sent. With capacity 0 a receiver may have taken it |
//!
//! A task whose channel is always ready lets others run. When the futures of its thread have been
//! ready at their first looks for a millisecond, the next one is pending once, and wakes its task;
//! so are others of this task, up to 16 in a row. A future that is polled once, as by
//! `now_or_never`, may therefore be pending although a message is there:
//! [`try_recv`](Receiver::try_recv) always looks.
//!
//! # Wakers that panic
//!
//! A call may wake tasks of the other side. If wakers panic, all others are woken first. Then:
//!
//! | the call | the first panic | the message |
//! |---|---|---|
//! | a receive | ends there, when the hook has reported it | is returned |
//! | a receive with capacity 0 | goes on | is for the next receiver |
//! | a send | goes on | is sent, or dropped with the call |
//! | other calls | goes on | |

mod access;
mod alarm;
mod common;
mod ends;
mod error;
mod future;
pub mod oneshot;
mod operation;
mod party;
#[cfg(target_os = "linux")]
mod ready_fd;
mod receiver;
mod rendezvous;
mod select;
mod select_macro;
mod sender;
pub mod task;
mod timer;

use alloc::sync::Arc;
use std::time::{Duration, Instant};

pub use crate::{select, select_biased};
pub use access::{Access, Exclusive, Shared};
pub use error::{
    ReadyTimeoutError, RecvError, RecvTimeoutError, SelectTimeoutError, SendError,
    SendTimeoutError, TryReadyError, TryRecvError, TrySelectError, TrySendError,
};
pub use future::{RecvFuture, SendFuture};
#[cfg(feature = "futures")]
pub use future::{RecvStream, SendSink};
pub use oneshot::oneshot;
#[cfg(target_os = "linux")]
pub use ready_fd::ReadyFd;
pub use receiver::{IntoIter, Iter, Receiver, TryIter};
pub use select::{Select, SelectedOperation};
pub use sender::Sender;

use crate::memory::{limit, timed_yield};
use crate::spin::Retries;
use crate::wait::thread::is_over;
use common::Common;
use ends::{Kind, Rx, Tx};
use timer::Timer;

/// A channel for exactly `capacity` messages, between any number of threads on either side.
///
/// With capacity 0 a sender waits for a receiver, and hands the message over.
///
/// # Panics
///
/// If there is not enough memory for the messages.
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    open(ends::bounded(capacity))
}

/// A channel that is never full, between any number of threads on either side.
///
/// # Panics
///
/// If there is no memory.
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    open(ends::unbounded())
}

/// A channel with handles of these kinds.
fn open<T, S: Access, R: Access>(ends: ends::Ends<T>) -> (Sender<T, S>, Receiver<T, R>) {
    let (tx, rx, kind) = ends.unwrap_or_else(|error| panic!("{error}"));
    let common = Arc::new(Common::new(&tx, &rx, kind));
    (Sender::new(tx, common.clone()), Receiver::new(rx, common))
}

/// A channel that gets one message, after `duration`: the time at which it was due.
pub fn after(duration: Duration) -> Receiver<Instant> {
    timed(Timer::new(unlimited(duration), None, |due| due))
}

/// A channel that gets the message `due` at this time.
pub fn at(due: Instant) -> Receiver<Instant> {
    timed(Timer::new(Some(due), None, |due| due))
}

/// A channel that gets a message after each `period`: the time at which it was due. A message that
/// is not received before the next one is dropped.
pub fn tick(period: Duration) -> Receiver<Instant> {
    timed(Timer::new(unlimited(period), Some(period), |due| due))
}

/// A channel that never gets a message.
pub fn never<T>() -> Receiver<T> {
    timed(Timer::new(None, None, |_| unreachable!("it is never due")))
}

fn timed<T>(timer: Timer<T>) -> Receiver<T> {
    let common = Common::new(&Tx::none(), &Rx::none(), Kind::Timer(timer));
    Receiver::new(Rx::none(), Arc::new(common))
}

/// The end of a time that begins now. `None` if the clock can't tell it: it never comes.
fn unlimited(duration: Duration) -> Option<Instant> {
    Instant::now().checked_add(duration)
}

/// How often a call that must not wait looks again while another thread's call is in the way.
#[derive(Default)]
struct YieldingRetries {
    retries: Retries,
    yields: u32,
    time: Duration,
}

impl YieldingRetries {
    /// Most yields.
    const MOST: u32 = limit(2000, 1) as u32;
    /// After this time there are no more, also if other processes take the core.
    const LIMIT: Duration = Duration::from_millis(1);

    #[inline]
    fn again(&mut self, is_busy: bool) -> bool {
        is_busy && (self.retries.again(true) || self.after_yield())
    }

    #[cold]
    fn after_yield(&mut self) -> bool {
        self.time += timed_yield();
        self.yields += 1;
        self.yields < Self::MOST && self.time < Self::LIMIT
    }
}

/// Channels between one sender and one receiver, each used by one thread at a time.
///
/// A handle may move to another thread:
///
/// ```
/// let (tx, rx) = corelane::channel::spsc::bounded(1);
/// std::thread::spawn(move || tx.send("hello"));
/// assert_eq!(rx.recv(), Ok("hello"));
/// ```
///
/// Two threads can't share it:
///
/// ```compile_fail,E0277
/// let (tx, rx) = corelane::channel::spsc::bounded(1);
/// std::thread::scope(|s| {
///     s.spawn(|| tx.send("hello"));
///     assert_eq!(rx.recv(), Ok("hello"));
/// });
/// ```
///
/// Nor can it be cloned:
///
/// ```compile_fail,E0599
/// let (tx, rx) = corelane::channel::spsc::bounded::<u8>(1);
/// let other = tx.clone();
/// ```
pub mod spsc {
    use super::{Exclusive, ends, open};

    /// The sending side.
    pub type Sender<T> = super::Sender<T, Exclusive>;
    /// The receiving side.
    pub type Receiver<T> = super::Receiver<T, Exclusive>;

    /// As [`super::bounded`].
    ///
    /// # Panics
    ///
    /// If there is not enough memory for the messages.
    pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
        open(ends::bounded(capacity))
    }

    /// As [`super::unbounded`].
    ///
    /// # Panics
    ///
    /// If there is no memory.
    pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
        open(ends::unbounded())
    }
}

/// Channels between any number of senders and one receiver, which one thread at a time uses. With
/// the names of `std::sync::mpsc` too.
pub mod mpsc {
    use super::{Exclusive, ends, open};

    pub use super::{
        RecvError, RecvTimeoutError, SendError, Sender, Sender as SyncSender, TryRecvError,
        TrySendError,
    };
    /// The receiving side.
    pub type Receiver<T> = super::Receiver<T, Exclusive>;

    /// As [`super::bounded`].
    ///
    /// # Panics
    ///
    /// If there is not enough memory for the messages.
    pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
        open(ends::bounded(capacity))
    }

    /// As [`super::unbounded`].
    ///
    /// # Panics
    ///
    /// If there is no memory.
    pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
        open(ends::unbounded())
    }

    /// As [`unbounded`].
    ///
    /// # Panics
    ///
    /// If there is no memory.
    pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
        unbounded()
    }

    /// As [`bounded`].
    ///
    /// # Panics
    ///
    /// If there is not enough memory for the messages.
    pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
        bounded(bound)
    }
}

/// Channels between one sender, which one thread at a time uses, and any number of receivers.
pub mod spmc {
    use super::{Exclusive, ends, open};

    pub use super::Receiver;
    /// The sending side.
    pub type Sender<T> = super::Sender<T, Exclusive>;

    /// As [`super::bounded`].
    ///
    /// # Panics
    ///
    /// If there is not enough memory for the messages.
    pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
        open(ends::bounded(capacity))
    }

    /// As [`super::unbounded`].
    ///
    /// # Panics
    ///
    /// If there is no memory.
    pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
        open(ends::unbounded())
    }
}
