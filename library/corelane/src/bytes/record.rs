//! Claims and records: what the queues of byte records have in common.

use core::fmt;
use core::mem::{self, ManuallyDrop};
use core::ops::{Deref, DerefMut};
use core::slice;

use super::{Consumer, Producer};
use crate::queue::TryPopError;

/// A sending side. The two halves of a claim are apart, so that a waiting call holds no room.
pub trait Claims {
    /// What was allocated for a record.
    type Allocated;
    /// The same, owned by a claim. Its drop gives the room up.
    type Room<'a>: Room<Allocated = Self::Allocated>
    where
        Self: 'a;
    /// Whether a claim that finds no room, or is given up, can make records ready or give room
    /// back.
    const CHANGES_IN_VAIN: bool;

    /// The first half: allocates room for `len` bytes.
    fn allocate(&mut self, len: usize) -> Result<Self::Allocated, ClaimError>;
    /// The second half.
    ///
    /// # Safety
    ///
    /// The last call of `allocate` has given `allocated`, and the room is not asked for more bytes.
    unsafe fn room(&mut self, allocated: Self::Allocated) -> Self::Room<'_>;
    fn capacity(&self) -> usize;
    fn is_closed(&self) -> bool;
    fn max_len(&self) -> usize;

    /// Most records of `len` bytes that the queue has room for, or a little more.
    fn most_records(&self, len: usize) -> usize {
        self.capacity() / len.max(1)
    }
}

/// Room for a record.
///
/// # Safety
///
/// The bytes are initialised, and nothing else accesses them until the room is dropped or
/// committed.
pub unsafe trait Room {
    /// As [`Claims::Allocated`].
    type Allocated;

    /// The first of the `len` bytes that were allocated.
    fn bytes(&self, len: usize) -> *mut u8;
    /// Appends the first `len` bytes as a record.
    fn commit(self, len: usize);
    /// Keeps the room, which [`Claims::room`] makes again.
    fn suspend(self) -> Self::Allocated;
}

/// A receiving side, as [`Claims`].
///
/// # Safety
///
/// From [`reserve`](Self::reserve) to [`release`](Self::release) [`bytes`](Self::bytes) gives
/// initialised bytes that no producer writes.
pub unsafe trait Records {
    /// Where a record is.
    type Found: Copy;

    /// The first half of a pop: finds the oldest record, and its length. Sets `freed` if it has
    /// given room back in front of that, also if it finds no record.
    fn reserve(&mut self, freed: &mut bool) -> Result<(Self::Found, usize), TryPopError>;
    /// The first of the record's `len` bytes.
    ///
    /// # Safety
    ///
    /// The last call of `reserve` has given both, and the record was not released.
    unsafe fn bytes(&self, found: Self::Found, len: usize) -> *const u8;
    /// Gives the record's room back.
    ///
    /// # Safety
    ///
    /// As for `bytes`.
    unsafe fn release(&mut self, found: Self::Found, len: usize);
    fn capacity(&self) -> usize;
    fn is_closed(&self) -> bool;
}

/// A claim or a record without its borrow. Not stable.
#[doc(hidden)]
#[derive(Debug)]
pub struct Suspended<A> {
    pub(crate) place: A,
    pub(crate) len: usize,
}

impl<A> Suspended<A> {
    /// Bytes that were claimed, or that the record has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Room for a record, from [`Producer::try_claim`]. Dropping a claim [aborts](Self::abort) it.
///
/// The bytes are those that were in the ring before: zeros or parts of old records. The first byte
/// is aligned to 16 bytes.
///
/// # Leaks
///
/// If a claim is forgotten ([`core::mem::forget`]), no record behind it is ever popped. Pops say
/// [`Busy`](TryPopError::Busy) for ever. In the end claims say busy or full for ever.
///
/// # Other queues
///
/// The first byte of a claim of [`record_ring`](crate::record_ring) is aligned to 8 bytes. If such
/// a claim is dropped or forgotten, the queue is as it was.
#[must_use = "dropping a claim aborts it"]
pub struct Claim<'a, P: Claims + 'a = Producer, A = ()> {
    room: P::Room<'a>,
    len: usize,
    /// Bytes written through [`std::io::Write`].
    #[cfg(feature = "std")]
    written: usize,
    /// Dropped after the room.
    after: A,
}

impl<'a, P: Claims, A> Claim<'a, P, A> {
    /// Of what the last call of `allocate` has given for `len` bytes.
    #[inline(always)]
    pub(crate) fn new(queue: &'a mut P, allocated: P::Allocated, len: usize, after: A) -> Self {
        Self {
            // SAFETY: this claim asks for `len` bytes at most.
            room: unsafe { queue.room(allocated) },
            len,
            #[cfg(feature = "std")]
            written: 0,
            after,
        }
    }

    /// Appends the record.
    #[inline(always)]
    pub fn commit(self) {
        let len = self.len;
        self.commit_len(len);
    }

    /// Appends the first `len` bytes as a record. The rest is left unused.
    ///
    /// # Panics
    ///
    /// If fewer bytes were claimed. Then the claim is aborted.
    #[inline(always)]
    pub fn commit_len(self, len: usize) {
        assert!(len <= self.len, "{len} bytes to commit of {} that were claimed", self.len);
        let Self { room, after: _after, .. } = self;
        room.commit(len);
    }

    /// Appends the bytes that were written through [`std::io::Write`] as a record.
    #[cfg(feature = "std")]
    pub fn commit_written(self) {
        let written = self.written;
        self.commit_len(written);
    }

