// Above 500 lines: the slots, all handles and their documents.

//! Values that every receiver gets.
//!
//! Senders never wait for receivers: a receiver that is too slow is told how many values it has
//! missed, and continues with the oldest value that is left. Calls and guarantees are those of
//! Tokio's `sync::broadcast`.
//!
//! ```
//! use corelane::channel::task::broadcast::{self, error::RecvError};
//!
//! let (tx, mut rx) = broadcast::channel(16);
//! let mut other = tx.subscribe();
//! let sum = std::thread::spawn(move || {
//!     let mut sum = 0;
//!     loop {
//!         match other.blocking_recv() {
//!             Ok(n) => sum += n,
//!             Err(RecvError::Lagged(missed)) => eprintln!("{missed} values are lost"),
//!             Err(RecvError::Closed) => return sum,
//!         }
//!     }
//! });
//! assert_eq!((tx.send(20), tx.send(22)), (Ok(2), Ok(2)));
//! drop(tx);
//! assert_eq!(rx.blocking_recv(), Ok(20));
//! assert_eq!(sum.join().unwrap(), 42);
//! ```
//!
//! | | |
//! |---|---|
//! | capacity | rounded up to a power of two |
//! | a receiver | gets all values that are sent from its [`subscribe`](Sender::subscribe) on, in the order of their sends, or [`Lagged`](error::RecvError::Lagged) with the number of those that it has missed |
//! | a value | is cloned for each receiver but the last one, which takes it; what has no destructor is cloned for the last one, too. It is dropped earlier if a newer one needs its slot |
//! | a send | is done under a lock. It waits for a receiver that is cloning the value which it overwrites, and for no other |
//! | a receive | takes no lock but that of its slot: a read-modify-write and a store |
//! | all senders are gone | receivers get what is left, and then [`Closed`](error::RecvError::Closed) |
//! | all receivers are gone | a send gives its value back, until a receiver subscribes |
//! | a panic | in a clone: this receiver has lost the value, other receivers get it. In a destructor: the value is dropped, and the call's work is done |

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::{block, poll_task};
use crate::memory::{AtomicBool, AtomicU64, Mutex, Ordering, UnsafeCell, limit, pause};
use crate::pad::Padded;
use crate::spin::Distance;
use crate::unwind::{catch_each, go_on};
use crate::wait::bell::{Bell, Look, Wait};
use crate::wait::thread::Habit;
use error::{RecvError, SendError, TryRecvError};

/// A channel that keeps the last `capacity` values, rounded up to a power of two.
///
/// # Panics
///
/// If `capacity` is 0 or more than half of `usize::MAX`, or if there is not enough memory.
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let tx = Sender::new(capacity);
    let rx = tx.subscribe();
    (tx, rx)
}

struct Shared<T> {
    slots: Box<[Slot<T>]>,
    /// Whether all senders are gone. Stored with the lock.
    is_closed: AtomicBool,
    tail: Padded<Tail>,
    /// Receivers sleep here.
    sent: Bell,
    /// Where threads sleep until a slot is free that another thread uses.
    freed: Bell,
    /// Senders sleep here until there is no receiver.
    unheard: Bell,
}

struct Tail {
    handles: Mutex<Handles>,
    /// Number of values that were sent: the position of the next one. Stored with the lock.
    position: AtomicU64,
}

/// How many there are.
struct Handles {
    senders: usize,
    weak: usize,
    receivers: usize,
}

/// One value.
struct Slot<T> {
    word: AtomicU64,
    held: UnsafeCell<Held<T>>,
}

/// What belongs to the thread that has taken the slot.
struct Held<T> {
    position: u64,
    value: Option<T>,
}

// SAFETY: only the thread that has taken the slot accesses what it holds.
unsafe impl<T: Send> Sync for Slot<T> {}

/// The state of a slot: the lap of its value, how many receivers have not got the value yet, and
/// whether a thread uses the slot. A slot that was given back has a value if a receiver has not got
/// it.
#[derive(Clone, Copy)]
struct Word(u64);

/// A thread uses the slot.
const TAKEN: u64 = 1;
/// One receiver that has not got the value.
const LEFT: u64 = 2;
/// One lap.
const LAP: u64 = 1 << 32;
/// Laps until the same number comes again.
const LAPS: u64 = limit(1 << 32, 4);
/// Most receivers.
const MOST: usize = (LAP / LEFT - 1) as usize;

