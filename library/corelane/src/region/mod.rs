//! Where the shared part of a queue lives: one header and an array of slots, with no pointer inside.

use alloc::alloc::{Layout, alloc, dealloc};
use alloc::boxed::Box;
use core::alloc::LayoutError;
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::slice::{from_raw_parts, from_raw_parts_mut};

use crate::memory::{AtomicU64, Cells, Ordering};
use crate::pad::{APART, Padded};
use crate::queue::chunk::{LentItems, LentSlots};
use crate::queue::config::{Backing, Memory};
use crate::queue::error::CapacityError;

/// A piece of memory that several handles share.
#[derive(Debug)]
struct Region {
    base: NonNull<u8>,
    layout: Layout,
    backing: Backing,
    /// Bytes mapped from `base` on; 0 on the heap.
    mapped: usize,
}

impl Region {
    /// Memory of `layout`; for [`Memory::Mirrored`] the last `tail` bytes twice.
    fn new(memory: Memory, layout: Layout, tail: usize) -> Result<Self, CapacityError> {
        let mapping = match memory {
            Memory::Heap => None,
            // A mapping is aligned to a page and no more.
            _ if layout.align() > map::PAGE => None,
            Memory::HugePages => map::huge_pages(layout.size()),
            Memory::Mirrored => map::mirrored(layout.size(), tail),
        };
        match mapping {
            Some((base, mapped, backing)) => Ok(Self { base, layout, backing, mapped }),
            None => Self::heap(layout),
        }
    }

    fn heap(layout: Layout) -> Result<Self, CapacityError> {
        // SAFETY: the layout has a header in it, so its size is not zero.
        let base = NonNull::new(unsafe { alloc(layout) })
            .ok_or(CapacityError::OutOfMemory { bytes: layout.size() })?;
        Ok(Self { base, layout, backing: Backing::Heap, mapped: 0 })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        match self.backing {
            // SAFETY: `base` came from `alloc` with this layout.
            Backing::Heap => unsafe { dealloc(self.base.as_ptr(), self.layout) },
            // SAFETY: `base` came from `map` with this length, and no handle is left.
            _ => unsafe { map::unmap(self.base, self.mapped) },
        }
    }
}

/// The shared part of an algorithm: its header, and how to drop what nobody popped.
pub trait State: Sized {
    /// What the queue carries.
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
    /// How many slots there are, and how they are arranged if that isn't always the same.
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
    /// `variables` and `slots` point to memory of these layouts, which nothing else uses while the array
    /// lives.
    unsafe fn init(variables: NonNull<u8>, slots: NonNull<u8>, shape: Self::Shape) -> Self;

    /// Ends the life of the slots (not of items: those are gone by now).
    ///
    /// # Safety
    ///
    /// No clone of the array is used afterwards.
    unsafe fn finish(&self);
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
        Self::new(slots.cast(), len)
    }

    unsafe fn finish(&self) {}
}

/// No slots: what is in the queue lies elsewhere.
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

/// What lies at the start of the region.
#[repr(C)]
struct Head<H> {
    /// How many ends each [`Side`] has; read only where an operation would fail.
    present: Padded<AtomicU64>,
    header: H,
}

/// The region of one queue with its contents; freed when both ends are gone.
struct Shared<H: State> {
    region: Region,
    slots: H::Slots,
}

impl<H: State> Shared<H> {
    fn head(&self) -> NonNull<Head<H>> {
        self.region.base.cast()
    }
}

impl<H: State> Drop for Shared<H> {
    fn drop(&mut self) {
        /// Frees the header and the slots, also when an item's destructor panics.
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
        let this = Finish(self);
        // SAFETY: the header was written by `ends` and lives until `Finish` is dropped.
        unsafe { this.0.head().as_ref() }.header.drop_items(&this.0.slots);
    }
}

/// Which of the two ends of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Producer,
    Consumer,
}

impl Side {
    /// What an end of this side adds to the number of ends.
    #[inline]
    fn one(self) -> u64 {
        match self {
            Self::Producer => 1,
            Self::Consumer => 1 << 32,
        }
    }

    /// The number of ends of this side.
    #[inline]
    fn ends(self, present: u64) -> u64 {
        match self {
            Self::Producer => present & u64::from(u32::MAX),
            Self::Consumer => present >> 32,
        }
    }

    /// The other side.
    #[inline]
    fn other(self) -> Self {
        match self {
            Self::Producer => Self::Consumer,
            Self::Consumer => Self::Producer,
        }
    }
}

