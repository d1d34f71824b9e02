//! Charts and tables over a growing number of cores or threads.

use corelane_report::plot::{Curve, Scale, curves};
use corelane_report::{Block, Table, short};

/// The values of each queue at each number, in order.
pub(crate) type Rows<'a, C> = Vec<(&'a str, Vec<(usize, &'a C)>)>;

/// A measure of a cell: its name, and its value.
pub(crate) type Measure<C> = (&'static str, fn(&C) -> f64);

/// The cells of each queue, by name and number. Cells without a number are left out.
pub(crate) fn rows<'a, C>(
    cells: &'a [C],
    name: fn(&C) -> &str,
    number: impl Fn(&C) -> Option<usize>,
) -> Rows<'a, C> {
    let mut rows: Rows<'a, C> = Vec::new();
    for cell in cells {
        let Some(number) = number(cell) else { continue };
        match rows.iter_mut().find(|row| row.0 == name(cell)) {
            Some(row) => row.1.push((number, cell)),
            None => rows.push((name(cell), vec![(number, cell)])),
        }
    }
    rows.iter_mut().for_each(|row| row.1.sort_by_key(|(number, _)| *number));
    rows
}

/// A line for each queue.
pub(crate) fn lines<C>(rows: &Rows<'_, C>, of: fn(&C) -> f64) -> Vec<Curve> {
    let line = |(queue, cells): &(&str, Vec<(usize, &C)>)| Curve {
        name: (*queue).to_owned(),
        points: cells.iter().map(|(number, cell)| (*number, of(cell))).collect(),
        beside: Vec::new(),
    };
    rows.iter().map(line).collect()
}

/// A chart of `lines` with its numbers in a table; empty cells if there is no number. Rows of
/// `more` are in the table only.
pub(crate) fn blocks(
    axes: [&str; 2],
    scale: Scale,
    lines: &[Curve],
    more: &[(String, Vec<(usize, f64)>)],
) -> [Block; 2] {
    let mut numbers: Vec<_> =
        lines.iter().flat_map(|line| &line.points).map(|(number, _)| *number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let row = |name: &str, points: &[(usize, f64)]| {
        let at = |number| points.iter().find(|point| point.0 == number);
        let value = |number: &usize| at(*number).map_or_else(String::new, |point| short(point.1));
        [name.to_owned()].into_iter().chain(numbers.iter().map(value)).collect::<Vec<_>>()
    };
    let header = ["queue".to_owned()].into_iter().chain(numbers.iter().map(usize::to_string));
    let table = Table::new(header)
        .with(lines.iter().map(|line| row(&line.name, &line.points)))
        .with(more.iter().map(|(name, points)| row(name, points)));
    [curves(axes, scale, lines), Block::Table(table)]
}