impl Word {
    fn new(lap: u64, left: usize) -> Self {
        Self((lap & (LAPS - 1)) * LAP + left as u64 * LEFT)
    }

    fn is_of(self, lap: u64) -> bool {
        self.0 / LAP == lap & (LAPS - 1)
    }

    fn is_taken(self) -> bool {
        self.0 & TAKEN != 0
    }

    fn has_left(self) -> bool {
        self.0 % LAP >= LEFT
    }

    /// Whether a receiver uses the slot, or will. If not, no receiver takes it.
    fn is_in_use(self) -> bool {
        self.0 % LAP != 0
    }
}

/// A slot that this thread has taken. It is given back when this is dropped.
struct Taken<'a, T> {
    slot: &'a Slot<T>,
    freed: &'a Bell,
    /// The word with which it is given back.
    word: Word,
}

impl<T> Taken<'_, T> {
    /// Whether no other receiver needs the value.
    fn is_last(&self) -> bool {
        !self.word.has_left()
    }

    fn position(&self) -> u64 {
        // SAFETY: this thread has taken the slot.
        self.slot.held.with(|held| unsafe { (*held).position })
    }

    fn take_value(&self) -> Option<T> {
        // SAFETY: this thread has taken the slot.
        self.slot.held.with_mut(|held| unsafe { (*held).value.take() })
    }

    /// The receiver's value: the last receiver takes it. What has no destructor owns nothing, and is
    /// cloned for each: a clone costs no more, and calls of `clone` are as many as receivers.
    #[inline]
    fn into_value(self) -> T
    where
        T: Clone,
    {
        let value = match mem::needs_drop::<T>() && self.is_last() {
            true => self.take_value(),
            // SAFETY: this thread has taken the slot.
            false => self.slot.held.with(|held| unsafe { (*held).value.clone() }),
        };
        value.expect("a receiver had not got it")
    }

    /// As [`into_value`](Self::into_value), but the receiver doesn't want it.
    fn skip(self) {
        let unwanted = if self.is_last() { self.take_value() } else { None };
        drop(self);
        drop(unwanted);
    }
}

impl<T> Drop for Taken<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Release ↔ Acquire in `try_take` and `vacate`: what this thread has done with the value.
        self.slot.word.store(self.word.0, Ordering::Release);
        self.freed.ring_for_all();
    }
}

impl<T> Slot<T> {
    fn word(&self) -> Word {
        // Relaxed: the thread that takes the slot acquires.
        Word(self.word.load(Ordering::Relaxed))
    }

    /// Changes the word. The error has the word that is there.
    fn take(&self, from: Word, to: u64) -> Result<(), Word> {
        // Acquire ↔ Release in `send` and `Taken::drop`: the value.
        let taken = self.word.compare_exchange(from.0, to, Ordering::Acquire, Ordering::Relaxed);
        taken.map(drop).map_err(Word)
    }

    /// Sleeps if it takes long until no thread uses the slot.
    #[cold]
    #[inline(never)]
    fn wait_until_free(&self, freed: &Bell) -> Word {
        block(&mut Habit::new(), freed, || match self.word() {
            word if word.is_taken() => Look::NotYet,
            word => Look::Done(word),
        })
    }

    /// Makes the slot the sender's. Returns the value, if a receiver has not got it: then the slot
    /// is taken.
    #[inline]
    fn vacate(&self, freed: &Bell) -> Option<T> {
        loop {
            // Acquire ↔ Release in `Taken::drop`: the receivers have done with the value.
            let word = Word(self.word.load(Ordering::Acquire));
            if !word.is_in_use() {
                return None;
            }
            let value = self.try_overtake(word, freed);
            if value.is_some() {
                return value;
            }
        }
    }

    /// Takes the slot, or waits until no receiver uses it.
    #[cold]
    #[inline(never)]
    fn try_overtake(&self, word: Word, freed: &Bell) -> Option<T> {
        if word.is_taken() {
            self.wait_until_free(freed);
            return None;
        }
        self.take(word, word.0 | TAKEN).ok()?;
        // SAFETY: this thread has taken the slot.
        self.held.with_mut(|held| unsafe { (*held).value.take() })
    }
}

