//! The two ends of a channel's queue, whatever the queue is.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::rendezvous::Rendezvous;
use super::timer::Timer;
use crate::carrier::{Carrier, Empties};
use crate::exact::{self, Exact, Positions};
use crate::leased;
use crate::queue::{CapacityError, Config, Queue, TryPopError, TryPushError};
use crate::segmented::Uspsc;

/// A message in a queue.
pub(super) struct Item<T>(pub(super) T);

// SAFETY: a handle of a channel goes to another thread only if `T` is `Send`: see `Sender` and
// `Receiver`.
unsafe impl<T> Send for Item<T> {}

/// A message on its way.
pub(super) type Message<T> = Carrier<Item<T>>;

impl<T> Message<T> {
    #[inline(always)]
    pub(super) fn new(message: T) -> Self {
        Self::of(Item(message))
    }

    /// The message, which is there.
    #[inline(always)]
    pub(super) fn unpack(&mut self) -> T {
        self.take().0
    }
}

/// Where the sides of a channel of capacity 0 meet.
pub(super) type Meeting<T> = Rendezvous<Item<T>>;

/// The sending end of a queue.
pub(super) enum Tx<T> {
    Bounded(leased::Producer<Item<T>, Exact>),
    Unbounded(leased::Producer<Item<T>, Exact<Uspsc>>),
    /// The sides meet elsewhere: always full.
    NoQueue,
}

/// The receiving end of a queue.
pub(super) enum Rx<T> {
    Bounded(leased::Consumer<Item<T>, Exact>),
    Unbounded(leased::Consumer<Item<T>, Exact<Uspsc>>),
    /// The messages come from elsewhere: always empty.
    NoQueue,
}

/// Does `$body` with the queue's handle, or `$other` where there is none.
macro_rules! of {
    ($end:ident::($this:expr): $queue:ident => $body:expr; $other:expr) => {
        match $this {
            $end::Bounded($queue) => $body,
            $end::Unbounded($queue) => $body,
            $end::NoQueue => $other,
        }
    };
}

/// Bytes that the items of one ring of an unbounded channel take, about.
const RING_BYTES: usize = 4096;

/// Both ends of a queue, and what is known of it without an end.
pub(super) type Ends<T> = Result<(Tx<T>, Rx<T>, Kind<T>), CapacityError>;

/// What a channel is.
pub(super) enum Kind<T> {
    Queue {
        positions: Arc<Positions>,
        /// `usize::MAX` if it is never full.
        capacity: usize,
    },
    Rendezvous(Box<Meeting<T>>),
    Timer(Timer<T>),
}

/// Both ends of a queue for exactly `capacity` items.
pub(super) fn bounded<T>(capacity: usize) -> Ends<T> {
    if capacity == 0 {
        return Ok((Tx::NoQueue, Rx::NoQueue, Kind::Rendezvous(Box::default())));
    }
    let (tx, rx) = <Exact as Queue<Item<T>>>::with(Config::new(capacity))?;
    let positions = tx.positions();
    let (tx, rx) = leased::lease(tx, rx)?;
    Ok((Tx::Bounded(tx), Rx::Bounded(rx), Kind::Queue { positions, capacity }))
}

/// Both ends of a queue that is never full.
pub(super) fn unbounded<T>() -> Ends<T> {
    let ring = (RING_BYTES / size_of::<T>().max(1)).clamp(32, 512);
    let (tx, rx) = <Exact<Uspsc> as Queue<Item<T>>>::with(Config::new(ring))?;
    let positions = tx.positions();
    let (tx, rx) = leased::lease(tx, rx)?;
    Ok((Tx::Unbounded(tx), Rx::Unbounded(rx), Kind::Queue { positions, capacity: usize::MAX }))
}

impl<T> Kind<T> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Queue { positions, capacity } => positions.len().min(*capacity),
            Self::Rendezvous(_) => 0,
            Self::Timer(timer) => usize::from(timer.is_due()),
        }
    }

    /// Whether all room is taken or reserved.
    pub(super) fn is_full(&self) -> bool {
        match self {
            Self::Queue { positions, .. } => positions.is_full(),
            Self::Rendezvous(_) | Self::Timer(_) => self.len() >= self.capacity(),
        }
    }

    /// Messages for which there is room. `usize::MAX` if there always is.
    pub(super) fn capacity(&self) -> usize {
        match self {
            Self::Queue { capacity, .. } => *capacity,
            Self::Rendezvous(_) => 0,
            Self::Timer(timer) => timer.capacity(),
        }
    }

    pub(super) fn meeting(&self) -> Option<&Meeting<T>> {
        if let Self::Rendezvous(meeting) = self { Some(meeting) } else { None }
    }

    pub(super) fn timer(&self) -> Option<&Timer<T>> {
        if let Self::Timer(timer) = self { Some(timer) } else { None }
    }
}

impl<T> Tx<T> {
    /// Pushes the message, which stays where it is on an error.
    #[inline(always)] // as the queue's own
    pub(super) fn push(&mut self, message: &mut Message<T>) -> Result<(), TryPushError<()>> {
        of!(Tx::(self): tx => tx.push_from(message); Err(TryPushError::Full(())))
    }

    /// Reserves room for one item. Whether there was some; `None` while another thread's call is in
    /// the way.
    pub(super) fn reserve(&mut self) -> Option<bool> {
        of!(Tx::(self): tx => tx.with(|tx| (tx.reserve(), true)); Some(false))
    }

    /// Ends a reservation, by any thread, and pushes the message into its room, if there is one.
    /// `None` as for [`reserve`](Self::reserve).
    pub(super) fn release(&mut self, message: &mut Message<T>) -> Option<()> {
        of!(Tx::(self): tx => tx.with(|tx| (release(tx, message), true)); Some(()))
    }
}

fn release<T>(tx: &mut exact::Producer<impl Empties<Item = Item<T>>>, message: &mut Message<T>) {
    tx.release();
    if message.has_item() {
        tx.push_from(message);
    }
}

impl<T> Clone for Tx<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Bounded(tx) => Self::Bounded(tx.clone()),
            Self::Unbounded(tx) => Self::Unbounded(tx.clone()),
            Self::NoQueue => Self::NoQueue,
        }
    }
}

impl<T> Rx<T> {
    /// Takes the oldest message.
    #[inline(always)] // as the queue's own
    pub(super) fn pop(&mut self, message: &mut Message<T>) -> Result<(), TryPopError> {
        of!(Rx::(self): rx => rx.pop_into(message); Err(TryPopError::Empty))
    }
}

impl<T> Clone for Rx<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Bounded(rx) => Self::Bounded(rx.clone()),
            Self::Unbounded(rx) => Self::Unbounded(rx.clone()),
            Self::NoQueue => Self::NoQueue,
        }
    }
}
