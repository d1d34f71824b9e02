//! The sending side of a pair that waits.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use super::bell::{Look, Wait};
use super::budget::count_step;
use super::sealed::{self, Bells as _, Rings as _};
use super::thread::{Habit, Strategy, Waits};
use super::{Bells, Closed, Local};
use crate::queue::{self, Backing, LendSlots, LentSlots, TryPushError, handles};
use crate::unwind::call_each;

/// A sending side, whose calls can wait for room.
///
/// Its bells are [`Local`], unless processes share the queue.
pub struct Producer<P, B = Local> {
    pub(crate) queue: P,
    habit: Habit,
    pub(crate) bells: B,
}

impl<P: queue::Producer, B: Bells> Producer<P, B> {
    pub(crate) fn new(queue: P, bells: B) -> Self {
        Self { queue, habit: Habit::new(), bells }
    }

    /// Appends `item`. Waits while the queue is full.
    ///
    /// # Errors
    ///
    /// If the queue is full and all consumers are gone.
    #[inline(always)] // as the queue's own
    pub fn push(&mut self, item: P::Item) -> Result<(), Closed<P::Item>> {
        self.push_by(item, None).map_err(|error| Closed(error.into_inner()))
    }

    /// As [`push`](Self::push), for at most `timeout`.
    ///
    /// # Errors
    ///
    /// [`Full`](TryPushError::Full) when the time is over, [`Closed`](TryPushError::Closed) as
    /// [`push`](Self::push). Never [`Busy`](TryPushError::Busy).
    pub fn push_timeout(
        &mut self,
        item: P::Item,
        timeout: Duration,
    ) -> Result<(), TryPushError<P::Item>> {
        // A time beyond what the clock can tell never comes.
        self.push_by(item, Instant::now().checked_add(timeout))
    }

    /// As [`push`](Self::push), until `deadline`.
    ///
    /// # Errors
    ///
    /// As [`push_timeout`](Self::push_timeout).
    pub fn push_deadline(
        &mut self,
        item: P::Item,
        deadline: Instant,
    ) -> Result<(), TryPushError<P::Item>> {
        self.push_by(item, Some(deadline))
    }

    /// Chooses how this handle's blocking calls wait. Clones wait the same way.
    ///
    /// ```
    /// use corelane::{spsc, wait};
    ///
    /// let (tx, rx) = wait::pair(spsc::queue::<u8>(100)?);
    /// let (tx, rx) = (tx.strategy(wait::Strategy::Sleep), rx.strategy(wait::Strategy::SpinThenSleep(1000)));
    /// # drop((tx, rx));
    /// # Ok::<(), corelane::CapacityError>(())
    /// ```
    #[must_use]
    pub fn strategy(self, strategy: Strategy) -> Self {
        Self { habit: Habit::by(strategy), ..self }
    }

    /// What the waits of this handle's blocking calls have cost so far.
    pub fn waits(&self) -> Waits {
        self.habit.waits
    }

