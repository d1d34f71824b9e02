//! The two ends of a channel's queue, whatever the queue is.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::{Cell, UnsafeCell};

use super::access::Access;
use super::common::Closed;
use super::rendezvous::Rendezvous;
use super::timer::Timer;
use crate::carrier::{
    By, Carrier, Empties, Fills, PopInto, PopQuickly, PushFrom, PushQuickly, Use,
};
use crate::exact::{self, Positions};
use crate::lease::{User, Word};
use crate::line_ring::LineRing;
use crate::memory::Mutex;
use crate::queue::{self, CapacityError, Config, Consumer as _, TryPopError, TryPushError};
use crate::region::Counted;
use crate::relaxed::cnq::{self, RankError};
use crate::segmented;

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

type Producer<T> = exact::Producer<segmented::Producer<Item<T>>>;
type Consumer<T> = exact::Consumer<segmented::Consumer<Item<T>>>;

/// The sending end of a queue. One thread at a time uses it.
pub(super) type Tx<T> = Uses<Producer<T>, cnq::Producer<Item<T>>>;

/// The receiving end of a queue. One thread at a time uses it.
pub(super) type Rx<T> = Uses<Consumer<T>, cnq::Consumer<Item<T>>>;

/// Bytes that the items of one ring of an unbounded channel take, about.
const RING_BYTES: usize = 4096;

/// Both ends of a queue, and the facts that can be read without an end.
pub(super) type Ends<T> = Result<(Tx<T>, Rx<T>, Kind<T>), CapacityError>;

/// What a channel is.
pub(super) enum Kind<T> {
    Queue {
        positions: Arc<Positions>,
        /// `usize::MAX` if it is never full.
        capacity: usize,
    },
    Relaxed(Box<Relaxed<T>>),
    Rendezvous(Box<Meeting<T>>),
    Timer(Timer<T>),
}

/// Both ends of a queue for exactly `capacity` items.
pub(super) fn bounded<T>(capacity: usize) -> Ends<T> {
    if capacity == 0 {
        return Ok((Tx::none(), Rx::none(), Kind::Rendezvous(Box::default())));
    }
    let ring = segmented::one_ring::<Item<T>, LineRing>(Config::new(capacity))?;
    of(ring, capacity)
}

/// Both ends of a queue that is never full.
pub(super) fn unbounded<T>() -> Ends<T> {
    let ring = (RING_BYTES / size_of::<T>().max(1)).clamp(32, 512);
    let rings = segmented::queue_with(Config::new(ring))?;
    of(rings, usize::MAX)
}

/// Both ends of a queue for at least `capacity` items, which leave at most `k` places out of turn.
pub(super) fn relaxed<T>(capacity: usize, k: usize) -> Ends<T> {
    let (tx, rx) = cnq::queue_with(Config::new(capacity).relaxation(k))?;
    let kind = Kind::Relaxed(Box::new(Relaxed { observer: Mutex::new(rx.clone()) }));
    Ok((Uses::relaxed(tx), Uses::relaxed(rx), kind))
}

fn of<T>(
    rings: (segmented::Producer<Item<T>>, segmented::Consumer<Item<T>>),
    capacity: usize,
) -> Ends<T> {
    let (tx, rx) = exact::of(rings, capacity);
    let kind = Kind::Queue { positions: tx.positions(), capacity };
    Ok((Uses::new(tx)?, Uses::new(rx)?, kind))
}

/// What can be read of a relaxed queue without an end.
pub(super) struct Relaxed<T> {
    /// Takes no items.
    observer: Mutex<cnq::Consumer<Item<T>>>,
}

impl<T> Relaxed<T> {
    fn with<R>(&self, look: impl FnOnce(&cnq::Consumer<Item<T>>) -> R) -> R {
        look(&self.observer.lock())
    }
}

