//! `bbq`: the block-based bounded queue.
//!
//! The ring is cut into blocks. Producers and consumers each have a current block, and count what they do
//! in it: how many slots are `allocated` and `committed`, `reserved` and `consumed`. Producers enter a
//! block when all of it has been consumed, so within a block they needn't ask whether there is room, and
//! take slots by adding. While the two sides are in different blocks neither disturbs the other.
//!
//! **Use it** between several threads; it is the default.
//! **Don't** use it where nobody may ever wait for a thread that was stopped in the middle: a pop says
//! [`Busy`](TryPopError::Busy) while a push into the same block is unfinished. Or where the last slots
//! count: "full" may mean that almost a whole block is free.
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free, first in first out |
//! | capacity | N, the number of slots: what was asked for, rounded up to a power of two, at least 2; less up to S − 1 in use, S slots to a block |
//! | blocks | 2^max(1, ⌊log₂ N / 4⌋); [`Config::batch`] gives S instead, rounded down to a power of two, from 1 to N/2 |
//! | paper | J. Wang: *High Performance and Dependable Asynchronous Communication on Multi-Core Systems* (2024), §2.3, §2.4, retry-new |
//!
//! # Cursors
//!
//! A cursor has the version of its block, how often that has been entered, above the offset in it. The
//! offset has 17 bits more than a slot's number needs, because producers that come too late add to
//! `allocated` as well: at most one addition of at most a block for each of 65,536 handles. The version
//! may wrap: cursors are compared by their difference.
//!
//! Blocks are numbered on and on, so that a number says which block it is and what version it has. (The
//! paper's heads have an index and a version, which is off by one in the first block.)

use core::marker::PhantomData;

use crate::blocks::{Blocks, Shape, Variables};
use crate::chunk::drop_each;
use crate::memory::{AtomicU64, Ordering};
use crate::pad::Padded;
use crate::queue::{CapacityError, Config, TryPopError, TryPushError, debug_handle, full};
use crate::region::{End, Ring, State, ends};

/// Bits of an offset besides those for a slot's number.
const LATE_BITS: u32 = 17;

/// The four cursors of a block (the paper's Fig. 2.4).
#[derive(Debug)]
#[repr(C)]
struct Block {
    producers: Padded<Cursors>,
    consumers: Padded<Cursors>,
}

/// What one side counts in a block.
#[derive(Debug)]
#[repr(C)]
struct Cursors {
    /// Slots that have been taken: `allocated`, or `reserved`.
    taken: AtomicU64,
    /// Slots that are done: `committed`, or `consumed`.
    done: AtomicU64,
}

impl Variables for Block {
    fn new(block: usize, shape: &Shape) -> Self {
        let layout = Layout::new(shape);
        let number = layout.number(shape.first).wrapping_add(block as u64);
        // As if a lap before had filled and emptied it; but the first block has been entered.
        let cursor = match block {
            0 => layout.start(number),
            _ => layout.end(number.wrapping_sub(shape.blocks as u64)),
        };
        let cursors =
            || Padded(Cursors { taken: AtomicU64::new(cursor), done: AtomicU64::new(cursor) });
        Self { producers: cursors(), consumers: cursors() }
    }
}

/// How positions, block numbers and cursors come from each other.
#[derive(Debug, Clone, Copy)]
struct Layout {
    log_size: u32,
    log_blocks: u32,
}

impl Layout {
    fn new(shape: &Shape) -> Self {
        Self { log_size: shape.size.ilog2(), log_blocks: shape.blocks.ilog2() }
    }

    /// Slots of a block.
    #[inline]
    fn size(self) -> u64 {
        1 << self.log_size
    }

    /// The block that a position is in.
    #[inline]
    fn number(self, position: u64) -> u64 {
        position >> self.log_size
    }

    /// The cursor of the block with this number before anything was done in it.
    #[inline]
    fn start(self, number: u64) -> u64 {
        (number >> self.log_blocks) << (self.log_size + LATE_BITS)
    }

    /// The same when all was done.
    #[inline]
    fn end(self, number: u64) -> u64 {
        self.start(number).wrapping_add(self.size())
    }

    /// How many slots a cursor counts, more than a block has if some came late.
    #[inline]
    fn offset(self, cursor: u64) -> u64 {
        cursor & ((1 << (self.log_size + LATE_BITS)) - 1)
    }

    /// Whether a cursor says that nothing is left to be done in the block.
    #[inline]
    fn is_done(self, cursor: u64) -> bool {
        self.offset(cursor) >= self.size()
    }
}

/// Whether one cursor, or block number, comes before another. They are less than half of all apart.
#[inline]
fn is_before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

/// Moves `variable` on to `value`, if it isn't there or further already: the paper's MAX, for numbers that
/// wrap.
#[inline]
fn advance(variable: &AtomicU64, value: u64, order: Ordering) {
    let mut current = variable.load(Ordering::Relaxed);
    while is_before(current, value) {
        match variable.compare_exchange_weak(current, value, order, Ordering::Relaxed) {
            Ok(_) => return,
            Err(found) => current = found,
        }
    }
}

