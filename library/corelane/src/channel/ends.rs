//! The two ends of a channel's queue, whatever the queue is.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::cell::{Cell, UnsafeCell};

use super::rendezvous::Rendezvous;
use super::timer::Timer;
use super::access::Access;
use super::common::Closed;
use crate::carrier::{By, Carrier, Empties, PopInto, PopQuickly, PushFrom, PushQuickly, Use};
use crate::exact::{self, Exact, Positions};
use crate::lease::{User, Word};
use crate::queue::{CapacityError, Config, Queue, TryPopError, TryPushError};
use crate::line_ring::LineRing;
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

type Producer<T, Q> = <Exact<Q> as Queue<Item<T>>>::Producer;
type Consumer<T, Q> = <Exact<Q> as Queue<Item<T>>>::Consumer;

/// The sending end of a queue. One thread at a time uses it.
pub(super) enum Tx<T> {
    Bounded(Uses<Producer<T, LineRing>>),
    Unbounded(Uses<Producer<T, Uspsc>, true>),
    /// The sides meet elsewhere: always full.
    NoQueue,
}

/// The receiving end of a queue. One thread at a time uses it.
pub(super) enum Rx<T> {
    Bounded(Uses<Consumer<T, LineRing>>),
    Unbounded(Uses<Consumer<T, Uspsc>, true>),
    /// The messages come from elsewhere: always empty.
    NoQueue,
}

/// The uses of a queue's handle, one at a time, by a thread that has the end.
///
/// A use that is `GUARDED` may allocate memory, and so run an allocator of the program. If that uses
/// the same end, it panics.
pub(super) struct Uses<H, const GUARDED: bool = false> {
    user: UnsafeCell<User<H>>,
    is_used: Cell<bool>,
}

impl<H, const GUARDED: bool> Uses<H, GUARDED> {
    fn new(handle: H) -> Self {
        Self { user: UnsafeCell::new(User::new(handle)), is_used: Cell::new(false) }
    }

    /// Uses the handle: see [`User::give`]. And whether the user is asked for attention then.
    #[inline(always)]
    fn give<R, W: Use<H, Output = (R, bool)>>(&self, work: W) -> Result<(R, bool), W> {
        self.begin();
        // SAFETY: no other use has begun and not ended. Threads don't share an end, and a use runs
        // no code of the program, or is guarded.
        let user = unsafe { &mut *self.user.get() };
        let result = user.give_in_memory(work);
        let is_asked = user.is_asked();
        self.is_used.set(false);
        result.map(|result| (result, is_asked))
    }

    /// As [`User::give_quickly`].
    #[inline(always)] // as the queue's own
    fn give_quickly<A: Access>(&self, work: impl Use<H, Output = bool>) -> Option<bool> {
        if GUARDED {
            self.begin();
        }
        // SAFETY: as in `give`. An end of a shared handle is a clone of its first one, which stays.
        let is_asked = unsafe { (*self.user.get()).give_quickly(A::IS_SHARED, work) };
        if GUARDED {
            self.is_used.set(false);
        }
        is_asked
    }

    #[inline(always)]
    fn begin(&self) {
        assert!(!self.is_used.replace(true), "the handle is in use");
    }

    /// As [`User::end_quick_use`].
    fn end_quick_use(&self) {
        // SAFETY: as in `give`.
        unsafe { &mut *self.user.get() }.end_quick_use();
    }

    /// As [`User::with`].
    fn with<R>(&self, work: impl FnOnce(&mut H) -> (R, bool)) -> Option<R> {
        self.give(By(work)).ok().map(|(result, _)| result)
    }

    fn word(&self) -> Arc<Word> {
        // SAFETY: as in `give`.
        unsafe { &*self.user.get() }.word()
    }
}

impl<H, const GUARDED: bool> Clone for Uses<H, GUARDED> {
    fn clone(&self) -> Self {
        // SAFETY: as in `give`. It allocates when it has read what it needs of the user.
        let user = unsafe { &*self.user.get() }.duplicate();
        Self { user: UnsafeCell::new(user), is_used: Cell::new(false) }
    }
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
    let kind = Kind::Queue { positions: tx.positions(), capacity };
    Ok((Tx::Bounded(Uses::new(tx)), Rx::Bounded(Uses::new(rx)), kind))
}

