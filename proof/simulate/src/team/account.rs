//! What a team's threads tell each other outside of the simulated machine.

use std::cell::{Cell, RefCell};

use coherence::Time;

use super::Team;
use crate::stream::Failure;

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    WarmUp,
    Counted,
    /// No more is pushed or popped.
    Over,
}

/// What all threads have done together.
#[derive(Debug)]
pub(super) struct Account {
    warm_up: u64,
    items: u64,
    longest: Time,
    /// Whether items may be overwritten. Then they are counted when they are pushed, else when they are popped.
    overwrites: bool,
    counted: Cell<u64>,
    /// When counting began and ended, and how many items had been counted by then.
    start: Cell<Option<(Time, u64)>>,
    end: Cell<Option<(Time, u64)>>,
    /// By producer: how many it has pushed.
    pushed: Vec<Cell<u64>>,
    /// By producer and number: how often it was popped.
    times: RefCell<Vec<Vec<u8>>>,
    /// Items that were overwritten.
    lost: Cell<u64>,
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
    pub(super) fn new(team: &Team, overwrites: bool) -> Self {
        Self {
            warm_up: team.warm_up,
            items: team.items,
            longest: team.longest,
            overwrites,
            counted: Cell::default(),
            start: Cell::default(),
            end: Cell::default(),
            pushed: vec![Cell::default(); team.producers],
            times: RefCell::new(vec![Vec::new(); team.producers]),
            lost: Cell::default(),
            wrong: RefCell::default(),
        }
    }

    /// Where the run is at that time.
    pub(super) fn phase(&self, now: Time) -> Phase {
        let counted = self.counted.get();
        match (self.start.get(), self.end.get()) {
            (None, _) if counted >= self.warm_up || now + now > self.longest => {
                self.start.set(Some((now, counted)));
                Phase::Counted
            }
            (None, _) => Phase::WarmUp,
            (Some((_, before)), None) if counted < before + self.items && now <= self.longest => {
                Phase::Counted
            }
            (Some((start, _)), None) => {
                // Threads look in the order in which their last accesses began, not ended.
                self.end.set(Some((now.max(start), counted)));
                Phase::Over
            }
            (Some(_), Some(_)) => Phase::Over,
        }
    }

    /// A producer has pushed one more.
    pub(super) fn pushes_one(&self) {
        if self.overwrites {
            self.counted.set(self.counted.get() + 1);
        }
    }

    /// A producer has pushed all it will.
    pub(super) fn pushed(&self, producer: usize, items: u64) {
        self.pushed[producer].set(items);
    }

    /// A consumer has popped `number`; `last` is what it got before, by producer.
    pub(super) fn popped(&self, number: u64, last: &mut [Option<u64>]) {
        let (producer, item) = ((number >> BITS) as usize, number & ((1 << BITS) - 1));
        self.check(producer, item, last);
        if !self.overwrites {
            self.counted.set(self.counted.get() + 1);
        }
    }

    /// So many items have been overwritten.
    pub(super) fn lost(&self, items: u64) {
        self.lost.set(items);
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

    /// How many items were counted while everything was, and how long that took; if each item that was pushed
    /// was popped once, and in order, or overwritten.
    pub(super) fn settle(&self) -> Result<(u64, Time), Failure> {
        let mut missing = 0;
        for (producer, times) in self.times.borrow().iter().enumerate() {
            let pushed = self.pushed[producer].get();
            for item in 0..pushed.max(times.len() as u64) {
                let times = times.get(item as usize).copied().unwrap_or(0);
                if self.overwrites && times == 0 && item < pushed {
                    missing += 1;
                } else if times != u8::from(item < pushed) {
                    self.complain(Failure::Times { producer, item, times });
                }
            }
        }
        if missing != self.lost.get() {
            self.complain(Failure::Lost { missing, told: self.lost.get() });
        }
        match (self.wrong.take(), self.start.get(), self.end.get()) {
            (Some(failure), ..) => Err(failure),
            (None, Some((start, before)), Some((end, counted))) if counted > before => {
                Ok((counted - before, end - start))
            }
            _ => Err(Failure::Starved { time: self.longest }),
        }
    }
}

#[cfg(test)]
mod tests {
    use coherence::Machine;

    use super::*;

    fn account(producers: usize, warm_up: u64, items: u64) -> Account {
        let team = Team { producers, warm_up, items, ..Team::new(Machine::i7()) };
        Account::new(&Team { longest: Time::ns(1000), ..team }, false)
    }

    /// The result of a run in which two producers push two items each, and one consumer gets these.
    fn settle(popped: &[(usize, u64)]) -> Result<(u64, Time), Failure> {
        let account = account(2, 1, 2);
        let mut last = [None; 2];
        for (at, (producer, item)) in (0..).zip(popped) {
            account.popped(number(*producer, *item), &mut last);
            account.phase(Time::ns(10 * at));
        }
        for producer in [0, 1] {
            account.pushed(producer, 2);
        }
        account.settle()
    }

    #[test]
    fn time_runs_from_the_last_item_of_the_warm_up_to_the_last_that_counts() {
        assert_eq!(settle(&[(0, 0), (1, 0), (1, 1), (0, 1)]), Ok((2, Time::ns(20))));
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
    fn an_item_that_two_consumers_get_is_noticed() {
        let account = account(1, 1, 1);
        account.popped(number(0, 0), &mut [None]);
        account.popped(number(0, 0), &mut [None]);
        account.pushed(0, 1);
        assert_eq!(account.settle(), Err(Failure::Times { producer: 0, item: 0, times: 2 }));
    }

    #[test]
    fn what_is_overwritten_must_be_counted() {
        let account = |lost| {
            let account =
                Account::new(&Team { items: 2, warm_up: 1, ..Team::new(Machine::i7()) }, true);
            for ns in 0..4 {
                account.pushes_one();
                account.phase(Time::ns(ns));
            }
            account.popped(number(0, 2), &mut [None]);
            account.pushed(0, 4);
            account.lost(lost);
            account.settle()
        };
        assert_eq!(account(3), Ok((2, Time::ns(2))));
        assert_eq!(account(2), Err(Failure::Lost { missing: 3, told: 2 }));
    }

    #[test]
    fn a_slow_run_ends_in_time() {
        let account = account(1, 100, 100);
        let phase = |ns| account.phase(Time::ns(ns));
        assert_eq!([phase(500), phase(501)], [Phase::WarmUp, Phase::Counted]);
        account.popped(number(0, 0), &mut [None]);
        assert_eq!(
            [phase(1000), phase(1001), phase(10)],
            [Phase::Counted, Phase::Over, Phase::Over]
        );
        account.pushed(0, 1);
        assert_eq!(account.settle(), Ok((1, Time::ns(500))));
    }

    #[test]
    fn a_run_in_which_nobody_gets_an_item_has_no_result() {
        let account = account(1, 1, 1);
        for ns in [600, 1001] {
            account.phase(Time::ns(ns));
        }
        assert_eq!(account.settle(), Err(Failure::Starved { time: Time::ns(1000) }));
    }
}
