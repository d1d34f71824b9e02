//! `scq`: threads that get a position and then meet at its entry (Nikolaev 2019; paper 3 §2.2).

use core::mem::MaybeUninit;
use core::ptr::NonNull;

use corelane_loom::memory::AtomicU64;
use corelane_loom::scq::Scq;
use corelane_loom::scq::indices::{Counters, Entries, Indices, Plan, Seen};
use corelane_loom::{TryPopError, TryPushError};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};

use crate::explore::{explore, explore_shared, tiny};
use crate::item::{Cargo, Number, Ticket};
use crate::queue::{Another, Shared, SharedSubject};
use crate::shared::{all_are_there, are_equal, attempts, drain, items, join, look, start, take};
use crate::{Exploration, Model};

/// Of models that every queue has: a call that finds no index to take advances both sides by a
/// position, each time the sides meet.
pub(crate) const LEFT_OUT: &[&str] = &[
    "transfer",
    "transfer_three",
    "pool_of_buffers",
    "another_consumer_comes",
    "another_consumer_goes",
    "consumer_a_lap_behind",
    // `scq` has no blocks, and the only handle of a side works like any other.
    "two_producers_in_a_block",
    "two_consumers_in_a_block",
    "two_consumers_empty_a_block",
    "another_producer_comes",
];

pub(crate) fn models() -> Vec<Model> {
    let SharedSubject { of, tickets, .. } = SharedSubject::<Ticket, Number>::new::<Scq>();
    vec![
        of.model("taken_a_lap_later", move || taken_a_lap_later(tickets)),
        of.model("full_while_it_is_filled", move || full_while_it_is_filled(tickets)),
        of.model("full_no_longer", move || full_no_longer(tickets)),
        of.model("two_find_nothing", move || two_find_nothing(tickets)),
        of.model("never_full_behind_a_mark", move || never_full_behind_a_mark(tickets)),
        of.model("put_behind_a_mark", put_behind_a_mark),
        of.model("put_behind_takers_that_caught_up", put_behind_takers_that_caught_up),
        of.model("put_behind_a_head", put_behind_a_head),
        of.model("put_behind_another_put", put_behind_another_put),
        of.model("never_full_behind_a_threshold", never_full_behind_a_threshold),
        of.model("never_full_once_it_was_lowered", never_full_once_it_was_lowered),
    ]
}

fn told() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

/// A consumer is about to take an item. Other threads visit its entry a lap later, to take and to
/// put an index.
fn taken_a_lap_later(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let mut items = items::<Ticket>(4).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(2)), [0, 1]);
        let mut late = rx.another();
        let thread = start(move || look(&mut late, 1));
        let mut popped = look(&mut rx, 1);
        let mut pushed = vec![0, 1];
        for item in items {
            pushed.extend(attempts(&mut tx, [item].into_iter()));
            popped.extend(look(&mut rx, 1));
        }
        popped.extend(join([thread]).concat());
        popped.extend(drain(&mut rx));
        are_equal(popped, pushed);
    })
}

/// The queue has one item, and a second item is being pushed. A producer that is told full has
/// observed the second item: an item that is pushed later comes behind it.
fn full_while_it_is_filled(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let mut items = items::<Ticket>(3).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let mut other = tx.another();
        let second = items.next().expect("the second");
        let thread = start(move || attempts(&mut other, [second].into_iter()));
        let third = tx.try_push(items.next().expect("the third"));
        let was_full = matches!(third, Err(TryPushError::Full(_)));
        let mut pushed = vec![0];
        pushed.extend(third.is_ok().then_some(2));
        // If the queue was full, its items now are its items then.
        let mut numbers = if was_full { look(&mut rx, 2) } else { Vec::new() };
        assert!(!was_full || numbers == [0, 1], "{numbers:?}");
        pushed.extend(join([thread]).concat());
        numbers.extend(drain(&mut rx));
        are_equal(numbers, pushed);
    })
}

/// A producer has been told that the queue is full, and then that an item was popped. Its next push
/// doesn't say full.
fn full_no_longer(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (mut tx, rx) = new(tiny(2));
        let mut items = items::<Ticket>(3).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(2)), [0, 1]);
        let pushed = tx.try_push(items.next().expect("the third"));
        let Err(TryPushError::Full(item)) = pushed else { panic!("the queue is full") };
        let tell = told();
        let hear = tell.clone();
        let (mut one, mut other) = (rx.another(), rx);
        let threads = [
            start(move || {
                let number = take(&mut one);
                tell.store(true, Ordering::Release);
                number
            }),
            start(move || take(&mut other)),
        ];
        let is_told = hear.load(Ordering::Acquire);
        let pushed = tx.try_push(item);
        assert!(!(is_told && matches!(pushed, Err(TryPushError::Full(_)))), "an item was popped");
        all_are_there(join(threads), 2);
    })
}