/// What the sides share besides the blocks: the numbers of their current blocks, or of earlier ones.
struct Header<T> {
    phead: Padded<AtomicU64>,
    chead: Padded<AtomicU64>,
    layout: Layout,
    items: PhantomData<T>,
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Blocks<Block, T>;

    fn drop_items(&self, blocks: &Blocks<Block, T>) {
        // Relaxed: all handles are gone, and dropping them has ordered what they did before this.
        let relaxed = |at: &AtomicU64| at.load(Ordering::Relaxed);
        let layout = self.layout;
        let (mut number, last) = (relaxed(&self.chead), relaxed(&self.phead));
        let mut offset = layout.offset(relaxed(&blocks.numbered(number).consumers.done));
        drop_each(|| {
            if offset >= layout.size() && number != last {
                number = number.wrapping_add(1);
                offset = 0;
            }
            let committed = relaxed(&blocks.numbered(number).producers.done);
            is_before(layout.start(number).wrapping_add(offset), committed).then(|| {
                let position = (number << layout.log_size).wrapping_add(offset);
                offset += 1;
                // SAFETY: the slot holds an item that was never popped; `offset` moves past it.
                unsafe { blocks.cells().read(position) }
            })
        });
    }
}

/// A queue for at least `capacity` items, between any number of threads on either side.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn channel<T>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    channel_with(Config::new(capacity))
}

/// As [`channel`], with all options.
///
/// # Errors
///
/// As [`channel`].
pub fn channel_with<T>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    let shape = Shape::new::<Header<T>>(config)?;
    let layout = Layout::new(&shape);
    let head = || Padded(AtomicU64::new(layout.number(shape.first)));
    let header = Header { phead: head(), chead: head(), layout, items: PhantomData };
    let (tx, rx) = ends(config.memory, shape, header)?;
    Ok((Producer { end: tx, layout }, Consumer { end: rx, layout }))
}

/// A sending side.
pub struct Producer<T> {
    end: End<Header<T>>,
    layout: Layout,
}

/// A receiving side.
pub struct Consumer<T> {
    end: End<Header<T>>,
    layout: Layout,
}

/// What became of a side's head.
enum Advanced {
    /// It may have moved; look again.
    Yes,
    /// There is no block to go to.
    No,
    /// There will be one when another thread is done.
    NotYet,
}

impl<T> Producer<T> {
    /// Appends `item`.
    ///
    /// # Errors
    ///
    /// [`Full`](TryPushError::Full) if the next block isn't empty, [`Busy`](TryPushError::Busy) if it is
    /// but for pops under way, [`Closed`](TryPushError::Closed) instead of both if all consumers are
    /// gone.
    #[inline]
    pub fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let blocks = self.end.slots();
        loop {
            // Acquire pairs with `advance_phead`: the block's cursors are at least as new.
            let head = self.end.header().phead.load(Ordering::Acquire);
            let block = blocks.numbered(head);
            if let Some(offset) = self.allocate(block) {
                // SAFETY: the slot has been consumed, and was allocated to this thread alone.
                unsafe { blocks.cells().write((head << self.layout.log_size) + offset, item) };
                // Release pairs with the load of `committed` in `reserve`: who sees it sees the item.
                block.producers.done.fetch_add(1, Ordering::Release);
                return Ok(());
            }
            match self.advance_phead(head) {
                Advanced::Yes => {}
                _ if self.end.peer_is_gone() => return Err(full(true, item)),
                Advanced::No => return Err(full(false, item)),
                Advanced::NotYet => return Err(TryPushError::Busy(item)),
            }
        }
    }

    /// The paper's `allocate_entry`: a slot of the block, if one is left.
    #[inline]
    fn allocate(&self, block: &Block) -> Option<u64> {
        let allocated = &block.producers.taken;
        // Producers that come too late don't go on adding.
        if self.layout.is_done(allocated.load(Ordering::Relaxed)) {
            return None;
        }
        // Acquire pairs with `advance_phead`: the slot has been consumed.
        let offset = self.layout.offset(allocated.fetch_add(1, Ordering::Acquire));
        (offset < self.layout.size()).then_some(offset)
    }

    /// Enters the block after `head`, if all of it has been consumed.
    #[inline]
    fn advance_phead(&self, head: u64) -> Advanced {
        let (layout, header) = (self.layout, self.end.header());
        let next = head.wrapping_add(1);
        let block = self.end.slots().numbered(next);
        // Acquire pairs with the addition in `try_pop`: the slots' items have been taken.
        let consumed = block.consumers.done.load(Ordering::Acquire);
        let lap_before = next.wrapping_sub(1 << layout.log_blocks);
        if is_before(consumed, layout.end(lap_before)) {
            let reserved = block.consumers.taken.load(Ordering::Relaxed);
            return if reserved == consumed { Advanced::No } else { Advanced::NotYet };
        }
        let start = layout.start(next);
        advance(&block.producers.done, start, Ordering::Relaxed);
        // Release pairs with the addition in `allocate`: `committed` is set, and the slots are free.
        advance(&block.producers.taken, start, Ordering::Release);
        // Release pairs with the load in `try_push`.
        advance(&header.phead, next, Ordering::Release);
        Advanced::Yes
    }

    /// Items that fit into the queue while nothing is popped.
    pub fn capacity(&self) -> usize {
        self.end.slots().len()
    }

    /// Whether all consumers have been dropped.
    pub fn is_closed(&self) -> bool {
        self.end.peer_is_gone()
    }
}

