//! `lprq`: an unbounded queue between several producers and several consumers, a list of rings with a word for each
//! slot.
//!
//! Who pushes or pops gets a position by adding to a counter, so that nobody has to try again because another one was
//! faster; and then must get along with the one who has got the same position. Who pops and finds nothing there gives
//! the position up, and who pushes tries the next; when that has failed too often, or the ring is full, it is closed
//! and another one [hung behind it](super::rings).
//!
//! **Use it** between several threads, if nobody knows how many items will wait, or a thread may be stopped anywhere
//! and must never hold up others. **Don't** use it where memory must be bounded; nor between one thread and one other,
//! where [`uspsc`](crate::spsc::segmented) takes a fraction of the time.
//!
//! | | |
//! |---|---|
//! | guarantee | lock-free but for the allocator, first in first out (linearizable) |
//! | capacity | unbounded: [`capacity`](crate::Producer::capacity) is [`usize::MAX`]; a push says [`Full`](crate::TryPushError::Full) only if there is no memory for another ring |
//! | memory | rings for N items, where N is the [`Config::capacity`], rounded up to a power of two: a word and the item for each. Those with items, and for each handle up to one more, in which it was when it was used last. None is kept for the next burst |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | a stopped thread | holds one slot and one ring |
//! | operations | a push adds to a counter and exchanges the slot's word twice, a pop adds to one and to the word; one pop too many costs a push somewhere another try. Who goes on to another ring has a fence more, and every ring takes an allocation or two, and some microseconds to free |
//! | closing | when all consumers are gone a push says so as soon as the ring is full |
//! | paper | R. Romanov, N. Koval: *The State-of-the-Art LCRQ Concurrent Queue Algorithm Does NOT Require CAS2* (PPoPP 2023); paper 5, §IV.B and §V.A–B for what it is the portable form of |
//!
//! # Departures from the paper
//!
//! - A slot holds an item of any type, not a pointer. There a slot has a word for the epoch and another one for the
//!   pointer, in which a producer first leaves its mark; here the one word says in which state the slot is, and who
//!   has *reserved* it writes the item beside it. Who pops and finds a slot reserved calls it *abandoned* and goes on;
//!   then whoever reserved it takes the item back and frees the slot. That takes two exchanges for a push instead of
//!   three.
//! - Rings are freed by hazard pointers (the crate `haphazard`), and not by epochs: a thread that has been stopped
//!   would keep all that has been retired since from being freed, and not one ring.
//!
//! ```
//! use corelane::{Consumer, Producer, mpmc::lprq};
//!
//! let (mut tx, mut rx) = lprq::channel(64)?;
//! let mut other_tx = tx.clone();
//! for n in 0..500 {
//!     tx.try_push(n)?;
//!     other_tx.try_push(n)?;
//! }
//! assert_eq!(rx.pop_iter().sum::<u32>(), 499 * 500);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::MaybeUninit;

use super::rings;
use crate::memory::{AtomicU64, MOST_LOOKS, Ordering, UnsafeCell, is_before, pause};
use crate::pad::{Padded, spread};
use crate::queue::{CapacityError, Config};
use crate::registry::{Built, Info, MpmcQueue, Sides};

/// How often a push tries before it closes the ring.
const TRIES: usize = 10;

/// From one position to the next.
const STEP: u64 = 2;

/// Whether `tail` is that of a closed ring.
const CLOSED: u64 = 1;

/// Where a thread in a slot of a ring is up to.
mod state {
    /// Nobody.
    pub(super) const EMPTY: u64 = 0;
    /// Who pushes is writing the item.
    pub(super) const RESERVED: u64 = 1;
    /// There is an item.
    pub(super) const FULL: u64 = 2;
    /// Who pushes was too late, and doesn't know it yet.
    pub(super) const ABANDONED: u64 = 3;
}
use state::{ABANDONED, EMPTY, FULL, RESERVED};

/// The bits of a word that are its state.
const STATE: u64 = 3;

/// Whether who would pop from a slot, later than what holds it now, has been there in vain.
const UNSAFE: u64 = 4;

/// A place for an item.
#[derive(Debug)]
struct Slot<T> {
    /// - the lap: the position at which the slot was used last, without the bits that say which slot it is;
    /// - whether it is [`UNSAFE`];
    /// - its [`state`].
    word: AtomicU64,
    /// Whoever has reserved the slot may write it, until it is full. Then who has that position may take it.
    item: UnsafeCell<MaybeUninit<T>>,
}

/// A ring of slots.
#[derive(Debug)]
pub struct Ring<T> {
    /// Behind all positions at which an item was looked for.
    head: Padded<AtomicU64>,
    /// Behind all positions at which an item was put, or was to be; and whether it is [`CLOSED`].
    tail: Padded<AtomicU64>,
    slots: Box<[Slot<T>]>,
}

// SAFETY: a ring moves items from one thread to another, which `T: Send` allows, and lends none.
unsafe impl<T: Send> Send for Ring<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Ring<T> {}

