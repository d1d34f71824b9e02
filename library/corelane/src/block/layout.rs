// Above 500 lines: the parts that all block-based queues share, with their tests.

//! A ring of slots, divided into blocks with variables of their own: the memory of the block-based
//! queues (J. Wang 2024, Fig. 2.2).
//!
//! A block's cursors count its slots through all laps, and are never reset. The paper's cursors
//! have a version and an offset, and are reset when a block is entered. Cursors here count in
//! [steps](Arrangement::step): a lap of a block has as many steps as a lap of the ring has
//! positions. So cursors wrap when positions wrap, and have the number of the lap in the same bits.
//! Only [`allocated`](Arrangement::allocated) has a version and an offset.

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::variables::{BlockVariables, Variables};
use crate::memory::{AtomicU64, Cells, Ordering, is_before};
use crate::queue::config::ConfigOption;
use crate::queue::{CapacityError, Config, TryPopError};
use crate::region::{LendableSlots, MOST_ENDS, Slots, State, array, most_slots, slots_up_to};
use crate::unwind::drop_each;

/// Most blocks for the capacity that a queue was asked for.
const MOST_BLOCKS: usize = 1 << 16;

/// Most slots of a block. Items without a size could have more slots, but then `allocated` would
/// have no bits for the lap.
const MOST_SLOTS: usize = 1 << 31;

/// How many blocks there are, and how large they are: a power of two.
#[derive(Debug, Clone, Copy)]
pub struct BlockShape {
    pub(crate) blocks: usize,
    /// Slots of a block.
    pub(crate) size: usize,
    /// Position that the queue starts at, where a lap starts.
    pub(crate) first: u64,
}

impl BlockShape {
    /// The shape of a queue that takes an item whenever fewer than `config.capacity` are inside: at
    /// least two blocks, of `config.block` slots if that is given, and otherwise of as many slots
    /// as J. Wang (2024), §2.6.2.1, found best.
    ///
    /// # Errors
    ///
    /// If the capacity is 0, or too large for memory.
    pub(crate) fn new<H: State>(config: Config) -> Result<Self, CapacityError> {
        // All slots of a block but one may be empty, and not given back yet.
        Self::with_slots::<H>(config, |size| config.capacity + size - 1)
    }

    /// As [`new`](Self::new), with at least `slots(size)` slots for blocks of `size` slots: up to
    /// twice the capacity, and a block.
    pub(crate) fn with_slots<H: State>(
        config: Config,
        slots: impl Fn(usize) -> usize,
    ) -> Result<Self, CapacityError> {
        config.only(&[ConfigOption::Block])?;
        // A block is at most the capacity, rounded up.
        let most = MOST_BLOCKS.saturating_mul(MOST_SLOTS).min(most_slots::<H>() / 3);
        let len = slots_up_to::<H>(most, config.capacity, 0)?.max(2);
        let usual = len >> (len.ilog2() / 4).max(1);
        let size = config.block.map_or(usual, |items| 1 << items.max(1).ilog2());
        let size = size.min(MOST_SLOTS).clamp((len / MOST_BLOCKS).max(1), len);
        let blocks = slots(size).div_ceil(size).max(2);
        let shape = Self { blocks, size, first: config.first };
        Ok(Self { first: shape.arrangement().lap(config.first), ..shape })
    }

    /// Number of all slots.
    pub(crate) fn slots(&self) -> usize {
        self.blocks * self.size
    }

    /// How positions lie in the blocks.
    pub(crate) fn arrangement(&self) -> Arrangement {
        Arrangement::new(self.size, self.blocks)
    }
}

/// Why there is no slot to fill, or to empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nothing {
    /// There is none for any thread.
    AtAll,
    /// There will be one when the unfinished call of another thread is finished.
    Yet,
}

