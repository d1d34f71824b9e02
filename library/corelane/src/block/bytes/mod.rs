//! `bbq-bytes`: the block-based bounded queue for byte records of any length.
//!
//! The ring is that of [`block::shared`](crate::block::shared), made of granules of 16 bytes. A record takes as many
//! granules as it needs, contiguous in one block. A producer claims a record, writes it in place, and commits or aborts
//! it. A consumer reads the record in place, and then gives its granules back.
//!
#![doc = advice!(bbq_bytes)]
//!
//! Between claim and commit no record behind the claim is popped, nor one in front of it in the same block. While a
//! consumer holds a record, the record's block is not reused.
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free, first in first out by the order of claims (linearizable but for [answers out of date](crate::TryPushError::Full)) |
//! | capacity | N bytes: as asked, rounded up to whole blocks. A claim finds room whenever no record is held and, with this claim, at most N bytes are inside. Each record counts as its length rounded up to 16 bytes, and as 16 if it is empty. An aborted claim, and room lost to others (below), count until the records before them are popped. The ring has 2·N bytes: a record that doesn't fit into the rest of a block leaves this rest unused, and room comes back a block at a time |
//! | blocks | of S bytes, with as many granules as [`block::shared`](crate::block::shared) has slots in a block. [`Config::block`] sets S instead, rounded up to a power of two, from 16 (or N/65536) on |
//! | longest record | the smaller of S bytes and 2 GiB − 1: [`Producer::max_len`] |
//! | room lost to others | if other claims overtake a claim that would have fitted into a block, it leaves the rest of the block unused: less than its own length, at most once a block. Short claims may overtake a long claim again and again: give long records a queue of their own |
//! | overhead | 4 bytes for each 16 bytes of the ring, 384 bytes for each block |
//! | alignment | 16 bytes |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | operations | one fetch-and-add for a claim, and one for its commit or abort; one compare-and-swap for a pop, and one fetch-and-add for the drop of its record |
//! | paper | J. Wang: *High Performance and Dependable Asynchronous Communication on Multi-Core Systems* (2024), §2.4.4, on §2.3, §2.4, retry-new |
//!
//! # Departures from the paper
//!
//! All those of [`block::shared`](crate::block::shared), except that no read is left out here, and:
//!
//! - Lengths are not in front of the bytes but in an array of their own. A consumer reads a length before it knows that
//!   no other consumer has taken the record. By then a producer may be writing other bytes in that place. With the
//!   length among the bytes this read would be a data race, even though the consumer's compare-and-swap fails
//!   afterwards.
//! - Granules to be skipped have an entry with their number, marked by a bit of its own. So a record may have length
//!   zero, and a claim may be aborted, or committed with fewer bytes than claimed. A consumer that skips granules adds
//!   them to `consumed`, as it adds a record. The paper's sets `consumed` to the block's size, but other consumers may
//!   still be reading in that block.
//! - A pop also takes the granules to be skipped behind its record. So a block comes back with its last record, and not
//!   with the next pop.
//! - A claim that doesn't fit into the rest of a block first checks whether the next block is free. If not, the rest
//!   stays for shorter records. The paper's leaves it unused.
//! - A producer that fills the rest of a block with a dummy has added up to a block more to `allocated` than was left.
//!   The additional bits of the offset, as in [`block::shared`](crate::block::shared), suffice for that: each handle
//!   does so at most once a lap.
//!
//! ```
//! use corelane::{Config, block::bytes};
//!
//! let (mut tx, mut rx) = bytes::queue_with(Config::new(1 << 16).block(1500))?;
//! let mut claim = tx.try_claim(1500)?;
//! let received = claim.len() - 1000; // a read from a socket, say
//! claim[..received].fill(7);
//! claim.commit_len(received);
//!
//! let record = rx.try_pop()?;
//! assert_eq!(*record, [7; 500]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod granules;
mod items;
mod sides;

#[doc(hidden)]
pub use items::{BbqBytes, ItemConsumer, ItemProducer};

use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::slice;

use crate::block::layout::Nothing;
use crate::queue::{Backing, CapacityError, Config, TryPopError, handles};
use crate::region::Run;
use granules::GRANULE;
use sides::{Receiver, Sender, both_ends};