impl<T> Kind<T> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Queue { positions, capacity } => positions.len().min(*capacity),
            // Visits all capsules.
            Self::Relaxed(relaxed) => relaxed.observer.lock().len(),
            Self::Rendezvous(_) => 0,
            Self::Timer(timer) => usize::from(timer.is_due()),
        }
    }

    /// Messages for which there is room that is not reserved.
    pub(super) fn room(&self) -> usize {
        match self {
            Self::Queue { positions, .. } => positions.room() as usize,
            Self::Relaxed(_) | Self::Rendezvous(_) | Self::Timer(_) => {
                self.capacity().saturating_sub(self.len())
            }
        }
    }

    /// Whether room is reserved. If not, the messages that were sent into reserved room are there.
    pub(super) fn is_reserved(&self) -> bool {
        match self {
            Self::Queue { positions, .. } => positions.is_reserved(),
            Self::Relaxed(_) | Self::Rendezvous(_) | Self::Timer(_) => false,
        }
    }

    /// Whether all room is taken or reserved.
    pub(super) fn is_full(&self) -> bool {
        match self {
            Self::Queue { positions, .. } => positions.is_full(),
            Self::Relaxed(_) | Self::Rendezvous(_) | Self::Timer(_) => {
                self.len() >= self.capacity()
            }
        }
    }

    /// Messages for which there is room. `usize::MAX` if there always is.
    pub(super) fn capacity(&self) -> usize {
        match self {
            Self::Queue { capacity, .. } => *capacity,
            Self::Relaxed(relaxed) => relaxed.with(queue::Consumer::capacity),
            Self::Rendezvous(_) => 0,
            Self::Timer(timer) => timer.capacity(),
        }
    }

    /// Whether messages wait in a queue.
    pub(super) fn has_queue(&self) -> bool {
        matches!(self, Self::Queue { .. } | Self::Relaxed(_))
    }

    /// Whether a receiver should look for a message.
    pub(super) fn may_have_message(&self) -> bool {
        match self {
            Self::Relaxed(relaxed) => relaxed.with(cnq::Consumer::may_have_item),
            _ => self.len() > 0,
        }
    }

    /// Whether a sender should look for room.
    pub(super) fn may_have_room(&self) -> bool {
        match self {
            Self::Relaxed(_) => true,
            _ => !self.is_full(),
        }
    }

    pub(super) fn is_relaxed(&self) -> bool {
        matches!(self, Self::Relaxed(_))
    }

    /// Changes with each message.
    pub(super) fn pushed(&self) -> u64 {
        match self {
            Self::Queue { positions, .. } => positions.pushed(),
            Self::Relaxed(relaxed) => relaxed.with(cnq::Consumer::pushed),
            Self::Rendezvous(meeting) => meeting.version(),
            Self::Timer(_) => 0,
        }
    }

    /// The k of k-FIFO.
    pub(super) fn relaxation(&self) -> usize {
        match self {
            Self::Relaxed(relaxed) => relaxed.with(queue::Consumer::relaxation),
            _ => 1,
        }
    }

    pub(super) fn rank_error(&self) -> RankError {
        match self {
            Self::Relaxed(relaxed) => relaxed.with(cnq::Consumer::rank_error),
            _ => RankError::default(),
        }
    }

    pub(super) fn meeting(&self) -> Option<&Meeting<T>> {
        if let Self::Rendezvous(meeting) = self { Some(meeting) } else { None }
    }

    pub(super) fn timer(&self) -> Option<&Timer<T>> {
        if let Self::Timer(timer) = self { Some(timer) } else { None }
    }
}

/// The uses of a queue's handle, one at a time, by a thread that has the end. `R` is the handle of a
/// relaxed queue.
pub(super) struct Uses<H, R> {
    /// `None` if the sides meet elsewhere: always full, and always empty.
    user: UnsafeCell<Option<User<H>>>,
    has_user: bool,
    /// Whether there is a user, and no use is under way that may run other code. Such a use may
    /// allocate memory, by an allocator of the program, which may use this end: then it panics,
    /// unless it waits for a lock of its own thread.
    is_free: Cell<bool>,
    /// Instead of a user.
    relaxed: Cell<Option<Box<R>>>,
}

impl<H, R> Uses<H, R> {
    fn new(handle: H) -> Result<Self, CapacityError> {
        User::of_handle(handle).map(Self::of)
    }