/// The lap of a position in a ring of `n` slots, where a word has it.
#[inline]
fn lap(position: u64, n: usize) -> u64 {
    (position & !(n as u64 * STEP - 1)) << 2
}

/// The lap in a word.
#[inline]
fn lap_of(word: u64) -> u64 {
    word & !(UNSAFE | STATE)
}

impl<T> Ring<T> {
    #[inline]
    fn slot(&self, position: u64) -> &Slot<T> {
        &self.slots[spread::<Slot<T>>(position / STEP, self.slots.len())]
    }

    /// The word of the slot at `position` in that lap, in `state`, if it is safe.
    #[inline]
    fn word(&self, position: u64, state: u64) -> u64 {
        lap(position, self.slots.len()) | state
    }

    /// Puts `item` at `position`, unless something of an earlier lap is still there, or who pops from there may have
    /// gone.
    #[inline]
    fn push_at(&self, position: u64, item: T) -> Result<(), T> {
        let slot = self.slot(position);
        // Acquire pairs with whoever freed the slot: what it held has been taken out. And with the exchange in
        // `give_up`: who finds the slot unsafe sees how far that thread had moved `head`.
        let word = slot.word.load(Ordering::Acquire);
        let reserved = self.word(position, RESERVED);
        let is_free = word & STATE == EMPTY && is_before(lap_of(word), lap_of(reserved));
        if !is_free || word & UNSAFE != 0 && self.is_given(position) {
            return Err(item);
        }
        // Relaxed: the load above has ordered it behind what was there.
        let taken =
            slot.word.compare_exchange(word, reserved, Ordering::Relaxed, Ordering::Relaxed);
        if taken.is_err() {
            return Err(item);
        }
        // SAFETY: who has reserved a slot is the only one who has access to its place.
        slot.item.with_mut(|place| unsafe { (*place).write(item) });
        match Self::show(slot, reserved) {
            true => Ok(()),
            // SAFETY: it was put there, and nobody else takes it out.
            false => Err(unsafe { Self::take_out(slot, ABANDONED) }),
        }
    }

    /// Whether somebody has set out to pop from `position`.
    #[inline]
    fn is_given(&self, position: u64) -> bool {
        is_before(position, self.head.load(Ordering::Relaxed))
    }

    /// Shows the item in a slot that is `reserved`, unless it has been abandoned.
    #[inline]
    fn show(slot: &Slot<T>, mut reserved: u64) -> bool {
        loop {
            let full = reserved - RESERVED + FULL;
            // Release pairs with the loads in `pop_at` and `is_empty`: the item is there.
            match slot.word.compare_exchange(reserved, full, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(found) if found & STATE == ABANDONED => return false,
                // Who would pop here a lap later has been there.
                Err(found) => reserved = found,
            }
        }
    }

    /// Takes the item out and frees the slot, whose state is `state`.
    ///
    /// # Safety
    ///
    /// An item is there, and nobody else takes it out.
    #[inline]
    unsafe fn take_out(slot: &Slot<T>, state: u64) -> T {
        // SAFETY: the caller's.
        let item = slot.item.with_mut(|place| unsafe { (*place).assume_init_read() });
        // Release pairs with the loads in `push_at` and `is_empty`.
        slot.word.fetch_add(EMPTY.wrapping_sub(state), Ordering::Release);
        item
    }

    /// Takes the item that was put at `position`, or sees to it that none ever is.
    #[inline]
    fn pop_at(&self, position: u64) -> Option<T> {
        let slot = self.slot(position);
        let full = self.word(position, FULL);
        // Acquire, also in `wait` and `give_up`, pairs with the exchange in `show`: the item is there.
        let mut word = slot.word.load(Ordering::Acquire);
        if word & !UNSAFE != full {
            word = self.wait(slot, position);
        }
        if word & !UNSAFE != full {
            word = self.give_up(slot, position);
        }
        // SAFETY: only who has this position takes the item of this lap, once.
        (word & !UNSAFE == full).then(|| unsafe { Self::take_out(slot, FULL) })
    }

    /// Looks for a while whether an item comes, if somebody has set out to put one at `position`.
    #[cold]
    fn wait(&self, slot: &Slot<T>, position: u64) -> u64 {
        let full = self.word(position, FULL);
        let mut looks = 0;
        loop {
            let word = slot.word.load(Ordering::Acquire);
            let tail = self.tail.load(Ordering::Relaxed);
            let is_coming = tail & CLOSED == 0 && is_before(position, tail);
            if word & !UNSAFE == full || !is_coming || looks == MOST_LOOKS {
                return word;
            }
            looks += 1;
            pause(1);
        }
    }

    /// Sees to it that nothing is put at `position`, unless it has been. The slot's word, or that of the item.
    #[cold]
    fn give_up(&self, slot: &Slot<T>, position: u64) -> u64 {
        let (full, empty) = (self.word(position, FULL), self.word(position, EMPTY));
        let mut word = slot.word.load(Ordering::Acquire);
        loop {
            if word & !UNSAFE == full || is_before(empty, lap_of(word)) {
                return word;
            }
            let new = match word & STATE {
                EMPTY => empty | word & UNSAFE,
                RESERVED if lap_of(word) == empty => word - RESERVED + ABANDONED,
                // Held by who is a lap late, or more.
                _ => word | UNSAFE,
            };
            // Release pairs with the load in `push_at`.
            match slot.word.compare_exchange(word, new, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return new,
                Err(found) => word = found,
            }
        }
    }

