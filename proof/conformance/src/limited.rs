//! A queue that is never full, made full: so that what is checked of rings is checked of it as well.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use corelane::{
    Built, CapacityError, Config, Consumer, Info, LentItems, LentSlots, MpmcQueue, Producer,
    SingleConsumer, SingleProducer, SpscQueue, TryPopError, TryPushError,
};

/// An unbounded queue into which no more is pushed than is asked for, in groups of a third of that, or what is the
/// least.
#[derive(Debug)]
pub struct Limited<Q>(PhantomData<Q>);

/// A sending side of a [`Limited`] queue.
#[derive(Debug)]
pub struct Sender<P> {
    tx: P,
    places: Places,
}

/// A receiving side of a [`Limited`] queue.
#[derive(Debug)]
pub struct Receiver<C> {
    rx: C,
    places: Places,
}

/// How many items there may be, and how many there are or are about to be.
///
/// Relaxed, all of it: it is the queue that is to order what both sides do.
#[derive(Debug, Clone)]
struct Places {
    limit: usize,
    taken: Arc<AtomicUsize>,
}

impl Places {
    fn new(limit: usize) -> Self {
        Self { limit, taken: Arc::default() }
    }

    fn free(&self) -> usize {
        self.limit - self.taken.load(Ordering::Relaxed)
    }

    /// Takes up to `wanted` places, as many as are free.
    fn take(&self, wanted: usize) -> usize {
        let rest = |taken| Some(self.limit.min(taken + wanted));
        let before = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
        wanted.min(self.limit - before.expect("there is always a rest"))
    }

    fn give_back(&self, n: usize) {
        self.taken.fetch_sub(n, Ordering::Relaxed);
    }
}

/// A queue of groups of a third of what is asked for, and the places for that.
fn limited<P, C>(
    config: Config,
    channel: impl FnOnce(Config) -> Built<P, C>,
) -> Built<Sender<P>, Receiver<C>> {
    let limit = config.capacity;
    let mut group = Config::new(limit.div_ceil(3)).memory(config.memory).first(config.first);
    group.batch = config.batch;
    let (tx, rx) = channel(group).map_err(|error| match error {
        CapacityError::OutOfRange { most, .. } => {
            CapacityError::OutOfRange { asked: limit, most: most.saturating_mul(3) }
        }
        other => other,
    })?;
    let places = Places::new(limit);
    Ok((Sender { tx, places: places.clone() }, Receiver { rx, places }))
}

impl<Q: SpscQueue> SpscQueue for Limited<Q> {
    const INFO: Info = Q::INFO;
    type Producer<T: Send> = Sender<Q::Producer<T>>;
    type Consumer<T: Send> = Receiver<Q::Consumer<T>>;

    fn channel<T: Send>(config: Config) -> Built<Self::Producer<T>, Self::Consumer<T>> {
        limited(config, Q::channel)
    }
}

impl<Q: MpmcQueue> MpmcQueue for Limited<Q> {
    const INFO: Info = Q::INFO;
    const TAKES_TURNS: bool = Q::TAKES_TURNS;
    type Producer<T: Send> = Sender<Q::Producer<T>>;
    type Consumer<T: Send> = Receiver<Q::Consumer<T>>;

    fn channel<T: Send>(config: Config) -> Built<Self::Producer<T>, Self::Consumer<T>> {
        limited(config, Q::channel)
    }

    fn another_producer<T: Send>(producer: &Self::Producer<T>) -> Option<Self::Producer<T>> {
        let tx = Q::another_producer(&producer.tx)?;
        Some(Sender { tx, places: producer.places.clone() })
    }

    fn another_consumer<T: Send>(consumer: &Self::Consumer<T>) -> Option<Self::Consumer<T>> {
        let rx = Q::another_consumer(&consumer.rx)?;
        Some(Receiver { rx, places: consumer.places.clone() })
    }
}

impl<P: Producer> Producer for Sender<P> {
    type Item = P::Item;

    fn try_push(&mut self, item: P::Item) -> Result<(), TryPushError<P::Item>> {
        if self.places.take(1) == 0 {
            return Err(match self.is_closed() {
                true => TryPushError::Closed(item),
                false => TryPushError::Full(item),
            });
        }
        self.tx.try_push(item).inspect_err(|_| self.places.give_back(1))
    }

    fn capacity(&self) -> usize {
        assert_eq!(self.tx.capacity(), usize::MAX, "only an unbounded queue needs a limit");
        self.places.limit
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
        let n = self.places.take(items.len());
        let done = self.tx.push_slice(&items[..n]);
        self.places.give_back(n - done);
        done
    }
}

impl<P: SingleProducer> SingleProducer for Sender<P> {
    fn free_slots(&mut self, wanted: usize) -> usize {
        let n = self.places.free().min(wanted);
        self.tx.free_slots(n)
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, P::Item> {
        // SAFETY: the caller's.
        unsafe { self.tx.lend(n) }
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        let n = self.places.free().min(wanted);
        self.tx.lendable(n)
    }

    unsafe fn publish(&mut self, n: usize) {
        assert_eq!(self.places.take(n), n, "nobody else pushes");
        // SAFETY: the caller's.
        unsafe { self.tx.publish(n) };
    }
}

impl<C: Consumer> Consumer for Receiver<C> {
    type Item = C::Item;

    fn try_pop(&mut self) -> Result<C::Item, TryPopError> {
        let item = self.rx.try_pop()?;
        self.places.give_back(1);
        Ok(item)
    }

    fn capacity(&self) -> usize {
        assert_eq!(self.rx.capacity(), usize::MAX, "only an unbounded queue needs a limit");
        self.places.limit
    }

    fn is_closed(&self) -> bool {
        self.rx.is_closed()
    }

    fn pop_slice(&mut self, into: &mut [C::Item]) -> usize
    where
        C::Item: Copy,
    {
        let done = self.rx.pop_slice(into);
        self.places.give_back(done);
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
        self.places.give_back(n);
    }
}
