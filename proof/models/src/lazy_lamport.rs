//! `llq`: slots that stay unused, more than one.

use corelane_loom::lamport::lazy::Llq;

use crate::queue::SingleSubject;
use crate::{Model, narrow};

/// With two items in a line, two slots stay unused.
pub(crate) fn models() -> Vec<Model> {
    narrow::models(SingleSubject::narrow::<Llq>(), 3)
}
