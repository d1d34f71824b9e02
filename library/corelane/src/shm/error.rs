//! Why a lane can't be made, opened or used.

use core::fmt;
use std::io;

use super::Side;
use crate::CapacityError;
use crate::line_ring::Corrupt;

/// The field that says what a lane carries.
pub(super) const QUEUE: &str = "queue";

/// Why a lane can't be made, opened or used.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The capacity is 0, or there is no memory.
    Capacity(CapacityError),
    /// The system refused a call.
    System {
        /// What was asked for.
        call: &'static str,
        /// Why it was refused.
        source: io::Error,
    },
    /// A limit leaves less memory than the lane needs.
    Limit {
        /// Which limit.
        limit: &'static str,
        /// Bytes that the lane needs.
        needed: u64,
        /// Bytes that the limit leaves.
        left: u64,
    },
    /// The descriptor is not that of a lane.
    NotALane,
    /// The lane was made for something else.
    Differs {
        /// What differs.
        field: &'static str,
        /// What this process expects.
        expected: u64,
        /// What the lane has.
        found: u64,
    },
    /// A live process has this side.
    Taken(Side),
    /// Live processes have all sending sides.
    AllTaken(usize),
    /// The process that listens doesn't give this process a lane.
    Refused,
    /// The lane's memory has contents that no process of this library writes.
    Corrupt,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity(error) => error.fmt(f),
            Self::System { call, source } => write!(f, "the system refused {call}: {source}"),
            Self::Limit { limit, needed, left } => write!(
                f,
                "the lane needs {needed} bytes, and {limit} leaves {left}; raise the limit, or make \
                 a smaller lane",
            ),
            Self::NotALane => f.write_str(
                "the descriptor is not that of a lane; pass the one that Lane::create or Lane::give gave",
            ),
            Self::Differs { field: QUEUE, expected, found } => {
                let name = |word: &u64| match &word.to_ne_bytes() {
                    b"linering" => "items",
                    b"records\0" => "byte records ([u8])",
                    b"seqring\0" => "items that all get (Broadcast)",
                    b"lanes\0\0\0" => "items of several producers (Lanes)",
                    b"lcrqpool" => "tokens by a list of rings (literature::Elcrq)",
                    b"msqpool\0" => "items by a list (literature::Msq)",
                    b"ring\0\0\0\0" => "items by a ring (literature::Ring)",
                    _ => "something else",
                };
                write!(f, "the lane carries {}, and is opened for {}; open it for what it carries", name(found), name(expected))
            }
            Self::Differs { field, expected, found } => write!(
                f,
                "the lane has another {field}: {found} instead of {expected}; build both programs with the same item and \
                 the same corelane",
            ),
            Self::Taken(side) => write!(
                f,
                "a live process has the {side} of this lane; end it, or make a lane for each {side}",
            ),
            Self::AllTaken(n) => write!(
                f,
                "live processes have all {n} sending sides of the lanes; end one, or make lanes for more",
            ),
            Self::Refused => f.write_str(
                "the process that listens is of another user, or doesn't allow this one; run both as one user, or let it allow this one",
            ),
            Self::Corrupt => {
                f.write_str("the memory of the lane is damaged; make a new lane in all its processes")
            }
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Capacity(error) => Some(error),
            Self::System { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<CapacityError> for Error {
    fn from(error: CapacityError) -> Self {
        Self::Capacity(error)
    }
}

impl From<Corrupt> for Error {
    fn from(_: Corrupt) -> Self {
        Self::Corrupt
    }
}

/// Names the call that the system refused.
pub(super) fn system<R>(
    call: &'static str,
    result: Result<R, impl Into<io::Error>>,
) -> Result<R, Error> {
    result.map_err(|error| Error::System { call, source: error.into() })
}
