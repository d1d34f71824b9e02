//! Heat maps over the loads of both sides, in the layout of paper 1, Fig. 14: the producer's load to
//! the right, the consumer's upwards, so that a fast producer is at the top left and a fast consumer at
//! the bottom right. Brighter is better.

use maud::{Markup, PreEscaped, html};
use plotters::style::colors::colormaps::{ColorMap, ViridisRGB};
use plotters::style::{BLACK, RGBColor, WHITE};

use super::canvas::{Align, Canvas, INK, SOFT};
use crate::grid::distinct;
use crate::number::short;

const CELL: (i32, i32) = (40, 26);
const LEFT: i32 = 52;
const TOP: i32 = 30;
const FOOT: i32 = 46;

/// One map.
#[derive(Debug)]
pub(crate) struct Map {
    /// What it shows.
    pub(crate) title: String,
    /// A value for each pair of loads.
    pub(crate) squares: Vec<Square>,
}

/// The value at a pair of loads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Square {
    /// The producer's load.
    pub(crate) load_p_ns: u64,
    /// The consumer's.
    pub(crate) load_c_ns: u64,
    /// What there is to be shown.
    pub(crate) value: f64,
}

/// Which values have which colours.
#[derive(Debug)]
pub(crate) struct Range {
    /// The worst value.
    pub(crate) dark: f64,
    /// The best.
    pub(crate) bright: f64,
    /// Whether equal ratios have equal steps between the colours; else equal differences have.
    pub(crate) logarithmic: bool,
}

/// Maps in one range of colours.
pub(crate) fn section(title: &str, legend: &str, maps: &[Map], range: &Range) -> Markup {
    html! {
        article {
            h3 { (title) }
            p.legend { (legend) }
            div.maps { @for map in maps { div { (PreEscaped(draw(map, range))) } } }
        }
    }
}

fn draw(map: &Map, range: &Range) -> String {
    let columns = distinct(map.squares.iter().map(|square| square.load_p_ns));
    let rows = distinct(map.squares.iter().map(|square| square.load_c_ns));
    let bottom = TOP + CELL.1 * rows.len() as i32;
    let right = LEFT + CELL.0 * columns.len() as i32;
    Canvas::svg(((right + 8) as u32, (bottom + FOOT) as u32), |canvas| {
        canvas.text(&map.title, (LEFT, TOP - 14), Align::Left, 16, INK);
        for square in &map.squares {
            let column = place(&columns, square.load_p_ns);
            let row = place(&rows, square.load_c_ns);
            let corner = (LEFT + CELL.0 * column, bottom - CELL.1 * (row + 1));
            draw_square(canvas, corner, square.value, range);
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

fn draw_square(canvas: &Canvas<'_>, (x, y): (i32, i32), value: f64, range: &Range) {
    let share = range.share(value);
    let colour: RGBColor = ViridisRGB.get_color_normalized(share, 0.0, 1.0);
    canvas.rectangle([(x, y), (x + CELL.0 - 1, y + CELL.1 - 1)], colour);
    let ink = if share > 0.6 { BLACK } else { WHITE };
    let middle = (x + CELL.0 / 2, y + CELL.1 / 2);
    canvas.text(&short(value), middle, Align::Centre, 12, ink);
}

impl Range {
    /// 0 for the worst, 1 for the best.
    fn share(&self, value: f64) -> f32 {
        let scale = |value: f64| if self.logarithmic { value.ln() } else { value };
        let span = scale(self.bright) - scale(self.dark);
        if span == 0.0 { 1.0 } else { ((scale(value) - scale(self.dark)) / span) as f32 }
    }
}

fn place(loads: &[u64], load: u64) -> i32 {
    loads.partition_point(|other| *other < load) as i32
}
