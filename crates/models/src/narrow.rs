//! Queues that do something by the line, with lines of two items.

use crate::common::{attempts, transfer};
use crate::explore::tiny;
use crate::item::{Number, Ticket};
use crate::subject::Subject;
use crate::{Model, chunks};

/// The common models in which two items share a line.
pub(crate) fn models<S: Subject<Ticket> + Subject<Number, Item: Copy>>() -> Vec<Model> {
    vec![
        Model::new::<S>("narrow_transfer", transfer::<S>),
        Model::new::<S>("narrow_attempts", attempts::<S>),
        Model::new::<S>("narrow_chunks", || chunks::chunks_through::<S>(tiny(1), 1)),
        Model::new::<S>("narrow_slices", || chunks::slices_through::<S>(tiny(1), 1)),
    ]
}
