//! The parts that both orders share: blocks, the word that says which items of a block are taken,
//! and a thief's loot.

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::fmt;
use core::ops::Deref;
use core::ptr::NonNull;

use crate::memory::{AtomicBool, AtomicU64, Barrier, Cells, Ordering, Shifted, UnsafeCell};
use crate::pad::Padded;
use crate::queue::config::ConfigOption;
use crate::queue::{CapacityError, Config};
use crate::region::{Slots, State, array, slots_up_to};
use crate::unwind::drop_each;

/// Most slots of a block: as many as a word can count.
const MOST_SLOTS: usize = 1024;

/// Most slots of all blocks: there are addresses for that many blocks, and a word tells numbers
/// apart that differ by no more.
const MOST_SLOTS_AT_ALL: usize = {
    let (by_number, by_address) = (1_u64 << 38, (usize::MAX >> 10) as u64);
    if by_number < by_address { by_number as usize } else { by_address as usize }
};

const LOG_INDEX: u32 = MOST_SLOTS.ilog2() + 1;
const INDEX: u64 = (1 << LOG_INDEX) - 1;
const OWNED: u64 = 1 << (2 * LOG_INDEX);
const SEIZED: u64 = 2 << (2 * LOG_INDEX);
const LOG_NUMBER: u32 = 2 * LOG_INDEX + 2;

/// The state of a block: the paper's `s_pos`, with its round.
///
/// | bits | |
/// |---|---|
/// | 0 to 10 | index: the number of slots, from the first one on, whose items thieves have taken, or the FIFO owner before them |
/// | 11 to 21 | FIFO: where the first seizure began that the owner has not noticed yet; the index, if there is none. LIFO: the index behind the item that the owner has given last, or 0 |
/// | 22 and 23 | the state of the block: with the thieves, with the owner, or with the owner and marked by a thief |
/// | 24 to 63 | the low bits of the number of the block, which the paper calls round |
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(pub(super) u64);

impl Word {
    /// A block of the thieves, of which no item has been taken.
    pub(super) fn granted(number: u64) -> Self {
        Self(number << LOG_NUMBER)
    }

    /// As [`granted`](Self::granted), but a block of the owner.
    pub(super) fn owned(number: u64) -> Self {
        Self(number << LOG_NUMBER | OWNED)
    }

    /// Whether it is the word of this block, and not of an earlier or later one in the same slots.
    pub(super) fn is_of(self, number: u64) -> bool {
        self.0 >> LOG_NUMBER << LOG_NUMBER == number << LOG_NUMBER
    }

    /// Whether it is the word of a later block than this one.
    pub(super) fn is_after(self, number: u64) -> bool {
        let ahead = (self.0 >> LOG_NUMBER << LOG_NUMBER).wrapping_sub(number << LOG_NUMBER);
        ahead as i64 > 0
    }

    pub(super) fn is_granted(self) -> bool {
        self.0 & (OWNED | SEIZED) == 0
    }

    pub(super) fn is_seized(self) -> bool {
        self.0 & SEIZED != 0
    }

    pub(super) fn index(self) -> u64 {
        self.0 & INDEX
    }

    pub(super) fn start(self) -> u64 {
        self.0 >> LOG_INDEX & INDEX
    }

    pub(super) fn with_index(self, index: u64) -> Self {
        Self(self.0 & !INDEX | index)
    }

    pub(super) fn with_start(self, start: u64) -> Self {
        Self(self.0 & !(INDEX << LOG_INDEX) | start << LOG_INDEX)
    }

    /// LIFO: gives the next item to the thief that has marked the block. The start says so, even if
    /// other thieves take items before that thief looks.
    pub(super) fn with_gift(self) -> Self {
        let next = self.index() + 1;
        self.with_start(next).with_index(next)
    }

    /// Whether the thief has been given an item since the word was `before`, when no thief had
    /// marked it.
    pub(super) fn is_gift(self, before: Self) -> bool {
        let is_same_round = self.0 >> LOG_NUMBER == before.0 >> LOG_NUMBER;
        is_same_round && self.start() == before.index() + 1
    }

