//! Sorts numbers on all cores: both halves at once, then merged.

use std::time::Instant;

use corelane::steal::fork_join::{Fork, Options, Pool};

/// Numbers that a task sorts alone: enough for some tens of microseconds.
const ALONE: usize = 4096;

fn sort(fork: &Fork, numbers: &mut [u64], room: &mut [u64]) {
    if numbers.len() <= ALONE {
        return numbers.sort_unstable();
    }
    let middle = numbers.len() / 2;
    let (left, right) = numbers.split_at_mut(middle);
    let (room_left, room_right) = room.split_at_mut(middle);
    fork.join(|fork| sort(fork, left, room_left), |fork| sort(fork, right, room_right));
    merge(left, right, room);
    numbers.copy_from_slice(room);
}

fn merge<'a>(mut left: &'a [u64], mut right: &'a [u64], into: &mut [u64]) {
    for place in into {
        let take_left = right.first().is_none_or(|r| left.first().is_some_and(|l| l <= r));
        let from = if take_left { &mut left } else { &mut right };
        (*place, *from) = (from[0], &from[1..]);
    }
}

fn main() -> std::io::Result<()> {
    let numbers: Vec<u64> =
        (0..1_000_000_u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 16).collect();
    let mut expected = numbers.clone();
    expected.sort_unstable();
    for workers in [1, 2] {
        let pool = Pool::new(Options::new(workers))?;
        let (mut sorted, mut room) = (numbers.clone(), vec![0; numbers.len()]);
        let begin = Instant::now();
        pool.run(|fork| sort(fork, &mut sorted, &mut room));
        println!("{workers} workers: {:.1?}", begin.elapsed());
        assert!(sorted == expected);
    }
    Ok(())
}
