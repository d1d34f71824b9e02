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
//! of the latter. So a program changes only its `use` lines. Besides, tasks send and receive.
//!
//! | | a thread waits | a thread waits until a time | doesn't wait | a task waits |
//! |---|---|---|---|---|
//! | a message | [`send`](Sender::send), [`recv`](Receiver::recv) | [`send_timeout`](Sender::send_timeout), [`recv_timeout`](Receiver::recv_timeout), or with a deadline | [`try_send`](Sender::try_send), [`try_recv`](Receiver::try_recv) | [`send_async`](Sender::send_async), [`recv_async`](Receiver::recv_async) |
//! | several | [`send_all`](Sender::send_all), [`recv_many`](Receiver::recv_many), [`iter`](Receiver::iter) | | [`try_iter`](Receiver::try_iter), [`drain`](Receiver::drain) | with feature `futures`: `sink`, `stream` |
//! | from several channels | [`select!`](crate::select), [`Select`] | `default(timeout)`, [`select_timeout`](Select::select_timeout) | `default`, [`try_select`](Select::try_select) | [`ready_async`](Select::ready_async) |
//!
//! On Linux, event loops wait for a descriptor: `Receiver::ready_fd`.
//!
//! # Which one?
//!
//! | you have | take |
//! |---|---|
//! | any number of senders and receivers, a bound for the messages | [`bounded`] |
//! | no bound | [`unbounded`] |
//! | one sender or one receiver, which has one thread | the same in [`spsc`], [`mpsc`], [`spmc`]: their only handle has one end of the queue, and can't be shared by mistake |
//! | a sender and a receiver that meet | [`bounded`] with capacity 0 |
//! | one message, such as an answer | [`oneshot`](oneshot()) |
//! | the latest messages: a full channel drops its oldest one | [`latest`](latest()) |
//! | tens of threads, and messages may be received out of turn | [`relaxed`](relaxed()) |
//! | messages of different sizes, a bound for their bytes | [`weighed`](weighed()) |
//! | a program that uses `tokio::sync` | the channels of [`task`], which have its names |
//! | messages of the clock | [`after`], [`at`], [`tick`], [`never`](never()) |
//!
//! A shared handle has an end of the queue for each thread that uses it. For a hot loop take a
//! handle with an end of its own: [`Sender::local`], [`Receiver::local`].
//!
//! # What a channel promises
//!
//! | | |
//! |---|---|
//! | order | first in first out (linearizable), among all senders and receivers; but for [`relaxed`](relaxed()) |
//! | capacity | exactly as asked; at least, for [`relaxed`](relaxed()). [`len`](Receiver::len) counts all messages whose send has returned |
//! | the other side is gone | a send says so at once, and gives the message back. A receiver first gets the messages that are left. When the last receiver is dropped, all messages are dropped |
//! | waiting | as [`wait`](crate::wait): a thread looks for some microseconds, longer if that has succeeded lately, and then sleeps. A sleep takes no processor time |
//! | a stopped thread | a thread that loses its core in the middle of a call keeps the other threads of its side waiting, as a thread that holds a lock |
//! | queue | [`leased`](crate::leased) over a [line ring](crate::line_ring) with a counter of popped messages, or over a [list of rings](crate::segmented); for [`relaxed`](relaxed()), [`cnq`](crate::relaxed::cnq) |
//! | memory | about 7 KiB, and 2 KiB for each thread that uses a shared handle, besides the messages |
//! | handles | at most 65,536 threads and local handles a side |
//!
//! # Tasks
//!
//! A future needs nothing of its runtime. Poll a future that has begun, or drop it: while it is
//! kept, it may have taken the wake-up that another sleeper needs.
//!
//! | dropped before it is ready | its message |
//! |---|---|
//! | a receive | stays in the channel. With capacity 0 the next receiver gets it if a sender has chosen this future |
//! | a send | is dropped, and is not sent. With capacity 0 a receiver may have taken it |
//!
//! A task whose channel is always ready lets others run. When the futures of its thread have been
//! ready at their first looks for a millisecond, the next one wakes its task, and is pending once.
//! Other futures of this task are pending once too, up to 16 in a row. So a future that is polled
//! once, as by `now_or_never`, may be pending although a message is there:
//! [`try_recv`](Receiver::try_recv) always looks.
//!
//! # Wakers that panic
//!
//! A call may wake tasks of the other side. If wakers panic, all others are woken first. Then:
//!
//! | the call | the first panic | the message |
//! |---|---|---|
//! | a receive | ends in this call, after the hook has reported it | is returned |
//! | a receive with capacity 0 | goes on | is for the next receiver |
//! | a send | goes on | is sent, or dropped with the call |
//! | other calls | goes on | |