    #[inline(always)] // as the queue's own
    fn push_by(
        &mut self,
        item: P::Item,
        until: Option<Instant>,
    ) -> Result<(), TryPushError<P::Item>> {
        // Each case is constructed anew: see `Consumer::pop_by`.
        match queue::Producer::try_push(self, item) {
            Ok(()) => Ok(()),
            Err(TryPushError::Closed(item)) => Err(TryPushError::Closed(item)),
            Err(TryPushError::Full(item) | TryPushError::Busy(item)) => {
                self.wait_to_push(item, until)
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_to_push(
        &mut self,
        item: P::Item,
        until: Option<Instant>,
    ) -> Result<(), TryPushError<P::Item>> {
        let (queue, mut item) = (&mut self.queue, Some(item));
        let look = || try_push(queue, &mut item, &self.bells);
        match self.habit.wait(self.bells.room(), until, look) {
            Some(Ok(())) => {
                ring_after_wait(&self.bells);
                Ok(())
            }
            Some(Err(Closed(item))) => Err(TryPushError::Closed(item)),
            None => Err(TryPushError::Full(item.take().expect("it was not pushed"))),
        }
    }

    /// Appends all items of `items`. Waits while the queue is full.
    ///
    /// # Errors
    ///
    /// If the queue is full and all consumers are gone. The items before the one that is given back
    /// are in the queue, and those behind it in the iterator: pass `iter.by_ref()` to keep them.
    pub fn push_all(
        &mut self,
        items: impl IntoIterator<Item = P::Item>,
    ) -> Result<(), Closed<P::Item>> {
        items.into_iter().try_for_each(|item| self.push(item))
    }

    /// After a push.
    #[inline(always)]
    fn ring(&self) {
        self.bells.items().ring();
    }
}

impl<P: queue::Producer> Producer<P> {
    /// Appends `item`, in a task. Waits while the queue is full.
    ///
    /// The future has the item until it is ready. If it is dropped before, the item is dropped with
    /// it, and is not in the queue. A future that is neither polled nor dropped when there is room
    /// keeps other producers of the queue waiting.
    ///
    /// A task that pushes again and again without a wait lets others run: after a millisecond a
    /// future is pending once.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    pub fn push_async(&mut self, item: P::Item) -> PushFuture<'_, P> {
        let wait = Wait::at(self.bells.room());
        PushFuture { queue: &mut self.queue, bells: &self.bells, wait, item: Some(item) }
    }
}

/// After a push that has waited. Rings both bells, even if a waker panics.
fn ring_after_wait<B: sealed::Bells>(bells: &B) {
    call_each([true, false], |is_of_items| match is_of_items {
        true => bells.items().ring(),
        // One call of `ring` may be for room for several producers.
        false if B::HAS_SEVERAL => bells.room().ring(),
        false => {}
    });
}

/// One look for room. Takes the item if there is some.
fn try_push<P: queue::Producer + ?Sized>(
    queue: &mut P,
    item: &mut Option<P::Item>,
    bells: &impl sealed::Bells,
) -> Look<Result<(), Closed<P::Item>>> {
    let Some(waiting) = item.take() else { unreachable!("the item is there until it is pushed") };
    match queue.try_push(waiting) {
        Ok(()) => Look::Done(Ok(())),
        Err(TryPushError::Closed(back)) => Look::Done(Err(Closed(back))),
        Err(TryPushError::Full(back)) => {
            *item = Some(back);
            flush(queue, bells);
            Look::NotYet
        }
        Err(TryPushError::Busy(back)) => {
            *item = Some(back);
            Look::Busy
        }
    }
}

/// Waits for room in a task: see [`Producer::push_async`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct PushFuture<'a, P: queue::Producer> {
    queue: &'a mut P,
    bells: &'a Local,
    wait: Wait<'a>,
    /// `None` when it is ready.
    item: Option<P::Item>,
}

impl<P: queue::Producer> Unpin for PushFuture<'_, P> {}

impl<P: queue::Producer> Future for PushFuture<'_, P> {
    type Output = Result<(), Closed<P::Item>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if this.wait.is_awake() {
            ready!(this.wait.poll_step(context.waker()));
            let Some(item) = this.item.take() else { unreachable!("it is not ready yet") };
            match this.queue.try_push(item) {
                Ok(()) => {
                    count_step(true);
                    this.bells.items().ring();
                    return Poll::Ready(Ok(()));
                }
                Err(error) => this.item = Some(error.into_inner()),
            }
        }
        this.poll_waiting(context)
    }
}

impl<P: queue::Producer> PushFuture<'_, P> {
    /// The first look found nothing.
    #[cold]
    #[inline(never)]
    fn poll_waiting(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Closed<P::Item>>> {
        let Self { queue, bells, wait, item } = self;
        let result = ready!(wait.poll_task(context.waker(), || try_push(*queue, item, *bells)));
        if result.is_ok() {
            ring_after_wait(*bells);
        }
        Poll::Ready(result)
    }
}

impl<P: queue::Producer, B: Bells> queue::Producer for Producer<P, B> {
    type Item = P::Item;

    #[inline(always)] // as the queue's own
    fn try_push(&mut self, item: P::Item) -> Result<(), TryPushError<P::Item>> {
        self.queue.try_push(item)?;
        self.ring();
        Ok(())
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.queue.capacity()
    }

