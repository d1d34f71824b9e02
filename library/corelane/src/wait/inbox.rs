//! One thread or task that serves many queues.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use super::bell::{Bell, Look, Sleep};
use super::budget::{Budget, count_step};
use super::sealed::Bells as _;
use super::thread::{Habit, Strategy, Waits};
use super::{Local, Producer};
use crate::queue::{self, TryPopError};

/// The receiving side of many queues, whose calls wait for an item of any of them.
///
/// Each producer has a queue of its own, so producers never wait for each other, and a push costs
/// as much as in a queue from one to one. The items of each producer come in order; there is no
/// order between producers. All queues share one bell, so a wait costs the same for one queue and
/// for a thousand. (A select announces itself at each channel.) A call that finds no item looks at
/// each queue.
///
/// The queues have one type of consumer. For queues of different types use
/// [`BoxedConsumer`](crate::BoxedConsumer).
///
/// ```
/// use corelane::{spsc, wait::Inbox};
///
/// let mut inbox = Inbox::new();
/// for thread in 0..3 {
///     let mut tx = inbox.add(spsc::queue(100)?);
///     std::thread::spawn(move || tx.push(format!("from thread {thread}")));
/// }
/// // Ends when all producers are dropped.
/// assert_eq!(inbox.into_iter().count(), 3);
/// # Ok::<(), corelane::CapacityError>(())
/// ```
pub struct Inbox<C> {
    items: Arc<Bell>,
    sources: Sources<C>,
    habit: Habit,
}

/// The receiving sides of all queues.
struct Sources<C> {
    all: Vec<Source<C>>,
    /// The source of the last item.
    turn: usize,
    /// Items that this queue may still give in a row.
    run: usize,
}

/// Most items of one queue in a row, while others may have some.
const RUN: usize = 32;

/// A queue's receiving side.
struct Source<C> {
    queue: C,
    bells: Local,
}

impl<C> fmt::Debug for Inbox<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("queues", &self.sources.all.len()).finish_non_exhaustive()
    }
}

impl<C: queue::Consumer> Default for Inbox<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: queue::Consumer> Inbox<C> {
    /// Without queues.
    pub fn new() -> Self {
        let sources = Sources { all: Vec::new(), turn: 0, run: RUN };
        Self { items: Arc::default(), sources, habit: Habit::new() }
    }

    /// Adds a queue, and returns its producer, whose calls wait for room.
    pub fn add<P>(&mut self, (tx, rx): (P, C)) -> Producer<P>
    where
        P: queue::Producer<Item = C::Item>,
    {
        let (sender, receiver) = Local::pair(self.items.clone());
        self.sources.all.push(Source { queue: rx, bells: receiver });
        Producer::new(tx, sender)
    }

    /// Number of queues. Those that have ended are left out as soon as a pop finds them.
    pub fn queues(&self) -> usize {
        self.sources.all.len()
    }

    /// Removes an item, the oldest one of its queue.
    ///
    /// # Errors
    ///
    /// [`Empty`](TryPopError::Empty) if no queue has an item, [`Closed`](TryPopError::Closed) if
    /// there is no queue any more, [`Busy`](TryPopError::Busy) if a queue says so and no other has
    /// an item.
    #[inline]
    pub fn try_pop(&mut self) -> Result<C::Item, TryPopError> {
        self.sources.try_pop()
    }

    /// Removes an item, the oldest one of its queue. Waits while there is none. `None` if all
    /// producers are gone, and all items are taken; also if no queue was added.
    #[inline]
    pub fn pop(&mut self) -> Option<C::Item> {
        self.sources.pop_again().or_else(|| self.pop_by(None).ok())
    }

    /// As [`pop`](Self::pop), for at most `timeout`.
    ///
    /// # Errors
    ///
    /// [`Empty`](TryPopError::Empty) when the time is over, [`Closed`](TryPopError::Closed) if all
    /// producers are gone.
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

    #[cold]
    #[inline(never)]
    fn pop_by(&mut self, until: Option<Instant>) -> Result<C::Item, TryPopError> {
        let Self { items, sources, habit } = self;
        match sources.look() {
            Look::Done(done) => done,
            _ => habit.wait(&**items, until, || sources.look()).unwrap_or(Err(TryPopError::Empty)),
        }
    }

