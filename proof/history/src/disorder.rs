//! How far items left a queue out of turn: rank errors and delays, computed from recorded times.
//!
//! An item's [`Passage`] is the interval of its push and the interval of its pop. With
//! [instants](Span::at) the figures are exact for the order of these instants. With the intervals of
//! calls they are those that are certain, in whatever order calls that overlap took effect:
//!
//! - The *rank error* of a popped item is the number of items whose pushes had ended before its
//!   push began, and whose pops began after its pop had ended, or never.
//! - The *delay* of an item is the number of items whose pushes began after its push had ended, and
//!   whose pops had ended before its pop began. An item that was never popped has the delay that it
//!   has at the end.
//!
//! So a queue whose items have a rank error or a delay of k isn't k-FIFO. Which instants a caller
//! takes is up to the caller: the middle of a call, or, if a clock is read only once for each call,
//! the time when the call has returned. Then a figure is wrong by at most the number of calls that
//! overlap.
//!
//! For n items this takes O(n log n): items are visited in the order in which they left, and a tree
//! of sums (Fenwick, *A New Data Structure for Cumulative Frequency Tables*, 1994) counts those
//! visited by the order in which they came.

use super::log::Span;

/// The way of an item through a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// The interval of its push.
    pub push: Span,
    /// The interval of its pop. [`Span::NEVER`] if there was none.
    pub pop: Span,
}

/// The distribution of a figure of all items.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// 99 of 100 items have no more.
    pub p99: u32,
    /// The largest.
    pub largest: u32,
}

/// How far the items of a queue left out of turn.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Disorder {
    /// The rank errors of all popped items.
    pub rank_errors: Spread,
    /// The delays of all items.
    pub delays: Spread,
}

/// One more than the number by which an item may be behind: behind the largest number that the same
/// consumer of a k-FIFO queue has popped before, if a producer numbers its items.
///
/// Let an item be n behind. Then n − 1 items were pushed between the item and the one with the
/// largest number. When the latter was popped, at most k − 2 of these were still inside, besides the
/// item itself: by its rank error. All others, and the latter, left before the item: at most k − 1,
/// by its delay. So n is at most 2k − 3. With a k of 1, no item is behind.
pub const fn most_behind(k: usize) -> u64 {
    (k as u64 - 1).saturating_mul(2)
}

impl Disorder {
    /// The disorder of these items, in whatever order they are given.
    ///
    /// # Panics
    ///
    /// If there are 2³² items or more.
    pub fn of(passages: &[Passage]) -> Self {
        assert!(u32::try_from(passages.len()).is_ok(), "too many items");
        let rank_errors = Spread::of(rank_errors(passages));
        Self { rank_errors, delays: Spread::of(delays(passages)) }
    }

    /// Whether no rank error and no delay is `k` or more.
    pub fn is_within(&self, k: usize) -> bool {
        (self.rank_errors.largest.max(self.delays.largest) as usize) < k
    }
}

impl Spread {
    fn of(mut figures: Vec<u32>) -> Self {
        let Some(last) = figures.len().checked_sub(1) else { return Self::default() };
        let sum: u64 = figures.iter().map(|&figure| u64::from(figure)).sum();
        let mean = sum as f64 / figures.len() as f64;
        let (_, &mut p99, above) = figures.select_nth_unstable((last * 99).div_ceil(100));
        let largest = above.iter().copied().max().unwrap_or(p99);
        Self { mean, p99, largest }
    }
}

/// The rank error of each popped item. The item that left last is the first.
fn rank_errors(passages: &[Passage]) -> Vec<u32> {
    let mut inside = Counted::new(passages, |item| item.push.answered);
    let mut staying = sorted(passages, |item| !item.pop.invoked).into_iter().peekable();
    let mut figures = Vec::with_capacity(passages.len());
    for id in sorted(passages, |item| !item.pop.answered) {
        let Passage { push, pop } = passages[id as usize];
        if pop == Span::NEVER {
            continue;
        }
        let is_inside = |other: &u32| passages[*other as usize].pop.invoked > pop.answered;
        while let Some(other) = staying.next_if(is_inside) {
            inside.add(other);
        }
        figures.push(inside.below(push.invoked));
    }
    figures
}

/// The delay of each item. The item that left first is the first.
fn delays(passages: &[Passage]) -> Vec<u32> {
    // By the complement, younger items come first.
    let mut gone = Counted::new(passages, |item| !item.push.invoked);
    let mut going = sorted(passages, |item| item.pop.answered).into_iter().peekable();
    let mut figures = Vec::with_capacity(passages.len());
    for id in sorted(passages, |item| item.pop.invoked) {
        let Passage { push, pop } = passages[id as usize];
        let is_gone = |other: &u32| passages[*other as usize].pop.answered < pop.invoked;
        while let Some(other) = going.next_if(is_gone) {
            gone.add(other);
        }
        figures.push(gone.below(!push.answered));
    }
    figures
}

/// The indices of all items, sorted by a key.
fn sorted(passages: &[Passage], key: impl Fn(&Passage) -> u64) -> Vec<u32> {
    let mut ids: Vec<u32> = (0..passages.len() as u32).collect();
    // A stable sort finds sorted runs: the items of each producer, or of each consumer, are one.
    ids.sort_by_key(|&id| key(&passages[id as usize]));
    ids
}

/// Counts how many of the items that were added have a key below another.
#[derive(Debug)]
struct Counted {
    /// The keys of all items, sorted.
    keys: Vec<u64>,
    /// The place of each item's key among them.
    places: Vec<u32>,
    /// Sum number i, counted from 1, is the number of added items of the last `i & -i` places up to
    /// place i.
    sums: Vec<u32>,
}

impl Counted {
    fn new(passages: &[Passage], key: impl Fn(&Passage) -> u64) -> Self {
        let ids = sorted(passages, &key);
        let mut places = vec![0; ids.len()];
        for (place, id) in (0..).zip(&ids) {
            places[*id as usize] = place;
        }
        let keys = ids.into_iter().map(|id| key(&passages[id as usize])).collect();
        Self { keys, places, sums: vec![0; passages.len() + 1] }
    }

    fn add(&mut self, id: u32) {
        let mut index = self.places[id as usize] as usize + 1;
        while index < self.sums.len() {
            self.sums[index] += 1;
            index += index & index.wrapping_neg();
        }
    }

    /// The number of added items with a smaller key.
    fn below(&self, key: u64) -> u32 {
        let mut index = self.keys.partition_point(|&other| other < key);
        let mut count = 0;
        while index > 0 {
            count += self.sums[index];
            index &= index - 1;
        }
        count
    }
}
