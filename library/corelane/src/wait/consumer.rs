//! The receiving side of a pair that waits.

use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use super::bell::{Bell, Look, Wait};
use super::budget::count_step;
use super::sealed::{Bells as _, Rings as _};
use super::thread::{Habit, Strategy, Waits};
use super::{Bells, Local};
use crate::queue::{self, Backing, LendItems, LentItems, MOST_COUNTED, TryPopError, handles};

/// A receiving side, whose calls can wait for an item.
///
/// Its bells are [`Local`], unless processes share the queue.
pub struct Consumer<C, B = Local> {
    pub(crate) queue: C,
    habit: Habit,
    pub(crate) bells: B,
}

impl<C: queue::Consumer, B: Bells> Consumer<C, B> {
    pub(crate) fn new(queue: C, bells: B) -> Self {
        Self { queue, habit: Habit::new(), bells }
    }

    /// Removes the oldest item. Waits while the queue is empty. `None` if it is empty and all
    /// producers are gone.
    #[inline(always)] // as the queue's own
    pub fn pop(&mut self) -> Option<C::Item> {
        self.pop_by(None).ok()
    }

    /// As [`pop`](Self::pop), for at most `timeout`.
    ///
    /// # Errors
    ///
    /// [`Empty`](TryPopError::Empty) when the time is over, [`Closed`](TryPopError::Closed) if all
    /// producers are gone. Never [`Busy`](TryPopError::Busy).
    pub fn pop_timeout(&mut self, timeout: Duration) -> Result<C::Item, TryPopError> {
        // A time beyond what the clock can tell never comes.
        self.pop_by(Instant::now().checked_add(timeout))
    }

    /// As [`pop`](Self::pop), until `deadline`.
    ///
    /// # Errors
    ///
    /// As [`pop_timeout`](Self::pop_timeout).
    pub fn pop_deadline(&mut self, deadline: Instant) -> Result<C::Item, TryPopError> {
        self.pop_by(Some(deadline))
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
    fn pop_by(&mut self, until: Option<Instant>) -> Result<C::Item, TryPopError> {
        // Each case is constructed anew. If LLVM moved the result as a whole, it would store and
        // load it with different widths, which the processor can't forward.
        match queue::Consumer::try_pop(self) {
            Ok(item) => Ok(item),
            Err(TryPopError::Closed) => Err(TryPopError::Closed),
            Err(TryPopError::Empty | TryPopError::Busy) => self.wait_to_pop(until),
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_to_pop(&mut self, until: Option<Instant>) -> Result<C::Item, TryPopError> {
        let mut looks = 0;
        while until.is_none() && self.habit.pause_to_spin(self.bells.items(), looks) {
            looks += 1;
            // The same code as without a wait: the item is returned in the same way.
            let found = match queue::Consumer::try_pop(self) {
                Ok(item) => return Ok(item),
                Err(TryPopError::Closed) => return Err(TryPopError::Closed),
                Err(TryPopError::Empty) => Look::NotYet::<()>,
                Err(TryPopError::Busy) => Look::Busy,
            };
            let _ = self.habit.waits.count(found);
        }
        let queue = &mut self.queue;
        match self.habit.wait(self.bells.items(), until, || try_pop(queue)) {
            Some(Some(item)) => {
                self.ring();
                Ok(item)
            }
            Some(None) => Err(TryPopError::Closed),
            None => Err(TryPopError::Empty),
        }
    }

    /// Moves up to `most` items to the end of `into`, and returns their number. Waits for the first
    /// item, and then takes the items that are there. 0 if the queue is empty and all producers are
    /// gone, or if `most` is 0.
    pub fn pop_many(&mut self, into: &mut Vec<C::Item>, most: usize) -> usize {
        let Some(first) = (most > 0).then(|| self.pop()).flatten() else { return 0 };
        into.push(first);
        let mut taken = 1;
        while taken < most {
            let Ok(item) = queue::Consumer::try_pop(self) else { break };
            into.push(item);
            taken += 1;
        }
        taken
    }

    /// The items, until all producers are gone. `next` waits as [`pop`](Self::pop).
    pub fn iter(&mut self) -> impl Iterator<Item = C::Item> {
        core::iter::from_fn(|| self.pop())
    }

    /// After a pop.
    #[inline(always)]
    fn ring(&self) {
        self.bells.room().ring_and_catch();
    }
}

impl<C: queue::Consumer> Consumer<C> {
    /// Removes the oldest item, in a task. Waits while the queue is empty. `None` as
    /// [`pop`](Self::pop).
    ///
    /// The future takes an item only when it is ready: if it is dropped before, all items are in
    /// the queue. A future that is neither polled nor dropped when an item comes keeps other
    /// consumers of the queue waiting.
    ///
    /// A task that pops again and again without a wait lets others run: after a millisecond a
    /// future is pending once.
    pub fn pop_async(&mut self) -> PopFuture<'_, C> {
        let wait = Wait::at(self.bells.items());
        PopFuture { queue: &mut self.queue, room: self.bells.room(), wait }
    }
}

/// One look for an item. `None` if no item will come.
fn try_pop<C: queue::Consumer + ?Sized>(queue: &mut C) -> Look<Option<C::Item>> {
    match queue.try_pop() {
        Ok(item) => Look::Done(Some(item)),
        Err(TryPopError::Closed) => Look::Done(None),
        Err(TryPopError::Empty) => Look::NotYet,
        Err(TryPopError::Busy) => Look::Busy,
    }
}

/// Waits for an item in a task: see [`Consumer::pop_async`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct PopFuture<'a, C> {
    queue: &'a mut C,
    room: &'a Bell,
    wait: Wait<'a>,
}

impl<C: queue::Consumer> Future for PopFuture<'_, C> {
    type Output = Option<C::Item>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { queue, room, wait } = self.get_mut();
        if wait.is_awake() {
            ready!(wait.poll_step(context.waker()));
            if let Ok(item) = queue.try_pop() {
                count_step(true);
                room.ring_and_catch();
                return Poll::Ready(Some(item));
            }
        }
        poll_waiting(*queue, room, wait, context)
    }
}