impl<T> Shared<T> {
    fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    fn slot(&self, position: u64) -> &Slot<T> {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }

    fn lap(&self, position: u64) -> u64 {
        position >> self.slots.len().trailing_zeros()
    }

    fn position(&self) -> u64 {
        // Relaxed: it says where to look. If all senders are gone, `is_closed` orders it.
        self.tail.position.load(Ordering::Relaxed)
    }

    /// Takes the slot for a receiver that has not got the value at `position`. The error has the
    /// slot's word if the value is not there.
    #[inline]
    fn try_take(&self, position: u64) -> Result<Taken<'_, T>, Word> {
        let (slot, freed) = (self.slot(position), &self.freed);
        let mut word = slot.word();
        loop {
            if !word.is_of(self.lap(position)) {
                return Err(word);
            }
            if word.is_taken() {
                word = slot.wait_until_free(freed);
                continue;
            }
            if !word.has_left() {
                return Err(word);
            }
            match slot.take(word, word.0 - LEFT + TAKEN) {
                Ok(()) => break,
                Err(found) => word = found,
            }
        }
        let mut taken = Taken { slot, freed, word: Word(word.0 - LEFT) };
        if taken.position() == position {
            return Ok(taken);
        }
        // As many laps have gone by as the word can count.
        taken.word = word;
        Err(word)
    }

    /// The value at `next`, or why there is none. Counts `next` on.
    #[inline]
    fn try_next(&self, next: &mut u64) -> Result<T, TryRecvError>
    where
        T: Clone,
    {
        loop {
            if let Ok(taken) = self.try_take(*next) {
                *next += 1;
                return Ok(taken.into_value());
            }
            self.find_value(next)?;
        }
    }

    /// After a look in vain: whether a value is at `next` now, or where the receiver goes on.
    #[cold]
    #[inline(never)]
    fn find_value(&self, next: &mut u64) -> Result<(), TryRecvError> {
        // Acquire ↔ Release in `Sender::drop`: the last position.
        let is_closed = self.is_closed.load(Ordering::Acquire);
        let position = self.position();
        let missed = position.saturating_sub(self.capacity()).saturating_sub(*next);
        if missed > 0 {
            *next += missed;
            return Err(TryRecvError::Lagged(missed));
        }
        if position > *next {
            // The look was too early.
            pause(1);
            return Ok(());
        }
        Err(if is_closed { TryRecvError::Closed } else { TryRecvError::Empty })
    }

    /// One look of a receiver that waits.
    #[inline]
    fn look(&self, next: &mut u64) -> Look<Result<T, RecvError>>
    where
        T: Clone,
    {
        match self.try_next(next) {
            Ok(value) => Look::Done(Ok(value)),
            Err(TryRecvError::Empty) => Look::NotYet,
            Err(TryRecvError::Closed) => Look::Done(Err(RecvError::Closed)),
            Err(TryRecvError::Lagged(missed)) => Look::Done(Err(RecvError::Lagged(missed))),
        }
    }

    /// As [`look`](Self::look), after one in vain: while nothing comes, it reads no line that
    /// senders write for other slots. Laps of the word don't come again within one wait.
    fn look_again(&self, next: &mut u64) -> Look<Result<T, RecvError>>
    where
        T: Clone,
    {
        let is_of_last_lap = self.slot(*next).word().is_of(self.lap(*next).wrapping_sub(1));
        // Relaxed: `look` orders it.
        match is_of_last_lap && !self.is_closed.load(Ordering::Relaxed) {
            true => Look::NotYet,
            false => self.look(next),
        }
    }

    /// One more receiver, for what is sent from now on.
    fn subscribe(self: &Arc<Self>) -> Receiver<T> {
        let mut handles = self.tail.handles.lock();
        assert!(handles.receivers < MOST, "there are too many receivers");
        handles.receivers += 1;
        let next = self.position();
        drop(handles);
        Receiver { shared: self.clone(), next, habit: Habit::new(), distance: Distance::new(next) }
    }

    fn count<R>(&self, of: impl FnOnce(&Handles) -> R) -> R {
        of(&self.tail.handles.lock())
    }
}

