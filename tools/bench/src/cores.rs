//! The cores that threads run on.

use std::collections::BTreeSet;

use core_affinity::CoreId;
use corelane_report::Failure;

use crate::kinds::{CorePair, Placement, TeamSize};
use crate::threads::Cores;

/// The cores asked for, or the first two, or the only core twice.
///
/// # Errors
///
/// If the machine doesn't have one of the cores.
pub fn pair(wanted: Option<CorePair>) -> Result<Cores, Failure> {
    let wanted = wanted.map_or(Vec::new(), |CorePair(producer, consumer)| vec![producer, consumer]);
    several(&wanted).map(|cores| Cores::of(&cores))
}

/// All cores, or the wanted cores.
pub(crate) fn several(wanted: &[usize]) -> Result<Vec<CoreId>, Failure> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let core = |id: &usize| {
        cores.iter().copied().find(|core| core.id == *id).ok_or_else(|| {
            let have: Vec<_> = cores.iter().map(|core| core.id.to_string()).collect();
            Failure::Usage(format!("there is no core {id} here; choose from {}", have.join(", ")))
        })
    };
    match (wanted.is_empty(), cores.is_empty()) {
        (true, true) => Ok(vec![CoreId { id: 0 }]),
        (true, false) => Ok(cores),
        (false, _) => wanted.iter().map(core).collect(),
    }
}

/// Why threads that aren't pinned are left out.
pub(crate) const NOT_FREE: &str =
    "placement free left out: its threads would run on other cores, too";

/// Whether these are all cores.
pub(crate) fn are_all(cores: &[CoreId]) -> bool {
    several(&[]).is_ok_and(|all| all.iter().all(|core| cores.contains(core)))
}

/// Whether `threads` threads share cores: also if a core is given twice, although another core is
/// free.
pub(crate) fn are_shared(threads: usize, cores: &[CoreId]) -> bool {
    let ids: BTreeSet<_> = cores.iter().map(|core| core.id).collect();
    threads > cores.len() || ids.len() < cores.len()
}

/// The core of each thread, producers first; `None` if it isn't pinned.
///
/// No more cores are used than there are threads. So one producer and one consumer are on the first
/// two cores, between which floors are measured.
pub(crate) fn seats(size: TeamSize, placement: Placement, cores: &[CoreId]) -> Vec<Option<CoreId>> {
    let TeamSize { producers, consumers } = size;
    let (threads, n) = (size.threads(), cores.len().min(size.threads()));
    // The consumers' part of the cores, in proportion to the threads.
    let part = (2 * n * consumers + threads) / (2 * threads);
    let part = part.clamp(consumers.min(1), (n - 1).max(1));
    let seat = |is_producer, number: usize| {
        Some(match (placement, is_producer) {
            (Placement::Apart, true) => number % (n - part).max(1),
            (Placement::Apart, false) => n - part + number % part,
            (Placement::Mixed, true) => number % n,
            (Placement::Mixed, false) => n - 1 - number % n,
            (Placement::Free, _) => return None,
        })
    };
    let seats = (0..producers).map(|number| seat(true, number));
    let seats = seats.chain((0..consumers).map(|number| seat(false, number)));
    seats.map(|seat| seat.map(|seat| cores[seat])).collect()
}

/// Whether a core has threads of both sides.
fn has_both(size: TeamSize, placement: Placement, cores: &[CoreId]) -> bool {
    let seats = seats(size, placement, cores);
    let (producers, consumers) = seats.split_at(size.producers);
    consumers.iter().any(|core| producers.contains(core))
}

/// `placement`, or `Apart` if the same threads share cores then.
pub(crate) fn simplest(size: TeamSize, placement: Placement, cores: &[CoreId]) -> Placement {
    let [apart, mixed] =
        [Placement::Apart, Placement::Mixed].map(|placement| has_both(size, placement, cores));
    if placement == Placement::Mixed && apart == mixed { Placement::Apart } else { placement }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the producers' cores, and of the consumers'.
    fn numbers(size: &str, placement: Placement, cores: usize) -> [Vec<usize>; 2] {
        let (size, cores): (TeamSize, Vec<_>) =
            (size.parse().unwrap(), (0..cores).map(|id| CoreId { id }).collect());
        let seats = seats(size, placement, &cores);
        let (producers, consumers) = seats.split_at(size.producers);
        [producers, consumers].map(|side| side.iter().flatten().map(|core| core.id).collect())
    }

    #[test]
    fn threads_sit_where_the_placement_says() {
        for (size, cores, apart, mixed) in [
            ("1x1", 1, [&[0][..], &[0][..]], [&[0][..], &[0][..]]),
            ("2x2", 1, [&[0, 0], &[0, 0]], [&[0, 0], &[0, 0]]),
            ("1x1", 2, [&[0], &[1]], [&[0], &[1]]),
            ("2x2", 2, [&[0, 0], &[1, 1]], [&[0, 1], &[1, 0]]),
            ("4x1", 2, [&[0, 0, 0, 0], &[1]], [&[0, 1, 0, 1], &[1]]),
            ("1x4", 2, [&[0], &[1, 1, 1, 1]], [&[0], &[1, 0, 1, 0]]),
            ("1x1", 4, [&[0], &[1]], [&[0], &[1]]),
            ("2x2", 4, [&[0, 1], &[2, 3]], [&[0, 1], &[3, 2]]),
            ("4x4", 4, [&[0, 1, 0, 1], &[2, 3, 2, 3]], [&[0, 1, 2, 3], &[3, 2, 1, 0]]),
            ("4x1", 4, [&[0, 1, 2, 0], &[3]], [&[0, 1, 2, 3], &[3]]),
            ("1x4", 4, [&[0], &[1, 2, 3, 1]], [&[0], &[3, 2, 1, 0]]),
        ] {
            assert_eq!(numbers(size, Placement::Apart, cores), apart, "{size} apart on {cores}");
            assert_eq!(numbers(size, Placement::Mixed, cores), mixed, "{size} mixed on {cores}");
            assert_eq!(numbers(size, Placement::Free, cores), [[0; 0]; 2], "{size} free");
        }
        let alone = TeamSize { producers: 3, consumers: 0 };
        let cores = [0, 1].map(|id| CoreId { id });
        let seats = seats(alone, Placement::Apart, &cores);
        assert_eq!(seats, [0, 1, 0].map(|core| Some(cores[core])), "no core is kept for nobody");
    }

    #[test]
    fn mixed_threads_that_share_no_core_are_apart() {
        let cores: Vec<_> = (0..4).map(|id| CoreId { id }).collect();
        for (size, few, is_apart) in [
            ("1x1", 2, true),
            ("2x2", 4, true),
            ("8x8", 1, true),
            ("2x2", 2, false),
            ("1x4", 4, false),
        ] {
            let placement = simplest(size.parse().unwrap(), Placement::Mixed, &cores[..few]);
            assert_eq!(placement == Placement::Apart, is_apart, "{size}");
        }
    }
}
