//! What queues with several handles a side must do: one thread with many handles, and many threads.
//!
//! [`Sides`] says how many handles a queue may have, and a check takes what it is given: between one producer and one
//! consumer if need be. What one handle a side must do is checked as for any queue.
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

use corelane::{BoxedConsumer, BoxedProducer, Info, Sides};

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
fn fewer(info: &Info, items: u64) -> u64 {
    if info.takes_turns { items.div_ceil(50) } else { items }
}

/// Those of the [`SHAPES`] that the queue may have.
fn shapes(info: &Info) -> impl Iterator<Item = (usize, usize)> + Clone + use<> {
    let sides: Sides = info.sides;
    SHAPES.into_iter().filter(move |&(producers, consumers)| sides.allow(producers, consumers))
}

/// As many of `producers` and `consumers` as the queue may have.
fn at_most(info: &Info, producers: usize, consumers: usize) -> (usize, usize) {
    let producers = if info.sides.allow(producers, 1) { producers } else { 1 };
    (producers, if info.sides.allow(1, consumers) { consumers } else { 1 })
}

/// All handles of a queue.
type Handles<T> = (Vec<BoxedProducer<T>>, Vec<BoxedConsumer<T>>);
