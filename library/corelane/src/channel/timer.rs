//! Channels whose messages the clock sends.

use core::fmt;
use std::time::{Duration, Instant};

use super::ends::Message;
use super::is_over;
use crate::memory::Mutex;
use crate::queue::TryPopError;

/// When messages come.
pub(super) struct Timer<T> {
    /// When the next message is due. `None`: never.
    next: Mutex<Option<Instant>>,
    /// From one message to the next. `None`: there is one message.
    period: Option<Duration>,
    message: fn(Instant) -> T,
    /// 0 if a message never comes.
    capacity: usize,
}

impl<T> Timer<T> {
    pub(super) fn new(
        next: Option<Instant>,
        period: Option<Duration>,
        message: fn(Instant) -> T,
    ) -> Self {
        let capacity = usize::from(next.is_some());
        Self { next: Mutex::new(next), period, message, capacity }
    }

    /// When a message will be there.
    pub(super) fn next(&self) -> Option<Instant> {
        *self.next.lock()
    }

    pub(super) fn is_due(&self) -> bool {
        self.next().is_some_and(|next| next <= Instant::now())
    }

    /// Whether a message never comes.
    pub(super) fn is_never(&self) -> bool {
        self.capacity == 0
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Blocks the thread until the next message. `false` if it doesn't come before `until`.
    pub(super) fn wait(&self, message: &mut Message<T>, until: Option<Instant>) -> bool {
        loop {
            if self.try_recv(message).is_ok() {
                return true;
            }
            if is_over(until) {
                return false;
            }
            let wake = self.next().into_iter().chain(until).min();
            match wake {
                Some(wake) => std::thread::sleep(wake.saturating_duration_since(Instant::now())),
                None => std::thread::park(),
            }
        }
    }

    pub(super) fn try_recv(&self, message: &mut Message<T>) -> Result<(), TryPopError> {
        let mut next = self.next.lock();
        let now = Instant::now();
        match *next {
            Some(due) if due <= now => {
                // A receiver that is late loses messages.
                *next = self.period.and_then(|period| due.max(now).checked_add(period));
                *message = Message::new((self.message)(due));
                Ok(())
            }
            _ => Err(TryPopError::Empty),
        }
    }
}

impl<T> fmt::Debug for Timer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").field("period", &self.period).finish_non_exhaustive()
    }
}