    fn of(user: User<H>) -> Self {
        let user = UnsafeCell::new(Some(user));
        Self { user, has_user: true, is_free: Cell::new(true), relaxed: Cell::new(None) }
    }

    pub(super) const fn none() -> Self {
        Self {
            user: UnsafeCell::new(None),
            has_user: false,
            is_free: Cell::new(false),
            relaxed: Cell::new(None),
        }
    }

    fn relaxed(handle: R) -> Self {
        Self { relaxed: Cell::new(Some(Box::new(handle))), ..Self::none() }
    }

    /// Uses the handle of a relaxed queue. `None` if this is none.
    fn use_relaxed<A>(&self, work: impl FnOnce(&mut R) -> A) -> Option<A> {
        let mut handle = self.relaxed.take()?;
        let answer = work(&mut handle);
        self.relaxed.set(Some(handle));
        Some(answer)
    }

    /// Uses the handle: see [`User::give`]. `None` if there is none.
    #[inline(always)]
    fn use_by<A>(&self, work: impl FnOnce(&mut User<H>) -> A) -> Option<A> {
        if !self.is_free.replace(false) {
            assert!(!self.has_user, "the handle is in use");
            return None;
        }
        // SAFETY: there is a user, threads don't share an end, and no other use has begun and not
        // ended.
        let user = unsafe { (*self.user.get()).as_mut().unwrap_unchecked() };
        let result = work(user);
        self.is_free.set(true);
        Some(result)
    }

    /// As [`User::give_quickly`].
    #[inline(always)] // as the queue's own
    fn give_quickly<A: Access>(&self, work: impl Use<H, Output = bool>) -> Option<bool> {
        if !self.is_free.get() {
            return None;
        }
        // SAFETY: there is a user, and no use has begun and not ended: threads don't share an end,
        // and what this calls is no code of the program. An end of a shared handle is a clone of
        // its first one, which stays.
        unsafe { (*self.user.get()).as_mut().unwrap_unchecked().give_quickly(A::IS_SHARED, work) }
    }

    /// As [`User::end_quick_use`].
    pub(super) fn end_quick_use(&self) {
        self.use_by(User::end_quick_use);
    }

    /// As [`User::word`].
    pub(super) fn word(&self) -> Option<Counted<Word>> {
        // SAFETY: as in `use_by`.
        unsafe { &*self.user.get() }.as_ref().map(User::word)
    }
}

impl<H, R: Clone> Clone for Uses<H, R> {
    fn clone(&self) -> Self {
        // SAFETY: as in `use_by`. The handle stays where it is: `clone` may panic.
        if let Some(handle) = unsafe { &*self.relaxed.as_ptr() } {
            return Self::relaxed(R::clone(handle));
        }
        // SAFETY: as in `use_by`.
        match unsafe { &*self.user.get() } {
            // `clone` allocates what the new end needs before it reads what a use changes.
            Some(user) => Self::of(user.duplicate()),
            None => Self::none(),
        }
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
        match self.use_by(|tx| (tx.give_in_memory(work), tx.is_asked())) {
            Some((Ok(true), is_asked)) => Ok(is_asked),
            Some((Err(_), _)) if !closed.is_set() => Err(TryPushError::Busy(())),
            _ if closed.is_set() => Err(TryPushError::Closed(())),
            Some(_) => Err(TryPushError::Full(())),
            None => self.push_relaxed(message),
        }
    }

    /// As [`push`](Self::push), into a relaxed queue. Others are full.
    #[cold]
    #[inline(never)]
    fn push_relaxed(&self, message: &mut Message<T>) -> Result<bool, TryPushError<()>> {
        let push = |tx: &mut cnq::Producer<Item<T>>| match tx.try_push(message.take()) {
            // Receivers that sleep ask for attention elsewhere.
            Ok(()) => Ok(true),
            Err(error) => {
                let why =
                    if error.is_busy() { TryPushError::Busy(()) } else { TryPushError::Full(()) };
                *message = Message::of(error.into_inner());
                Err(why)
            }
        };
        self.use_relaxed(push).unwrap_or(Err(TryPushError::Full(())))
    }

