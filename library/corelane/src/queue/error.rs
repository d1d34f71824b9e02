//! Why a call failed.

use core::fmt;

/// Why a push failed. Holds the item that was not pushed.
///
/// With the feature `std` it converts into a `std::io::Error`, which drops the item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TryPushError<T> {
    /// No slot is free, as far as this side can see.
    ///
    /// A pop on another core becomes visible a moment after it has returned. So a push may say
    /// *full* while a pop says *empty*: each side may use an outdated counter of the other side.
    Full(T),
    /// An unfinished call of another thread is in the way. The queue need not be full: try again
    /// soon.
    Busy(T),
    /// No slot is free, and all consumers are gone.
    Closed(T),
}

impl<T> TryPushError<T> {
    /// Whether it is [`Busy`](Self::Busy).
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Busy(_))
    }

    /// The same error, with `item`.
    #[cfg(feature = "literature")]
    pub(crate) fn with<U>(self, item: U) -> TryPushError<U> {
        match self {
            Self::Full(_) => TryPushError::Full(item),
            Self::Busy(_) => TryPushError::Busy(item),
            Self::Closed(_) => TryPushError::Closed(item),
        }
    }

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
    /// An unfinished call of another thread is in the way. The queue need not be empty: try again
    /// soon.
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
    /// Whether the other side is gone. For a read chunk: whether all producers were gone before the
    /// items were counted, so that no more items will come.
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
    /// An [exact](crate::Config::exact) capacity was asked for, but this queue can't say full at an
    /// exact number of items.
    Inexact,
    /// An option was given that this queue doesn't have, so that it would have no effect.
    Unused {
        /// The option: the name of a method of [`Config`](crate::Config).
        option: &'static str,
    },
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
                    "a queue for {asked} items doesn't fit into memory: with one byte for each it takes {}, \
                     choose a smaller capacity",
                    Size(*asked)
                )
            }
            Self::OutOfRange { asked, most } => {
                write!(
                    f,
                    "a capacity of {asked} is more than this queue can have, choose 1 to {most}"
                )
            }
            Self::OutOfMemory { bytes } => {
                write!(f, "no memory for a queue of {}, choose a smaller capacity", Size(*bytes))
            }
            Self::Inexact => f.write_str(
                "this queue can't say full at an exact number of items, choose another one, such as \
                 `lamport::lazy`",
            ),
            Self::Unused { option } => {
                write!(
                    f,
                    "this queue has no `Config::{option}`, leave it out or choose another queue"
                )
            }
            Self::Unsupported { needs } => {
                write!(f, "this machine does not have {needs}, choose another queue")
            }
        }
    }
}

impl core::error::Error for CapacityError {}

/// A number of bytes, shown in the largest unit that it reaches, with one decimal, rounded down.
struct Size(usize);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as u64;
        let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        let Some((log, unit)) = units.into_iter().find(|(log, _)| bytes >> log > 0) else {
            return write!(f, "{bytes} bytes");
        };
        let (whole, rest) = (bytes >> log, bytes & ((1 << log) - 1));
        match (rest * 10) >> log {
            0 => write!(f, "{whole} {unit}"),
            tenths => write!(f, "{whole}.{tenths} {unit}"),
        }
    }
}

/// Conversions into [`std::io::Error`]. Those of failed pushes and pops allocate nothing.
#[cfg(feature = "std")]
mod io {
    use std::io::{Error, ErrorKind};

    use super::{CapacityError, TryPopError, TryPushError};
    use crate::wait::Closed;

    impl<T> From<Closed<T>> for Error {
        fn from(_: Closed<T>) -> Self {
            ErrorKind::BrokenPipe.into()
        }
    }

    impl<T> From<TryPushError<T>> for Error {
        fn from(error: TryPushError<T>) -> Self {
            match error {
                TryPushError::Full(_) | TryPushError::Busy(_) => ErrorKind::WouldBlock,
                TryPushError::Closed(_) => ErrorKind::BrokenPipe,
            }
            .into()
        }
    }

