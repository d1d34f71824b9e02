//! A drawing in pixels, as SVG. Its paints are classes of the page's style sheet, so that it
//! follows the reader's light or dark theme. A plotting crate's fixed colours would not.

use crate::html::escaped;

/// A point, from the top left corner.
pub(super) type Point = (i32, i32);

/// The horizontal alignment of text at its point. Vertically it is centred.
#[derive(Debug, Clone, Copy)]
pub(super) enum Align {
    Left,
    Centre,
    Right,
}

/// An SVG picture. A paint is a class of the style sheet (`ink`, `soft`, `rule`, `ours`, `peer`,
/// `floor`) or a colour.
pub(super) struct Canvas {
    size: Point,
    shapes: String,
}

impl Canvas {
    pub(super) fn new(size: Point) -> Self {
        Self { size, shapes: String::new() }
    }

    pub(super) fn svg(self) -> String {
        self.with("", "")
    }

    /// A separate file, with the paints of `style`.
    pub(super) fn file(self, style: &str) -> String {
        self.with(" xmlns=\"http://www.w3.org/2000/svg\"", &format!("<style>{style}</style>\n"))
            + "\n"
    }

    fn with(self, attributes: &str, head: &str) -> String {
        let ((width, height), shapes) = (self.size, self.shapes);
        format!(
            "<svg{attributes} width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">{head}{shapes}</svg>"
        )
    }

    fn add(&mut self, shape: &str, paint: &str, is_line: bool) {
        let paint = match (paint.contains(['(', '#']), is_line) {
            (false, _) => format!("class=\"{paint}\""),
            (true, false) => format!("fill=\"{paint}\""),
            (true, true) => format!("stroke=\"{paint}\""),
        };
        self.shapes.push_str(&shape.replacen(' ', &format!(" {paint} "), 1));
        self.shapes.push('\n');
    }

    pub(super) fn rectangle(&mut self, [(left, top), (right, bottom)]: [Point; 2], paint: &str) {
        let (width, height) = ((right - left).max(0), bottom - top);
        let shape =
            format!("<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>");
        self.add(&shape, paint, false);
    }

    pub(super) fn dot(&mut self, (x, y): Point, paint: &str) {
        self.add(&format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"3\"/>"), paint, false);
    }

    pub(super) fn line(&mut self, points: &[Point], paint: &str, width: u32) {
        let points: Vec<_> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
        let points = points.join(" ");
        let shape =
            format!("<polyline points=\"{points}\" fill=\"none\" stroke-width=\"{width}\"/>");
        self.add(&shape, paint, true);
    }

    pub(super) fn dashes(&mut self, x: i32, (top, bottom): (i32, i32), paint: &str) {
        let shape = format!(
            "<polyline points=\"{x},{top} {x},{bottom}\" stroke-width=\"2\" stroke-dasharray=\"5 3\"/>"
        );
        self.add(&shape, paint, true);
    }

    pub(super) fn text(&mut self, text: &str, at: Point, align: Align, size: i32, paint: &str) {
        self.write(text, at, align, size, paint, "");
    }

    /// Text of `size` pixels, to be read upwards, centred.
    pub(super) fn upwards(&mut self, text: &str, at: Point, size: i32, paint: &str) {
        let turn = format!(" transform=\"rotate(-90 {} {})\"", at.0, at.1);
        self.write(text, at, Align::Centre, size, paint, &turn);
    }

    fn write(
        &mut self,
        text: &str,
        (x, y): Point,
        align: Align,
        size: i32,
        paint: &str,
        turn: &str,
    ) {
        let anchor = match align {
            Align::Left => "start",
            Align::Centre => "middle",
            Align::Right => "end",
        };
        let text = escaped(text);
        let shape = format!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" dominant-baseline=\"central\" \
             font-size=\"{size}\"{turn}>{text}</text>"
        );
        self.add(&shape, paint, false);
    }
}
