//! Saved results: tables, and a picture.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use corelane_report::plot::{self, Bar};
use corelane_report::{Block, Document, Failure, Table, short};

use crate::advice::is_choice;
use crate::kinds::Test;
use crate::results::{CellResult, Results, comparable};
use crate::stats::{Group, Quartiles};
use crate::suite::relaxed::frontier;
use crate::suite::spsc::{Regime, SpscSetting};

/// Most queues of corelane in a picture, and most peers.
const BARS: usize = 5;

const READING: &str = "Medians over rounds, with quartiles in brackets; less is better. In a round all queues of a table \
    are measured one after the other. A round is *near* if the two cores share a cache, and *far* if they don't: a virtual \
    machine's cores may move. Floors are measured in the same rounds without any queue. [How it is \
    measured](measuring.md) explains the tests.";

impl Results {
    /// Reads the results that `lane bench --json` has written to a file.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let refused = |reason: String| {
            let path = path.display();
            Failure::Usage(format!(
                "can't read {path} ({reason}); give what lane bench --json wrote"
            ))
        };
        let text = fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| refused(error.to_string()))
    }

    fn kept(&self) -> Vec<Block> {
        let Some(first) = self.results.first() else { return Vec::new() };
        let mut blocks = {
            let is_full = self.results.iter().any(CellResult::is_bounded);
            let never = if is_full { "" } else { ": queues that are never full" };
            vec![Block::heading(2, first.suite().about().heading.to_owned() + never)]
        };
        let features = if first.suite().about().name == "net" { "--features net " } else { "" };
        let lane = format!("cargo run --release {features}-- ");
        let command = self.origin.command().replacen("lane ", &lane, 1);
        let machine = format!("`{command}`, {}. {}.", self.origin.date(), self.machine());
        blocks.push(Block::Paragraph(machine));
        let floors = self.groups().map(|group| format!("{}: {}", group.name(), self.floors(group)));
        blocks.push(Block::List(floors.collect()));
        let mut tables: Vec<(String, Vec<&CellResult>)> = Vec::new();
        for result in self.results.iter().filter(|result| !result.is_of_grid()) {
            let (title, _) = result.titles();
            match tables.iter_mut().find(|table| table.0 == title) {
                Some(table) => table.1.push(result),
                None => tables.push((title, vec![result])),
            }
        }
        let groups: Vec<_> = self.groups().collect();
        for (title, results) in tables {
            // Numbers of threads already need many columns.
            let at_once =
                if results[0].suite().column(results[0]).is_some() { 1 } else { groups.len() };
            for groups in groups.chunks(at_once.max(1)) {
                let mut title = format!("{title}: {}", results[0].test.unit());
                if let [group] = groups {
                    title = format!("{title}, {}", group.name());
                }
                let table = table(&results, groups);
                // A group may have had too few rounds.
                if !table.rows.is_empty() {
                    blocks.extend([Block::heading(3, title), Block::Table(table)]);
                }
            }
        }
        blocks
    }
}

/// Tables of saved results, file by file.
pub fn numbers(kept: &[Results]) -> Document {
    let mut document = Document::new("", "");
    document.blocks = vec![Block::heading(1, "Numbers"), Block::Paragraph(READING.into())];
    document.blocks.extend(kept.iter().flat_map(Results::kept));
    document
}

/// The fastest queues and peers that stream items one by one, as an SVG file. If there are none,
/// the throughput of queues against their rank errors.
///
/// # Errors
///
/// If nothing of this was measured.
pub fn picture(kept: &[Results]) -> Result<String, Failure> {
    let none = || {
        let missing = "no stream was measured, nor throughput and rank errors";
        Failure::Usage(format!(
            "{missing}; give what lane bench spsc or lane bench relaxed has written"
        ))
    };
    let all = kept.iter().find(|results| results.results.iter().any(is_plain_stream));
    let Some(all) = all else { return kept.iter().find_map(frontier::picture).ok_or_else(none) };
    let mixed = || {
        let rounds = "in each round of the stream the cores moved between near and far";
        Failure::Usage(format!("{rounds}; measure again, with more --rounds"))
    };
    let groups: Vec<_> = all.groups().collect();
    let group = *groups.first().ok_or_else(mixed)?;
    let mut tables = all.tables(group).into_iter();
    let table = tables.find(|table| is_plain_stream(table[0])).ok_or_else(mixed)?;
    let few = |is_peer| {
        let fits = move |r: &&CellResult| r.peer == is_peer && (is_peer || is_choice(r));
        comparable(&table).into_iter().filter(fits).take(BARS)
    };
    let mut chosen: Vec<_> = few(false).chain(few(true)).collect();
    chosen.sort_by(|a, b| f64::total_cmp(&a.median(group), &b.median(group)));
    let panel = |group: Group| (all.place(group).to_owned(), bars(&chosen, group));
    let panels: Vec<_> = groups.into_iter().map(panel).collect();
    Ok(plot::panels("Nanoseconds per item, one item per call; less is better", &panels))
}

fn is_plain_stream(result: &CellResult) -> bool {
    let pair = result.params.spsc();
    let is_plain =
        |pair: &SpscSetting| pair.is_usual() && pair.batch == 1 && pair.regime == Regime::Free;
    result.test == Test::Stream && pair.is_some_and(is_plain)
}

fn bars(results: &[&CellResult], group: Group) -> Vec<Bar> {
    let bar = |result: &&CellResult| {
        let value = result.groups.get(&group)?.value;
        let values = [value.p25, value.median, value.p75];
        Some(Bar { label: result.kept_label(), is_peer: result.peer, values })
    };
    results.iter().filter_map(bar).collect()
}

/// A row for each queue, the fastest of the first column on top; a column for each number of
/// threads, or for each group.
fn table(results: &[&CellResult], groups: &[Group]) -> Table {
    let mut columns: Vec<String> = Vec::new();
    let mut rows: BTreeMap<String, BTreeMap<usize, Quartiles>> = BTreeMap::new();
    for group in groups {
        for result in results {
            let Some(summary) = result.groups.get(group) else { continue };
            let column = result.suite().column(result).unwrap_or_else(|| group.name().to_owned());
            let place = columns.iter().position(|known| *known == column);
            let place = place.unwrap_or_else(|| {
                columns.push(column);
                columns.len() - 1
            });
            rows.entry(result.kept_label()).or_default().insert(place, summary.value);
        }
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    let first = |row: &BTreeMap<usize, Quartiles>| {
        row.first_key_value().map_or((0, f64::NAN), |(place, value)| (*place, value.median))
    };
    rows.sort_by(|a, b| first(&a.1).partial_cmp(&first(&b.1)).unwrap_or(Ordering::Equal));
    let cell = |value: &Quartiles| format!("{} ({})", short(value.median), value.spread());
    let rows = rows.into_iter().map(|(label, values)| {
        let cells = (0..columns.len()).map(|place| values.get(&place).map_or("".into(), cell));
        std::iter::once(label).chain(cells).collect::<Vec<_>>()
    });
    let measured = results[0].suite().about().measured;
    let names = std::iter::once(measured.to_owned()).chain(columns.iter().cloned());
    Table::new(names).with(rows.collect::<Vec<_>>())
}
