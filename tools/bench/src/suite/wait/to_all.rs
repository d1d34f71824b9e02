//! Channels whose receivers all get each value: corelane's and Tokio's, by the same handles.
//!
//! Senders of such a channel never wait. So the handle here waits until all receivers have got what
//! was sent before, but for as many values as the channel has room for; of a watched value, all. It
//! lets others run meanwhile: so the receivers decide how fast the stream is, and nothing is lost.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use corelane::channel::task::{broadcast, watch};
use corelane::{Info, Sides};

use super::handles::{Channel, Ends, Receiver, Sender, Wanted};
use super::{ChannelKernel, Channels, tasks};
use crate::catalogue::Entry;
use crate::peers::crates::kind;
use crate::suite::wait::Sharing;

/// How far all receivers are.
struct Progress {
    received: Box<[Received]>,
    /// Most values that were sent and that a receiver has not got.
    room: u64,
}

/// On a cache line of its own.
#[repr(align(128))]
struct Received(AtomicU64);

/// A sender, and what it knows of the receivers.
pub(super) struct Tx<S> {
    tx: S,
    sent: u64,
    received: u64,
    progress: Arc<Progress>,
}

/// A receiver.
pub(super) struct Rx<R> {
    rx: R,
    received: u64,
    number: usize,
    progress: Arc<Progress>,
    /// Of its thread, where it waits by futures.
    waker: Option<Waker>,
}

impl<S> Tx<S> {
    /// Whether there is room. Counts one value.
    #[inline(always)]
    fn has_room(&mut self) -> bool {
        let has_room = |tx: &Self| tx.sent - tx.received < tx.progress.room;
        if !has_room(self) {
            let all = self.progress.received.iter();
            self.received = all.map(|one| one.0.load(Ordering::Acquire)).min().unwrap_or(0);
            if !has_room(self) {
                return false;
            }
        }
        self.sent += 1;
        true
    }

    async fn room(&mut self) {
        poll_fn(|context| match self.has_room() {
            true => Poll::Ready(()),
            false => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        })
        .await;
    }
}

impl<R> Rx<R> {
    /// Counts a value.
    #[inline(always)]
    fn count<T>(&mut self, value: Option<T>) -> Option<T> {
        self.received += 1;
        let Progress { received, room } = &*self.progress;
        if self.received.is_multiple_of(room.div_ceil(4)) {
            received[self.number].0.store(self.received, Ordering::Release);
        }
        value
    }
}