/// Sends to all receivers. All senders of a channel are alike.
pub struct Sender<T>(Arc<Shared<T>>);

/// A sender that doesn't keep the channel open.
pub struct WeakSender<T>(Arc<Shared<T>>);

/// Receives all values that are sent from its [`subscribe`](Sender::subscribe) on.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The position of the value that comes next.
    next: u64,
    habit: Habit,
    /// How far a thread stays behind senders.
    distance: Distance,
}

impl<T> Sender<T> {
    /// The sender of a channel that has no receiver yet. See [`channel`].
    ///
    /// # Panics
    ///
    /// As [`channel`].
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "the capacity must not be 0");
        assert!(capacity <= usize::MAX / 2, "the capacity is more than half of usize::MAX");
        let slot = |_| Slot {
            word: AtomicU64::new(Word::new(u64::MAX, 0).0), // a lap before the first one
            held: UnsafeCell::new(Held { position: 0, value: None }),
        };
        let handles = Mutex::new(Handles { senders: 1, weak: 0, receivers: 0 });
        Self(Arc::new(Shared {
            slots: (0..capacity.next_power_of_two()).map(slot).collect(),
            is_closed: AtomicBool::new(false),
            tail: Padded(Tail { handles, position: AtomicU64::new(0) }),
            sent: Bell::default(),
            freed: Bell::default(),
            unheard: Bell::default(),
        }))
    }

    /// Sends a value to all receivers, and wakes those that wait. Returns how many there are.
    ///
    /// If the channel is full, this overwrites the oldest value. A receiver that has not got it is
    /// told so.
    ///
    /// # Errors
    ///
    /// If there is no receiver. The error has the value.
    ///
    /// # Panics
    ///
    /// If the destructor of the overwritten value does, or a waker. The value is sent.
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        let shared = &*self.0;
        let handles = shared.tail.handles.lock();
        let receivers = handles.receivers;
        if receivers == 0 {
            return Err(SendError(value));
        }
        let position = shared.position();
        let slot = shared.slot(position);
        let overwritten = slot.vacate(&shared.freed);
        let held = Held { position, value: Some(value) };
        // SAFETY: no receiver takes the slot, and other senders wait for the lock.
        slot.held.with_mut(|place| unsafe { *place = held });
        let word = Word::new(shared.lap(position), receivers);
        // Release ↔ Acquire in `take`: the value.
        slot.word.store(word.0, Ordering::Release);
        // Relaxed: a receiver looks again if the value is not there yet.
        shared.tail.position.store(position + 1, Ordering::Relaxed);
        drop(handles);
        if overwritten.is_some() {
            shared.freed.ring_for_all();
        }
        shared.sent.ring_for_all();
        drop(overwritten);
        Ok(receivers)
    }

    /// One more receiver. It gets what is sent from now on.
    ///
    /// # Panics
    ///
    /// If there are two thousand million receivers.
    pub fn subscribe(&self) -> Receiver<T> {
        self.0.subscribe()
    }

    /// A sender that doesn't keep the channel open.
    ///
    /// ```
    /// use corelane::channel::task::broadcast;
    ///
    /// let (tx, mut rx) = broadcast::channel(1);
    /// let weak = tx.downgrade();
    /// weak.upgrade().expect("there is a sender").send(1).unwrap();
    /// drop(tx);
    /// assert!(weak.upgrade().is_none());
    /// assert_eq!(rx.blocking_recv(), Ok(1));
    /// assert!(rx.blocking_recv().is_err());
    /// ```
    #[must_use = "this sender stays as it is"]
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender::of(&self.0)
    }

    /// Number of values that a receiver has not got yet.
    pub fn len(&self) -> usize {
        let _handles = self.0.tail.handles.lock();
        let position = self.0.position();
        let capacity = self.0.capacity().min(position);
        // Each receiver gets values in order. So older ones are gone before newer ones.
        let (mut first, mut last) = (position - capacity, position);
        while first < last {
            let middle = first + (last - first) / 2;
            match self.0.slot(middle).word().has_left() {
                true => last = middle,
                false => first = middle + 1,
            }
        }
        (position - first) as usize
    }

    /// Whether all receivers have got all values.
    pub fn is_empty(&self) -> bool {
        let _handles = self.0.tail.handles.lock();
        let last = self.0.position().checked_sub(1);
        last.is_none_or(|last| !self.0.slot(last).word().has_left())
    }

    /// Number of receivers.
    pub fn receiver_count(&self) -> usize {
        self.0.count(|handles| handles.receivers)
    }

    /// Whether both are of one channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Waits until there is no receiver.
    pub fn closed(&self) -> ClosedFuture<'_, T> {
        ClosedFuture { shared: &self.0, wait: Wait::at(&self.0.unheard) }
    }

    /// Number of senders.
    pub fn strong_count(&self) -> usize {
        self.0.count(|handles| handles.senders)
    }

    /// Number of [`WeakSender`]s.
    pub fn weak_count(&self) -> usize {
        self.0.count(|handles| handles.weak)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.tail.handles.lock().senders += 1;
        Self(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut handles = self.0.tail.handles.lock();
        handles.senders -= 1;
        if handles.senders == 0 {
            // Release ↔ Acquire in `find_value`: the last position, and what senders did before.
            self.0.is_closed.store(true, Ordering::Release);
            drop(handles);
            self.0.sent.ring_for_all();
        }
    }
}

