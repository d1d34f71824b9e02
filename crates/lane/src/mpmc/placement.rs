//! Which thread runs on which core.

use core_affinity::CoreId;

/// The cores of all threads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Placement {
    pub(super) producers: Vec<CoreId>,
    pub(super) consumers: Vec<CoreId>,
}

impl Placement {
    /// As in the paper: a side of one thread has the first core, and the others follow in sequence;
    /// otherwise producers and consumers take turns, and the surplus of one side comes at the end. With
    /// more threads than cores it goes round.
    pub(super) fn of(producers: usize, consumers: usize, cores: &[CoreId]) -> Self {
        let mut free = cores.iter().copied().cycle();
        let mut take = |count: usize| free.by_ref().take(count).collect::<Vec<_>>();
        if producers == 1 {
            return Self { producers: take(1), consumers: take(consumers) };
        }
        if consumers == 1 {
            let consumers = take(1);
            return Self { producers: take(producers), consumers };
        }
        let mut places = Self { producers: Vec::new(), consumers: Vec::new() };
        while places.producers.len() < producers || places.consumers.len() < consumers {
            let missing = |have: &Vec<CoreId>, want: usize| usize::from(have.len() < want);
            let (p, c) =
                (missing(&places.producers, producers), missing(&places.consumers, consumers));
            places.producers.extend(take(p));
            places.consumers.extend(take(c));
        }
        places
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
    fn a_single_thread_is_first() {
        assert_eq!(ids(1, 1, 8), (vec![0], vec![1]));
        assert_eq!(ids(1, 4, 8), (vec![0], vec![1, 2, 3, 4]));
        assert_eq!(ids(3, 1, 8), (vec![1, 2, 3], vec![0]));
    }

    #[test]
    fn sides_of_several_threads_take_turns() {
        assert_eq!(ids(2, 2, 8), (vec![0, 2], vec![1, 3]));
        assert_eq!(ids(4, 2, 8), (vec![0, 2, 4, 5], vec![1, 3]));
        assert_eq!(ids(2, 4, 8), (vec![0, 2], vec![1, 3, 4, 5]));
    }

    #[test]
    fn more_threads_than_cores_go_round() {
        assert_eq!(ids(1, 4, 2), (vec![0], vec![1, 0, 1, 0]));
        assert_eq!(ids(2, 2, 1), (vec![0, 0], vec![0, 0]));
    }
}