/// One sender and `of.size.consumers` receivers.
fn ends<S, R>(
    of: Wanted,
    room: usize,
    (tx, rx): (S, R),
    another: impl Fn(&S) -> R,
) -> Result<Ends<Tx<S>, Rx<R>>, String> {
    if of.size.producers != 1 {
        return Err("it is measured with one sender".into());
    }
    let received = (0..of.size.consumers).map(|_| Received(AtomicU64::new(0))).collect();
    let progress = Arc::new(Progress { received, room: room as u64 });
    let others: Vec<_> = (1..of.size.consumers).map(|_| another(&tx)).collect();
    let rxs = [rx].into_iter().chain(others).enumerate();
    let rxs = rxs.map(|(number, rx)| Rx {
        rx,
        received: 0,
        number,
        progress: progress.clone(),
        waker: None,
    });
    Ok((vec![Tx { tx, sent: 0, received: 0, progress: progress.clone() }], rxs.collect()))
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks the thread until the future is ready.
fn block_on<F: Future>(waker: &mut Option<Waker>, future: F) -> F::Output {
    let waker = waker.get_or_insert_with(|| Arc::new(Unpark(thread::current())).into());
    let (mut future, mut context) = (pin!(future), Context::from_waker(waker));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Makes `$channel` a channel with these handles, opened for `$capacity` values, of which `$room`
/// may be on their way. A thread receives by `$get`, a task by `$get_async`.
macro_rules! to_all {
    ($channel:ident: $tx:ty, $rx:ty; |$capacity:ident| $open:expr, $room:expr;
     |$blocking:ident| $get:expr; |$awaiting:ident| $get_async:expr) => {
        struct $channel;

        impl Channel for $channel {
            const HANDLES: Sharing = Sharing::Exclusive;
            const TO_ALL: bool = true;

            type Tx = Tx<$tx>;
            type Rx = Rx<$rx>;

            fn open(of: Wanted) -> Result<Ends<Self::Tx, Self::Rx>, String> {
                let $capacity = of.capacity;
                ends(of, $room, $open, |tx| tx.subscribe())
            }
        }

        impl Sender for Tx<$tx> {
            #[inline(always)]
            fn put(&mut self, item: u64) -> bool {
                while !self.has_room() {
                    thread::yield_now();
                }
                self.tx.send(item).is_ok()
            }
        }

        impl Receiver for Rx<$rx> {
            #[inline(always)]
            fn get(&mut self) -> Option<u64> {
                let $blocking = &mut *self;
                let value = $get;
                self.count(value)
            }
        }

        impl tasks::Sender for Tx<$tx> {
            #[inline(always)]
            fn put(&mut self, item: u64) -> impl Future<Output = impl tasks::Sent> + Send {
                async move {
                    self.room().await;
                    self.tx.send(item).map(drop)
                }
            }
        }

        impl tasks::Receiver for Rx<$rx> {
            #[inline(always)]
            fn get(&mut self) -> impl Future<Output = impl tasks::Received> + Send {
                async move {
                    let $awaiting = &mut *self;
                    let value = $get_async;
                    self.count(value)
                }
            }
        }
    };
}

to_all!(Broadcast: broadcast::Sender<u64>, broadcast::Receiver<u64>;
        |capacity| broadcast::channel(capacity), capacity;
        |it| it.rx.blocking_recv().ok(); |it| it.rx.recv().await.ok());
to_all!(TokioBroadcast: tokio::sync::broadcast::Sender<u64>, tokio::sync::broadcast::Receiver<u64>;
        |capacity| tokio::sync::broadcast::channel(capacity), capacity;
        |it| it.rx.blocking_recv().ok(); |it| it.rx.recv().await.ok());
to_all!(Watch: watch::Sender<u64>, watch::Receiver<u64>;
        |_capacity| watch::channel(0), 1;
        |it| it.rx.blocking_changed().ok().map(|()| *it.rx.borrow_and_update());
        |it| it.rx.changed().await.ok().map(|()| *it.rx.borrow_and_update()));
to_all!(TokioWatch: tokio::sync::watch::Sender<u64>, tokio::sync::watch::Receiver<u64>;
        |_capacity| tokio::sync::watch::channel(0), 1;
        |it| block_on(&mut it.waker, it.rx.changed()).ok().map(|()| *it.rx.borrow_and_update());
        |it| it.rx.changed().await.ok().map(|()| *it.rx.borrow_and_update()));

/// Measured if they are named.
pub(super) const IDS: [&str; 4] = ["broadcast", "tokio-broadcast", "watch", "tokio-watch"];

pub(super) fn entries() -> [Channels; 4] {
    let info = |at: usize, name| Info { id: IDS[at], name, sides: Sides::OneToMany, ..Info::RING };
    let (every, newest) = ("each value for every receiver", "the newest value for every receiver");
    let (ours, tokio) = (|info| Entry::ours(info, "items of any type"), kind("tokio"));
    [
        ours(info(0, every)).with(ChannelKernel::both::<Broadcast>()),
        Entry::other(info(1, every), tokio.clone()).with(ChannelKernel::both::<TokioBroadcast>()),
        ours(info(2, newest)).with(ChannelKernel::both::<Watch>()),
        Entry::other(info(3, newest), tokio).with(ChannelKernel::both::<TokioWatch>()),
    ]
}
