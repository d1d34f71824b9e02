//! `bbq-bytes`: the block-based bounded queue for byte records of any length.
//!
//! The ring of [`block::shared`](crate::block::shared), made of granules of 16 bytes. A record takes as many
//! as it needs, side by side in one block. It is claimed, written in place, and committed or aborted; and
//! it is read in place, until what it lies in is given back.
//!
//! **Use it** for messages of different lengths, between any number of threads: packets, log lines, frames,
//! what would otherwise be one allocation each.
//! **Don't** use it for items of one type, which [`block::shared`](crate::block::shared) carries without
//! lengths. Nor where nobody may ever wait for a thread that was stopped in the middle: between claim and
//! commit nothing behind that record is popped, and while a record is held its block doesn't come back.
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free, first in first out by the order of claims (linearizable but for [answers out of date](crate::TryPushError::Full)) |
//! | capacity | N bytes: what was asked for, rounded up to whole blocks. A record has room whenever with it no more are inside, each rounded up to 16 bytes, or 16 if it has none, and none is held. The ring has 2·N: a record that doesn't fit into the rest of a block leaves that unused, and room comes back a block at a time |
//! | blocks | of S bytes; of the granules, as many to a block as [`block::shared`](crate::block::shared) has slots; [`Config::block`] gives S instead, rounded up to a power of two, from 16 (or N/65536) on |
//! | longest record | S bytes, or 2 GiB less one if that is less: [`Producer::max_len`] |
//! | room lost to others | a claim that others overtake where it would have fitted leaves the rest of that block unused: less than its own length, at most once a block. Long claims among many short ones may be overtaken again and again: give those a queue of their own |
//! | overhead | 4 bytes for each 16 of the ring, 384 bytes for each block |
//! | alignment | 16 bytes |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | operations | a claim adds to a shared counter, and so does its end; a pop compares-and-swaps once, and dropping its record adds once |
//! | paper | J. Wang: *High Performance and Dependable Asynchronous Communication on Multi-Core Systems* (2024), §2.4.4, on §2.3, §2.4, retry-new |
//!
//! # Departures from the paper
//!
//! All of [`block::shared`](crate::block::shared), but for the looks that are left out there, and:
//!
//! - Lengths are not in front of the bytes but in an array of their own. A consumer reads one before it
//!   knows that nobody else has taken the record: by then a producer may be writing other bytes in that
//!   place, and that would be a data race, even though the compare-and-swap that follows fails.
//! - What is to be skipped says how long it is, and has a bit of its own for that: so there are records of
//!   length zero, and claims that were aborted or committed with less than was claimed. A
//!   consumer that skips adds to `consumed` like any other, where the paper's sets it to the block's size:
//!   others may still be reading in that block.
//! - A pop takes what is to be skipped behind its record along. So a block comes back with its last record
//!   and not with the next pop.
//! - A claim that doesn't fit into the rest of a block first looks whether the next one is free. If it
//!   isn't, the rest stays for shorter records, where the paper's would have been left unused.
//! - A producer that fills the rest of a block with a dummy has taken up to a block more than was there. That is
//!   what [`block::shared`](crate::block::shared) leaves bits for: each handle does so once a lap at most.
//!
//! ```
//! use corelane::{Config, block::bytes};
//!
//! let (mut tx, mut rx) = bytes::queue_with(Config::new(1 << 16).block(1500))?;
//! let mut claim = tx.claim(1500)?;
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

