//! A descriptor that tells a poller whether a channel has messages.

use alloc::sync::{Arc, Weak};
use alloc::task::Wake;
use core::task::Waker;
use core::{fmt, mem};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::event::{EventfdFlags, eventfd};

use super::Receiver;
use super::access::Access;
use super::common::Common;
use super::operation::Operation;
use crate::memory::Mutex;
use crate::wait::bell::Bell;

/// A descriptor that can be read when a channel has messages, or is disconnected: for `poll`,
/// `epoll`, and event loops.
///
/// It comes from [`Receiver::ready_fd`]. Don't read it: when it is ready, call
/// [`try_recv`](Receiver::try_recv) until that finds the channel empty. Until then the descriptor
/// stays ready. It works with edge-triggered pollers, too.
///
/// It is an `eventfd(2)`. If several receivers take messages, it may be ready although there is no
/// message.
#[derive(Clone)]
pub struct ReadyFd(Arc<Event>);

/// The descriptor of a channel.
pub(super) struct Watch {
    event: Arc<Event>,
    /// Wakes the poller, and then the next sleeper.
    waker: Waker,
}

struct Event {
    fd: OwnedFd,
    /// Whether the next wake-up makes the descriptor ready. Otherwise it is ready already.
    is_armed: Mutex<bool>,
}

impl Event {
    /// The descriptor becomes ready.
    fn set(&self) {
        let mut is_armed = self.is_armed.lock();
        if mem::replace(&mut *is_armed, false) {
            // It can't fail: the count was 0.
            let _ = rustix::io::write(&self.fd, &1_u64.to_ne_bytes());
        }
    }

    /// The descriptor is no longer ready. `false` if it wasn't ready.
    fn clear(&self) -> bool {
        let mut is_armed = self.is_armed.lock();
        if *is_armed {
            return false;
        }
        *is_armed = true;
        // The first time the count is 0.
        let _ = rustix::io::read(&self.fd, &mut [0; size_of::<u64>()]);
        true
    }
}

impl Watch {
    /// After a look that found no message: the descriptor is ready when the next one comes.
    #[cold]
    #[inline(never)]
    pub(super) fn arm(&self, receiver: &dyn Operation) {
        if !self.event.clear() {
            return;
        }
        let bell = receiver.bell();
        let entry = bell.enter(&self.waker);
        let may_sleep = Bell::fence([(bell, entry)].into_iter());
        if (!may_sleep || receiver.is_ready(None)) && !bell.withdraw(entry.number) {
            self.event.set();
        }
    }
}

/// The sleeper at the bell of a channel.
struct Sleeper<T> {
    event: Arc<Event>,
    channel: Weak<Common<T>>,
}

impl<T: Send + 'static> Wake for Sleeper<T> {
    /// Passes the wake-up on: the poller may not be the thread that takes the message.
    fn wake(self: Arc<Self>) {
        self.event.set();
        if let Some(channel) = self.channel.upgrade() {
            channel.arrivals().ring();
        }
    }
}

impl<T: Send + 'static, A: Access> Receiver<T, A> {
    /// A descriptor that can be read when messages are there: see [`ReadyFd`].
    ///
    /// The channel makes it at the first call, and keeps it. From then on, a call that finds the
    /// channel empty costs as much as a call that sleeps.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use corelane::channel;
    /// use rustix::event::{PollFd, PollFlags, poll};
    ///
    /// let (tx, rx) = channel::bounded(8);
    /// let fd = rx.ready_fd()?;
    /// std::thread::spawn(move || tx.send("hello"));
    ///
    /// poll(&mut [PollFd::new(&fd, PollFlags::IN)], None)?;
    /// assert_eq!(rx.try_recv(), Ok("hello"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the system has no descriptor to give. [`Unsupported`](io::ErrorKind::Unsupported) for a
    /// channel of the clock.
    pub fn ready_fd(&self) -> io::Result<ReadyFd> {
        if self.common().kind.timer().is_some() {
            let error = "a channel of the clock has no descriptor; use a timerfd";
            return Err(io::Error::new(io::ErrorKind::Unsupported, error));
        }
        let watch = match self.common().watch.get() {
            Some(watch) => watch,
            None => {
                let watch = Watch::new(Arc::downgrade(self.common()))?;
                // If two threads make a descriptor, one of them is dropped.
                self.common().watch.get_or_init(|| watch)
            }
        };
        watch.arm(self);
        Ok(ReadyFd(watch.event.clone()))
    }
}

impl Watch {
    fn new<T: Send + 'static>(channel: Weak<Common<T>>) -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let event = Arc::new(Event { fd, is_armed: Mutex::new(false) });
        let waker = Waker::from(Arc::new(Sleeper { event: event.clone(), channel }));
        Ok(Self { event, waker })
    }
}

impl AsFd for ReadyFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }
}

impl AsRawFd for ReadyFd {
    fn as_raw_fd(&self) -> RawFd {
        self.0.fd.as_raw_fd()
    }
}

impl fmt::Debug for ReadyFd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadyFd").field(&self.as_raw_fd()).finish()
    }
}
