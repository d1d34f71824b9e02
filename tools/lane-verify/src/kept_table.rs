//! An ordering table of an earlier run, which saves work in the next run.
//!
//! It takes long to find out that no model fails, or which model fails. The table has both.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use corelane_models::{Site, Strength};
use corelane_report::Failure;

use crate::outcome;

/// The row's text on each weakening, by the first cells of the row. Equal lines share an entry.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    shown: BTreeMap<Row, Vec<String>>,
}

/// Queue, file, function, line, access and ordering.
type Row = [String; 6];

/// The table's result for one weakening.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Known<'a> {
    /// No model failed.
    Survives,
    /// One of these models failed.
    Fails(Vec<&'a str>),
    /// No result.
    New,
}

impl Kept {
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let refused =
            |why: &str| unusable(path, why, "a file that lane verify --markdown FILE wrote");
        let text = fs::read_to_string(path).map_err(|error| refused(&error.to_string()))?;
        let kept = Self::parse(&text);
        if kept.shown.is_empty() {
            return Err(refused("it has no ordering table"));
        }
        Ok(kept)
    }

    fn parse(text: &str) -> Self {
        let mut kept = Self::default();
        let mut queue = None;
        for line in text.lines() {
            if let Some(id) = line.strip_prefix("## `").and_then(|rest| rest.strip_suffix('`')) {
                queue = Some(id);
            }
            let (Some(queue), Some(cells)) = (queue, cells(line)) else { continue };
            let [file, function, source, op, ordering, _, shown] = cells;
            let row = [queue, file, function, source, op, ordering].map(str::to_owned);
            kept.shown.entry(row).or_default().push(shown.to_owned());
        }
        kept
    }

    pub(crate) fn known(&self, queue: &str, site: &Site, to: Strength) -> Known<'_> {
        let source = outcome::text(site).replace('|', "\\|");
        let [op, ordering] = [site.op.to_string(), site.ordering.to_string()];
        let function = outcome::function(site);
        self.of(&[queue.to_owned(), site.file.clone(), function, source, op, ordering], to)
    }

    fn of(&self, row: &Row, to: Strength) -> Known<'_> {
        let shown = self.shown.get(row).map(Vec::as_slice).unwrap_or_default();
        let models: Vec<_> = shown.iter().filter_map(|shown| failing(shown, to)).collect();
        match () {
            _ if !models.is_empty() => Known::Fails(models),
            _ if shown.is_empty() || !shown.iter().all(|shown| survives(shown, to)) => Known::New,
            _ => Known::Survives,
        }
    }
}

/// Refuses a file for a reason. The user is to name `another`.
pub(crate) fn unusable(path: &Path, why: &str, another: &str) -> Failure {
    Failure::Usage(format!("can't use {} ({why}); name {another}", path.display()))
}

/// The cells of a row of a queue's table, without the quotes.
fn cells(line: &str) -> Option<[&str; 7]> {
    let inner = line.strip_prefix("| `")?.strip_suffix(" |")?;
    let cells: Vec<_> = inner.splitn(7, " | ").map(|cell| cell.trim_matches('`')).collect();
    cells.try_into().ok()
}

fn failing(shown: &str, to: Strength) -> Option<&str> {
    let with = format!("as {to}, ");
    let one_of_several = shown.split("; ").find_map(|step| step.strip_prefix(&with));
    let only = || (!shown.starts_with("as ") && !shown.starts_with("no model")).then_some(shown);
    let (model, _why) = one_of_several.or_else(only)?.split_once(": ")?;
    Some(model)
}

/// Whether `shown` says that no model fails with `to`.
fn survives(shown: &str, to: Strength) -> bool {
    let said = format!("no model fails with {to}");
    shown.split("; ").any(|step| step == said)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
| `q` | 15 | 12 | 32696 | 4 | 5 | 4 | 1 | 0 | 10 of 10 | 100 % |

## `q`

| file | function | line | access | ordering | verdict | shown by |
|---|---|---|---|---|---|---|
| `q.rs` | `pop` | `a \\| b` | load | Acquire | needed | q::one: a bar \\| and; a part: more |
| `q.rs` | `pop` | `c` | load | Relaxed | relaxed |  |
| `q.rs` | `pop` | `d` | rmw | AcqRel | survives | no model fails with Acquire; as Release, q::two: lost; as Relaxed, q::three: lost |
";

    #[test]
    fn a_table_has_the_results() {
        use Strength::{Acquire, Relaxed, Release};
        let kept = Kept::parse(TABLE);
        let known = |source: &str, access: &str, ordering: &str, to| {
            kept.of(&["q", "q.rs", "pop", source, access, ordering].map(str::to_owned), to)
        };
        assert_eq!(known("a \\| b", "load", "Acquire", Relaxed), Known::Fails(vec!["q::one"]));
        assert_eq!(known("d", "rmw", "AcqRel", Acquire), Known::Survives);
        assert_eq!(known("d", "rmw", "AcqRel", Release), Known::Fails(vec!["q::two"]));
        assert_eq!(known("d", "rmw", "AcqRel", Relaxed), Known::Fails(vec!["q::three"]));
        assert_eq!(known("e", "load", "Acquire", Relaxed), Known::New);
        assert_eq!(known("a \\| b", "cas", "Acquire", Relaxed), Known::New);
    }

    #[test]
    fn the_table_of_this_repository_is_read_whole() {
        let text = include_str!("../../../docs/orderings.md");
        let kept = Kept::parse(text);
        let of_verdict = |verdict: &str| {
            let rows = text.lines().filter(|line| line.starts_with("| `"));
            rows.filter(|row| row.contains(&format!("| {verdict} |"))).count()
        };
        let with = |is: &dyn Fn(&str, Strength) -> bool| {
            let rows = kept.shown.values().flatten();
            rows.filter(|shown| Strength::ALL.iter().any(|to| is(shown, *to))).count()
        };
        assert_eq!(with(&|shown, to| survives(shown, to)), of_verdict("survives"));
        let fails = |shown: &str, to| !shown.is_empty() && failing(shown, to).is_some();
        let needed = of_verdict("needed");
        // Some orderings survive one weakening and fail with another.
        assert!(needed > 200 && with(&fails) >= needed, "{} of {needed}", with(&fails));
    }
}