impl<T> WeakSender<T> {
    fn of(shared: &Arc<Shared<T>>) -> Self {
        shared.tail.handles.lock().weak += 1;
        Self(shared.clone())
    }

    /// A sender, if there is still another.
    pub fn upgrade(&self) -> Option<Sender<T>> {
        let mut handles = self.0.tail.handles.lock();
        if handles.senders == 0 {
            return None;
        }
        handles.senders += 1;
        Some(Sender(self.0.clone()))
    }

    /// Number of senders.
    pub fn strong_count(&self) -> usize {
        self.0.count(|handles| handles.senders)
    }

    /// Number of [`WeakSender`]s.
    pub fn weak_count(&self) -> usize {
        self.0.count(|handles| handles.weak)
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        Self::of(&self.0)
    }
}

impl<T> Drop for WeakSender<T> {
    fn drop(&mut self) {
        self.0.tail.handles.lock().weak -= 1;
    }
}

impl<T> Receiver<T> {
    /// Number of values that were sent and that this receiver has not got, also those that it has
    /// missed.
    pub fn len(&self) -> usize {
        // A value may be got before it is counted.
        self.shared.position().saturating_sub(self.next) as usize
    }

    /// Whether this receiver has got all that was sent.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether all senders are gone. There may be values that are not received.
    pub fn is_closed(&self) -> bool {
        // Acquire ↔ Release in `Sender::drop`: what senders did before.
        self.shared.is_closed.load(Ordering::Acquire)
    }

    /// Whether both are of one channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Number of senders.
    pub fn sender_strong_count(&self) -> usize {
        self.shared.count(|handles| handles.senders)
    }

    /// Number of [`WeakSender`]s.
    pub fn sender_weak_count(&self) -> usize {
        self.shared.count(|handles| handles.weak)
    }
}

impl<T: Clone> Receiver<T> {
    /// One more receiver, for what is sent from now on.
    ///
    /// # Panics
    ///
    /// As [`Sender::subscribe`].
    pub fn resubscribe(&self) -> Self {
        self.shared.subscribe()
    }

