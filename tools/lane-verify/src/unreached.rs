//! Orderings in the sources that no model reaches.

use std::collections::{BTreeMap, BTreeSet};

use corelane_models::{Site, Strength, source, sources};

use crate::outcome::{QueueTable, UnreachedLine};

/// Most lines of a call of an atomic's method.
const CALL_LINES: u32 = 5;

/// All lines of algorithms that name an ordering which is a site of none of `queues`.
///
/// A place with two orderings, such as a compare-and-swap, needs two sites. Imports of
/// `Ordering::{…}` or `Ordering::*` can't be followed, so these imports are listed themselves.
pub(crate) fn lines(queues: &[QueueTable]) -> Vec<UnreachedLine> {
    let sites = queues.iter().flat_map(|queue| &queue.sites).map(|verdict| &verdict.site);
    // Queues share files.
    let sites: BTreeSet<&Site> = sites.collect();
    let mut reached: BTreeMap<&str, Vec<(u32, Strength)>> = BTreeMap::new();
    for site in sites {
        reached.entry(&site.file).or_default().push((site.line, site.ordering));
    }
    let unreached =
        |file: &'static str| unreached_in(file, reached.remove(file).unwrap_or_default());
    sources().into_iter().flat_map(unreached).collect()
}

/// The lines of `file` with an ordering that belongs to none of `sites`.
fn unreached_in(file: &'static str, mut sites: Vec<(u32, Strength)>) -> Vec<UnreachedLine> {
    let mut lines = Vec::new();
    let code = source(file).unwrap_or_default().lines();
    // Tests come last.
    for (number, text) in (1..).zip(code.take_while(|text| *text != "#[cfg(test)]")) {
        let unreached = orderings(text).into_iter().filter(|ordering| {
            let is_site = |&(line, strength): &(u32, Strength)| {
                Some(strength) == *ordering && (line..line + CALL_LINES).contains(&number)
            };
            let found = sites.iter().rposition(is_site);
            found.map(|index| sites.remove(index)).is_none()
        });
        if unreached.count() > 0 {
            let source = text.trim().to_owned();
            lines.push(UnreachedLine { file: file.to_owned(), line: number, source });
        }
    }
    lines
}

/// The orderings that a line of code names; none for a name that stands for several.
fn orderings(text: &str) -> Vec<Option<Strength>> {
    let code = text.split("//").next().unwrap_or_default();
    let name = |rest: &str| {
        Strength::ALL.into_iter().find(|strength| rest.starts_with(&strength.to_string()))
    };
    code.split("Ordering::").skip(1).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orderings_are_found_in_code() {
        assert_eq!(
            orderings("a.load(Ordering::Acquire); // Ordering::Relaxed"),
            [Some(Strength::Acquire)]
        );
        let cas = "x.compare_exchange(a, b, Ordering::AcqRel, Ordering::Relaxed)";
        assert_eq!(orderings(cas), [Some(Strength::AcqRel), Some(Strength::Relaxed)]);
        assert_eq!(orderings("use crate::memory::Ordering::{Acquire, Release};"), [None]);
        assert_eq!(orderings("use crate::memory::{Cells, Ordering};"), []);
    }

    #[test]
    fn each_ordering_needs_a_site() {
        let file = "lamport/mod.rs";
        let text = source(file).unwrap();
        let all: Vec<_> = (1..)
            .zip(text.lines())
            .flat_map(|(line, text)| orderings(text).into_iter().map(move |o| (line, o.unwrap())))
            .collect();
        assert!(all.len() > 5);
        assert_eq!(unreached_in(file, all.clone()), []);
        for left_out in 0..all.len() {
            let mut sites = all.clone();
            sites.remove(left_out);
            assert!(!unreached_in(file, sites).is_empty(), "{left_out}");
        }
    }
}
