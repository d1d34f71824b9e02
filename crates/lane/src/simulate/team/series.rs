//! Numbers of threads that grow on one side, or on both.

use std::iter;

use super::outcome::Cell;
use crate::cli::Shape;
use crate::report::lines::Line;

/// What grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growing {
    Producers,
    Consumers,
    Both,
}

impl Growing {
    pub(super) const ALL: [Self; 3] = [Self::Producers, Self::Consumers, Self::Both];

    /// For a heading.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Producers => "several producers, one consumer",
            Self::Consumers => "one producer, several consumers",
            Self::Both => "as many producers as consumers",
        }
    }

    /// For an axis.
    pub(super) fn axis(self) -> &'static str {
        match self {
            Self::Producers => "producers",
            Self::Consumers => "consumers",
            Self::Both => "threads a side",
        }
    }

    /// How far a cell has grown, if it is one of these.
    pub(super) fn number(self, cell: &Cell) -> Option<usize> {
        let Cell { producers, consumers, .. } = *cell;
        match self {
            Self::Producers => (consumers == 1).then_some(producers),
            Self::Consumers => (producers == 1).then_some(consumers),
            Self::Both => (producers == consumers).then_some(producers),
        }
    }
}

/// What is told of a cell.
#[derive(Debug)]
pub(super) struct Measure {
    pub(super) name: &'static str,
    pub(super) of: fn(&Cell) -> f64,
}

/// What is told in each series.
pub(super) const MEASURES: [Measure; 2] = [
    Measure { name: "million items per second", of: Cell::millions_per_s },
    Measure { name: "misses per item, of all threads", of: |cell| cell.misses_per_item },
];

/// The cells of one workload in which the same thing grows.
#[derive(Debug)]
pub(super) struct Series<'a> {
    pub(super) growing: Growing,
    /// How far, in order.
    pub(super) numbers: Vec<usize>,
    /// By queue, with how far they have grown.
    pub(super) rows: Vec<(&'a str, Vec<(usize, &'a Cell)>)>,
}

/// Each series that has more than one number of threads.
pub(super) fn of(cells: &[Cell]) -> impl Iterator<Item = Series<'_>> {
    Growing::ALL.into_iter().map(|growing| Series::new(growing, cells)).filter(Series::is_one)
}

impl<'a> Series<'a> {
    fn new(growing: Growing, cells: &'a [Cell]) -> Self {
        let mut numbers = Vec::new();
        let mut rows: Vec<(&str, Vec<_>)> = Vec::new();
        for cell in cells {
            let Some(number) = growing.number(cell) else { continue };
            numbers.push(number);
            match rows.iter_mut().find(|row| row.0 == cell.queue) {
                Some(row) => row.1.push((number, cell)),
                None => rows.push((&cell.queue, vec![(number, cell)])),
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        // Queues that can have one thread a side only are in the table of that.
        rows.retain(|row| row.1.len() > 1);
        rows.iter_mut().for_each(|row| row.1.sort_by_key(|(number, _)| *number));
        Self { growing, numbers, rows }
    }

    fn is_one(&self) -> bool {
        self.numbers.len() > 1
    }

    /// The lines of a chart.
    pub(super) fn lines(&self, measure: &Measure) -> Vec<Line> {
        let line = |(queue, cells): &(&str, Vec<(usize, &Cell)>)| Line {
            name: (*queue).to_owned(),
            points: cells.iter().map(|(number, cell)| (*number, (measure.of)(cell))).collect(),
        };
        self.rows.iter().map(line).collect()
    }
}

/// One thread a side, then one side of 2, 4, 8, … threads, until `cores` are in use.
pub(super) fn sweep(cores: usize) -> Vec<Shape> {
    let most = cores - 1;
    let powers = iter::successors(Some(2), |number| Some(2 * number));
    let grown =
        || powers.clone().take_while(|number| *number < most).chain((most > 1).then_some(most));
    let mut shapes = vec![Shape { producers: 1, consumers: 1 }];
    shapes.extend(grown().map(|producers| Shape { producers, consumers: 1 }));
    shapes.extend(grown().map(|consumers| Shape { producers: 1, consumers }));
    shapes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_uses_all_cores_in_the_end() {
        let sweep = |cores| sweep(cores).iter().map(Shape::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(sweep(2), "1x1");
        assert_eq!(sweep(3), "1x1 2x1 1x2");
        assert_eq!(sweep(9), "1x1 2x1 4x1 8x1 1x2 1x4 1x8");
        assert_eq!(sweep(12), "1x1 2x1 4x1 8x1 11x1 1x2 1x4 1x8 1x11");
    }
}
