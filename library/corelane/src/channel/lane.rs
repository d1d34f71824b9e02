//! The two ends of a channel's queue, whatever the queue is.

use alloc::sync::Arc;

use super::rendezvous::Rendezvous;
use super::timer::Timer;
use crate::exact::Exact;
use crate::leased::{self, Reserved};
use crate::queue::{CapacityError, Config, TryPopError, TryPushError};
use crate::segmented::Uspsc;

/// The sending end of a queue.
pub(super) enum Tx<T: Send> {
    Bounded(leased::Producer<T, Exact>),
    Unbounded(leased::Producer<T, Uspsc>),
    Rendezvous(Arc<Rendezvous<T>>),
}

/// The receiving end of a queue.
pub(super) enum Rx<T: Send> {
    Bounded(leased::Consumer<T, Exact>),
    Unbounded(leased::Consumer<T, Uspsc>),
    Rendezvous(Arc<Rendezvous<T>>),
    Timer(Arc<Timer<T>>),
}

/// Does `$body` with the queue's handle, or `$meeting` where there is none.
macro_rules! of {
    ($end:ident::($this:expr): $queue:ident => $body:expr; $meeting:ident => $other:expr $(; $timer:ident => $timed:expr)?) => {
        match $this {
            $end::Bounded($queue) => $body,
            $end::Unbounded($queue) => $body,
            $end::Rendezvous($meeting) => $other,
            $($end::Timer($timer) => $timed,)?
        }
    };
}

/// Bytes that the items of one ring of an unbounded channel take, about.
const RING_BYTES: usize = 4096;

impl<T: Send> Tx<T> {
    /// Both ends of a queue for exactly `capacity` items.
    pub(super) fn bounded(capacity: usize) -> Result<(Self, Rx<T>), CapacityError> {
        if capacity == 0 {
            let meeting = Arc::new(Rendezvous::default());
            return Ok((Self::Rendezvous(meeting.clone()), Rx::Rendezvous(meeting)));
        }
        let (tx, rx) = leased::queue_of(Config::new(capacity))?;
        Ok((Self::Bounded(tx), Rx::Bounded(rx)))
    }

    /// Both ends of a queue that is never full.
    pub(super) fn unbounded() -> Result<(Self, Rx<T>), CapacityError> {
        let ring = (RING_BYTES / size_of::<T>().max(1)).clamp(32, 512);
        let (tx, rx) = leased::queue_of(Config::new(ring))?;
        Ok((Self::Unbounded(tx), Rx::Unbounded(rx)))
    }

    #[inline(always)] // as the queue's own
    pub(super) fn push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        of!(Tx::(self): tx => tx.try_push(item); meeting => meeting.try_send(item))
    }

    /// Whether a push would find room, which stays free until the next call of this handle.
    pub(super) fn reserve(&mut self) -> Reserved {
        of!(Tx::(self): tx => tx.reserve(); _meeting => Reserved::Full)
    }

    /// As [`push`](Self::push), after [`reserve`](Self::reserve) and no other call.
    pub(super) fn push_reserved(&mut self, item: T) -> Result<(), TryPushError<T>> {
        of!(Tx::(self): tx => tx.push_reserved(item); meeting => meeting.try_send(item))
    }

    /// Takes a reservation back.
    pub(super) fn release(&mut self) {
        of!(Tx::(self): tx => tx.release(); _meeting => ());
    }

    pub(super) fn len(&mut self) -> usize {
        of!(Tx::(self): tx => settled(|| tx.counted()); _meeting => 0)
    }

    pub(super) fn is_full(&mut self) -> bool {
        of!(Tx::(self): tx => tx.is_full(); _meeting => true)
    }

    pub(super) fn capacity(&self) -> usize {
        of!(Tx::(self): tx => tx.capacity(); _meeting => 0)
    }

    pub(super) fn meeting(&self) -> Option<&Arc<Rendezvous<T>>> {
        match self {
            Self::Rendezvous(meeting) => Some(meeting),
            _ => None,
        }
    }
}

impl<T: Send> Clone for Tx<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Bounded(tx) => Self::Bounded(tx.clone()),
            Self::Unbounded(tx) => Self::Unbounded(tx.clone()),
            Self::Rendezvous(meeting) => Self::Rendezvous(meeting.clone()),
        }
    }
}

/// Looks until no other call is in the way.
fn settled(mut look: impl FnMut() -> Option<usize>) -> usize {
    loop {
        if let Some(n) = look() {
            return n;
        }
        std::thread::yield_now();
    }
}

impl<T: Send> Rx<T> {
    #[inline(always)] // as the queue's own
    pub(super) fn pop(&mut self) -> Result<T, TryPopError> {
        of!(Rx::(self): rx => rx.try_pop(); meeting => meeting.try_recv(); timer => timer.try_recv())
    }

    /// Drops all items.
    pub(super) fn clear(&mut self) {
        loop {
            match self.pop() {
                Ok(item) => drop(item),
                Err(TryPopError::Busy) => std::thread::yield_now(),
                Err(TryPopError::Empty | TryPopError::Closed) => return,
            }
        }
    }

    pub(super) fn len(&mut self) -> usize {
        of!(Rx::(self): rx => settled(|| rx.counted()); _meeting => 0; timer => usize::from(timer.is_due()))
    }

    pub(super) fn is_empty(&mut self) -> bool {
        of!(Rx::(self): rx => rx.is_empty(); _meeting => true; timer => !timer.is_due())
    }

    pub(super) fn capacity(&self) -> usize {
        of!(Rx::(self): rx => rx.capacity(); _meeting => 0; timer => timer.capacity())
    }

    pub(super) fn meeting(&self) -> Option<&Arc<Rendezvous<T>>> {
        match self {
            Self::Rendezvous(meeting) => Some(meeting),
            _ => None,
        }
    }

    pub(super) fn timer(&self) -> Option<&Arc<Timer<T>>> {
        match self {
            Self::Timer(timer) => Some(timer),
            _ => None,
        }
    }
}

impl<T: Send> Clone for Rx<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Bounded(rx) => Self::Bounded(rx.clone()),
            Self::Unbounded(rx) => Self::Unbounded(rx.clone()),
            Self::Rendezvous(meeting) => Self::Rendezvous(meeting.clone()),
            Self::Timer(timer) => Self::Timer(timer.clone()),
        }
    }
}
