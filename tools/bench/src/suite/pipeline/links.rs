//! The queues between stages: any queue, also of another crate, as a queue of boxes.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use corelane::{
    BoxedConsumer, BoxedProducer, Built, Config, Consumer, Producer, TryPopError, TryPushError,
};
use pipeline::{FlowRecord, Packet, Queues};

use crate::payload::Parcel;

/// Makes a queue of pointers. Its handles are in boxes, so that the stages are compiled once for
/// all queues.
pub(crate) type Maker = fn(Config) -> Built<BoxedProducer<Parcel>, BoxedConsumer<Parcel>>;

/// The queues of a pipeline.
pub(super) struct Links(pub(super) Maker);

impl Queues for Links {
    type PacketProducer = Sender<Packet>;
    type PacketConsumer = Receiver<Packet>;
    type FlowProducer = Sender<FlowRecord>;
    type FlowConsumer = Receiver<FlowRecord>;

    fn packets(&self, capacity: usize) -> Built<Sender<Packet>, Receiver<Packet>> {
        link(self.0, capacity)
    }

    fn flows(&self, capacity: usize) -> Built<Sender<FlowRecord>, Receiver<FlowRecord>> {
        link(self.0, capacity)
    }
}

pub(super) fn link<T>(maker: Maker, capacity: usize) -> Built<Sender<T>, Receiver<T>> {
    let (tx, rx) = maker(Config::new(capacity))?;
    let shared = Arc::new(Shared::default());
    let sender = Sender { tx, gone: Gone(Arc::clone(&shared)) };
    Ok((sender, Receiver { rx: Some(rx), shared }))
}

/// What peers don't tell: whether the other side is gone.
struct Shared<T> {
    sender_is_gone: AtomicBool,
    receiver_is_gone: AtomicBool,
    /// The queue, when its receiver is gone. The sender may still push.
    left: Mutex<Option<BoxedConsumer<Parcel>>>,
    of: PhantomData<fn() -> T>,
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self {
            sender_is_gone: AtomicBool::new(false),
            receiver_is_gone: AtomicBool::new(false),
            left: Mutex::new(None),
            of: PhantomData,
        }
    }
}

impl<T> Drop for Shared<T> {
    /// Frees the boxes in the queue. Neither side has a handle any more.
    fn drop(&mut self) {
        let left = self.left.get_mut().unwrap_or_else(PoisonError::into_inner);
        while let Some(Ok(parcel)) = left.as_mut().map(Consumer::try_pop) {
            // SAFETY: `Sender` has made it of a box of `T`, and the queue gives it once.
            drop(unsafe { parcel.into_box::<T>() });
        }
    }
}

/// Tells the receiver when it is dropped, which is after the handle.
struct Gone<T>(Arc<Shared<T>>);

impl<T> Drop for Gone<T> {
    fn drop(&mut self) {
        // Release ↔ Acquire in `Receiver::try_pop`: all pushes.
        self.0.sender_is_gone.store(true, Ordering::Release);
    }
}

/// A producer of boxes.
pub(super) struct Sender<T> {
    tx: BoxedProducer<Parcel>,
    gone: Gone<T>,
}

impl<T: Send> Producer for Sender<T> {
    type Item = Box<T>;

    fn try_push(&mut self, item: Box<T>) -> Result<(), TryPushError<Box<T>>> {
        let Err(error) = self.tx.try_push(Parcel::of_box(item)) else { return Ok(()) };
        let is_full = matches!(error, TryPushError::Full(_));
        let is_busy = matches!(error, TryPushError::Busy(_));
        // SAFETY: it was made above, and the queue has not taken it.
        let item = unsafe { error.into_inner().into_box() };
        Err(match () {
            _ if is_busy => TryPushError::Busy(item),
            _ if is_full && !self.is_closed() => TryPushError::Full(item),
            _ => TryPushError::Closed(item),
        })
    }

    fn capacity(&self) -> usize {
        self.tx.capacity()
    }

    fn is_closed(&self) -> bool {
        self.gone.0.receiver_is_gone.load(Ordering::Relaxed)
    }

    fn flush(&mut self) {
        self.tx.flush();
    }
}

/// A consumer of boxes.
pub(super) struct Receiver<T> {
    /// Always there, until it is dropped.
    rx: Option<BoxedConsumer<Parcel>>,
    shared: Arc<Shared<T>>,
}

impl<T> Receiver<T> {
    fn pop(&mut self) -> Result<Parcel, TryPopError> {
        self.rx.as_mut().map_or(Err(TryPopError::Closed), Consumer::try_pop)
    }
}

impl<T: Send> Consumer for Receiver<T> {
    type Item = Box<T>;

    fn try_pop(&mut self) -> Result<Box<T>, TryPopError> {
        let parcel = match self.pop() {
            // Acquire ↔ Release in `Gone::drop`: all pushes.
            Err(TryPopError::Empty) if self.shared.sender_is_gone.load(Ordering::Acquire) => {
                self.pop().map_err(|_| TryPopError::Closed)
            }
            other => other,
        };
        // SAFETY: `Sender` has made it of a box of `T`, and the queue gives it once.
        parcel.map(|parcel| unsafe { parcel.into_box() })
    }

    fn capacity(&self) -> usize {
        self.rx.as_ref().map_or(0, Consumer::capacity)
    }

    fn is_closed(&self) -> bool {
        self.shared.sender_is_gone.load(Ordering::Acquire)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        *self.shared.left.lock().unwrap_or_else(PoisonError::into_inner) = self.rx.take();
        self.shared.receiver_is_gone.store(true, Ordering::Relaxed);
    }
}
