//! Threads that pass items on, each from one queue to the next.

use std::cell::Cell;
use std::collections::VecDeque;
use std::iter::from_fn;
use std::rc::Rc;

use coherence::{Chance, pause};
use corelane_sim::{SingleConsumer, SingleProducer, TryPopError, TryPushError};

use crate::item::Item;
use crate::ledger::Counted;

/// An item that is passed on.
pub(crate) trait Parcel: Sized + 'static {
    /// The parcel with this number.
    fn of(number: u64) -> Self;
    fn number(&self) -> u64;

    /// Pushes the first `n` items or fewer together.
    fn push(tx: &mut impl SingleProducer<Item = Self>, n: usize, from: &mut VecDeque<Self>);
    /// Pops `n` items or fewer together.
    fn pop(rx: &mut impl SingleConsumer<Item = Self>, n: usize, into: &mut VecDeque<Self>);
}

/// Numbers can be copied in slices.
impl<T: Item> Parcel for T {
    fn of(number: u64) -> Self {
        Item::of(number)
    }

    fn number(&self) -> u64 {
        Item::number(*self)
    }

    fn push(tx: &mut impl SingleProducer<Item = Self>, n: usize, from: &mut VecDeque<Self>) {
        let pushed = tx.push_slice(&from.make_contiguous()[..n]);
        from.drain(..pushed);
    }

    fn pop(rx: &mut impl SingleConsumer<Item = Self>, n: usize, into: &mut VecDeque<Self>) {
        let mut items = vec![Item::of(0); n];
        let popped = rx.pop_slice(&mut items);
        into.extend(&items[..popped]);
    }
}

impl Parcel for Counted {
    fn of(number: u64) -> Self {
        Self::new(number)
    }

    fn number(&self) -> u64 {
        self.number()
    }

    fn push(tx: &mut impl SingleProducer<Item = Self>, n: usize, from: &mut VecDeque<Self>) {
        tx.push_iter(from_fn(|| from.pop_front()).take(n));
    }

    fn pop(rx: &mut impl SingleConsumer<Item = Self>, n: usize, into: &mut VecDeque<Self>) {
        into.extend(rx.pop_iter().take(n));
    }
}

/// Items that a thread may hold when it pops more.
const HANDFUL: usize = 8;
/// Most items of a batch.
const BATCH: u64 = 6;

/// The counts of both ends of a queue, outside of the simulated machine.
#[derive(Debug)]
pub(crate) struct Link {
    /// Items are numbered from 0 to this, again and again.
    lap: u64,
    given: Cell<u64>,
    taken: Cell<u64>,
    /// Whether the consumer has been told closed.
    has_ended: Cell<bool>,
}

impl Link {
    /// A link between two ends, for items that are numbered in laps of `lap`.
    pub(crate) fn between<P, C>(tx: P, rx: C, lap: u64) -> (Outlet<P>, Inlet<C>) {
        let (given, taken, has_ended) = Default::default();
        let link = Rc::new(Self { lap, given, taken, has_ended });
        (Outlet { tx, link: link.clone(), is_flushed: true }, Inlet { rx, link })
    }

    fn note_given(&self, n: usize) {
        self.given.set(self.given.get() + n as u64);
    }

    /// Checks that `item` is the next item.
    fn note_taken(&self, item: &impl Parcel) {
        let (expected, found) = (self.taken.get() % self.lap, item.number());
        assert_eq!(found, expected, "found item {found}, expected {expected}");
        self.taken.set(self.taken.get() + 1);
    }

    /// Checks that all items were popped if the consumer has been told closed.
    pub(crate) fn settle(&self) {
        let (given, taken) = (self.given.get(), self.taken.get());
        assert!(!self.has_ended.get() || given == taken, "closed after {taken} of {given} items");
    }
}

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Moved,
    Nothing,
    Closed,
}

impl Outcome {
    fn moved(n: usize) -> Self {
        if n > 0 { Self::Moved } else { Self::Nothing }
    }
}

/// The consumer of a queue.
#[derive(Debug)]
pub(crate) struct Inlet<C> {
    rx: C,
    link: Rc<Link>,
}

impl<C: SingleConsumer<Item: Parcel>> Inlet<C> {
    /// Pops up to `n` items by a random kind of call.
    fn take(&mut self, n: usize, into: &mut VecDeque<C::Item>, chance: &mut Chance) -> Outcome {
        let before = into.len();
        let taken = match chance.below(6) {
            0 | 1 => self.rx.try_pop().map(|item| into.push_back(item)),
            2 => self.rx.read_chunk(n).map(|chunk| into.extend(chunk)),
            3 => self.replace(n, into),
            4 => self.take_available(n, into),
            _ => {
                Parcel::pop(&mut self.rx, n, into);
                Ok(())
            }
        };
        into.range(before..).for_each(|item| self.link.note_taken(item));
        match taken {
            Err(TryPopError::Closed) => {
                self.link.has_ended.set(true);
                Outcome::Closed
            }
            _ => Outcome::moved(into.len() - before),
        }
    }

    /// Drops some items of a chunk in place, and passes on new items with the same numbers.
    fn replace(&mut self, n: usize, into: &mut VecDeque<C::Item>) -> Result<(), TryPopError> {
        let chunk = self.rx.read_chunk(n)?;
        let (first, second) = chunk.as_slices();
        let most = chunk.len() - chunk.len() / 3;
        into.extend(first.iter().chain(second).take(most).map(|item| Parcel::of(item.number())));
        chunk.commit(most);
        Ok(())
    }

    /// Pops the items that are said to be available.
    fn take_available(
        &mut self,
        n: usize,
        into: &mut VecDeque<C::Item>,
    ) -> Result<(), TryPopError> {
        for _ in 0..self.rx.available(n) {
            into.push_back(self.rx.try_pop().expect("an available item"));
        }
        Ok(())
    }
}

