//! When each item came and left.

use std::cell::RefCell;

use coherence::Time;
use corelane_history::{Disorder, Passage, Span};

/// The times of all items, by producer and number.
#[derive(Debug)]
pub(crate) struct Passages(RefCell<Vec<Vec<Passage>>>);

/// An item that has neither come nor left.
const UNKNOWN: Passage = Passage { push: Span::NEVER, pop: Span::NEVER };

impl Passages {
    pub(crate) fn new(producers: usize) -> Self {
        Self(RefCell::new(vec![Vec::new(); producers]))
    }

    /// A push has returned.
    pub(crate) fn came(&self, producer: usize, item: u64, push: Span) {
        self.change(producer, item, |passage| passage.push = push);
    }

    /// A pop has returned.
    pub(crate) fn left(&self, producer: usize, item: u64, pop: Span) {
        self.change(producer, item, |passage| passage.pop = pop);
    }

    fn change(&self, producer: usize, item: u64, change: impl FnOnce(&mut Passage)) {
        let mut all = self.0.borrow_mut();
        let Some(items) = all.get_mut(producer) else { return };
        let index = item as usize;
        if items.len() <= index {
            items.resize(index + 1, UNKNOWN);
        }
        change(&mut items[index]);
    }

    /// The disorder that is certain, whatever the order of calls that overlap.
    pub(crate) fn certain(&self) -> Disorder {
        let is_known = |passage: &&Passage| passage.push != Span::NEVER;
        let known: Vec<_> = self.0.borrow().iter().flatten().filter(is_known).copied().collect();
        Disorder::of(&known)
    }

    /// What became of the items that left between two times, and of those that were inside then.
    pub(crate) fn between(&self, start: Time, end: Time) -> Journey {
        let (start, end) = (start.as_ps(), end.as_ps());
        let is_there = |passage: &&Passage| {
            passage.push != Span::NEVER
                && passage.push.answered <= end
                && passage.pop.answered >= start
        };
        let all = self.0.borrow();
        let returned = |Passage { push, pop }: &Passage| Passage {
            push: Span::at(push.answered),
            pop: Span::at(pop.answered),
        };
        let there: Vec<_> = all.iter().flatten().filter(is_there).map(returned).collect();
        let mut waits: Vec<_> = there
            .iter()
            .filter(|passage| passage.pop.answered <= end)
            .map(|passage| passage.pop.answered.saturating_sub(passage.push.answered))
            .collect();
        waits.sort_unstable();
        let at = |percent: usize| {
            let index = (waits.len() * percent / 100).min(waits.len().saturating_sub(1));
            waits.get(index).copied().unwrap_or_default() as f64 / 1e3
        };
        let sum: u64 = waits.iter().sum();
        Journey {
            disorder: Disorder::of(&there),
            mean_wait: sum as f64 / 1e3 / waits.len().max(1) as f64,
            waits: [at(50), at(90), at(99), at(100)],
        }
    }
}

/// How far items left out of turn, and how long they were inside.
#[derive(Debug, Clone, Copy)]
pub struct Journey {
    /// By the order in which calls returned.
    pub disorder: Disorder,
    /// Nanoseconds from the return of the push to the return of the pop, on average.
    pub mean_wait: f64,
    /// The same at the median, at 90 and 99 percent, and the longest.
    pub waits: [f64; 4],
}