    fn slots(&self) -> usize {
        self.queue.slots()
    }

    fn len(&mut self) -> usize {
        self.queue.len()
    }

    fn is_empty(&mut self) -> bool {
        self.queue.is_empty()
    }

    fn is_full(&mut self) -> bool {
        self.queue.is_full()
    }

    fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    fn backing(&self) -> Backing {
        self.queue.backing()
    }

    fn try_clone(&self) -> Option<Self> {
        // The bells first: the queue may allow several handles where the bells don't.
        let (bells, queue) = (self.bells.try_clone()?, self.queue.try_clone()?);
        Some(Self::new(queue, bells).strategy(self.habit.strategy))
    }

    fn flush(&mut self) {
        self.queue.flush();
        self.ring();
    }

    fn push_slice(&mut self, items: &[P::Item]) -> usize
    where
        P::Item: Copy,
    {
        let pushed = self.queue.push_slice(items);
        self.bells.items().ring_for(pushed);
        pushed
    }
}

handles! {
    [P: queue::Producer, B: Bells] Producer<P, B>: producer of P::Item;
}

impl<P: LendSlots, B: Bells> LendSlots for Producer<P, B> {
    fn free_up_to(&mut self, wanted: usize) -> usize {
        self.queue.free_up_to(wanted)
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        self.queue.lendable(wanted)
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, P::Item> {
        // SAFETY: the caller's contract.
        unsafe { self.queue.lend(n) }
    }

    unsafe fn publish(&mut self, n: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.queue.publish(n) };
        self.bells.items().ring_for(n);
    }

    fn refusal(&self) -> TryPushError<()> {
        self.queue.refusal()
    }
}

/// Of an only producer.
impl<P: LendSlots, B: Bells> Producer<P, B> {
    /// Waits until `n` items can be pushed. A queue that is never full has room at once.
    ///
    /// A chunk of a list of nodes may be shorter: it has at most 1024 slots.
    ///
    /// If the producer waits for room for a number of items, and the consumer for another number,
    /// and both together are more than the capacity, they may wait for each other for ever.
    ///
    /// ```
    /// let (mut tx, rx) = corelane::wait::pair(corelane::spsc::queue::<u64>(1000)?);
    /// let sums = std::thread::spawn(|| rx.into_iter().sum::<u64>());
    /// for _ in 0..100 {
    ///     tx.wait_for_room(64)?;
    ///     tx.write_chunk_uninit(64)?.fill_from_iter([1; 64]);
    /// }
    /// drop(tx);
    /// assert_eq!(sums.join().unwrap(), 6400);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If fewer can be pushed, and all consumers are gone.
    ///
    /// # Panics
    ///
    /// If `n` is larger than the capacity: it would wait for ever.
    pub fn wait_for_room(&mut self, n: usize) -> Result<(), Closed<()>> {
        assert!(
            n <= self.capacity(),
            "room for {n} items, and the capacity is {}",
            self.capacity()
        );
        if self.capacity() == usize::MAX {
            return Ok(());
        }
        let Self { queue, habit, bells } = self;
        let mut look = || has_room(queue, n, bells);
        match look() {
            Look::Done(done) => done,
            _ => habit.wait(bells.room(), None, look).expect("it waits for ever"),
        }
    }

    handles!(@lend_slots P::Item);
}

/// One look for room for `n` items.
fn has_room<P: LendSlots>(
    queue: &mut P,
    n: usize,
    bells: &impl sealed::Bells,
) -> Look<Result<(), Closed<()>>> {
    if queue.free_up_to(n) >= n {
        return Look::Done(Ok(()));
    }
    if queue.is_closed() {
        return Look::Done(Err(Closed(())));
    }
    flush(queue, bells);
    Look::NotYet
}

/// A consumer that sleeps must see what this side has pushed.
fn flush<P: queue::Producer + ?Sized>(queue: &mut P, bells: &impl sealed::Bells) {
    queue.flush();
    bells.items().ring();
}

impl<P: queue::Producer + Clone, B: Bells + Clone> Clone for Producer<P, B> {
    fn clone(&self) -> Self {
        Self::new(self.queue.clone(), self.bells.clone()).strategy(self.habit.strategy)
    }
}
