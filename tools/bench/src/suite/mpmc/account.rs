//! Checks that all pushed items were popped, once and in order.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Bits of an item's number below its producer.
const COUNT_BITS: u32 = 56;

/// The number of a producer's item. Its `count` grows from item to item, and is not 0.
#[inline(always)]
pub(crate) fn number(producer: u8, count: u64) -> u64 {
    (u64::from(producer) << COUNT_BITS) | count
}

/// The producer of the item with this number.
#[inline(always)]
pub(crate) fn producer(number: u64) -> usize {
    (number >> COUNT_BITS) as usize
}

/// Items that were pushed or popped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) items: u64,
    sum: u64,
}

impl Tally {
    #[inline(always)]
    pub(crate) fn add(&mut self, number: u64) {
        self.items += 1;
        self.sum = self.sum.wrapping_add(number);
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.items += other.items;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

/// The counts of threads, including the warm-up.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) tally: Tally,
    /// Items that found no room and were not retried.
    pub(crate) refused: u64,
    /// Calls that failed and were retried.
    pub(crate) failed: u64,
    /// How often a consumer got an item of another producer than before.
    pub(crate) runs: u64,
    /// Items that a consumer found overwritten.
    pub(crate) overwritten: u64,
    /// Items that came after a later item of the same producer.
    pub(crate) unordered: u64,
}

/// The checks of a consumer.
pub(crate) struct Checks {
    pub(crate) tally: Tally,
    /// Items that came after a later item of the same producer.
    pub(crate) unordered: u64,
    /// How often an item came from another producer than the one before.
    pub(crate) runs: u64,
    producer: u8,
    last: Box<Last>,
}

/// A number for each possible producer, on cache lines of their own.
#[repr(align(128))]
struct Last([u64; 256]);

impl Checks {
    pub(crate) fn new() -> Self {
        let last = Box::new(Last([0; 256]));
        Self { tally: Tally::default(), unordered: 0, runs: 0, producer: 0, last }
    }

    #[inline(always)]
    pub(crate) fn see(&mut self, number: u64) -> u64 {
        let count = number & ((1 << COUNT_BITS) - 1);
        let producer = (number >> COUNT_BITS) as u8;
        self.runs += u64::from(producer != self.producer);
        self.producer = producer;
        let last = &mut self.last.0[usize::from(producer)];
        if count <= *last {
            self.unordered = one_more(self.unordered);
        }
        *last = count;
        self.tally.add(number);
        count
    }
}

/// Counts an event that never happens in a correct queue. A call, so that the counter needs no
/// register in loops.
#[cold]
#[inline(never)]
fn one_more(count: u64) -> u64 {
    count + 1
}

/// The items that are still to be popped when the time is over.
pub(crate) struct Account {
    producers: AtomicUsize,
    /// Items that were pushed and not popped, by the threads that have reported.
    missing: AtomicI64,
}

impl Account {
    pub(crate) fn of(producers: usize) -> Self {
        Self { producers: AtomicUsize::new(producers), missing: AtomicI64::new(0) }
    }

    /// A producer has ended, after it has pushed `items` items.
    pub(crate) fn pushed(&self, items: u64) {
        self.missing.fetch_add(items as i64, Ordering::Relaxed);
        // Release ↔ Acquire in `is_settled`: the producer's items in `missing`.
        self.producers.fetch_sub(1, Ordering::Release);
    }

    pub(crate) fn popped(&self, items: u64) {
        self.missing.fetch_sub(items as i64, Ordering::Relaxed);
    }

    /// Whether a producer has not ended.
    pub(crate) fn is_open(&self) -> bool {
        self.producers.load(Ordering::Relaxed) > 0
    }

    fn is_settled(&self) -> bool {
        // Acquire ↔ Release in `pushed`: the producers' items in `missing`.
        self.producers.load(Ordering::Acquire) == 0 && self.missing.load(Ordering::Relaxed) <= 0
    }