impl Nothing {
    /// The error of a pop. `is_closed` says whether producers were gone before the pop looked for
    /// an item.
    #[inline]
    pub(crate) fn to_pop(self, is_closed: bool) -> TryPopError {
        match self {
            Self::Yet => TryPopError::Busy,
            Self::AtAll if is_closed => TryPopError::Closed,
            Self::AtAll => TryPopError::Empty,
        }
    }
}

/// How positions lie in blocks.
///
/// A position is the number of its lap, of its block and of its slot, each in bits of its own. So
/// the number of positions of a lap is a power of two. If the ring has fewer blocks, the last
/// positions of a lap have no slot, and are left out: behind the last slot the next lap starts. A
/// position *behind a slot*, such as the end of a block, may be one of the left-out positions.
#[derive(Debug, Clone, Copy)]
pub struct Arrangement {
    log_size: u32,
    /// The logarithm of the number of blocks, rounded up.
    log_blocks: u32,
    /// The bits of a position that are the offset in its block.
    offset: u64,
    /// The bits of a position, or a count, that are the number of the lap.
    lap: u64,
    /// Slots of all blocks.
    slots: u64,
}

impl Arrangement {
    /// Bits of `allocated` for an offset, besides those for a slot of a block: late producers add
    /// to it as well, each handle at most a block, and one for each slot of the block.
    const LATE_BITS: u32 = MOST_ENDS.ilog2() + 1;

    fn new(size: usize, blocks: usize) -> Self {
        let (log_size, log_blocks) = (size.ilog2(), blocks.next_power_of_two().ilog2());
        let (offset, lap) = (size as u64 - 1, u64::MAX << (log_size + log_blocks));
        Self { log_size, log_blocks, offset, lap, slots: size as u64 * blocks as u64 }
    }

    /// Slots of a block.
    #[inline]
    pub(crate) fn size(self) -> u64 {
        self.offset + 1
    }

    /// Slots of all blocks.
    #[inline]
    pub(crate) fn slots(self) -> u64 {
        self.slots
    }

    /// Items that always fit: while fewer are inside, a slot is free.
    pub(crate) fn promised(self) -> usize {
        (self.slots - self.offset) as usize
    }

    /// Positions of a lap.
    #[inline]
    pub(crate) fn positions(self) -> u64 {
        !self.lap + 1
    }

    /// What the cursors count for a slot: the number of blocks, rounded up to a power of two.
    #[inline]
    pub(crate) fn step(self) -> u64 {
        1 << self.log_blocks
    }

    /// Cursors of the block of `position` when all slots before `position` are done.
    #[inline]
    pub(crate) fn count(self, position: u64) -> u64 {
        self.lap(position) | (position & self.offset) << self.log_blocks
    }

    /// The number of the lap of `position`, in the bits that it has in a position. Also the cursors
    /// when all earlier laps are done.
    #[inline]
    pub(crate) fn lap(self, position: u64) -> u64 {
        position & self.lap
    }

    /// Cursors of the block of `position` when all its slots are done in this lap.
    #[inline]
    pub(crate) fn full_count(self, position: u64) -> u64 {
        self.lap(position).wrapping_add(self.positions())
    }

    /// The position in the block of `position`, or behind its last slot, at which a cursor has
    /// `count`. Before `position` if `count` is smaller than there.
    #[inline]
    pub(crate) fn go_on(self, position: u64, count: u64) -> u64 {
        let steps = count.wrapping_sub(self.count(position)) as i64;
        position.wrapping_add_signed(steps >> self.log_blocks)
    }

    /// Whether a block starts at `position`.
    #[inline]
    pub(crate) fn is_start(self, position: u64) -> bool {
        position & self.offset == 0
    }

    /// Where the block of `position` starts.
    #[inline]
    pub(crate) fn start(self, position: u64) -> u64 {
        position & !self.offset
    }

    /// Behind the last slot of the block of `position`.
    #[inline]
    pub(crate) fn end(self, position: u64) -> u64 {
        (position | self.offset).wrapping_add(1)
    }

