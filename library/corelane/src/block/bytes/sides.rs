//! How the two sides take and give back room for records, whatever these are.

use core::marker::PhantomData;
use core::mem::needs_drop;

use super::granules::{Entry, GRANULE, Granules, LONGEST, granules};
use crate::block::layout::{BlockShape, Blocks, Nothing, StandBack};
use crate::block::variables::{Heads, Separate};
use crate::memory::{AtomicBool, Ordering, advance, is_before};
use crate::pad::Padded;
use crate::queue::chunk::drop_each;
use crate::queue::{CapacityError, Config, TryPopError};
use crate::region::{End, Run, State, ends};

/// Both sides of a new queue. `T` is what nobody pops is dropped as. `needed` says how many granules are needed for the
/// capacity, in granules, with blocks of a size.
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

/// The shape of a queue for so many bytes.
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
    /// Whether something may have been aborted that no consumer has passed.
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

    /// Gives back what was aborted in front of all records, as a pop does, and looks for room again.
    #[cold]
    fn reclaim(&self, nothing: Nothing, len: usize) -> Result<Run, Nothing> {
        let aborted = &self.end.header().aborted;
        // Relaxed: it orders nothing, it says that a look is worth its while. Cleared before the look, for what is aborted
        // after it.
        if !aborted.load(Ordering::Relaxed) {
            return Err(nothing);
        }
        aborted.store(false, Ordering::Relaxed);
        if matches!(self.end.try_reserve(Wanted::Skipped), Err(Nothing::Yet)) {
            // There may be more behind what is in front.
            aborted.store(true, Ordering::Relaxed);
        }
        self.try_allocate(granules(len))
    }

    #[inline]
    fn try_allocate(&self, n: u64) -> Result<Run, Nothing> {
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
        // Producers that come too late don't go on adding. Acquire ↔ Release of the addition below: observing the block
        // full makes visible everything behind it that its last producer had observed as free.
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
            // The producer whose claim crosses the end fills the rest, and goes on to the next block.
            self.skip(Run { position, n: left });
            return Ok(None);
        }
        Ok(Some(Run { position, n }))
    }

    /// Where the block after `head` starts, if all of it has been consumed.
    #[inline]
    fn free_block_behind(&self, head: u64) -> Result<u64, Nothing> {
        let blocks = self.blocks();
        let next = blocks.next_block(head);
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

    /// Gives up what was taken for a record.
    pub(super) fn abort(&self, run: Run) {
        self.skip(run);
        // Relaxed: see `reclaim`.
        self.end.header().aborted.store(true, Ordering::Relaxed);
    }

    /// Makes `run` something to be skipped: the paper's dummy.
    fn skip(&self, run: Run) {
        self.array().set(run.position, Entry::skip(run.n));
        self.show(run);
    }

    /// Shows what is in `run` to consumers.
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

    /// The oldest record, with its length.
    #[inline]
    pub(super) fn reserve(&self) -> Result<(Run, usize), TryPopError> {
        let mut closed = false;
        loop {
            match self.end.try_reserve(Wanted::Record) {
                Ok(found) => return Ok(found),
                Err(Nothing::Yet) => return Err(TryPopError::Busy),
                Err(Nothing::AtAll) if closed => return Err(TryPopError::Closed),
                // What producers pushed before they went is looked for once more.
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

/// What is looked for in front of the queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// A record, behind what is to be skipped.
    Record,
    /// Only what is to be skipped.
    Skipped,
}

/// What takes from the queue: consumers, and producers that give back what was aborted.
impl<T> End<Header<T>> {
    #[inline]
    fn try_reserve(&self, wanted: Wanted) -> Result<(Run, usize), Nothing> {
        loop {
            // Acquire pairs with `advance`: records that made another consumer go on are visible.
            let head = self.header().heads.chead.load(Ordering::Acquire);
            if let Some((run, len)) = self.reserve_in(head, wanted)? {
                if self.slots().arrangement().is_start(run.end()) {
                    self.leave(head);
                }
                return Ok((run, len));
            }
            self.leave(head);
        }
    }

    /// Leaves the block that starts at `head`, of which all has been taken.
    ///
    /// A pop that takes the last of it does so before it returns. Then a producer that needs the block is told that it isn't
    /// empty yet, and not that the queue is full.
    #[inline]
    fn leave(&self, head: u64) {
        // Release pairs with the load in `try_reserve`.
        advance(&self.header().heads.chead, self.slots().next_block(head), Ordering::Release);
    }

    /// The paper's `reserve_entry`: a record of the block that starts at `head`; nothing if it is done.
    #[inline]
    fn reserve_in(&self, head: u64, wanted: Wanted) -> Result<Option<(Run, usize)>, Nothing> {
        let (block, arrangement) = (self.slots().at(head), self.slots().arrangement());
        let full = arrangement.full_count(head);
        let cursor = &block.consumers.reserved;
        // Acquire ↔ Release of the exchange below: observing a record taken makes visible the records behind it that
        // its consumer had observed. Otherwise the queue would seem empty.
        let (mut reserved, mut stand_back) = (cursor.load(Ordering::Acquire), StandBack::new());
        while is_before(reserved, full) {
            let position = arrangement.go_on(head, reserved);
            let filled = self.filled_behind(position, reserved)?;
            // If another consumer has taken what is here, entries may be of any lap. Then this fails.
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
        let blocks = self.slots();
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
            let behind = self.slots().array().entry(end);
            if behind.len().is_some() {
                break;
            }
            end = end.wrapping_add(behind.granules());
        }
        end
    }

    /// Gives `run` back: to producers, if it is the last of a block.
    #[inline]
    fn consume(&self, run: Run) {
        let (blocks, arrangement) = (self.slots(), self.slots().arrangement());
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
