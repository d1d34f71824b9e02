//! Handles for mechanisms, which consist of only two functions.

use corelane_loom::memory::{AtomicU64, Ordering};
use corelane_loom::{
    BoxedConsumer, BoxedProducer, Config, Consumer, Producer, TryPopError, TryPushError,
};
use loom::cell::UnsafeCell;
use loom::sync::Arc;

use crate::item::Ticket;

/// How items get from the producer to the consumer.
pub(crate) trait Mechanism: 'static {
    /// Items that fit.
    const CAPACITY: usize;
    /// The producer's private state.
    type Tx: Default + Send;
    /// The consumer's private state.
    type Rx: Default + Send;

    /// An empty queue.
    fn new() -> Self;
    /// Appends an item, or returns it if there is no room.
    fn push(&self, tx: &mut Self::Tx, item: Ticket) -> Result<(), Ticket>;
    /// Takes the oldest item.
    fn pop(&self, rx: &mut Self::Rx) -> Option<Ticket>;
    /// Called when the producer is dropped.
    fn close(&self, _tx: &mut Self::Tx) {}
}

/// A place for an item. The mechanism decides which side may access it.
pub(crate) struct Place(UnsafeCell<Option<Ticket>>);

// SAFETY: loom checks at each access that accesses of several threads are ordered.
unsafe impl Sync for Place {}

impl Place {
    pub(crate) fn empty() -> Self {
        Self(UnsafeCell::new(None))
    }

    pub(crate) fn put(&self, item: Ticket) {
        // SAFETY: loom has found no concurrent access, otherwise it would have panicked.
        self.0.with_mut(|place| unsafe { *place = Some(item) });
    }

    pub(crate) fn take(&self) -> Ticket {
        // SAFETY: as in `put`.
        let item = self.0.with_mut(|place| unsafe { (*place).take() });
        item.expect("an item is taken from an empty place")
    }
}

struct Common<M> {
    mechanism: M,
    /// Numbers of producers and consumers.
    present: [AtomicU64; 2],
}

/// Makes a queue of a mechanism.
pub(crate) fn of<M: Mechanism>(_: Config) -> (BoxedProducer<Ticket>, BoxedConsumer<Ticket>) {
    let present = [AtomicU64::new(1), AtomicU64::new(1)];
    let shared = Arc::new(Common { mechanism: M::new(), present });
    let (tx, rx) = Default::default();
    let tx = BoxedProducer::new(Sender::<M> { tx, shared: shared.clone() });
    (tx, BoxedConsumer::new(Receiver { rx, shared }))
}

pub(crate) struct Sender<M: Mechanism> {
    tx: M::Tx,
    shared: Arc<Common<M>>,
}

// SAFETY: as for `Place`.
unsafe impl<M: Mechanism> Send for Sender<M> {}

pub(crate) struct Receiver<M: Mechanism> {
    rx: M::Rx,
    shared: Arc<Common<M>>,
}

// SAFETY: as for `Place`.
unsafe impl<M: Mechanism> Send for Receiver<M> {}

impl<M: Mechanism> Producer for Sender<M> {
    type Item = Ticket;

    fn try_push(&mut self, item: Ticket) -> Result<(), TryPushError<Ticket>> {
        self.shared.mechanism.push(&mut self.tx, item).map_err(|item| match self.is_closed() {
            true => TryPushError::Closed(item),
            false => TryPushError::Full(item),
        })
    }

    fn capacity(&self) -> usize {
        M::CAPACITY
    }

    fn is_closed(&self) -> bool {
        self.shared.present[1].load(Ordering::Acquire) == 0
    }

    /// Only models of several producers clone. Their mechanisms have no private state.
    fn try_clone(&self) -> Option<Self> {
        self.shared.present[0].fetch_add(1, Ordering::Relaxed);
        Some(Self { tx: Default::default(), shared: self.shared.clone() })
    }
}

impl<M: Mechanism> Consumer for Receiver<M> {
    type Item = Ticket;

    fn try_pop(&mut self) -> Result<Ticket, TryPopError> {
        let closed = self.is_closed();
        self.shared.mechanism.pop(&mut self.rx).ok_or(match closed {
            true => TryPopError::Closed,
            false => TryPopError::Empty,
        })
    }

    fn capacity(&self) -> usize {
        M::CAPACITY
    }

    fn is_closed(&self) -> bool {
        self.shared.present[0].load(Ordering::Acquire) == 0
    }

    /// As the clone of a [`Sender`].
    fn try_clone(&self) -> Option<Self> {
        self.shared.present[1].fetch_add(1, Ordering::Relaxed);
        Some(Self { rx: Default::default(), shared: self.shared.clone() })
    }
}

impl<M: Mechanism> Drop for Sender<M> {
    fn drop(&mut self) {
        self.shared.mechanism.close(&mut self.tx);
        self.shared.present[0].fetch_add(u64::MAX, Ordering::Release);
    }
}

impl<M: Mechanism> Drop for Receiver<M> {
    fn drop(&mut self) {
        self.shared.present[1].fetch_add(u64::MAX, Ordering::Release);
    }
}