    /// Behind the last slot of the lap of `position`.
    #[inline]
    pub(crate) fn end_of_lap(self, position: u64) -> u64 {
        self.lap(position).wrapping_add(self.slots)
    }

    /// The position of the slot that comes next, for a position behind a slot.
    #[inline]
    pub(crate) fn next(self, position: u64) -> u64 {
        match position & !self.lap == self.slots {
            true => (position | !self.lap).wrapping_add(1),
            false => position,
        }
    }

    /// Where the block after that of `position` starts.
    #[inline]
    pub(crate) fn next_block(self, position: u64) -> u64 {
        self.next(self.end(position))
    }

    /// Where the block starts that is before the block that starts here.
    pub(crate) fn block_before(self, start: u64) -> u64 {
        let is_first = start & !self.lap == 0;
        let end = if is_first { self.end_of_lap(start.wrapping_sub(1)) } else { start };
        end.wrapping_sub(self.size())
    }

    /// Slots before a position, in its lap and all before.
    #[inline]
    pub(crate) fn turn(self, position: u64) -> u64 {
        let laps = position >> (self.log_size + self.log_blocks);
        position.wrapping_sub(laps.wrapping_mul(self.positions() - self.slots))
    }

    /// Slots from one position to another.
    #[inline]
    pub(crate) fn distance(self, from: u64, to: u64) -> u64 {
        let laps = self.lap(to).wrapping_sub(self.lap(from)) >> (self.log_size + self.log_blocks);
        to.wrapping_sub(from).wrapping_sub(laps.wrapping_mul(self.positions() - self.slots))
    }

    /// Behind the slots from one position to another that are in the lap of the first.
    #[inline]
    pub(crate) fn in_a_row(self, from: u64, to: u64) -> u64 {
        if self.lap(from) == self.lap(to) { to } else { self.end_of_lap(from) }
    }

    /// `allocated` when the slots of a block before `position` have been taken: the number of the
    /// lap, above the offset in the block.
    #[inline]
    pub(crate) fn allocated(self, position: u64) -> u64 {
        (position & self.lap) << self.late_shift() | position & self.offset
    }

    /// The same when all slots of the block that starts here have been taken.
    #[inline]
    pub(crate) fn all_allocated(self, start: u64) -> u64 {
        self.allocated(start) | self.size()
    }

    /// The position behind the slots that `allocated` counts, for the block that starts here.
    /// `allocated` may be of a later lap.
    #[inline]
    pub(crate) fn position(self, start: u64, allocated: u64) -> u64 {
        let laps = self.lap << self.late_shift() & allocated.wrapping_sub(self.allocated(start));
        start.wrapping_add(laps >> self.late_shift()).wrapping_add(self.offset(allocated))
    }

    /// How many slots `allocated` counts; more than a block has after late additions.
    #[inline]
    pub(crate) fn offset(self, allocated: u64) -> u64 {
        allocated & !(self.lap << self.late_shift())
    }

    /// The shift from the lap's number in a position to the lap's number in `allocated`.
    #[inline]
    fn late_shift(self) -> u32 {
        Self::LATE_BITS - self.log_blocks
    }
}

/// What the sides share besides slots.
pub struct Header<T, V: Variables> {
    pub(crate) heads: V::Heads,
    items: PhantomData<T>,
}

impl<T, V: Variables> Header<T, V> {
    pub(crate) fn new(heads: V::Heads) -> Self {
        Self { heads, items: PhantomData }
    }
}

impl<T, V: Variables> State for Header<T, V> {
    type Item = T;
    type Slots = Blocks<V, Cells<T>>;

    fn drop_items(&self, blocks: &Blocks<V, Cells<T>>) {
        let Some(mut read) = blocks.oldest() else { return };
        drop_each(|| {
            blocks.is_filled(read).then(|| {
                let position = read;
                read = blocks.arrangement().next(read.wrapping_add(1));
                // SAFETY: the slot holds an item that was never popped; `read` moves past it.
                unsafe { blocks.cells().read(position) }
            })
        });
    }
}