/// Most ends that a side may have.
pub(crate) const MOST_ENDS: u64 = 1 << 16;

/// A hold on the shared part of a queue. Dropping a side's last one tells the other side.
pub(crate) struct End<H: State> {
    header: NonNull<Head<H>>,
    slots: H::Slots,
    side: Side,
    /// A box of both ends, freed by the last one to go.
    ///
    /// A bare pointer, because dropping an end must not take the handle's address: a handle whose
    /// address goes nowhere is kept in registers, and a push needs a store less.
    shared: *mut Shared<H>,
}

// SAFETY: an end gives access to the header, made of atomics, and to items, which it may move to
// another thread only if they are `Send`. An end isn't `Sync`; algorithms whose sides are one thread's
// don't duplicate it.
unsafe impl<H: State> Send for End<H> where H::Item: Send {}

/// Both ends of a new queue with slots of `shape`, whose number comes from [`slots_for`].
pub(crate) fn ends<H: State>(
    memory: Memory,
    shape: <H::Slots as Slots>::Shape,
    header: H,
) -> Result<(End<H>, End<H>), CapacityError> {
    let (places, memory) = Places::new::<H>(memory, shape);
    let shared = try_box(MaybeUninit::<Shared<H>>::uninit())
        .map_err(|_| CapacityError::OutOfMemory { bytes: places.all.size() })?;
    let region = Region::new(memory, places.all, places.all.size() - places.slots)?;
    // SAFETY: the layout has room for `Head<H>` at its start, then for variables and slots, each
    // aligned, and nobody else knows the region yet.
    let slots = unsafe {
        let present = Padded(AtomicU64::new(Side::Producer.one() + Side::Consumer.one()));
        region.base.cast().write(Head { present, header });
        let (variables, slots) = (places.variables, places.slots);
        H::Slots::init(region.base.add(variables), region.base.add(slots), shape)
    };
    let header = region.base.cast();
    let shared = Box::into_raw(Box::write(shared, Shared { region, slots: slots.clone() }));
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

/// As [`slots_for`], but at most `limit` slots, a power of two: so many as the algorithm can tell apart.
pub(crate) fn slots_up_to<H: State>(
    limit: usize,
    capacity: usize,
    unused: usize,
) -> Result<usize, CapacityError> {
    let fit = most_slots::<H>().min(limit);
    let most = fit.checked_ilog2().map_or(0, |log| 1_usize << log).saturating_sub(unused);
    if capacity == 0 || capacity > most {
        return Err(CapacityError::OutOfRange { asked: capacity, most });
    }
    Ok((capacity + unused).next_power_of_two())
}

/// Number of slots for which there are addresses: more than any machine has memory for.
pub(crate) fn most_slots<H: State>() -> usize {
    // Half of all addresses, for a mirror; and some room for the header.
    let room = isize::MAX as usize / 2 - 2 * map::PAGE - size_of::<Head<H>>();
    room / H::Slots::SLOT.size().max(1)
}

/// Where in a region everything is.
struct Places {
    all: Layout,
    /// Offset of the variables that belong to the slots.
    variables: usize,
    /// Offset of the slots, which come last.
    slots: usize,
}

impl Places {
    /// The places of a queue with slots of `shape`, and which memory can hold them.
    fn new<H: State>(memory: Memory, shape: <H::Slots as Slots>::Shape) -> (Self, Memory) {
        const FITS: &str = "slots_for leaves room for the header";
        let slots = H::Slots::slots(shape).expect("slots_for bounds the number of slots");
        let memory = match memory {
            // A mirror repeats whole pages.
            Memory::Mirrored if slots.size() == 0 || !slots.size().is_multiple_of(map::PAGE) => {
                Memory::Heap
            }
            other => other,
        };
        let align = if memory == Memory::Mirrored { map::PAGE } else { APART };
        let variables = H::Slots::variables(shape).expect(FITS);
        let (before, variables) = Layout::new::<Head<H>>().extend(variables).expect(FITS);
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
        // SAFETY: `shared` is freed by the last end only, and this one is still there.
        unsafe { &*self.shared }.region.backing
    }

    /// Whether all ends of the other side have been dropped.
    #[inline]
    pub(crate) fn peer_is_gone(&self) -> bool {
        // SAFETY: as in `header`.
        let present = unsafe { &self.header.as_ref().present };
        // Acquire pairs with the update in `leave`: all the peers did before is visible.
        self.side.other().ends(present.load(Ordering::Acquire)) == 0
    }

    /// Whether this is the only end of its side.
    ///
    /// Then it stays so until it is duplicated, and all that other ends did happens before this call
    /// returns.
    pub(crate) fn is_only(&self) -> bool {
        // SAFETY: as in `header`.
        let present = unsafe { &self.header.as_ref().present };
        // Acquire pairs with the update in `leave`.
        self.side.ends(present.load(Ordering::Acquire)) == 1
    }

    /// One more end of this side, for algorithms that allow several.
    ///
    /// # Panics
    ///
    /// If there are 65,536 already.
    pub(crate) fn duplicate(&self) -> Self {
        // SAFETY: as in `header`.
        let present = unsafe { &self.header.as_ref().present };
        // Relaxed: whoever uses the new end got it from this thread.
        let before = present.fetch_add(self.side.one(), Ordering::Relaxed);
        let end = Self { slots: self.slots.clone(), ..*self };
        assert!(
            self.side.ends(before) < MOST_ENDS,
            "a side of a queue has at most {MOST_ENDS} handles"
        );
        end
    }
}

impl<H: State> Drop for End<H> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: `shared` is this end's own, which is not used any more.
        unsafe { leave(self.shared, self.side) };
    }
}

