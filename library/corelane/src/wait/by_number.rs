//! The sleepers of a bell, the oldest first.

use alloc::collections::VecDeque;
use core::task::Waker;

/// Sleepers by their numbers, which grow. Any of them may leave.
#[derive(Default)]
pub(super) struct ByNumber {
    /// A sleeper that came when no other slept, and so is older than the others. Often it is the
    /// only one.
    first: Option<(u64, Waker)>,
    /// In the order of their numbers. A sleeper that leaves before its turn leaves a gap. A list in
    /// one piece keeps its memory from one crowd to the next.
    others: VecDeque<(u64, Option<Waker>)>,
    /// Gaps among the others. A sleeper that leaves closes them if they are more than half, and more
    /// than [`MOST_GAPS`].
    gaps: usize,
    /// Number of the next sleeper.
    next: u64,
    /// Sleepers of smaller numbers were popped, or have left.
    oldest: u64,
}

/// Up to this number, gaps are left as they are.
const MOST_GAPS: usize = 8;
/// Places that keep their memory when no one sleeps.
const KEPT: usize = 64;

impl ByNumber {
    /// One more sleeper, and its number.
    pub(super) fn push(&mut self, waker: Waker) -> u64 {
        let number = self.next;
        self.next += 1;
        if self.is_empty() {
            self.forget_gaps();
            self.first = Some((number, waker));
        } else {
            self.others.push_back((number, Some(waker)));
        }
        number
    }

    /// All others have left.
    fn forget_gaps(&mut self) {
        if self.others.capacity() > 0 {
            self.others.clear();
            self.others.shrink_to(KEPT);
            self.gaps = 0;
        }
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len() - self.gaps
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn is_first(&self, number: u64) -> bool {
        self.first.as_ref().is_some_and(|first| first.0 == number)
    }

    fn other_mut(&mut self, number: u64) -> Option<&mut Option<Waker>> {
        let at = self.others.binary_search_by_key(&number, |other| other.0).ok()?;
        Some(&mut self.others[at].1)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Waker> {
        match self.is_first(number) {
            true => self.first.as_mut().map(|first| &mut first.1),
            false => self.other_mut(number)?.as_mut(),
        }
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Waker> {
        if self.is_first(number) {
            return self.first.take().map(|first| first.1);
        }
        let left = self.other_mut(number)?.take()?;
        self.gaps += 1;
        if self.gaps > MOST_GAPS.max(self.others.len() / 2) {
            self.others.retain(|other| other.1.is_some());
            self.gaps = 0;
        }
        Some(left)
    }

    pub(super) fn pop_first(&mut self) -> Option<Waker> {
        if let Some((number, waker)) = self.first.take() {
            self.oldest = number + 1;
            return Some(waker);
        }
        while let Some((number, other)) = self.others.pop_front() {
            self.oldest = number + 1;
            match other {
                None => self.gaps -= 1,
                waker => return waker,
            }
        }
        None
    }

    /// All sleepers of smaller numbers were popped, or have left.
    pub(super) fn oldest(&self) -> u64 {
        self.oldest
    }

    pub(super) fn pop_last(&mut self) -> Option<Waker> {
        while let Some((_, other)) = self.others.pop_back() {
            match other {
                None => self.gaps -= 1,
                waker => return waker,
            }
        }
        self.first.take().map(|first| first.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(n: u64) -> ByNumber {
        let mut sleepers = ByNumber::default();
        (0..n).for_each(|number| assert_eq!(sleepers.push(Waker::noop().clone()), number));
        sleepers
    }

    #[test]
    fn any_may_leave() {
        let n = 100;
        let mut sleepers = with(n);
        let leave = |number: &u64| number % 7 != 3;
        for number in (0..n).filter(leave) {
            assert!(sleepers.remove(number).is_some() && sleepers.remove(number).is_none());
        }
        let mut left = n as usize - (0..n).filter(leave).count();
        for number in 0..n {
            assert_eq!(sleepers.get_mut(number).is_some(), !leave(&number));
        }
        while sleepers.len() > 1 {
            assert!(sleepers.pop_first().is_some());
            left -= 1;
            assert_eq!(sleepers.len(), left);
        }
        assert!(sleepers.pop_last().is_some() && sleepers.pop_last().is_none());
        assert!(sleepers.is_empty() && sleepers.pop_first().is_none());
    }

    #[test]
    fn those_of_smaller_numbers_are_gone() {
        let mut sleepers = with(4);
        assert!(sleepers.remove(1).is_some() && sleepers.remove(3).is_some());
        assert!(sleepers.pop_first().is_some() && sleepers.oldest() == 1);
        assert!(sleepers.pop_first().is_some() && sleepers.oldest() == 3);
        assert!(sleepers.is_empty());
        assert_eq!(sleepers.push(Waker::noop().clone()), 4);
        assert!(sleepers.pop_first().is_some() && sleepers.oldest() == 5);
    }
}
