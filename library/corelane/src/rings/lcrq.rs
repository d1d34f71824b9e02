//! `lcrq`: an unbounded queue between several producers and several consumers, a list of rings
//! whose slots are two words that are exchanged together.
//!
//! A push or pop gets a position by fetch-and-add, which never fails. Then the push and the pop
//! with the same position meet in a slot, and the first exchange decides. A pop that finds no item
//! there gives the position up, and its push tries the next position. After too many failed tries,
//! or if the ring is full, a push closes the ring and [appends another](super).
//!
#![doc = advice!(lcrq)]
//!
//! [Tokens](crate::slot::Token) are items of one word that is never zero: boxes, references,
//! non-zero numbers. [`boxed_queue`] takes items of any type, and puts each into a box.
//!
//! | | |
//! |---|---|
//! | guarantee | lock-free but for the allocator, first in first out (linearizable). Cloning and dropping handles takes a lock for a moment |
//! | capacity | unbounded: [`capacity`](crate::Producer::capacity) is [`usize::MAX`]; a push says [`Full`](crate::TryPushError::Full) only if there is no memory for another ring, or for an item's box |
//! | memory | rings for N tokens, where N is the [`Config::capacity`], rounded up to a power of two: two words for each. Kept are rings with items, the ring that is filled next, rings that an idle handle is in, and rings that handles have left since the last scan: [about a quarter of the number of handles](super#memory) at most. None is kept for the next burst |
//! | handles | at most 65,536 a side; cloning one more panics. A handle has a record of 128 bytes, which is used again when the handle is dropped. Cloning aborts the process if there is no memory for it |
//! | a stopped thread | keeps one ring, or the rings that it was about to free. In a pop it also keeps the item of its position, even if the item is pushed later |
//! | operations | a push needs a fetch-and-add and an exchange of the slot, and so does a pop. A pop of an empty slot makes a push try once more. Each thread that wants to append a ring makes two allocations. A consumer that leaves a ring runs a fence and a part of a [scan](super#memory) |
//! | limit | no thread must be stopped in the middle of a call while 2^62 positions of one ring are used |
//! | machine | must exchange 128 bits at once: AArch64, and x86-64 except its very first processors. On other machines there is no such queue ([`CapacityError::Unsupported`]) |
//! | closing | when all consumers are gone, a push says closed as soon as the ring is full |
//! | paper | A. Morrison, Y. Afek: *Fast Concurrent Queues for x86 Processors* (PPoPP 2013), §4; paper 5, §IV.B and §V.A–B |
//!
//! # Departures from the paper
//!
//! - A word contains the lap in which the slot was used, and not the position: the slot's index
//!   gives the rest.
//! - Rings are freed by hazard pointers, which a handle keeps from call to call; see [`rings`].
//!
//! ```
//! use corelane::rings::lcrq;
//!
//! let (mut tx, mut rx) = lcrq::queue(64)?;
//! let mut other_tx = tx.clone();
//! tx.try_push(Box::new("hello"))?;
//! other_tx.try_push(Box::new("world"))?;
//! assert_eq!(rx.pop_iter().map(|word| *word).collect::<Vec<_>>(), ["hello", "world"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::boxed::Box;
use core::marker::PhantomData;
use core::num::NonZeroU64;
use core::ptr::{NonNull, with_exposed_provenance_mut};

use crate::memory::{AtomicU128, Ordering, can_exchange_two_words, is_before};
use crate::queue::{
    self, Built, CapacityError, Config, Info, Sides, TryPopError, TryPushError, answered_by, full,
    handles, queue_type,
};
use crate::region::try_box;
use crate::rings::{self, Lap};
use crate::slot::Token;

/// Whether a pop of a later lap has visited the slot while it held an item of this lap.
const UNSAFE: u64 = 1;

/// The contents of a slot: first the lap in which it was used last, and whether it is [`UNSAFE`];
/// then the token, or none.
#[derive(Debug, Clone, Copy)]
struct Pair {
    word: u64,
    token: Option<NonZeroU64>,
}

impl Pair {
    #[inline]
    fn lap(self) -> u64 {
        self.word & !UNSAFE
    }

    #[inline]
    fn is_unsafe(self) -> bool {
        self.word & UNSAFE != 0
    }

    /// The token, if it was put into the slot in `lap`.
    #[inline]
    fn token_of(self, lap: Lap) -> Option<NonZeroU64> {
        self.token.filter(|_| self.lap() == lap.number())
    }

    #[inline]
    fn to_bits(self) -> u128 {
        u128::from(self.word) << 64 | u128::from(self.token.map_or(0, NonZeroU64::get))
    }

    #[inline]
    fn from_bits(bits: u128) -> Self {
        Self { word: (bits >> 64) as u64, token: NonZeroU64::new(bits as u64) }
    }
}

/// A place for a token.
#[derive(Debug)]
pub struct DoubleSlot<T> {
    pair: AtomicU128,
    token: PhantomData<T>,
}