/// Says that this end is gone, and frees the queue if it was the last.
///
/// Out of line, but by value: see [`End::shared`].
///
/// # Safety
///
/// `shared` is that of an end, which is not used any more.
#[inline(never)]
unsafe fn leave<H: State>(shared: *mut Shared<H>, side: Side) {
    // SAFETY: this end is not gone yet, so nobody has freed `shared` and its header.
    let present = unsafe { &(*shared).head().as_ref().present };
    // Release pairs with the load in `peer_is_gone`, and with the acquire of whoever is last here:
    // that one sees all that the others did with the queue.
    let before = present.fetch_add(side.one().wrapping_neg(), Ordering::AcqRel);
    if before == side.one() {
        // SAFETY: all other ends are gone as well, and this was the last use here.
        drop(unsafe { Box::from_raw(shared) });
    }
}

impl<H: State> fmt::Debug for End<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("End").field("side", &self.side).field("backing", &self.backing()).finish()
    }
}

/// `value` in a box, or back, if there is no memory for it.
pub(crate) fn try_box<T>(value: T) -> Result<Box<T>, T> {
    match try_empty_box() {
        Some(place) => Ok(Box::write(place, value)),
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
    // SAFETY: the memory is new, and has the size and alignment of the value, as a box has it.
    Some(unsafe { Box::from_raw(place.cast().as_ptr()) })
}

/// Slots that lie side by side.
pub trait Ring<T> {
    /// All of them.
    fn cells(&self) -> &Cells<T>;
}

impl<T> Ring<T> for Cells<T> {
    #[inline]
    fn cells(&self) -> &Self {
        self
    }
}

impl<T, H: State<Item = T, Slots: Ring<T>>> End<H> {
    /// The run of `n` slots from `position` on, in one or two parts, each from `part`.
    fn run(
        &self,
        position: u64,
        n: usize,
        part: impl Fn(&Cells<T>, u64, usize) -> *mut MaybeUninit<T>,
    ) -> [(*mut MaybeUninit<T>, usize); 2] {
        let slots = self.slots().cells();
        let to_end = slots.len() - (position as usize & (slots.len() - 1));
        let first = if self.backing() == Backing::Mirrored { n } else { n.min(to_end) };
        let second = n - first;
        [
            (part(slots, position, first), first),
            (part(slots, position.wrapping_add(first as u64), second), second),
        ]
    }

    /// Free slots to be lent to the user.
    ///
    /// # Safety
    ///
    /// This is the producer's end, and the `n` slots from `position` on are free.
    pub(crate) unsafe fn lend_slots(&mut self, position: u64, n: usize) -> LentSlots<'_, T> {
        let [first, second] = self.run(position, n, Cells::run_to_fill);
        // SAFETY: both are runs of slots that by the caller's word are this side's alone, and they
        // do not overlap, because `n` is at most the number of slots.
        unsafe { (from_raw_parts_mut(first.0, first.1), from_raw_parts_mut(second.0, second.1)) }
    }

    /// Items to be lent to the user.
    ///
    /// # Safety
    ///
    /// This is the consumer's end, and the `n` slots from `position` on hold items.
    pub(crate) unsafe fn lend_items(&mut self, position: u64, n: usize) -> LentItems<'_, T> {
        let [first, second] = self.run(position, n, Cells::run_to_empty);
        // SAFETY: as in `lend_slots`; by the caller's word the slots hold items.
        unsafe {
            (
                from_raw_parts_mut(first.0.cast(), first.1),
                from_raw_parts_mut(second.0.cast(), second.1),
            )
        }
    }

    /// Items to be looked at.
    ///
    /// # Safety
    ///
    /// The `n` slots from `position` on hold items, which nobody else can take or change before the answer is used.
    pub(crate) unsafe fn items(&self, position: u64, n: usize) -> (&[T], &[T]) {
        let [first, second] = self.run(position, n, Cells::run_to_empty);
        // SAFETY: by the caller's word the slots hold items, and stay as they are.
        unsafe {
            (from_raw_parts(first.0.cast(), first.1), from_raw_parts(second.0.cast(), second.1))
        }
    }
}

