//! Which thread sits where.

/// The seats of so many producers, and of so many consumers, counted from 0, as in paper 3 §2.6.2: a side of
/// one thread has the first seat, and the others follow; otherwise producers and consumers take turns, and
/// the surplus of one side comes at the end.
pub fn seats(producers: usize, consumers: usize) -> [Vec<usize>; 2] {
    if producers == 1 {
        return [vec![0], (1..=consumers).collect()];
    }
    if consumers == 1 {
        return [(1..=producers).collect(), vec![0]];
    }
    let pairs = producers.min(consumers);
    let seat = |side: usize, number: usize| {
        if number < pairs { 2 * number + side } else { pairs + number }
    };
    [
        (0..producers).map(|number| seat(0, number)).collect(),
        (0..consumers).map(|number| seat(1, number)).collect(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_thread_is_first() {
        assert_eq!(seats(1, 1), [vec![0], vec![1]]);
        assert_eq!(seats(1, 4), [vec![0], vec![1, 2, 3, 4]]);
        assert_eq!(seats(3, 1), [vec![1, 2, 3], vec![0]]);
    }

    #[test]
    fn sides_of_several_threads_take_turns() {
        assert_eq!(seats(2, 2), [vec![0, 2], vec![1, 3]]);
        assert_eq!(seats(4, 2), [vec![0, 2, 4, 5], vec![1, 3]]);
        assert_eq!(seats(2, 4), [vec![0, 2], vec![1, 3, 4, 5]]);
    }
}
