//! The two ends of a queue: they own its region, tell each other when a side is gone, and free the
//! region.

use alloc::alloc::Layout;
use alloc::boxed::Box;
use core::alloc::LayoutError;
use core::fmt;
use core::mem::{MaybeUninit, needs_drop};
use core::ptr::NonNull;

use super::alloc::{Region, filled, try_box};
use super::map;
use super::presence::{MOST_ENDS, Presence};
use super::slots::{Slots, State};
use crate::pad::APART;
use crate::queue::config::{Backing, Memory};
use crate::queue::error::CapacityError;

/// What lies at the start of the region.
#[repr(C)]
pub(super) struct Head<H> {
    pub(super) present: Presence,
    pub(super) header: H,
}

/// The region of one queue with its contents; freed when both ends are gone.
pub(super) struct Shared<H: State> {
    pub(super) region: Region,
    pub(super) slots: H::Slots,
}

impl<H: State> Shared<H> {
    fn head(&self) -> NonNull<Head<H>> {
        self.region.base.cast()
    }
}

impl<H: State> Drop for Shared<H> {
    fn drop(&mut self) {
        /// Frees the header and the slots, even when an item's destructor panics.
        struct Finish<'a, H: State>(&'a mut Shared<H>);
        impl<H: State> Drop for Finish<'_, H> {
            fn drop(&mut self) {
                // SAFETY: the last handle is gone, so nothing refers to the slots or the header.
                unsafe {
                    self.0.slots.finish();
                    self.0.head().drop_in_place();
                }
            }
        }
        if self.region.is_shared() {
            // Other processes continue.
            return;
        }
        let this = Finish(self);
        if !needs_drop::<H::Item>() && this.0.region.backing == Backing::Mirrored {
            // In a child process after a fork, these slots are not mapped.
            return;
        }
        // SAFETY: the header was written by `ends` and lives until `Finish` is dropped.
        unsafe { this.0.head().as_ref() }.header.drop_items(&this.0.slots);
    }
}

/// A side of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It pushes.
    Producer,
    /// It pops.
    Consumer,
}

impl core::fmt::Display for Side {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Producer => "producer",
            Self::Consumer => "consumer",
        })
    }
}

impl Side {
    /// The other side.
    #[inline]
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Producer => Self::Consumer,
            Self::Consumer => Self::Producer,
        }
    }
}

/// A handle's part in the shared region of a queue. The drop of a side's last end tells the other
/// side.
pub struct End<H: State> {
    pub(super) header: NonNull<Head<H>>,
    pub(super) slots: H::Slots,
    pub(super) side: Side,
    /// A box that all ends share. The last end frees it. Each end in memory that processes share
    /// has a box of its own.
    ///
    /// A raw pointer, because the drop of an end must not take the handle's address. A handle whose
    /// address is never taken stays in registers, and a push needs a store less.
    pub(super) shared: *mut Shared<H>,
}

// SAFETY: an end gives access to the header, which threads may share, and to items, which it may
// move to another thread only if they are `Send`. An end isn't `Sync`. Algorithms with one thread
// on a side don't duplicate it.
unsafe impl<H: State> Send for End<H> where H::Item: Send {}

/// Both ends of a new queue with slots of `shape`, whose number comes from [`slots_for`].
pub(crate) fn ends<H: State>(
    memory: Memory,
    shape: <H::Slots as Slots>::Shape,
    header: H,
) -> Result<(End<H>, End<H>), CapacityError> {
    let (variables, slots) = (H::Slots::variables(shape), H::Slots::slots(shape));
    let (places, memory) = Places::new(memory, Layout::new::<Head<H>>(), variables, slots);
    let shared = try_box(MaybeUninit::<Shared<H>>::uninit())
        .map_err(|_| CapacityError::OutOfMemory { bytes: places.all.size() })?;
    let region = Region::new(memory, places.all, places.all.size() - places.slots)?;
    // SAFETY: the layout has room for `Head<H>` at its start, then for variables and slots, each
    // aligned, and no other thread knows the region yet.
    let slots = unsafe {
        region.base.cast().write(Head { present: Presence::new(), header });
        let (variables, slots) = (places.variables, places.slots);
        H::Slots::init(region.base.add(variables), region.base.add(slots), shape)
    };
    let header = region.base.cast();
    let shared = Box::into_raw(filled(shared, Shared { region, slots: slots.clone() }));
    let end = |side| End::<H> { header, slots: slots.clone(), side, shared };
    Ok((end(Side::Producer), end(Side::Consumer)))
}

/// Number of slots, a power of two, for `capacity` items and `unused` slots that stay empty.
///
/// # Errors
///
/// If the capacity is 0, or so large that the slots would not fit into memory.
pub(crate) fn slots_for<H: State>(capacity: usize, unused: usize) -> Result<usize, CapacityError> {
    slots_up_to::<H>(usize::MAX, capacity, unused)
}

