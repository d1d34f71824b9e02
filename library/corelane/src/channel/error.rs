//! Why a call of a channel failed. Names are those of `std::sync::mpsc` and `crossbeam-channel`,
//! texts those of the latter.

use core::error::Error;
use core::fmt;

/// An error that has the message which was not sent.
macro_rules! with_message {
    ($(#[$doc:meta])* $name:ident, $debug:literal, $message:ident => $text:expr, $variants:tt) => {
        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(with_message!(@debug self $name $debug $variants))
            }
        }
        impl<T> fmt::Display for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $message = self;
                f.write_str($text)
            }
        }
        impl<T> Error for $name<T> {}
    };
    (@debug $this:ident $name:ident $debug:literal ($($variant:ident: $shown:literal),*)) => {
        match $this { $(Self::$variant(..) => $shown,)* #[allow(unreachable_patterns, reason = "not all have variants")] _ => $debug }
    };
}

/// All receivers are gone, or the channel was closed. Has the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// Why a message was not sent at once. Has the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The channel is full. For a channel of capacity 0: no receiver waits.
    Full(T),
    /// All receivers are gone, or the channel was closed.
    Disconnected(T),
}

/// Why a message was not sent in time. Has the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendTimeoutError<T> {
    /// The channel was full all the time.
    Timeout(T),
    /// All receivers are gone, or the channel was closed.
    Disconnected(T),
}

with_message!(SendError, "SendError(..)", _e => "sending on a disconnected channel", ());
with_message!(TrySendError, "", e => match e {
    TrySendError::Full(_) => "sending on a full channel",
    TrySendError::Disconnected(_) => "sending on a disconnected channel",
}, (Full: "Full(..)", Disconnected: "Disconnected(..)"));
with_message!(SendTimeoutError, "SendTimeoutError(..)", e => match e {
    SendTimeoutError::Timeout(_) => "timed out waiting on send operation",
    SendTimeoutError::Disconnected(_) => "sending on a disconnected channel",
}, ());

/// No message is there, and none will come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecvError;

/// Why no message was received at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryRecvError {
    /// No message is there.
    Empty,
    /// No message is there, and none will come.
    Disconnected,
}

/// Why no message was received in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecvTimeoutError {
    /// No message came.
    Timeout,
    /// No message is there, and none will come.
    Disconnected,
}

/// No operation of a [`Select`](super::Select) was ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrySelectError;

/// No operation of a [`Select`](super::Select) was ready in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelectTimeoutError;

/// No operation of a [`Select`](super::Select) is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TryReadyError;

/// No operation of a [`Select`](super::Select) became ready in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadyTimeoutError;

/// The texts of errors without a message.
macro_rules! texts {
    ($($name:ident: $error:ident => $text:expr;)*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $error = self;
                f.write_str($text)
            }
        }
        impl Error for $name {}
    )*};
}

texts! {
    RecvError: _e => "receiving on an empty and disconnected channel";
    TryRecvError: e => match e {
        TryRecvError::Empty => "receiving on an empty channel",
        TryRecvError::Disconnected => "receiving on an empty and disconnected channel",
    };
    RecvTimeoutError: e => match e {
        RecvTimeoutError::Timeout => "timed out waiting on receive operation",
        RecvTimeoutError::Disconnected => "channel is empty and disconnected",
    };
    TrySelectError: _e => "all operations in select would block";
    SelectTimeoutError: _e => "timed out waiting on select";
    TryReadyError: _e => "no operation is ready";
    ReadyTimeoutError: _e => "timed out waiting for an operation to be ready";
}

impl<T> SendError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> TrySendError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(message) | Self::Disconnected(message) => message,
        }
    }

    /// Whether the channel is full.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }

    /// Whether the channel is disconnected.
    pub fn is_disconnected(&self) -> bool {
        matches!(self, Self::Disconnected(_))
    }
}

impl<T> SendTimeoutError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        match self {
            Self::Timeout(message) | Self::Disconnected(message) => message,
        }
    }

    /// Whether the time was over.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout(_))
    }

    /// Whether the channel is disconnected.
    pub fn is_disconnected(&self) -> bool {
        matches!(self, Self::Disconnected(_))
    }
}

impl RecvError {
    /// The only reason, with the name of flume.
    #[expect(non_upper_case_globals, reason = "flume has a variant")]
    pub const Disconnected: Self = Self;
}

impl TryRecvError {
    /// Whether the channel is empty.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Whether the channel is empty and disconnected.
    pub fn is_disconnected(&self) -> bool {
        matches!(self, Self::Disconnected)
    }
}

impl RecvTimeoutError {
    /// Whether the time was over.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout)
    }

    /// Whether the channel is empty and disconnected.
    pub fn is_disconnected(&self) -> bool {
        matches!(self, Self::Disconnected)
    }
}

impl<T> From<SendError<T>> for TrySendError<T> {
    fn from(error: SendError<T>) -> Self {
        Self::Disconnected(error.0)
    }
}

impl<T> From<SendError<T>> for SendTimeoutError<T> {
    fn from(error: SendError<T>) -> Self {
        Self::Disconnected(error.0)
    }
}

impl From<RecvError> for TryRecvError {
    fn from(_: RecvError) -> Self {
        Self::Disconnected
    }
}

impl From<RecvError> for RecvTimeoutError {
    fn from(_: RecvError) -> Self {
        Self::Disconnected
    }
}
