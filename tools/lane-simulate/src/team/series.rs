//! Numbers of threads that grow on one side, or on both.

use std::iter;

use corelane_bench::TeamSize;
use corelane_report::plot::Scale;
use corelane_report::{Block, name};

use super::beside::{Beside, MeasuredPoint};
use super::cell::TeamCell;
use crate::growth::{self, Measure};

/// The number that grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growing {
    Producers,
    Consumers,
    Both,
}

impl Growing {
    const ALL: [Self; 3] = [Self::Producers, Self::Consumers, Self::Both];

    fn title(self) -> &'static str {
        match self {
            Self::Producers => "several producers, one consumer",
            Self::Consumers => "one producer, several consumers",
            Self::Both => "as many producers as consumers",
        }
    }

    fn axis(self) -> &'static str {
        match self {
            Self::Producers => "producers",
            Self::Consumers => "consumers",
            Self::Both => "threads a side",
        }
    }

    /// The position of these numbers of threads in the series, if they are in it.
    fn number_of(self, producers: usize, consumers: usize) -> Option<usize> {
        match self {
            Self::Producers => (consumers == 1).then_some(producers),
            Self::Consumers => (producers == 1).then_some(consumers),
            Self::Both => (producers == consumers).then_some(producers),
        }
    }

    /// The position of a measured point in the series, and its throughput in millions per second,
    /// if it is in the series and of this workload.
    fn place_of(self, point: &MeasuredPoint, workload: &str) -> Option<(usize, f64)> {
        let number = self.number_of(point.producers, point.consumers)?;
        (point.workload == workload).then_some((number, point.items_per_s / 1e6))
    }
}

/// The measures of each series: throughput, which may also have been measured, and misses.
const MEASURES: [Measure<TeamCell>; 2] = [
    ("million items per second", TeamCell::millions_per_s),
    ("misses per item, of all threads", |cell| cell.misses_per_item),
];

/// The charts of the cells of a workload, for each series, with its measurements.
pub(super) fn blocks(cells: &[TeamCell], beside: Option<&Beside>) -> Vec<Block> {
    Growing::ALL.into_iter().flat_map(|growing| growing.blocks(cells, beside)).collect()
}

impl Growing {
    fn blocks(self, cells: &[TeamCell], beside: Option<&Beside>) -> Vec<Block> {
        let number = |cell: &TeamCell| self.number_of(cell.producers, cell.consumers);
        let mut rows = growth::rows(cells, |cell| &cell.queue, number);
        // A queue that can have only one thread a side has no curve.
        rows.retain(|row| row.1.len() > 1);
        let Some((_, cell)) = rows.first().map(|row| row.1[0]) else { return Vec::new() };
        let workload = name(&cell.workload);
        let mut measured: Vec<(String, Vec<(usize, f64)>)> = Vec::new();
        let (title, axis) = (self.title(), self.axis());
        let mut blocks = Vec::new();
        for (number, (measure, of)) in MEASURES.into_iter().enumerate() {
            let mut lines = growth::lines(&rows, of);
            measured.clear();
            for point in beside.iter().flat_map(|beside| &beside.points).filter(|_| number == 0) {
                let line = lines.iter_mut().find(|line| line.name == point.queue);
                let Some((line, place)) = line.zip(self.place_of(point, &workload)) else {
                    continue;
                };
                line.beside.push(place);
                let name = format!("{}, measured {}", point.queue, point.distance);
                match measured.iter_mut().find(|row| row.0 == name) {
                    Some(row) => row.1.push(place),
                    None => measured.push((name, vec![place])),
                }
            }
            blocks.push(Block::heading(3, format!("{title}: {measure} by {axis}, simulated")));
            let axes = [axis, measure];
            blocks.extend(growth::blocks(axes, Scale::Logarithmic, &lines, &measured));
        }
        blocks
    }
}

/// One thread a side, then one side of 2, 4, 8, … threads, then the other, then both, until `cores`
/// are in use.
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
