//! Queues in memory that several processes map, and the owners of their sides.

use alloc::alloc::Layout;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ptr::{self, NonNull};
use std::io;
use std::os::fd::BorrowedFd;

use rustix::mm::{MapFlags, ProtFlags, mmap};

use super::alloc::{Region, try_box};
pub use super::end::Side;
use super::end::{End, Head, Places, Shared};
use super::map::{READ_WRITE, unmap};
use super::presence::ENDS;
pub(crate) use super::presence::Presence;
use super::slots::{Attach, Slots, State};
use crate::memory::Ordering;
use crate::queue::config::{Backing, Memory};
use crate::queue::error::CapacityError;

/// Memory of a file that several processes map.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: it only owns the addresses.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `len` bytes of a file, which never becomes shorter.
    pub(crate) fn new(file: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        Self::with(file, len, READ_WRITE)
    }

    /// As [`new`](Self::new). The mapping is read-only.
    pub(crate) fn read_only(file: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        Self::with(file, len, ProtFlags::READ)
    }

    fn with(file: BorrowedFd<'_>, len: usize, access: ProtFlags) -> io::Result<Self> {
        // The file has its pages already: an access only fills the page table.
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe { mmap(ptr::null_mut(), len, access, flags, file, 0) }?;
        let base = NonNull::new(base.cast()).expect("no mapping is at address 0");
        Ok(Self { base, len })
    }

    /// Where it begins: at a page.
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped by `new`, and all that refers to it has an `Arc` of it.
        unsafe { unmap(self.base, self.len) };
    }
}

/// Memory for a queue that processes share, with slots of `shape`.
pub(crate) fn shared_layout<H: State>(shape: <H::Slots as Slots>::Shape) -> Layout {
    shared_places::<H>(shape).all
}

fn shared_places<H: State>(shape: <H::Slots as Slots>::Shape) -> Places {
    let (variables, slots) = (H::Slots::variables(shape), H::Slots::slots(shape));
    Places::new(Memory::Heap, Layout::new::<Head<H>>(), variables, slots).0
}

/// Makes a queue in memory that processes will share, and returns its slots. Only words are written:
/// a whole header would also have bytes between its fields, which may be anything of this process.
///
/// # Safety
///
/// `base` points to memory of [`shared_layout`], which no other process uses yet. All of its bytes
/// are zeros, which are the header of an empty queue.
pub(crate) unsafe fn found<H: State>(
    base: NonNull<u8>,
    shape: <H::Slots as Slots>::Shape,
) -> H::Slots {
    let places = shared_places::<H>(shape);
    // SAFETY: the caller's contract; the layout has room for all of this.
    unsafe {
        presence(base).begin();
        H::Slots::init(base.add(places.variables), base.add(places.slots), shape)
    }
}

/// As [`found`], with a header that isn't zeros.
///
/// # Safety
///
/// As for [`found`].
#[cfg(feature = "literature")]
pub(crate) unsafe fn found_with<H: State>(
    base: NonNull<u8>,
    shape: <H::Slots as Slots>::Shape,
    header: H,
) -> H::Slots {
    // SAFETY: the caller's contract.
    unsafe {
        base.cast().write(Head { present: Presence::new(), header });
        found::<H>(base, shape)
    }
}

/// The presence of a queue in memory that processes share.
///
/// # Safety
///
/// [`found`] has made a queue at `base`, which stays mapped for `'a`.
pub(crate) unsafe fn presence<'a>(base: NonNull<u8>) -> &'a Presence {
    // SAFETY: the caller's contract; it is the first part of every `Head`.
    unsafe { base.cast().as_ref() }
}

/// What marks a side gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// Its only end, when it is dropped.
    End,
    /// Others: processes have several ends.
    Others,
}

