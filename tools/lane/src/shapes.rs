//! Numbers of threads that queues can have.

use crate::catalogue::Entry;
use crate::cli::Shape;
use crate::failure::Failure;
use crate::listing::between;

/// Numbers of threads that are measured or simulated unless others are given.
const USUAL: [(usize, usize); 5] = [(1, 1), (2, 2), (4, 4), (4, 1), (1, 4)];

/// Those numbers of threads, as shapes.
pub(crate) fn usual() -> Vec<Shape> {
    USUAL.map(|(producers, consumers)| Shape { producers, consumers }).into()
}

/// Whether a queue can have so many threads.
pub(crate) fn allows(entry: &Entry, shape: Shape) -> bool {
    entry.sides.allow(shape.producers, shape.consumers)
}

/// The shapes of `usual` that one of the queues can have.
pub(crate) fn possible(usual: Vec<Shape>, entries: &[&'static Entry]) -> Vec<Shape> {
    let is_possible = |shape: &Shape| entries.iter().any(|entry| allows(entry, *shape));
    usual.into_iter().filter(is_possible).collect()
}

/// Refuses shapes that none of the queues can have. Returns notes on queues that are `named` and can have
/// none of the shapes.
pub(crate) fn check(
    shapes: &[Shape],
    named: &[String],
    entries: &[&'static Entry],
) -> Result<Vec<String>, Failure> {
    let is_possible = |shape: &Shape| entries.iter().any(|entry| allows(entry, *shape));
    if let Some(shape) = shapes.iter().find(|shape| !is_possible(shape)) {
        let reasons: Vec<_> = entries.iter().map(|entry| reason(entry)).collect();
        let reasons = reasons.join("; ");
        return Err(Failure::Usage(format!(
            "no chosen queue can have {shape} threads: {reasons}; choose other --threads or queues"
        )));
    }
    let is_idle = |entry: &&&Entry| {
        named.contains(&entry.id) && !shapes.iter().any(|shape| allows(entry, *shape))
    };
    let notes = entries.iter().filter(is_idle);
    Ok(notes.map(|entry| format!("not with these threads: {}", reason(entry))).collect())
}

fn reason(entry: &Entry) -> String {
    format!("{} is between {}", entry.id, between(entry.sides))
}