/// As [`slots_for`], but at most `limit` slots, a power of two: as many as the algorithm can
/// distinguish.
pub(crate) fn slots_up_to<H: State>(
    limit: usize,
    capacity: usize,
    unused: usize,
) -> Result<usize, CapacityError> {
    power_of_two_up_to(most_slots::<H>().min(limit), capacity, unused)
}

/// As [`slots_up_to`]. Not generic: it is compiled once.
fn power_of_two_up_to(fit: usize, capacity: usize, unused: usize) -> Result<usize, CapacityError> {
    let most = fit.checked_ilog2().map_or(0, |log| 1_usize << log).saturating_sub(unused);
    if capacity == 0 || capacity > most {
        return Err(CapacityError::OutOfRange { asked: capacity, most });
    }
    Ok((capacity + unused).next_power_of_two())
}

/// Number of slots for which there are addresses: more than fit into the memory of any machine.
pub(crate) fn most_slots<H: State>() -> usize {
    // Half of all addresses, because of a mirror; and some room for the header.
    let room = isize::MAX as usize / 2 - 2 * map::PAGE - size_of::<Head<H>>();
    room / H::Slots::SLOT.size().max(1)
}

/// Where in a region everything is.
pub(super) struct Places {
    pub(super) all: Layout,
    /// Offset of the variables that belong to the slots.
    pub(super) variables: usize,
    /// Offset of the slots, which come last.
    pub(super) slots: usize,
}

impl Places {
    /// The places of a queue with these parts, and the memory that can hold them. Not generic: it
    /// is compiled once.
    pub(super) fn new(
        memory: Memory,
        head: Layout,
        variables: Result<Layout, LayoutError>,
        slots: Result<Layout, LayoutError>,
    ) -> (Self, Memory) {
        const FITS: &str = "slots_for leaves room for the header";
        let slots = slots.expect("slots_for bounds the number of slots");
        let memory = match memory {
            // A mirror repeats whole pages.
            Memory::Mirrored if slots.size() == 0 || slots.size() % map::PAGE != 0 => Memory::Heap,
            other => other,
        };
        let align = if memory == Memory::Mirrored { map::PAGE } else { APART };
        let (before, variables) = head.extend(variables.expect(FITS)).expect(FITS);
        let slots = slots.align_to(align).expect(FITS);
        let (all, slots) = before.extend(slots).expect(FITS);
        (Self { all, variables, slots }, memory)
    }
}

impl<H: State> End<H> {
    /// The shared variables.
    #[inline]
    pub(crate) fn header(&self) -> &H {
        // SAFETY: the region lives as long as an end does, and `ends` wrote the header.
        unsafe { &self.header.as_ref().header }
    }

    /// The shared slots.
    #[inline]
    pub(crate) fn slots(&self) -> &H::Slots {
        &self.slots
    }

    /// What kind of memory the queue has.
    pub(crate) fn backing(&self) -> Backing {
        // SAFETY: only the last end frees `shared`, and this end still exists.
        unsafe { &*self.shared }.region.backing
    }

    fn present(&self) -> &Presence {
        // SAFETY: as in `header`.
        unsafe { &self.header.as_ref().present }
    }

    /// Whether all ends of the other side have been dropped.
    #[inline]
    pub(crate) fn peer_is_gone(&self) -> bool {
        self.present().is_gone(self.side.other())
    }

    /// Number of ends of this side: a snapshot.
    pub(crate) fn ends(&self) -> u64 {
        self.present().number(self.side)
    }

    /// Whether this is the only end of its side.
    ///
    /// Then it stays the only end until it is duplicated, and all that other ends did happens
    /// before this call returns.
    pub(crate) fn is_only(&self) -> bool {
        self.present().is_only(self.side)
    }

    /// One more end of this side, for algorithms that allow several.
    ///
    /// # Panics
    ///
    /// If there are 65,536 already.
    pub(crate) fn duplicate(&self) -> Self {
        let may_enter = self.present().enter(self.side);
        let end = Self { slots: self.slots.clone(), ..*self };
        assert!(may_enter, "a side of a queue has at most {MOST_ENDS} handles");
        end
    }
}

impl<H: State> Drop for End<H> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: `shared` belongs to this end, which is not used any more.
        unsafe { leave(self.shared, self.side) };
    }
}

/// Marks this end gone, and frees the queue if it was the last end.
///
/// Out of line, but by value: see [`End::shared`].
///
/// # Safety
///
/// `shared` belongs to an end that is not used any more.
#[inline(never)]
unsafe fn leave<H: State>(shared: *mut Shared<H>, side: Side) {
    // SAFETY: this end is not gone yet, so no end has freed `shared` and its header. After `leave`
    // another one may.
    let (present, is_counted, is_own) = unsafe {
        let region = &(*shared).region;
        (&(*shared).head().as_ref().present, region.is_counted, region.is_shared())
    };
    let is_last = is_counted && present.leave(side);
    if is_last || is_own {
        // SAFETY: all other ends are gone as well, or have a box of their own, and this was the
        // last use here.
        drop(unsafe { Box::from_raw(shared) });
    }
}

impl<H: State> fmt::Debug for End<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("End").field("side", &self.side).field("backing", &self.backing()).finish()
    }
}
