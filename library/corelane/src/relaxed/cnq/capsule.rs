//! Capsules: the entries of the tube of a nested queue, each a small ring of its own.

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::ptr::NonNull;

use crate::memory::{AtomicBool, AtomicU64, Cells, Ordering, is_before};
use crate::pad::{APART, Padded};
pub use crate::region::Slots;
use crate::region::array;

/// Bits of a word below the turn: the count, and two flags.
const TURN_AT: u32 = 18;
/// The flag of `claimed`: no producer claims another slot in this turn.
pub const CLOSED: u64 = 1 << 16;
/// The flag of `life`: a thread has reserved the capsule.
pub const RESERVED: u64 = 1 << 16;
/// The flag of `life`: all items of the turn have been popped, and no more will come.
pub const FINISHED: u64 = 1 << 17;
/// The count of a word.
const COUNT: u64 = (1 << 16) - 1;
/// Most slots of a capsule.
pub const MOST_SLOTS: usize = 1 << 15;

/// No word of a capsule: its count is above [`MOST_SLOTS`].
pub const NO_WORD: u64 = u64::MAX;

/// The word of a turn whose count is 0.
#[inline]
pub fn word(turn: u64) -> u64 {
    turn << TURN_AT
}

/// The turn of a word, without its upper bits.
#[inline]
pub fn turn_of(word: u64) -> u64 {
    word >> TURN_AT
}

/// Slots that a word counts.
#[inline]
pub fn count(word: u64) -> u64 {
    word & COUNT
}

/// Whether a word is of this turn.
#[inline]
pub fn is_of(found: u64, turn: u64) -> bool {
    (found ^ word(turn)) >> TURN_AT == 0
}

/// What a producer writes. All words have the turn in which the capsule is, above the flag and the
/// count.
#[derive(Debug)]
#[repr(C)]
pub struct Written {
    /// Slots that producers have claimed.
    pub claimed: AtomicU64,
    /// Slots that hold an item, or held one in this turn.
    pub filled: AtomicU64,
    /// Slots that were used in an earlier turn, if a consumer was still reading one of them when
    /// this turn began.
    used_before: AtomicU64,
    /// About how many capsules producers filled at that time, with this one.
    pub beside: AtomicU64,
}

/// What consumers write; the `emptied` flags of all slots follow.
#[derive(Debug)]
#[repr(C)]
struct Read {
    /// Items that consumers have claimed.
    popped: AtomicU64,
    /// Two flags. No count.
    life: AtomicU64,
}

/// What became of the first step of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// Producers may claim slots.
    Open,
    /// It is closed, because a consumer is still reading an item of an earlier turn.
    Closed,
    /// It is closed, because another producer has closed it.
    ClosedByAnother,
}

/// What a consumer sees in a capsule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Items are left.
    Items {
        /// The word of `popped`.
        popped: u64,
        /// Their number.
        left: u64,
    },
    /// No item is left, and none will come.
    Over,
    /// No item, as far as this thread sees.
    Nothing,
}

/// Counts of a group of capsules, over all its turns.
#[derive(Debug)]
#[repr(C)]
pub struct Group {
    /// Capsules of which no slot will be claimed any more.
    pub closed: Padded<AtomicU64>,
    /// Capsules that are finished and were reserved.
    pub finished: Padded<AtomicU64>,
}

/// One capsule.
#[derive(Debug, Clone, Copy)]
pub struct Capsule<'a> {
    pub written: &'a Written,
    pub popped: &'a AtomicU64,
    life: &'a AtomicU64,
    /// For each slot, whether its item of this turn has been read.
    emptied: &'a [AtomicBool],
}