    /// Lets a consumer pop until no items are left, or until no consumer has found an item for
    /// `patience`: then the rest counts as lost. `pop` returns how many items it popped.
    pub(crate) fn settle(&self, patience: Duration, mut pop: impl FnMut() -> u64) {
        let (mut seen, mut since) = (0, Instant::now());
        while !self.is_settled() {
            self.popped(pop());
            let missing = self.missing.load(Ordering::Relaxed);
            if missing != seen || self.is_open() {
                (seen, since) = (missing, Instant::now());
            } else if since.elapsed() > patience {
                return;
            }
            std::thread::yield_now();
        }
    }
}

/// Checks the counts. The error says what the queue did wrong.
pub(crate) fn check(producers: &[Counts], consumers: &[Counts]) -> Result<(), String> {
    let total =
        |side: &[Counts], of: fn(&Counts) -> u64| side.iter().map(of).fold(0, u64::wrapping_add);
    let overwritten = total(consumers, |counts| counts.overwritten);
    let pushed = total(producers, |counts| counts.tally.items);
    let popped = total(consumers, |counts| counts.tally.items) + overwritten;
    if pushed != popped {
        return Err(format!("{pushed} items were pushed and {popped} popped"));
    }
    let late = total(consumers, |counts| counts.unordered);
    if late > 0 {
        return Err(format!("{late} items came after later ones of the same producer"));
    }
    let [sent, received] =
        [producers, consumers].map(|side| total(side, |counts| counts.tally.sum));
    if sent != received && overwritten == 0 {
        return Err("other items were popped than pushed".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(numbers: &[u64]) -> Counts {
        let mut tally = Tally::default();
        numbers.iter().for_each(|number| tally.add(*number));
        Counts { tally, ..Counts::default() }
    }

    #[test]
    fn a_run_ends_where_another_producer_comes() {
        let mut checks = Checks::new();
        for (producer, count) in [(0, 1), (0, 2), (1, 1), (0, 3), (2, 1), (2, 2)] {
            checks.see(number(producer, count));
        }
        assert_eq!((checks.runs, checks.unordered, checks.tally.items), (3, 0, 6));
    }

    #[test]
    fn lost_doubled_exchanged_and_late_items_are_faults() {
        let pushed = counts(&[1, 2, 3]);
        let fault = |popped: &[u64], overwritten, unordered| {
            check(&[pushed], &[Counts { overwritten, unordered, ..counts(popped) }]).err()
        };
        assert_eq!(fault(&[3, 1, 2], 0, 0), None);
        assert_eq!(fault(&[1, 3], 1, 0), None);
        for (popped, overwritten, unordered, what) in [
            (&[1, 2][..], 0, 0, "3 items were pushed and 2 popped"),
            (&[1, 2, 3, 3], 0, 0, "3 items were pushed and 4 popped"),
            (&[1, 3], 2, 0, "3 items were pushed and 4 popped"),
            (&[1, 3, 3], 0, 0, "other items were popped than pushed"),
            (&[1, 2, 3], 0, 2, "2 items came after later ones of the same producer"),
        ] {
            assert_eq!(fault(popped, overwritten, unordered).as_deref(), Some(what));
        }
    }

    #[test]
    fn each_producer_has_an_order_of_its_own() {
        let mut checks = Checks::new();
        for (producer, count) in [(0, 1), (1, 1), (0, 2), (1, 5), (0, 9)] {
            checks.see(number(producer, count));
        }
        assert_eq!(checks.unordered, 0);
        checks.see(number(1, 5));
        assert_eq!(checks.unordered, 1, "doubled");
        checks.see(number(0, 8));
        assert_eq!(checks.unordered, 2, "overtaken");
    }

    #[test]
    fn settling_pops_the_rest_and_gives_up_on_lost_items() {
        let (account, patience) = (Account::of(1), Duration::from_millis(20));
        account.pushed(4);
        account.popped(1);
        let mut pops = [1, 1].into_iter();
        account.settle(patience, || pops.next().unwrap_or(0));
        assert!(pops.next().is_none() && !account.is_settled());
        account.popped(1);
        account.settle(patience, || panic!("nothing is left"));
    }
}
