//! What order costs: throughput against rank errors, a point for each queue and k.

use corelane_bench::{FrontierPoint, frontier, frontier_file};
use corelane_report::{Block, Media};

use super::cell::TeamCell;

/// Two pictures for each team of threads with relaxed queues.
pub(super) fn blocks(cells: &[TeamCell]) -> Vec<Block> {
    let pictures = teams(cells).flat_map(|team| {
        let heading = format!("Throughput against rank errors, {}", team[0].threads());
        let drawn = frontier(&title(team), &points(team));
        std::iter::once(Block::heading(3, heading)).chain(drawn)
    });
    let pictures: Vec<_> = pictures.collect();
    if pictures.is_empty() { pictures } else { vec![Block::On(Media::PAGE, pictures)] }
}

/// Throughput against the mean rank error of the largest team, as an SVG file; `None` if there is no
/// relaxed queue.
pub(super) fn picture(cells: &[TeamCell]) -> Option<String> {
    let team = teams(cells).max_by_key(|team| team[0].producers + team[0].consumers)?;
    Some(frontier_file(&title(team), &points(team)))
}

fn teams(cells: &[TeamCell]) -> impl Iterator<Item = &[TeamCell]> {
    let teams = cells.chunk_by(|a, b| a.threads() == b.threads() && a.workload == b.workload);
    teams.filter(|team| team.iter().any(|cell| cell.relaxed))
}

fn title(team: &[TeamCell]) -> String {
    format!("{} threads, simulated", team[0].threads())
}

fn points(team: &[TeamCell]) -> Vec<FrontierPoint> {
    let point = |cell: &TeamCell| FrontierPoint {
        name: cell.name(),
        is_peer: cell.queue != "cnq",
        throughput: cell.millions_per_s(),
        rank_error: cell.rank_error,
    };
    team.iter().map(point).collect()
}