/// A queue with room for at least `capacity` bytes, between any number of threads on either side.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue(capacity: usize) -> Result<(Producer, Consumer), CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options. Capacity and block are in bytes.
///
/// `block` is the length of a block: that of the longest record that must fit.
///
/// # Errors
///
/// As [`queue`]; also if two blocks of that length are too large for memory.
pub fn queue_with(config: Config) -> Result<(Producer, Consumer), CapacityError> {
    // A record that doesn't fit into the rest of a block leaves this rest unused. But then the two blocks hold more
    // than one block of records. So at least half of the ring is filled before a claim finds no room.
    let (sender, receiver) = both_ends(config, |n, size| 2 * n.next_multiple_of(size))?;
    Ok((Producer { sender }, Consumer { receiver }))
}

/// A sending side. There may be several: clone it.
#[derive(Clone)]
pub struct Producer {
    sender: Sender<u8>,
}

/// A receiving side. There may be several: clone it.
#[derive(Clone)]
pub struct Consumer {
    receiver: Receiver<u8>,
}

impl Producer {
    /// What kind of memory the queue lives in.
    pub fn backing(&self) -> Backing {
        self.sender.end().backing()
    }

    /// Claims room for a record of `len` bytes. The caller writes the record in place, and then commits the claim.
    ///
    /// The claim has a place in the queue: no record behind it is popped before the claim is committed or dropped. The same
    /// holds for records in front of it in the same block.
    ///
    /// # Errors
    ///
    /// [`TooLarge`](ClaimError::TooLarge) if no record may be that long. [`Full`](ClaimError::Full) if there is no
    /// room. [`Busy`](ClaimError::Busy) if there is no room because popped records are still held.
    /// [`Closed`](ClaimError::Closed) if there is no room and all consumers are gone.
    #[inline]
    pub fn try_claim(&mut self, len: usize) -> Result<Claim<'_>, ClaimError> {
        let room = self.allocate(len)?;
        Ok(self.claimed(room))
    }

    /// The first half of a claim.
    #[inline]
    pub(crate) fn allocate(&mut self, len: usize) -> Result<(Run, usize), ClaimError> {
        let most = self.max_len();
        if len > most {
            return Err(ClaimError::TooLarge { len, most });
        }
        let run = self.sender.allocate(len).map_err(|nothing| match nothing {
            _ if self.is_closed() => ClaimError::Closed,
            Nothing::AtAll => ClaimError::Full,
            Nothing::Yet => ClaimError::Busy,
        })?;
        Ok((run, len))
    }

    /// The second half: what was allocated for `len` bytes.
    #[inline]
    pub(crate) fn claimed(&self, (run, len): (Run, usize)) -> Claim<'_> {
        Claim {
            sender: &self.sender,
            run,
            len,
            #[cfg(feature = "std")]
            written: 0,
        }
    }

    /// Appends a copy of `bytes` as a record.
    ///
    /// # Errors
    ///
    /// As [`try_claim`](Self::try_claim).
    #[inline]
    pub fn try_push(&mut self, bytes: &[u8]) -> Result<(), ClaimError> {
        let mut claim = self.try_claim(bytes.len())?;
        claim.copy_from_slice(bytes);
        claim.commit();
        Ok(())
    }

    /// Length of the longest record, in bytes.
    #[inline]
    pub fn max_len(&self) -> usize {
        self.sender.max_len()
    }

    /// Bytes that the queue always has room for. Each record counts as its length rounded up to 16 bytes, and as 16 if
    /// it is empty.
    pub fn capacity(&self) -> usize {
        self.sender.blocks().len() / 2 * GRANULE
    }

    /// Bytes that records take, counted as for [`capacity`](Self::capacity): a snapshot, which other handles may make
    /// outdated at once.
    ///
    /// ```
    /// let (mut tx, mut rx) = corelane::bytes::queue(256)?;
    /// tx.try_push(b"seventeen letters")?;
    /// assert_eq!(tx.len(), 32);
    /// drop(rx.try_pop()?);
    /// assert!(rx.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.sender.blocks().count_filled() * GRANULE
    }

    /// Whether no record is inside, as far as [`len`](Self::len) counts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether all consumers have been dropped.
    ///
    /// `true` also means that all that the dropped handles did happens before this call returns.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.sender.end().peer_is_gone()
    }
}

impl Consumer {
    /// What kind of memory the queue lives in.
    pub fn backing(&self) -> Backing {
        self.receiver.end().backing()
    }

