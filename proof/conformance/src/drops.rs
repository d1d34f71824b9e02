//! Every item is dropped exactly once: if it is left behind, if a chunk is taken in part, and if a
//! destructor panics.

use std::borrow::Borrow;
use std::sync::Arc;

use corelane::{BoxedSingleConsumer, Config, Consumer, Producer, SingleConsumer, SingleProducer};

use corelane_harness::ledger::must_explode;
use corelane_harness::threads::{Cores, Patience, both, scaled};

use crate::{Counted, Ledger, Single, Subject};

/// A queue whose items are in a ledger.
struct Stock<P, C> {
    tx: P,
    rx: C,
    ledger: Arc<Ledger>,
    /// How many items of the last [`push`](Self::push) fitted.
    pushed: usize,
}

/// An item that a ledger counts, or that contains one.
pub trait Owned: From<Counted> + Borrow<Counted> + Send + 'static {}

impl<T: From<Counted> + Borrow<Counted> + Send + 'static> Owned for T {}

impl<T: Owned, P: Producer<Item = T>, C: Consumer<Item = T>> Stock<P, C> {
    /// A queue for `capacity` items that holds `n` items, or as many as fit, after `offset` items
    /// have been pushed and popped.
    fn new(subject: &Subject<P, C>, capacity: usize, offset: usize, n: usize) -> Self {
        let (tx, rx) = subject.open(Config::new(capacity));
        let ledger = Ledger::new(offset + n + tx.slots() + 1000);
        let mut stock = Self { tx, rx, ledger, pushed: 0 };
        for _ in 0..offset {
            stock.push(1);
            assert!(stock.rx.try_pop().is_ok());
        }
        stock.push(n);
        stock
    }

    /// Pushes `n` items. The last items, which don't fit, are dropped here.
    fn push(&mut self, n: usize) {
        self.pushed = (0..n).filter(|_| self.tx.try_push(self.ledger.make()).is_ok()).count();
        self.tx.flush();
    }

    /// The number of the next item to be popped.
    fn pop(&mut self) -> Option<usize> {
        self.rx.try_pop().ok().map(|item| item.borrow().number())
    }

    /// Checks that the queue works like a new one, then that every item was dropped once.
    fn settle(mut self) {
        self.tx.flush();
        while self.pop().is_some() {}
        let made = self.ledger.made();
        self.push(1);
        assert_eq!(self.pop(), Some(made), "an item is lost or comes twice");
        drop((self.tx, self.rx));
        self.ledger.settle();
    }
}

/// Capacities with the sizes of chunks that are worth trying.
const SIZES: [(usize, usize); 3] = [(1, 1), (8, 8), (80, 79)];

/// Items that are left in the queue are dropped with it, whichever side is dropped first, at every
/// offset.
pub fn leftovers<T: Owned, P, C>(subject: &Subject<P, C>)
where
    P: Producer<Item = T>,
    C: Consumer<Item = T>,
{
    for capacity in [1, 2, 6] {
        let laps = 2 * Stock::new(subject, capacity, 0, 0).tx.slots();
        for offset in (0..laps).step_by(1 + laps / 50) {
            for n in (0..=laps / 2).step_by(1 + laps / 200) {
                for producer_first in [true, false] {
                    let Stock { tx, rx, ledger, .. } = Stock::new(subject, capacity, offset, n);
                    match producer_first {
                        true => drop((tx, rx)),
                        false => drop((rx, tx)),
                    }
                    ledger.settle();
                }
            }
        }
    }
}

/// Items that are pushed after the consumer was dropped are dropped, and so are the items that are
/// left when the consumer is dropped in the middle of a batch.
pub fn early_drop<T: Owned, P, C>(subject: &Subject<P, C>)
where
    P: Producer<Item = T>,
    C: Consumer<Item = T>,
{
    for n in 0..20 {
        let Stock { mut tx, mut rx, ledger, .. } = Stock::new(subject, 16, 5, n);
        let _ = rx.try_pop();
        drop(rx);
        while tx.try_push(ledger.make()).is_ok() {}
        drop(tx);
        ledger.settle();

        let Stock { mut tx, mut rx, ledger, .. } = Stock::new(subject, 16, 5, n);
        // Not flushed.
        let _ = tx.try_push(ledger.make());
        drop(tx);
        while rx.try_pop().is_ok() {}
        assert_eq!(ledger.dropped(), ledger.made());
    }
}

