//! Which queue a thief tries first, and in which order the others.

use alloc::vec::Vec;

use crate::random::Random;

/// How a worker chooses the queue from which it first tries to steal. If that queue has no task, it
/// tries all others in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Policy {
    /// At random.
    #[default]
    Random,
    /// The queue of the next worker by number.
    Sequential,
    /// The queue from which it has stolen last.
    Last,
    /// The longer one of two at random. It reads what owners write, which slows them down.
    BestOfTwo,
    /// The longest of half of them. It reads what many owners write.
    BestOfMany,
}

/// The other workers, as one of them sees them.
#[derive(Debug)]
pub struct Victims {
    policy: Policy,
    random: Random,
    /// Those of its own domain first.
    others: Vec<usize>,
    /// How many of them are of its own domain.
    near: usize,
    /// The place in `others` of the last one with something to steal.
    last: usize,
}

impl Victims {
    /// For a worker. `domains[n]` is the domain of worker n; if it is empty, all are near each
    /// other.
    pub fn new(policy: Policy, own: usize, workers: usize, domains: &[usize]) -> Self {
        let is_near = |&other: &usize| domains.get(other) == domains.get(own);
        let all = (1..workers).map(|distance| (own + distance) % workers);
        let (mut others, far): (Vec<_>, Vec<_>) = all.partition(is_near);
        let near = others.len();
        others.extend(far);
        Self { policy, random: Random::new(own as u64), others, near, last: 0 }
    }

    /// Calls `steal` with one worker after the other until it returns something: those of the own
    /// domain first.
    pub fn find<R>(
        &mut self,
        len: impl Fn(usize) -> usize,
        mut steal: impl FnMut(usize) -> Option<R>,
    ) -> Option<R> {
        let (near, all) = (self.near, self.others.len());
        for (start, end) in [(0, near), (near, all)] {
            let count = end - start;
            if count == 0 {
                continue;
            }
            let first = start + self.first(start, count, &len);
            for place in (first..end).chain(start..first) {
                if let Some(found) = steal(self.others[place]) {
                    self.last = place;
                    return Some(found);
                }
            }
        }
        None
    }

    /// A random number.
    pub fn random(&mut self) -> u64 {
        self.random.below(1 << 30) as u64
    }

    /// Where to begin among `count` from `start` on.
    fn first(&mut self, start: usize, count: usize, len: impl Fn(usize) -> usize) -> usize {
        let samples = match self.policy {
            Policy::Sequential => return 0,
            Policy::Last => {
                return self.last.checked_sub(start).filter(|&n| n < count).unwrap_or(0);
            }
            Policy::Random => 1,
            Policy::BestOfTwo => 2,
            Policy::BestOfMany => count.div_ceil(2),
        };
        let first = self.random.below(count);
        if samples == 1 {
            return first;
        }
        let others = &self.others[start..start + count];
        let sampled = (0..samples).map(|_| self.random.below(count));
        sampled.max_by_key(|&place| len(others[place])).unwrap_or(first)
    }
}
