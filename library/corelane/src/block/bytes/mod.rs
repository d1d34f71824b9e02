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
//! | capacity | N bytes: what was asked for, rounded up to a power of two, at least two blocks |
//! | blocks | of S bytes; of the granules, as many to a block as [`block::shared`](crate::block::shared) has slots; [`Config::block`] gives S instead, rounded up to a power of two, from 16 (or N/65536) on |
//! | longest record | S bytes, or 2 GiB less one if that is less: [`Producer::most`] |
//! | room of a record | its length rounded up to 16 bytes; 16 if it has none |
//! | really usable | N/2 at worst: while no record is held, there is room for a claim that with all that isn't popped takes no more. A record that doesn't fit into the rest of a block leaves that unused, and room comes back a block at a time. If records are alike and fill blocks: N in a new queue, and N - S and a record in use |
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
//!   consumer who skips adds to `consumed` like any other, where the paper's sets it to the block's size:
//!   others may still be reading in that block.
//! - A pop takes what is to be skipped behind its record along. So a block comes back with its last record
//!   and not with the next pop.
//! - A claim that doesn't fit into the rest of a block first looks whether the next one is free. If it
//!   isn't, the rest stays for shorter records, where the paper's would have been left unused.
//! - The one who fills the rest of a block with a dummy has taken up to a block more than was there. That is
//!   what [`block::shared`](crate::block::shared) leaves bits for: each handle does so once a lap at most.
//!
//! ```
//! use corelane::{Config, bytes::block};
//!
//! let (mut tx, mut rx) = block::channel_with(Config::new(1 << 16).block(1500))?;
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

#[doc(hidden)]
pub use items::{BbqBytes, ItemConsumer, ItemProducer};

use core::fmt;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, needs_drop};
use core::ops::{Deref, DerefMut};
use core::slice;

use crate::block::layout::{Blocks, Heads, Nothing, Run, Separate, Shape, StandBack};
use crate::memory::{Ordering, advance, is_before};
use crate::queue::chunk::drop_each;
use crate::queue::{CapacityError, Config, TryPopError, debug_handle};
use crate::region::{End, State, ends};
use granules::{Entry, GRANULE, Granules, LONGEST, granules};

/// A queue with room for at least `capacity` bytes, between any number of threads on either side.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn channel(capacity: usize) -> Result<(Producer, Consumer), CapacityError> {
    channel_with(Config::new(capacity))
}

/// As [`channel`], with all options; their capacity and batch are in bytes.
///
/// The batch is the length of a block, and so of the longest record that must fit.
///
/// # Errors
///
/// As [`channel`]; also if two blocks of that length are too large for memory.
pub fn channel_with(config: Config) -> Result<(Producer, Consumer), CapacityError> {
    let (sender, receiver) = both_ends(config)?;
    Ok((Producer { sender }, Consumer { receiver }))
}

/// Both sides of a new queue. `T` is what nobody pops is dropped as.
pub(super) fn both_ends<T>(config: Config) -> Result<(Sender<T>, Receiver<T>), CapacityError> {
    let shape = shape::<T>(config)?;
    let header = Header { heads: Heads::at_first(&shape), items: PhantomData };
    let (tx, rx) = ends(config.memory, shape, header)?;
    Ok((Sender { end: tx }, Receiver { end: rx }))
}

/// The shape of a queue for so many bytes.
fn shape<T>(config: Config) -> Result<Shape, CapacityError> {
    let block = config.block.map(|bytes| granules(bytes).next_power_of_two() as usize);
    let wanted = config.capacity.div_ceil(GRANULE);
    let (capacity, asked) = match block.map(|size| 2 * size) {
        Some(two) if (1..two).contains(&wanted) => (two, two.saturating_mul(GRANULE)),
        _ => (wanted, config.capacity),
    };
    Shape::new::<Header<T>>(Config { capacity, batch: block, ..config }).map_err(
        |error| match error {
            CapacityError::OutOfRange { most, .. } => {
                CapacityError::OutOfRange { asked, most: most.saturating_mul(GRANULE) }
            }
            error => error,
        },
    )
}

