//! The picture of the conclusion.

use corelane_report::plot::{BarRow, bars};
use corelane_report::{Block, Media, short};

use super::Ranking;
use super::purpose::STREAM;
use crate::advice::is_choice;
use crate::kinds::WORD;
use crate::page::bar;
use crate::results::{CellResult, Results, comparable};
use crate::stats::Group;

/// Most queues of corelane in the picture, and most peers.
const ROWS: usize = 5;
/// Characters of a name.
const NAME: usize = 25;
/// Longest bar, in characters.
const BAR: f64 = 38.0;

/// The fastest queues and peers that move words one by one, in the group with most rounds.
pub(super) fn blocks(results: &Results, rankings: &[Ranking<'_>]) -> Vec<Block> {
    let is_word = |one: &&Ranking<'_>| STREAM.has(one) && one.bytes() == WORD;
    let Some(first) = rankings.iter().find(is_word) else { return Vec::new() };
    let of_group = rankings.iter().filter(is_word).filter(|one| one.group == first.group);
    let mut shown: Vec<_> = of_group.collect();
    // What most programs have decides.
    shown.sort_by_key(|one| !one.is_field());
    let (ranking, other) = (shown[0], shown.get(1).copied());
    let rows = fastest(ranking);
    let place = if results.machine.same_core { "on one core" } else { between(ranking.group) };
    let floor = ranking.first().floor_of(results, ranking.group);
    let floor_words = floor
        .map_or_else(String::new, |(_, floor)| format!("; the cores alone need {}", short(floor)));
    let caption = format!("A u64 {place}, medians of {} rounds{floor_words}:", ranking.rounds());
    let drawn: Vec<BarRow> = rows.iter().filter_map(|row| bar(row, ranking.group)).collect();
    let svg = bars(&drawn, ranking.first().test.unit(), floor);
    let drawn_of = format!("Bars: handles in a {}.", ranking.handles());
    vec![
        Block::Paragraph(caption),
        Block::On(Media::TERMINAL, vec![Block::Code(lines(&rows, ranking, other))]),
        Block::On(Media::PAGE, vec![Block::Figures(vec![svg]), Block::Note(drawn_of)]),
    ]
}

/// The rows of the picture, the fastest first.
fn fastest<'a>(ranking: &Ranking<'a>) -> Vec<&'a CellResult> {
    let few = |is_peer| {
        let fits = move |r: &&CellResult| r.peer == is_peer && (is_peer || is_choice(r));
        comparable(&ranking.results).into_iter().filter(fits).take(ROWS)
    };
    let mut rows: Vec<_> = few(false).chain(few(true)).collect();
    let group = ranking.group;
    rows.sort_by(|a, b| f64::total_cmp(&a.median(group), &b.median(group)));
    rows
}

/// The rows with their values, also those of the other handles, and with bars.
fn lines(rows: &[&CellResult], ranking: &Ranking<'_>, other: Option<&Ranking<'_>>) -> String {
    let group = ranking.group;
    let most = rows.last().map_or(1.0, |row| row.median(group));
    let handles = other.map(Ranking::handles).unwrap_or_default();
    let head = format!("{:<NAME$}{:>6}{handles:>7}", "ns an item, handles in a", ranking.handles());
    let line = |row: &&CellResult| {
        let value = row.median(group);
        let beside = other.and_then(|other| other.find(&row.queue));
        let beside = beside.map(|beside| short(beside.median(group))).unwrap_or_default();
        let (label, bar) = (row.kept_label(), character_bar(value / most * BAR));
        format!("{label:<NAME$}{:>6}{beside:>7}  {bar}", short(value))
    };
    std::iter::once(head).chain(rows.iter().map(line)).collect::<Vec<_>>().join("\n")
}

fn between(group: Group) -> &'static str {
    match group {
        Group::Near => "between near cores",
        Group::Far => "between far cores",
    }
}

/// A bar of so many characters, to an eighth.
fn character_bar(length: f64) -> String {
    let eighths = (length * 8.0).round().max(1.0) as usize;
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{rest}", "█".repeat(eighths / 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_eighths() {
        assert_eq!([0.0, 0.5, 1.0, 2.25].map(character_bar), ["▏", "▌", "█", "██▎"]);
    }
}