/// An end of a queue in memory that processes share. It counts already: see [`Presence::take`].
///
/// # Safety
///
/// [`found`] has made this queue of this shape at `base`, a part of the mapping. No other end of
/// this side is used any more, or the algorithm allows several.
pub(crate) unsafe fn join<H: State<Slots: Attach>>(
    mapping: Arc<Mapping>,
    base: NonNull<u8>,
    shape: <H::Slots as Slots>::Shape,
    side: Side,
    leaves: Leaves,
) -> Result<End<H>, CapacityError> {
    let places = shared_places::<H>(shape);
    // SAFETY: the caller's contract.
    let slots =
        unsafe { H::Slots::attach(base.add(places.variables), base.add(places.slots), shape) };
    let region = Region {
        base,
        layout: places.all,
        backing: Backing::Shared,
        mapped: 0,
        shared: Some(mapping),
        is_counted: leaves == Leaves::End,
    };
    let shared = Shared::<H> { region, slots: slots.clone() };
    let shared = try_box(shared)
        .map_err(|_| CapacityError::OutOfMemory { bytes: size_of::<Shared<H>>() })?;
    Ok(End { header: base.cast(), slots, side, shared: Box::into_raw(shared) })
}

/// The lowest bit of the epoch of a side.
const EPOCH: u64 = ENDS + 1;
/// Epochs of a side.
const MOST_EPOCHS: u64 = HALF / EPOCH;
/// All bits of a side.
const HALF: u64 = u32::MAX as u64;

/// For a queue whose sides processes take and lose.
impl Presence {
    /// One end of each side, of a new queue in memory that is zeros.
    fn begin(&self) {
        // Relaxed: no other process has the queue yet.
        self.0.store(Self::new().0.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// What [`take`](Self::take) changes, for [`bury`](Self::bury).
    pub(crate) fn seen(&self) -> u64 {
        // Acquire ↔ Release in `take`: the side is seen taken before its owner is looked for.
        self.0.load(Ordering::Acquire)
    }

    /// How often this side was taken: from 1 to 4095, and then from 1 again. 0 if never.
    pub(crate) fn epoch(side: Side, seen: u64) -> u64 {
        (seen >> side.shift() & HALF) / EPOCH
    }

    /// Whether this side had no end.
    pub(crate) fn was_gone(side: Side, seen: u64) -> bool {
        side.ends(seen) == 0
    }

    /// This side has one end from now on, which is that of a new owner.
    pub(crate) fn take(&self, side: Side) {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let epoch = Self::epoch(side, seen) % MOST_EPOCHS + 1;
            let taken = (seen & !(HALF << side.shift())) | ((epoch * EPOCH + 1) << side.shift());
            // Release ↔ Acquire in `seen`: the lock of the owner is taken already. Relaxed where it
            // fails: it is tried again.
            match self.0.compare_exchange(seen, taken, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => seen = found,
            }
        }
    }

    /// The owners of this side are dead or gone: marks the side without an end, unless it was taken
    /// since `seen` was read. Changes of the other side since then don't matter.
    pub(crate) fn bury(&self, side: Side, seen: u64) -> bool {
        let (half, mut now) = (HALF << side.shift(), seen);
        loop {
            let gone = now & !(ENDS << side.shift());
            // Release ↔ Acquire in `is_gone`: the owner was found dead. Relaxed where it fails: it
            // is tried again.
            match self.0.compare_exchange(now, gone, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(found) if (found ^ seen) & half == 0 => now = found,
                Err(_) => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_that_was_taken_is_never_taken_for_one_that_was_not() {
        let presence = Presence::new();
        for side in [Side::Producer, Side::Consumer] {
            let other = |seen| Presence::epoch(side.other(), seen);
            let before = other(presence.seen());
            for _ in 0..10_000 {
                let seen = presence.seen();
                presence.take(side);
                assert!(!presence.bury(side, seen), "it was taken meanwhile");
                let seen = presence.seen();
                assert!(Presence::epoch(side, seen) > 0 && !Presence::was_gone(side, seen));
                assert!(presence.bury(side, seen) && presence.is_gone(side));
            }
            assert_eq!(other(presence.seen()), before);
        }
    }
}