// SAFETY: a slot moves a token from one thread to another, which `Token` allows. It lends no token.
unsafe impl<T: Token> Sync for DoubleSlot<T> {}

impl<T> DoubleSlot<T> {
    #[inline]
    #[track_caller]
    fn load(&self, order: Ordering) -> Pair {
        Pair::from_bits(self.pair.load(order))
    }

    /// Replaces `old` by `new`, or fails and returns the slot's contents.
    #[inline]
    #[track_caller]
    fn exchange(
        &self,
        old: Pair,
        new: Pair,
        success: Ordering,
        failure: Ordering,
    ) -> Result<(), Pair> {
        let exchanged = self.pair.compare_exchange(old.to_bits(), new.to_bits(), success, failure);
        exchanged.map(drop).map_err(Pair::from_bits)
    }
}

/// The token as a number.
#[inline]
fn number_of<T: Token>(token: T) -> NonZeroU64 {
    let address = token.into_word().as_ptr().expose_provenance() as u64;
    NonZeroU64::new(address).expect("a token is not zero")
}

/// The token that a number stands for.
///
/// # Safety
///
/// `number` came from [`number_of`], and is converted back only once.
#[inline]
unsafe fn token_of<T: Token>(number: NonZeroU64) -> T {
    let word = NonNull::new(with_exposed_provenance_mut(number.get() as usize));
    // SAFETY: the caller's contract.
    unsafe { T::from_word(word.expect("a token is not zero")) }
}

impl<T: Token> rings::RingSlot for DoubleSlot<T> {
    type Item = T;

    const UNIT: u64 = 2 * UNSAFE;

    #[inline]
    fn new(first: Lap) -> Self {
        // As if the slot had been used in the previous lap.
        let pair = Pair { word: first.earlier().number(), token: None };
        Self { pair: AtomicU128::new(pair.to_bits()), token: PhantomData }
    }

    #[inline]
    unsafe fn put(&self, lap: Lap, item: T, is_given: impl FnOnce() -> bool) -> Result<(), T> {
        // Acquire ↔ Release in `take_or_give_up`: a push that finds the slot unsafe sees that a pop
        // has got its position.
        let old = self.load(Ordering::Acquire);
        let is_free = old.token.is_none() && is_before(old.lap(), lap.number());
        if !is_free || old.is_unsafe() && is_given() {
            return Err(item);
        }
        let number = number_of(item);
        let new = Pair { word: lap.number(), token: Some(number) };
        // Release ↔ Acquire in `take`, `take_or_give_up` and `holds`: the data that the token
        // points to.
        match self.exchange(old, new, Ordering::Release, Ordering::Relaxed) {
            Ok(()) => Ok(()),
            // SAFETY: the number is from above, and no other thread has seen it.
            Err(_) => Err(unsafe { token_of(number) }),
        }
    }

    /// Does nothing: a push of the next lap finds the slot free.
    #[inline]
    unsafe fn leave_out(&self, _: Lap) {}

    #[inline]
    unsafe fn take(&self, lap: Lap) -> Option<T> {
        // Acquire ↔ Release in `put`: the data that the token points to.
        // SAFETY: the caller's contract.
        unsafe { self.take_from(self.load(Ordering::Acquire), lap) }
    }

    #[cold]
    unsafe fn take_or_give_up(&self, lap: Lap) -> Option<T> {
        // Acquire, also below: as in `take`.
        let mut old = self.load(Ordering::Acquire);
        loop {
            // SAFETY: the caller's contract.
            if let Some(item) = unsafe { self.take_from(old, lap) } {
                return Some(item);
            }
            if is_before(lap.number(), old.lap()) {
                return None;
            }
            let word = match old.token {
                None => lap.number() | old.word & UNSAFE,
                // The slot holds an item of an earlier lap.
                Some(_) => old.word | UNSAFE,
            };
            // Release ↔ Acquire in `put`: a pop has got this position. Needed even if the slot was
            // unsafe before.
            match self.exchange(old, Pair { word, ..old }, Ordering::Release, Ordering::Acquire) {
                Ok(()) => return None,
                Err(found) => old = found,
            }
        }
    }

    #[inline]
    fn holds(&self, lap: Lap) -> bool {
        // Acquire ↔ Release in `take_from`: a pop that finds the item taken sees what the pop that
        // took the item saw.
        self.load(Ordering::Acquire).token_of(lap).is_some()
    }

    #[inline]
    fn is_open(&self, lap: Lap) -> bool {
        // Relaxed: a caller that gets `false` looks into the slot again.
        is_before(self.load(Ordering::Relaxed).lap(), lap.number())
    }
}

