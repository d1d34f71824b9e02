//! Heat maps of throughput over the loads of both sides, in the layout of paper 000, Fig. 14: the
//! producer's load to the right, the consumer's upwards, so that a fast producer is at the top left
//! and a fast consumer at the bottom right. Brighter is better.

use maud::{Markup, PreEscaped, html};
use plotters::style::colors::colormaps::{ColorMap, ViridisRGB};
use plotters::style::{BLACK, RGBColor, WHITE};

use super::canvas::{Align, Canvas, INK, SOFT};
use crate::grid::{Map, Point};
use crate::number::short;

const CELL: (i32, i32) = (40, 26);
const LEFT: i32 = 52;
const TOP: i32 = 30;
const FOOT: i32 = 46;

/// Slowest and fastest of all maps. Colours are logarithmic between: one pair of loads, none at
/// all, is ten times as fast as the rest.
struct Range {
    slowest: f64,
    fastest: f64,
}

/// All maps, in one range of colours.
pub(super) fn section(maps: &[Map<'_>]) -> Markup {
    let values = || maps.iter().flat_map(|map| map.points.iter().map(|point| point.throughput));
    let slowest = values().fold(f64::INFINITY, f64::min);
    let range = Range { slowest, fastest: values().fold(0.0, f64::max) };
    let span = format!("{} to {}", short(range.slowest), short(range.fastest));
    html! {
        article {
            h3 { "Throughput under load" }
            p.legend {
                "Million items per second, one square per pair of emulated loads; brighter is better; "
                "colours are logarithmic and the same in all maps (" (span) "). "
                "Fast producers are at the top left, fast consumers at the bottom right."
            }
            div.maps { @for map in maps { div { (PreEscaped(draw(map, &range))) } } }
        }
    }
}

fn draw(map: &Map<'_>, range: &Range) -> String {
    let (columns, rows) = (map.columns(), map.rows());
    let bottom = TOP + CELL.1 * rows.len() as i32;
    let right = LEFT + CELL.0 * columns.len() as i32;
    Canvas::svg(((right + 8) as u32, (bottom + FOOT) as u32), |canvas| {
        canvas.text(&map.title(), (LEFT, TOP - 14), Align::Left, 16, INK);
        for point in &map.points {
            let (column, row) = (place(&columns, point.load_p_ns), place(&rows, point.load_c_ns));
            square(canvas, (LEFT + CELL.0 * column, bottom - CELL.1 * (row + 1)), point, range);
        }
        for (column, load) in (0..).zip(&columns) {
            let at = (LEFT + CELL.0 * column + CELL.0 / 2, bottom + 11);
            canvas.text(&load.to_string(), at, Align::Centre, 12, SOFT);
        }
        for (row, load) in (0..).zip(&rows) {
            let at = (LEFT - 6, bottom - CELL.1 * row - CELL.1 / 2);
            canvas.text(&load.to_string(), at, Align::Right, 12, SOFT);
        }
        let middle = ((LEFT + right) / 2, (TOP + bottom) / 2);
        canvas.text("producer's load, ns", (middle.0, bottom + 31), Align::Centre, 14, SOFT);
        canvas.upwards("consumer's load, ns", (12, middle.1), 14, SOFT);
    })
}

fn square(canvas: &Canvas<'_>, (x, y): (i32, i32), point: &Point, range: &Range) {
    let share = range.share(point.throughput);
    let colour: RGBColor = ViridisRGB.get_color_normalized(share, 0.0, 1.0);
    canvas.rectangle([(x, y), (x + CELL.0 - 1, y + CELL.1 - 1)], colour);
    let ink = if share > 0.6 { BLACK } else { WHITE };
    let middle = (x + CELL.0 / 2, y + CELL.1 / 2);
    canvas.text(&short(point.throughput), middle, Align::Centre, 12, ink);
}

impl Range {
    /// 0 for the slowest, 1 for the fastest.
    fn share(&self, value: f64) -> f32 {
        let span = (self.fastest / self.slowest).ln().max(1e-9);
        ((value / self.slowest).ln() / span) as f32
    }
}

fn place(loads: &[u64], load: u64) -> i32 {
    loads.partition_point(|other| *other < load) as i32
}
