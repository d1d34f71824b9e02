//! How the two sides take and give back room for records of any kind.

use core::marker::PhantomData;
use core::mem::needs_drop;

use super::granules::{Entry, GRANULE, Granules, LONGEST, granules};
use crate::block::layout::{BlockShape, Blocks, Nothing};
use crate::block::variables::{Heads, Separate};
use crate::memory::{AtomicBool, Ordering, advance, is_before};
use crate::pad::Padded;
use crate::queue::{CapacityError, Config, TryPopError};
use crate::region::{End, Run, State, ends};
use crate::spin::Backoff;
use crate::unwind::drop_each;

/// Both sides of a new queue. Records that are never popped are dropped as items of type `T`.
/// `needed` says how many granules are needed for a capacity in granules, with blocks of a size.
pub(super) fn both_ends<T>(
    config: Config,
    needed: impl Fn(usize, usize) -> usize,
) -> Result<(Sender<T>, Receiver<T>), CapacityError> {
    let shape = shape::<T>(config, needed)?;
    let aborted = Padded(AtomicBool::new(false));
    let header = Header { heads: Heads::at_first(&shape), aborted, items: PhantomData };
    let (tx, rx) = ends(config.memory, shape, header)?;
    Ok((Sender { end: tx }, Receiver { end: rx }))
}

/// The shape of a queue with the capacity and the block in bytes.
fn shape<T>(
    config: Config,
    needed: impl Fn(usize, usize) -> usize,
) -> Result<BlockShape, CapacityError> {
    let block = config.block.map(|bytes| granules(bytes).next_power_of_two() as usize);
    let wanted = config.capacity.div_ceil(GRANULE);
    let (capacity, asked) = match block.map(|size| 2 * size) {
        Some(two) if (1..two).contains(&wanted) => (two, two.saturating_mul(GRANULE)),
        _ => (wanted, config.capacity),
    };
    let in_granules = Config { capacity, block, ..config };
    BlockShape::with_slots::<Header<T>>(in_granules, |size| needed(wanted, size)).map_err(|error| {
        match error {
            CapacityError::OutOfRange { most, .. } => {
                CapacityError::OutOfRange { asked, most: most.saturating_mul(GRANULE) }
            }
            error => error,
        }
    })
}

/// What the sides share besides blocks.
pub(super) struct Header<T> {
    heads: Heads,
    /// Whether there may be an aborted claim that no consumer has passed.
    aborted: Padded<AtomicBool>,
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
                read = blocks.arrangement().next(read.wrapping_add(entry.granules()));
                if entry.len().is_some() {
                    // SAFETY: the record is an item that was never popped; `read` moves past it.
                    return Some(unsafe { take::<T>(blocks.array(), position) });
                }
            }
            None
        });
    }
}

/// Moves out the item that is the record at `position`.
///
/// # Safety
///
/// The record is an item of type `T`, counts as moved after this call, and no write to it is
/// concurrent.
#[inline]
#[track_caller]
pub(super) unsafe fn take<T>(array: &Granules, position: u64) -> T {
    // SAFETY: the caller's contract. The read is unaligned, since a record may be aligned less than
    // the type.
    unsafe { array.to_empty(position, size_of::<T>()).cast::<T>().read_unaligned() }
}

/// A sending side, for records of any kind.
pub(super) struct Sender<T> {
    end: End<Header<T>>,
}

/// A receiving side, for records of any kind.
pub(super) struct Receiver<T> {
    end: End<Header<T>>,
}

impl<T> Sender<T> {
    #[inline]
    pub(super) fn end(&self) -> &End<Header<T>> {
        &self.end
    }

    #[inline]
    pub(super) fn blocks(&self) -> &Blocks<Separate, Granules> {
        self.end.slots()
    }

    #[inline]
    pub(super) fn array(&self) -> &Granules {
        self.blocks().array()
    }

    /// Bytes of a block, if a record may be that long.
    #[inline]
    pub(super) fn max_len(&self) -> usize {
        (self.blocks().arrangement().size() as usize * GRANULE).min(LONGEST)
    }

    /// Free granules for a record of `len` bytes, at most [`max_len`](Self::max_len).
    #[inline]
    pub(super) fn allocate(&self, len: usize) -> Result<Run, Nothing> {
        self.try_allocate(granules(len)).or_else(|nothing| self.reclaim(nothing, len))
    }

    /// Gives back aborted claims in front of all records, as a pop does, and looks for room again.
    #[cold]
    fn reclaim(&self, nothing: Nothing, len: usize) -> Result<Run, Nothing> {
        let aborted = &self.end.header().aborted;
        // Relaxed: it orders nothing, and only says that a look may help. Cleared before the look,
        // so that a later abort sets it again.
        if !aborted.load(Ordering::Relaxed) {
            return Err(nothing);
        }
        aborted.store(false, Ordering::Relaxed);
        if matches!(self.end.try_reserve(Wanted::Skipped, &mut false), Err(Nothing::Yet)) {
            // There may be aborted claims behind the front.
            aborted.store(true, Ordering::Relaxed);
        }
        self.try_allocate(granules(len))
    }