/// What the sides share besides blocks.
pub(super) struct Header<T> {
    heads: Heads,
    items: PhantomData<T>,
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Blocks<Separate, Granules>;

    fn drop_items(&self, blocks: &Self::Slots) {
        if !needs_drop::<T>() {
            return;
        }
        let Some(mut read) = blocks.oldest() else { return };
        drop_each(|| {
            while blocks.is_filled(read) {
                let (position, entry) = (read, blocks.array().entry(read));
                read = read.wrapping_add(entry.granules());
                if entry.len().is_some() {
                    // SAFETY: the record is an item that was never popped; `read` moves past it.
                    return Some(unsafe { take::<T>(blocks.array(), position) });
                }
            }
            None
        });
    }
}

/// Moves the item out that is the record at `position`.
///
/// # Safety
///
/// The record is an item of type `T`, which is taken for as moved, and no write to it is concurrent.
#[inline]
#[track_caller]
pub(super) unsafe fn take<T>(array: &Granules, position: u64) -> T {
    // SAFETY: the caller's. Records aren't aligned to all types.
    unsafe { array.to_empty(position, size_of::<T>()).cast::<T>().read_unaligned() }
}

/// A sending side, whatever is sent.
pub(super) struct Sender<T> {
    end: End<Header<T>>,
}

/// A receiving side, whatever is received.
pub(super) struct Receiver<T> {
    end: End<Header<T>>,
}

impl<T> Sender<T> {
    #[inline]
    pub(super) fn end(&self) -> &End<Header<T>> {
        &self.end
    }

    #[inline]
    fn blocks(&self) -> &Blocks<Separate, Granules> {
        self.end.slots()
    }

    #[inline]
    pub(super) fn array(&self) -> &Granules {
        self.blocks().array()
    }

    /// Bytes of a block, if a record may be that long.
    #[inline]
    pub(super) fn most(&self) -> usize {
        (self.blocks().arrangement().size() as usize * GRANULE).min(LONGEST)
    }

    /// Free granules for a record of `len` bytes, at most [`most`](Self::most).
    #[inline]
    pub(super) fn allocate(&self, len: usize) -> Result<Run, Nothing> {
        let n = granules(len);
        loop {
            // Acquire pairs with `advance_phead`: the block's cursors are at least as new.
            let head = self.end.header().heads.phead.load(Ordering::Acquire);
            if let Some(run) = self.allocate_in(head, n)? {
                return Ok(run);
            }
            self.advance_phead(head)?;
        }
    }

    /// The paper's `allocate_entry`: granules of the block that starts at `head`, if so many are left.
    #[inline]
    fn allocate_in(&self, head: u64, n: u64) -> Result<Option<Run>, Nothing> {
        let (blocks, size) = (self.blocks(), self.blocks().arrangement().size());
        let allocated = &blocks.at(head).producers.allocated;
        // Producers that come too late don't go on adding. Acquire pairs with the addition below: who sees the
        // block full sees what made room behind it, if whoever filled it did.
        let taken = blocks.arrangement().offset(allocated.load(Ordering::Acquire));
        if taken >= size {
            return Ok(None);
        }
        if n > size - taken {
            // The rest of the block would be left unused for nothing.
            self.free_block_behind(head)?;
        }
        // Acquire pairs with `advance_phead`: the granules have been consumed. Release: see above.
        let offset = blocks.arrangement().offset(allocated.fetch_add(n, Ordering::AcqRel));
        let Some(left) = size.checked_sub(offset).filter(|left| *left > 0) else {
            return Ok(None);
        };
        // The block may have been entered once more since, but its granules are where they were.
        let position = head.wrapping_add(offset);
        if n > left {
            // The one who goes over the end fills the rest, and goes on to the next block.
            self.abort(Run { position, n: left });
            return Ok(None);
        }
        Ok(Some(Run { position, n }))
    }

