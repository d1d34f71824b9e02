//! Memory on the heap or mapped, which may be missing.

use alloc::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::any::Any;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use super::map;
use crate::queue::config::{Backing, Memory};
use crate::queue::error::CapacityError;

/// A region of memory that several handles share.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) base: NonNull<u8>,
    pub(super) layout: Layout,
    pub(super) backing: Backing,
    /// Bytes mapped from `base` on; 0 on the heap.
    pub(super) mapped: usize,
    /// Keeps memory mapped that processes share.
    pub(super) shared: Option<Arc<dyn Any + Send + Sync>>,
    /// Whether an end that is dropped counts as gone.
    pub(super) is_counted: bool,
}

impl Region {
    /// Memory of `layout`; for [`Memory::Mirrored`] the last `tail` bytes twice.
    pub(super) fn new(memory: Memory, layout: Layout, tail: usize) -> Result<Self, CapacityError> {
        let mapping = match memory {
            Memory::Heap => None,
            // A mapping is aligned to a page and no more.
            _ if layout.align() > map::PAGE => None,
            Memory::HugePages => map::huge_pages(layout.size()),
            Memory::Mirrored => map::mirrored(layout.size(), tail),
        };
        match mapping {
            Some((base, mapped, backing)) => {
                Ok(Self { base, layout, backing, mapped, shared: None, is_counted: true })
            }
            None => Self::heap(layout),
        }
    }

    fn heap(layout: Layout) -> Result<Self, CapacityError> {
        // SAFETY: the layout has a header in it, so its size is not zero.
        let base = NonNull::new(unsafe { alloc(layout) })
            .ok_or(CapacityError::OutOfMemory { bytes: layout.size() })?;
        let backing = Backing::Heap;
        Ok(Self { base, layout, backing, mapped: 0, shared: None, is_counted: true })
    }

    /// Whether other processes may use it, too.
    pub(super) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        match self.backing {
            // SAFETY: `base` came from `alloc` with this layout.
            Backing::Heap => unsafe { dealloc(self.base.as_ptr(), self.layout) },
            // The mapping unmaps itself.
            Backing::Shared => {}
            // SAFETY: `base` came from `map` with this length, and no handle is left.
            _ => unsafe { map::unmap(self.base, self.mapped) },
        }
    }
}

/// `place` with `value` in it.
pub(super) fn filled<T>(mut place: Box<MaybeUninit<T>>, value: T) -> Box<T> {
    place.write(value);
    // SAFETY: the value was written.
    unsafe { place.assume_init() }
}

/// `value` in a box, or `value` itself if there is no memory for the box.
pub(crate) fn try_box<T>(value: T) -> Result<Box<T>, T> {
    match try_empty_box() {
        Some(place) => Ok(filled(place, value)),
        None => Err(value),
    }
}

/// A box to be written to, if there is memory for it.
pub(crate) fn try_empty_box<T>() -> Option<Box<MaybeUninit<T>>> {
    if size_of::<T>() == 0 {
        return Some(Box::new(MaybeUninit::uninit()));
    }
    // SAFETY: its size is not zero.
    let place = NonNull::new(unsafe { alloc(Layout::new::<T>()) })?;
    // SAFETY: the memory is new, and has the size and alignment that a box of this type needs.
    Some(unsafe { Box::from_raw(place.cast().as_ptr()) })
}

/// Called when there is no memory for a clone of `T`. Aborts the process, as the clone of a box
/// does.
pub(crate) fn no_memory<T>() -> T {
    handle_alloc_error(Layout::new::<T>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_mapped_where_the_system_can() {
        let can = cfg!(all(feature = "std", target_os = "linux", not(feature = "no-mappings")));
        let layout = Layout::from_size_align(2 * map::PAGE, map::PAGE).unwrap();
        for memory in [Memory::Heap, Memory::HugePages, Memory::Mirrored] {
            let region = Region::new(memory, layout, map::PAGE).unwrap();
            assert_eq!(
                region.backing != Backing::Heap,
                can && memory != Memory::Heap,
                "{memory:?}"
            );
        }
    }
}
