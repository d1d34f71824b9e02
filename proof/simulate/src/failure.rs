//! Why a simulation has no result.

use std::fmt;

use coherence::{Deadlock, Time};
use corelane_sim::CapacityError;

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// There can't be such a queue.
    Capacity(CapacityError),
    /// All threads waited for ever.
    Stuck(Deadlock),
    /// A thread got another item than the next.
    Wrong {
        /// The one that was due.
        expected: u64,
        /// The one that came.
        found: u64,
    },
    /// A consumer got an item after a later one of the same producer.
    Order {
        /// Whose.
        producer: usize,
        /// Which of its items, from 0.
        item: u64,
        /// What came before.
        after: u64,
    },
    /// Items were overwritten, and consumers told of another number.
    Lost {
        /// Items that nobody popped.
        missing: u64,
        /// Items that consumers found overwritten.
        told: u64,
    },
    /// No thread of a team got an item while everything was counted.
    Starved {
        /// When the run ended.
        time: Time,
    },
    /// An item was lost, doubled, or never pushed.
    Times {
        /// Whose.
        producer: usize,
        /// Which of its items, from 0.
        item: u64,
        /// How often it came.
        times: u8,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity(error) => error.fmt(f),
            Self::Stuck(deadlock) => deadlock.fmt(f),
            Self::Wrong { expected, found } => {
                write!(f, "item {found} came where {expected} was due")
            }
            Self::Order { producer, item, after } => {
                write!(f, "item {item} of producer {producer} came after its item {after}")
            }
            Self::Lost { missing, told } => {
                write!(f, "{missing} items were never popped, and {told} were found overwritten")
            }
            Self::Starved { time } => write!(f, "in {time}, no item was popped that counts"),
            Self::Times { producer, item, times } => {
                write!(f, "item {item} of producer {producer} came {times} times")
            }
        }
    }
}

impl std::error::Error for Failure {}
