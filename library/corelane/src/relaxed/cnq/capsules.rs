//! The capsules of a nested queue, and the groups in which they are closed and given back.

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::ptr::NonNull;

use super::capsule::{CLOSED, Capsule, FINISHED, RESERVED, Read, Written, word};
use crate::memory::{AtomicBool, AtomicU64, Cells, Ordering, advance, is_before};
use crate::pad::{APART, Padded};
pub use crate::region::Slots;
use crate::region::array;

/// How many capsules there are, and their size. The number is a power of two.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub capsules: usize,
    /// Slots of a capsule.
    pub size: usize,
    /// Capsules of a group.
    pub group: usize,
    /// Groups into which producers push, and from which consumers pop.
    pub window: usize,
    /// The first turn, a multiple of `capsules`.
    pub first: u64,
}

impl Shape {
    /// Variables of one capsule: what producers write, and what consumers write; and the offsets of
    /// the latter.
    fn variables(self) -> Result<(Layout, usize, usize), LayoutError> {
        let flags = array(Layout::new::<AtomicBool>(), self.size)?;
        let (read, flags) = Layout::new::<Read>().align_to(APART)?.extend(flags)?;
        let (all, read) = Layout::new::<Padded<Written>>().extend(read)?;
        Ok((all.pad_to_align(), read, read + flags))
    }

    /// The variables of all capsules, and where those of groups begin, and the bounds.
    fn all_variables(self) -> Result<(Layout, usize, usize), LayoutError> {
        let groups = array(Layout::new::<Group>(), self.capsules / self.group)?;
        let (all, groups) = array(self.variables()?.0, self.capsules)?.extend(groups)?;
        let (all, bounds) = all.extend(Layout::new::<Bounds>())?;
        Ok((all, groups, bounds))
    }

    /// Slots of all capsules.
    pub fn slots(self) -> usize {
        self.capsules * self.size
    }
}

/// Counts of a group of capsules, over all its turns.
#[derive(Debug)]
#[repr(C)]
struct Group {
    /// Capsules of which no slot will be claimed any more.
    closed: Padded<AtomicU64>,
    /// Capsules that are finished and were reserved.
    finished: Padded<AtomicU64>,
}

/// What became of the groups. Each word is the start of a group.
#[derive(Debug)]
#[repr(C)]
struct Bounds {
    /// All turns before it are closed.
    closed: Padded<AtomicU64>,
    /// All items of turns before it have been popped.
    finished: Padded<AtomicU64>,
}

/// Capsules in a region, and their slots.
#[allow(missing_debug_implementations, reason = "public only for the models")]
pub struct Capsules<T> {
    base: NonNull<u8>,
    /// Bytes from one capsule to the next.
    stride: usize,
    /// Where a capsule's `Read` and its flags are.
    read: usize,
    flags: usize,
    groups: NonNull<Group>,
    bounds: NonNull<Bounds>,
    shape: Shape,
    cells: Cells<T>,
}

impl<T> Clone for Capsules<T> {
    fn clone(&self) -> Self {
        Self { cells: self.cells.clone(), ..*self }
    }
}

impl<T> Capsules<T> {
    #[inline]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The index of the capsule that is used in `turn`.
    #[inline]
    pub fn index(&self, turn: u64) -> usize {
        turn as usize & (self.shape.capsules - 1)
    }