impl<T: Token> DoubleSlot<T> {
    /// Takes the token of `lap`, if the slot holds it. `old` was read in the slot.
    ///
    /// # Safety
    ///
    /// As for [`take`](rings::RingSlot::take).
    #[inline]
    unsafe fn take_from(&self, mut old: Pair, lap: Lap) -> Option<T> {
        let number = old.token_of(lap)?;
        // Release ↔ Acquire in `holds`: what this pop has observed. The exchange fails if a pop of
        // a later lap has visited the slot.
        while let Err(found) =
            self.exchange(old, Pair { token: None, ..old }, Ordering::Release, Ordering::Relaxed)
        {
            old = found;
        }
        // SAFETY: the token is this thread's to take, by the caller's contract, and no longer in
        // the slot.
        Some(unsafe { token_of(number) })
    }
}

/// A sending side.
pub type Producer<T> = rings::Producer<DoubleSlot<T>>;

/// A receiving side.
pub type Consumer<T> = rings::Consumer<DoubleSlot<T>>;

/// A queue of rings for at least `ring` tokens each.
///
/// # Errors
///
/// If `ring` is 0 or too large for memory, or the machine can't exchange 128 bits at once.
pub fn queue<T: Token>(ring: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(ring))
}

/// As [`queue`], with all options. Rings are always on the heap.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Token>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    refuse_unless(can_exchange_two_words())?;
    rings::queue(config)
}

/// Fails if the machine can't exchange two words at once.
pub(super) fn refuse_unless(can: bool) -> Result<(), CapacityError> {
    can.then_some(()).ok_or(CapacityError::Unsupported { needs: "an exchange of 128 bits at once" })
}

/// Unbounded, between any number of producers and consumers.
///
const INFO: Info = Info {
    id: "lcrq",
    name: "list of concurrent ring queues",
    paper: "Morrison, Afek 2013; Mishra, §IV.B",
    sides: Sides::ManyToMany,
    guarantee: "lock-free FIFO but for the allocator",
    bounded: false,
    capacity: "unbounded",
    choose: advice!(choose lcrq),
    avoid: advice!(avoid lcrq),
    ..Info::RING
};

queue_type!(Lcrq of [T: Token] T: Producer<T>, Consumer<T> = queue_with; INFO);

/// A handle of a queue of boxes that passes the boxes' contents.
#[derive(Clone)]
pub struct Boxed<H>(pub(super) H);

/// A sending side that puts each item into a box.
pub type BoxingProducer<T> = Boxed<Producer<Box<T>>>;

/// A receiving side that takes each item out of its box.
pub type UnboxingConsumer<T> = Boxed<Consumer<Box<T>>>;

impl<T, P: queue::Producer<Item = Box<T>>> queue::Producer for Boxed<P> {
    type Item = T;

    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let boxed = match try_box(item) {
            Ok(boxed) => boxed,
            Err(item) => return Err(full(self.is_closed(), item)),
        };
        self.0.try_push(boxed).map_err(|error| match error {
            TryPushError::Full(item) => TryPushError::Full(*item),
            TryPushError::Busy(item) => TryPushError::Busy(*item),
            TryPushError::Closed(item) => TryPushError::Closed(*item),
        })
    }

    fn try_clone(&self) -> Option<Self> {
        self.0.try_clone().map(Self)
    }

    answered_by!(handle: 0);

    fn len(&mut self) -> usize {
        self.0.len()
    }
}

impl<T, C: queue::Consumer<Item = Box<T>>> queue::Consumer for Boxed<C> {
    type Item = T;

    fn try_pop(&mut self) -> Result<T, TryPopError> {
        Ok(*self.0.try_pop()?)
    }

    fn try_clone(&self) -> Option<Self> {
        self.0.try_clone().map(Self)
    }

    answered_by!(handle: 0);

    fn len(&mut self) -> usize {
        self.0.len()
    }

    fn is_empty(&mut self) -> bool {
        self.0.is_empty()
    }
}

handles! {
    [T: Send] Boxed<Producer<Box<T>>>: producer of T;
    [T: Send] Boxed<Consumer<Box<T>>>: consumer of T;
}

/// As [`queue`], for items of any type: each gets a box.
///
/// ```
/// use corelane::rings::lcrq;
///
/// let (mut tx, mut rx) = lcrq::boxed_queue(64)?;
/// tx.try_push("hello")?;
/// assert_eq!(rx.try_pop(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`queue`].
pub fn boxed_queue<T: Send>(ring: usize) -> Built<BoxingProducer<T>, UnboxingConsumer<T>> {
    boxed_queue_with(Config::new(ring))
}

/// As [`boxed_queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn boxed_queue_with<T: Send>(config: Config) -> Built<BoxingProducer<T>, UnboxingConsumer<T>> {
    let (tx, rx) = queue_with(config)?;
    Ok((Boxed(tx), Boxed(rx)))
}

queue_type!(LcrqAny of [T: Send] T: BoxingProducer<T>, UnboxingConsumer<T> = boxed_queue_with; INFO.of_any("lcrq-any"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_the_exchange_is_refused() {
        let told = refuse_unless(false).unwrap_err().to_string();
        assert!(told.contains("128 bits") && told.contains("choose another queue"), "{told}");
        assert_eq!(refuse_unless(true), Ok(()));
    }
}
