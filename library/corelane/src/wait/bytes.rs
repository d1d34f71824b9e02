//! Handles of a queue of byte records that wait.

use core::fmt;
use core::marker::PhantomData;
use std::time::{Duration, Instant};

use super::bell::Look;
use super::sealed::Rings as _;
use super::thread::{Habit, Strategy, Waits};
use super::{Bells, Local};
use crate::bytes::record;
#[doc(hidden)]
pub use crate::bytes::record::Suspended;
use crate::bytes::{self, ClaimError};
use crate::queue::TryPopError;

/// Makes the handles of a queue of byte records wait: of [`bytes`], or of
/// [`record_ring`](crate::record_ring).
///
/// ```
/// use corelane::{record_ring, wait};
///
/// let (mut tx, mut rx) = wait::bytes::pair(record_ring::queue(4096)?);
/// std::thread::spawn(move || {
///     for n in 0..1000_u16 {
///         tx.push(&n.to_le_bytes()).expect("the consumer is there");
///     }
/// });
/// let mut records = 0;
/// while let Some(record) = rx.pop() {
///     assert_eq!(record.len(), 2);
///     records += 1;
/// }
/// assert_eq!(records, 1000);
/// # Ok::<(), corelane::CapacityError>(())
/// ```
pub fn pair<P: Claims, C: Records>((tx, rx): (P, C)) -> (Producer<P>, Consumer<C>) {
    let (sender, receiver) = Local::pair(alloc::sync::Arc::default());
    (Producer::new(tx, sender), Consumer::new(rx, receiver))
}

/// The sending side of a queue of byte records.
pub trait Claims: record::Claims {}

impl<P: record::Claims> Claims for P {}

/// The receiving side of a queue of byte records.
pub trait Records: record::Records {}

impl<C: record::Records> Records for C {}

/// A sending side of a queue of byte records, whose calls can wait for room. Where the queue allows
/// several: clone it.
pub struct Producer<P = bytes::Producer, B = Local> {
    pub(crate) queue: P,
    habit: Habit,
    pub(crate) bells: B,
}

/// A receiving side of a queue of byte records, whose calls can wait for a record. Where the queue
/// allows several: clone it.
pub struct Consumer<C = bytes::Consumer, B = Local> {
    pub(crate) queue: C,
    habit: Habit,
    pub(crate) bells: B,
}

/// A full queue with room for this number of records isn't empty after a nap of its producers.
const MANY: usize = 512;

impl<P: Claims, B: Bells> Producer<P, B> {
    /// Claims room for a record of `len` bytes: see [`bytes::Producer::try_claim`]. Waits while
    /// there is none.
    ///
    /// Until the claim ends, consumers may have to wait for records behind it, and for some in
    /// front of it. So don't wait while you hold a claim: read from a socket first, and then claim.
    /// While claims of different lengths wait for room, a short claim may wait longer than
    /// necessary.
    ///
    /// # Errors
    ///
    /// [`TooLarge`](ClaimError::TooLarge), or [`Closed`](ClaimError::Closed) if there is no room
    /// and all consumers are gone.
    #[inline(always)] // as the queue's own
    pub fn claim(&mut self, len: usize) -> Result<Claim<'_, P, B>, ClaimError> {
        self.claim_by(len, None)
    }

    /// As [`claim`](Self::claim), for at most `timeout`.
    ///
    /// # Errors
    ///
    /// [`Full`](ClaimError::Full) when the time is over, or as [`claim`](Self::claim).
    pub fn claim_timeout(
        &mut self,
        len: usize,
        timeout: Duration,
    ) -> Result<Claim<'_, P, B>, ClaimError> {
        // A time beyond what the clock can tell never comes.
        self.claim_by(len, Instant::now().checked_add(timeout))
    }

    /// As [`claim`](Self::claim), without waiting.
    ///
    /// # Errors
    ///
    /// As [`bytes::Producer::try_claim`].
    #[inline(always)] // as the queue's own
    pub fn try_claim(&mut self, len: usize) -> Result<Claim<'_, P, B>, ClaimError> {
        let allocated = allocate(&mut self.queue, len, &self.bells)?;
        Ok(self.claimed(allocated, len))
    }

    #[inline(always)] // as the queue's own
    fn claim_by(
        &mut self,
        len: usize,
        until: Option<Instant>,
    ) -> Result<Claim<'_, P, B>, ClaimError> {
        let allocated = match allocate(&mut self.queue, len, &self.bells) {
            Err(ClaimError::Full | ClaimError::Busy) => self.wait_for_room(len, until)?,
            done => done?,
        };
        Ok(self.claimed(allocated, len))
    }

    #[cold]
    #[inline(never)]
    fn wait_for_room(
        &mut self,
        len: usize,
        until: Option<Instant>,
    ) -> Result<P::Allocated, ClaimError> {
        let Self { queue, habit, bells } = self;
        // Producers of a full queue get room record by record. To wake one for each costs more than
        // the records do, so they look from time to time before they sleep.
        let naps = habit.strategy == Strategy::Adaptive && queue.most_records(len) >= MANY;
        // Each call that makes room rings the bell, so there is no need to look again soon when the
        // queue is busy.
        let mut look = || match allocate(queue, len, bells) {
            Err(ClaimError::Full | ClaimError::Busy) => Look::NotYet,
            done => Look::Done(done),
        };
        let waited = naps.then(|| bells.room().nap(until, &mut look)).flatten();
        let waited = waited.or_else(|| habit.wait(bells.room(), until, look));
        if B::HAS_SEVERAL {
            // One call of `ring` may be for room for several producers.
            bells.room().ring_and_catch();
        }
        waited.unwrap_or(Err(ClaimError::Full))
    }

    #[inline(always)] // as the queue's own
    pub(crate) fn claimed(&mut self, allocated: P::Allocated, len: usize) -> Claim<'_, P, B> {
        let after = RingsAfterClaim(&mut self.bells, PhantomData);
        Claim::new(&mut self.queue, allocated, len, after)
    }

    /// Goes on with a claim of this handle. Not stable.
    ///
    /// # Safety
    ///
    /// The claim is the last one of this handle, and has not been resumed.
    #[doc(hidden)]
    pub unsafe fn resume(&mut self, claim: Suspended<P::Allocated>) -> Claim<'_, P, B> {
        self.claimed(claim.place, claim.len)
    }

    /// Appends a copy of `bytes` as a record. Waits while there is no room.
    ///
    /// # Errors
    ///
    /// As [`claim`](Self::claim).
    #[inline(always)] // as the queue's own
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ClaimError> {
        self.claim(bytes.len()).map(|claim| claim.commit_copy(bytes))
    }

    /// As [`push`](Self::push), without waiting.
    ///
    /// # Errors
    ///
    /// As [`try_claim`](Self::try_claim).
    #[inline(always)] // as the queue's own
    pub fn try_push(&mut self, bytes: &[u8]) -> Result<(), ClaimError> {
        self.try_claim(bytes.len()).map(|claim| claim.commit_copy(bytes))
    }

    /// Length of the longest record, in bytes.
    #[inline(always)] // as the queue's own
    pub fn max_len(&self) -> usize {
        self.queue.max_len()
    }
}