    /// The word that the owner expects: this one, or an impossible one if the barrier's light fence
    /// isn't free.
    pub(super) fn expected(self, barrier: Barrier) -> u64 {
        if barrier.is_light() { self.0 } else { OWNED | SEIZED }
    }

    pub(super) fn for_thieves(self) -> Self {
        Self(self.0 & !(OWNED | SEIZED))
    }

    pub(super) fn for_owner(self) -> Self {
        Self(self.0 & !SEIZED | OWNED)
    }

    pub(super) fn for_seizer(self) -> Self {
        Self(self.0 & !OWNED | SEIZED)
    }
}

/// The variables of a block.
pub(super) struct Block {
    /// Written by thieves, and by the owner when the block changes hands.
    thieves: Padded<Thieves>,
    /// Written by the owner.
    owner: Padded<Owner>,
}

struct Thieves {
    word: AtomicU64,
    /// Items that thieves have read, in all rounds: the paper's `s_cnt`.
    read: AtomicU64,
}

struct Owner {
    /// The position behind the newest item: the paper's `b_pos`. FIFO only.
    back: AtomicU64,
    /// Items that thieves have taken in all earlier rounds. Only the owner reads it.
    taken: AtomicU64,
}

impl Block {
    /// Exchanges the word.
    pub(super) fn exchange(&self, from: Word, to: Word, order: Ordering) -> Result<(), Word> {
        let was = self.thieves.word.compare_exchange(from.0, to.0, order, Ordering::Relaxed);
        was.map(drop).map_err(Word)
    }

    /// The FIFO owner: removes the mark of a thief, which then gets no item, and returns the word
    /// without it.
    pub(super) fn unmarked(&self, barrier: Barrier) -> Word {
        let mut found = self.word_after_pop(barrier);
        while found.is_seized() {
            let own = found.for_owner();
            match self.exchange(found, own, Ordering::Relaxed) {
                Ok(()) => return own,
                Err(now) => found = now,
            }
        }
        found
    }

    /// The owner: the word, after it has stored its position for a pop.
    pub(super) fn word_after_pop(&self, barrier: Barrier) -> Word {
        // The pop may have had no fence.
        barrier.light();
        Word(self.thieves.word.load(Ordering::Relaxed))
    }

    pub(super) fn word(&self) -> &AtomicU64 {
        &self.thieves.word
    }

    pub(super) fn back(&self) -> &AtomicU64 {
        &self.owner.back
    }

    /// The owner: whether thieves have read all that they have taken in earlier rounds.
    pub(super) fn is_read(&self) -> bool {
        // Acquire ↔ Release in `Loot::drop`: the items are out of the slots.
        self.thieves.read.load(Ordering::Acquire) == self.owner.taken.load(Ordering::Relaxed)
    }

    /// The owner: counts what thieves take in this round.
    pub(super) fn count_taken(&self, n: u64) {
        let before = self.owner.taken.load(Ordering::Relaxed);
        self.owner.taken.store(before.wrapping_add(n), Ordering::Relaxed);
    }
}

/// One thief seizes at a time. So a mark that it finds is its own.
pub(super) struct RightToSeize {
    is_taken: AtomicBool,
    /// Has no content. By it models check that the thief is alone.
    alone: UnsafeCell<()>,
}

impl RightToSeize {
    pub(super) fn new() -> Self {
        Self { is_taken: AtomicBool::new(false), alone: UnsafeCell::new(()) }
    }

    /// Whether a thief has it.
    pub(super) fn is_taken(&self) -> bool {
        // Relaxed: the caller has a fence, if it needs one.
        self.is_taken.load(Ordering::Relaxed)
    }

    /// `None` if another thief has it.
    pub(super) fn take(&self) -> Option<Seizing<'_>> {
        // Acquire ↔ Release in `drop`: the other thief's mark is gone.
        let was = self.is_taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        was.ok()?;
        self.alone.with_mut(|_| ());
        Some(Seizing(self))
    }
}

/// The right, which this thief has.
pub(super) struct Seizing<'a>(&'a RightToSeize);