    /// A capsule.
    #[inline]
    pub fn at(&self, index: usize) -> Capsule<'_> {
        debug_assert!(index < self.shape.capsules);
        // SAFETY: the index is below the number of capsules. `init` has written each capsule's parts at
        // these distances, and they live as long as the array.
        unsafe {
            let capsule = self.base.add(index * self.stride);
            let flags =
                NonNull::slice_from_raw_parts(capsule.add(self.flags).cast(), self.shape.size);
            let read = capsule.add(self.read).cast::<Read>().as_ref();
            Capsule {
                written: &capsule.cast::<Padded<Written>>().as_ref().0,
                popped: &read.popped,
                life: &read.life,
                emptied: flags.as_ref(),
            }
        }
    }

    /// The capsule that is used in `turn`.
    #[inline]
    pub fn of(&self, turn: u64) -> Capsule<'_> {
        self.at(self.index(turn))
    }

    /// `n` turns from `start` on.
    pub fn turns(&self, start: u64, n: u64) -> impl Iterator<Item = u64> + use<T> {
        (0..n).map(move |i| start.wrapping_add(i))
    }

    fn bounds(&self) -> &Bounds {
        // SAFETY: `init` wrote them, and they live as long as the array.
        unsafe { self.bounds.as_ref() }
    }

    /// The counts of the group of `turn`.
    fn group(&self, turn: u64) -> &Group {
        // SAFETY: the index of a capsule, divided by the capsules of a group, is below the number of
        // groups. They live as long as the array.
        unsafe { self.groups.add(self.index(turn) / self.shape.group).as_ref() }
    }

    /// Whether a count of the group of `turn` is as high as it becomes in this turn.
    fn is_complete(&self, count: u64, turn: u64) -> bool {
        let Shape { capsules, group, .. } = self.shape;
        let laps = (turn / capsules as u64).wrapping_add(1);
        // Without the upper bits, which differ when turns have wrapped.
        count.wrapping_sub(laps.wrapping_mul(group as u64)) << (capsules / group).ilog2() == 0
    }

    /// No slot of the capsule of `turn` will be claimed any more.
    pub fn count_closed(&self, turn: u64) {
        // Release ↔ Acquire in `close_before`: the capsule is closed.
        self.group(turn).closed.fetch_add(1, Ordering::Release);
    }

    /// Closes the capsule of `turn`, if it is open.
    pub fn close(&self, turn: u64) {
        if self.of(turn).close(turn) {
            self.count_closed(turn);
        }
    }

    /// Closes all capsules of turns before `target`, the start of a group.
    pub fn close_before(&self, target: u64) {
        let (closed, group) = (&self.bounds().closed, self.shape.group as u64);
        loop {
            // Acquire ↔ Release below: the capsules are closed.
            let start = closed.load(Ordering::Acquire);
            if !is_before(start, target) {
                return;
            }
            // Acquire ↔ Release in `count_closed`.
            let count = self.group(start).closed.load(Ordering::Acquire);
            if !self.is_complete(count, start) {
                self.turns(start, group).for_each(|turn| self.close(turn));
            }
            // Release ↔ Acquire above.
            advance(closed, start.wrapping_add(group), Ordering::Release);
        }
    }

    /// Whether the group from `start` on is closed: a producer has allocated a capsule behind the window
    /// that begins there.
    pub fn is_closed(&self, start: u64) -> bool {
        // Relaxed: a thread that knows of a push knows which turns were closed before.
        is_before(start, self.bounds().closed.load(Ordering::Relaxed))
    }

    /// Sets a flag of the capsule of `turn`.
    pub fn set(&self, turn: u64, flag: u64) {
        if self.of(turn).set(turn, flag) {
            // Release ↔ Acquire in `is_done`: the capsule is finished, and was reserved.
            self.group(turn).finished.fetch_add(1, Ordering::Release);
        }
    }

    /// Whether all capsules of the group from `start` on are finished and were reserved.
    pub fn is_done(&self, start: u64) -> bool {
        // Acquire ↔ Release in `set`.
        let count = self.group(start).finished.load(Ordering::Acquire);
        self.is_complete(count, start)
    }

    /// The start of the oldest group that was not given back.
    pub fn oldest(&self) -> u64 {
        // Acquire ↔ Release below: what the threads knew that popped the items of earlier groups. A thread
        // that learns in this way that an item is gone must not overlook an item that was there then.
        self.bounds().finished.load(Ordering::Acquire)
    }

    /// The oldest group is the one behind that of `start` from now on.
    pub fn finish_group(&self, start: u64) {
        let next = start.wrapping_add(self.shape.group as u64);
        // Release ↔ Acquire above.
        self.bounds().finished.store(next, Ordering::Release);
    }

    /// The position of a slot of a capsule among all slots.
    #[inline]
    pub fn position(&self, index: usize, slot: u64) -> u64 {
        (index * self.shape.size) as u64 + slot
    }

    /// The slots.
    #[inline]
    pub fn cells(&self) -> &Cells<T> {
        &self.cells
    }

    /// All capsules.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Capsule<'_>)> {
        (0..self.shape.capsules).map(|index| (index, self.at(index)))
    }
}

impl<T> Slots for Capsules<T> {
    const SLOT: Layout = Cells::<T>::SLOT;
    type Shape = Shape;

    fn slots(shape: Shape) -> Result<Layout, LayoutError> {
        Cells::<T>::slots(shape.slots())
    }

    fn variables(shape: Shape) -> Result<Layout, LayoutError> {
        Ok(shape.all_variables()?.0)
    }

    unsafe fn init(variables: NonNull<u8>, slots: NonNull<u8>, shape: Shape) -> Self {
        let (one, read, flags) = shape.variables().expect("the caller has had this layout");
        for index in 0..shape.capsules {
            // As if the capsule had been closed, empty, a lap before.
            let before = shape.first.wrapping_sub((shape.capsules - index) as u64);
            let new = |flags| AtomicU64::new(word(before) | flags);
            let written = Written {
                claimed: new(CLOSED),
                filled: new(0),
                used_before: AtomicU64::new(0),
                beside: AtomicU64::new(1),
            };
            // SAFETY: the caller's contract: there is room for the variables of all capsules.
            unsafe {
                let capsule = variables.add(index * one.size());
                capsule.cast().write(Padded(written));
                capsule
                    .add(read)
                    .cast()
                    .write(Read { popped: new(0), life: new(RESERVED | FINISHED) });
                for slot in 0..shape.size {
                    capsule.add(flags).cast::<AtomicBool>().add(slot).write(AtomicBool::new(false));
                }
            }
        }
        let (_, groups, bounds) = shape.all_variables().expect("as above");
        // As if all earlier laps had been used.
        let laps = shape.first / shape.capsules as u64;
        let new = || Padded(AtomicU64::new(laps.wrapping_mul(shape.group as u64)));
        // SAFETY: the caller's contract.
        unsafe {
            let groups = variables.add(groups).cast();
            for group in 0..shape.capsules / shape.group {
                groups.add(group).write(Group { closed: new(), finished: new() });
            }
            let bounds = variables.add(bounds).cast();
            let start = || Padded(AtomicU64::new(shape.first));
            bounds.write(Bounds { closed: start(), finished: start() });
            let cells = Cells::init(variables, slots, shape.slots());
            Self { base: variables, stride: one.size(), read, flags, groups, bounds, shape, cells }
        }
    }

    unsafe fn finish(&self) {
        for index in 0..self.shape.capsules {
            // SAFETY: `init` wrote each part, and none is used any more.
            unsafe {
                let capsule = self.base.add(index * self.stride);
                capsule.cast::<Padded<Written>>().drop_in_place();
                capsule.add(self.read).cast::<Read>().drop_in_place();
                for slot in 0..self.shape.size {
                    capsule.add(self.flags).cast::<AtomicBool>().add(slot).drop_in_place();
                }
            }
        }
        for group in 0..self.shape.capsules / self.shape.group {
            // SAFETY: as above.
            unsafe { self.groups.add(group).drop_in_place() };
        }
        // SAFETY: as above.
        unsafe { self.bounds.drop_in_place() };
    }
}
