//! async-io's reactor: one for the process, with a thread of its own.

use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::process;
use std::sync::OnceLock;
use std::task::{Context, Waker};
use std::time::Duration;

use async_io::Timer;

/// The process that has started the reactor.
static PROCESS: OnceLock<u32> = OnceLock::new();

/// Whether the reactor is that of the process from which this process was forked: then it has no
/// thread here, and its descriptors are the other process's.
pub(crate) fn is_of_parent() -> bool {
    PROCESS.get().is_some_and(|&process| process != process::id())
}

/// Starts the reactor, unless it runs. async-io would start it in a poll, and panic if the system
/// refuses the thread or descriptors.
pub(crate) fn start() -> Result<()> {
    if is_of_parent() {
        let text = "this process was forked from one with a reactor";
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    if PROCESS.get().is_none() {
        let mut timer = Timer::after(Duration::from_secs(1));
        let poll = || Pin::new(&mut timer).poll(&mut Context::from_waker(Waker::noop()));
        if catch_unwind(AssertUnwindSafe(poll)).is_err() {
            return Err(Error::other("the system refuses the reactor a thread or descriptors"));
        }
        PROCESS.get_or_init(process::id);
    }
    Ok(())
}
