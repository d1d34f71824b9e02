//! An unbounded queue with a limit, so that it can be full.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use corelane::{
    CapacityError, Config, Consumer, LendItems, LendSlots, LentItems, LentSlots, Producer,
    SingleConsumer, SingleProducer, TryPopError, TryPushError,
};

/// A handle of an unbounded queue that accepts only as many items as were asked for.
#[derive(Debug)]
pub struct Limited<H> {
    handle: H,
    limit: usize,
    /// Items that are in the queue, or are about to be. Relaxed: the queue alone must order the
    /// accesses of both sides.
    taken: Arc<AtomicUsize>,
}

impl<H> Limited<H> {
    /// Both handles of a queue that `open` makes, with groups of a third of the capacity asked for.
    ///
    /// # Errors
    ///
    /// The errors of `open`, for the whole capacity.
    pub fn open<C>(
        config: Config,
        open: impl Fn(Config) -> Result<(H, C), CapacityError>,
    ) -> Result<(Self, Limited<C>), CapacityError> {
        let (asked, mut group) = (config.capacity, config);
        group.capacity = asked.div_ceil(3);
        let (tx, rx) = open(group).map_err(|error| match error {
            CapacityError::OutOfRange { most, .. } => {
                CapacityError::OutOfRange { asked, most: most.saturating_mul(3) }
            }
            other => other,
        })?;
        let taken = Arc::<AtomicUsize>::default();
        let rx = Limited { handle: rx, limit: asked, taken: taken.clone() };
        Ok((Self { handle: tx, limit: asked, taken }, rx))
    }

    fn like<O>(&self, handle: O) -> Limited<O> {
        Limited { handle, limit: self.limit, taken: self.taken.clone() }
    }

    fn free(&self) -> usize {
        self.limit - self.taken.load(Relaxed)
    }

    /// Takes up to `wanted` places. Returns how many were free.
    fn take(&self, wanted: usize) -> usize {
        let rest = |taken| Some(self.limit.min(taken + wanted));
        let before = self.taken.fetch_update(Relaxed, Relaxed, rest);
        wanted.min(self.limit - before.expect("there is always a rest"))
    }

    fn give_back(&self, n: usize) {
        self.taken.fetch_sub(n, Relaxed);
    }
}

impl<P: Producer> Producer for Limited<P> {
    type Item = P::Item;

    fn try_push(&mut self, item: P::Item) -> Result<(), TryPushError<P::Item>> {
        if self.take(1) == 0 {
            return Err(match self.is_closed() {
                true => TryPushError::Closed(item),
                false => TryPushError::Full(item),
            });
        }
        self.handle.try_push(item).inspect_err(|_| self.give_back(1))
    }

    fn push_slice(&mut self, items: &[P::Item]) -> usize
    where
        P::Item: Copy,
    {
        let n = self.take(items.len());
        let done = self.handle.push_slice(&items[..n]);
        self.give_back(n - done);
        done
    }

    fn capacity(&self) -> usize {
        assert_eq!(self.handle.capacity(), usize::MAX, "only an unbounded queue needs a limit");
        self.limit
    }

    fn len(&mut self) -> usize {
        self.handle.len()
    }

    fn is_full(&mut self) -> bool {
        self.free() == 0
    }

    fn is_closed(&self) -> bool {
        self.handle.is_closed()
    }

    fn flush(&mut self) {
        self.handle.flush();
    }

    fn try_clone(&self) -> Option<Self> {
        self.handle.try_clone().map(|handle| self.like(handle))
    }
}

impl<P: SingleProducer> LendSlots for Limited<P> {
    fn free_up_to(&mut self, wanted: usize) -> usize {
        let n = self.free().min(wanted);
        self.handle.free_slots(n)
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, P::Item> {
        // SAFETY: the caller's contract.
        unsafe { self.handle.lend(n) }
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        let n = self.free().min(wanted);
        self.handle.lendable(n)
    }

    unsafe fn publish(&mut self, n: usize) {
        assert_eq!(self.take(n), n, "no other thread pushes");
        // SAFETY: the caller's contract.
        unsafe { self.handle.publish(n) };
    }
}

impl<C: Consumer> Consumer for Limited<C> {
    type Item = C::Item;

    fn try_pop(&mut self) -> Result<C::Item, TryPopError> {
        self.handle.try_pop().inspect(|_| self.give_back(1))
    }

    fn pop_slice(&mut self, into: &mut [C::Item]) -> usize
    where
        C::Item: Copy,
    {
        let done = self.handle.pop_slice(into);
        self.give_back(done);
        done
    }

    fn capacity(&self) -> usize {
        assert_eq!(self.handle.capacity(), usize::MAX, "only an unbounded queue needs a limit");
        self.limit
    }

    fn len(&mut self) -> usize {
        self.handle.len()
    }

    fn is_empty(&mut self) -> bool {
        self.handle.is_empty()
    }

    fn is_closed(&self) -> bool {
        self.handle.is_closed()
    }

    fn relaxation(&self) -> usize {
        self.handle.relaxation()
    }

    fn try_clone(&self) -> Option<Self> {
        self.handle.try_clone().map(|handle| self.like(handle))
    }
}

// SAFETY: the queue itself lends the items.
unsafe impl<C: SingleConsumer> LendItems for Limited<C> {
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        self.handle.available(wanted)
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, C::Item> {
        // SAFETY: the caller's contract.
        unsafe { self.handle.lend(n) }
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        self.handle.lendable(wanted)
    }

    unsafe fn release(&mut self, n: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.handle.release(n) };
        self.give_back(n);
    }
}
