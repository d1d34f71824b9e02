//! Why a call failed.

use core::fmt;

/// Why a push failed. Holds the item that was not pushed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TryPushError<T> {
    /// No slot is free, as far as this side can see.
    ///
    /// A pop on another core becomes visible a moment after it has returned. So a push may say *full* while a pop says
    /// *empty*: each call by what its side has seen of the other side.
    Full(T),
    /// Another thread is in the middle of a call: the queue is neither full nor empty.
    Busy(T),
    /// All consumers are gone: the item would never be popped.
    Closed(T),
}

impl<T> TryPushError<T> {
    /// The item that was not pushed.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(item) | Self::Busy(item) | Self::Closed(item) => item,
        }
    }
}

impl<T> fmt::Debug for TryPushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Busy(_) => "Busy(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for TryPushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the queue is full",
            Self::Busy(_) => "the queue is busy",
            Self::Closed(_) => "the consumer is gone",
        })
    }
}

impl<T> core::error::Error for TryPushError<T> {}

/// Why a pop failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryPopError {
    /// No item is there, as far as this side can see: see [`TryPushError::Full`].
    Empty,
    /// Another thread is in the middle of a call: the queue is neither full nor empty.
    Busy,
    /// No item is there and all producers are gone.
    Closed,
}

impl fmt::Display for TryPopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the queue is empty",
            Self::Busy => "the queue is busy",
            Self::Closed => "the queue is empty and the producer is gone",
        })
    }
}

impl core::error::Error for TryPopError {}

/// Why a chunk of an exact length can't be lent: there are fewer slots, or items, than asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooFew {
    /// How many there are.
    pub len: usize,
    /// Whether the other side was gone before they were counted.
    pub closed: bool,
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let closed = if self.closed { ", and the other side is gone" } else { "" };
        write!(f, "there are only {}{closed}", self.len)
    }
}

impl core::error::Error for TooFew {}

/// Why a queue could not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CapacityError {
    /// The capacity is 0 or more than this queue can have for this item.
    OutOfRange {
        /// The capacity asked for.
        asked: usize,
        /// The largest capacity that this queue can have.
        most: usize,
    },
    /// There is not enough memory.
    OutOfMemory {
        /// Size of the whole queue in bytes.
        bytes: usize,
    },
    /// An [exact](crate::Config::exact) capacity was asked for, but this queue can't say full at an exact number of
    /// items.
    Inexact,
    /// The machine can't do what the algorithm needs.
    Unsupported {
        /// What the algorithm needs.
        needs: &'static str,
    },
}

impl fmt::Display for CapacityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { most: 0, .. } => {
                f.write_str("items of this size don't fit into memory, choose another type")
            }
            Self::OutOfRange { asked: 0, .. } => {
                f.write_str("a queue for no items can't be made, choose a capacity from 1 on")
            }
            Self::OutOfRange { asked, most } if *most as u64 > 1 << 40 => {
                write!(
                    f,
                    "a queue for {asked} items doesn't fit into memory, choose a smaller capacity"
                )
            }
            Self::OutOfRange { asked, most } => {
                write!(
                    f,
                    "a capacity of {asked} is more than this queue can have, choose 1 to {most}"
                )
            }
            Self::OutOfMemory { bytes } => {
                write!(f, "no memory for a queue of {bytes} bytes, choose a smaller capacity")
            }
            Self::Inexact => f.write_str(
                "this queue can't say full at an exact number of items, choose another one, such as `lamport` or `ring`",
            ),
            Self::Unsupported { needs } => {
                write!(f, "this machine does not have {needs}, choose another queue")
            }
        }
    }
}

impl core::error::Error for CapacityError {}

/// The answer to a push that found no room, with the item.
#[inline]
pub(crate) fn full<T>(closed: bool, item: T) -> TryPushError<T> {
    match closed {
        true => TryPushError::Closed(item),
        false => TryPushError::Full(item),
    }
}
