//! Throughput over the loads of both sides: the matrices of paper 1, Fig. 14.

use corelane_report::plot::{HeatMap, HeatRange, Square, heat_maps};
use corelane_report::{Block, Media, Table, name, short};

use crate::results::{CellResult, Results};
use crate::stats::Group;

/// The matrices of all queues, as measured in the rounds of `group`: millions of items per second.
pub(crate) fn blocks(results: &Results, group: Group) -> Vec<Block> {
    let mut maps: Vec<HeatMap> = Vec::new();
    let is_measured =
        |result: &&CellResult| result.is_of_grid() && result.groups.contains_key(&group);
    for result in results.results.iter().filter(is_measured) {
        let (Some(title), Some(pair)) = (title(result), result.params.spsc()) else { continue };
        let loads = [pair.load_p_ns, pair.load_c_ns];
        let square = Square { loads, value: 1e3 / result.median(group) };
        match maps.iter_mut().find(|map| map.title == title) {
            Some(map) => map.squares.push(square),
            None => maps.push(HeatMap { title, squares: vec![square] }),
        }
    }
    if maps.is_empty() {
        return Vec::new();
    }
    let text = maps.iter().flat_map(|map| [Block::heading(3, &map.title), matrix(map)]);
    let text = Block::On(Media::TERMINAL, text.collect());
    vec![text, Block::On(Media::PAGE, pictures(&maps))]
}

/// The queue and what is special about its parameters.
fn title(result: &CellResult) -> Option<String> {
    let pair = result.params.spsc()?;
    let batch = if pair.batch > 1 { format!(", batch {}", pair.batch) } else { String::new() };
    let (payload, wait) = (name(&pair.payload), result.params.wait.words());
    Some(format!("{}{batch}, {payload}, {wait}", result.queue))
}

/// The producer's load to the right, the consumer's upwards.
fn matrix(map: &HeatMap) -> Block {
    let [columns, rows] = [0, 1].map(|side| map.loads(side));
    let at = |loads| map.squares.iter().find(|square| square.loads == loads);
    let mut table = Table::new(columns.iter().map(|_| "").chain([""]));
    for c in rows.into_iter().rev() {
        let values = columns.iter().map(|&p| at([p, c]).map_or("".into(), |s| short(s.value)));
        table.row(std::iter::once(format!("{c} ns")).chain(values));
    }
    let loads = columns.iter().map(|p| format!("{p} ns"));
    table.row(std::iter::once("C / P".into()).chain(loads));
    Block::Table(table)
}

/// The pair without loads is ten times as fast as the rest.
fn pictures(maps: &[HeatMap]) -> Vec<Block> {
    let values = || maps.iter().flat_map(|map| map.squares.iter().map(|square| square.value));
    let (dark, bright) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let legend = format!(
        "Million items per second, one square per pair of emulated loads; brighter is better; colours are \
         logarithmic and the same in all maps ({} to {}). Fast producers are at the top left, fast \
         consumers at the bottom right.",
        short(dark),
        short(bright)
    );
    let range = HeatRange { dark, bright, logarithmic: true };
    heat_maps("Throughput under load", legend, maps, range)
}