/// A commit drops the committed items at once and leaves the rest, for all lengths and commits.
pub fn committed_chunks<T: Owned>(subject: &Single<T>) {
    for (capacity, most) in SIZES {
        for n in 0..=most {
            for k in (0..=n).step_by(1 + most / 9) {
                let mut stock = Stock::new(subject, capacity, n, n);
                let before = stock.ledger.dropped();
                let chunk = stock.rx.read_chunk(n).unwrap();
                let k = k.min(chunk.len());
                chunk.commit(k);
                assert_eq!(stock.ledger.dropped(), before + k);
                if k < stock.pushed {
                    assert_eq!(stock.pop(), Some(n + k));
                }
                stock.settle();
            }
        }
    }
}

/// All items of a chunk that is taken by value, wholly or in part, are dropped once.
pub fn taken_chunks<T: Owned>(subject: &Single<T>) {
    for (capacity, most) in SIZES {
        for n in 0..=most {
            for k in (0..=n).step_by(1 + most / 9) {
                let mut stock = Stock::new(subject, capacity, n, n);
                let mut items = stock.rx.read_chunk(n).unwrap().into_iter();
                let taken: Vec<T> = items.by_ref().take(k).collect();
                drop(items);
                assert!(
                    taken.iter().zip(n..).all(|(item, number)| item.borrow().number() == number)
                );
                drop(taken);
                stock.settle();
            }
        }
        let mut stock = Stock::new(subject, capacity, 3, most);
        stock.rx.read_chunk(most).unwrap().commit_all();
        stock.settle();
    }
}

/// A chunk that is dropped, or left unfinished when the queue is dropped, loses no item.
pub fn dropped_chunks<T: Owned>(subject: &Single<T>) {
    for (capacity, most) in SIZES {
        for n in 1..=most {
            for end_by in 0..3 {
                let mut stock = Stock::new(subject, capacity, n, n);
                let _ = stock.rx.read_chunk(n).unwrap();
                stock.rx.read_chunk(n.div_ceil(2)).unwrap().commit(n / 4);
                let _ = stock.tx.write_chunk_uninit(1);
                match end_by {
                    0 => stock.settle(),
                    1 => {
                        drop((stock.tx, stock.rx));
                        stock.ledger.settle();
                    }
                    _ => {
                        drop((stock.rx, stock.tx));
                        stock.ledger.settle();
                    }
                }
            }
        }
    }
}

/// Forgetting the iterator over a chunk, at any point, may leak items but drops none twice.
pub fn forgotten_iterators<T: Owned>(subject: &Single<T>) {
    for (capacity, most) in SIZES {
        for n in 1..=most {
            for k in (0..=n).step_by(1 + most / 9) {
                let mut stock = Stock::new(subject, capacity, n, n);
                let _ = stock.rx.read_chunk(n).unwrap();
                let mut items = stock.rx.read_chunk(n).unwrap().into_iter();
                let taken = items.by_ref().take(k).map(drop).count();
                std::mem::forget(items);
                let next = stock.pop();
                assert!(next.is_none_or(|number| number >= n + taken), "{next:?} comes twice");
                stock.push(3);
                while stock.pop().is_some() {}
                drop((stock.tx, stock.rx));
                stock.ledger.settle_with_leaks();
            }
        }
    }
}

/// A destructor panics while a chunk is committed, while a chunk is taken, while an item is popped,
/// or while the queue is dropped: every other destructor runs once and the queue stays usable (row
/// `drop_panics_mid_batch`).
pub fn drop_panics_mid_batch<T: Owned>(subject: &Single<T>) {
    for (capacity, n) in SIZES {
        for bomb in 0..n {
            panics_in_chunk(subject, capacity, n, bomb, |rx, n| {
                let chunk = rx.read_chunk(n).unwrap();
                let len = chunk.len();
                chunk.commit(len);
            });
            panics_in_chunk(subject, capacity, n, bomb, |rx, n| {
                rx.read_chunk(n).unwrap().commit_all();
            });
            panics_in_chunk(subject, capacity, n, bomb, |rx, n| {
                rx.read_chunk(n).unwrap().into_iter().for_each(drop);
            });
            panics_in_chunk(subject, capacity, n, bomb, |rx, n| {
                drop(rx.read_chunk(n).unwrap().into_iter().next());
            });
            panics_in_chunk(subject, capacity, n, bomb, |rx, _| rx.pop_iter().for_each(drop));
            panics_in_queue(subject, capacity, n, bomb);
        }
    }
}

