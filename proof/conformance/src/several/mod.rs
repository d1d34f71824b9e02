//! The properties of queues with several handles a side: one thread with many handles, and many
//! threads.
//!
//! [`Sides`] says how many handles a queue may have. A check uses as many as it may: one producer
//! and one consumer if need be. Single handles are checked as for any queue.
//!
//! | module | what is checked |
//! |---|---|
//! | [`order`] | first in first out, or k-FIFO, whichever handles are used, by single calls and by slices |
//! | [`closing`] | closed when the last handle is gone, and after the last item |
//! | [`drops`] | every item is dropped exactly once, in whatever order the handles are dropped |
//! | [`items`] | zero-sized, tiny, large, over-aligned and owning items, in every kind of memory |
//! | [`stress`] | up to four producers and four consumers, on two cores and on one core |
//! | [`bulks`] | calls that only `ring` has: all or nothing, claimed slots, items that are looked at |
//! | [`stalls`] | threads that are late, are stopped, or compete for an item |

use corelane::{BoxedConsumer, BoxedProducer, Config, Consumer, Info, Sides, TryPushError};

use crate::Any;

pub mod bulks;
pub mod closing;
pub mod drops;
pub mod items;
pub mod order;
pub mod stalls;
pub mod stress;

/// Numbers of producers and consumers to try, the most effective first.
const SHAPES: [(usize, usize); 7] = [(4, 4), (2, 2), (4, 1), (1, 4), (2, 1), (1, 2), (1, 1)];

/// `items` for each thread, or fewer if each item may cost a switch between threads.
fn fewer(info: &Info, items: u64) -> u64 {
    if info.takes_turns { items.div_ceil(50) } else { items }
}

/// The [`SHAPES`] that the queue may have.
fn shapes(info: &Info) -> impl Iterator<Item = (usize, usize)> + Clone + use<> {
    let sides: Sides = info.sides;
    SHAPES.into_iter().filter(move |&(producers, consumers)| sides.allow(producers, consumers))
}

/// As many of `producers` and `consumers` as the queue may have.
fn at_most(info: &Info, producers: usize, consumers: usize) -> (usize, usize) {
    let producers = if info.sides.allow(producers, 1) { producers } else { 1 };
    (producers, if info.sides.allow(1, consumers) { consumers } else { 1 })
}

/// Whether a push may fail by this error, although there is room, while other calls are unfinished.
fn may_fail<T>(info: &Info, error: &TryPushError<T>) -> bool {
    match error {
        TryPushError::Busy(_) => true,
        TryPushError::Full(_) => info.relaxed,
        TryPushError::Closed(_) => false,
    }
}

/// Queues for `capacity` items with several k, as far as the queue takes them.
fn relaxations<T: Send + 'static>(
    subject: &Any<T>,
    capacity: usize,
) -> impl Iterator<Item = Config> {
    let config = move |k| Config::new(capacity).relaxation(k);
    [1, 2, 3, 4, 7, 8, 16, 64, 100, 1000].map(|k| (k, config(k))).into_iter().filter_map(
        |(k, config)| {
            let (_, rx) = subject.try_open(config).ok()?;
            assert!(rx.relaxation() <= k, "{} is more than {k}", rx.relaxation());
            Some(config)
        },
    )
}

/// All handles of a queue.
type Handles<T> = (Vec<BoxedProducer<T>>, Vec<BoxedConsumer<T>>);
