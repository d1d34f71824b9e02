//! Not on Linux: async-io asks the system each time.

use std::io::Result;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use async_io::Async;

use super::Direction;

pub(super) struct Registered<T> {
    socket: Async<T>,
    /// Whether there may be bytes or room without a new event, to read and to write.
    may_have: [AtomicBool; 2],
}

impl<T: AsFd> Registered<T> {
    pub(super) fn new(socket: T) -> Result<Self> {
        Ok(Self { socket: Async::new(socket)?, may_have: [true, true].map(AtomicBool::new) })
    }

    pub(super) fn get_ref(&self) -> &T {
        self.socket.get_ref()
    }

    pub(super) fn poll(&self, direction: Direction, context: &mut Context<'_>) -> Poll<Result<()>> {
        // Relaxed: if another task takes it, this task waits for an event.
        if self.may_have[direction as usize].swap(false, Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        match direction {
            Direction::Read => self.socket.poll_readable(context),
            Direction::Write => self.socket.poll_writable(context),
        }
    }

    /// Whether a new event comes before there is more, if a call has done less than it could. If
    /// there is more at once, the event comes at once, too.
    pub(super) fn is_done_when_short(&self, _: Direction) -> bool {
        true
    }

    /// There may be more without a new event.
    pub(super) fn put_back(&self, direction: Direction) {
        self.may_have[direction as usize].store(true, Ordering::Relaxed);
    }
}
