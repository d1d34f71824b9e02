//! Heat maps over the loads of both sides, in the layout of paper 1, Fig. 14: the producer's load
//! to the right, the consumer's upwards, so that a fast producer is at the top left and a fast
//! consumer at the bottom right. Brighter is better.

use super::canvas::{Align, Canvas};
use crate::{Block, short};

const CELL: (i32, i32) = (40, 26);
const LEFT: i32 = 52;
const TOP: i32 = 30;
const FOOT: i32 = 46;

/// Colours of equal distance, from dark to bright: Viridis.
const COLOURS: [[f64; 3]; 10] = [
    [68.0, 1.0, 84.0],
    [72.0, 40.0, 120.0],
    [62.0, 74.0, 137.0],
    [49.0, 104.0, 142.0],
    [38.0, 130.0, 142.0],
    [31.0, 158.0, 137.0],
    [53.0, 183.0, 121.0],
    [109.0, 205.0, 89.0],
    [180.0, 222.0, 44.0],
    [253.0, 231.0, 37.0],
];

/// One map.
#[derive(Debug, Clone)]
pub struct HeatMap {
    /// The map's title.
    pub title: String,
    /// A value for each pair of loads.
    pub squares: Vec<Square>,
}

/// The value at a pair of loads.
#[derive(Debug, Clone, Copy)]
pub struct Square {
    /// The producer's load and the consumer's, in nanoseconds.
    pub loads: [u64; 2],
    /// The value.
    pub value: f64,
}

/// The colours of values.
#[derive(Debug, Clone, Copy)]
pub struct HeatRange {
    /// The worst value.
    pub dark: f64,
    /// The best.
    pub bright: f64,
    /// Whether equal ratios have equal colour steps; otherwise equal differences have.
    pub logarithmic: bool,
}

/// Maps in one range of colours.
pub fn heat_maps(title: &str, legend: String, maps: &[HeatMap], range: HeatRange) -> Vec<Block> {
    let pictures = maps.iter().map(|map| map.draw(range)).collect();
    vec![Block::heading(3, title), Block::Note(legend), Block::Figures(pictures)]
}

impl HeatMap {
    /// The loads of one side, ascending.
    pub fn loads(&self, side: usize) -> Vec<u64> {
        let mut loads: Vec<_> = self.squares.iter().map(|square| square.loads[side]).collect();
        loads.sort_unstable();
        loads.dedup();
        loads
    }

    fn draw(&self, range: HeatRange) -> String {
        let [columns, rows] = [0, 1].map(|side| self.loads(side));
        let bottom = TOP + CELL.1 * rows.len() as i32;
        let right = LEFT + CELL.0 * columns.len() as i32;
        let mut canvas = Canvas::new((right + 8, bottom + FOOT));
        canvas.text(&self.title, (LEFT, TOP - 14), Align::Left, 16, "ink");
        for Square { loads: [p, c], value } in &self.squares {
            let corner =
                (LEFT + CELL.0 * place(&columns, *p), bottom - CELL.1 * (place(&rows, *c) + 1));
            draw_square(&mut canvas, corner, *value, range);
        }
        for (column, load) in (0..).zip(&columns) {
            let at = (LEFT + CELL.0 * column + CELL.0 / 2, bottom + 11);
            canvas.text(&load.to_string(), at, Align::Centre, 12, "soft");
        }
        for (row, load) in (0..).zip(&rows) {
            let at = (LEFT - 6, bottom - CELL.1 * row - CELL.1 / 2);
            canvas.text(&load.to_string(), at, Align::Right, 12, "soft");
        }
        let middle = ((LEFT + right) / 2, (TOP + bottom) / 2);
        canvas.text("producer's load, ns", (middle.0, bottom + 31), Align::Centre, 14, "soft");
        canvas.upwards("consumer's load, ns", (12, middle.1), 14, "soft");
        canvas.svg()
    }
}

fn draw_square(canvas: &mut Canvas, (x, y): (i32, i32), value: f64, range: HeatRange) {
    let share = range.share(value);
    canvas.rectangle([(x, y), (x + CELL.0 - 1, y + CELL.1 - 1)], &colour(share));
    let ink = if share > 0.6 { "#000000" } else { "#ffffff" };
    canvas.text(&short(value), (x + CELL.0 / 2, y + CELL.1 / 2), Align::Centre, 12, ink);
}

fn colour(share: f64) -> String {
    let at = share.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let below = (at as usize).min(COLOURS.len() - 2);
    let channel = |n: usize| {
        let (dark, bright) = (COLOURS[below][n], COLOURS[below + 1][n]);
        (dark + (bright - dark) * (at - below as f64)).round() as u8
    };
    let [red, green, blue] = [0, 1, 2].map(channel);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

impl HeatRange {
    fn share(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.logarithmic { value.ln() } else { value };
        let span = scale(self.bright) - scale(self.dark);
        if span == 0.0 { 1.0 } else { (scale(value) - scale(self.dark)) / span }
    }
}

fn place(loads: &[u64], load: u64) -> i32 {
    loads.partition_point(|other| *other < load) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_from_dark_to_bright() {
        assert_eq!([0.0, 1.0, 7.0].map(colour), ["#440154", "#fde725", "#fde725"]);
        let range = HeatRange { dark: 1.0, bright: 100.0, logarithmic: true };
        assert_eq!(range.share(10.0), 0.5);
    }
}
