//! Handles of a queue of byte records that wait.

use core::fmt;
use core::ops::{Deref, DerefMut};
use std::io;
use std::time::{Duration, Instant};

use super::Local;
use super::bell::{Bell, Look};
use super::sealed::Bells as _;
use super::thread::{Looks, Strategy, Waits};
use crate::bytes::{self, ClaimError};
use crate::queue::TryPopError;
use crate::region::Run;

/// Makes the handles of a queue of byte records wait.
///
/// ```
/// use corelane::{bytes, wait};
///
/// let (mut tx, mut rx) = wait::bytes::pair(bytes::queue(4096)?);
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
pub fn pair((tx, rx): (bytes::Producer, bytes::Consumer)) -> (Producer, Consumer) {
    let (sender, receiver) = Local::pair(alloc::sync::Arc::default());
    let looks = Looks::new();
    (Producer { queue: tx, looks, bells: sender }, Consumer { queue: rx, looks, bells: receiver })
}

/// A sending side of a queue of byte records, whose calls can wait for room. There may be several: clone it.
pub struct Producer {
    queue: bytes::Producer,
    looks: Looks,
    bells: Local,
}

/// A receiving side of a queue of byte records, whose calls can wait for a record. There may be several: clone it.
pub struct Consumer {
    queue: bytes::Consumer,
    looks: Looks,
    bells: Local,
}

impl Producer {
    /// Claims room for a record of `len` bytes: see [`bytes::Producer::claim`]. Waits while there is none.
    ///
    /// Consumers may wait for records until the claim ends, also for some in front of it: don't wait for anything meanwhile. Read
    /// from a socket first, and then claim. While claims of many lengths wait for room, a short one may wait longer than it had to.
    ///
    /// # Errors
    ///
    /// [`TooLarge`](ClaimError::TooLarge), or [`Closed`](ClaimError::Closed) if there is no room and all consumers are gone.
    pub fn claim(&mut self, len: usize) -> Result<Claim<'_>, ClaimError> {
        self.claim_by(len, None)
    }

    /// As [`claim`](Self::claim), for at most so long.
    ///
    /// # Errors
    ///
    /// [`Full`](ClaimError::Full) when the time is over, or as [`claim`](Self::claim).
    pub fn claim_timeout(
        &mut self,
        len: usize,
        timeout: Duration,
    ) -> Result<Claim<'_>, ClaimError> {
        // A time beyond what the clock can tell never comes.
        self.claim_by(len, Instant::now().checked_add(timeout))
    }

    /// As [`claim`](Self::claim), without waiting.
    ///
    /// # Errors
    ///
    /// As [`bytes::Producer::claim`].
    pub fn try_claim(&mut self, len: usize) -> Result<Claim<'_>, ClaimError> {
        let run = allocate(&mut self.queue, len, &self.bells)?;
        Ok(Claim::new(self.queue.claimed(run, len), &self.bells))
    }

    fn claim_by(&mut self, len: usize, until: Option<Instant>) -> Result<Claim<'_>, ClaimError> {
        let Self { queue, looks, bells } = self;
        // Whatever makes room rings, so busy is no reason to look again soon.
        let mut look = || match allocate(queue, len, bells) {
            Err(ClaimError::Full | ClaimError::Busy) => Look::NotYet,
            done => Look::Done(done),
        };
        let run = match look() {
            Look::Done(done) => done?,
            _ => {
                let waited = looks.wait(bells.room(), until, look);
                // Room may have come for several at once, with one ring.
                bells.room().ring();
                waited.unwrap_or(Err(ClaimError::Full))?
            }
        };
        Ok(Claim::new(queue.claimed(run, len), bells))
    }

    /// Appends a copy of `bytes` as a record. Waits while there is no room.
    ///
    /// # Errors
    ///
    /// As [`claim`](Self::claim).
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ClaimError> {
        let mut claim = self.claim(bytes.len())?;
        claim.copy_from_slice(bytes);
        claim.commit();
        Ok(())
    }

    /// Length of the longest record, in bytes.
    pub fn max_len(&self) -> usize {
        self.queue.max_len()
    }
}