impl<C: Records, B: Bells> Consumer<C, B> {
    /// Removes the oldest record, and lends its bytes. Waits while there is none. `None` if there
    /// is none and all producers are gone. Behind a claim that was forgotten it waits for ever.
    #[inline(always)] // as the queue's own
    pub fn pop(&mut self) -> Option<Record<'_, C, B>> {
        self.pop_by(None).ok()
    }

    /// As [`pop`](Self::pop), for at most `timeout`.
    ///
    /// # Errors
    ///
    /// [`Empty`](TryPopError::Empty) when the time is over, [`Closed`](TryPopError::Closed) if all
    /// producers are gone.
    pub fn pop_timeout(&mut self, timeout: Duration) -> Result<Record<'_, C, B>, TryPopError> {
        // A time beyond what the clock can tell never comes.
        self.pop_by(Instant::now().checked_add(timeout))
    }

    /// As [`pop`](Self::pop), without waiting.
    ///
    /// # Errors
    ///
    /// As [`bytes::Consumer::try_pop`].
    #[inline(always)] // as the queue's own
    pub fn try_pop(&mut self) -> Result<Record<'_, C, B>, TryPopError> {
        let found = reserve(&mut self.queue, &self.bells)?;
        Ok(self.record(found))
    }

    #[inline(always)] // as the queue's own
    fn pop_by(&mut self, until: Option<Instant>) -> Result<Record<'_, C, B>, TryPopError> {
        let found = match reserve(&mut self.queue, &self.bells) {
            Err(TryPopError::Empty | TryPopError::Busy) => self.wait_for_record(until)?,
            done => done?,
        };
        Ok(self.record(found))
    }

    #[cold]
    #[inline(never)]
    fn wait_for_record(
        &mut self,
        until: Option<Instant>,
    ) -> Result<(C::Found, usize), TryPopError> {
        let Self { queue, habit, bells } = self;
        let mut looks = 0;
        while until.is_none() && habit.pause_to_spin(bells.items(), looks) {
            looks += 1;
            // As in `Consumer::wait_to_pop` of items.
            let found = match reserve(queue, bells) {
                Err(TryPopError::Empty) => Look::NotYet::<()>,
                Err(TryPopError::Busy) => Look::Busy,
                done => return done,
            };
            let _ = habit.waits.count(found);
        }
        // Each call that makes a record ready rings the bell, so there is no need to look again
        // soon when the queue is busy.
        let look = || match reserve(queue, bells) {
            Err(TryPopError::Empty | TryPopError::Busy) => Look::NotYet,
            done => Look::Done(done),
        };
        let waited = habit.wait(bells.items(), until, look);
        if B::HAS_SEVERAL {
            // A claim that ends may be in front of several records that other producers have
            // committed before.
            bells.items().ring_and_catch();
        }
        waited.unwrap_or(Err(TryPopError::Empty))
    }

    /// Goes on with a record of this handle. Not stable.
    ///
    /// # Safety
    ///
    /// The record is the last one of this handle, and has not been resumed.
    #[doc(hidden)]
    pub unsafe fn resume(&mut self, record: Suspended<C::Found>) -> Record<'_, C, B> {
        self.record((record.place, record.len))
    }

    #[inline(always)] // as the queue's own
    pub(crate) fn record(&mut self, found: (C::Found, usize)) -> Record<'_, C, B> {
        Record::new(&mut self.queue, found, RingsAfterRecord(&mut self.bells))
    }
}

