//! What order costs: throughput against rank errors, a point for each queue and k.

use corelane_bench::OutOfTurn;
use corelane_report::plot::{Named, named_points, named_points_file};
use corelane_report::{Block, Media};

use super::cell::TeamCell;

/// A figure of rank errors, with its name.
type Figure = (&'static str, fn(&OutOfTurn) -> f64);

const FIGURES: [Figure; 2] =
    [("mean rank error", |error| error.mean), ("rank error, p99,", |error| error.p99.into())];

/// Two pictures for each team of threads with relaxed queues.
pub(super) fn blocks(cells: &[TeamCell]) -> Vec<Block> {
    let pictures = teams(cells).flat_map(|team| {
        let heading = format!("Throughput against rank errors, {}", team[0].threads());
        let drawn = FIGURES.map(|figure| draw(team, figure, named_points));
        [Block::heading(3, heading), Block::Figures(drawn.into())]
    });
    let pictures: Vec<_> = pictures.collect();
    if pictures.is_empty() { pictures } else { vec![Block::On(Media::PAGE, pictures)] }
}

/// Throughput against the mean rank error of the largest team, as an SVG file; `None` if there is no
/// relaxed queue.
pub(super) fn picture(cells: &[TeamCell]) -> Option<String> {
    let team = teams(cells).max_by_key(|team| team[0].producers + team[0].consumers)?;
    Some(draw(team, FIGURES[0], named_points_file))
}

fn teams(cells: &[TeamCell]) -> impl Iterator<Item = &[TeamCell]> {
    let teams = cells.chunk_by(|a, b| a.threads() == b.threads() && a.workload == b.workload);
    teams.filter(|team| team.iter().any(|cell| cell.relaxed))
}

fn draw(team: &[TeamCell], (name, of): Figure, draw: fn([&str; 2], &[Named]) -> String) -> String {
    let point = |cell: &TeamCell| {
        // One more, since the axis is logarithmic.
        let at = [of(&cell.rank_error) + 1.0, cell.millions_per_s()];
        Named { name: cell.name(), is_peer: cell.queue != "cnq", at }
    };
    let points: Vec<_> = team.iter().map(point).collect();
    let x = format!("{name} + 1; {} threads, simulated", team[0].threads());
    draw([&x, "million items a second"], &points)
}