/// Two consumers find no item, and a producer visits the entries that they may have marked.
fn two_find_nothing(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (mut tx, rx) = new(tiny(1));
        let mut last = rx.another();
        let threads = [rx.another(), rx].map(|mut rx| start(move || look(&mut rx, 1)));
        let pushed = attempts(&mut tx, items::<Ticket>(1).into_iter());
        assert_eq!(pushed, [0], "there is room");
        let mut numbers = join(threads).concat();
        numbers.extend(drain(&mut last));
        all_are_there(numbers, 1);
    })
}

/// The only item is popped before another item is pushed, so there are never two items: no producer
/// is told that the queue is full.
///
/// The consumer looks for the second item before its push, and leaves a mark in the entry. The
/// second item's producer then observes the mark; or, if the consumer has advanced `tail`, that
/// producer gets a position behind the mark. Either way this producer observes the index that the
/// consumer has put back into the other ring before. A third thread that observes the second item
/// acquires from its producer that the first item is gone. In rings between one producer and one
/// consumer, each side looks only at the other side's counter: there the consumer may be told
/// empty, and the producer full.
fn never_full_behind_a_mark(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let mut items = items::<Ticket>(3).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let mut other = tx.another();
        let second = items.next().expect("the second");
        let third = items.next().expect("the third");
        let mut last = rx.another();
        let consumer = start(move || {
            let numbers = look(&mut rx, 1);
            match rx.try_pop() {
                Ok(item) => ([&numbers[..], &[item.number()]].concat(), false),
                Err(error) => (numbers, error == TryPopError::Empty),
            }
        });
        let producer = start(move || match other.try_push(third) {
            Ok(()) => (vec![2], false),
            Err(error) => (vec![], matches!(error, TryPushError::Full(_))),
        });
        let mut pushed = vec![0];
        pushed.extend(attempts(&mut tx, [second].into_iter()));
        let (third, was_full) = join([producer]).remove(0);
        let (mut numbers, was_empty) = join([consumer]).remove(0);
        assert!(!(was_full && was_empty && numbers == [0]), "there were never two items");
        pushed.extend(third);
        numbers.extend(drain(&mut last));
        are_equal(numbers, pushed);
    })
}

/// A single ring of indices. Its threshold is the lowest for one taker: if there are other takers,
/// the putter knows all their decrements. The steps of a call can be made one by one, so that a
/// thread is late before other threads start.
struct Ring {
    counters: Counters,
    entries: Entries,
    /// The memory of the entries.
    _memory: Box<[MaybeUninit<AtomicU64>]>,
}

// SAFETY: the entries are atomics, which the ring owns.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

/// The ring's first position: positions wrap soon.
const FIRST: u64 = 0_u64.wrapping_sub(4);

impl Ring {
    /// A ring with all of `n` indices.
    fn full(n: usize) -> Arc<Self> {
        let plan = Plan { n, first: FIRST, is_full: true, takers: 1, looks: 0 };
        let mut memory = Box::new_uninit_slice(Entries::number(n));
        let base = NonNull::from(&mut memory[..]).cast();
        // SAFETY: there is room for all entries, and `memory` is used for nothing else.
        let entries = unsafe { Entries::init(base, plan) };
        Arc::new(Self { counters: Counters::new(plan), entries, _memory: memory })
    }

    fn indices(&self) -> Indices<'_> {
        Indices::new(&self.counters, &self.entries)
    }

    /// Takes all indices in the ring, while no other thread is at work.
    fn drain(&self) -> Vec<u64> {
        std::iter::from_fn(|| self.indices().take()).collect()
    }

    /// Takes the only index late: after other takers have visited the other entry, and this one a
    /// lap later. The visit a lap later leaves the entry unsafe.
    fn take_late(&self) -> u64 {
        let ring = self.indices();
        let late = ring.next_to_take();
        assert_eq!((ring.take(), ring.take()), (None, None));
        ring.take_at(late).expect("it is there")
    }

    /// Looks for the index `times` times. Each look leaves a mark in the entry, so the index can't
    /// be put there.
    fn lower(&self, index: u64, times: usize) {
        let ring = self.indices();
        let mut to_put = ring.next_to_put();
        for _ in 0..times {
            let to_take = ring.next_to_take();
            if ring.take_at(to_take).is_some() || ring.put_at(to_put, index) {
                return;
            }
            to_put = ring.next_to_put();
            ring.is_over(to_take);
        }
    }

    /// Whether the ring is full, and then a take finds no index.
    fn is_full_then_empty(&self) -> bool {
        let ring = self.indices();
        ring.is_full(Seen::nothing(FIRST)).0 && ring.take().is_none()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the entries are not used any more.
        unsafe { self.entries.finish() };
    }
}

