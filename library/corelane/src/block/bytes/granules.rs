//! An array of bytes in granules, and an entry for each granule, which says whether a record begins
//! there.

use core::alloc::{Layout, LayoutError};
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use crate::memory::{AtomicU32, Cells, Ordering};
use crate::region::{Slots, array};

/// Bytes of a granule. With smaller granules the [`Entry`]s would cost more memory, with larger
/// granules the unused rest behind each record.
pub(super) const GRANULE: usize = size_of::<Granule>();

/// Longest record in bytes: what an [`Entry`] can say.
pub(super) const LONGEST: usize = Entry::SKIP as usize - 1;

/// How many granules a record of `len` bytes takes. An empty record takes one.
#[inline]
pub(super) fn granules(len: usize) -> u64 {
    len.div_ceil(GRANULE).max(1) as u64
}

/// The smallest unit that is taken. All records are aligned to it.
#[derive(Debug, Clone, Copy)]
#[repr(align(16))]
pub(super) struct Granule {
    _bytes: [u8; 16],
}

/// What begins at a granule: a record of so many bytes, or so many granules to be skipped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry(u32);

impl Entry {
    /// Set if the other bits count granules.
    const SKIP: u32 = 1 << 31;

    /// A record of `len` bytes, at most [`LONGEST`].
    #[inline]
    pub(super) fn record(len: usize) -> Self {
        debug_assert!(len <= LONGEST);
        Self(len as u32)
    }

    /// So many granules without a record, less than a block can have.
    #[inline]
    pub(super) fn skip(granules: u64) -> Self {
        debug_assert!(granules < u64::from(Self::SKIP));
        Self(Self::SKIP | granules as u32)
    }

    /// Bytes of the record, if it is one.
    #[inline]
    pub(super) fn len(self) -> Option<usize> {
        (self.0 & Self::SKIP == 0).then_some(self.0 as usize)
    }

    /// Granules to the next entry.
    #[inline]
    pub(super) fn granules(self) -> u64 {
        self.len().map_or(u64::from(self.0 & !Self::SKIP), granules)
    }
}

/// The granules of a ring, with an [`Entry`] beside each.
///
/// All bytes are initialised when the array is made. Entries are apart from the bytes: a consumer
/// that was stopped may read an entry where no record begins any more, while a producer writes the
/// bytes of another record there.
#[derive(Debug)]
pub struct Granules {
    entries: NonNull<AtomicU32>,
    len: usize,
    mask: usize,
    cells: Cells<Granule>,
}

impl Clone for Granules {
    fn clone(&self) -> Self {
        Self { cells: self.cells.clone(), ..*self }
    }
}

impl Granules {
    #[inline]
    fn at(&self, position: u64) -> &AtomicU32 {
        // SAFETY: the mask keeps the index among the entries, since positions without a granule are
        // left out. The entries live as long as the array.
        unsafe { self.entries.add(position as usize & self.mask).as_ref() }
    }

    /// What begins at `position`, if anything does. The counters order the access.
    #[inline]
    #[track_caller]
    pub(super) fn entry(&self, position: u64) -> Entry {
        Entry(self.at(position).load(Ordering::Relaxed))
    }

    /// Sets what begins at `position`. The counters order the access.
    #[inline]
    #[track_caller]
    pub(super) fn set(&self, position: u64, entry: Entry) {
        self.at(position).store(entry.0, Ordering::Relaxed);
    }

    /// First of the `len` bytes from `position` on, to be written next.
    #[inline]
    #[track_caller]
    pub(super) fn to_fill(&self, position: u64, len: usize) -> *mut u8 {
        self.cells.run_to_fill(position, len.div_ceil(GRANULE)).cast()
    }

    /// First of the `len` bytes from `position` on, to be read next.
    #[inline]
    #[track_caller]
    pub(super) fn to_empty(&self, position: u64, len: usize) -> *mut u8 {
        self.cells.run_to_empty(position, len.div_ceil(GRANULE)).cast()
    }
}

impl Slots for Granules {
    const SLOT: Layout = Layout::new::<(Granule, AtomicU32)>();
    type Shape = usize;

    fn slots(len: usize) -> Result<Layout, LayoutError> {
        array(Layout::new::<Granule>(), len)
    }

    fn variables(len: usize) -> Result<Layout, LayoutError> {
        array(Layout::new::<AtomicU32>(), len)
    }

    unsafe fn init(variables: NonNull<u8>, slots: NonNull<u8>, len: usize) -> Self {
        let (entries, slots) =
            (variables.cast::<AtomicU32>(), slots.cast::<MaybeUninit<Granule>>());
        // SAFETY: by the caller's contract there is room for `len` entries, and as many granules.
        unsafe {
            for i in 0..len {
                entries.add(i).write(AtomicU32::new(0));
            }
            slots.write_bytes(0, len);
        }
        // SAFETY: as above. Positions without a granule are left out.
        let cells = unsafe { Cells::new(slots, len) };
        Self { entries, len, mask: len.next_power_of_two() - 1, cells }
    }

    unsafe fn finish(&self) {
        for i in 0..self.len {
            // SAFETY: each was written by `init`, and is not used any more.
            unsafe { self.entries.add(i).drop_in_place() };
        }
    }
}
