//! What order costs: throughput against rank errors, a point for each queue and k.

use corelane_report::plot::{Named, named_points, named_points_file};
use corelane_report::{Block, Media, name};

use super::RelaxedSetting;
use crate::kinds::Test;
use crate::results::{CellResult, Results};
use crate::sample::OutOfTurn;
use crate::stats::Group;
use crate::suite::Setting;

/// A queue with one k.
#[derive(Debug)]
pub struct FrontierPoint {
    /// Its name, with its k.
    pub name: String,
    /// Whether it is there to compare.
    pub is_peer: bool,
    /// Million items a second.
    pub throughput: f64,
    /// How far items left out of turn.
    pub rank_error: OutOfTurn,
}

/// A figure of rank errors, with its name.
type Figure = (&'static str, fn(OutOfTurn) -> f64);

const FIGURES: [Figure; 2] =
    [("mean rank error", |error| error.mean), ("rank error, p99,", |error| error.p99.into())];

/// Throughput against the mean rank error, and below it against that of p99, of a team of threads.
pub fn frontier(team: &str, points: &[FrontierPoint]) -> [Block; 2] {
    FIGURES.map(|figure| Block::Figures(vec![draw(team, points, figure, named_points)]))
}

/// Throughput against the mean rank error, as an SVG file.
pub fn frontier_file(team: &str, points: &[FrontierPoint]) -> String {
    draw(team, points, FIGURES[0], named_points_file)
}

fn draw(
    team: &str,
    points: &[FrontierPoint],
    (figure, of): Figure,
    draw: fn([&str; 2], &[Named]) -> String,
) -> String {
    let named = |point: &FrontierPoint| {
        // One more, since the axis is logarithmic.
        let at = [of(point.rank_error) + 1.0, point.throughput];
        Named { name: point.name.clone(), is_peer: point.is_peer, at }
    };
    let points: Vec<_> = points.iter().map(named).collect();
    draw([&format!("{figure} + 1; {team}"), "million items a second"], &points)
}

/// The queues of a table whose throughput and rank errors were both measured.
struct Frontier<'a> {
    setting: &'a RelaxedSetting,
    /// Nanoseconds an item, and the rank errors.
    queues: Vec<(&'a CellResult, f64, OutOfTurn)>,
}

/// Two pictures for each team of threads.
pub(crate) fn blocks(results: &Results, group: Group) -> Vec<Block> {
    let pictures = frontiers(results, group).into_iter().flat_map(|frontier| {
        let heading = format!("Throughput against rank errors, {}", frontier.team());
        let drawn = self::frontier(&frontier.team(), &frontier.points());
        std::iter::once(Block::heading(3, heading)).chain(drawn)
    });
    let pictures: Vec<_> = pictures.collect();
    if pictures.is_empty() { pictures } else { vec![Block::On(Media::PAGE, pictures)] }
}

/// Throughput against the mean rank error of the largest team of threads, as an SVG file; `None` if
/// they were not both measured.
pub(crate) fn picture(results: &Results) -> Option<String> {
    let frontiers = frontiers(results, results.groups().next()?).into_iter();
    let frontier = frontiers.max_by_key(|frontier| frontier.setting.size.threads())?;
    Some(frontier_file(&frontier.team(), &frontier.points()))
}

fn frontiers<'a>(results: &'a Results, group: Group) -> Vec<Frontier<'a>> {
    let errors = |result: &CellResult| {
        let is_same = |other: &&CellResult| {
            let key = (&other.queue, &other.params);
            other.test == Test::RankError && key == (&result.queue, &result.params)
        };
        let errors = results.results.iter().find(is_same)?;
        Some(errors.groups.get(&group)?.disorder?.rank_error)
    };
    let frontier = |table: Vec<&'a CellResult>| {
        let Setting::Relaxed(setting) = &table[0].params.setting else { return None };
        let queues = table.into_iter().filter(|result| result.test == Test::Throughput);
        let queue = |result: &'a CellResult| Some((result, result.median(group), errors(result)?));
        let queues: Vec<_> = queues.filter_map(queue).collect();
        (!queues.is_empty()).then_some(Frontier { setting, queues })
    };
    results.tables(group).into_iter().filter_map(frontier).collect()
}

impl Frontier<'_> {
    fn team(&self) -> String {
        let RelaxedSetting { size, placement, .. } = self.setting;
        format!("{size} threads placed {}", name(placement))
    }

    fn points(&self) -> Vec<FrontierPoint> {
        let point = |&(result, ns, rank_error): &(&CellResult, f64, OutOfTurn)| FrontierPoint {
            name: result.suite().label(&result.queue),
            is_peer: result.peer,
            throughput: 1e3 / ns,
            rank_error,
        };
        self.queues.iter().map(point).collect()
    }
}