    impl From<TryPopError> for Error {
        fn from(error: TryPopError) -> Self {
            match error {
                TryPopError::Empty | TryPopError::Busy => ErrorKind::WouldBlock,
                TryPopError::Closed => ErrorKind::UnexpectedEof,
            }
            .into()
        }
    }

    impl From<CapacityError> for Error {
        fn from(error: CapacityError) -> Self {
            let kind = match error {
                CapacityError::OutOfRange { .. } | CapacityError::Unused { .. } => {
                    ErrorKind::InvalidInput
                }
                CapacityError::OutOfMemory { .. } => ErrorKind::OutOfMemory,
                CapacityError::Inexact | CapacityError::Unsupported { .. } => {
                    ErrorKind::Unsupported
                }
            };
            Self::new(kind, error)
        }
    }
}

/// The answer to a push that found no room, with the item.
#[inline]
pub(crate) fn full<T>(closed: bool, item: T) -> TryPushError<T> {
    match closed {
        true => TryPushError::Closed(item),
        false => TryPushError::Full(item),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_largest_unit() {
        let shown = |bytes| Size(bytes).to_string();
        assert_eq!([0, 1023].map(shown), ["0 bytes", "1023 bytes"]);
        assert_eq!([1 << 10, (1 << 20) - 1].map(shown), ["1 KiB", "1023.9 KiB"]);
        assert_eq!([3 << 19, 1 << 30].map(shown), ["1.5 MiB", "1 GiB"]);
        #[cfg(target_pointer_width = "64")]
        assert_eq!([5 << 39, usize::MAX].map(shown), ["2.5 TiB", "16777215.9 TiB"]);
    }

    #[test]
    fn a_refused_capacity_names_its_memory() {
        let error = CapacityError::OutOfMemory { bytes: 5 << 29 };
        assert_eq!(
            error.to_string(),
            "no memory for a queue of 2.5 GiB, choose a smaller capacity"
        );
        #[cfg(target_pointer_width = "64")]
        {
            let error = CapacityError::OutOfRange { asked: 1 << 62, most: 1 << 61 };
            assert!(error.to_string().contains("takes 4194304 TiB, choose"), "{error}");
        }
    }

    #[cfg(feature = "std")]
    #[test]
    fn io_errors_are_of_the_same_kind() {
        use crate::bytes::ClaimError;
        use std::io::{Error, ErrorKind};

        let pushes = [TryPushError::Full(1), TryPushError::Busy(1), TryPushError::Closed(1)];
        let kinds = [ErrorKind::WouldBlock, ErrorKind::WouldBlock, ErrorKind::BrokenPipe];
        assert_eq!(pushes.map(|error| Error::from(error).kind()), kinds);
        assert_eq!(Error::from(crate::wait::Closed(1)).kind(), ErrorKind::BrokenPipe);

        let pops = [TryPopError::Empty, TryPopError::Busy, TryPopError::Closed];
        let kinds = [ErrorKind::WouldBlock, ErrorKind::WouldBlock, ErrorKind::UnexpectedEof];
        assert_eq!(pops.map(|error| Error::from(error).kind()), kinds);

        let too_large = ClaimError::TooLarge { len: 9, most: 8 };
        let claims = [ClaimError::Full, ClaimError::Busy, ClaimError::Closed, too_large];
        let blocks = ErrorKind::WouldBlock;
        let kinds = [blocks, blocks, ErrorKind::BrokenPipe, ErrorKind::InvalidInput];
        assert_eq!(claims.map(|error| Error::from(error).kind()), kinds);

        let refusals = [
            (CapacityError::OutOfRange { asked: 0, most: 8 }, ErrorKind::InvalidInput),
            (CapacityError::OutOfMemory { bytes: 8 }, ErrorKind::OutOfMemory),
            (CapacityError::Inexact, ErrorKind::Unsupported),
            (CapacityError::Unused { option: "batch" }, ErrorKind::InvalidInput),
            (CapacityError::Unsupported { needs: "wings" }, ErrorKind::Unsupported),
        ];
        for (error, kind) in refusals {
            let converted = Error::from(error);
            assert_eq!((converted.kind(), converted.to_string()), (kind, error.to_string()));
        }
    }
}
