//! Line charts: how something grows with the number of cores.

use std::ops::Range;

use maud::{Markup, PreEscaped, html};
use plotters::prelude::*;

use super::canvas::{Align, Canvas, INK, NO_ERROR, RULE, SOFT};
use crate::number::short;

const SIZE: (u32, u32) = (960, 420);
/// Room for names at the ends of lines.
const NAMES: u32 = 130;
/// Least distance of two names, in pixels.
const STEP: i32 = 15;

/// A line with its name.
#[derive(Debug)]
pub(crate) struct Line {
    /// Name, shown at the end of the line.
    pub(crate) name: String,
    /// Number of cores, and the value there.
    pub(crate) points: Vec<(usize, f64)>,
    /// Values from elsewhere, which are shown as crosses.
    pub(crate) beside: Vec<(usize, f64)>,
}

/// The scale upwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// From 0 on.
    Linear,
    /// By powers of ten.
    Logarithmic,
}

impl Scale {
    /// How high a value is drawn.
    fn height(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic => value.max(f64::MIN_POSITIVE).log10(),
        }
    }

    /// What is drawn at that height, in words.
    fn label(self, height: f64) -> String {
        match self {
            Self::Linear => height.to_string(),
            Self::Logarithmic => short(10_f64.powf(height)),
        }
    }

    /// Where the chart ends below and above.
    fn range(self, values: impl Iterator<Item = f64> + Clone) -> Range<f64> {
        let most = values.clone().fold(1e-9, f64::max);
        match self {
            Self::Linear => 0.0..most * 1.05,
            Self::Logarithmic => {
                let least = values.filter(|value| *value > 0.0).fold(most, f64::min);
                self.height(least).floor()..self.height(most).floor() + 1.0
            }
        }
    }
}

/// A chart with a logarithmic scale to the right, and names where lines end.
pub(crate) fn chart(x: &str, y: &str, scale: Scale, lines: &[Line]) -> Markup {
    html! { (PreEscaped(Canvas::svg(SIZE, |canvas| draw(canvas, [x, y], scale, lines)))) }
}

fn draw(canvas: &Canvas<'_>, [x, y]: [&str; 2], scale: Scale, lines: &[Line]) {
    let points = || lines.iter().flat_map(|line| line.points.iter().chain(&line.beside));
    let log = |cores: usize| (cores as f64).log2();
    let (Some(first), Some(last)) =
        (points().map(|point| point.0).min(), points().map(|point| point.0).max())
    else {
        return;
    };
    let label = |size| ("sans-serif", size).into_font().color(&SOFT);
    let mut chart = ChartBuilder::on(canvas.area())
        .margin(10)
        .margin_right(NAMES)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(
            log(first)..log(last).max(log(first) + 1.0),
            scale.range(points().map(|point| point.1)),
        )
        .expect(NO_ERROR);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(RULE)
        .light_line_style(TRANSPARENT)
        .axis_style(RULE)
        .x_labels(9)
        .x_label_formatter(&|log| whole_cores(log.exp2()))
        .y_label_formatter(&|height| scale.label(*height))
        .x_desc(x)
        .y_desc(y)
        .label_style(label(14))
        .axis_desc_style(label(14))
        .draw()
        .expect(NO_ERROR);
    let mut names = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let colour = colour(number, lines.len());
        let mut at = line.points.iter().map(|(cores, value)| (log(*cores), scale.height(*value)));
        chart.draw_series(LineSeries::new(at.clone(), colour.stroke_width(2))).expect(NO_ERROR);
        let dots = at.clone().map(|at| Circle::new(at, 3, colour.filled()));
        chart.draw_series(dots).expect(NO_ERROR);
        let beside = line.beside.iter().map(|(cores, value)| (log(*cores), scale.height(*value)));
        let crosses = beside.map(|at| Cross::new(at, 5, colour.stroke_width(2)));
        chart.draw_series(crosses).expect(NO_ERROR);
        if let Some(end) = at.next_back() {
            names.push((chart.backend_coord(&end), line.name.as_str(), colour));
        }
    }
    draw_names(canvas, names);
}

/// A number of cores, and nothing where there is none.
fn whole_cores(cores: f64) -> String {
    // But for the rounding of `exp2`.
    let is_whole = (cores - cores.round()).abs() < 1e-6;
    if is_whole { format!("{cores:.0}") } else { String::new() }
}

/// Names beside the ends of their lines, from the top down, none over another.
fn draw_names(canvas: &Canvas<'_>, mut names: Vec<((i32, i32), &str, RGBColor)>) {
    names.sort_by_key(|(at, ..)| at.1);
    let room = STEP * names.len() as i32;
    let mut next = 0;
    for (left, ((x, y), name, colour)) in names.into_iter().enumerate() {
        // What is still to come needs room below.
        let lowest = SIZE.1 as i32 - 44 - room + STEP * left as i32;
        next = y.min(lowest).max(next);
        canvas.line((x + 6, y), (x + 14, next), colour, 1);
        canvas.text(name, (x + 18, next), Align::Left, 14, INK);
        next += STEP;
    }
}

/// Colours as far apart as so many can be, readable on light and dark.
fn colour(number: usize, of: usize) -> RGBColor {
    let hue = number as f64 / of.max(1) as f64;
    let (red, green, blue) = HSLColor(hue, 0.65, 0.5).rgb();
    RGBColor(red, green, blue)
}
