//! The counts that a team's threads share outside of the simulated machine.

use std::cell::{Cell, RefCell};

use coherence::Time;
use corelane_history::Span;

use crate::failure::Failure;
use crate::passages::{Journey, Passages};
use crate::team::Team;

/// The phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// No items are counted yet.
    WarmUp,
    /// All items are counted.
    Counted,
    /// No more items are pushed or popped.
    Over,
}

/// The counts of all threads.
#[derive(Debug)]
pub struct TeamAccount {
    warm_up: u64,
    items: u64,
    longest: Time,
    /// Whether items may be overwritten. Then they are counted when they are pushed, else when they
    /// are popped.
    overwrites: bool,
    counted: Cell<u64>,
    /// When counting began and ended, and the number of items at that time.
    start: Cell<Option<(Time, u64)>>,
    end: Cell<Option<(Time, u64)>>,
    /// The number of pushed items, by producer.
    pushed: Vec<Cell<u64>>,
    /// How often each item was popped, by producer and number.
    times: RefCell<Vec<Vec<u8>>>,
    passages: Passages,
    /// Items that were overwritten.
    lost: Cell<u64>,
    /// The first failure.
    wrong: RefCell<Option<Failure>>,
}

/// Bits of an item's number among its producer's items.
const BITS: u32 = 32;

/// Item number `item` of a producer.
pub fn number(producer: usize, item: u64) -> u64 {
    (producer as u64) << BITS | item
}

/// The producer of an item, and the item's number among the producer's items.
fn parts(number: u64) -> (usize, u64) {
    ((number >> BITS) as usize, number & ((1 << BITS) - 1))
}

impl TeamAccount {
    /// The counts before the run.
    pub fn new(team: &Team, overwrites: bool) -> Self {
        Self { overwrites, ..Self::of(team.producers, [team.warm_up, team.items], team.longest) }
    }

    /// The counts of all `producers` before a run that loses no item: of how many items that are
    /// popped before counting starts, and while items are counted, and how long it may take.
    pub(crate) fn of(producers: usize, [warm_up, items]: [u64; 2], longest: Time) -> Self {
        Self {
            warm_up,
            items,
            longest,
            overwrites: false,
            counted: Cell::default(),
            start: Cell::default(),
            end: Cell::default(),
            pushed: vec![Cell::default(); producers],
            times: RefCell::new(vec![Vec::new(); producers]),
            passages: Passages::new(producers),
            lost: Cell::default(),
            wrong: RefCell::default(),
        }
    }

    /// The phase of the run at that time.
    pub fn phase(&self, now: Time) -> Phase {
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
                // Threads call this in the order in which their last accesses began, not ended.
                self.end.set(Some((now.max(start), counted)));
                Phase::Over
            }
            (Some(_), Some(_)) => Phase::Over,
        }
    }

    /// The phase of the run, as far as [`phase`](Self::phase) has found it.
    pub(crate) fn known_phase(&self) -> Phase {
        match (self.start.get(), self.end.get()) {
            (None, _) => Phase::WarmUp,
            (Some(_), None) => Phase::Counted,
            (Some(_), Some(_)) => Phase::Over,
        }
    }

    /// A producer has pushed an item, by this call.
    pub fn pushes_one(&self, number: u64, push: Span) {
        let (producer, item) = parts(number);
        self.passages.came(producer, item, push);
        if self.overwrites {
            self.counted.set(self.counted.get() + 1);
        }
    }

    /// A producer has pushed its last item.
    pub fn pushed(&self, producer: usize, items: u64) {
        self.pushed[producer].set(items);
    }

    /// A consumer has popped `number`, by this call. `last` has its last item of each producer, or
    /// nothing if the queue is relaxed.
    pub fn popped(&self, number: u64, pop: Span, last: &mut [Option<u64>]) {
        let (producer, item) = parts(number);
        self.passages.left(producer, item, pop);
        if let Some(last) = last.get_mut(producer) {
            if *last >= Some(item) {
                self.complain(Failure::Order { producer, item, after: last.unwrap_or_default() });
            }
            *last = Some(item);
        }
        self.taken(number);
    }

    /// As [`popped`](Self::popped), in whatever order.
    pub(crate) fn taken(&self, number: u64) {
        let (producer, item) = parts(number);
        self.count_times(producer, item);
        if !self.overwrites {
            self.counted.set(self.counted.get() + 1);
        }
    }

    /// `items` items have been overwritten.
    pub fn lost(&self, items: u64) {
        self.lost.set(items);
    }

    fn count_times(&self, producer: usize, item: u64) {
        let mut times = self.times.borrow_mut();
        let Some(times) = times.get_mut(producer) else {
            return self.complain(Failure::Times { producer, item, times: 1 });
        };
        let index = item as usize;
        if times.len() <= index {
            times.resize(index + 1, 0);
        }
        times[index] = times[index].saturating_add(1);
    }

    fn complain(&self, failure: Failure) {
        self.wrong.borrow_mut().get_or_insert(failure);
    }

    /// Checks that no item of the run surely left as far out of turn as `k`.
    ///
    /// # Errors
    ///
    /// If one did.
    pub fn check_order(&self, k: usize) -> Result<(), Failure> {
        let disorder = self.passages.certain();
        match disorder.is_within(k) {
            true => Ok(()),
            false => Err(Failure::Disorder { k, disorder }),
        }
    }

    /// How the counted items travelled.
    pub(crate) fn journey(&self) -> Option<Journey> {
        let (start, _) = self.start.get()?;
        let (end, _) = self.end.get()?;
        Some(self.passages.between(start, end))
    }

    /// The number of counted items, and the time in which they were counted. Fails unless each
    /// pushed item was popped once, and in order, or was overwritten.
    pub fn settle(&self) -> Result<(u64, Time), Failure> {
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
