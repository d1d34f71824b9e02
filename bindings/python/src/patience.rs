//! How long a call waits, and how Ctrl-C ends it.

use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// How long a call waits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Patience {
    None,
    Until(Instant),
    Endless,
}

impl Patience {
    /// `block` and `timeout` in seconds, as in Python's `queue`.
    pub(crate) fn new(block: bool, timeout: Option<f64>) -> PyResult<Self> {
        let Some(seconds) = timeout.filter(|_| block) else {
            return Ok(if block { Self::Endless } else { Self::None });
        };
        if seconds.is_nan() || seconds < 0.0 {
            return Err(PyValueError::new_err("'timeout' must be a non-negative number"));
        }
        // A time that the clock can't represent never comes.
        let time = Duration::try_from_secs_f64(seconds).ok();
        let until = time.and_then(|time| Instant::now().checked_add(time));
        Ok(until.map_or(Self::Endless, Self::Until))
    }

    /// The time that is left, up to `most`. 0 when it is over.
    pub(crate) fn left(self, most: Duration) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Until(until) => until.saturating_duration_since(Instant::now()).min(most),
            Self::Endless => most,
        }
    }

    pub(crate) fn is_none(self) -> bool {
        matches!(self, Self::None)
    }

    fn is_over(self) -> bool {
        match self {
            Self::None => true,
            Self::Until(until) => Instant::now() >= until,
            Self::Endless => false,
        }
    }

    /// Calls `wait` until it gives something or the time is over, without the interpreter. `wait`
    /// waits for at most the given time.
    pub(crate) fn wait<R: Send>(
        self,
        py: Python<'_>,
        mut wait: impl FnMut(Duration) -> Option<R> + Send,
    ) -> PyResult<Option<R>> {
        let most = slice();
        while !self.is_over() {
            if let Some(found) = py.detach(|| wait(self.left(most))) {
                return Ok(Some(found));
            }
            py.check_signals()?;
        }
        Ok(None)
    }
}

/// Only the main thread runs the handlers of signals. Other threads wake up for nothing but the
/// lane, and look whether the lane was closed by this process.
fn slice() -> Duration {
    // SAFETY: these calls have no conditions.
    let is_main = unsafe { libc::gettid() == libc::getpid() };
    Duration::from_millis(if is_main { 50 } else { 100 })
}