/// The producer of a queue.
#[derive(Debug)]
pub(crate) struct Outlet<P> {
    tx: P,
    link: Rc<Link>,
    is_flushed: bool,
}

impl<P: SingleProducer<Item: Parcel>> Outlet<P> {
    /// The queue's counts.
    pub(crate) fn link(&self) -> Rc<Link> {
        self.link.clone()
    }

    /// Pushes items before the run.
    pub(crate) fn fill(&mut self, items: Vec<P::Item>) {
        self.link.note_given(items.len());
        let mut items = items.into_iter();
        assert!(items.all(|item| self.tx.try_push(item).is_ok()), "a new queue is full");
        self.tx.flush();
    }

    /// Pushes up to `n` items by a random kind of call.
    fn give(&mut self, n: usize, from: &mut VecDeque<P::Item>, chance: &mut Chance) -> Outcome {
        let (before, n) = (from.len(), n.min(from.len()));
        let is_closed = match chance.below(6) {
            0 | 1 => self.give_first(from),
            2 => self.give_chunk(n, from),
            3 => self.give_promised(n, from),
            4 => {
                // An abandoned chunk must not delay any thread.
                let _ = self.tx.write_chunk_uninit(n);
                false
            }
            _ => {
                Parcel::push(&mut self.tx, n, from);
                false
            }
        };
        let given = before - from.len();
        self.is_flushed &= given == 0;
        self.link.note_given(given);
        if is_closed { Outcome::Closed } else { Outcome::moved(given) }
    }

    /// Pushes the first item. Returns `true` if the consumer is gone.
    fn give_first(&mut self, from: &mut VecDeque<P::Item>) -> bool {
        let Some(item) = from.pop_front() else { return false };
        let Err(error) = self.tx.try_push(item) else { return false };
        let is_closed = matches!(error, TryPushError::Closed(_));
        from.push_front(error.into_inner());
        is_closed
    }

    fn give_chunk(&mut self, n: usize, from: &mut VecDeque<P::Item>) -> bool {
        match self.tx.write_chunk_uninit(n) {
            Ok(chunk) => {
                chunk.fill_from_iter(from_fn(|| from.pop_front()));
                false
            }
            Err(error) => matches!(error, TryPushError::Closed(())),
        }
    }

    /// Pushes the items that are said to fit.
    fn give_promised(&mut self, n: usize, from: &mut VecDeque<P::Item>) -> bool {
        for item in from.drain(..self.tx.free_slots(n).min(n)) {
            assert!(self.tx.try_push(item).is_ok(), "no room for items that were said to fit");
        }
        false
    }

    /// Flushes, if an item was pushed since the last flush.
    fn flush(&mut self) {
        if !self.is_flushed {
            self.tx.flush();
            self.is_flushed = true;
        }
    }
}

/// A thread's task.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Items to make, if the thread is the first.
    pub(crate) makes: u64,
    /// The thread quits after so many items, and drops those it holds.
    pub(crate) quits_after: u64,
    /// Whether the thread flushes before it waits. In a ring all threads must.
    pub(crate) flushes: bool,
    /// The random choices of everything else.
    pub(crate) chance: Chance,
}

/// A thread between two queues. The first of a chain makes items, the last one drops them.
#[derive(Debug)]
pub(crate) struct Stage<T, P, C> {
    plan: Plan,
    inlet: Option<Inlet<C>>,
    outlet: Option<Outlet<P>>,
    held: VecDeque<T>,
    taken: u64,
}

impl<T, P, C> Stage<T, P, C>
where
    T: Parcel,
    P: SingleProducer<Item = T>,
    C: SingleConsumer<Item = T>,
{
    pub(crate) fn new(plan: Plan, inlet: Option<Inlet<C>>, outlet: Option<Outlet<P>>) -> Self {
        Self { plan, inlet, outlet, held: VecDeque::new(), taken: 0 }
    }

    /// Passes items on until the queue before is closed, or the queue after it, or the thread
    /// quits.
    pub(crate) fn run(mut self) {
        let mut has_ended = false;
        while self.taken < self.plan.quits_after && !(has_ended && self.held.is_empty()) {
            let taken = match has_ended || self.held.len() >= HANDFUL {
                true => Outcome::Nothing,
                false => self.take(),
            };
            has_ended |= taken == Outcome::Closed;
            match self.give() {
                Outcome::Closed => break,
                Outcome::Nothing if taken == Outcome::Nothing => self.wait(),
                _ => {}
            }
        }
    }

    fn take(&mut self) -> Outcome {
        let chance = &mut self.plan.chance;
        let (n, before) = (1 + chance.below(BATCH), self.held.len());
        let outcome = match &mut self.inlet {
            Some(inlet) => inlet.take(n as usize, &mut self.held, chance),
            None if self.taken == self.plan.makes => Outcome::Closed,
            None => {
                let end = self.plan.makes.min(self.taken + n);
                self.held.extend((self.taken..end).map(T::of));
                Outcome::Moved
            }
        };
        self.taken += (self.held.len() - before) as u64;
        outcome
    }

    fn give(&mut self) -> Outcome {
        let n = 1 + self.plan.chance.below(BATCH) as usize;
        match &mut self.outlet {
            _ if self.held.is_empty() => Outcome::Nothing,
            Some(outlet) => outlet.give(n, &mut self.held, &mut self.plan.chance),
            None => {
                self.held.clear();
                Outcome::Moved
            }
        }
    }

    fn wait(&mut self) {
        if let Some(outlet) = self.outlet.as_mut().filter(|_| self.plan.flushes) {
            outlet.flush();
        }
        pause(1);
    }
}