impl Capsule<'_> {
    /// Whether a word of `claimed` is the last one of its turn.
    #[inline]
    pub fn is_final(self, claimed: u64) -> bool {
        claimed & CLOSED != 0 || count(claimed) as usize == self.emptied.len()
    }

    /// Begins `turn`, with all slots empty. Not if another producer has closed the capsule already,
    /// or a consumer is still reading an item of an earlier turn: then the capsule is closed, and
    /// empty.
    ///
    /// Only the producer that has allocated this turn calls it.
    pub fn begin(self, turn: u64) -> Begun {
        let Written { claimed, filled, used_before, .. } = self.written;
        // Relaxed, all: the tube orders what earlier producers did.
        let before = claimed.load(Ordering::Relaxed);
        let used = used_before.load(Ordering::Relaxed).max(count(filled.load(Ordering::Relaxed)));
        let used_slots = &self.emptied[..used as usize];
        // Acquire ↔ Release in `mark_read`: the item has been read.
        let is_free = used_slots.iter().all(|slot| slot.load(Ordering::Acquire));
        used_before.store(if is_free { 0 } else { used }, Ordering::Relaxed);
        if is_free {
            used_slots.iter().for_each(|slot| slot.store(false, Ordering::Relaxed));
        }
        self.popped.store(word(turn), Ordering::Relaxed);
        self.life.store(word(turn), Ordering::Relaxed);
        // Release ↔ Acquire in `Producer::is_free`: the slots are free, and which capsules are closed.
        filled.store(word(turn), Ordering::Release);
        let begun = if is_free { word(turn) } else { word(turn) | CLOSED };
        // Release ↔ Acquire in `look`: the words of this turn.
        let is_changed = !is_of(before, turn)
            && claimed
                .compare_exchange(before, begun, Ordering::Release, Ordering::Relaxed)
                .is_ok();
        match (is_changed, is_free) {
            (true, true) => Begun::Open,
            (true, false) => Begun::Closed,
            (false, _) => Begun::ClosedByAnother,
        }
    }

    /// No producer claims a slot of this turn from now on. Whether this call has changed that.
    pub fn close(self, turn: u64) -> bool {
        let claimed = &self.written.claimed;
        let mut found = claimed.load(Ordering::Relaxed);
        loop {
            let closed = match is_of(found, turn) {
                true if self.is_final(found) => return false,
                true => found | CLOSED,
                // The producer of this turn has not begun it yet.
                false if is_before(found, word(turn)) => word(turn) | CLOSED,
                false => return false,
            };
            match claimed.compare_exchange(found, closed, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => found = now,
            }
        }
    }

    /// What a consumer sees in `turn`.
    pub fn look(self, turn: u64) -> Look {
        // Acquire ↔ Release in `Consumer::claim`: `filled` is not less.
        let popped = self.popped.load(Ordering::Acquire);
        // Acquire ↔ Release in `Producer::fill`: the items.
        let filled = self.written.filled.load(Ordering::Acquire);
        if !is_of(popped, turn) || !is_of(filled, turn) {
            return Look::Nothing;
        }
        if count(filled) > count(popped) {
            return Look::Items { popped, left: count(filled) - count(popped) };
        }
        // Acquire ↔ Release in `begin`: see there.
        let claimed = self.written.claimed.load(Ordering::Acquire);
        let is_over =
            is_of(claimed, turn) && self.is_final(claimed) && count(claimed) == count(popped);
        if is_over { Look::Over } else { Look::Nothing }
    }

    /// The word of `claimed` in this turn, if slots are left.
    pub fn open(self, turn: u64) -> Option<u64> {
        // Relaxed: only a look.
        let claimed = self.written.claimed.load(Ordering::Relaxed);
        (is_of(claimed, turn) && !self.is_final(claimed)).then_some(claimed)
    }

    /// Items of `turn` that were popped, and those that were filled in: a snapshot.
    pub fn counts(self, turn: u64) -> Option<(u64, u64)> {
        let popped = self.popped.load(Ordering::Relaxed);
        let filled = self.written.filled.load(Ordering::Relaxed);
        (is_of(popped, turn) && is_of(filled, turn)).then(|| (count(popped), count(filled)))
    }

    /// Sets a flag of `life`, if the capsule is in this turn. Whether this call has set the second of
    /// both flags.
    pub fn set(self, turn: u64, flag: u64) -> bool {
        const BOTH: u64 = RESERVED | FINISHED;
        let mut found = self.life.load(Ordering::Relaxed);
        while is_of(found, turn) && found & flag == 0 {
            let new = found | flag;
            // Acquire and Release ↔ each other: the thread that sets the second flag knows what the
            // thread that set the first one knew.
            match self.life.compare_exchange(found, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return new & BOTH == BOTH,
                Err(now) => found = now,
            }
        }
        false
    }

    /// Whether the capsule is in this turn, and was not reserved.
    pub fn is_unreserved(self, turn: u64) -> bool {
        let life = self.life.load(Ordering::Relaxed);
        is_of(life, turn) && life & RESERVED == 0
    }

    /// The item of slot number `index` has been read.
    #[inline]
    pub fn mark_read(self, index: u64) {
        // Release ↔ Acquire in `begin`: the read of the item.
        self.emptied[index as usize].store(true, Ordering::Release);
    }
}

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

    /// The variables of all capsules, and where those of groups begin.
    fn all_variables(self) -> Result<(Layout, usize), LayoutError> {
        let groups = array(Layout::new::<Group>(), self.capsules / self.group)?;
        array(self.variables()?.0, self.capsules)?.extend(groups)
    }

    /// Slots of all capsules.
    pub fn slots(self) -> usize {
        self.capsules * self.size
    }
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

    /// The counts of the group of `turn`.
    #[inline]
    pub fn group(&self, turn: u64) -> &Group {
        // SAFETY: the index of a capsule, divided by the capsules of a group, is below the number of
        // groups. They live as long as the array.
        unsafe { self.groups.add(self.index(turn) / self.shape.group).as_ref() }
    }

    /// Whether a count of the group of `turn` is as high as it becomes in this turn.
    #[inline]
    pub fn is_complete(&self, count: u64, turn: u64) -> bool {
        let Shape { capsules, group, .. } = self.shape;
        let laps = (turn / capsules as u64).wrapping_add(1);
        // Without the upper bits, which differ when turns have wrapped.
        count.wrapping_sub(laps.wrapping_mul(group as u64)) << (capsules / group).ilog2() == 0
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
        let (_, groups) = shape.all_variables().expect("as above");
        // As if all earlier laps had been used.
        let laps = shape.first / shape.capsules as u64;
        let new = || Padded(AtomicU64::new(laps.wrapping_mul(shape.group as u64)));
        // SAFETY: the caller's contract.
        unsafe {
            let groups = variables.add(groups).cast();
            for group in 0..shape.capsules / shape.group {
                groups.add(group).write(Group { closed: new(), finished: new() });
            }
            let cells = Cells::init(variables, slots, shape.slots());
            Self { base: variables, stride: one.size(), read, flags, groups, shape, cells }
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
    }
}