    /// As [`pop`](Self::pop), in a task.
    ///
    /// If the future is dropped before it is ready, all items are in their queues. A task that pops
    /// again and again without a wait lets others run: after a millisecond a future is pending
    /// once.
    pub fn pop_async(&mut self) -> InboxFuture<'_, C> {
        InboxFuture { inbox: self, sleep: Sleep::default(), budget: Budget::default() }
    }

    /// Chooses how blocking calls wait.
    #[must_use]
    pub fn strategy(self, strategy: Strategy) -> Self {
        Self { habit: Habit::by(strategy), ..self }
    }

    /// What the waits of blocking calls have cost so far.
    pub fn waits(&self) -> Waits {
        self.habit.waits
    }

    /// The items, until all producers are gone. `next` waits as [`pop`](Self::pop).
    pub fn iter(&mut self) -> impl Iterator<Item = C::Item> {
        core::iter::from_fn(|| self.pop())
    }
}

impl<C: queue::Consumer> Sources<C> {
    #[inline]
    fn try_pop(&mut self) -> Result<C::Item, TryPopError> {
        self.pop_again().map_or_else(|| self.search(), Ok)
    }

    fn look(&mut self) -> Look<Result<C::Item, TryPopError>> {
        match self.try_pop() {
            Err(TryPopError::Empty) => Look::NotYet,
            Err(TryPopError::Busy) => Look::Busy,
            done => Look::Done(done),
        }
    }

    /// One more item of the same queue.
    #[inline(always)] // as the queue's own
    fn pop_again(&mut self) -> Option<C::Item> {
        let source = self.all.get_mut(self.turn).filter(|_| self.run > 0)?;
        let item = source.queue.try_pop().ok()?;
        source.bells.room().ring_and_catch();
        self.run -= 1;
        Some(item)
    }

    /// Looks at all queues, the next one first.
    #[cold]
    #[inline(never)]
    fn search(&mut self) -> Result<C::Item, TryPopError> {
        let mut found = TryPopError::Empty;
        let mut left = self.all.len();
        while left > 0 {
            // Less the item that it gives here.
            self.run = RUN - 1;
            self.turn = if self.turn + 1 < self.all.len() { self.turn + 1 } else { 0 };
            let source = &mut self.all[self.turn];
            match source.queue.try_pop() {
                Ok(item) => {
                    source.bells.room().ring_and_catch();
                    return Ok(item);
                }
                Err(TryPopError::Closed) => {
                    drop(self.all.swap_remove(self.turn));
                    // Another queue has its place now, so all queues are looked at once more.
                    left = self.all.len();
                }
                Err(error) => {
                    if error == TryPopError::Busy {
                        found = error;
                    }
                    left -= 1;
                }
            }
        }
        if self.all.is_empty() { Err(TryPopError::Closed) } else { Err(found) }
    }
}

impl<C: queue::Consumer> IntoIterator for Inbox<C> {
    type Item = C::Item;
    type IntoIter = InboxItems<C>;

    fn into_iter(self) -> InboxItems<C> {
        InboxItems(self)
    }
}

/// The items of all queues of an inbox, until all producers are gone. `next` waits.
#[derive(Debug)]
pub struct InboxItems<C>(Inbox<C>);

impl<C: queue::Consumer> Iterator for InboxItems<C> {
    type Item = C::Item;

    fn next(&mut self) -> Option<C::Item> {
        self.0.pop()
    }
}

/// Waits for an item in a task: see [`Inbox::pop_async`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct InboxFuture<'a, C: queue::Consumer> {
    inbox: &'a mut Inbox<C>,
    sleep: Sleep,
    budget: Budget,
}

impl<C: queue::Consumer> Future for InboxFuture<'_, C> {
    type Output = Option<C::Item>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { inbox: Inbox { items, sources, .. }, sleep, budget } = self.get_mut();
        let is_first = sleep.is_awake();
        if is_first {
            ready!(budget.poll_step(context.waker()));
        }
        let popped = sleep.poll_task(items, context.waker(), |_| sources.look()).map(Result::ok);
        count_step(is_first && popped.is_ready());
        popped
    }
}

impl<C: queue::Consumer> Drop for InboxFuture<'_, C> {
    fn drop(&mut self) {
        self.sleep.end(&self.inbox.items);
    }
}