/// As [`queue`], with all options; their capacity and block are in bytes.
///
/// `block` is the length of a block, and so of the longest record that must fit.
///
/// # Errors
///
/// As [`queue`]; also if two blocks of that length are too large for memory.
pub fn queue_with(config: Config) -> Result<(Producer, Consumer), CapacityError> {
    // A record that doesn't fit into the rest of a block leaves that unused, but then two blocks have more than one's worth
    // of records: so half of the ring is always filled before it is full.
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

    /// Takes room for a record of `len` bytes, to be written in place and then committed.
    ///
    /// From now on the record has its place in the queue: nothing behind it is popped before the claim is
    /// committed or dropped.
    ///
    /// # Errors
    ///
    /// [`TooLarge`](ClaimError::TooLarge) if no record may be that long. [`Full`](ClaimError::Full) if there
    /// is no room, [`Busy`](ClaimError::Busy) if there is none because records that have been popped are
    /// still held, [`Closed`](ClaimError::Closed) if there is none and all consumers are gone.
    #[inline]
    pub fn claim(&mut self, len: usize) -> Result<Claim<'_>, ClaimError> {
        let most = self.max_len();
        if len > most {
            return Err(ClaimError::TooLarge { len, most });
        }
        match self.sender.allocate(len) {
            Ok(run) => Ok(Claim {
                sender: &self.sender,
                run,
                len,
                #[cfg(feature = "std")]
                written: 0,
            }),
            Err(_) if self.is_closed() => Err(ClaimError::Closed),
            Err(Nothing::AtAll) => Err(ClaimError::Full),
            Err(Nothing::Yet) => Err(ClaimError::Busy),
        }
    }

    /// Appends a copy of `bytes` as a record.
    ///
    /// # Errors
    ///
    /// As [`claim`](Self::claim).
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ClaimError> {
        let mut claim = self.claim(bytes.len())?;
        claim.copy_from_slice(bytes);
        claim.commit();
        Ok(())
    }

    /// Length of the longest record, in bytes.
    #[inline]
    pub fn max_len(&self) -> usize {
        self.sender.max_len()
    }

    /// Bytes that the queue promises to take, each record rounded up to 16 bytes, or 16 if it has none: while no more are
    /// inside with it, a record has room.
    pub fn capacity(&self) -> usize {
        self.sender.blocks().len() / 2 * GRANULE
    }

    /// Whether all consumers have been dropped.
    ///
    /// `true` also means that all they did before happens before this call returns.
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
    /// [`Empty`](TryPopError::Empty) if there is none, [`Busy`](TryPopError::Busy) if a claim is neither
    /// committed nor dropped and in the way of what may be there, [`Closed`](TryPopError::Closed) if there
    /// is none and none will come because all producers are gone.
    #[inline]
    pub fn try_pop(&mut self) -> Result<Record<'_>, TryPopError> {
        let (run, len) = self.receiver.reserve()?;
        Ok(Record { receiver: &self.receiver, run, len })
    }

    /// Bytes that the queue promises to take: see [`Producer::capacity`].
    pub fn capacity(&self) -> usize {
        self.receiver.blocks().len() / 2 * GRANULE
    }

    /// Whether all producers have been dropped. Records may still be waiting.
    ///
    /// `true` also means that all they did before happens before this call returns.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.receiver.end().peer_is_gone()
    }
}

/// Room for a record, from [`Producer::claim`]; dropping it is [`abort`](Self::abort).
///
/// Its bytes are whatever was in the ring before: zeros or parts of old records. They are aligned to 16
/// bytes.
///
/// # Leaks
///
/// If it is forgotten ([`core::mem::forget`]) what is behind it is never popped: pops say
/// [`Busy`](TryPopError::Busy) for ever, and so, in the end, do claims or they say full.
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

    /// Gives the room up. It comes back when the next [`try_pop`](Consumer::try_pop) passes it, or when a claim finds no
    /// other room and nothing but aborted claims is in front of it.
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

/// Writes one behind the other, from the start of the claim; what doesn't fit isn't written.
///
/// ```
/// use std::io::Write;
///
/// use corelane::bytes;
///
/// let (mut tx, mut rx) = bytes::queue(4096)?;
/// let mut claim = tx.claim(tx.max_len())?;
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

/// A record in place, from [`Consumer::try_pop`]; dropping it gives the room back.
///
/// Its bytes are aligned to 16 bytes. Other records are popped meanwhile by other consumers.
///
/// # Leaks
///
/// If it is forgotten ([`core::mem::forget`]) its block never comes back: in the end claims say
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
        // SAFETY: the bytes were written before they were committed, and nobody writes them until this
        // record is dropped.
        unsafe { slice::from_raw_parts(bytes, self.len) }
    }
}

/// Why there is no room for a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimError {
    /// There is no room, as far as this side can see.
    Full,
    /// There is no room, but there will be when records that have been popped are dropped.
    Busy,
    /// There is no room, and nobody is left to pop.
    Closed,
    /// No record may be that long, however empty the queue is.
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
