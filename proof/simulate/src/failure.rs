//! Why a simulation has no result.

use std::fmt;

use coherence::{Deadlock, Time};
use corelane_history::Disorder;
use corelane_sim::CapacityError;

/// Why a simulation has no result.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The queue can't have this capacity.
    Capacity(CapacityError),
    /// All threads waited for ever.
    Stuck(Deadlock),
    /// A thread popped an item that is not the next one.
    Wrong {
        /// The next item.
        expected: u64,
        /// The popped item.
        found: u64,
    },
    /// A consumer popped an item after a later item of the same producer.
    Order {
        /// The item's producer.
        producer: usize,
        /// The item's number among the producer's items, from 0.
        item: u64,
        /// The producer's item that was popped before.
        after: u64,
    },
    /// Items of a relaxed queue left further out of turn than they may.
    Disorder {
        /// No rank error and no delay may be as large.
        k: usize,
        /// How far they left out of turn.
        disorder: Disorder,
    },
    /// Items were overwritten, and consumers counted another number.
    Lost {
        /// Items that no consumer popped.
        missing: u64,
        /// Items that consumers found overwritten.
        told: u64,
    },
    /// No thread of a team popped an item while items were counted.
    Starved {
        /// When the run ended.
        time: Time,
    },
    /// Packets came out of order or to another client, or were lost without being dropped.
    Packets {
        /// Packets out of order, or at another client.
        wrong: u64,
        /// Packets that never came.
        lost: u64,
        /// Packets that the switch has dropped.
        dropped: u64,
    },
    /// Completions came out of order or changed, or some never came.
    Completions {
        /// Requests.
        requests: u64,
        /// Completions that came.
        completed: u64,
        /// Those that were not the next one.
        wrong: u64,
    },
    /// An item was lost, doubled, or never pushed.
    Times {
        /// The item's producer.
        producer: usize,
        /// The item's number among the producer's items, from 0.
        item: u64,
        /// How often the item was popped.
        times: u8,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity(error) => error.fmt(f),
            Self::Stuck(deadlock) => deadlock.fmt(f),
            Self::Wrong { expected, found } => {
                write!(f, "found item {found}, expected {expected}")
            }
            Self::Order { producer, item, after } => {
                write!(f, "item {item} of producer {producer} was popped after its item {after}")
            }
            Self::Disorder { k, disorder } => {
                let Disorder { rank_errors, delays } = disorder;
                write!(
                    f,
                    "not {k}-FIFO: an item has a rank error of {}, and one a delay of {}",
                    rank_errors.largest, delays.largest
                )
            }
            Self::Lost { missing, told } => {
                write!(f, "{missing} items were never popped, and {told} were found overwritten")
            }
            Self::Starved { time } => {
                write!(f, "in {time}, no item was popped while items were counted")
            }
            Self::Packets { wrong, lost, dropped } => {
                write!(
                    f,
                    "{wrong} packets came out of order or to another client, and {lost} never, of which the switch \
                     dropped {dropped}"
                )
            }
            Self::Completions { requests, completed, wrong } => {
                write!(
                    f,
                    "of {requests} requests {completed} were completed, {wrong} of them in another order or changed"
                )
            }
            Self::Times { producer, item, times } => {
                write!(f, "item {item} of producer {producer} was popped {times} times")
            }
        }
    }
}

impl std::error::Error for Failure {}
