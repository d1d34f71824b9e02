//! A ring of slots in blocks, each with variables of its own: the memory of the block-based queues.

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::ptr::NonNull;

use crate::memory::Cells;
use crate::queue::{CapacityError, Config};
use crate::region::{Ring, Slots, State, array, slots_for};

/// Most blocks of a queue.
const MOST_BLOCKS: usize = 1 << 16;

/// How many blocks there are, and how large they are: both are powers of two.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) blocks: usize,
    /// Slots of a block.
    pub(crate) size: usize,
    /// Position that the queue starts at, a multiple of all slots.
    pub(crate) first: u64,
}

impl Shape {
    /// The shape of a queue: at least two blocks, of `config.batch` slots if that is given, else as many
    /// as J. Wang (2024), §2.6.2.1, has found best.
    ///
    /// # Errors
    ///
    /// If the capacity is 0, or too large for memory.
    pub(crate) fn new<H: State>(config: Config) -> Result<Self, CapacityError> {
        let len = slots_for::<H>(config.capacity, 0)?.max(2);
        let usual = len >> (len.ilog2() / 4).max(1);
        let size = config.batch.map_or(usual, |items| 1 << items.max(1).ilog2());
        let size = size.clamp((len / MOST_BLOCKS).max(1), len / 2);
        Ok(Self { blocks: len / size, size, first: config.first & !(len as u64 - 1) })
    }

    /// Number of all slots.
    pub(crate) fn len(&self) -> usize {
        self.blocks * self.size
    }
}

/// The variables of a block.
pub(crate) trait Variables {
    /// Those of the block with this number, in a new queue.
    fn new(block: usize, shape: &Shape) -> Self;
}

/// Blocks with variables `V`, and slots for items `T`.
#[derive(Debug)]
pub(crate) struct Blocks<V, T> {
    variables: NonNull<V>,
    mask: usize,
    log_size: u32,
    slots: Cells<T>,
}

impl<V, T> Clone for Blocks<V, T> {
    fn clone(&self) -> Self {
        let Self { variables, mask, log_size, ref slots } = *self;
        Self { variables, mask, log_size, slots: slots.clone() }
    }
}

impl<V, T> Blocks<V, T> {
    /// Number of all slots.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        (self.mask + 1) << self.log_size
    }

    /// Slots of a block.
    #[inline]
    pub(crate) fn size(&self) -> u64 {
        1 << self.log_size
    }

    /// The variables of the block that `position` is in.
    #[inline]
    pub(crate) fn at(&self, position: u64) -> &V {
        let block = (position >> self.log_size) as usize & self.mask;
        // SAFETY: the mask keeps the index among the blocks, which live as long as the array.
        unsafe { self.variables.add(block).as_ref() }
    }

    /// The variables of the block with this number, counted on over the end of the ring.
    #[inline]
    pub(crate) fn numbered(&self, number: u64) -> &V {
        // SAFETY: as in `at`.
        unsafe { self.variables.add(number as usize & self.mask).as_ref() }
    }

    /// The position at which the block after that of `position` starts.
    #[inline]
    pub(crate) fn end(&self, position: u64) -> u64 {
        (position | (self.size() - 1)).wrapping_add(1)
    }
}

impl<V, T> Ring<T> for Blocks<V, T> {
    #[inline]
    fn cells(&self) -> &Cells<T> {
        &self.slots
    }
}

impl<V: Variables, T> Slots for Blocks<V, T> {
    const SLOT: Layout = Layout::new::<T>();
    type Shape = Shape;

    fn slots(shape: Shape) -> Result<Layout, LayoutError> {
        array(Self::SLOT, shape.len())
    }

    fn variables(shape: Shape) -> Result<Layout, LayoutError> {
        array(Layout::new::<V>(), shape.blocks)
    }

    unsafe fn init(variables: NonNull<u8>, slots: NonNull<u8>, shape: Shape) -> Self {
        let variables = variables.cast::<V>();
        for block in 0..shape.blocks {
            // SAFETY: by the caller's word there is room for the variables of all blocks.
            unsafe { variables.add(block).write(V::new(block, &shape)) };
        }
        let slots = Cells::new(slots.cast(), shape.len());
        Self { variables, mask: shape.blocks - 1, log_size: shape.size.ilog2(), slots }
    }

    unsafe fn finish(&self) {
        for block in 0..=self.mask {
            // SAFETY: each was written by `init`, and is not used any more.
            unsafe { self.variables.add(block).drop_in_place() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spsc::block::channel_with;
    use crate::{Memory, Producer, SingleProducer};

    /// Slots, and slots of a block.
    fn shape(config: Config) -> (usize, usize) {
        let (tx, _rx) = channel_with::<()>(config).unwrap();
        (tx.capacity(), tx.slack() + 1)
    }

    #[test]
    fn blocks_are_as_many_as_the_paper_has_found_best() {
        let shapes = [1, 3, 128, 256, 1000, 4096, 65536].map(|n| shape(Config::new(n)));
        let expected =
            [(2, 1), (4, 2), (128, 64), (256, 64), (1024, 256), (4096, 512), (65536, 4096)];
        assert_eq!(shapes, expected);
    }

    #[test]
    fn blocks_are_as_large_as_asked() {
        let sizes = [0, 1, 3, 64, 128, usize::MAX].map(|n| shape(Config::new(128).batch(n)).1);
        assert_eq!(sizes, [1, 1, 2, 64, 64, 64]);
        assert_eq!(shape(Config::new(1 << 20).batch(1)), (1 << 20, 16));
    }

    #[test]
    fn blocks_start_apart() {
        for memory in [Memory::Heap, Memory::HugePages, Memory::Mirrored] {
            let (mut tx, _rx) = channel_with::<u8>(Config::new(4096).memory(memory)).unwrap();
            let mut chunk = tx.write_chunk_uninit(1).unwrap();
            let first = chunk.as_mut_slices().0.as_ptr();
            assert_eq!(first.addr() % crate::pad::APART, 0);
        }
    }
}