/// The first look found nothing.
#[cold]
#[inline(never)]
fn poll_waiting<C: queue::Consumer>(
    queue: &mut C,
    room: &Bell,
    wait: &mut Wait<'_>,
    context: &mut Context<'_>,
) -> Poll<Option<C::Item>> {
    let item = ready!(wait.poll_task(context.waker(), || try_pop(queue)));
    room.ring_and_catch();
    Poll::Ready(item)
}

/// The items of a queue, until all producers are gone. `next` waits.
#[derive(Debug)]
pub struct Items<C: queue::Consumer, B: Bells = Local>(Consumer<C, B>);

impl<C: queue::Consumer, B: Bells> Iterator for Items<C, B> {
    type Item = C::Item;

    #[inline]
    fn next(&mut self) -> Option<C::Item> {
        self.0.pop()
    }
}

impl<C: queue::Consumer, B: Bells> IntoIterator for Consumer<C, B> {
    type Item = C::Item;
    type IntoIter = Items<C, B>;

    fn into_iter(self) -> Items<C, B> {
        Items(self)
    }
}

impl<C: queue::Consumer, B: Bells> queue::Consumer for Consumer<C, B> {
    type Item = C::Item;

    #[inline(always)] // as the queue's own
    fn try_pop(&mut self) -> Result<C::Item, TryPopError> {
        let item = self.queue.try_pop()?;
        self.ring();
        Ok(item)
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

    fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    fn backing(&self) -> Backing {
        self.queue.backing()
    }

    fn relaxation(&self) -> usize {
        self.queue.relaxation()
    }

    fn lost(&self) -> u64 {
        self.queue.lost()
    }

    fn try_clone(&self) -> Option<Self> {
        // The bells first: see `Producer::try_clone`.
        let (bells, queue) = (self.bells.try_clone()?, self.queue.try_clone()?);
        Some(Self::new(queue, bells).strategy(self.habit.strategy))
    }

    fn pop_slice(&mut self, into: &mut [C::Item]) -> usize
    where
        C::Item: Copy,
    {
        let popped = self.queue.pop_slice(into);
        self.bells.room().ring_for_and_catch(popped);
        popped
    }
}

handles! {
    [C: queue::Consumer, B: Bells] Consumer<C, B>: consumer of C::Item;
}

// SAFETY: all calls are those of the queue's handle.
unsafe impl<C: LendItems, B: Bells> LendItems for Consumer<C, B> {
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        self.queue.filled_up_to(wanted)
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        self.queue.lendable(wanted)
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, C::Item> {
        // SAFETY: the caller's contract.
        unsafe { self.queue.lend(n) }
    }

    unsafe fn release(&mut self, n: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.queue.release(n) };
        self.bells.room().ring_for(n);
    }

    fn look_again(&mut self, wanted: usize) -> Result<usize, TryPopError> {
        self.queue.look_again(wanted)
    }
}

/// Of an only consumer.
impl<C: LendItems, B: Bells> Consumer<C, B> {
    /// Waits until `n` items can be popped, and returns `n`. If all producers are gone and fewer
    /// items are left, returns their number.
    ///
    /// A chunk of a list of rings may be shorter: it lies in one ring.
    ///
    /// If the producer waits for room for a number of items, and the consumer for another number,
    /// and both together are more than the capacity, they may wait for each other for ever.
    ///
    /// ```
    /// let (mut tx, mut rx) = corelane::wait::pair(corelane::spsc::queue::<u64>(1000)?);
    /// std::thread::spawn(move || tx.push_all(0..100));
    /// let mut left = 100;
    /// while rx.wait_for_items(8) > 0 {
    ///     let chunk = rx.read_chunk(8)?;
    ///     left -= chunk.len();
    ///     chunk.commit_all();
    /// }
    /// assert_eq!(left, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If `n` is larger than the capacity, or than 65,536 if the queue is never full: it would wait
    /// for ever.
    pub fn wait_for_items(&mut self, n: usize) -> usize {
        let most = if self.capacity() == usize::MAX { MOST_COUNTED } else { self.capacity() };
        assert!(n <= most, "{n} items, and at most {most} can be waited for");
        let Self { queue, habit, bells } = self;
        let mut look = || has_items(queue, n);
        match look() {
            Look::Done(len) => len,
            _ => habit.wait(bells.items(), None, look).expect("it waits for ever"),
        }
    }

    handles!(@lend_items C::Item);
}

/// One look for `n` items, or for the last ones.
fn has_items<C: LendItems>(queue: &mut C, n: usize) -> Look<usize> {
    // Read before the look, so that the look finds all that was pushed before.
    let is_closed = queue.is_closed();
    match queue.filled_up_to(n) {
        len if len >= n || is_closed => Look::Done(len),
        _ => Look::NotYet,
    }
}

impl<C: queue::Consumer + Clone, B: Bells + Clone> Clone for Consumer<C, B> {
    fn clone(&self) -> Self {
        Self::new(self.queue.clone(), self.bells.clone()).strategy(self.habit.strategy)
    }
}
