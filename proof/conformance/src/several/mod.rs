//! What queues with several handles a side must do: one thread with many handles, and many threads.
//!
//! Each check is generic over an [`MpmcQueue`]. [`Sides`](corelane::Sides) says how many handles it may
//! have, and a check takes what it is given: between one producer and one consumer if need be. What one
//! handle a side must do, as [`Several`](crate::Several) it does with the checks for all queues.
//!
//! | module | what is checked |
//! |---|---|
//! | [`order`] | first in first out, whichever handles are used, by single calls and by slices |
//! | [`closing`] | closed when the last handle has gone, and after the last item |
//! | [`drops`] | every item is dropped exactly once, in whatever order the handles go |
//! | [`items`] | zero-sized, tiny, large, over-aligned and owning items, in every kind of memory |
//! | [`stress`] | up to four producers and four consumers on two cores and on one |
//! | [`bulks`] | what only `ring` can: all or nothing, slots that are claimed, items that are looked at |
//! | [`stalls`] | threads that come too late, are stopped, or want the same item |

use corelane::{Config, MpmcQueue};

pub mod bulks;
pub mod closing;
pub mod drops;
pub mod items;
pub mod order;
pub mod stalls;
pub mod stress;

/// Producers and consumers that are worth trying, those first that find most.
const SHAPES: [(usize, usize); 7] = [(4, 4), (2, 2), (4, 1), (1, 4), (2, 1), (1, 2), (1, 1)];

/// So many items for a thread, or fewer where each may cost a turn of the operating system's.
fn fewer<Q: MpmcQueue>(items: u64) -> u64 {
    if Q::TAKES_TURNS { items.div_ceil(50) } else { items }
}

/// Those of the [`SHAPES`] that the queue may have.
fn shapes<Q: MpmcQueue>() -> impl Iterator<Item = (usize, usize)> + Clone {
    SHAPES.into_iter().filter(|&(producers, consumers)| Q::INFO.sides.allow(producers, consumers))
}

/// As many of `producers` and `consumers` as the queue may have.
fn at_most<Q: MpmcQueue>(producers: usize, consumers: usize) -> (usize, usize) {
    let sides = Q::INFO.sides;
    let producers = if sides.allow(producers, 1) { producers } else { 1 };
    (producers, if sides.allow(1, consumers) { consumers } else { 1 })
}

/// All handles of a queue.
pub(crate) type Handles<Q, T> =
    (Vec<<Q as MpmcQueue>::Producer<T>>, Vec<<Q as MpmcQueue>::Consumer<T>>);

/// So many handles of a new queue, each but the first a clone of the one before.
pub(crate) fn handles<Q: MpmcQueue, T: Send>(
    config: Config,
    (producers, consumers): (usize, usize),
) -> Handles<Q, T> {
    let (tx, rx) = Q::channel::<T>(config).expect("this capacity is possible");
    let (mut txs, mut rxs) = (vec![tx], vec![rx]);
    while txs.len() < producers {
        txs.push(Q::another_producer(&txs[txs.len() - 1]).expect("the queue may have several"));
    }
    while rxs.len() < consumers {
        rxs.push(Q::another_consumer(&rxs[rxs.len() - 1]).expect("the queue may have several"));
    }
    (txs, rxs)
}