/// What there is to be reserved in a block.
enum Reserved {
    /// The slot with this offset.
    Slot(u64),
    /// Nothing.
    Empty,
    /// Nothing before another thread is done.
    Busy,
    /// Nothing, and nothing more will come.
    Done,
}

impl<T> Consumer<T> {
    /// Removes the oldest item.
    ///
    /// # Errors
    ///
    /// [`Empty`](TryPopError::Empty) if there is none, [`Busy`](TryPopError::Busy) if there may be one but
    /// a push under way is before it, [`Closed`](TryPopError::Closed) if there is none and all producers
    /// are gone.
    #[inline]
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        let mut closed = false;
        loop {
            match self.pop() {
                Err(TryPopError::Empty) if closed => return Err(TryPopError::Closed),
                Err(TryPopError::Empty) if self.end.peer_is_gone() => closed = true,
                other => return other,
            }
        }
    }

    #[inline]
    fn pop(&mut self) -> Result<T, TryPopError> {
        let blocks = self.end.slots();
        loop {
            // Acquire pairs with `advance_chead`: the block's cursors are at least as new.
            let head = self.end.header().chead.load(Ordering::Acquire);
            let block = blocks.numbered(head);
            match self.reserve(block) {
                Reserved::Slot(offset) => {
                    // SAFETY: the item is there, and was reserved to this thread alone.
                    let item =
                        unsafe { blocks.cells().read((head << self.layout.log_size) + offset) };
                    // Release pairs with the load in `advance_phead`: the item is out.
                    block.consumers.done.fetch_add(1, Ordering::Release);
                    return Ok(item);
                }
                Reserved::Empty => return Err(TryPopError::Empty),
                Reserved::Busy => return Err(TryPopError::Busy),
                Reserved::Done if self.advance_chead(head) => {}
                Reserved::Done => return Err(TryPopError::Empty),
            }
        }
    }

    /// The paper's `reserve_entry`.
    #[inline]
    fn reserve(&self, block: &Block) -> Reserved {
        let layout = self.layout;
        // Acquire pairs with `advance_chead`: `committed` is of this lap, if `reserved` is.
        let mut reserved = block.consumers.taken.load(Ordering::Acquire);
        loop {
            if layout.is_done(reserved) {
                return Reserved::Done;
            }
            // Acquire pairs with the addition in `try_push`: the items are there.
            let committed = block.producers.done.load(Ordering::Acquire);
            // It may be older than what another consumer has seen and reserved.
            if !is_before(reserved, committed) {
                return Reserved::Empty;
            }
            // A count says that so many slots are done, not which. All are that were allocated, if it
            // is as many.
            if !layout.is_done(committed) {
                let allocated = block.producers.taken.load(Ordering::Relaxed);
                if allocated != committed {
                    return Reserved::Busy;
                }
            }
            match block.consumers.taken.compare_exchange_weak(
                reserved,
                reserved.wrapping_add(1),
                Ordering::Relaxed,
                Ordering::Acquire,
            ) {
                Ok(_) => return Reserved::Slot(layout.offset(reserved)),
                Err(found) => reserved = found,
            }
        }
    }

    /// Enters the block after `head`, if a producer has.
    #[inline]
    fn advance_chead(&self, head: u64) -> bool {
        let (layout, header) = (self.layout, self.end.header());
        let next = head.wrapping_add(1);
        let block = self.end.slots().numbered(next);
        let start = layout.start(next);
        // Acquire pairs with `advance_phead`: `committed` is of this lap.
        if is_before(block.producers.done.load(Ordering::Acquire), start) {
            return false;
        }
        advance(&block.consumers.done, start, Ordering::Relaxed);
        // Release pairs with the load in `reserve`: `consumed` is set, and `committed` of this lap.
        advance(&block.consumers.taken, start, Ordering::Release);
        // Release pairs with the load in `pop`.
        advance(&header.chead, next, Ordering::Release);
        true
    }

    /// Items that fit into the queue while nothing is popped.
    pub fn capacity(&self) -> usize {
        self.end.slots().len()
    }

    /// Whether all producers have been dropped. Items may still be waiting.
    pub fn is_closed(&self) -> bool {
        self.end.peer_is_gone()
    }
}

impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        Self { end: self.end.duplicate(), layout: self.layout }
    }
}

impl<T> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        Self { end: self.end.duplicate(), layout: self.layout }
    }
}

debug_handle! {
    [T] Producer<T>, "Producer";
    [T] Consumer<T>, "Consumer";
}
