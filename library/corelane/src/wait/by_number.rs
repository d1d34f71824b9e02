//! The sleepers of a bell, the oldest first.

use alloc::collections::BTreeMap;
use core::mem;
use core::task::Waker;

/// Sleepers by their numbers, which grow. Any of them may leave.
#[derive(Default)]
pub(super) struct ByNumber {
    /// A sleeper that came when no other slept, and so is older than the others. Often it is the
    /// only one.
    first: Option<(u64, Waker)>,
    others: BTreeMap<u64, Waker>,
    /// Number of the next sleeper.
    next: u64,
}

impl ByNumber {
    /// One more sleeper, and its number.
    pub(super) fn push(&mut self, waker: Waker) -> u64 {
        let number = self.next;
        self.next += 1;
        if self.is_empty() {
            self.first = Some((number, waker));
        } else {
            self.others.insert(number, waker);
        }
        number
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn is_first(&self, number: u64) -> bool {
        self.first.as_ref().is_some_and(|first| first.0 == number)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Waker> {
        match self.is_first(number) {
            true => self.first.as_mut().map(|first| &mut first.1),
            false => self.others.get_mut(&number),
        }
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Waker> {
        match self.is_first(number) {
            true => self.first.take().map(|first| first.1),
            false => self.others.remove(&number),
        }
    }

    pub(super) fn pop_first(&mut self) -> Option<Waker> {
        self.first.take().or_else(|| self.others.pop_first()).map(|first| first.1)
    }

    pub(super) fn pop_last(&mut self) -> Option<Waker> {
        self.others.pop_last().or_else(|| self.first.take()).map(|last| last.1)
    }

    /// Takes all that are there now.
    pub(super) fn take_all(&mut self) -> Self {
        mem::replace(self, Self { next: self.next, ..Self::default() })
    }

    pub(super) fn into_wakers(self) -> impl Iterator<Item = Waker> {
        self.first.into_iter().map(|first| first.1).chain(self.others.into_values())
    }
}