impl Drop for Seizing<'_> {
    fn drop(&mut self) {
        self.0.alone.with_mut(|_| ());
        // Release ↔ Acquire in `take`: this thief's mark is gone.
        self.0.is_taken.store(false, Ordering::Release);
    }
}

/// A worker's view of a block.
pub(super) struct AtHand<T> {
    block: NonNull<Block>,
    /// At positions in this block.
    pub(super) cells: Shifted<T>,
}

impl<T> Clone for AtHand<T> {
    fn clone(&self) -> Self {
        Self { block: self.block, cells: self.cells.clone() }
    }
}

impl<T> Deref for AtHand<T> {
    type Target = Block;

    #[inline]
    fn deref(&self) -> &Block {
        // SAFETY: a queue lives as long as its worker, and its blocks with it.
        unsafe { self.block.as_ref() }
    }
}

/// The blocks of a queue.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub(super) blocks: usize,
    /// The logarithm of the slots of a block.
    log_slots: u32,
    /// FIFO: items that the owner pushes into a block before it grants it.
    pub(super) held: u64,
    /// Number of the first block.
    first: u64,
}

impl Shape {
    /// By default about eight blocks, and one more. Without this additional block, a block of which
    /// thieves have taken a part would be missing.
    pub(super) fn new<H: State>(
        config: Config,
        has: &[ConfigOption],
    ) -> Result<Self, CapacityError> {
        config.only(has)?;
        slots_up_to::<H>(MOST_SLOTS_AT_ALL, config.capacity, 2 * MOST_SLOTS)?;
        // At least so many that numbers of blocks don't repeat soon.
        let usual = config.capacity.div_ceil(8).next_power_of_two().max(8);
        let slots = config.block.map_or(usual, |slots| slots.max(1)).min(MOST_SLOTS);
        let log_slots = slots.ilog2();
        let blocks = config.capacity.div_ceil(1 << log_slots) + 1;
        let held = config.batch.unwrap_or(1 << log_slots >> 6).min((1 << log_slots) - 1) as u64;
        Ok(Self { blocks, log_slots, held, first: config.first >> log_slots })
    }

    /// Where the first block starts.
    pub(super) fn first(&self) -> u64 {
        self.first << self.log_slots
    }

    /// Items that fit.
    pub(super) fn capacity(&self) -> usize {
        (self.blocks - 1) << self.log_slots
    }
}

/// The slots, and the variables of their blocks.
///
/// A position is the number of a block and, in its low bits, of a slot in it.
pub struct Blocks<T> {
    variables: NonNull<Block>,
    cells: Cells<T>,
    shape: Shape,
}

impl<T> Clone for Blocks<T> {
    fn clone(&self) -> Self {
        Self { cells: self.cells.clone(), ..*self }
    }
}

impl<T> Slots for Blocks<T> {
    const SLOT: Layout = Layout::new::<T>();
    type Shape = Shape;

    fn slots(shape: Shape) -> Result<Layout, LayoutError> {
        array(Self::SLOT, shape.blocks << shape.log_slots)
    }

    fn variables(shape: Shape) -> Result<Layout, LayoutError> {
        Layout::array::<Block>(shape.blocks)
    }

    unsafe fn init(variables: NonNull<u8>, slots: NonNull<u8>, shape: Shape) -> Self {
        let variables = variables.cast::<Block>();
        for number in (shape.first..).take(shape.blocks) {
            let i = (number % shape.blocks as u64) as usize;
            // As if thieves had taken all items of the round before. The first block belongs to the
            // owner.
            let word = match number == shape.first {
                true => Word::owned(number),
                false => Word::granted(number.wrapping_sub(shape.blocks as u64))
                    .with_index(1 << shape.log_slots),
            };
            let block = Block {
                thieves: Padded(Thieves { word: AtomicU64::new(word.0), read: AtomicU64::new(0) }),
                owner: Padded(Owner {
                    back: AtomicU64::new(shape.first()),
                    taken: AtomicU64::new(0),
                }),
            };
            // SAFETY: by the caller's contract there is memory for all blocks of the shape.
            unsafe { variables.add(i).write(block) };
        }
        // SAFETY: by the caller's contract there are as many slots as the shape has. Positions less
        // their block's `offset` are numbers of these.
        let cells = unsafe { Cells::new(slots.cast(), shape.blocks << shape.log_slots) };
        Self { variables, cells, shape }
    }

