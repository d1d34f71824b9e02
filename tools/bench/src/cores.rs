//! The cores that threads run on.

use std::collections::BTreeSet;

use core_affinity::CoreId;
use corelane_report::Failure;

use crate::kinds::CorePair;
use crate::pair::Cores;

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

/// Whether `threads` threads share cores: also if a core is given twice, although another core is free.
pub(crate) fn are_shared(threads: usize, cores: &[CoreId]) -> bool {
    let ids: BTreeSet<_> = cores.iter().map(|core| core.id).collect();
    threads > cores.len() || ids.len() < cores.len()
}
