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
//! | guarantee | lock-free but for the allocator, first in first out (linearizable). Cloning and dropping handles takes a lock for a moment |
//! | capacity | unbounded: [`capacity`](crate::Producer::capacity) is [`usize::MAX`]; a push says [`Full`](crate::TryPushError::Full) only if there is no memory for another ring |
//! | memory | rings for N items, where N is the [`Config::capacity`], rounded up to a power of two: a word and the item for each. Those with items, the one that is filled next, and those in which a handle was when it was used last, until the next ring is left. None is kept for the next burst |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | a stopped thread | holds one slot and one ring; and one that is stopped in a pop, the item that it has got the position of, even if that is pushed later |
//! | operations | a push adds to a counter and exchanges the slot's word twice, a pop adds to one and to the word; one pop too many costs a push somewhere another try. A new ring takes two allocations of each thread that wants to hang one; who leaves one has fences, allocates a few words (and aborts if there is no memory), and looks through the hazard pointers of all handles |
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

use core::mem::MaybeUninit;

use super::rings;
use crate::memory::{AtomicU64, Ordering, UnsafeCell, is_before};
use crate::queue::{CapacityError, Config};
use crate::registry::{Built, Info, MpmcQueue, Sides};

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
pub struct Slot<T> {
    /// - the lap: the position at which the slot was used last, without the bits that say which slot it is;
    /// - whether it is [`UNSAFE`];
    /// - its [`state`].
    word: AtomicU64,
    /// Whoever has reserved the slot may write it, until it is full. Then who has that position may take it.
    item: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: a slot moves an item from one thread to another, which `T: Send` allows, and lends none.
unsafe impl<T: Send> Send for Slot<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Slot<T> {}

/// The lap in a word.
#[inline]
fn lap_of(word: u64) -> u64 {
    word & !(UNSAFE | STATE)
}

/// Whether a slot holds the item of `lap`.
#[inline]
fn is_full(word: u64, lap: u64) -> bool {
    word & !UNSAFE == lap | FULL
}

impl<T> Slot<T> {
    /// Shows the item in a slot that is `reserved`, unless it has been abandoned.
    #[inline]
    fn show(&self, mut reserved: u64) -> bool {
        loop {
            let full = reserved - RESERVED + FULL;
            // Release pairs with the loads in `take`, `take_or_give_up` and `holds`: the item is there.
            match self.word.compare_exchange(reserved, full, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(found) if found & STATE == ABANDONED => return false,
                // Who would take from here a lap later has been there.
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
    unsafe fn take_out(&self, state: u64) -> T {
        // SAFETY: the caller's.
        let item = self.item.with_mut(|place| unsafe { (*place).assume_init_read() });
        // Release pairs with the loads in `put` and `holds`.
        self.word.fetch_add(EMPTY.wrapping_sub(state), Ordering::Release);
        item
    }
}

impl<T: Send> rings::Slot for Slot<T> {
    type Item = T;

    #[inline]
    fn new(lap: u64) -> Self {
        let item = UnsafeCell::new(MaybeUninit::uninit());
        Self { word: AtomicU64::new(lap | EMPTY), item }
    }

    #[inline]
    fn put(&self, lap: u64, item: T, is_given: impl FnOnce() -> bool) -> Result<(), T> {
        // Acquire pairs with whoever freed the slot: what it held has been taken out. And with the exchange in
        // `take_or_give_up`: who finds the slot unsafe sees that its position was given to somebody.
        let word = self.word.load(Ordering::Acquire);
        let is_free = word & STATE == EMPTY && is_before(lap_of(word), lap);
        if !is_free || word & UNSAFE != 0 && is_given() {
            return Err(item);
        }
        let reserved = lap | RESERVED;
        // Relaxed: the load above has ordered it behind what was there.
        let exchanged =
            self.word.compare_exchange(word, reserved, Ordering::Relaxed, Ordering::Relaxed);
        if exchanged.is_err() {
            return Err(item);
        }
        // SAFETY: who has reserved a slot is the only one who has access to its place.
        self.item.with_mut(|place| unsafe { (*place).write(item) });
        match self.show(reserved) {
            true => Ok(()),
            // SAFETY: it was put there, and nobody else takes it out.
            false => Err(unsafe { self.take_out(ABANDONED) }),
        }
    }

    #[inline]
    unsafe fn take(&self, lap: u64) -> Option<T> {
        // Acquire pairs with the exchange in `show`.
        let word = self.word.load(Ordering::Acquire);
        // SAFETY: the item is this thread's to take, by the caller's word.
        is_full(word, lap).then(|| unsafe { self.take_out(FULL) })
    }

    #[cold]
    unsafe fn take_or_give_up(&self, lap: u64) -> Option<T> {
        // Acquire, also below, as in `take`.
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if is_full(word, lap) {
                // SAFETY: as in `take`.
                return Some(unsafe { self.take_out(FULL) });
            }
            if is_before(lap, lap_of(word)) {
                return None;
            }
            let given_up = match word & STATE {
                EMPTY => lap | EMPTY | word & UNSAFE,
                RESERVED if lap_of(word) == lap => word - RESERVED + ABANDONED,
                // Held by who is a lap late, or more.
                _ => word | UNSAFE,
            };
            // Release pairs with the load in `put`, also if the slot has been unsafe before: it is this thread's position
            // that is to be seen, too.
            match self.word.compare_exchange(word, given_up, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return None,
                Err(found) => word = found,
            }
        }
    }

    #[inline]
    fn holds(&self, lap: u64) -> bool {
        // Acquire pairs with `take_out`: who misses the item sees what its taker saw.
        is_full(self.word.load(Ordering::Acquire), lap)
    }
}

/// A sending side.
pub type Producer<T> = rings::Producer<Slot<T>>;

/// A receiving side.
pub type Consumer<T> = rings::Consumer<Slot<T>>;

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
