//! Orderings in the sources that no model comes by.

use std::collections::BTreeSet;

use corelane_models::{Strength, source, sources};

use super::outcome::{Line, QueueTable};

/// All lines of algorithms that name an ordering, where none of `queues` has a site.
pub(crate) fn lines(queues: &[QueueTable]) -> Vec<Line> {
    let reached: BTreeSet<_> = queues
        .iter()
        .flat_map(|queue| &queue.sites)
        .map(|verdict| (verdict.site.file.as_str(), verdict.site.line))
        .collect();
    let lines = sources().into_iter().flat_map(with_ordering);
    lines.filter(|line| !reached.contains(&(line.file.as_str(), line.line))).collect()
}

/// The lines of `file` that name an ordering.
fn with_ordering(file: &'static str) -> impl Iterator<Item = Line> {
    let numbered = (1..).zip(source(file).unwrap_or_default().lines());
    numbered.filter(|(_, text)| names_ordering(text)).map(move |(line, text)| Line {
        file: file.to_owned(),
        line,
        source: text.trim().to_owned(),
    })
}

fn names_ordering(text: &str) -> bool {
    let code = text.split("//").next().unwrap_or_default();
    Strength::ALL.iter().any(|strength| code.contains(&format!("Ordering::{strength}")))
}