    /// Appends a copy of `bytes`, which are as long as the claim, as a record.
    #[inline(always)]
    pub(crate) fn commit_copy(mut self, bytes: &[u8]) {
        self.copy_from_slice(bytes);
        self.commit();
    }

    /// Keeps the room without its borrow, for calls of other languages: see
    /// [`resume`](crate::wait::bytes::Producer::resume). Not stable.
    #[doc(hidden)]
    pub fn suspend(self) -> Suspended<P::Allocated> {
        let Self { room, len, after, .. } = self;
        mem::forget(after);
        Suspended { place: room.suspend(), len }
    }

    /// Gives the room up. The room comes back when a later [`try_pop`](Consumer::try_pop) passes
    /// it, or when a claim finds no other room and only aborted claims are in front of it.
    #[inline]
    pub fn abort(self) {}
}

impl<P: Claims, A> Deref for Claim<'_, P, A> {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: the contract of `Room`, of which this claim has `len` bytes.
        unsafe { slice::from_raw_parts(self.room.bytes(self.len), self.len) }
    }
}

impl<P: Claims, A> DerefMut for Claim<'_, P, A> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`.
        unsafe { slice::from_raw_parts_mut(self.room.bytes(self.len), self.len) }
    }
}

/// Each write continues where the last one ended, from the start of the claim on. Bytes that don't
/// fit are not written.
///
/// ```
/// use std::io::Write;
///
/// use corelane::bytes;
///
/// let (mut tx, mut rx) = bytes::queue(4096)?;
/// let mut claim = tx.try_claim(tx.max_len())?;
/// write!(claim, "{} items in {} ms", 7, 3)?;
/// claim.commit_written();
/// assert_eq!(*rx.try_pop()?, *b"7 items in 3 ms");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "std")]
impl<P: Claims, A> std::io::Write for Claim<'_, P, A> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.written;
        let n = (&mut self[written..]).write(bytes)?;
        self.written += n;
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A record in place, from [`Consumer::try_pop`]. Dropping a record gives its room back.
///
/// The first byte is aligned to 16 bytes. Other consumers may pop other records meanwhile.
///
/// # Leaks
///
/// If a record is forgotten ([`core::mem::forget`]), its block is never reused. In the end claims
/// say [`Busy`](ClaimError::Busy) for ever.
///
/// # Other queues
///
/// The first byte of a record of [`record_ring`](crate::record_ring) is aligned to 8 bytes. If such
/// a record is forgotten, it is popped again.
pub struct Record<'a, C: Records = Consumer, A = ()> {
    queue: &'a mut C,
    found: C::Found,
    len: usize,
    /// Dropped after the record.
    _after: A,
}

impl<'a, C: Records, A> Record<'a, C, A> {
    /// Of what the last call of `reserve` has given.
    #[inline(always)]
    pub(crate) fn new(queue: &'a mut C, (found, len): (C::Found, usize), after: A) -> Self {
        Self { queue, found, len, _after: after }
    }

    /// As [`Claim::suspend`].
    #[doc(hidden)]
    pub fn suspend(self) -> Suspended<C::Found> {
        let record = ManuallyDrop::new(self);
        Suspended { place: record.found, len: record.len }
    }
}

impl<A> Record<'_, crate::record_ring::Consumer, A> {
    /// Moves behind the record without giving it back. Not stable.
    #[doc(hidden)]
    pub fn keep(self) -> crate::record_ring::Passed {
        let record = ManuallyDrop::new(self);
        // SAFETY: the record isn't used any more, so its borrow is free.
        let queue = unsafe { core::ptr::read(&raw const record.queue) };
        queue.pass(record.len)
    }
}

impl<C: Records, A> Drop for Record<'_, C, A> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the record was reserved, and is released once.
        unsafe { self.queue.release(self.found, self.len) };
    }
}

impl<C: Records, A> Deref for Record<'_, C, A> {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: the contract of `Records`. The record is released by its drop.
        unsafe { slice::from_raw_parts(self.queue.bytes(self.found, self.len), self.len) }
    }
}

impl<P: Claims, A> fmt::Debug for Claim<'_, P, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<C: Records, A> fmt::Debug for Record<'_, C, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").field("len", &self.len).finish_non_exhaustive()
    }
}

/// Why there is no room for a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimError {
    /// There is no room, as far as this side can see.
    Full,
    /// There is no room until popped records are dropped.
    Busy,
    /// There is no room, and all consumers are gone.
    Closed,
    /// No record may be that long, even in an empty queue.
    TooLarge {
        /// Bytes asked for.
        len: usize,
        /// Bytes of the longest record.
        most: usize,
    },
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the queue is full"),
            Self::Busy => f.write_str("the queue is busy"),
            Self::Closed => f.write_str("the consumer is gone"),
            Self::TooLarge { len, most } => {
                write!(f, "a record of {len} bytes is too large here, the longest has {most}")
            }
        }
    }
}

impl core::error::Error for ClaimError {}

/// Allocates for [`TooLarge`](ClaimError::TooLarge) only.
#[cfg(feature = "std")]
impl From<ClaimError> for std::io::Error {
    fn from(error: ClaimError) -> Self {
        use std::io::ErrorKind;
        match error {
            ClaimError::Full | ClaimError::Busy => ErrorKind::WouldBlock.into(),
            ClaimError::Closed => ErrorKind::BrokenPipe.into(),
            ClaimError::TooLarge { .. } => Self::new(ErrorKind::InvalidInput, error),
        }
    }
}