/// Calls `take` on chunks of up to `n` items until the item numbered `bomb` has exploded.
fn panics_in_chunk<T: Owned>(
    subject: &Single<T>,
    capacity: usize,
    n: usize,
    bomb: usize,
    take: fn(&mut BoxedSingleConsumer<T>, usize),
) {
    let mut stock = Stock::new(subject, capacity, 0, n);
    stock.ledger.arm(bomb);
    must_explode(|| {
        while stock.ledger.dropped() < n {
            let there = stock.rx.len();
            take(&mut stock.rx, n.min(there));
        }
    });
    stock.settle();
}

/// Drops a queue with `n` items, some of which are in a chunk that was abandoned.
fn panics_in_queue<T: Owned>(subject: &Single<T>, capacity: usize, n: usize, bomb: usize) {
    for staged in [0, n / 2, n] {
        for producer_first in [true, false] {
            let Stock { tx, mut rx, ledger, .. } = Stock::new(subject, capacity, 0, n);
            let _ = rx.read_chunk(staged).unwrap();
            ledger.arm(bomb);
            must_explode(|| match producer_first {
                true => drop((tx, rx)),
                false => drop((rx, tx)),
            });
            ledger.settle();
        }
    }
}

/// An iterator of items that panics loses no item, and neither does the chunk that it was filling.
pub fn panicking_iterator<T: Owned>(subject: &Single<T>) {
    for before in [0, 1, 5, 63, 64, 70] {
        let mut stock = Stock::new(subject, 200, 3, 2);
        let ledger = stock.ledger.clone();
        let items = || {
            (0..).map(
                |n| if n == before { corelane_harness::ledger::explode() } else { ledger.make() },
            )
        };
        must_explode(|| stock.tx.push_iter(items()));
        let mut more = items();
        must_explode(|| {
            loop {
                stock.tx.write_chunk_uninit(20).unwrap().fill_from_iter(more.by_ref());
            }
        });
        stock.settle();
    }
}

/// One side is dropped while items are pushed and popped: every item is dropped once (row
/// `teardown_races_push`).
pub fn teardown_races_push<T: Owned>(subject: &Single<T>) {
    for round in 0..scaled(400) as usize {
        let Stock { mut tx, mut rx, ledger, .. } = Stock::new(subject, 12, round % 29, 0);
        let (sends, receives) = (round * 7 % 50, round * 11 % 50);
        let ledger_of_sender = &ledger;
        let send = move || {
            let one = |_| push_until_closed(&mut tx, ledger_of_sender);
            (0..sends).all(one)
        };
        let receive = move || {
            let mut received = 0;
            while received < receives {
                match receive_some(&mut rx, 1 + round % 3) {
                    Some(n) => received += n,
                    None => break,
                }
            }
            // Often in the middle of a chunk.
            let _ = rx.read_chunk(2);
        };
        both(Cores::Two, send, receive);
        ledger.settle();
    }
}

/// Pushes one item, waiting for room. `false` if the consumer is gone.
fn push_until_closed<T: From<crate::Counted>>(
    tx: &mut impl SingleProducer<Item = T>,
    ledger: &Arc<Ledger>,
) -> bool {
    use corelane::TryPushError::{Busy, Closed, Full};

    let mut item = Some(ledger.make());
    Patience::until(|| match tx.try_push(item.take()?) {
        Ok(()) => Some(true),
        Err(Closed(_)) => Some(false),
        Err(Full(back) | Busy(back)) => {
            item = Some(back);
            None
        }
    })
}

/// Takes a chunk of up to `n` items. `None` if the queue is closed and empty.
fn receive_some(rx: &mut impl SingleConsumer, n: usize) -> Option<usize> {
    Patience::until(|| match rx.read_chunk(n) {
        Ok(chunk) => Some(Some(chunk.into_iter().count())),
        Err(corelane::TryPopError::Closed) => Some(None),
        Err(_) => None,
    })
}
