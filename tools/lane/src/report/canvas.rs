//! A drawing in pixels. Its colours are placeholders that the style sheet replaces, so that charts
//! follow the reader's light or dark theme.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Text.
pub(super) const INK: RGBColor = RGBColor(0x11, 0x11, 0x11);
/// Text that steps back.
pub(super) const SOFT: RGBColor = RGBColor(0x66, 0x66, 0x66);
/// Our queues.
pub(super) const OURS: RGBColor = RGBColor(0x25, 0x63, 0xEB);
/// Peers.
pub(super) const PEER: RGBColor = RGBColor(0x9C, 0xA3, 0xAF);
/// Floors.
pub(super) const FLOOR: RGBColor = RGBColor(0xDC, 0x26, 0x26);
/// Lines of the grid.
pub(super) const RULE: RGBColor = RGBColor(0xE5, 0xE7, 0xEB);

/// Where text lies relative to its point. Vertically it is centred.
#[derive(Debug, Clone, Copy)]
pub(super) enum Align {
    /// It begins there.
    Left,
    /// Its middle is there.
    Centre,
    /// It ends there.
    Right,
}

/// An SVG picture.
pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, plotters::coord::Shift>,
}

/// Drawing into a string can't fail.
pub(super) const NO_ERROR: &str = "drawing into memory";

impl<'a> Canvas<'a> {
    /// A picture of `size` pixels, drawn by `draw`.
    pub(super) fn svg(size: (u32, u32), draw: impl FnOnce(&Canvas<'_>)) -> String {
        let mut svg = String::new();
        let canvas = Canvas { area: SVGBackend::with_string(&mut svg, size).into_drawing_area() };
        draw(&canvas);
        canvas.area.present().expect(NO_ERROR);
        drop(canvas);
        svg
    }

    /// All of it, for a chart.
    pub(super) fn area(&self) -> &DrawingArea<SVGBackend<'a>, plotters::coord::Shift> {
        &self.area
    }

    /// A filled rectangle between two corners.
    pub(super) fn rectangle(&self, corners: [(i32, i32); 2], colour: RGBColor) {
        self.area.draw(&Rectangle::new(corners, colour.filled())).expect(NO_ERROR);
    }

    /// A line of `width` pixels.
    pub(super) fn line(&self, from: (i32, i32), to: (i32, i32), colour: RGBColor, width: u32) {
        let path = PathElement::new([from, to], colour.stroke_width(width));
        self.area.draw(&path).expect(NO_ERROR);
    }

    /// A dashed vertical line.
    pub(super) fn dashes(&self, x: i32, (top, bottom): (i32, i32), colour: RGBColor) {
        for y in (top..bottom).step_by(8) {
            self.line((x, y), (x, (y + 5).min(bottom)), colour, 2);
        }
    }

    /// Text of `size` pixels.
    pub(super) fn text(&self, text: &str, at: (i32, i32), align: Align, size: i32, ink: RGBColor) {
        let style = ("sans-serif", size).into_font().color(&ink);
        self.label(text, at, style, align);
    }

    /// Text of `size` pixels, to be read upwards, centred.
    pub(super) fn upwards(&self, text: &str, at: (i32, i32), size: i32, ink: RGBColor) {
        let font = ("sans-serif", size).into_font().transform(FontTransform::Rotate270);
        self.label(text, at, font.color(&ink), Align::Centre);
    }

    fn label(&self, text: &str, at: (i32, i32), style: TextStyle<'_>, align: Align) {
        let horizontal = match align {
            Align::Left => HPos::Left,
            Align::Centre => HPos::Center,
            Align::Right => HPos::Right,
        };
        let style = style.pos(Pos::new(horizontal, VPos::Center));
        self.area.draw_text(text, &style, at).expect(NO_ERROR);
    }
}
