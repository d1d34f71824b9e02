//! Numbers of threads that grow on one side, or on both.

use std::iter;

use corelane_bench::TeamSize;
use corelane_report::name;
use corelane_report::plot::Curve;

use super::beside::{Beside, MeasuredPoint};
use super::outcome::TeamCell;

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

    /// How far so many threads have grown, if they are some of these.
    pub(super) fn number_of(self, producers: usize, consumers: usize) -> Option<usize> {
        match self {
            Self::Producers => (consumers == 1).then_some(producers),
            Self::Consumers => (producers == 1).then_some(consumers),
            Self::Both => (producers == consumers).then_some(producers),
        }
    }
}

/// What is told of a cell.
#[derive(Debug)]
pub(super) struct TeamMeasure {
    pub(super) name: &'static str,
    /// Whether it is what was measured, too.
    pub(super) is_throughput: bool,
    pub(super) of: fn(&TeamCell) -> f64,
}

/// What is told in each series.
pub(super) const MEASURES: [TeamMeasure; 2] = [
    TeamMeasure {
        name: "million items per second",
        is_throughput: true,
        of: TeamCell::millions_per_s,
    },
    TeamMeasure {
        name: "misses per item, of all threads",
        is_throughput: false,
        of: |cell| cell.misses_per_item,
    },
];

/// The cells of one workload in which the same thing grows.
#[derive(Debug)]
pub(super) struct Series<'a> {
    pub(super) growing: Growing,
    /// How far, in order.
    pub(super) numbers: Vec<usize>,
    /// By queue, with how far they have grown.
    pub(super) rows: Vec<(&'a str, Vec<(usize, &'a TeamCell)>)>,
    /// What was measured of these queues.
    pub(super) beside: Vec<Measured<'a>>,
}

/// What was measured of a queue.
#[derive(Debug)]
pub(super) struct Measured<'a> {
    pub(super) queue: &'a str,
    /// Whether the cores were near or far.
    pub(super) distance: &'a str,
    /// How far it had grown, and the throughput.
    pub(super) points: Vec<(usize, f64)>,
}

/// Each series of the cells of a workload that has more than one number of threads, and what was measured of it.
pub(super) fn of<'a>(
    cells: &'a [TeamCell],
    beside: Option<&'a Beside>,
) -> impl Iterator<Item = Series<'a>> {
    let points = beside.map_or(&[][..], |beside| &beside.points);
    Growing::ALL
        .into_iter()
        .map(move |growing| Series::new(growing, cells, points))
        .filter(Series::is_one)
}

impl<'a> Series<'a> {
    fn new(growing: Growing, cells: &'a [TeamCell], points: &'a [MeasuredPoint]) -> Self {
        let mut numbers = Vec::new();
        let mut rows: Vec<(&str, Vec<_>)> = Vec::new();
        for cell in cells {
            let Some(number) = growing.number_of(cell.producers, cell.consumers) else { continue };
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
        let mut series = Self { growing, numbers, rows, beside: Vec::new() };
        for point in points {
            let is_there = series.rows.iter().any(|row| row.0 == point.queue);
            let place = cells.first().and_then(|cell| point.of(growing, &name(&cell.workload)));
            if let Some(place) = place.filter(|_| is_there) {
                series.add(&point.queue, &point.distance, place);
            }
        }
        series
    }

    /// Adds what was measured.
    fn add(&mut self, queue: &'a str, distance: &'a str, place: (usize, f64)) {
        let is_it = |row: &&mut Measured<'_>| (row.queue, row.distance) == (queue, distance);
        match self.beside.iter_mut().find(is_it) {
            Some(row) => row.points.push(place),
            None => self.beside.push(Measured { queue, distance, points: vec![place] }),
        }
    }

    fn is_one(&self) -> bool {
        self.numbers.len() > 1
    }

    /// What was measured of a queue, near and far.
    fn measured(&self, queue: &str) -> Vec<(usize, f64)> {
        let rows = self.beside.iter().filter(|row| row.queue == queue);
        rows.flat_map(|row| row.points.iter().copied()).collect()
    }

    /// The lines of a chart.
    pub(super) fn curves(&self, measure: &TeamMeasure) -> Vec<Curve> {
        let line = |(queue, cells): &(&str, Vec<(usize, &TeamCell)>)| Curve {
            name: (*queue).to_owned(),
            points: cells.iter().map(|(number, cell)| (*number, (measure.of)(cell))).collect(),
            beside: if measure.is_throughput { self.measured(queue) } else { Vec::new() },
        };
        self.rows.iter().map(line).collect()
    }
}

/// One thread a side, then one side of 2, 4, 8, … threads, then the other, then both, until `cores` are in use.
pub(super) fn sweep(cores: usize) -> Vec<TeamSize> {
    let most = cores - 1;
    let powers = iter::successors(Some(2), |number| Some(2 * number));
    let up_to = |most: usize| {
        powers.clone().take_while(move |number| *number < most).chain((most > 1).then_some(most))
    };
    let grown = || up_to(most);
    let mut shapes = vec![TeamSize { producers: 1, consumers: 1 }];
    shapes.extend(grown().map(|producers| TeamSize { producers, consumers: 1 }));
    shapes.extend(grown().map(|consumers| TeamSize { producers: 1, consumers }));
    shapes.extend(up_to(cores / 2).map(|side| TeamSize { producers: side, consumers: side }));
    shapes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_uses_all_cores_in_the_end() {
        let sweep =
            |cores| sweep(cores).iter().map(TeamSize::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(sweep(2), "1x1");
        assert_eq!(sweep(3), "1x1 2x1 1x2");
        assert_eq!(sweep(9), "1x1 2x1 4x1 8x1 1x2 1x4 1x8 2x2 4x4");
        assert_eq!(sweep(12), "1x1 2x1 4x1 8x1 11x1 1x2 1x4 1x8 1x11 2x2 4x4 6x6");
    }
}
