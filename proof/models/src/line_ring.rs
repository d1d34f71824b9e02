//! `linering`: lines of more than one item.

use corelane_loom::line_ring::LineRing;

use crate::queue::SingleSubject;
use crate::{Model, narrow};

/// With two items in a line: a consumer may see a line half full, but leaves and frees only whole lines.
pub(crate) fn models() -> Vec<Model> {
    narrow::models(SingleSubject::narrow::<LineRing>(), 1)
}
