//! A queue that is never full, made full: so that what is checked of rings is checked of it as well.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use corelane::{
    Built, CapacityError, Config, Consumer, Info, LentItems, LentSlots, Producer, SingleConsumer,
    SingleProducer, SpscQueue, TryPopError, TryPushError,
};

/// An unbounded queue into which no more is pushed than is asked for, in groups of a third of that, or what is the
/// least.
#[derive(Debug)]
pub struct Limited<Q>(PhantomData<Q>);

/// The sending side of a [`Limited`] queue.
#[derive(Debug)]
pub struct Sender<P> {
    tx: P,
    limit: usize,
    pushed: u64,
    popped: Arc<AtomicU64>,
}

/// The receiving side of a [`Limited`] queue.
#[derive(Debug)]
pub struct Receiver<C> {
    rx: C,
    limit: usize,
    popped: Arc<AtomicU64>,
}

impl<Q: SpscQueue> SpscQueue for Limited<Q> {
    const INFO: Info = Q::INFO;
    type Producer<T: Send> = Sender<Q::Producer<T>>;
    type Consumer<T: Send> = Receiver<Q::Consumer<T>>;

    fn channel<T: Send>(config: Config) -> Built<Self::Producer<T>, Self::Consumer<T>> {
        let limit = config.capacity;
        let mut group = Config::new(limit.div_ceil(3)).memory(config.memory).first(config.first);
        group.batch = config.batch;
        let (tx, rx) = Q::channel(group).map_err(|error| match error {
            CapacityError::OutOfRange { most, .. } => {
                CapacityError::OutOfRange { asked: limit, most: most.saturating_mul(3) }
            }
            other => other,
        })?;
        let popped = Arc::new(AtomicU64::new(0));
        let tx = Sender { tx, limit, pushed: 0, popped: popped.clone() };
        Ok((tx, Receiver { rx, limit, popped }))
    }
}

impl<P: Producer> Sender<P> {
    fn free(&self) -> usize {
        let there = self.pushed - self.popped.load(Ordering::Relaxed);
        self.limit - there as usize
    }
}

impl<P: Producer> Producer for Sender<P> {
    type Item = P::Item;

    fn try_push(&mut self, item: P::Item) -> Result<(), TryPushError<P::Item>> {
        match self.free() {
            0 if self.is_closed() => return Err(TryPushError::Closed(item)),
            0 => return Err(TryPushError::Full(item)),
            _ => self.tx.try_push(item)?,
        }
        self.pushed += 1;
        Ok(())
    }

    fn capacity(&self) -> usize {
        assert_eq!(self.tx.capacity(), usize::MAX, "only an unbounded queue needs a limit");
        self.limit
    }

    fn is_closed(&self) -> bool {
        self.tx.is_closed()
    }

    fn flush(&mut self) {
        self.tx.flush();
    }

    fn push_slice(&mut self, items: &[P::Item]) -> usize
    where
        P::Item: Copy,
    {
        let n = items.len().min(self.free());
        let done = self.tx.push_slice(&items[..n]);
        self.pushed += done as u64;
        done
    }
}

impl<P: SingleProducer> SingleProducer for Sender<P> {
    fn free_slots(&mut self, wanted: usize) -> usize {
        let n = self.free().min(wanted);
        self.tx.free_slots(n)
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, P::Item> {
        // SAFETY: the caller's.
        unsafe { self.tx.lend(n) }
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        let n = self.free().min(wanted);
        self.tx.lendable(n)
    }

    unsafe fn publish(&mut self, n: usize) {
        // SAFETY: the caller's.
        unsafe { self.tx.publish(n) };
        self.pushed += n as u64;
    }
}

impl<C: Consumer> Receiver<C> {
    fn note(&self, n: usize) {
        // Relaxed: it is the queue that is to order what both sides do.
        self.popped.fetch_add(n as u64, Ordering::Relaxed);
    }
}

impl<C: Consumer> Consumer for Receiver<C> {
    type Item = C::Item;

    fn try_pop(&mut self) -> Result<C::Item, TryPopError> {
        let item = self.rx.try_pop()?;
        self.note(1);
        Ok(item)
    }

    fn capacity(&self) -> usize {
        assert_eq!(self.rx.capacity(), usize::MAX, "only an unbounded queue needs a limit");
        self.limit
    }

    fn is_closed(&self) -> bool {
        self.rx.is_closed()
    }

    fn pop_slice(&mut self, into: &mut [C::Item]) -> usize
    where
        C::Item: Copy,
    {
        let done = self.rx.pop_slice(into);
        self.note(done);
        done
    }
}

// SAFETY: items are lent by the queue itself.
unsafe impl<C: SingleConsumer> SingleConsumer for Receiver<C> {
    fn available(&mut self, wanted: usize) -> usize {
        self.rx.available(wanted)
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, C::Item> {
        // SAFETY: the caller's.
        unsafe { self.rx.lend(n) }
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        self.rx.lendable(wanted)
    }

    unsafe fn release(&mut self, n: usize) {
        // SAFETY: the caller's.
        unsafe { self.rx.release(n) };
        self.note(n);
    }
}