    #[inline]
    fn try_allocate(&self, n: u64) -> Result<Run, Nothing> {
        loop {
            // Acquire ↔ Release in `advance_phead`: the block's `allocated`.
            let head = self.end.header().heads.phead.load(Ordering::Acquire);
            if let Some(run) = self.allocate_in(head, n)? {
                return Ok(run);
            }
            self.advance_phead(head)?;
        }
    }

    /// The paper's `allocate_entry`: `n` granules of the block that starts at `head`, if `n` are
    /// left.
    #[inline]
    fn allocate_in(&self, head: u64, n: u64) -> Result<Option<Run>, Nothing> {
        let (blocks, size) = (self.blocks(), self.blocks().arrangement().size());
        let allocated = &blocks.at(head).producers.allocated;
        // Late producers must not add again and again. Acquire ↔ Release of the addition below:
        // observing the block full makes visible everything behind it that its last producer had
        // observed as free.
        let taken = blocks.arrangement().offset(allocated.load(Ordering::Acquire));
        if taken >= size {
            return Ok(None);
        }
        if n > size - taken {
            // If the next block isn't free, the rest of this block stays for shorter records.
            self.free_block_behind(head)?;
        }
        // Acquire ↔ Release in `advance_phead`: the granules are consumed. Release: see above.
        let offset = blocks.arrangement().offset(allocated.fetch_add(n, Ordering::AcqRel));
        let Some(left) = size.checked_sub(offset).filter(|left| *left > 0) else {
            return Ok(None);
        };
        // Producers may have entered the block again since, but the granules have the same places
        // in each lap.
        let position = head.wrapping_add(offset);
        if n > left {
            // The producer whose claim crosses the end fills the rest, and tries the next block.
            self.skip(Run { position, n: left });
            return Ok(None);
        }
        Ok(Some(Run { position, n }))
    }

    /// Where the block after `head` starts, if all its granules have been consumed.
    #[inline]
    fn free_block_behind(&self, head: u64) -> Result<u64, Nothing> {
        let blocks = self.blocks();
        let next = blocks.next_block(head);
        // Acquire ↔ Release in `consume`: all reads of the last lap's records.
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
        // Release ↔ Acquire in `allocate_in`: the granules are free.
        advance(allocated, self.blocks().arrangement().allocated(next), Ordering::Release);
        // Release ↔ Acquire in `try_allocate`: the block's `allocated`.
        advance(&self.end.header().heads.phead, next, Ordering::Release);
        Ok(())
    }

    /// Makes `run` a record of `len` bytes, and the rest of `run` granules to be skipped.
    #[inline]
    pub(super) fn commit(&self, run: Run, len: usize) {
        let used = granules(len);
        self.array().set(run.position, Entry::record(len));
        if used < run.n {
            self.array().set(run.position.wrapping_add(used), Entry::skip(run.n - used));
        }
        self.show(run);
    }

    /// Gives up the granules that were taken for a record.
    pub(super) fn abort(&self, run: Run) {
        self.skip(run);
        // Relaxed: see `reclaim`.
        self.end.header().aborted.store(true, Ordering::Relaxed);
    }

    /// Makes `run` granules to be skipped: the paper's dummy.
    fn skip(&self, run: Run) {
        self.array().set(run.position, Entry::skip(run.n));
        self.show(run);
    }

    /// Publishes the entries and bytes of `run` to consumers.
    #[inline]
    fn show(&self, run: Run) {
        let steps = run.n * self.blocks().arrangement().step();
        // Release ↔ Acquire in `filled_behind`: entries and bytes.
        self.blocks().at(run.position).producers.committed.fetch_add(steps, Ordering::Release);
    }
}

impl<T> Receiver<T> {
    #[inline]
    pub(super) fn end(&self) -> &End<Header<T>> {
        &self.end
    }

    #[inline]
    pub(super) fn blocks(&self) -> &Blocks<Separate, Granules> {
        self.end.slots()
    }

    #[inline]
    pub(super) fn array(&self) -> &Granules {
        self.blocks().array()
    }

    /// Whether there is no record, aborted claims left out.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self.end.try_reserve(Wanted::Skipped, &mut false), Err(Nothing::AtAll))
    }

    /// The oldest record, with its length. Sets `freed` if a block in front of it came back.
    #[inline]
    pub(super) fn reserve(&self, freed: &mut bool) -> Result<(Run, usize), TryPopError> {
        let mut closed = false;
        loop {
            match self.end.try_reserve(Wanted::Record, freed) {
                Ok(found) => return Ok(found),
                Err(Nothing::Yet) => return Err(TryPopError::Busy),
                Err(Nothing::AtAll) if closed => return Err(TryPopError::Closed),
                // Looks once more, for records that producers pushed before they were dropped.
                Err(Nothing::AtAll) if self.end.peer_is_gone() => closed = true,
                Err(Nothing::AtAll) => return Err(TryPopError::Empty),
            }
        }
    }

    /// Gives `run` back.
    #[inline]
    pub(super) fn consume(&self, run: Run) {
        self.end.consume(run);
    }
}