impl Consumer {
    /// Removes the oldest record, and lends its bytes. Waits while there is none. `None` if there is none and all producers are
    /// gone.
    pub fn pop(&mut self) -> Option<Record<'_>> {
        self.pop_by(None).ok()
    }

    /// As [`pop`](Self::pop), for at most so long.
    ///
    /// # Errors
    ///
    /// [`Empty`](TryPopError::Empty) when the time is over, [`Closed`](TryPopError::Closed) if all producers are gone.
    pub fn pop_timeout(&mut self, timeout: Duration) -> Result<Record<'_>, TryPopError> {
        // A time beyond what the clock can tell never comes.
        self.pop_by(Instant::now().checked_add(timeout))
    }

    /// As [`pop`](Self::pop), without waiting.
    ///
    /// # Errors
    ///
    /// As [`bytes::Consumer::try_pop`].
    pub fn try_pop(&mut self) -> Result<Record<'_>, TryPopError> {
        let (run, len) = reserve(&mut self.queue, &self.bells)?;
        Ok(Record::new(self.queue.record(run, len), &self.bells))
    }

    fn pop_by(&mut self, until: Option<Instant>) -> Result<Record<'_>, TryPopError> {
        let Self { queue, looks, bells } = self;
        // Whatever makes a record ready rings, so busy is no reason to look again soon.
        let mut look = || match reserve(queue, bells) {
            Err(TryPopError::Empty | TryPopError::Busy) => Look::NotYet,
            done => Look::Done(done),
        };
        let (run, len) = match look() {
            Look::Done(done) => done?,
            _ => {
                let waited = looks.wait(bells.items(), until, look);
                // A claim that ends may be in front of several records, which others have committed before.
                bells.items().ring();
                waited.unwrap_or(Err(TryPopError::Empty))?
            }
        };
        Ok(Record::new(queue.record(run, len), bells))
    }
}

/// Allocates, and rings for records: where the rest of a block is left unused, those behind it may become ready.
fn allocate(queue: &mut bytes::Producer, len: usize, bells: &Local) -> Result<Run, ClaimError> {
    let allocated = queue.allocate(len);
    bells.items().ring();
    allocated
}

/// Takes a record, or rings for room: what is unused in front of a record that is not ready comes back.
fn reserve(queue: &mut bytes::Consumer, bells: &Local) -> Result<(Run, usize), TryPopError> {
    queue.reserve().inspect_err(|_| bells.room().ring())
}

/// The calls that both sides have.
macro_rules! both {
    ($($side:ident)*) => {$(
        impl $side {
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
                Self { looks: Looks::by(strategy), ..self }
            }

            /// What the waits of this handle have cost so far.
            pub fn waits(&self) -> Waits {
                self.looks.waits
            }
        }

        impl Clone for $side {
            fn clone(&self) -> Self {
                let looks = Looks::by(self.looks.strategy);
                Self { queue: self.queue.clone(), looks, bells: self.bells.clone() }
            }
        }

        impl fmt::Debug for $side {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($side)).field("capacity", &self.capacity()).finish_non_exhaustive()
            }
        }
    )*};
}

both! { Producer Consumer }

/// Rings when it is dropped, which is after the claim or record before it.
struct Rings<'a>(&'a Bell, Option<&'a Bell>);

impl Drop for Rings<'_> {
    fn drop(&mut self) {
        self.0.ring();
        if let Some(other) = self.1 {
            other.ring();
        }
    }
}

/// Room for a record, from [`Producer::claim`]: see [`bytes::Claim`].
#[must_use = "dropping a claim aborts it"]
pub struct Claim<'a> {
    claim: bytes::Claim<'a>,
    rings: Rings<'a>,
}

impl<'a> Claim<'a> {
    fn new(claim: bytes::Claim<'a>, bells: &'a Local) -> Self {
        // An aborted claim may have been in front of committed records, and gives its room back.
        Self { claim, rings: Rings(bells.items(), Some(bells.room())) }
    }

    /// Appends the record.
    pub fn commit(self) {
        let Self { claim, rings: _rings } = self;
        claim.commit();
    }

    /// Appends the first `len` bytes as a record. The rest is left unused.
    ///
    /// # Panics
    ///
    /// If fewer bytes were claimed. Then the claim is aborted.
    pub fn commit_len(self, len: usize) {
        let Self { claim, rings: _rings } = self;
        claim.commit_len(len);
    }

    /// Appends the bytes that were written through [`io::Write`] as a record.
    pub fn commit_written(self) {
        let Self { claim, rings: _rings } = self;
        claim.commit_written();
    }

    /// Gives the room up.
    pub fn abort(self) {}
}

impl Deref for Claim<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.claim
    }
}

impl DerefMut for Claim<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.claim
    }
}

impl io::Write for Claim<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.claim.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A record in place, from [`Consumer::pop`]: see [`bytes::Record`].
pub struct Record<'a> {
    record: bytes::Record<'a>,
    _rings: Rings<'a>,
}

impl<'a> Record<'a> {
    fn new(record: bytes::Record<'a>, bells: &'a Local) -> Self {
        Self { record, _rings: Rings(bells.room(), None) }
    }
}

impl Deref for Record<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.record
    }
}

impl fmt::Debug for Claim<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.claim.fmt(f)
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.record.fmt(f)
    }
}
