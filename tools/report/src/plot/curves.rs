//! Line charts over the number of cores, or over percents.

use std::collections::BTreeSet;

use super::canvas::{Align, Canvas, Point};
use super::{round_label, round_numbers};
use crate::{Block, short};

const SIZE: Point = (960, 420);
/// The edges of the chart; names are to its right.
const LEFT: i32 = 74;
const RIGHT: i32 = 820;
const TOP: i32 = 10;
const BOTTOM: i32 = 366;
/// Least distance of two names, in pixels.
const STEP: i32 = 15;

/// A line with its name.
#[derive(Debug, Clone)]
pub struct Curve {
    /// Name, shown at the end of the line.
    pub name: String,
    /// Number of cores, and the value there.
    pub points: Vec<(usize, f64)>,
    /// Other values, which are shown as crosses.
    pub beside: Vec<(usize, f64)>,
}

/// The vertical scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// From 0 on.
    Linear,
    /// By powers of ten.
    Logarithmic,
}

/// The axes: the places of points.
struct Axes {
    /// The places of the fewest and the most cores.
    cores: [f64; 2],
    /// Whether places are binary logarithms: not if a number is 0.
    is_logarithmic: bool,
    heights: [f64; 2],
    scale: Scale,
}

/// A chart with a logarithmic horizontal scale, or a linear one if it begins at 0, and names at the
/// ends of lines.
pub fn curves([x, y]: [&str; 2], scale: Scale, curves: &[Curve]) -> Block {
    let mut canvas = Canvas::new(SIZE);
    if let Some(axes) = Axes::of(scale, curves) {
        axes.draw(&mut canvas, [x, y], curves);
        let mut names = Vec::new();
        for (number, curve) in curves.iter().enumerate() {
            let colour = format!("hsl({} 65% 50%)", 360 * number / curves.len());
            let points: Vec<_> = curve.points.iter().map(|point| axes.at(*point)).collect();
            canvas.line(&points, &colour, 2);
            points.iter().for_each(|point| canvas.dot(*point, &colour));
            for (x, y) in curve.beside.iter().map(|point| axes.at(*point)) {
                canvas.line(&[(x - 5, y - 5), (x + 5, y + 5)], &colour, 2);
                canvas.line(&[(x - 5, y + 5), (x + 5, y - 5)], &colour, 2);
            }
            names.extend(points.last().map(|end| (*end, curve.name.as_str(), colour)));
        }
        draw_names(&mut canvas, names);
    }
    Block::Figures(vec![canvas.svg()])
}

impl Axes {
    fn of(scale: Scale, curves: &[Curve]) -> Option<Self> {
        let points = || curves.iter().flat_map(|curve| curve.points.iter().chain(&curve.beside));
        let (first, last) = (points().map(|p| p.0).min()?, points().map(|p| p.0).max()?);
        let most = points().map(|point| point.1).fold(1e-9, f64::max);
        let heights = match scale {
            Scale::Linear => [0.0, most * 1.05],
            Scale::Logarithmic => {
                let values = points().map(|point| point.1).filter(|value| *value > 0.0);
                [values.fold(most, f64::min).log10().floor(), most.log10().floor() + 1.0]
            }
        };
        let is_logarithmic = first > 0;
        let cores = [first, last].map(|cores| place(is_logarithmic, cores));
        let cores = [cores[0], cores[1].max(cores[0] + 1.0)];
        Some(Self { cores, is_logarithmic, heights, scale })
    }

    fn at(&self, (cores, value): (usize, f64)) -> Point {
        let height = match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.max(f64::MIN_POSITIVE).log10(),
        };
        let share =
            |[from, to]: [f64; 2], value: f64| ((value - from) / (to - from)).clamp(0.0, 1.0);
        let right = share(self.cores, place(self.is_logarithmic, cores)) * f64::from(RIGHT - LEFT);
        let up = share(self.heights, height) * f64::from(BOTTOM - TOP);
        (LEFT + right.round() as i32, BOTTOM - up.round() as i32)
    }

    fn draw(&self, canvas: &mut Canvas, [x, y]: [&str; 2], curves: &[Curve]) {
        let ticks: Vec<_> = match self.scale {
            Scale::Linear => {
                round_numbers(self.heights[1]).into_iter().map(|v| (v, round_label(v))).collect()
            }
            Scale::Logarithmic => {
                let decades = self.heights[0] as i32..=self.heights[1] as i32;
                decades.map(|decade| 10f64.powi(decade)).map(|v| (v, short(v))).collect()
            }
        };
        for (value, label) in ticks {
            let (_, height) = self.at((1, value));
            canvas.line(&[(LEFT, height), (RIGHT, height)], "rule", 1);
            canvas.text(&label, (LEFT - 8, height), Align::Right, 14, "soft");
        }
        canvas.line(&[(LEFT, TOP), (LEFT, BOTTOM)], "rule", 1);
        for cores in self.numbers(curves) {
            let (at, _) = self.at((cores, 0.0));
            canvas.text(&cores.to_string(), (at, BOTTOM + 14), Align::Centre, 14, "soft");
        }
        canvas.text(x, ((LEFT + RIGHT) / 2, BOTTOM + 38), Align::Centre, 14, "soft");
        canvas.upwards(y, (14, (TOP + BOTTOM) / 2), 14, "soft");
    }

    /// The numbers on the horizontal axis: powers of two, or those of all points.
    fn numbers(&self, curves: &[Curve]) -> BTreeSet<usize> {
        let numbers = curves.iter().flat_map(|curve| &curve.points).map(|point| point.0);
        if !self.is_logarithmic {
            return numbers.collect();
        }
        let least = self.cores[0].exp2().round() as usize;
        let most = numbers.max().unwrap_or(1);
        (0..usize::BITS)
            .map(|log| 1 << log)
            .filter(|cores| (least..=most).contains(cores))
            .collect()
    }
}

fn place(is_logarithmic: bool, cores: usize) -> f64 {
    if is_logarithmic { (cores as f64).log2() } else { cores as f64 }
}

/// Names beside the ends of their lines, from the top down, without overlaps.
fn draw_names(canvas: &mut Canvas, mut names: Vec<(Point, &str, String)>) {
    names.sort_by_key(|(at, ..)| at.1);
    let room = STEP * names.len() as i32;
    let mut next = 0;
    for (left, ((x, y), name, colour)) in (0..).zip(names) {
        // The remaining names need room below.
        let lowest = BOTTOM - room + STEP * left;
        next = y.min(lowest).max(next);
        canvas.line(&[(x + 6, y), (x + 14, next)], &colour, 1);
        canvas.text(name, (x + 18, next), Align::Left, 14, "ink");
        next += STEP;
    }
}
