//! Why a lane can't be opened, or has ended.

use std::fmt;

/// A node or a handle can't be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// A name has ASCII letters, digits, `-` and `_`: other characters mean something to an engine. Names of
    /// lanes between nodes may have several such parts, with a slash between two of them.
    Name(String),
    /// An address isn't one, its host isn't known, no server answers there, or it is taken.
    Address {
        /// As it was given.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A window of 0 items, or of more than 2²⁴.
    Window,
    /// A server acknowledges items that are not on its disk, or doesn't tell.
    Unsynced {
        /// The server.
        address: String,
        /// What it does, or why that isn't known.
        reason: String,
    },
    /// A server demands TLS or has none, or one end refuses the other end's certificate.
    Certificates {
        /// The server.
        address: String,
        /// What the engine says.
        reason: String,
    },
    /// The lane has items of another type.
    Differs,
    /// What the engine says.
    Engine(String),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(
                f,
                "{name:?} is no name: take ASCII letters, digits, - and _; between nodes, also / between \
                 two parts"
            ),
            Self::Address { address, reason } => write!(f, "{address}: {reason}"),
            Self::Window => f.write_str("a window has 1 to 16,777,216 items"),
            Self::Unsynced { address, reason } => write!(
                f,
                "{address} may lose what it acknowledges: {reason}, or connect with unsynced()"
            ),
            Self::Certificates { address, reason } => write!(
                f,
                "{address}: {reason}: both ends need TLS and certificates of one authority, with their \
                 keys, given by tls() (feature tls)"
            ),
            Self::Differs => {
                f.write_str("the lane has items of another type or version: take another name")
            }
            Self::Engine(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for OpenError {}

/// Why nothing more is sent or received.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// One of both ends has been dropped, or has failed.
    Closed,
    /// Nothing has been heard of another end for as long as this one waits.
    Silent,
    /// Another program has this end of the lane:
    ///
    /// - it was there for more than twice the [`patience`](crate::Lane::patience);
    /// - or it was there at the end of [`gives_up_after`](crate::Lane::gives_up_after) or
    ///   [`Sender::finish`](crate::Sender::finish), or less than the patience before;
    /// - or it has taken over the name of a durable lane's end.
    Taken,
    /// The other end has another version, guarantee or type of items.
    Differs,
    /// A packet had bytes that are no items: another program sends under this name.
    Malformed,
    /// The time of [`Sender::finish`](crate::Sender::finish) is over.
    TimedOut,
    /// As [`TimedOut`](Self::TimedOut), and no receiver has ever come.
    NoReceiver,
    /// What the engine says.
    Engine(String),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the other end was dropped, or has failed",
            Self::Silent => {
                "the other end, or the server, is silent: does it run, and is it reached at this address?"
            }
            Self::Taken => {
                "another program has this end of the lane, or had it until just now: take another name, \
                 or end it"
            }
            Self::Differs => {
                "the other end has another version, guarantee or type of items: build both alike"
            }
            Self::Malformed => "another program sends something else under this name",
            Self::TimedOut => "the receiving program or the server is slow",
            Self::NoReceiver => {
                "no receiver has come: does it run, with this lane's name, at this address?"
            }
            Self::Engine(reason) => reason,
        })
    }
}

impl End {
    /// Why a lane has ended, if not as it should.
    pub(crate) fn result(end: Option<Self>) -> Result<(), Self> {
        match end {
            None | Some(Self::Closed) => Ok(()),
            Some(end) => Err(end),
        }
    }
}

impl std::error::Error for End {}

/// Items that were sent, and of which it is not known that they were received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unconfirmed {
    /// Their number.
    pub items: u64,
    /// Why.
    pub end: End,
}

impl fmt::Display for Unconfirmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} items are not known to be received or stored: {}", self.items, self.end)
    }
}

impl std::error::Error for Unconfirmed {}