    /// Where the block after `head` starts, if all of it has been consumed.
    #[inline]
    fn free_block_behind(&self, head: u64) -> Result<u64, Nothing> {
        let blocks = self.blocks();
        let next = blocks.end(head);
        // Acquire pairs with the store in `consume`: records of the last lap aren't read any more.
        let emptied = blocks.at(next).emptied.load(Ordering::Acquire);
        if is_before(emptied, blocks.arrangement().count(next)) {
            return Err(blocks.no_room_at(next, &self.end.header().heads));
        }
        Ok(next)
    }

    /// Enters the block after `head`, if it is free.
    #[inline]
    fn advance_phead(&self, head: u64) -> Result<(), Nothing> {
        let next = self.free_block_behind(head)?;
        let allocated = &self.blocks().at(next).producers.allocated;
        // Release pairs with the addition in `allocate_in`: the granules are free.
        advance(allocated, self.blocks().arrangement().allocated(next), Ordering::Release);
        // Release pairs with the load in `allocate`.
        advance(&self.end.header().heads.phead, next, Ordering::Release);
        Ok(())
    }

    /// Makes `run` a record of `len` bytes, and what is left of it something to be skipped.
    #[inline]
    pub(super) fn commit(&self, run: Run, len: usize) {
        let used = granules(len);
        self.array().set(run.position, Entry::record(len));
        if used < run.n {
            self.array().set(run.position.wrapping_add(used), Entry::skip(run.n - used));
        }
        self.show(run);
    }

    /// Makes `run` something to be skipped: the paper's dummy.
    fn abort(&self, run: Run) {
        self.array().set(run.position, Entry::skip(run.n));
        self.show(run);
    }

    /// Shows what is in `run` to consumers.
    #[inline]
    fn show(&self, run: Run) {
        let steps = run.n * self.blocks().arrangement().step();
        // Release pairs with the loads of consumers: who sees the count sees entries and bytes.
        self.blocks().at(run.position).producers.committed.fetch_add(steps, Ordering::Release);
    }
}

impl<T> Receiver<T> {
    #[inline]
    pub(super) fn end(&self) -> &End<Header<T>> {
        &self.end
    }

    #[inline]
    fn blocks(&self) -> &Blocks<Separate, Granules> {
        self.end.slots()
    }

    #[inline]
    pub(super) fn array(&self) -> &Granules {
        self.blocks().array()
    }

    /// The oldest record, with its length.
    #[inline]
    pub(super) fn reserve(&self) -> Result<(Run, usize), TryPopError> {
        let mut closed = false;
        loop {
            match self.try_reserve() {
                Ok(found) => return Ok(found),
                Err(Nothing::Yet) => return Err(TryPopError::Busy),
                Err(Nothing::AtAll) if closed => return Err(TryPopError::Closed),
                // What producers pushed before they went is looked for once more.
                Err(Nothing::AtAll) if self.end.peer_is_gone() => closed = true,
                Err(Nothing::AtAll) => return Err(TryPopError::Empty),
            }
        }
    }

    #[inline]
    fn try_reserve(&self) -> Result<(Run, usize), Nothing> {
        loop {
            // Acquire pairs with `advance`: records that made another consumer go on are visible.
            let head = self.end.header().heads.chead.load(Ordering::Acquire);
            if let Some(found) = self.reserve_in(head)? {
                return Ok(found);
            }
            // Release pairs with the load above.
            advance(&self.end.header().heads.chead, self.blocks().end(head), Ordering::Release);
        }
    }

