//! Which thread runs on which core.

use core_affinity::CoreId;
use corelane_simulate::seats;

/// The cores of all threads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Placement {
    pub(super) producers: Vec<CoreId>,
    pub(super) consumers: Vec<CoreId>,
}

impl Placement {
    /// In the order of [`seats`]. With more threads than cores it goes round.
    pub(super) fn of(producers: usize, consumers: usize, cores: &[CoreId]) -> Self {
        let core = |seat: usize| cores[seat % cores.len()];
        let [producers, consumers] =
            seats(producers, consumers).map(|seats| seats.into_iter().map(core).collect());
        Self { producers, consumers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(producers: usize, consumers: usize, cores: usize) -> (Vec<usize>, Vec<usize>) {
        let cores: Vec<_> = (0..cores).map(|id| CoreId { id }).collect();
        let places = Placement::of(producers, consumers, &cores);
        let ids = |cores: Vec<CoreId>| cores.into_iter().map(|core| core.id).collect();
        (ids(places.producers), ids(places.consumers))
    }

    #[test]
    fn threads_take_cores_in_the_order_of_seats() {
        assert_eq!(ids(3, 1, 8), (vec![1, 2, 3], vec![0]));
        assert_eq!(ids(4, 2, 8), (vec![0, 2, 4, 5], vec![1, 3]));
    }

    #[test]
    fn more_threads_than_cores_go_round() {
        assert_eq!(ids(1, 4, 2), (vec![0], vec![1, 0, 1, 0]));
        assert_eq!(ids(2, 2, 1), (vec![0, 0], vec![0, 0]));
    }
}
