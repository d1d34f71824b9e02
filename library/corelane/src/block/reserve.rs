//! How one of several consumers takes items: the paper's `reserve_entry` (J. Wang 2024, Fig. 2.5).

use super::layout::{Blocks, Nothing};
use super::variables::Separate;
use crate::memory::{Cells, Ordering, is_before};
use crate::region::Run;
use crate::spin::Backoff;

/// The blocks, as several consumers see them.
pub type Ring<T> = Blocks<Separate, Cells<T>>;

/// A way to take items, and what a consumer knows from its last pop.
pub trait Reserve: Copy {
    /// What a consumer at `position` knows.
    fn at(position: u64) -> Self;

    /// Up to `wanted` items of the block that starts at `head`, or of a later lap of this block,
    /// and whether they are its last. `None` if all its items have been taken.
    fn reserve_in<T>(
        &mut self,
        head: u64,
        blocks: &Ring<T>,
        wanted: u64,
    ) -> Result<Option<(Run, bool)>, Nothing>;

    /// Behind the items that have been taken of the block that starts at `head`, while there is no
    /// other consumer.
    fn taken<T>(head: u64, blocks: &Ring<T>) -> u64;

    /// Writes what several consumers share, while the only consumer is at `position`.
    fn share<T>(position: u64, blocks: &Ring<T>);
}

/// By compare-and-swap.
#[derive(Debug, Clone, Copy)]
pub struct ByExchange {
    /// Position behind the items that it took.
    next: u64,
    /// The position up to which there were items.
    known: u64,
}

impl Reserve for ByExchange {
    fn at(position: u64) -> Self {
        Self { next: position, known: position }
    }

    #[inline]
    fn reserve_in<T>(
        &mut self,
        head: u64,
        blocks: &Ring<T>,
        wanted: u64,
    ) -> Result<Option<(Run, bool)>, Nothing> {
        let (cursor, arrangement) = (&blocks.at(head).consumers.reserved, blocks.arrangement());
        let full = arrangement.full_count(head);
        let is_here = self.next.wrapping_sub(head) < arrangement.size();
        let mut reserved = match is_here && is_before(self.next, self.known) {
            // At the last pop there were untaken items. Often they are still there.
            true => arrangement.count(self.next),
            // Acquire ↔ Release of the exchange below: observing an item taken makes visible the
            // items behind it that its consumer had observed. Otherwise the queue would seem empty.
            false => cursor.load(Ordering::Acquire),
        };
        let mut backoff = Backoff::new();
        while is_before(reserved, full) {
            let position = arrangement.go_on(head, reserved);
            if !is_before(position, self.known) {
                self.known = filled_from(position, blocks)?;
            }
            let n = wanted.min(self.known.wrapping_sub(position));
            let next = reserved.wrapping_add(n * arrangement.step());
            match cursor.compare_exchange(reserved, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => {
                    self.next = position.wrapping_add(n);
                    return Ok(Some((Run { position, n }, next == full)));
                }
                Err(_) => {
                    backoff.wait();
                    // Acquire: as above.
                    reserved = cursor.load(Ordering::Acquire);
                }
            }
        }
        Ok(None)
    }

    #[inline]
    fn taken<T>(head: u64, blocks: &Ring<T>) -> u64 {
        // Relaxed: all writes of other handles are visible, and no other handle writes any more.
        let reserved = blocks.at(head).consumers.reserved.load(Ordering::Relaxed);
        blocks.arrangement().go_on(head, reserved)
    }

    fn share<T>(position: u64, blocks: &Ring<T>) {
        let count = blocks.arrangement().count(position);
        // Relaxed: there is no other consumer yet.
        blocks.at(position).consumers.reserved.store(count, Ordering::Relaxed);
    }
}

/// The position up to which items are there from `position` on, in its block.
#[inline]
pub(crate) fn filled_from<T>(position: u64, blocks: &Ring<T>) -> Result<u64, Nothing> {
    let arrangement = blocks.arrangement();
    // Acquire ↔ Release in `Producer::commit`: the items.
    let committed = blocks.at(position).producers.committed.load(Ordering::Acquire);
    // `committed` may be older than what another consumer has seen and reserved.
    if !is_before(arrangement.count(position), committed) {
        return Err(blocks.nothing_at(position));
    }
    let filled = arrangement.go_on(position, committed);
    let end = blocks.end(position);
    if is_before(end, filled) {
        // Producers have filled the block again in a later lap since the caller found `position`.
        // This says nothing of the blocks between: a push there may be unfinished.
        return Ok(end);
    }
    if blocks.is_gapless(filled) { Ok(filled) } else { Err(Nothing::Yet) }
}