    /// Waits for the next value.
    ///
    /// A future that is dropped before it is ready has received nothing.
    ///
    /// # Errors
    ///
    /// [`Lagged`](RecvError::Lagged) if values were overwritten before this receiver got them: the
    /// next call returns the oldest one that is left. [`Closed`](RecvError::Closed) if all senders
    /// are gone, and this receiver has got all values.
    ///
    /// # Panics
    ///
    /// If `T::clone` does. This receiver has lost the value.
    pub fn recv(&mut self) -> RecvFuture<'_, T> {
        let Self { shared, next, .. } = self;
        RecvFuture { shared, next, wait: Wait::at(&shared.sent) }
    }

    /// As [`recv`](Self::recv), for a thread.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Panics
    ///
    /// As [`recv`](Self::recv).
    #[inline]
    pub fn blocking_recv(&mut self) -> Result<T, RecvError> {
        match self.shared.look(&mut self.next) {
            Look::Done(found) => found,
            _ => self.recv_behind(),
        }
    }

    /// After a look in vain: keeps a distance, since each look takes the slot's line away from the
    /// sender.
    #[cold]
    #[inline(never)]
    fn recv_behind(&mut self) -> Result<T, RecvError> {
        let Self { shared, next, habit, distance } = self;
        let far_behind = shared.capacity() / 2;
        let (kept, waited) = distance.caught_up_with(*next, 1, far_behind, Distance::FAST);
        *distance = kept;
        if waited {
            let found = shared.look_again(next);
            *distance = kept.looked_again(!matches!(found, Look::NotYet));
            if let Look::Done(found) = found {
                return found;
            }
        }
        block(habit, &shared.sent, || shared.look_again(next))
    }

    /// The next value, if it is there.
    ///
    /// # Errors
    ///
    /// [`Empty`](TryRecvError::Empty) if there is no value yet. Otherwise as [`recv`](Self::recv).
    ///
    /// # Panics
    ///
    /// As [`recv`](Self::recv).
    #[inline]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.shared.try_next(&mut self.next)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let shared = &*self.shared;
        let mut handles = shared.tail.handles.lock();
        handles.receivers -= 1;
        let is_last = handles.receivers == 0;
        let end = shared.position();
        drop(handles);
        // What was sent is also for this receiver, unless it is overwritten.
        let begin = self.next.max(end.saturating_sub(shared.capacity()));
        let skip = |position| shared.try_take(position).map_or((), Taken::skip);
        let panic = catch_each(begin..end, skip);
        if is_last {
            shared.unheard.ring_for_all();
        }
        go_on(panic);
    }
}

/// Waits for the next value: see [`Receiver::recv`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct RecvFuture<'a, T> {
    shared: &'a Shared<T>,
    next: &'a mut u64,
    wait: Wait<'a>,
}

impl<T: Clone> Future for RecvFuture<'_, T> {
    type Output = Result<T, RecvError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { shared, next, wait } = self.get_mut();
        poll_task(wait, context, || shared.look(next))
    }
}

/// Waits until there is no receiver: see [`Sender::closed`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct ClosedFuture<'a, T> {
    shared: &'a Shared<T>,
    wait: Wait<'a>,
}

impl<T> Future for ClosedFuture<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { shared, wait } = self.get_mut();
        let look = || match shared.count(|handles| handles.receivers) {
            0 => Look::Done(()),
            _ => Look::NotYet,
        };
        poll_task(wait, context, look)
    }
}

/// What is shown says nothing of the values.
macro_rules! debug {
    ($($handle:ident $(<$of:lifetime>)?;)*) => {$(
        impl<T> fmt::Debug for $handle<$($of,)? T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($handle)).finish_non_exhaustive()
            }
        }
    )*};
}

debug! {
    Sender;
    WeakSender;
    Receiver;
    RecvFuture<'_>;
    ClosedFuture<'_>;
}

/// Why a call failed.
pub mod error {
    use core::error::Error;
    use core::fmt;

    /// There is no receiver. Has the value that was not sent.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct SendError<T>(pub T);

    impl<T> fmt::Debug for SendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("SendError(..)")
        }
    }

    impl<T> fmt::Display for SendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("channel closed")
        }
    }

    impl<T> Error for SendError<T> {}

    /// Why no value was received.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum RecvError {
        /// All senders are gone, and this receiver has got all values.
        Closed,
        /// The number of values that were overwritten before this receiver got them. Its next call
        /// returns the oldest value that is left.
        Lagged(u64),
    }

    /// Why no value was received at once.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum TryRecvError {
        /// No value is there yet.
        Empty,
        /// All senders are gone, and this receiver has got all values.
        Closed,
        /// The number of values that were overwritten before this receiver got them. Its next call
        /// returns the oldest value that is left.
        Lagged(u64),
    }

    impl fmt::Display for RecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                Self::Closed => f.write_str("channel closed"),
                Self::Lagged(missed) => write!(f, "channel lagged by {missed}"),
            }
        }
    }

    impl fmt::Display for TryRecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                Self::Empty => f.write_str("channel empty"),
                Self::Closed => f.write_str("channel closed"),
                Self::Lagged(missed) => write!(f, "channel lagged by {missed}"),
            }
        }
    }

    impl Error for RecvError {}
    impl Error for TryRecvError {}
}
