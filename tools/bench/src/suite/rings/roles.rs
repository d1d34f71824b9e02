//! The three threads around the rings, on the machine and simulated: an application's thread
//! submits requests, the kernel takes them and completes them at once, and another thread of the
//! application takes the completions (J. Wang 2024, §2.6.3).
//!
//! Each calls `moved` with the number of entries that a call has moved. If there are none, `moved`
//! waits.

use std::ops::Range;

use super::uring::{Cqe, Sqe};
use super::world::{Consumer, Producer};

/// Most entries of a batch.
pub(crate) const MOST: usize = 32;

/// The request after all others.
const LAST: u64 = u64::MAX;

/// The sizes of the batches of a thread: 1 to `most` at random.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batches {
    most: usize,
    random: u64,
}

impl Batches {
    pub(crate) fn new(most: usize, seed: u64) -> Self {
        Self { most, random: 0x9e37_79b9_7f4a_7c15 ^ seed }
    }

    #[inline]
    fn next(&mut self) -> usize {
        if self.most == 1 {
            return 1;
        }
        // Xorshift, of G. Marsaglia.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        1 + (self.random >> 32) as usize % self.most
    }
}

/// Submits requests with these numbers.
#[inline(never)]
pub(crate) fn submit<P: Producer<Item = Sqe>>(
    mut tx: P,
    numbers: Range<u64>,
    mut batches: Batches,
    mut moved: impl FnMut(usize),
) -> (P, Batches) {
    let (mut next, mut requests) = (numbers.start, [Sqe::of(0); MOST]);
    while next < numbers.end {
        let size = batches.next().min((numbers.end - next) as usize);
        for request in &mut requests[..size] {
            *request = Sqe::of(next);
            next += 1;
        }
        push(&mut tx, &requests[..size], &mut moved);
    }
    (tx, batches)
}

/// Submits the last request.
pub(crate) fn finish(mut tx: impl Producer<Item = Sqe>, mut moved: impl FnMut(usize)) {
    push(&mut tx, &[Sqe::of(LAST)], &mut moved);
}

/// The kernel, until it has completed the last request.
#[inline(never)]
pub(crate) fn serve(
    mut rx: impl Consumer<Item = Sqe>,
    mut tx: impl Producer<Item = Cqe>,
    mut batches: Batches,
    mut moved: impl FnMut(usize),
) {
    let (mut requests, mut completions) = ([Sqe::of(0); MOST], [Cqe::of(0); MOST]);
    loop {
        let taken = pop(&mut rx, &mut requests[..batches.next()], &mut moved);
        for (completion, request) in completions.iter_mut().zip(&requests[..taken]) {
            *completion = request.completion();
        }
        push(&mut tx, &completions[..taken], &mut moved);
        if completions[..taken].last() == Some(&Cqe::of(LAST)) {
            return;
        }
    }
}

/// Takes all completions. Returns their number, and how many were not the next one.
#[inline(never)]
pub(crate) fn reap(
    mut rx: impl Consumer<Item = Cqe>,
    mut batches: Batches,
    mut moved: impl FnMut(usize),
) -> [u64; 2] {
    let (mut next, mut wrong, mut completions) = (0, 0, [Cqe::of(0); MOST]);
    loop {
        let taken = pop(&mut rx, &mut completions[..batches.next()], &mut moved);
        for completion in &completions[..taken] {
            if *completion == Cqe::of(LAST) {
                return [next, wrong];
            }
            wrong += u64::from(*completion != Cqe::of(next));
            next += 1;
        }
    }
}

/// Pushes all `items`: a single one by the call for single items.
#[inline]
fn push<P: Producer<Item: Copy>>(tx: &mut P, items: &[P::Item], moved: &mut impl FnMut(usize)) {
    let mut left = items;
    while !left.is_empty() {
        let pushed = match left {
            [item] => usize::from(tx.try_push(*item).is_ok()),
            _ => tx.push_slice(left),
        };
        moved(pushed);
        left = &left[pushed..];
    }
    tx.flush();
}

#[inline]
fn pop<C: Consumer<Item: Copy>>(
    rx: &mut C,
    into: &mut [C::Item],
    moved: &mut impl FnMut(usize),
) -> usize {
    let popped = match into {
        [place] => rx.try_pop().map_or(0, |item| {
            *place = item;
            1
        }),
        _ => rx.pop_slice(into),
    };
    moved(popped);
    popped
}
