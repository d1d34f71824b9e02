//! Queues that handle whole lines, with lines of two items.

use crate::Model;
use crate::chunks::{chunks_through, slices_through};
use crate::explore::tiny;
use crate::item::{Narrow, Number, Ticket};
use crate::one_to_one::{attempts, transfer_through};
use crate::queue::SingleSubject;

/// The common models, with two items in a line. A slot is used twice if `more` items are pushed
/// than fit.
pub(crate) fn models(
    subject: SingleSubject<Narrow<Ticket>, Narrow<Number>>,
    more: u64,
) -> Vec<Model> {
    let SingleSubject { of, tickets, numbers } = subject;
    vec![
        of.model("narrow_transfer", move || transfer_through(tickets, tiny(1), more)),
        of.model("narrow_attempts", move || attempts(tickets)),
        of.model("narrow_chunks", move || chunks_through(tickets, tiny(1), |_| 4)),
        of.model("narrow_slices", move || slices_through(numbers, tiny(1), more)),
    ]
}
