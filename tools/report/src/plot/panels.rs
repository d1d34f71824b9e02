//! A picture for pages without a style sheet, such as a README: panels with the same bars side by
//! side.

use super::Bar;
use super::canvas::{Align, Canvas, Point};
use crate::short;

const WIDTH: i32 = 800;
const NAMES: i32 = 200;
const TOP: i32 = 58;
const ROW: i32 = 26;
/// Room for the value behind the longest bar.
const VALUE: i32 = 56;

/// Colours that can be read on white and on black, because the page's background is unknown.
pub(super) const STYLE: &str = "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}\
    .ink,.soft{fill:#808892}.ink{font-weight:600}.ours{fill:#2f81f7}.peer{fill:#9aa4b0}";

/// A file with `panels` side by side, each with a title and a scale of its own. They have the same
/// bars in the same order.
pub fn panels(title: &str, panels: &[(String, Vec<Bar>)]) -> String {
    let rows = panels.iter().map(|(_, bars)| bars.len() as i32).max().unwrap_or(0);
    let mut canvas = Canvas::new((WIDTH, TOP + ROW * rows + 8));
    canvas.text(title, (NAMES, 14), Align::Left, 15, "ink");
    let width = (WIDTH - NAMES) / panels.len().max(1) as i32;
    for (left, (title, bars)) in (NAMES..).step_by(width as usize).zip(panels) {
        canvas.text(title, (left, 42), Align::Left, 14, "soft");
        let longest = bars.iter().map(|bar| bar.values[1]).fold(1e-9, f64::max);
        for (top, bar) in (TOP..).step_by(ROW as usize).zip(bars) {
            let share = bar.values[1] / longest;
            let length = (share * f64::from(width - VALUE)).round() as i32;
            draw(&mut canvas, (left, top), length, bar);
        }
    }
    canvas.file(STYLE)
}

fn draw(canvas: &mut Canvas, (left, top): Point, length: i32, bar: &Bar) {
    let (paint, ink) = if bar.is_peer { ("peer", "soft") } else { ("ours", "ink") };
    let middle = top + ROW / 2;
    if left == NAMES {
        canvas.text(&bar.label, (left - 10, middle), Align::Right, 14, ink);
    }
    let right = left + length.max(1);
    canvas.rectangle([(left, top + 4), (right, top + ROW - 4)], paint);
    canvas.text(&short(bar.values[1]), (right + 6, middle), Align::Left, 14, ink);
}
