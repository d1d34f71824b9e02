//! `bbq-bytes`: the block-based bounded queue for byte records of any length.
//!
//! The ring is that of [`block::shared`](crate::block::shared), made of granules of 16 bytes. A
//! record takes as many granules as it needs, contiguous in one block. A producer claims a record,
//! writes it in place, and commits or aborts it. A consumer reads the record in place, and then
//! gives its granules back.
//!
#![doc = advice!(bbq_bytes)]
//!
//! Between claim and commit no record behind the claim is popped, and no record of the same block
//! in front of it. While a consumer holds a record, the record's block is not reused.
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
//! - Lengths are not in front of the bytes but in an array of their own. A consumer reads a length
//!   before it knows that no other consumer has taken the record. By then a producer may be writing
//!   other bytes in that place. If the length were among the bytes, this read would be a data race,
//!   even though the consumer's compare-and-swap fails afterwards.
//! - Granules to be skipped have an entry with their number, marked by a bit of its own. So a
//!   record may have length zero, and a claim may be aborted, or committed with fewer bytes than
//!   claimed. A consumer that skips granules adds them to `consumed`, as it adds a record. The
//!   paper's sets `consumed` to the block's size, but other consumers may still be reading in that
//!   block.
//! - A pop also takes the granules to be skipped behind its record. So a block comes back with its
//!   last record, and not with the next pop.
//! - A claim that doesn't fit into the rest of a block first checks whether the next block is free.
//!   If not, the rest stays for shorter records. The paper's leaves it unused.
//! - A producer that fills the rest of a block with a dummy has added up to a block more to
//!   `allocated` than was left. The additional bits of the offset, as in
//!   [`block::shared`](crate::block::shared), suffice for that: each handle does so at most once a
//!   lap.
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

use core::mem::ManuallyDrop;

pub use crate::bytes::record::{Claim, ClaimError, Record};

use crate::block::layout::Nothing;
use crate::bytes::record::{self, Claims, Records};
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
    // A record that doesn't fit into the rest of a block leaves this rest unused. But then the two
    // blocks hold more than one block of records. So at least half of the ring is filled before a
    // claim finds no room.
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

    /// Claims room for a record of `len` bytes. The caller writes the record in place, and then
    /// commits the claim.
    ///
    /// The claim has a place in the queue: no record behind it is popped before the claim is
    /// committed or dropped. The same holds for records in front of it in the same block.
    ///
    /// # Errors
    ///
    /// [`TooLarge`](ClaimError::TooLarge) if no record may be that long. [`Full`](ClaimError::Full)
    /// if there is no room. [`Busy`](ClaimError::Busy) if there is no room because popped records
    /// are still held. [`Closed`](ClaimError::Closed) if there is no room and all consumers are
    /// gone.
    #[inline]
    pub fn try_claim(&mut self, len: usize) -> Result<Claim<'_>, ClaimError> {
        let run = self.allocate(len)?;
        Ok(Claim::new(self, run, len, ()))
    }

    /// Appends a copy of `bytes` as a record.
    ///
    /// # Errors
    ///
    /// As [`try_claim`](Self::try_claim).
    #[inline]
    pub fn try_push(&mut self, bytes: &[u8]) -> Result<(), ClaimError> {
        self.try_claim(bytes.len()).map(|claim| claim.commit_copy(bytes))
    }

    /// Length of the longest record, in bytes.
    #[inline]
    pub fn max_len(&self) -> usize {
        self.sender.max_len()
    }

    /// Bytes that the queue always has room for. Each record counts as its length rounded up to 16
    /// bytes, and as 16 if it is empty.
    pub fn capacity(&self) -> usize {
        self.sender.blocks().len() / 2 * GRANULE
    }

    /// Bytes that records take, counted as for [`capacity`](Self::capacity): a snapshot, which
    /// other handles may make outdated at once.
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
    /// [`Empty`](TryPopError::Empty) if there is none. [`Busy`](TryPopError::Busy) if there may be
    /// a record, but an earlier claim is neither committed nor dropped.
    /// [`Closed`](TryPopError::Closed) if there is none and all producers are gone.
    #[inline]
    pub fn try_pop(&mut self) -> Result<Record<'_>, TryPopError> {
        let found = self.reserve(&mut false)?;
        Ok(Record::new(self, found, ()))
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

impl Claims for Producer {
    type Allocated = Run;
    type Room<'a> = Room<'a>;
    const CHANGES_IN_VAIN: bool = true;

    #[inline]
    fn allocate(&mut self, len: usize) -> Result<Run, ClaimError> {
        let most = self.max_len();
        if len > most {
            return Err(ClaimError::TooLarge { len, most });
        }
        self.sender.allocate(len).map_err(|nothing| match nothing {
            _ if self.is_closed() => ClaimError::Closed,
            Nothing::AtAll => ClaimError::Full,
            Nothing::Yet => ClaimError::Busy,
        })
    }

    #[inline]
    unsafe fn room(&mut self, run: Run) -> Room<'_> {
        Room { producer: self, run }
    }

    fn capacity(&self) -> usize {
        self.capacity()
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }

    fn max_len(&self) -> usize {
        self.max_len()
    }
}

/// Granules that a claim has taken.
#[doc(hidden)]
#[derive(Debug)]
pub struct Room<'a> {
    producer: &'a mut Producer,
    run: Run,
}

// SAFETY: the granules are initialised. They are this claim's alone until it commits or skips them.
unsafe impl record::Room for Room<'_> {
    type Allocated = Run;

    #[inline]
    fn bytes(&self, len: usize) -> *mut u8 {
        self.producer.sender.array().to_fill(self.run.position, len)
    }

    #[inline]
    fn commit(self, len: usize) {
        let room = ManuallyDrop::new(self);
        room.producer.sender.commit(room.run, len);
    }

    fn suspend(self) -> Run {
        ManuallyDrop::new(self).run
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.producer.sender.abort(self.run);
    }
}

// SAFETY: the bytes of a record were written before they were committed. No producer writes them
// until they are consumed.
unsafe impl Records for Consumer {
    type Found = Run;

    #[inline]
    fn reserve(&mut self, freed: &mut bool) -> Result<(Run, usize), TryPopError> {
        self.receiver.reserve(freed)
    }

    #[inline]
    unsafe fn bytes(&self, run: Run, len: usize) -> *const u8 {
        self.receiver.array().to_empty(run.position, len)
    }

    #[inline]
    unsafe fn release(&mut self, run: Run, _: usize) {
        self.receiver.consume(run);
    }

    fn capacity(&self) -> usize {
        self.capacity()
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }
}

handles!(@debug [] Producer);
handles!(@debug [] Consumer);
