//! `linering`: lines of more than one item.

use corelane_loom::line_ring::LineRing;

use crate::queue::SingleSubject;
use crate::{Model, narrow};

/// With two items in a line, lines are seen half full, and are left and given back whole.
pub(crate) fn models() -> Vec<Model> {
    narrow::models(SingleSubject::narrow::<LineRing>(), 1)
}
