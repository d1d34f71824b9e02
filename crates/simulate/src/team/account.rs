//! What a team's threads tell each other outside of the simulated machine.

use std::cell::{Cell, RefCell};

use coherence::Time;

use crate::stream::Failure;

/// Where a run is, by how many items all consumers have popped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    WarmUp,
    Counted,
    /// No more is pushed; what is left is popped and checked.
    Over,
}

/// What all threads have done together.
#[derive(Debug)]
pub(super) struct Account {
    warm_up: u64,
    items: u64,
    popped: Cell<u64>,
    /// When an item was popped last.
    last: Cell<Time>,
    /// When counting began, and when it ended.
    start: Cell<Time>,
    end: Cell<Time>,
    /// By producer: how many it has pushed.
    pushed: Vec<Cell<u64>>,
    /// By producer and number: how often it was popped.
    times: RefCell<Vec<Vec<u8>>>,
    /// The first wrong that was seen.
    wrong: RefCell<Option<Failure>>,
}

/// Bits of an item's number that say which of its producer's it is.
const BITS: u32 = 32;

/// Item number `item` of a producer.
pub(super) fn number(producer: usize, item: u64) -> u64 {
    (producer as u64) << BITS | item
}

impl Account {
    pub(super) fn new(producers: usize, warm_up: u64, items: u64) -> Self {
        Self {
            warm_up,
            items,
            popped: Cell::default(),
            last: Cell::default(),
            start: Cell::default(),
            end: Cell::default(),
            pushed: vec![Cell::default(); producers],
            times: RefCell::new(vec![Vec::new(); producers]),
            wrong: RefCell::default(),
        }
    }

    pub(super) fn phase(&self) -> Phase {
        match self.popped.get().checked_sub(self.warm_up) {
            _ if self.wrong.borrow().is_some() => Phase::Over,
            None => Phase::WarmUp,
            Some(counted) if counted < self.items => Phase::Counted,
            Some(_) => Phase::Over,
        }
    }

    /// A producer has pushed all it will.
    pub(super) fn pushed(&self, producer: usize, items: u64) {
        self.pushed[producer].set(items);
    }

    /// A consumer has popped `number` by `now`; `last` is what it got before, by producer.
    pub(super) fn popped(&self, number: u64, now: Time, last: &mut [Option<u64>]) {
        let (producer, item) = ((number >> BITS) as usize, number & ((1 << BITS) - 1));
        self.check(producer, item, last);
        let popped = self.popped.get() + 1;
        self.popped.set(popped);
        // Threads are heard of in the order in which their last accesses began, not ended.
        let now = now.max(self.last.replace(now));
        if popped == self.warm_up {
            self.start.set(now);
        }
        if popped == self.warm_up + self.items {
            self.end.set(now);
        }
    }

    /// A thread has tried in vain until `now`: it's a failure if nobody has got an item for so long.
    ///
    /// The simulator notices when nothing is written any more. But a lock that a thread takes again and
    /// again, before another that waits for it can, is written to.
    pub(super) fn waited(&self, now: Time, patience: Time) {
        if now > self.last.get() + patience {
            self.complain(Failure::Starved { time: now });
        }
    }

    fn check(&self, producer: usize, item: u64, last: &mut [Option<u64>]) {
        let Some(last) = last.get_mut(producer) else {
            return self.complain(Failure::Times { producer, item, times: 1 });
        };
        if *last >= Some(item) {
            self.complain(Failure::Order { producer, item, after: last.unwrap_or_default() });
        }
        *last = Some(item);
        let times = &mut self.times.borrow_mut()[producer];
        let index = item as usize;
        if times.len() <= index {
            times.resize(index + 1, 0);
        }
        times[index] = times[index].saturating_add(1);
    }

    fn complain(&self, failure: Failure) {
        self.wrong.borrow_mut().get_or_insert(failure);
    }

    /// How long counting took, if each item that was pushed was popped once, and in order.
    pub(super) fn settle(&self) -> Result<Time, Failure> {
        for (producer, times) in self.times.borrow().iter().enumerate() {
            let pushed = self.pushed[producer].get();
            for item in 0..pushed.max(times.len() as u64) {
                let times = times.get(item as usize).copied().unwrap_or(0);
                if times != u8::from(item < pushed) {
                    self.complain(Failure::Times { producer, item, times });
                }
            }
        }
        match self.wrong.take() {
            Some(failure) => Err(failure),
            None => Ok(self.end.get() - self.start.get()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of a run in which two producers push two items each, and one consumer gets these.
    fn settle(popped: &[(usize, u64)]) -> Result<Time, Failure> {
        let account = Account::new(2, 1, 2);
        let mut last = [None; 2];
        for (at, (producer, item)) in (0..).zip(popped) {
            account.popped(number(*producer, *item), Time::ns(10 * at), &mut last);
        }
        [0, 1].map(|producer| account.pushed(producer, 2));
        account.settle()
    }

    #[test]
    fn time_runs_from_the_last_item_of_the_warm_up_to_the_last_that_counts() {
        assert_eq!(settle(&[(0, 0), (1, 0), (1, 1), (0, 1)]), Ok(Time::ns(20)));
    }

    #[test]
    fn what_goes_astray_is_noticed() {
        let times = |producer, item, times| Err(Failure::Times { producer, item, times });
        assert_eq!(settle(&[(0, 0), (1, 0), (1, 1)]), times(0, 1, 0));
        assert_eq!(settle(&[(0, 0), (0, 1), (1, 1)]), times(1, 0, 0));
        assert_eq!(settle(&[(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]), times(1, 2, 1));
        assert_eq!(settle(&[(0, 0), (7, 1), (1, 0), (1, 1)]), times(7, 1, 1));
        let order = |producer, item, after| Err(Failure::Order { producer, item, after });
        assert_eq!(settle(&[(0, 0), (0, 1), (1, 1), (1, 0)]), order(1, 0, 1));
        assert_eq!(settle(&[(0, 0), (0, 0), (0, 1), (1, 0), (1, 1)]), order(0, 0, 0));
    }

    #[test]
    fn a_team_that_gets_nowhere_gives_up() {
        let account = Account::new(1, 1, 1);
        account.popped(number(0, 0), Time::ns(5), &mut [None]);
        account.waited(Time::ns(15), Time::ns(10));
        assert_eq!(account.phase(), Phase::Counted);
        account.waited(Time::ns(16), Time::ns(10));
        assert_eq!(account.phase(), Phase::Over);
        account.pushed(0, 1);
        assert_eq!(account.settle(), Err(Failure::Starved { time: Time::ns(16) }));
    }

    #[test]
    fn an_item_that_two_consumers_get_is_noticed() {
        let account = Account::new(1, 1, 1);
        account.popped(number(0, 0), Time::ZERO, &mut [None]);
        account.popped(number(0, 0), Time::ZERO, &mut [None]);
        account.pushed(0, 1);
        assert_eq!(account.settle(), Err(Failure::Times { producer: 0, item: 0, times: 2 }));
    }
}