/// Blocks with variables `V`, and an array `A` of slots.
#[derive(Debug)]
pub struct Blocks<V, A> {
    variables: NonNull<V>,
    blocks: usize,
    /// The bits of a position's block number that are its index.
    mask: usize,
    arrangement: Arrangement,
    array: A,
}

impl<V, A: Clone> Clone for Blocks<V, A> {
    fn clone(&self) -> Self {
        Self { array: self.array.clone(), ..*self }
    }
}

impl<V, A> Blocks<V, A> {
    /// How positions lie in blocks.
    #[inline]
    pub(crate) fn arrangement(&self) -> Arrangement {
        self.arrangement
    }

    /// Number of all slots.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.arrangement.slots() as usize
    }

    /// The slots of all blocks.
    #[inline]
    pub(crate) fn array(&self) -> &A {
        &self.array
    }

    /// The variables of the block that `position` is in.
    #[inline]
    pub(crate) fn at(&self, position: u64) -> &V {
        let block = (position >> self.arrangement.log_size) as usize & self.mask;
        debug_assert!(block < self.blocks, "{position} has no slot");
        // SAFETY: the mask keeps the index among the blocks, since positions without a slot are
        // left out. They live as long as the array.
        unsafe { self.variables.add(block).as_ref() }
    }

    /// Where blocks start, in the first lap.
    pub(crate) fn starts(&self) -> impl Iterator<Item = u64> + use<V, A> {
        (0..self.arrangement.slots()).step_by(self.arrangement.size() as usize)
    }

    /// Behind the last slot of the block of `position`.
    #[inline]
    pub(crate) fn end(&self, position: u64) -> u64 {
        self.arrangement.end(position)
    }

    /// Where the block after that of `position` starts.
    #[inline]
    pub(crate) fn next_block(&self, position: u64) -> u64 {
        self.arrangement.next_block(position)
    }
}

impl<V: Variables, A> Blocks<V, A> {
    /// Whether producers have begun to fill slots from `position` on, in no order, while none of
    /// these is filled. Then a push into a later block may be finished.
    #[inline]
    pub(crate) fn is_begun(&self, position: u64) -> bool {
        self.at(position).is_begun(position, self.arrangement)
    }

    /// Whether all slots of a block before `filled` are filled, if as many slots are. The count
    /// doesn't say which.
    #[inline]
    pub(crate) fn is_gapless(&self, filled: u64) -> bool {
        // At its start, `filled` is in the next block, and this one is full.
        self.arrangement.is_start(filled) || !self.is_begun(filled)
    }

    /// Slots that are filled and not emptied, counted block by block. An only consumer's count
    /// lacks what it has emptied in its block.
    pub(crate) fn count_filled(&self) -> usize {
        // Relaxed: a snapshot.
        let sum = |counter: fn(&V) -> &AtomicU64| {
            let counts = self.starts().map(|start| counter(self.at(start)).load(Ordering::Relaxed));
            counts.fold(0_u64, u64::wrapping_add)
        };
        // First what is emptied: then the difference is not too small.
        let emptied = sum(V::consumed);
        let steps = (sum(V::committed).wrapping_sub(emptied) as i64).max(0) as u64;
        (steps / self.arrangement.step()) as usize
    }

    /// Why there is no item at `position`, while all slots before it are filled.
    #[inline]
    pub(crate) fn nothing_at(&self, position: u64) -> Nothing {
        if self.is_begun(position) { Nothing::Yet } else { Nothing::AtAll }
    }

    /// Why the block that starts here can't be entered. If consumers are in a later block,
    /// unfinished pops will soon empty this one.
    #[inline]
    pub(crate) fn no_room_at(&self, start: u64, heads: &V::Heads) -> Nothing {
        let last = start.wrapping_sub(self.arrangement.positions());
        if V::is_left(heads, last) { Nothing::Yet } else { Nothing::AtAll }
    }

