//! Errors as Python's users expect them.

use corelane::TryPopError;
use corelane::bytes::ClaimError;
use corelane::shm::{Error, Peer};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// An exception of a module of Python.
macro_rules! exceptions {
    ($($function:ident: $module:literal $name:literal;)*) => {$(
        pub(crate) fn $function(py: Python<'_>, message: impl Into<String>) -> PyErr {
            static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            match TYPE.import(py, $module, $name) {
                Ok(found) => PyErr::from_type(found.clone(), (message.into(),)),
                Err(error) => error,
            }
        }
    )*};
}

exceptions! {
    empty: "queue" "Empty";
    full: "queue" "Full";
    closed: "corelane._errors" "Closed";
    taken: "corelane._errors" "Taken";
}

pub(crate) const NO_RECEIVER: &str =
    "there is no room, and all receiving processes have gone: take the side anew, or stop";
pub(crate) const NO_SENDER: &str =
    "all sending processes have gone, and all that they sent was received";

/// What is known of the processes on the other side.
pub(crate) fn word_for(peer: Peer) -> &'static str {
    match peer {
        Peer::Absent => "absent",
        Peer::Alive => "alive",
        Peer::Left => "left",
        Peer::Died => "died",
    }
}

/// Why a lane was not made, opened or taken.
pub(crate) fn of_lane(py: Python<'_>, error: Error) -> PyErr {
    match error {
        Error::Taken(side) => taken(
            py,
            format!(
                "another live process has the lane's {side}: a Lane is for one process on each side; \
                 use Lanes for several"
            ),
        ),
        Error::AllTaken(n) => {
            taken(py, format!("live processes have all {n} seats of this side of the lane"))
        }
        Error::System { source, call } => {
            let message = format!("{call}: {source}");
            PyOSError::new_err((source.raw_os_error(), message))
        }
        error => PyValueError::new_err(error.to_string()),
    }
}

/// Why there is no room for a message of `len` bytes.
pub(crate) fn of_claim(py: Python<'_>, error: ClaimError) -> PyErr {
    match error {
        ClaimError::Full | ClaimError::Busy => full(py, "the lane is full"),
        ClaimError::Closed => closed(py, NO_RECEIVER),
        ClaimError::TooLarge { len, most } => PyValueError::new_err(format!(
            "a message of {len} bytes, but the lane was made for at most {most}: make it with \
             longest={len} or more"
        )),
    }
}

/// Why there is no message.
pub(crate) fn of_pop(py: Python<'_>, error: TryPopError) -> PyErr {
    match error {
        TryPopError::Empty | TryPopError::Busy => empty(py, "the lane is empty"),
        TryPopError::Closed => closed(py, NO_SENDER),
    }
}