/// Lets one thread take while another thread puts. Returns the indices that were taken, and the
/// indices in the ring afterwards.
fn left_by(
    ring: &Arc<Ring>,
    take: impl FnOnce(Indices<'_>) -> Option<u64> + 'static,
    put: impl FnOnce(Indices<'_>) + 'static,
) -> Vec<u64> {
    let (one, other) = (ring.clone(), ring.clone());
    let taker = start(move || take(one.indices()));
    let putter = start(move || {
        put(other.indices());
        None
    });
    join([taker, putter]).into_iter().flatten().chain(ring.drain()).collect()
}

/// A taker is late. Another taker visits the same entry a lap later, and leaves a mark. The next
/// put of the index finds the mark, and observes that the position has a taker.
fn put_behind_a_mark() -> Exploration {
    explore(|| {
        let ring = Ring::full(1);
        let late = ring.indices().next_to_take();
        assert_eq!(ring.indices().take(), None);
        let put = move |ring: Indices<'_>| ring.put(ring.take_at(late).expect("it is there"));
        assert_eq!(left_by(&ring, |ring| ring.take(), put), [0]);
    })
}

/// One taker finds no index at several positions, because other takers have advanced `tail`. A put
/// behind these positions observes that the threshold was decremented.
fn put_behind_takers_that_caught_up() -> Exploration {
    explore(|| {
        let ring = Ring::full(1);
        let index = ring.indices().take().expect("it is there");
        let put = move |ring: Indices<'_>| {
            assert_eq!((ring.take(), ring.take()), (None, None));
            ring.put(index);
        };
        assert_eq!(left_by(&ring, |ring| ring.take(), put), [0]);
    })
}

/// Both entries are unsafe. The put finds that their positions have takers, and gives the positions
/// up. The put observes that the threshold was decremented.
fn put_behind_a_head() -> Exploration {
    explore(|| {
        let ring = Ring::full(1);
        let index = ring.take_late();
        ring.indices().put(index);
        let index = ring.take_late();
        assert_eq!(left_by(&ring, |ring| ring.take(), move |ring| ring.put(index)), [0]);
    })
}

/// One thread takes the other index and puts it, again and again. A put behind that index observes
/// that the entries before are empty, and gives up no more positions than the threshold allows for.
fn put_behind_another_put() -> Exploration {
    explore(|| {
        let ring = Ring::full(2);
        let index = ring.indices().take().expect("two are there");
        let take = |ring: Indices<'_>| {
            (0..3).for_each(|_| ring.put(ring.take().expect("it is there")));
            ring.take()
        };
        let mut taken = left_by(&ring, take, move |ring| ring.put(index));
        taken.sort_unstable();
        assert_eq!(taken, [0, 1]);
    })
}

/// The only index is taken, looked for, and never put again. A thread that has observed the ring
/// empty doesn't observe later that the ring is full and then empty again.
fn never_full_behind_a_threshold() -> Exploration {
    explore(|| {
        let ring = Ring::full(1);
        let (one, other) = (ring.clone(), ring);
        let threads = [
            start(move || {
                if let Some(index) = one.indices().take() {
                    one.lower(index, 2);
                }
            }),
            start(move || {
                let was_empty = other.indices().take().is_none();
                assert!(!was_empty || !other.is_full_then_empty(), "it was empty before");
            }),
        ];
        join(threads);
    })
}

/// The same for a taker that is about to decrement the threshold when the index is put behind it.
fn never_full_once_it_was_lowered() -> Exploration {
    explore(|| {
        let ring = Ring::full(1);
        let index = ring.indices().take().expect("it is there");
        let late = ring.indices().next_to_take();
        assert_eq!(ring.indices().take_at(late), None);
        ring.indices().put(index);
        let (one, other) = (ring.clone(), ring);
        let threads = [
            start(move || {
                if let Some(index) = one.indices().take() {
                    one.lower(index, 1);
                }
            }),
            start(move || {
                let was_empty = other.indices().is_over(late);
                assert!(!was_empty || !other.is_full_then_empty(), "it was empty before");
            }),
        ];
        join(threads);
    })
}
