//! Which queue a thread of a pool steals from.

use coherence::Chance;

use super::Stealing;

/// How a thread chooses a queue to steal from (paper 3 §4.6.2.3). The paper's other policies ask queues how long they
/// are, which a thief's handle doesn't tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Any other thread's.
    Rand,
    /// In a fixed order: the next one after an attempt that got nothing.
    Seq,
    /// The last one again; any other thread's after an attempt that got nothing.
    Last,
    /// Any of a thread of the same socket; after an attempt that got nothing, any of another socket.
    Numa,
}

/// The choices of a thread.
#[derive(Debug)]
pub(super) struct Choice {
    policy: Policy,
    /// The other threads' queues, beginning with the next thread's: of the same socket, and of others.
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

    /// The next queue.
    pub(super) fn next(&mut self, chance: &mut Chance) -> usize {
        let (near, far) = (self.near.len(), self.far.len());
        let mut any = |from: usize, n: usize| from + chance.below(n as u64) as usize;
        self.at = match self.policy {
            Policy::Seq if self.failed => (self.at + 1) % (near + far),
            Policy::Last if !self.failed => self.at,
            Policy::Seq => self.at,
            Policy::Rand | Policy::Last => any(0, near + far),
            Policy::Numa if near == 0 || (self.failed && self.at < near && far > 0) => {
                any(near, far)
            }
            Policy::Numa => any(0, near),
        };
        match self.at.checked_sub(near) {
            None => self.near[self.at],
            Some(at) => self.far[at],
        }
    }

    /// Whether the attempt got an item.
    pub(super) fn tried(&mut self, succeeded: bool) {
        self.failed = !succeeded;
    }
}
