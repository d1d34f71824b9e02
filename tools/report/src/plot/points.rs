//! Points with names, by two values that may differ by powers of ten.

use super::canvas::{Align, Canvas, Point};
use super::panels::STYLE;
use crate::short;

const SIZE: Point = (960, 440);
const LEFT: i32 = 104;
const RIGHT: i32 = 800;
const TOP: i32 = 14;
const BOTTOM: i32 = 380;
/// Height of a name, in pixels.
const LINE: i32 = 16;
/// Width of a letter, in pixels, about.
const LETTER: i32 = 8;

/// A point with its name.
#[derive(Debug, Clone)]
pub struct Named {
    /// Name, shown beside the point.
    pub name: String,
    /// Whether it is a peer.
    pub is_peer: bool,
    /// Horizontal and vertical value, above 0.
    pub at: [f64; 2],
}

/// Draws points over two logarithmic axes with these titles.
pub fn named_points(axes: [&str; 2], points: &[Named]) -> String {
    draw(axes, points).svg()
}

/// The same as a file, for pages without a style sheet.
pub fn named_points_file(axes: [&str; 2], points: &[Named]) -> String {
    let lines = "polyline{fill:none;stroke:#808892}.rule{opacity:.3}";
    draw(axes, points).file(&format!("{STYLE}{lines}"))
}

fn draw([x, y]: [&str; 2], points: &[Named]) -> Canvas {
    let mut canvas = Canvas::new(SIZE);
    let axes = [0, 1].map(|axis| Axis::of(points.iter().map(|point| point.at[axis])));
    let place = |at: [f64; 2]| {
        let right = axes[0].share(at[0]) * f64::from(RIGHT - LEFT);
        let up = axes[1].share(at[1]) * f64::from(BOTTOM - TOP);
        (LEFT + right.round() as i32, BOTTOM - up.round() as i32)
    };
    for tick in axes[0].ticks() {
        let (at, _) = place([tick, axes[1].from]);
        canvas.line(&[(at, TOP), (at, BOTTOM)], "rule", 1);
        canvas.text(&short(tick), (at, BOTTOM + 16), Align::Centre, 14, "soft");
    }
    for tick in axes[1].ticks() {
        let (_, at) = place([axes[0].from, tick]);
        canvas.line(&[(LEFT, at), (RIGHT, at)], "rule", 1);
        canvas.text(&short(tick), (LEFT - 8, at), Align::Right, 14, "soft");
    }
    canvas.text(x, ((LEFT + RIGHT) / 2, BOTTOM + 42), Align::Centre, 15, "soft");
    canvas.upwards(y, (14, (TOP + BOTTOM) / 2), 15, "soft");
    let mut placed: Vec<(&Named, Point)> =
        points.iter().map(|point| (point, place(point.at))).collect();
    placed.sort_by_key(|(_, at)| (at.1, at.0));
    let mut names: Vec<[i32; 3]> = Vec::new();
    for (point, at) in placed {
        let (paint, ink) = if point.is_peer { ("peer", "soft") } else { ("ours", "ink") };
        canvas.dot(at, paint);
        let name = free_place(&names, at, &point.name);
        canvas.line(&[at, (name[0] - 2, name[2])], "ink", 1);
        canvas.text(&point.name, (name[0], name[2]), Align::Left, 14, ink);
        names.push(name);
    }
    canvas
}

/// Left and right end and height of a name beside its point, below the names that are in the way.
fn free_place(names: &[[i32; 3]], at: Point, name: &str) -> [i32; 3] {
    let (from, to) = (at.0 + 12, at.0 + 12 + LETTER * name.chars().count() as i32);
    let is_in_the_way = |height: i32| {
        move |other: &&[i32; 3]| {
            other[0] < to && from < other[1] && (height - other[2]).abs() < LINE
        }
    };
    let mut height = at.1;
    while let Some(other) = names.iter().find(is_in_the_way(height)) {
        height = other[2] + LINE;
    }
    [from, to, height]
}

/// A logarithmic axis.
struct Axis {
    from: f64,
    to: f64,
}

impl Axis {
    /// With some room at both ends.
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let from = values.clone().fold(f64::INFINITY, f64::min).max(1e-3);
        Self { from: from / 1.5, to: values.fold(from, f64::max) * 1.5 }
    }

    fn share(&self, value: f64) -> f64 {
        ((value.max(self.from) / self.from).ln() / (self.to / self.from).ln()).min(1.0)
    }

    /// 1, 2 and 5 times each power of ten.
    fn ticks(&self) -> Vec<f64> {
        let decades = self.from.log10().floor() as i32..=self.to.log10().floor() as i32;
        let all = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(decade)));
        all.filter(|tick| (self.from..=self.to).contains(tick)).collect()
    }
}
