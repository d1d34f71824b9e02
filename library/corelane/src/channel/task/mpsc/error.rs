//! Why a call failed.

use core::error::Error;
use core::fmt;

pub use crate::channel::{SendError, TryRecvError};

/// Why a message was not sent at once. Has the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The channel is full.
    Full(T),
    /// The receiver is gone, or the channel was closed.
    Closed(T),
}

/// Why a message was not sent in time. Has the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendTimeoutError<T> {
    /// The channel was full all the time.
    Timeout(T),
    /// The receiver is gone, or the channel was closed.
    Closed(T),
}

macro_rules! with_message {
    ($name:ident: $other:ident => $text:literal) => {
        impl<T> $name<T> {
            /// The message.
            pub fn into_inner(self) -> T {
                match self {
                    Self::$other(message) | Self::Closed(message) => message,
                }
            }

            fn name(&self) -> (&'static str, &'static str) {
                match self {
                    Self::$other(_) => (stringify!($other), $text),
                    Self::Closed(_) => ("Closed", "channel closed"),
                }
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(self.name().0).finish_non_exhaustive()
            }
        }

        impl<T> fmt::Display for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name().1)
            }
        }

        impl<T> Error for $name<T> {}

        impl<T> From<SendError<T>> for $name<T> {
            fn from(error: SendError<T>) -> Self {
                Self::Closed(error.0)
            }
        }
    };
}

with_message!(TrySendError: Full => "no available capacity");
with_message!(SendTimeoutError: Timeout => "timed out waiting on send operation");
