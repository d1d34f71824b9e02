//! The contents of a region: the shared part of an algorithm, and its slots.

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::ptr::NonNull;

use crate::memory::{Cells, Words};

/// The shared part of an algorithm: its header, and how to drop items that were never popped.
pub trait State: Sized {
    /// The type of the items.
    type Item;
    /// The array of slots, as the algorithm sees it.
    type Slots: Slots;

    /// Drops all items that were pushed and never popped.
    ///
    /// Called once, when both handles are gone.
    fn drop_items(&self, slots: &Self::Slots);
}

/// An array of slots in a region, perhaps with variables of its own before it.
pub trait Slots: Clone {
    /// Size and alignment of one slot.
    const SLOT: Layout;
    /// How many slots there are, and their arrangement if that varies.
    type Shape: Copy;

    /// Memory for the slots, if there are so many addresses.
    fn slots(shape: Self::Shape) -> Result<Layout, LayoutError>;

    /// Memory for the variables.
    fn variables(_: Self::Shape) -> Result<Layout, LayoutError> {
        Ok(Layout::new::<()>())
    }

    /// Makes empty slots, and the variables that belong to them.
    ///
    /// # Safety
    ///
    /// `variables` and `slots` point to memory of these layouts, which nothing else uses while the
    /// array lives.
    unsafe fn init(variables: NonNull<u8>, slots: NonNull<u8>, shape: Self::Shape) -> Self;

    /// Ends the life of the slots. There are no items any more.
    ///
    /// # Safety
    ///
    /// No clone of the array is used afterwards.
    unsafe fn finish(&self);
}

/// Slots that processes can share.
pub trait Attach: Slots {
    /// The slots that [`init`](Slots::init) has made, as another process sees them.
    ///
    /// # Safety
    ///
    /// As for `init`, which has made such slots in this memory.
    unsafe fn attach(variables: NonNull<u8>, slots: NonNull<u8>, shape: Self::Shape) -> Self;
}

/// Layout of `len` times `slot`, whose size is a multiple of its alignment.
pub(crate) fn array(slot: Layout, len: usize) -> Result<Layout, LayoutError> {
    let bytes = slot.size().saturating_mul(len);
    Layout::from_size_align(bytes, slot.align())
}

impl<T> Slots for Cells<T> {
    const SLOT: Layout = Layout::new::<T>();
    type Shape = usize;

    fn slots(len: usize) -> Result<Layout, LayoutError> {
        array(Self::SLOT, len)
    }

    unsafe fn init(_: NonNull<u8>, slots: NonNull<u8>, len: usize) -> Self {
        // SAFETY: by the caller's contract there are `len` slots. Queues whose number of slots is
        // no power of two leave out the positions without a slot.
        unsafe { Self::new(slots.cast(), len) }
    }

    unsafe fn finish(&self) {}
}

impl<T> Attach for Cells<T> {
    unsafe fn attach(variables: NonNull<u8>, slots: NonNull<u8>, len: usize) -> Self {
        // SAFETY: the caller's contract. Cells are initialised by the pushes.
        unsafe { Self::init(variables, slots, len) }
    }
}

impl Slots for Words {
    const SLOT: Layout = Layout::new::<u64>();
    type Shape = usize;

    fn slots(len: usize) -> Result<Layout, LayoutError> {
        array(Self::SLOT, WORDS_BEFORE + len)
    }

    /// All words are 0.
    unsafe fn init(variables: NonNull<u8>, slots: NonNull<u8>, len: usize) -> Self {
        // SAFETY: by the caller's contract there are `len` slots. A region begins at a cache line,
        // and slots lie at lines in it.
        unsafe {
            slots.cast::<u64>().write_bytes(0, WORDS_BEFORE + len);
            Self::attach(variables, slots, len)
        }
    }

    unsafe fn finish(&self) {}
}

impl Attach for Words {
    unsafe fn attach(_: NonNull<u8>, slots: NonNull<u8>, len: usize) -> Self {
        // SAFETY: by the caller's contract there are `len` words, which `init` has set.
        unsafe { Self::new(slots.cast::<u64>().add(WORDS_BEFORE), len) }
    }
}

/// Words that are not used, so that the words behind the first one begin at a cache line.
const WORDS_BEFORE: usize = 7;

/// No slots: the items lie elsewhere.
#[derive(Clone)]
pub struct NoSlots;

impl Slots for NoSlots {
    const SLOT: Layout = Layout::new::<()>();
    type Shape = ();

    fn slots((): ()) -> Result<Layout, LayoutError> {
        Ok(Self::SLOT)
    }

    unsafe fn init(_: NonNull<u8>, _: NonNull<u8>, (): ()) -> Self {
        Self
    }

    unsafe fn finish(&self) {}
}

/// Slots in a row, from a position on, which only one thread accesses.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Position of the first slot, of this lap or an earlier one.
    pub(crate) position: u64,
    /// How many.
    pub(crate) n: u64,
}

impl Run {
    /// Position of slot number `i`.
    #[inline]
    pub(crate) fn slot(&self, i: usize) -> u64 {
        self.position.wrapping_add(i as u64)
    }

    /// Position behind the last slot.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.position.wrapping_add(self.n)
    }
}
