//! The seats of threads: their cores.

/// The seats of the producers and of the consumers, counted from 0, as in paper 3 §2.6.2. A side of
/// one thread has the first seat, and the other side follows. Otherwise producers and consumers
/// alternate, and the surplus of one side comes at the end.
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