    /// The paper's `reserve_entry`: a record of the block that starts at `head`; nothing if it is done.
    #[inline]
    fn reserve_in(&self, head: u64) -> Result<Option<(Run, usize)>, Nothing> {
        let (block, arrangement) = (self.blocks().at(head), self.blocks().arrangement());
        let full = arrangement.full_count(head);
        let cursor = &block.consumers.reserved;
        // Acquire pairs with the exchange below: who sees a record taken sees those behind it that whoever
        // took it has seen. Otherwise the queue would seem empty.
        let (mut reserved, mut stand_back) = (cursor.load(Ordering::Acquire), StandBack::new());
        while is_before(reserved, full) {
            let position = arrangement.go_on(head, reserved);
            let filled = self.filled_behind(position, reserved)?;
            // If another consumer has taken what is here, entries may be of any lap. Then this fails.
            let entry = self.array().entry(position);
            let n = self.end_of(entry, position, filled).wrapping_sub(position);
            let next = reserved.wrapping_add(n * arrangement.step());
            match cursor.compare_exchange(reserved, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => {
                    let run = Run { position, n };
                    match entry.len() {
                        Some(len) => return Ok(Some((run, len))),
                        None => self.consume(run),
                    }
                    reserved = next;
                }
                Err(_) => {
                    stand_back.wait();
                    reserved = cursor.load(Ordering::Acquire);
                }
            }
        }
        Ok(None)
    }

    /// Up to where the block of `position`, of which so much has been reserved, is filled without gaps.
    #[inline]
    fn filled_behind(&self, position: u64, reserved: u64) -> Result<u64, Nothing> {
        let blocks = self.blocks();
        // Acquire pairs with `Sender::show`: entries and bytes are there.
        let committed = blocks.at(position).producers.committed.load(Ordering::Acquire);
        // It may be older than what another consumer has seen and reserved.
        if !is_before(reserved, committed) {
            return Err(blocks.nothing_at(position));
        }
        let filled = blocks.arrangement().go_on(position, committed);
        let end = blocks.end(position);
        if is_before(end, filled) {
            // Others have gone once round the ring since the caller found `position`.
            return Ok(end);
        }
        if blocks.is_gapless(filled) { Ok(filled) } else { Err(Nothing::Yet) }
    }

    /// Where the entry at `position` ends, with all behind it that is to be skipped.
    #[inline]
    fn end_of(&self, entry: Entry, position: u64, filled: u64) -> u64 {
        let mut end = position.wrapping_add(entry.granules());
        while is_before(end, filled) {
            let behind = self.array().entry(end);
            if behind.len().is_some() {
                break;
            }
            end = end.wrapping_add(behind.granules());
        }
        end
    }

    /// Gives `run` back: to producers, if it is the last of a block.
    #[inline]
    pub(super) fn consume(&self, run: Run) {
        let (blocks, arrangement) = (self.blocks(), self.blocks().arrangement());
        let (block, steps) = (blocks.at(run.position), run.n * arrangement.step());
        // Release and acquire pair with each other: all records are read when the last of the block is.
        let consumed = block.consumers.consumed.fetch_add(steps, Ordering::AcqRel);
        let full = arrangement.full_count(run.position);
        if consumed.wrapping_add(steps) == full {
            // Release pairs with the load of producers.
            block.emptied.store(full, Ordering::Release);
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self { end: self.end.duplicate() }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Self { end: self.end.duplicate() }
    }
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
        let most = self.most();
        if len > most {
            return Err(ClaimError::TooLarge { len, most });
        }
        match self.sender.allocate(len) {
            Ok(run) => Ok(Claim { sender: &self.sender, run, len }),
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
    pub fn most(&self) -> usize {
        self.sender.most()
    }

    /// Size of the ring in bytes. How much of it is in use at most depends on the records, see
    /// [above](self).
    pub fn capacity(&self) -> usize {
        self.sender.blocks().len() * GRANULE
    }

    /// Whether all consumers have been dropped.
    ///
    /// `true` also means that all they did before happens before this call returns.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.sender.end.peer_is_gone()
    }
}

impl Consumer {
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

    /// Size of the ring in bytes.
    pub fn capacity(&self) -> usize {
        self.receiver.blocks().len() * GRANULE
    }

    /// Whether all producers have been dropped. Records may still be waiting.
    ///
    /// `true` also means that all they did before happens before this call returns.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.receiver.end.peer_is_gone()
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
}

impl Claim<'_> {
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

    /// Gives the room up. It comes back when a consumer comes by, in its next
    /// [`try_pop`](Consumer::try_pop), which doesn't return it.
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

debug_handle! {
    [] Producer, "Producer";
    [] Consumer, "Consumer";
}

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
