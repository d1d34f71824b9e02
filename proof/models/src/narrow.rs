//! Queues that do something by the line, with lines of two items.

use crate::Model;
use crate::chunks::{chunks_through, slices_through};
use crate::common::{attempts, transfer_through};
use crate::explore::tiny;
use crate::item::{Number, Ticket};
use crate::subject::Single;

/// The common models in which two items share a line. It takes `MORE` items than fit to use a slot
/// twice.
pub(crate) fn models<S, const MORE: u64>() -> Vec<Model>
where
    S: Single<Ticket> + Single<Number, Item: Copy>,
{
    vec![
        Model::new::<S>("narrow_transfer", || transfer_through::<S>(tiny(1), MORE)),
        Model::new::<S>("narrow_attempts", attempts::<S>),
        Model::new::<S>("narrow_chunks", || chunks_through::<S>(tiny(1), |_| 4)),
        Model::new::<S>("narrow_slices", || slices_through::<S>(tiny(1), MORE)),
    ]
}