    unsafe fn finish(&self) {
        for i in 0..self.shape.blocks {
            // SAFETY: `init` has made them, and by the caller's contract nothing uses them any
            // more.
            unsafe { self.variables.add(i).drop_in_place() };
        }
    }
}

impl<T> Blocks<T> {
    #[inline]
    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Slots of a block.
    #[inline]
    pub(super) fn size(&self) -> u64 {
        1 << self.shape.log_slots
    }

    /// Where the block of this position starts.
    #[inline]
    pub(super) fn start(&self, position: u64) -> u64 {
        position & !(self.size() - 1)
    }

    /// The number of the block of this position.
    #[inline]
    pub(super) fn number(&self, position: u64) -> u64 {
        position >> self.shape.log_slots
    }

    /// Which block of the memory it is.
    #[inline]
    fn place(&self, position: u64) -> usize {
        (self.number(position) % self.shape.blocks as u64) as usize
    }

    #[inline]
    pub(super) fn at(&self, position: u64) -> &Block {
        // SAFETY: `init` has made all blocks of the shape, and `place` is less than their number.
        // They live as long as this.
        unsafe { self.variables.add(self.place(position)).as_ref() }
    }

    /// The block of this position, for the owner, which keeps it as long as its worker lives.
    pub(super) fn at_hand(&self, position: u64) -> AtHand<T> {
        let cells = self.cells.shifted(self.offset(self.start(position)));
        AtHand { block: NonNull::from(self.at(position)), cells }
    }

    /// What to subtract from positions of this block to get their cells.
    #[inline]
    fn offset(&self, start: u64) -> u64 {
        start.wrapping_sub((self.place(start) as u64) << self.shape.log_slots)
    }

    /// Drops the items at these positions. No thread uses the queue any more.
    pub(super) fn drop_items(&self, mut positions: impl Iterator<Item = u64>) {
        drop_each(|| {
            let position = positions.next()?;
            let cell = position.wrapping_sub(self.offset(self.start(position)));
            // SAFETY: by the caller's contract there is an item, which no thread takes.
            Some(unsafe { self.cells.read(cell) })
        });
    }
}

/// Items that a thief has taken. Items that it doesn't read are dropped with this.
///
/// Their slots are in use until this is dropped: collect the items before they are run. If this is
/// forgotten, the owner never uses their block again, and a FIFO queue is full for ever.
pub struct Loot<'a, T> {
    block: &'a Block,
    cells: &'a Cells<T>,
    /// Cell of the next item.
    next: u64,
    left: usize,
    taken: usize,
}

impl<'a, T> Loot<'a, T> {
    /// The items from a position on, all of one block.
    ///
    /// # Safety
    ///
    /// The thread has taken them, and all of them are visible to it.
    pub(super) unsafe fn new(blocks: &'a Blocks<T>, position: u64, taken: u64) -> Self {
        let next = position.wrapping_sub(blocks.offset(blocks.start(position)));
        let taken = taken as usize;
        Self { block: blocks.at(position), cells: &blocks.cells, next, left: taken, taken }
    }
}

impl<T> Iterator for Loot<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: by the word of the caller of `new` the item is this thread's, and it has not been
        // read yet.
        let item = unsafe { self.cells.read(self.next) };
        self.next += 1;
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for Loot<'_, T> {}

impl<T> Drop for Loot<'_, T> {
    fn drop(&mut self) {
        /// Gives the slots back, even when an item's destructor panics.
        struct GiveBack<'a>(&'a Block, usize);
        impl Drop for GiveBack<'_> {
            fn drop(&mut self) {
                // Release ↔ Acquire in `is_read`: the items are out of the slots.
                self.0.thieves.read.fetch_add(self.1 as u64, Ordering::Release);
            }
        }
        let _back = GiveBack(self.block, self.taken);
        drop_each(|| self.next());
    }
}

impl<T> fmt::Debug for Loot<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loot").field("left", &self.left).finish_non_exhaustive()
    }
}