/// What is at the front of the queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// A record, behind granules to be skipped.
    Record,
    /// Only granules to be skipped.
    Skipped,
}

/// For consumers, and for producers that give back aborted claims.
impl<T> End<Header<T>> {
    #[inline]
    fn try_reserve(&self, wanted: Wanted, freed: &mut bool) -> Result<(Run, usize), Nothing> {
        loop {
            // Acquire ↔ Release in `leave`: the records that made another consumer leave the block.
            let head = self.header().heads.chead.load(Ordering::Acquire);
            if let Some((run, len)) = self.reserve_in(head, wanted, freed)? {
                if self.slots().arrangement().is_start(run.end()) {
                    self.leave(head);
                }
                return Ok((run, len));
            }
            self.leave(head);
        }
    }

    /// Leaves the block that starts at `head`, after all its records have been taken.
    ///
    /// The pop that takes the last record leaves the block before it returns. Then a claim that
    /// needs the block says busy, and not that the queue is full.
    #[inline]
    fn leave(&self, head: u64) {
        // Release ↔ Acquire in `try_reserve`: the records of the block that is left.
        advance(&self.header().heads.chead, self.slots().next_block(head), Ordering::Release);
    }

    /// The paper's `reserve_entry`: a record of the block that starts at `head`; `None` if all its
    /// records have been taken.
    #[inline]
    fn reserve_in(
        &self,
        head: u64,
        wanted: Wanted,
        freed: &mut bool,
    ) -> Result<Option<(Run, usize)>, Nothing> {
        let (block, arrangement) = (self.slots().at(head), self.slots().arrangement());
        let full = arrangement.full_count(head);
        let cursor = &block.consumers.reserved;
        // Acquire ↔ Release of the exchange below: observing a record taken makes visible the
        // records behind it that its consumer had observed. Otherwise the queue would seem empty.
        let (mut reserved, mut backoff) = (cursor.load(Ordering::Acquire), Backoff::new());
        while is_before(reserved, full) {
            let position = arrangement.go_on(head, reserved);
            let filled = self.filled_behind(position, reserved)?;
            // If another consumer has taken this record, entries may be of any lap. Then the
            // exchange below fails.
            let entry = self.slots().array().entry(position);
            if wanted == Wanted::Skipped && entry.len().is_some() {
                return Err(Nothing::Yet);
            }
            let n = self.end_of(entry, position, filled).wrapping_sub(position);
            let next = reserved.wrapping_add(n * arrangement.step());
            match cursor.compare_exchange(reserved, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => {
                    let run = Run { position, n };
                    match entry.len() {
                        Some(len) => return Ok(Some((run, len))),
                        None => *freed |= self.consume(run),
                    }
                    reserved = next;
                }
                Err(_) => {
                    backoff.wait();
                    reserved = cursor.load(Ordering::Acquire);
                }
            }
        }
        Ok(None)
    }

    /// Up to where the block of `position` is filled without gaps. `reserved` is the block's cursor
    /// at `position`.
    #[inline]
    fn filled_behind(&self, position: u64, reserved: u64) -> Result<u64, Nothing> {
        let blocks = self.slots();
        // Acquire ↔ Release in `Sender::show`: entries and bytes.
        let committed = blocks.at(position).producers.committed.load(Ordering::Acquire);
        // `committed` may be older than what another consumer has seen and reserved.
        if !is_before(reserved, committed) {
            return Err(blocks.nothing_at(position));
        }
        let filled = blocks.arrangement().go_on(position, committed);
        let end = blocks.end(position);
        if is_before(end, filled) {
            // Producers have filled the block again in a later lap since the caller found
            // `position`.
            return Ok(end);
        }
        if blocks.is_gapless(filled) { Ok(filled) } else { Err(Nothing::Yet) }
    }

    /// Where the entry at `position` ends, with all granules behind it that are to be skipped.
    #[inline]
    fn end_of(&self, entry: Entry, position: u64, filled: u64) -> u64 {
        let mut end = position.wrapping_add(entry.granules());
        while is_before(end, filled) {
            let behind = self.slots().array().entry(end);
            if behind.len().is_some() {
                break;
            }
            end = end.wrapping_add(behind.granules());
        }
        end
    }

    /// Gives `run` back. The last run of a block makes the block free for producers. Whether this
    /// one was the last.
    #[inline]
    fn consume(&self, run: Run) -> bool {
        let (blocks, arrangement) = (self.slots(), self.slots().arrangement());
        let (block, steps) = (blocks.at(run.position), run.n * arrangement.step());
        // Release ↔ Acquire here, of the last consumer in the block: all reads of the block's
        // records.
        let consumed = block.consumers.consumed.fetch_add(steps, Ordering::AcqRel);
        let full = arrangement.full_count(run.position);
        let was_last = consumed.wrapping_add(steps) == full;
        if was_last {
            // Release ↔ Acquire in `free_block_behind`: all reads of the block's records.
            block.emptied.store(full, Ordering::Release);
        }
        was_last
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