mod access;
mod alarm;
mod common;
mod ends;
mod error;
mod future;
pub mod latest;
pub mod oneshot;
mod operation;
mod party;
#[cfg(target_os = "linux")]
mod ready_fd;
mod receiver;
pub mod relaxed;
mod rendezvous;
mod select;
mod select_macro;
mod selector;
mod sender;
pub mod task;
mod timer;
mod turn;
mod weak;
pub mod weighed;

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
pub use latest::latest;
pub use oneshot::oneshot;
#[cfg(target_os = "linux")]
pub use ready_fd::ReadyFd;
pub use receiver::{IntoIter, Iter, Receiver, TryIter};
pub use relaxed::relaxed;
pub use select::{Select, SelectedOperation};
pub use selector::Selector;
pub use sender::Sender;
pub use weak::WeakSender;
pub use weighed::weighed;

use crate::memory::{limit, nap, timed_yield};
use crate::spin::Retries;
use crate::wait::thread::is_over;
use common::{Common, Extra};
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
    open_with(ends, Extra::None)
}

fn open_with<T, S: Access, R: Access>(
    ends: ends::Ends<T>,
    extra: Extra,
) -> (Sender<T, S>, Receiver<T, R>) {
    let (tx, rx, kind) = ends.unwrap_or_else(|error| panic!("{error}"));
    let common = Arc::new(Common::new(&tx, &rx, kind, extra));
    (Sender::new(tx, common.clone()), Receiver::new(rx, common))
}

/// A channel that gets one message, after `duration`: the time at which it was due.
pub fn after(duration: Duration) -> Receiver<Instant> {
    timed(Timer::new(unlimited(duration), None, |due| due))
}

/// A channel that gets one message at the time `due`: this time.
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
    let common = Common::new(&Tx::none(), &Rx::none(), Kind::Timer(timer), Extra::None);
    Receiver::new(Rx::none(), Arc::new(common))
}

/// The end of a duration that begins now. `None` if the clock can't represent it: it never comes.
fn unlimited(duration: Duration) -> Option<Instant> {
    Instant::now().checked_add(duration)
}

/// How often a call that must not wait looks again while another thread's call is in the way.
#[derive(Default)]
struct YieldingRetries {
    retries: Retries,
    yields: u32,
    time: Duration,
    /// Naps that are left.
    naps: u32,
}

impl YieldingRetries {
    /// Most yields.
    const MOST: u32 = limit(2000, 1) as u32;
    /// After this time there are no more yields, also if other processes take the core.
    const LIMIT: Duration = Duration::from_millis(1);

    /// Of a call that has nothing else to look at: it goes on for a second at least. On a machine
    /// with more threads than cores, a thread may be off its core for many milliseconds. Its
    /// messages must not seem to be missing.
    fn patient() -> Self {
        Self { naps: 1000, ..Self::default() }
    }

    #[inline]
    fn again(&mut self, is_busy: bool) -> bool {
        is_busy && (self.retries.again(true) || self.after_yield())
    }

    #[cold]
    fn after_yield(&mut self) -> bool {
        if self.yields < Self::MOST && self.time < Self::LIMIT {
            self.time += timed_yield();
            self.yields += 1;
            return true;
        }
        self.naps = self.naps.saturating_sub(1);
        self.naps > 0 && nap()
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

/// Channels between any number of senders and one receiver, which one thread at a time uses. They
/// also have the names of `std::sync::mpsc`.
pub mod mpsc {
    use super::{Exclusive, ends, open};

    pub use super::{
        RecvError, RecvTimeoutError, SendError, Sender, Sender as SyncSender, TryRecvError,
        TrySendError,
    };
    /// The receiving side.
    pub type Receiver<T> = super::Receiver<T, Exclusive>;
    /// The messages of a receiver.
    pub type Iter<'a, T> = super::Iter<'a, T, Exclusive>;
    /// The messages that are there.
    pub type TryIter<'a, T> = super::TryIter<'a, T, Exclusive>;
    /// The messages of a receiver that the iterator owns.
    pub type IntoIter<T> = super::IntoIter<T, Exclusive>;

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
