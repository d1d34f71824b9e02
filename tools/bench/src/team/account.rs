//! Whether all that was pushed was popped, once and in order.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::goods::split;

/// How long nobody finds an item until those that are missing count as lost.
const PATIENCE: Duration = Duration::from_secs(5);

/// What one thread pushed or popped, warm-up included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) items: u64,
    sum: u64,
}

impl Tally {
    #[inline(always)]
    pub(super) fn add(&mut self, number: u64) {
        self.items += 1;
        self.sum = self.sum.wrapping_add(number);
    }

    pub(super) fn total(tallies: impl Iterator<Item = Self>) -> Self {
        tallies.fold(Self::default(), |a, b| Self {
            items: a.items + b.items,
            sum: a.sum.wrapping_add(b.sum),
        })
    }
}

/// What a consumer checks.
#[derive(Debug)]
pub(super) struct Checks {
    pub(super) tally: Tally,
    /// Items of a producer that came after a later one of the same.
    pub(super) unordered: u64,
    last: Box<Counts>,
}

/// A number for each producer that an item can name, on lines of their own.
#[derive(Debug)]
#[repr(align(128))]
struct Counts([u64; 256]);

impl Checks {
    pub(super) fn new() -> Self {
        Self { tally: Tally::default(), unordered: 0, last: Box::new(Counts([0; 256])) }
    }

    #[inline(always)]
    pub(super) fn see(&mut self, number: u64) -> u64 {
        let (producer, count) = split(number);
        let last = &mut self.last.0[usize::from(producer)];
        if count <= *last {
            self.unordered = one_more(self.unordered);
        }
        *last = count;
        self.tally.add(number);
        count
    }
}

/// Counts what never happens. A call, so that the counter needs no register in loops.
#[cold]
#[inline(never)]
fn one_more(count: u64) -> u64 {
    count + 1
}

/// How many items are still to be popped when the time is over.
#[derive(Debug)]
pub(super) struct Account {
    producers: AtomicUsize,
    pushed: AtomicU64,
    popped: AtomicU64,
    patience: Duration,
}

impl Account {
    pub(super) fn of(producers: usize) -> Self {
        Self {
            producers: AtomicUsize::new(producers),
            pushed: AtomicU64::new(0),
            popped: AtomicU64::new(0),
            patience: PATIENCE,
        }
    }

    /// A producer that has pushed so many items pushes no more.
    pub(super) fn pushed(&self, items: u64) {
        self.pushed.fetch_add(items, Ordering::Relaxed);
        // Release pairs with the load in `is_settled`: the items are counted.
        self.producers.fetch_sub(1, Ordering::Release);
    }

    pub(super) fn popped(&self, items: u64) {
        self.popped.fetch_add(items, Ordering::Relaxed);
    }

    fn is_settled(&self) -> bool {
        // Acquire pairs with `pushed`.
        self.producers.load(Ordering::Acquire) == 0
            && self.popped.load(Ordering::Relaxed) >= self.pushed.load(Ordering::Relaxed)
    }

    /// Lets a consumer pop until there is nothing left, or it seems that the rest is lost. `pop` returns
    /// how many items it popped.
    pub(super) fn settle(&self, mut pop: impl FnMut() -> u64) {
        let (mut seen, mut since) = (0, Instant::now());
        while !self.is_settled() {
            self.popped(pop());
            let popped = self.popped.load(Ordering::Relaxed);
            if popped != seen || self.producers.load(Ordering::Relaxed) > 0 {
                (seen, since) = (popped, Instant::now());
            } else if since.elapsed() > self.patience {
                return;
            }
            std::thread::yield_now();
        }
    }
}

/// What a queue did wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Items that came after later ones of the same producer.
    Unordered(u64),
    /// Items went in, and fewer or more came out.
    Count {
        /// So many in.
        pushed: u64,
        /// So many out.
        popped: u64,
    },
    /// As many came out as went in, but others.
    Others,
    /// A push into a full queue, or a pop from an empty one, succeeded.
    Answered,
    /// A queue with bounds took many times what it can hold.
    NeverFull,
}

impl Fault {
    pub(super) fn find(
        pushed: Tally,
        popped: Tally,
        overwritten: u64,
        unordered: u64,
    ) -> Result<(), Self> {
        if pushed.items != popped.items + overwritten {
            return Err(Self::Count { pushed: pushed.items, popped: popped.items + overwritten });
        }
        match (unordered, pushed == popped || overwritten > 0) {
            (0, true) => Ok(()),
            (0, false) => Err(Self::Others),
            (items, _) => Err(Self::Unordered(items)),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unordered(items) => {
                write!(f, "{items} items came after later ones of the same producer")
            }
            Self::Count { pushed, popped } => {
                write!(f, "{pushed} items were pushed and {popped} popped")
            }
            Self::Others => write!(f, "other items were popped than pushed"),
            Self::Answered => write!(f, "a call succeeded on a queue that was full or empty"),
            Self::NeverFull => write!(f, "it takes more items than it can hold"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goods::number;

    fn tally(numbers: &[u64]) -> Tally {
        let mut tally = Tally::default();
        numbers.iter().for_each(|number| tally.add(*number));
        tally
    }

    #[test]
    fn what_comes_out_as_it_went_in_is_right() {
        assert_eq!(Fault::find(tally(&[1, 2, 3]), tally(&[3, 1, 2]), 0, 0), Ok(()));
    }

    #[test]
    fn lost_doubled_and_exchanged_items_are_faults() {
        let pushed = tally(&[1, 2, 3]);
        let count = |popped| Err(Fault::Count { pushed: 3, popped });
        assert_eq!(Fault::find(pushed, tally(&[1, 2]), 0, 0), count(2));
        assert_eq!(Fault::find(pushed, tally(&[1, 2, 3, 3]), 0, 0), count(4));
        assert_eq!(Fault::find(pushed, tally(&[1, 3, 3]), 0, 0), Err(Fault::Others));
        assert_eq!(Fault::find(pushed, pushed, 0, 2), Err(Fault::Unordered(2)));
        assert_eq!(Fault::find(pushed, tally(&[1, 3]), 1, 0), Ok(()));
        assert_eq!(Fault::find(pushed, tally(&[1, 3]), 2, 0), count(4));
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
    fn settling_pops_the_rest() {
        let account = Account::of(1);
        account.pushed(3);
        account.popped(1);
        let mut left = 2;
        account.settle(|| {
            left -= 1;
            1
        });
        assert_eq!(left, 0);
    }

    #[test]
    fn settling_gives_up_on_lost_items() {
        let account = Account { patience: Duration::from_millis(20), ..Account::of(1) };
        account.pushed(3);
        account.settle(|| 0);
        assert!(!account.is_settled());
    }
}