/// Allocates, and rings the bell for records: if the rest of a block is left unused, the records
/// behind it may become ready.
#[inline(always)]
fn allocate<P: Claims>(
    queue: &mut P,
    len: usize,
    bells: &impl Bells,
) -> Result<P::Allocated, ClaimError> {
    let allocated = queue.allocate(len);
    if P::CHANGES_IN_VAIN {
        bells.items().ring_and_catch();
    }
    allocated
}

/// Takes a record, and rings the bell for room if unused room in front of it has come back. The
/// record's own room comes back only when it is dropped, which may be much later.
#[inline(always)]
fn reserve<C: Records>(
    queue: &mut C,
    bells: &impl Bells,
) -> Result<(C::Found, usize), TryPopError> {
    let mut freed = false;
    let found = queue.reserve(&mut freed);
    if freed {
        match found {
            // A panic would lose the record.
            Ok(_) => bells.room().ring_and_catch(),
            Err(_) => bells.room().ring(),
        }
    }
    found
}

/// The calls that both sides have.
macro_rules! both {
    ($($side:ident of $queue:ident)*) => {$(
        impl<Q: $queue, B: Bells> $side<Q, B> {
            pub(crate) fn new(queue: Q, bells: B) -> Self {
                Self { queue, habit: Habit::new(), bells }
            }

            /// Bytes that the queue always has room for: see [`bytes::Producer::capacity`].
            pub fn capacity(&self) -> usize {
                self.queue.capacity()
            }

            /// Whether all handles of the other side have been dropped.
            pub fn is_closed(&self) -> bool {
                self.queue.is_closed()
            }

            /// Chooses how this handle's calls wait. Clones wait the same way.
            #[must_use]
            pub fn strategy(self, strategy: Strategy) -> Self {
                Self { habit: Habit::by(strategy), ..self }
            }

            /// What the waits of this handle have cost so far.
            pub fn waits(&self) -> Waits {
                self.habit.waits
            }
        }

        impl<Q: Clone, B: Clone> Clone for $side<Q, B> {
            fn clone(&self) -> Self {
                let habit = Habit::by(self.habit.strategy);
                Self { queue: self.queue.clone(), habit, bells: self.bells.clone() }
            }
        }

        impl<Q: $queue, B: Bells> fmt::Debug for $side<Q, B> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($side)).field("capacity", &self.capacity()).finish_non_exhaustive()
            }
        }
    )*};
}

both! { Producer of Claims Consumer of Records }

/// Rings the bells when it is dropped, which is after the claim. Exclusive, so that it may move to
/// another thread.
#[doc(hidden)]
#[derive(Debug)]
pub struct RingsAfterClaim<'a, P: Claims, B: Bells>(&'a mut B, PhantomData<fn(P)>);

impl<P: Claims, B: Bells> Drop for RingsAfterClaim<'_, P, B> {
    #[inline(always)] // as the queue's own
    fn drop(&mut self) {
        if P::CHANGES_IN_VAIN {
            self.0.items().ring_and_catch();
            // An aborted claim may have been in front of committed records, and gives its room
            // back.
            self.0.room().ring();
        } else {
            self.0.items().ring();
        }
    }
}

/// Rings the bell when it is dropped, which is after the record.
#[doc(hidden)]
#[derive(Debug)]
pub struct RingsAfterRecord<'a, B: Bells>(&'a mut B);

impl<B: Bells> Drop for RingsAfterRecord<'_, B> {
    #[inline(always)] // as the queue's own
    fn drop(&mut self) {
        self.0.room().ring();
    }
}

/// Room for a record, from [`Producer::claim`].
pub type Claim<'a, P = bytes::Producer, B = Local> = bytes::Claim<'a, P, RingsAfterClaim<'a, P, B>>;

/// A record in place, from [`Consumer::pop`].
pub type Record<'a, C = bytes::Consumer, B = Local> = bytes::Record<'a, C, RingsAfterRecord<'a, B>>;