    /// Moves `tail` on to `head`, so that those who push needn't try each position in between.
    #[cold]
    fn catch_up(&self, mut tail: u64, mut head: u64) {
        while tail & CLOSED == 0 && is_before(tail, head) {
            match self.tail.compare_exchange(tail, head, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => tail = found,
            }
            head = self.head.load(Ordering::Relaxed);
        }
    }
}

impl<T: Send> rings::Ring for Ring<T> {
    type Item = T;
    // Fewer than positions in a lap's bits, and than addresses.
    const MOST: usize = {
        let room = isize::MAX as usize / 4 / size_of::<Slot<T>>();
        1 << room.ilog2()
    };

    fn new(n: usize, first: u64) -> Option<Self> {
        let first = first & !(n as u64 * STEP - 1);
        // As if they had been used a lap before.
        let word = lap(first.wrapping_sub(n as u64 * STEP), n) | EMPTY;
        let mut slots = Vec::new();
        slots.try_reserve_exact(n).ok()?;
        slots.extend((0..n).map(|_| Slot {
            word: AtomicU64::new(word),
            item: UnsafeCell::new(MaybeUninit::uninit()),
        }));
        let counter = || Padded(AtomicU64::new(first));
        Some(Self { head: counter(), tail: counter(), slots: slots.into_boxed_slice() })
    }

    #[inline]
    fn push(&self, mut item: T) -> Result<(), T> {
        for _ in 0..TRIES {
            // Relaxed: the order of the items is that of the positions.
            let tail = self.tail.fetch_add(STEP, Ordering::Relaxed);
            if tail & CLOSED != 0 {
                return Err(item);
            }
            item = match self.push_at(tail, item) {
                Ok(()) => return Ok(()),
                Err(item) => item,
            };
            let head = self.head.load(Ordering::Relaxed);
            if !is_before(tail, head.wrapping_add(self.slots.len() as u64 * STEP)) {
                break;
            }
        }
        self.tail.fetch_or(CLOSED, Ordering::Relaxed);
        Err(item)
    }

    #[inline]
    fn pop(&self) -> Option<T> {
        loop {
            // Acquire and release: who finds nothing here sees what those before saw, who took what was there.
            let position = self.head.fetch_add(STEP, Ordering::AcqRel);
            if let Some(item) = self.pop_at(position) {
                return Some(item);
            }
            let next = position.wrapping_add(STEP);
            // Relaxed: at any moment since `head` was moved will do.
            let tail = self.tail.load(Ordering::Relaxed);
            if !is_before(next, tail & !CLOSED) {
                self.catch_up(tail, next);
                return None;
            }
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        // Acquire, twice: what is looked at next was there later. So there was nothing at `head` when nothing had
        // been put behind it, and nothing before, whatever the others have done since.
        let head = self.head.load(Ordering::Acquire);
        let word = self.slot(head).word.load(Ordering::Acquire);
        let tail = self.tail.load(Ordering::Relaxed) & !CLOSED;
        word & !UNSAFE != self.word(head, FULL) && !is_before(head.wrapping_add(STEP), tail)
    }
}

/// A sending side.
pub type Producer<T> = rings::Producer<Ring<T>>;

/// A receiving side.
pub type Consumer<T> = rings::Consumer<Ring<T>>;

/// A queue of rings for at least `ring` items each.
///
/// # Errors
///
/// If `ring` is 0 or too large for memory.
pub fn channel<T: Send>(ring: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    channel_with(Config::new(ring))
}

/// As [`channel`], with all options. Rings are always on the heap.
///
/// # Errors
///
/// As [`channel`].
pub fn channel_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    rings::channel(config)
}

/// Unbounded, between any number of producers and consumers.
#[derive(Debug)]
pub struct Lprq;

impl MpmcQueue for Lprq {
    const INFO: Info = Info {
        id: "lprq",
        name: "list of portable ring queues",
        paper: "Romanov, Koval 2023; Mishra, §IV.B",
        sides: Sides::ManyToMany,
        guarantee: "lock-free FIFO",
        delayed: false,
        bounded: false,
        capacity: "unbounded",
        choose: "nobody knows how many items will wait, or a thread may be stopped anywhere",
        avoid: "memory must be bounded",
    };
    type Producer<T: Send> = Producer<T>;
    type Consumer<T: Send> = Consumer<T>;

    fn channel<T: Send>(config: Config) -> Built<Self::Producer<T>, Self::Consumer<T>> {
        channel_with(config)
    }

    fn another_producer<T: Send>(producer: &Self::Producer<T>) -> Option<Self::Producer<T>> {
        Some(producer.clone())
    }

    fn another_consumer<T: Send>(consumer: &Self::Consumer<T>) -> Option<Self::Consumer<T>> {
        Some(consumer.clone())
    }
}
