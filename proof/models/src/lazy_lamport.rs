//! `llq`: more than one slot stays unused.

use corelane_loom::lamport::lazy::Llq;

use crate::queue::SingleSubject;
use crate::{Model, whole_lines};

/// With two items in a line, two slots stay unused.
pub(crate) fn models() -> Vec<Model> {
    whole_lines::models(SingleSubject::narrow::<Llq>(), 3)
}
