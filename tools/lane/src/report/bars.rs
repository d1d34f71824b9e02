//! Bar charts: one bar per queue, the fastest on top, quartiles as whiskers.

use super::canvas::{Align, Canvas, FLOOR, INK, OURS, PEER, RULE, SOFT};
use crate::number::short;
use crate::results::{CellResult, Floor};
use crate::stats::{Group, Quartiles};
use crate::suite::Suite;

const WIDTH: u32 = 960;
const LEFT: i32 = 210;
const RIGHT: i32 = 880;
const TOP: i32 = 34;
const ROW: i32 = 26;
const FOOT: i32 = 44;

/// Largest over smallest value from which a linear scale hides the small ones.
const LOGARITHMIC_FROM: f64 = 20.0;

/// One line of a chart.
enum Row<'a, S: Suite> {
    /// What the next bars are about.
    Heading(String),
    /// A queue.
    Bar(&'a CellResult<S>, Quartiles),
}

/// The chart of `tables`, each under its heading and sorted as it comes, with the floor as a dashed line.
pub(super) fn draw<S: Suite>(
    tables: &[Vec<&CellResult<S>>],
    group: Group,
    floor: Option<Floor>,
) -> String {
    let rows: Vec<_> = tables.iter().flat_map(|table| rows(table, group)).collect();
    let axis = Axis::of(&values(&rows), floor.map(|(_, floor)| floor));
    let bottom = TOP + ROW * rows.len() as i32;
    Canvas::svg((WIDTH, (bottom + FOOT) as u32), |canvas| {
        axis.draw(canvas, bottom, S::unit(tables[0][0].test));
        for (number, row) in (0..).zip(&rows) {
            let top = TOP + ROW * number;
            match row {
                Row::Heading(text) => heading(canvas, top, text),
                Row::Bar(result, value) => bar(canvas, &axis, top, result, *value),
            }
        }
        if let Some((name, floor)) = floor {
            let x = axis.x(floor);
            canvas.dashes(x, (TOP - 8, bottom), FLOOR);
            canvas.text(&format!("{name} {}", short(floor)), (x, TOP - 18), Align::Left, 15, FLOOR);
        }
    })
}

fn rows<'a, S: Suite>(table: &[&'a CellResult<S>], group: Group) -> Vec<Row<'a, S>> {
    let (_, heading) = S::chart_titles(table[0]);
    let bar =
        |result: &&'a CellResult<S>| Some(Row::Bar(*result, result.groups.get(&group)?.value));
    let bars = table.iter().filter_map(bar);
    heading.map(Row::Heading).into_iter().chain(bars).collect()
}

fn values<S: Suite>(rows: &[Row<'_, S>]) -> Vec<Quartiles> {
    let value = |row: &Row<'_, S>| match row {
        Row::Heading(_) => None,
        Row::Bar(_, value) => Some(*value),
    };
    rows.iter().filter_map(value).collect()
}

fn heading(canvas: &Canvas<'_>, top: i32, text: &str) {
    canvas.text(text, (LEFT + 6, top + ROW / 2 + 2), Align::Left, 16, INK);
}

fn bar<S: Suite>(
    canvas: &Canvas<'_>,
    axis: &Axis,
    top: i32,
    result: &CellResult<S>,
    value: Quartiles,
) {
    let (middle, end) = (top + ROW / 2, axis.x(value.median));
    let (colour, ink) = if result.peer { (PEER, SOFT) } else { (OURS, INK) };
    canvas.text(&result.label(), (LEFT - 10, middle), Align::Right, 16, ink);
    canvas.rectangle([(LEFT, top + 4), (end, top + ROW - 4)], colour);
    let (low, high) = (axis.x(value.p25), axis.x(value.p75));
    canvas.line((low, middle), (high, middle), INK, 1);
    for x in [low, high] {
        canvas.line((x, middle - 4), (x, middle + 4), INK, 1);
    }
    canvas.text(&short(value.median), (high.max(end) + 8, middle), Align::Left, 15, INK);
}

/// From values to pixels.
struct Axis {
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Axis {
    fn of(values: &[Quartiles], floor: Option<f64>) -> Self {
        let medians = values.iter().map(|value| value.median);
        let smallest = medians.chain(floor).fold(f64::INFINITY, f64::min).max(1e-3);
        let largest = values.iter().map(|value| value.p75.max(value.median)).fold(0.0, f64::max);
        let largest = largest.max(floor.unwrap_or(0.0)).max(smallest);
        let logarithmic = largest / smallest > LOGARITHMIC_FROM;
        let from = if logarithmic { smallest / 2.0 } else { 0.0 };
        Self { from, to: largest, logarithmic }
    }

    /// The pixel of `value`, within the chart.
    fn x(&self, value: f64) -> i32 {
        let share = if self.logarithmic {
            (value.max(self.from) / self.from).ln() / (self.to / self.from).ln()
        } else {
            value / self.to
        };
        LEFT + (share.clamp(0.0, 1.0) * f64::from(RIGHT - LEFT)).round() as i32
    }

    fn draw(&self, canvas: &Canvas<'_>, bottom: i32, unit: &str) {
        for tick in self.ticks() {
            let x = self.x(tick);
            canvas.line((x, TOP), (x, bottom), RULE, 1);
            canvas.text(&label(tick), (x, bottom + 12), Align::Centre, 14, SOFT);
        }
        let scale = if self.logarithmic { ", logarithmic scale" } else { "" };
        let unit = format!("{unit}{scale}; shorter is better");
        canvas.text(&unit, (LEFT, bottom + 31), Align::Left, 14, SOFT);
    }

    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let decades = -3..=9;
            let all = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(decade)));
            return all.filter(|tick| (self.from..=self.to).contains(tick)).collect();
        }
        let rough = self.to / 6.0;
        let decade = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * decade).into_iter().find(|s| *s >= rough);
        let step = step.unwrap_or(rough);
        (0..).map(|n| f64::from(n) * step).take_while(|tick| *tick <= self.to).collect()
    }
}

/// A round number without zeros that say nothing.
fn label(tick: f64) -> String {
    let text = format!("{tick:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
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
        assert_eq!([0.5, 10.0, 200.0].map(label), ["0.5", "10", "200"]);
    }

    #[test]
    fn the_scale_covers_the_chart() {
        let axis = Axis { from: 1.0, to: 100.0, logarithmic: true };
        assert_eq!([1.0, 10.0, 100.0].map(|v| axis.x(v)), [LEFT, (LEFT + RIGHT) / 2, RIGHT]);
    }
}
