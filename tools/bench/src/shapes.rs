//! Numbers of threads that queues can have.

use corelane::Sides;
use corelane_report::Failure;

use crate::kinds::TeamSize;

/// Numbers of threads that are measured or simulated unless others are given.
const USUAL: [(usize, usize); 5] = [(1, 1), (2, 2), (4, 4), (4, 1), (1, 4)];

/// A queue by its id, and whom it is between.
pub type Between<'a> = (&'a str, Sides);

/// Those numbers of threads.
pub fn usual_sizes() -> Vec<TeamSize> {
    USUAL.map(|(producers, consumers)| TeamSize { producers, consumers }).into()
}

/// Whether a queue can have so many threads.
pub fn allows(sides: Sides, size: TeamSize) -> bool {
    sides.allow(size.producers, size.consumers)
}

/// Those of `sizes` that one of the queues can have.
pub fn possible_sizes(mut sizes: Vec<TeamSize>, queues: &[Between<'_>]) -> Vec<TeamSize> {
    sizes.retain(|size| queues.iter().any(|queue| allows(queue.1, *size)));
    sizes
}

/// Refuses sizes that none of the queues can have. Returns notes on queues that are `named` and can have
/// none of the sizes.
///
/// # Errors
///
/// If there is such a size.
pub fn check_sizes(
    sizes: &[TeamSize],
    named: &[String],
    queues: &[Between<'_>],
) -> Result<Vec<String>, Failure> {
    let reason = |(id, sides): &Between<'_>| format!("{id} is between {}", between(*sides));
    let is_possible = |size: &TeamSize| queues.iter().any(|queue| allows(queue.1, *size));
    if let Some(size) = sizes.iter().find(|size| !is_possible(size)) {
        let reasons: Vec<_> = queues.iter().map(reason).collect();
        let reasons = reasons.join("; ");
        return Err(Failure::Usage(format!(
            "no chosen queue can have {size} threads: {reasons}; choose other --threads or queues"
        )));
    }
    let is_idle = |(id, sides): &&Between<'_>| {
        named.iter().any(|name| name == id) && !sizes.iter().any(|size| allows(*sides, *size))
    };
    let idle = queues.iter().filter(is_idle);
    Ok(idle.map(|queue| format!("not with these threads: {}", reason(queue))).collect())
}

/// Whom a queue is between, in words.
pub fn between(sides: Sides) -> &'static str {
    match sides {
        Sides::OneToOne => "one producer, one consumer",
        Sides::ManyToOne => "several producers, one consumer",
        Sides::OneToMany => "one producer, several consumers",
        Sides::ManyToMany => "several producers, several consumers",
    }
}