    /// The first position that has been filled and not emptied, when all handles are gone.
    pub(crate) fn oldest(&self) -> Option<u64> {
        let arrangement = self.arrangement;
        // The first such position in each block, if there is one.
        let held = |start: u64| {
            // Relaxed: the drop of the handles orders all their accesses before this.
            let consumed = self.at(start).consumed().load(Ordering::Relaxed);
            let lap = arrangement.lap(consumed) | start;
            let position = arrangement.go_on(lap, consumed);
            let is_held = is_before(consumed, self.at(start).committed().load(Ordering::Relaxed));
            is_held.then_some(position)
        };
        self.starts().filter_map(held).reduce(|a, b| if is_before(b, a) { b } else { a })
    }

    /// Whether the slot at `position` has been filled, when all handles are gone.
    pub(crate) fn is_filled(&self, position: u64) -> bool {
        // Relaxed: see `oldest`.
        let committed = self.at(position).committed().load(Ordering::Relaxed);
        is_before(self.arrangement.count(position), committed)
    }
}

impl<V, T> LendableSlots<T> for Blocks<V, Cells<T>> {
    #[inline]
    fn cells(&self) -> &Cells<T> {
        &self.array
    }

    #[inline]
    fn count(&self) -> usize {
        self.len()
    }
}

impl<V: BlockVariables, A: Slots<Shape = usize>> Blocks<V, A> {
    /// Memory for the variables of all blocks and of the array, and the offset of the array's
    /// variables.
    fn variables_of_both(shape: BlockShape) -> Result<(Layout, usize), LayoutError> {
        array(Layout::new::<V>(), shape.blocks)?.extend(A::variables(shape.slots())?)
    }
}

impl<V: BlockVariables, A: Slots<Shape = usize>> Slots for Blocks<V, A> {
    const SLOT: Layout = A::SLOT;
    type Shape = BlockShape;

    fn slots(shape: BlockShape) -> Result<Layout, LayoutError> {
        A::slots(shape.slots())
    }

    fn variables(shape: BlockShape) -> Result<Layout, LayoutError> {
        Ok(Self::variables_of_both(shape)?.0)
    }

    unsafe fn init(variables: NonNull<u8>, slots: NonNull<u8>, shape: BlockShape) -> Self {
        let blocks = variables.cast::<V>();
        for block in 0..shape.blocks {
            // SAFETY: by the caller's contract there is room for the variables of all blocks.
            unsafe { blocks.add(block).write(V::new(&shape)) };
        }
        let (_, others) = Self::variables_of_both(shape).expect("the caller has had this layout");
        // SAFETY: the caller's contract. The array's variables lie behind those of the blocks.
        let array = unsafe { A::init(variables.add(others), slots, shape.slots()) };
        let arrangement = shape.arrangement();
        let mask = shape.blocks.next_power_of_two() - 1;
        Self { variables: blocks, blocks: shape.blocks, mask, arrangement, array }
    }

