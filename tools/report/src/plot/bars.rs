//! Bar charts: one bar per queue, the fastest on top, quartiles as whiskers.

use super::canvas::{Align, Canvas};
use super::{round_label, round_numbers};
use crate::short;

const WIDTH: i32 = 960;
const LEFT: i32 = 240;
const RIGHT: i32 = 880;
const TOP: i32 = 34;
const ROW: i32 = 26;
const FOOT: i32 = 44;

/// Largest over smallest value from which a linear scale hides the small ones.
const LOGARITHMIC_FROM: f64 = 20.0;

/// A median with its quartiles.
#[derive(Debug, Clone)]
pub struct Bar {
    /// The queue's name.
    pub label: String,
    /// Whether the queue is a peer's.
    pub is_peer: bool,
    /// The lower quartile, the median and the upper quartile.
    pub values: [f64; 3],
}

/// One line of a chart.
#[derive(Debug, Clone)]
pub enum BarRow {
    /// A heading for the next bars.
    Heading(String),
    /// A queue.
    Bar(Bar),
}

/// A chart of `rows` in this order, with the floor and its name as a dashed line.
pub fn bars(rows: &[BarRow], unit: &str, floor: Option<(&str, f64)>) -> String {
    let values: Vec<_> = rows.iter().filter_map(values).collect();
    let axis = Axis::of(&values, floor.map(|(_, floor)| floor));
    let bottom = TOP + ROW * rows.len() as i32;
    let mut canvas = Canvas::new((WIDTH, bottom + FOOT));
    axis.draw(&mut canvas, bottom, unit);
    for (number, row) in (0..).zip(rows) {
        let top = TOP + ROW * number;
        match row {
            BarRow::Heading(text) => {
                canvas.text(text, (LEFT + 6, top + ROW / 2 + 2), Align::Left, 16, "ink");
            }
            BarRow::Bar(bar) => bar.draw(&mut canvas, &axis, top),
        }
    }
    if let Some((name, floor)) = floor {
        let x = axis.x(floor);
        canvas.dashes(x, (TOP - 8, bottom), "floor");
        let text = format!("{name} {}", short(floor));
        canvas.text(&text, (x, TOP - 18), Align::Left, 15, "floor");
    }
    canvas.svg()
}

fn values(row: &BarRow) -> Option<[f64; 3]> {
    match row {
        BarRow::Heading(_) => None,
        BarRow::Bar(bar) => Some(bar.values),
    }
}

impl Bar {
    fn draw(&self, canvas: &mut Canvas, axis: &Axis, top: i32) {
        let [low, end, high] = self.values.map(|value| axis.x(value));
        let middle = top + ROW / 2;
        let (paint, ink) = if self.is_peer { ("peer", "soft") } else { ("ours", "ink") };
        canvas.text(&self.label, (LEFT - 10, middle), Align::Right, 16, ink);
        canvas.rectangle([(LEFT, top + 4), (end, top + ROW - 4)], paint);
        canvas.line(&[(low, middle), (high, middle)], "ink", 1);
        for x in [low, high] {
            canvas.line(&[(x, middle - 4), (x, middle + 4)], "ink", 1);
        }
        let at = (high.max(end) + 8, middle);
        canvas.text(&short(self.values[1]), at, Align::Left, 15, "ink");
    }
}

/// From values to pixels.
struct Axis {
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Axis {
    fn of(values: &[[f64; 3]], floor: Option<f64>) -> Self {
        let medians = values.iter().map(|[_, median, _]| *median);
        let smallest = medians.chain(floor).fold(f64::INFINITY, f64::min).max(1e-3);
        let largest = values.iter().map(|[_, median, high]| high.max(*median)).fold(0.0, f64::max);
        let largest = largest.max(floor.unwrap_or(0.0)).max(smallest);
        let logarithmic = largest / smallest > LOGARITHMIC_FROM;
        let from = if logarithmic { smallest / 2.0 } else { 0.0 };
        Self { from, to: largest, logarithmic }
    }

    fn x(&self, value: f64) -> i32 {
        let share = if self.logarithmic {
            (value.max(self.from) / self.from).ln() / (self.to / self.from).ln()
        } else {
            value / self.to
        };
        LEFT + (share.clamp(0.0, 1.0) * f64::from(RIGHT - LEFT)).round() as i32
    }

    fn draw(&self, canvas: &mut Canvas, bottom: i32, unit: &str) {
        for tick in self.ticks() {
            let x = self.x(tick);
            canvas.line(&[(x, TOP), (x, bottom)], "rule", 1);
            canvas.text(&round_label(tick), (x, bottom + 12), Align::Centre, 14, "soft");
        }
        let scale = if self.logarithmic { ", logarithmic scale" } else { "" };
        let unit = format!("{unit}{scale}; shorter is better");
        canvas.text(&unit, (LEFT, bottom + 31), Align::Left, 14, "soft");
    }

    fn ticks(&self) -> Vec<f64> {
        if !self.logarithmic {
            return round_numbers(self.to);
        }
        let all = (-3..=9).flat_map(|decade| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(decade)));
        all.filter(|tick| (self.from..=self.to).contains(tick)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let axis = Axis { from: 0.0, to: 7.3, logarithmic: false };
        assert_eq!(axis.ticks(), [0.0, 2.0, 4.0, 6.0]);
        let axis = Axis { from: 0.9, to: 110.0, logarithmic: true };
        assert_eq!(axis.ticks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!([0.5, 10.0, 200.0].map(round_label), ["0.5", "10", "200"]);
    }

    #[test]
    fn the_scale_covers_the_chart() {
        let axis = Axis { from: 1.0, to: 100.0, logarithmic: true };
        assert_eq!([1.0, 10.0, 100.0].map(|v| axis.x(v)), [LEFT, (LEFT + RIGHT) / 2, RIGHT]);
    }
}