    /// Removes the oldest record, and lends its bytes.
    ///
    /// # Errors
    ///
    /// [`Empty`](TryPopError::Empty) if there is none. [`Busy`](TryPopError::Busy) if there may be a record, but an
    /// earlier claim is neither committed nor dropped. [`Closed`](TryPopError::Closed) if there is none and all
    /// producers are gone.
    #[inline]
    pub fn try_pop(&mut self) -> Result<Record<'_>, TryPopError> {
        let found = self.reserve()?;
        Ok(self.record(found))
    }

    /// The first half of a pop.
    #[inline]
    pub(crate) fn reserve(&mut self) -> Result<(Run, usize), TryPopError> {
        self.receiver.reserve()
    }

    /// The second half: what was reserved.
    #[inline]
    pub(crate) fn record(&self, (run, len): (Run, usize)) -> Record<'_> {
        Record { receiver: &self.receiver, run, len }
    }

    /// Bytes that the queue always has room for: see [`Producer::capacity`].
    pub fn capacity(&self) -> usize {
        self.receiver.blocks().len() / 2 * GRANULE
    }

    /// Bytes that records take: see [`Producer::len`].
    pub fn len(&self) -> usize {
        self.receiver.blocks().count_filled() * GRANULE
    }

    /// Whether a pop may find no record. `true`: at a moment of the call no record could be popped.
    pub fn is_empty(&self) -> bool {
        self.receiver.is_empty()
    }

    /// Whether all producers have been dropped. Records may still be waiting.
    ///
    /// `true` also means that all that the dropped handles did happens before this call returns.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.receiver.end().peer_is_gone()
    }
}

/// Room for a record, from [`Producer::try_claim`]. Dropping a claim [aborts](Self::abort) it.
///
/// The bytes are those that were in the ring before: zeros or parts of old records. The first byte is aligned to 16
/// bytes.
///
/// # Leaks
///
/// If a claim is forgotten ([`core::mem::forget`]), no record behind it is ever popped. Pops say
/// [`Busy`](TryPopError::Busy) for ever. In the end claims say busy or full for ever.
#[must_use = "dropping a claim aborts it"]
pub struct Claim<'a> {
    sender: &'a Sender<u8>,
    run: Run,
    len: usize,
    /// Bytes written through [`std::io::Write`].
    #[cfg(feature = "std")]
    written: usize,
}

impl Claim<'_> {
    /// Appends the bytes that were written through [`std::io::Write`] as a record.
    #[cfg(feature = "std")]
    pub fn commit_written(self) {
        let written = self.written;
        self.commit_len(written);
    }

    /// Appends the record.
    #[inline]
    pub fn commit(self) {
        let len = self.len;
        self.commit_len(len);
    }

    /// Appends the first `len` bytes as a record. The rest is left unused.
    ///
    /// # Panics
    ///
    /// If fewer bytes were claimed. Then the claim is aborted.
    #[inline]
    pub fn commit_len(self, len: usize) {
        assert!(len <= self.len, "{len} bytes to commit of {} that were claimed", self.len);
        let claim = ManuallyDrop::new(self);
        claim.sender.commit(claim.run, len);
    }

    /// Gives the room up. The room comes back when a later [`try_pop`](Consumer::try_pop) passes it, or when a claim
    /// finds no other room and only aborted claims are in front of it.
    #[inline]
    pub fn abort(self) {}
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.sender.abort(self.run);
    }
}

impl Deref for Claim<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        let bytes = self.sender.array().to_fill(self.run.position, self.len);
        // SAFETY: the bytes are initialised, and this claim's alone until it is committed or dropped.
        unsafe { slice::from_raw_parts(bytes, self.len) }
    }
}

impl DerefMut for Claim<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        let bytes = self.sender.array().to_fill(self.run.position, self.len);
        // SAFETY: as in `deref`. Nothing that other threads look at is among them.
        unsafe { slice::from_raw_parts_mut(bytes, self.len) }
    }
}

/// Each write continues where the last one ended, from the start of the claim on. Bytes that don't fit are not written.
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
impl std::io::Write for Claim<'_> {
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
/// If a record is forgotten ([`core::mem::forget`]), its block is never reused. In the end claims say
/// [`Busy`](ClaimError::Busy) for ever.
pub struct Record<'a> {
    receiver: &'a Receiver<u8>,
    run: Run,
    len: usize,
}

impl Drop for Record<'_> {
    #[inline]
    fn drop(&mut self) {
        self.receiver.consume(self.run);
    }
}

impl Deref for Record<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        let bytes = self.receiver.array().to_empty(self.run.position, self.len);
        // SAFETY: the bytes were written before they were committed, and no producer writes them until this record is
        // dropped.
        unsafe { slice::from_raw_parts(bytes, self.len) }
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

handles!(@debug [] Producer);
handles!(@debug [] Consumer);

impl fmt::Debug for Claim<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("len", &self.len).finish_non_exhaustive()
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").field("len", &self.len).finish_non_exhaustive()
    }
}