/// Both ends of a queue that is never full.
pub(super) fn unbounded<T>() -> Ends<T> {
    let ring = (RING_BYTES / size_of::<T>().max(1)).clamp(32, 512);
    let (tx, rx) = <Exact<Uspsc> as Queue<Item<T>>>::with(Config::new(ring))?;
    let kind = Kind::Queue { positions: tx.positions(), capacity: usize::MAX };
    Ok((Tx::Unbounded(Uses::new(tx)), Rx::Unbounded(Uses::new(rx)), kind))
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

/// One push, unless the channel is closed.
struct PushOpen<'a, T> {
    push: PushFrom<'a, Item<T>>,
    closed: &'a Closed,
}

impl<P: Empties<Item = Item<T>>, T> Use<P> for PushOpen<'_, T> {
    type Output = (bool, bool);
    const LOOKS: bool = true;

    #[inline(always)]
    fn run(self, tx: &mut P) -> (bool, bool) {
        self.push.run(tx)
    }

    fn may_begin(&self) -> bool {
        !self.closed.is_set()
    }
}

impl<T> Tx<T> {
    /// Pushes the message, which stays where it is on an error. Whether the sender is asked for
    /// attention.
    #[inline(always)] // as the queue's own
    pub(super) fn push(
        &self,
        message: &mut Message<T>,
        closed: &Closed,
    ) -> Result<bool, TryPushError<()>> {
        let work = PushOpen { push: PushFrom(message), closed };
        of!(Tx::(self): tx => match tx.give(work) {
            Ok((true, is_asked)) => Ok(is_asked),
            Ok((false, _)) => Err(TryPushError::Full(())),
            Err(_) if closed.is_set() => Err(TryPushError::Closed(())),
            Err(_) => Err(TryPushError::Busy(())),
        }; Err(TryPushError::Full(())))
    }

    /// As [`push`](Self::push), if that is done at once. `None` says nothing.
    #[inline(always)] // as the queue's own
    pub(super) fn push_quickly<A: Access>(&self, message: &mut Message<T>) -> Option<bool> {
        let Self::Bounded(tx) = self else { return None };
        tx.give_quickly::<A>(PushQuickly(message))
    }

    /// After a [quick push](Self::push_quickly) of a sender that is asked for attention.
    pub(super) fn end_quick_use(&self) {
        of!(Tx::(self): tx => tx.end_quick_use(); ());
    }

    /// Where senders look, if there is a queue.
    pub(super) fn word(&self) -> Option<Arc<Word>> {
        of!(Tx::(self): tx => Some(tx.word()); None)
    }

    /// Reserves room for one item. Whether there was some; `None` while another thread's call is in
    /// the way.
    pub(super) fn reserve(&self) -> Option<bool> {
        of!(Tx::(self): tx => tx.with(|tx| (tx.reserve(), true)); Some(false))
    }

    /// Ends a reservation, by any thread, and pushes the message into its room, if there is one.
    /// `None` as for [`reserve`](Self::reserve).
    pub(super) fn release(&self, message: &mut Message<T>) -> Option<()> {
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
    /// Takes the oldest message. Whether the receiver is asked for attention. Never
    /// [`Closed`](TryPopError::Closed).
    #[inline(always)] // as the queue's own
    pub(super) fn pop(&self, message: &mut Message<T>) -> Result<bool, TryPopError> {
        of!(Rx::(self): rx => match rx.give(PopInto(message)) {
            Ok((Ok(()), is_asked)) => Ok(is_asked),
            Ok((Err(_), _)) => Err(TryPopError::Empty),
            Err(_) => Err(TryPopError::Busy),
        }; Err(TryPopError::Empty))
    }

    /// As [`pop`](Self::pop), if that is done at once. `None` says nothing.
    #[inline(always)] // as the queue's own
    pub(super) fn pop_quickly<A: Access>(&self, message: &mut Message<T>) -> Option<bool> {
        let Self::Bounded(rx) = self else { return None };
        rx.give_quickly::<A>(PopQuickly(message))
    }

    /// After a [quick pop](Self::pop_quickly) of a receiver that is asked for attention.
    pub(super) fn end_quick_use(&self) {
        of!(Rx::(self): rx => rx.end_quick_use(); ());
    }

    /// Where receivers look, if there is a queue.
    pub(super) fn word(&self) -> Option<Arc<Word>> {
        of!(Rx::(self): rx => Some(rx.word()); None)
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
