//! Heat maps of throughput over the loads of both sides, in the layout of paper 000, Fig. 14: the
//! producer's load to the right, the consumer's upwards, so that a fast producer is at the top left
//! and a fast consumer at the bottom right. Brighter is better.

use maud::{Markup, PreEscaped, html};
use plotters::style::colors::colormaps::{ColorMap, ViridisRGB};
use plotters::style::{BLACK, RGBColor, WHITE};

use super::canvas::{Align, Canvas, INK, SOFT};
use crate::results::CellResult;
use crate::stats::Group;

const CELL: (i32, i32) = (36, 24);
const LEFT: i32 = 50;
const TOP: i32 = 30;
const FOOT: i32 = 42;

/// One queue's map.
struct Map<'a> {
    result: &'a CellResult,
    points: Vec<Point>,
}

/// One pair of loads.
struct Point {
    load_p_ns: u64,
    load_c_ns: u64,
    /// Millions of items per second.
    throughput: f64,
}

/// All maps of a group, in one range of colours.
pub(super) fn section(tables: &[&Vec<&CellResult>], group: Group) -> Markup {
    let maps = maps(tables, group);
    let values = || maps.iter().flat_map(|map| map.points.iter().map(|point| point.throughput));
    let range = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    html! {
        article {
            h3 { "Throughput under load" }
            p.legend {
                "Million items per second, one square per pair of emulated loads; brighter is better; "
                (format!("{:.1} to {:.1}", range.0, range.1)) ", the same colours in all maps. "
                "Fast producers are at the top left, fast consumers at the bottom right."
            }
            div.maps { @for map in &maps { div { (PreEscaped(map.draw(range))) } } }
        }
    }
}

/// Puts the results of one queue together, in the order in which queues appear.
fn maps<'a>(tables: &[&Vec<&'a CellResult>], group: Group) -> Vec<Map<'a>> {
    let mut maps: Vec<Map<'a>> = Vec::new();
    for result in tables.iter().flat_map(|table| table.iter().copied()) {
        let point = Point {
            load_p_ns: result.params.load_p_ns,
            load_c_ns: result.params.load_c_ns,
            throughput: 1e3 / result.median(group),
        };
        match maps.iter_mut().find(|map| map.is_of(result)) {
            Some(map) => map.points.push(point),
            None => maps.push(Map { result, points: vec![point] }),
        }
    }
    maps
}

impl Map<'_> {
    fn is_of(&self, result: &CellResult) -> bool {
        let (ours, theirs) = (&self.result.params, &result.params);
        self.result.queue == result.queue
            && (ours.batch, ours.payload) == (theirs.batch, theirs.payload)
    }

    fn draw(&self, range: (f64, f64)) -> String {
        let columns = loads(self.points.iter().map(|point| point.load_p_ns));
        let rows = loads(self.points.iter().map(|point| point.load_c_ns));
        let bottom = TOP + CELL.1 * rows.len() as i32;
        let right = LEFT + CELL.0 * columns.len() as i32;
        Canvas::svg(((right + 8) as u32, (bottom + FOOT) as u32), |canvas| {
            canvas.text(&self.title(), (LEFT, TOP - 14), Align::Left, 15, INK);
            for point in &self.points {
                let (column, row) =
                    (place(&columns, point.load_p_ns), place(&rows, point.load_c_ns));
                square(canvas, (LEFT + CELL.0 * column, bottom - CELL.1 * (row + 1)), point, range);
            }
            for (column, load) in (0..).zip(&columns) {
                let at = (LEFT + CELL.0 * column + CELL.0 / 2, bottom + 11);
                canvas.text(&load.to_string(), at, Align::Centre, 11, SOFT);
            }
            for (row, load) in (0..).zip(&rows) {
                let at = (LEFT - 6, bottom - CELL.1 * row - CELL.1 / 2);
                canvas.text(&load.to_string(), at, Align::Right, 11, SOFT);
            }
            let middle = (LEFT + right) / 2;
            canvas.text("producer's load, ns", (middle, bottom + 28), Align::Centre, 12, SOFT);
            canvas.text("consumer's", (2, TOP - 14), Align::Left, 10, SOFT);
        })
    }

    fn title(&self) -> String {
        let params = &self.result.params;
        let batch =
            if params.batch > 1 { format!(", batch {}", params.batch) } else { String::new() };
        format!("{}{batch}, {}", self.result.queue, params.payload.name())
    }
}

fn square(canvas: &Canvas<'_>, (x, y): (i32, i32), point: &Point, (low, high): (f64, f64)) {
    let share = ((point.throughput - low) / (high - low).max(1e-9)) as f32;
    let colour: RGBColor = ViridisRGB.get_color_normalized(share, 0.0, 1.0);
    canvas.rectangle([(x, y), (x + CELL.0 - 1, y + CELL.1 - 1)], colour);
    let text = format!("{:.1}", point.throughput);
    let ink = if share > 0.6 { BLACK } else { WHITE };
    canvas.text(&text, (x + CELL.0 / 2, y + CELL.1 / 2), Align::Centre, 10, ink);
}

/// The loads that occur, ascending.
fn loads(all: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut loads: Vec<_> = all.collect();
    loads.sort_unstable();
    loads.dedup();
    loads
}

fn place(loads: &[u64], load: u64) -> i32 {
    loads.partition_point(|other| *other < load) as i32
}