/// Memory mappings, where the operating system has them.
#[cfg(all(feature = "std", target_os = "linux"))]
mod map {
    use core::ffi::c_void;
    use core::ptr::{self, NonNull};

    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

    use super::Backing;

    /// Size of an ordinary page.
    pub(super) const PAGE: usize = 4096;
    const HUGE_PAGE: usize = 2 << 20;
    const READ_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

    /// Where a mapping starts, how long it is, and what kind it turned out to be.
    type Mapping = (NonNull<u8>, usize, Backing);

    /// Reserved huge pages, or else pages that may become huge.
    pub(super) fn huge_pages(size: usize) -> Option<Mapping> {
        let len = size.next_multiple_of(HUGE_PAGE);
        let map = |flags| {
            // SAFETY: a new private mapping at an address of the kernel's choice.
            unsafe { mmap_anonymous(ptr::null_mut(), len, READ_WRITE, flags) }
        };
        if let Ok(base) = map(MapFlags::PRIVATE | MapFlags::HUGETLB) {
            return Some((NonNull::new(base.cast())?, len, Backing::HugePages));
        }
        let base = map(MapFlags::PRIVATE).ok()?;
        // SAFETY: the mapping has just been made with this length; the advice changes no content.
        let _ = unsafe { madvise(base, len, Advice::LinuxHugepage) };
        Some((NonNull::new(base.cast())?, len, Backing::TransparentHugePages))
    }

    /// `size` bytes whose last `tail` bytes are seen a second time right behind.
    pub(super) fn mirrored(size: usize, tail: usize) -> Option<Mapping> {
        let file = memfd_create("corelane", MemfdFlags::CLOEXEC).ok()?;
        ftruncate(&file, size as u64).ok()?;
        let total = size + tail;
        // SAFETY: reserves addresses of the kernel's choice. Both maps then replace parts of just
        // that reservation, and both lie within the file's length.
        unsafe {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            let base = mmap_anonymous(ptr::null_mut(), total, ProtFlags::empty(), flags).ok()?;
            let fixed = MapFlags::SHARED | MapFlags::FIXED;
            let both = mmap(base, size, READ_WRITE, fixed, &file, 0).and_then(|_| {
                let behind = base.cast::<u8>().add(size).cast::<c_void>();
                mmap(behind, tail, READ_WRITE, fixed, &file, (size - tail) as u64)
            });
            if both.is_err() {
                let _ = munmap(base, total);
                return None;
            }
            Some((NonNull::new(base.cast())?, total, Backing::Mirrored))
        }
    }

    /// Gives a region's addresses back.
    ///
    /// # Safety
    ///
    /// `base` and `len` are those of a mapping made here, and nothing refers to it.
    pub(super) unsafe fn unmap(base: NonNull<u8>, len: usize) {
        // SAFETY: the caller's. It cannot fail for a mapping that exists.
        let _ = unsafe { munmap(base.as_ptr().cast(), len) };
    }
}

/// Stand-ins where there is no mapping: every region is on the heap.
#[cfg(not(all(feature = "std", target_os = "linux")))]
mod map {
    use core::ptr::NonNull;

    use super::Backing;

    pub(super) const PAGE: usize = 4096;

    pub(super) fn huge_pages(_size: usize) -> Option<(NonNull<u8>, usize, Backing)> {
        None
    }

    pub(super) fn mirrored(_size: usize, _tail: usize) -> Option<(NonNull<u8>, usize, Backing)> {
        None
    }

    pub(super) unsafe fn unmap(_base: NonNull<u8>, _len: usize) {}
}
