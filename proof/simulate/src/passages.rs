//! When items were pushed and popped, and how far they left out of turn.

use std::cell::{Cell, RefCell};

use corelane_history::{Disorder, Passage, Span};

/// The calls that moved items. Kept outside of the simulated machine.
#[derive(Debug, Default)]
pub(crate) struct Passages {
    /// The number of an item, and the interval of its push.
    pushes: RefCell<Vec<(u64, Span)>>,
    pops: RefCell<Vec<(u64, Span)>>,
    ticks: Cell<u64>,
}

impl Passages {
    /// The number of earlier calls of this function: a clock for threads that run one at a time on
    /// the host, in whatever order the simulated machine's schedule has chosen.
    pub(crate) fn tick(&self) -> u64 {
        self.ticks.replace(self.ticks.get() + 1)
    }

    /// The interval from `invoked` to the next tick.
    pub(crate) fn since(&self, invoked: u64) -> Span {
        Span { invoked, answered: self.tick() }
    }

    pub(crate) fn pushed(&self, number: u64, span: Span) {
        self.pushes.borrow_mut().push((number, span));
    }

    pub(crate) fn popped(&self, number: u64, span: Span) {
        self.pops.borrow_mut().push((number, span));
    }

    /// The disorder that is certain, whatever the order of calls that overlap.
    pub(crate) fn disorder(&self) -> Disorder {
        let (mut pushes, mut pops) = (self.pushes.borrow().clone(), self.pops.borrow().clone());
        pushes.sort_unstable_by_key(|(number, _)| *number);
        pops.sort_unstable_by_key(|(number, _)| *number);
        let pop_of = |number| {
            let index = pops.binary_search_by_key(&number, |(number, _)| *number).ok()?;
            Some(pops[index].1)
        };
        let passage = |(number, push)| Passage { push, pop: pop_of(number).unwrap_or(Span::NEVER) };
        Disorder::of(&pushes.into_iter().map(passage).collect::<Vec<_>>())
    }
}
