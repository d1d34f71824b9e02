//! Threads that hand items on, each from one queue to the next.

use std::cell::Cell;
use std::collections::VecDeque;
use std::iter::from_fn;
use std::rc::Rc;

use coherence::{Chance, pause};
use corelane_sim::{Consumer, Producer, TryPopError, TryPushError};

use crate::ledger::Counted;

/// Items that a thread may have in its hands before it takes more.
const HANDFUL: usize = 8;
/// Most items to a batch.
const BATCH: u64 = 6;

/// What both ends of a queue tell of it, outside of the simulated machine.
#[derive(Debug)]
pub(crate) struct Link {
    /// Items are numbered from 0 to this, again and again.
    lap: u64,
    given: Cell<u64>,
    taken: Cell<u64>,
    /// Whether the consumer has been told that nothing more will come.
    has_ended: Cell<bool>,
}

impl Link {
    /// A link between two ends, for items that are numbered in laps of so many.
    pub(crate) fn between<P, C>(tx: P, rx: C, lap: u64) -> (Outlet<P>, Inlet<C>) {
        let (given, taken, has_ended) = Default::default();
        let link = Rc::new(Self { lap, given, taken, has_ended });
        (Outlet { tx, link: link.clone(), is_flushed: true }, Inlet { rx, link })
    }

    fn note_given(&self, n: usize) {
        self.given.set(self.given.get() + n as u64);
    }

    /// Checks that `item` is the next.
    fn note_taken(&self, item: &Counted) {
        let (expected, found) = (self.taken.get() % self.lap, item.number());
        assert_eq!(found, expected, "item {found} came where {expected} was due");
        self.taken.set(self.taken.get() + 1);
    }

    /// Checks that who says that all is over has got all.
    pub(crate) fn settle(&self) {
        let (given, taken) = (self.given.get(), self.taken.get());
        assert!(!self.has_ended.get() || given == taken, "closed after {taken} of {given} items");
    }
}

/// What came of an attempt.
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

impl<C: Consumer<Item = Counted>> Inlet<C> {
    /// Takes up to `n` items in one of all ways.
    fn take(&mut self, n: usize, into: &mut VecDeque<Counted>, chance: &mut Chance) -> Outcome {
        let before = into.len();
        let taken = match chance.below(6) {
            0 | 1 => self.rx.try_pop().map(|item| into.push_back(item)),
            2 => self.rx.read_chunk(n).map(|chunk| into.extend(chunk)),
            3 => self.replace(n, into),
            4 => self.take_available(n, into),
            _ => {
                into.extend(self.rx.pop_iter().take(n));
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

    /// Drops some items of a chunk where they are, and hands on others with the same numbers.
    fn replace(&mut self, n: usize, into: &mut VecDeque<Counted>) -> Result<(), TryPopError> {
        let chunk = self.rx.read_chunk(n)?;
        let (first, second) = chunk.as_slices();
        let most = chunk.len() - chunk.len() / 3;
        into.extend(first.iter().chain(second).take(most).map(|item| Counted::new(item.number())));
        chunk.commit(most);
        Ok(())
    }

    /// Pops what is said to be there.
    fn take_available(
        &mut self,
        n: usize,
        into: &mut VecDeque<Counted>,
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

impl<P: Producer<Item = Counted>> Outlet<P> {
    /// What is known of the queue.
    pub(crate) fn link(&self) -> Rc<Link> {
        self.link.clone()
    }

    /// Puts items in before the run.
    pub(crate) fn fill(&mut self, items: impl ExactSizeIterator<Item = Counted>) {
        self.link.note_given(items.len());
        items.for_each(|item| assert!(self.tx.try_push(item).is_ok(), "a new queue is full"));
        self.tx.flush();
    }

    /// Gives up to `n` items away in one of all ways.
    fn give(&mut self, n: usize, from: &mut VecDeque<Counted>, chance: &mut Chance) -> Outcome {
        let (before, n) = (from.len(), n.min(from.len()));
        let is_closed = match chance.below(6) {
            0 | 1 => self.give_first(from),
            2 => self.give_chunk(n, from),
            3 => self.give_promised(n, from),
            4 => {
                // A chunk that is given up holds up nobody.
                let _ = self.tx.write_chunk_uninit(n);
                false
            }
            _ => {
                self.tx.push_iter(from_fn(|| from.pop_front()).take(n));
                false
            }
        };
        let given = before - from.len();
        self.is_flushed &= given == 0;
        self.link.note_given(given);
        if is_closed { Outcome::Closed } else { Outcome::moved(given) }
    }

    /// Gives the first item away. `true` if nobody is there to take it.
    fn give_first(&mut self, from: &mut VecDeque<Counted>) -> bool {
        let Some(item) = from.pop_front() else { return false };
        let Err(error) = self.tx.try_push(item) else { return false };
        let is_closed = matches!(error, TryPushError::Closed(_));
        from.push_front(error.into_inner());
        is_closed
    }

    fn give_chunk(&mut self, n: usize, from: &mut VecDeque<Counted>) -> bool {
        match self.tx.write_chunk_uninit(n) {
            Ok(chunk) => {
                chunk.fill_from_iter(from_fn(|| from.pop_front()));
                false
            }
            Err(error) => matches!(error, TryPushError::Closed(())),
        }
    }

    /// Pushes what is said to fit.
    fn give_promised(&mut self, n: usize, from: &mut VecDeque<Counted>) -> bool {
        for item in from.drain(..self.tx.free_slots(n).min(n)) {
            assert!(self.tx.try_push(item).is_ok(), "no room for what was said to fit");
        }
        false
    }

    /// Makes visible what may not be, if anything was pushed since the last time.
    fn flush(&mut self) {
        if !self.is_flushed {
            self.tx.flush();
            self.is_flushed = true;
        }
    }
}

/// What a thread is to do.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Items to make, if it is the first.
    pub(crate) makes: u64,
    /// After so many items it goes, with whatever it has.
    pub(crate) quits_after: u64,
    /// Whether it flushes before it waits. In a ring all must.
    pub(crate) flushes: bool,
    /// What settles everything else.
    pub(crate) chance: Chance,
}

/// A thread between two queues. The first of a chain makes items, the last one drops them.
#[derive(Debug)]
pub(crate) struct Stage<P, C> {
    plan: Plan,
    inlet: Option<Inlet<C>>,
    outlet: Option<Outlet<P>>,
    held: VecDeque<Counted>,
    taken: u64,
}

impl<P: Producer<Item = Counted>, C: Consumer<Item = Counted>> Stage<P, C> {
    pub(crate) fn new(plan: Plan, inlet: Option<Inlet<C>>, outlet: Option<Outlet<P>>) -> Self {
        Self { plan, inlet, outlet, held: VecDeque::new(), taken: 0 }
    }

    /// Hands items on until none will come, or nobody wants them, or it is time to quit.
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
                self.held.extend((self.taken..end).map(Counted::new));
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