    unsafe fn finish(&self) {
        for block in 0..self.blocks {
            // SAFETY: each was written by `init`, and is not used any more.
            unsafe { self.variables.add(block).drop_in_place() };
        }
        // SAFETY: the caller's contract.
        unsafe { self.array.finish() };
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::Memory;
    use crate::block::single::queue_with;
    use crate::block::variables::Merged;

    /// Blocks, and slots of a block.
    fn shape(config: Config) -> (usize, usize) {
        let shape = BlockShape::new::<Header<(), Merged>>(config).unwrap();
        (shape.blocks, shape.size)
    }

    #[test]
    fn there_is_one_block_more_than_the_paper_has_found_best() {
        let shapes = [1, 3, 128, 256, 1000, 4096, 65536].map(|n| shape(Config::new(n)));
        let expected = [(2, 1), (2, 2), (3, 64), (5, 64), (5, 256), (9, 512), (17, 4096)];
        assert_eq!(shapes, expected);
    }

    #[test]
    fn blocks_are_as_large_as_asked() {
        let sizes = [0, 1, 3, 64, 128, usize::MAX].map(|n| shape(Config::new(128).block(n)).1);
        assert_eq!(sizes, [1, 1, 2, 64, 128, 128]);
        assert_eq!(shape(Config::new(1 << 20).block(1)), ((1 << 16) + 1, 16));
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn blocks_of_nothing_have_bits_left_for_laps() {
        let config = Config::new(1 << 40).block(1 << 39);
        assert_eq!(shape(config), ((1 << 9) + 1, MOST_SLOTS));
        let (mut tx, mut rx) = crate::block::shared::queue_with(config).unwrap();
        assert_eq!((tx.try_push(()), rx.try_pop()), (Ok(()), Ok(())));
        let error = queue_with::<()>(Config::new(MOST_BLOCKS * MOST_SLOTS + 1)).unwrap_err();
        assert!(matches!(error, CapacityError::OutOfRange { .. }));
    }

    /// A step from slot to slot leaves out the positions that have no slot, even where positions
    /// wrap.
    #[test]
    fn positions_go_round_any_number_of_blocks() {
        for (size, blocks) in [(1, 2), (1, 3), (2, 3), (4, 5), (4, 8), (2, 9)] {
            let arrangement = Arrangement::new(size, blocks);
            let first = arrangement.lap(u64::MAX);
            let step = |position: &u64| Some(arrangement.next(position.wrapping_add(1)));
            let steps: Vec<_> = core::iter::successors(Some(first), step).take(70).collect();
            for (n, position) in steps.iter().enumerate() {
                let index = position & !arrangement.lap;
                assert_eq!(index, (n % (size * blocks)) as u64, "of {size} in {blocks}");
                assert_eq!(arrangement.distance(first, *position), n as u64);
                assert_eq!(arrangement.distance(*position, steps[69]), 69 - n as u64);
                if arrangement.is_start(*position) {
                    let next = arrangement.next_block(*position);
                    assert_eq!(next, steps.get(n + size).copied().unwrap_or(next));
                    assert_eq!(arrangement.block_before(next), *position);
                }
            }
        }
    }

    /// `allocated` has fewer bits for the lap than a position. It suffices to find the position
    /// from a block that is a few laps older.
    #[test]
    fn positions_are_found_from_earlier_laps() {
        for (size, blocks) in [(1, 2), (2, 3), (4, 8), (512, 9), (1, MOST_BLOCKS + 1)] {
            let arrangement = Arrangement::new(size, blocks);
            let lap = |n: u64| arrangement.lap(n.wrapping_mul(arrangement.positions()));
            let last_block = (blocks as u64 - 1) * size as u64;
            for (from, laps) in [(0, 0), (3, 1), (u64::MAX, 1), (u64::MAX - 1, 3), (1 << 47, 2)] {
                for block in [0, last_block] {
                    let start = lap(from) + block;
                    let again = lap(from.wrapping_add(laps)) + block;
                    for offset in 0..size as u64 {
                        let allocated = arrangement.allocated(again + offset);
                        assert_eq!(arrangement.position(start, allocated), again + offset);
                    }
                    let late = arrangement.all_allocated(again) + 3;
                    assert_eq!(arrangement.position(start, late), again + size as u64 + 3);
                }
            }
        }
    }

    #[test]
    fn blocks_start_apart() {
        for memory in [Memory::Heap, Memory::HugePages, Memory::Mirrored] {
            let (mut tx, _rx) = queue_with::<u8>(Config::new(4096).memory(memory)).unwrap();
            let mut chunk = tx.write_chunk_uninit(1).unwrap();
            let first = chunk.as_mut_slices().0.as_ptr();
            assert_eq!(first.addr() % crate::pad::APART, 0);
        }
    }
}
