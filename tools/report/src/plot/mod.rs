//! Pictures, drawn as SVG. Their colours are classes of the page's style sheet, so that they follow
//! the reader's light or dark theme.

mod bars;
mod canvas;
mod curves;
mod heat;
mod panels;
mod points;

pub use bars::{Bar, BarRow, bars};
pub use curves::{Curve, Scale, curves};
pub use heat::{HeatMap, HeatRange, Square, heat_maps};
pub use panels::panels;
pub use points::{Named, named_points, named_points_file};

fn round_numbers(most: f64) -> Vec<f64> {
    let rough = most / 6.0;
    let decade = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * decade).into_iter().find(|s| *s >= rough);
    let step = step.unwrap_or(rough);
    (0..).map(|n| f64::from(n) * step).take_while(|tick| *tick <= most).collect()
}

fn round_label(tick: f64) -> String {
    let text = format!("{tick:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