    /// As [`push`](Self::push), if that can be done at once. `None` doesn't mean that there is no
    /// room.
    #[inline(always)] // as the queue's own
    pub(super) fn push_quickly<A: Access>(&self, message: &mut Message<T>) -> Option<bool> {
        self.give_quickly::<A>(PushQuickly(message))
    }

    /// Reserves room for `n` items. Whether there was so much; `None` while another thread's call is
    /// in the way.
    pub(super) fn reserve(&self, n: usize) -> Option<bool> {
        self.use_by(|tx| tx.with(|tx| (tx.reserve(n as u64), true))).unwrap_or(Some(false))
    }

    /// Ends the reservation of room for `n` items, by any thread, and pushes the message into this
    /// room, if there is one. `None` as for [`reserve`](Self::reserve).
    pub(super) fn release(&self, n: usize, message: &mut Message<T>) -> Option<()> {
        let push = |tx: &mut Producer<T>| {
            if message.has_item() {
                tx.push_from(message);
            }
        };
        let release = |tx: &mut Producer<T>| (tx.release(n as u64, push), true);
        self.use_by(|tx| tx.with(release)).unwrap_or(Some(()))
    }
}

impl<T> Rx<T> {
    /// Takes the oldest message. Whether the receiver is asked for attention. Never
    /// [`Closed`](TryPopError::Closed).
    #[inline(always)] // as the queue's own
    pub(super) fn pop(&self, message: &mut Message<T>) -> Result<bool, TryPopError> {
        match self.use_by(|rx| (rx.give_in_memory(PopInto(message)), rx.is_asked())) {
            Some((Ok(Ok(())), is_asked)) => Ok(is_asked),
            Some((Err(_), _)) => Err(TryPopError::Busy),
            Some((Ok(Err(_)), _)) => Err(TryPopError::Empty),
            None => self.pop_relaxed(message),
        }
    }

    /// As [`pop`](Self::pop), from a relaxed queue. Others are empty.
    #[cold]
    #[inline(never)]
    fn pop_relaxed(&self, message: &mut Message<T>) -> Result<bool, TryPopError> {
        match self.use_relaxed(queue::Consumer::try_pop) {
            Some(Ok(item)) => {
                *message = Message::of(item);
                // Senders that sleep ask for attention elsewhere.
                Ok(true)
            }
            Some(Err(TryPopError::Busy)) => Err(TryPopError::Busy),
            Some(Err(_)) | None => Err(TryPopError::Empty),
        }
    }

    /// Takes the oldest message if the queue is full. Whether it did: no other thread takes a message
    /// between the look and the pop.
    pub(super) fn pop_if_full(&self, message: &mut Message<T>) -> bool {
        let pop = |rx: &mut Consumer<T>| {
            let is_done = rx.is_full() && rx.pop_into(message).is_ok();
            (is_done, is_done)
        };
        self.use_by(|rx| rx.give_in_memory(By(pop)).unwrap_or(false)).unwrap_or(false)
    }

    /// Takes up to `most` of the oldest messages, for which there is room in `into`. How many, and
    /// whether the receiver is asked for attention.
    pub(super) fn pop_run(&self, into: &mut Vec<T>, most: usize) -> (usize, bool) {
        let run = |rx: &mut Consumer<T>| {
            let taken = rx.pop_run(most, |Item(message)| into.push(message));
            (taken, taken > 0)
        };
        let run = |rx: &mut User<_>| (rx.give_in_memory(By(run)).unwrap_or(0), rx.is_asked());
        self.use_by(run).unwrap_or((0, false))
    }

    /// As [`pop`](Self::pop), if that can be done at once. `None` doesn't mean that there is no
    /// message.
    #[inline(always)] // as the queue's own
    pub(super) fn pop_quickly<A: Access>(&self, message: &mut Message<T>) -> Option<bool> {
        self.give_quickly::<A>(PopQuickly(message))
    }
}
