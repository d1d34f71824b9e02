//! Which queue a thread of a pool steals from.

use clap::ValueEnum;
use coherence::Chance;
use serde::Serialize;

use super::Stealing;

/// How a thread chooses a queue to steal from (paper 3 §4.6.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Any other thread's.
    Rand,
    /// In a fixed order: the next one after an attempt that got nothing.
    Seq,
    /// The last one again; any other thread's after an attempt that got nothing.
    Last,
    /// Any of a thread of the same socket; after an attempt that got nothing, any of another
    /// socket.
    Numa,
    /// The longer one of two of any.
    BestOfTwo,
    /// The longest one of half of the others.
    BestOfMany,
    /// As `rand`, and takes a queue with the probability that its length is of its capacity
    /// (§4.3.4).
    RandProb,
    /// As `numa`, and as `rand-prob`.
    NumaProb,
}

impl Policy {
    /// Whether a queue may be refused for its length.
    pub(super) fn is_probabilistic(self) -> bool {
        matches!(self, Self::RandProb | Self::NumaProb)
    }
}

/// The choices of a thread.
#[derive(Debug)]
pub(super) struct Choice {
    policy: Policy,
    /// The other threads' queues, beginning with the next thread's: of the same socket, and of
    /// others.
    near: Vec<usize>,
    far: Vec<usize>,
    /// The place of the last choice among `near` and `far`.
    at: usize,
    failed: bool,
}

impl Choice {
    /// The choices of thread `number`.
    pub(super) fn new(policy: Policy, number: usize, stealing: &Stealing) -> Self {
        let topology = &stealing.machine.topology;
        let per_socket = topology.l3_per_socket * topology.cores_per_l3;
        let socket = |thread: usize| topology.physical(stealing.cores[thread]) / per_socket;
        let threads = stealing.cores.len();
        let others = (1..threads).map(|ahead| (number + ahead) % threads);
        let (near, far) = others.partition(|other| socket(*other) == socket(number));
        Self { policy, near, far, at: 0, failed: false }
    }

    /// The next queue. `len` says how long one is.
    pub(super) fn next(&mut self, chance: &mut Chance, len: impl Fn(usize) -> usize) -> usize {
        let (near, far) = (self.near.len(), self.far.len());
        let any = |chance: &mut Chance, from, n| from + chance.below(n as u64) as usize;
        self.at = match self.policy {
            Policy::Seq if self.failed => (self.at + 1) % (near + far),
            Policy::Last if !self.failed => self.at,
            Policy::Seq => self.at,
            Policy::Rand | Policy::RandProb | Policy::Last => any(chance, 0, near + far),
            Policy::Numa | Policy::NumaProb
                if near == 0 || (self.failed && self.at < near && far > 0) =>
            {
                any(chance, near, far)
            }
            Policy::Numa | Policy::NumaProb => any(chance, 0, near),
            Policy::BestOfTwo => self.longest_of(2, chance, len),
            Policy::BestOfMany => self.longest_of((near + far).div_ceil(2), chance, len),
        };
        self.queue(self.at)
    }

    /// The place of the longest one of some of any.
    fn longest_of(&self, n: usize, chance: &mut Chance, len: impl Fn(usize) -> usize) -> usize {
        let all = (self.near.len() + self.far.len()) as u64;
        let some = (0..n).map(|_| chance.below(all) as usize);
        some.max_by_key(|&at| len(self.queue(at))).expect("there is one at least")
    }

    /// The queue at this place.
    fn queue(&self, at: usize) -> usize {
        match at.checked_sub(self.near.len()) {
            None => self.near[at],
            Some(at) => self.far[at],
        }
    }

    /// Whether the attempt got an item.
    pub(super) fn tried(&mut self, succeeded: bool) {
        self.failed = !succeeded;
    }
}
