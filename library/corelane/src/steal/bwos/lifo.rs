//! `bwos-lifo`: the owner takes the newest item, thieves the oldest.
//!
//! The owner pushes and pops in the *top* block. When the top block is full, the owner grants it
//! and goes up to the next block. When it is empty, the owner goes down and takes over the block
//! below. Thieves steal from the *bottom* block, in order.
//!
#![doc = advice!(bwos_lifo)]
//!
//! | | |
//! |---|---|
//! | guarantee | owner: never waits for a thief, newest first; a pop retries after a concurrent step of a thief. Thieves: lock-free, oldest first |
//! | capacity | n, rounded up to whole blocks; less while a thief is between taking and reading |
//! | blocks | about 8 and one more, of n/8 slots, a power of two from 8 to 1024; [`Config::block`] sets another number of slots, rounded down to a power of two |
//! | misses per item | owner: 0, and about 3 for each block that thieves have touched. Thief: those of the item and of the block's word |
//! | paper | J. Wang: *High Performance and Dependable Asynchronous Communication on Multi-Core Systems* (2024), §4.3 and §4.4; [seizing](super) is ours |
//!
//! ```
//! use corelane::steal::lifo;
//!
//! let mut worker = lifo(100)?;
//! worker.try_push("first")?;
//! worker.try_push("second")?;
//! let thief = worker.stealer();
//! assert_eq!(worker.try_pop(), Ok("second"));
//! // All items are in the owner's block.
//! assert!(thief.try_steal().is_err());
//! assert_eq!(thief.try_seize(1)?.next(), Some("first"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::marker::PhantomData;

use super::blocks::{AtHand, Block, Blocks, Loot, RightToSeize, Shape, Word};
use crate::memory::{AtomicU64, Barrier, Ordering, limit, pause, without_unwinding};
use crate::pad::Padded;
use crate::queue::config::ConfigOption;
use crate::queue::{CapacityError, Config, Info, Sides, TryPopError, TryPushError};
use crate::region::{End, State, ends};
use crate::steal;

/// For the programs that check and measure it; not stable.
#[doc(hidden)]
pub const INFO: Info = Info {
    id: "bwos-lifo",
    name: "block-based work stealing, newest first",
    paper: "Wang 2024, §4.3 and §4.4",
    sides: Sides::OneToMany,
    guarantee: "lock-free; owner LIFO, thieves FIFO",
    capacity: "n, rounded up to blocks",
    choose: advice!(choose bwos_lifo),
    avoid: advice!(avoid bwos_lifo),
    ..Info::RING
};

/// A queue for `capacity` items.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Send>(capacity: usize) -> Result<Worker<T>, CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<Worker<T>, CapacityError> {
    let shape = Shape::new::<Header<T>>(config, &[ConfigOption::Block])?;
    let barrier = Barrier::new();
    let (end, thieves) = ends(config.memory, shape, Header::new(&shape, barrier))?;
    let first = shape.first();
    let blocks = end.slots();
    blocks.at(first).count_taken(blocks.size());
    let here = Here::new(blocks, first, Word::owned(blocks.number(first)), barrier);
    Ok(Worker { here, end, thieves })
}

/// So many times a thief looks whether the owner has found the mark, before it runs the fence:
/// about as long as the fence takes.
const LOOKS: u32 = limit(20, 1) as u32;

/// What the owner and its thieves share besides the blocks.
struct Header<T> {
    /// The position behind the newest item. Written by the owner.
    top: Padded<AtomicU64>,
    thieves: Padded<Thieves>,
    barrier: Barrier,
    item: PhantomData<fn() -> T>,
}

/// Written by thieves.
struct Thieves {
    /// Where the block starts from which they steal.
    bottom: AtomicU64,
    seizing: RightToSeize,
}

impl<T> Header<T> {
    fn new(shape: &Shape, barrier: Barrier) -> Self {
        let first = || AtomicU64::new(shape.first());
        let thieves = Thieves { bottom: first(), seizing: RightToSeize::new() };
        Self { top: Padded(first()), thieves: Padded(thieves), barrier, item: PhantomData }
    }
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Blocks<T>;

    fn drop_items(&self, blocks: &Blocks<T>) {
        let top = self.top.load(Ordering::Relaxed);
        let newest = blocks.start(top);
        // If all blocks are full, `top` is at the start of the first one again.
        let starts =
            (0..=blocks.shape().blocks as u64).map(|i| newest.wrapping_sub(i * blocks.size()));
        let runs = starts.filter_map(|start| {
            let word = Word(blocks.at(start).word().load(Ordering::Relaxed));
            let (from, end) = (start.wrapping_add(word.index()), start.wrapping_add(blocks.size()));
            word.is_of(blocks.number(start)).then(|| from..top.min(end))
        });
        blocks.drop_items(runs.flatten());
    }
}

/// The block in which the owner works. A value, so that the handle stays in registers when the
/// owner goes to another block.
struct Here<T> {
    /// The oldest item that thieves have left, as far as the owner has noticed.
    base: u64,
    /// The end.
    until: u64,
    /// Thieves have taken all items of lower blocks.
    is_lowest: bool,
    /// What the block's word is, unless a thief has marked it or taken items.
    word: Word,
    /// What a pop expects the word to be: `word`, or no word at all if each pop needs a fence, for
    /// which it has to [`look`](Self::look).
    expected: u64,
    block: AtHand<T>,
    barrier: Barrier,
}

impl<T> Clone for Here<T> {
    fn clone(&self) -> Self {
        Self { block: self.block.clone(), ..*self }
    }
}

impl<T> Here<T> {
    fn new(blocks: &Blocks<T>, start: u64, word: Word, barrier: Barrier) -> Self {
        let block = blocks.at_hand(start);
        let until = start + blocks.size();
        let base = start + word.index();
        let (is_lowest, expected) = (false, word.expected(barrier));
        Self { base, until, is_lowest, word, expected, block, barrier }
    }

    /// Grants the full block, and enters the next one. `None` if that is not free.
    fn go_up(self, blocks: &Blocks<T>) -> Option<Self> {
        let (start, number) = (self.until, blocks.number(self.until));
        let next = blocks.at(start);
        let word = Word(next.word().load(Ordering::Relaxed));
        // Otherwise the owner has been there before, and has popped all.
        if !word.is_of(number) {
            if !next.is_read() {
                return None;
            }
            next.count_taken(blocks.size());
            next.word().store(Word::owned(number).0, Ordering::Relaxed);
        }
        let mut word = self.word;
        let block = self.block;
        // Release ↔ Acquire in `try_steal_some`: the items.
        while let Err(found) = block.exchange(word, word.for_thieves(), Ordering::Release) {
            word = found;
        }
        Some(Self::new(blocks, start, Word::owned(number), self.barrier))
    }

    /// Leaves the empty block, and takes the one below over. `None` if thieves have taken all of
    /// it: then there are no others.
    fn go_down(self, blocks: &Blocks<T>) -> Option<Self> {
        let start = self.until - blocks.size();
        let below = start.wrapping_sub(blocks.size());
        let (block, number) = (blocks.at(below), blocks.number(below));
        let mut word = Word(block.word().load(Ordering::Relaxed));
        // If thieves have taken all of it, later blocks may have its slots.
        while word.is_of(number) && word.index() < blocks.size() {
            let owned = word.for_owner();
            match block.exchange(word, owned, Ordering::Relaxed) {
                Ok(()) => return Some(Self::new(blocks, below, owned, self.barrier)),
                Err(found) => word = found,
            }
        }
        None
    }

    /// A thief has marked the block, or has taken items; or each pop comes here for its fence. The
    /// owner removes the mark, and gives the thief the oldest item below `position`, if there is
    /// one: otherwise no thief would be fast enough while the owner pops often.
    fn look(self, blocks: &Blocks<T>, position: u64) -> Self {
        let start = self.until - blocks.size();
        let mut word = self.block.word_after_pop(self.barrier);
        while word.is_seized() {
            let own = word.for_owner();
            let own = if start + word.index() < position { own.with_gift() } else { own };
            // Release ↔ Acquire in `seize`: the item that is given.
            word = match self.block.exchange(word, own, Ordering::Release) {
                Ok(()) => own,
                Err(found) => found,
            };
        }
        Self { is_lowest: self.is_lowest, ..Self::new(blocks, start, word, self.barrier) }
    }
}

/// The owner's handle.
#[repr(align(128))]
pub struct Worker<T> {
    here: Here<T>,
    end: End<Header<T>>,
    thieves: End<Header<T>>,
}

// SAFETY: what it points to belongs to its queue, as in its ends.
unsafe impl<T: Send> Send for Worker<T> {}

impl<T> Worker<T> {
    /// Pushes an item.
    ///
    /// # Errors
    ///
    /// `Full` if there is no room. The error has the item.
    #[inline(always)] // a call would cost more than the push or pop itself
    pub fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let shared = &self.end.header().top;
        // Relaxed: no other thread writes it.
        let top = shared.load(Ordering::Relaxed);
        if top == self.here.until {
            let (here, blocks) = (self.here.clone(), self.end.slots().clone());
            match without_unwinding(move || here.go_up(&blocks)) {
                Some(next) => self.here = next,
                None => return Err(TryPushError::Full(item)),
            }
        }
        // SAFETY: the slot is in the owner's block, and behind its newest item.
        unsafe { self.here.block.cells.write(top, item) };
        // Release ↔ Acquire in `try_seize`: the item.
        shared.store(top + 1, Ordering::Release);
        Ok(())
    }

    /// Pops the newest item.
    ///
    /// # Errors
    ///
    /// `Empty` if there is none.
    #[inline(always)]
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        // Relaxed: no other thread writes it.
        let top = self.end.header().top.load(Ordering::Relaxed);
        if top == self.here.base && !self.go_down() {
            return Err(TryPopError::Empty);
        }
        let (position, shared) = (top - 1, &self.end.header().top);
        // Release ↔ Acquire in `try_seize`: the items below.
        shared.store(position, Ordering::Release);
        if !self.here.barrier.light_finds(self.here.block.word(), || self.here.expected) {
            let (here, blocks) = (self.here.clone(), self.end.slots().clone());
            self.here = without_unwinding(move || here.look(&blocks, position));
            if position < self.here.base {
                // A thief has taken it, and all below.
                shared.store(top, Ordering::Relaxed);
                return Err(TryPopError::Empty);
            }
        }
        // SAFETY: the item is in the owner's block. `base` says that no thief had it, and the word
        // is as it was then, or `look` has found that no thief has it now.
        Ok(unsafe { self.here.block.cells.read(position) })
    }

    #[inline(always)]
    fn go_down(&mut self) -> bool {
        if self.here.is_lowest {
            return false;
        }
        let (here, blocks) = (self.here.clone(), self.end.slots().clone());
        match without_unwinding(move || here.go_down(&blocks)) {
            Some(below) => self.here = below,
            None => self.here.is_lowest = true,
        }
        !self.here.is_lowest
    }

    /// A handle for a thief.
    ///
    /// # Panics
    ///
    /// If there are 65,536 already.
    pub fn stealer(&self) -> Stealer<T> {
        Stealer { end: self.thieves.duplicate() }
    }

    /// Items that fit.
    pub fn capacity(&self) -> usize {
        self.end.slots().shape().capacity()
    }
}

/// A thief's handle.
pub struct Stealer<T> {
    end: End<Header<T>>,
}

// SAFETY: a thief has nothing of its own: each step of its calls is an atomic one on what all
// thieves share.
unsafe impl<T: Send> Sync for Stealer<T> {}

/// What a thief finds.
struct Found<'a> {
    block: &'a Block,
    start: u64,
    word: Word,
}

impl<T> Stealer<T> {
    /// Steals the oldest item.
    ///
    /// # Errors
    ///
    /// `Empty` if there is none but in the owner's block, `Closed` if there is none and the owner
    /// is gone. `Busy` if the owner is gone, and another thief was faster.
    pub fn try_steal(&self) -> Result<T, TryPopError> {
        steal::Stealer::try_steal(self)
    }

    /// Steals up to `most`, at least one, of the oldest items, all at once and of one block.
    ///
    /// # Errors
    ///
    /// As [`try_steal`](Self::try_steal).
    pub fn try_steal_some(&self, most: usize) -> Result<Loot<'_, T>, TryPopError> {
        let most = most.max(1);
        let closed = self.end.peer_is_gone();
        let blocks = self.end.slots();
        while let Some(Found { block, start, word }) = self.bottom() {
            if !word.is_granted() {
                break;
            }
            let n = (blocks.size() - word.index()).min(most as u64);
            let taken = word.with_index(word.index() + n);
            // Acquire ↔ Release in `go_up`: the items.
            if block.exchange(word, taken, Ordering::Acquire).is_ok() {
                // SAFETY: the word was granted, and gave these items to this thread.
                return Ok(unsafe { Loot::new(blocks, start + word.index(), n) });
            }
        }
        match closed {
            true => self.try_seize(most),
            false => Err(TryPopError::Empty),
        }
    }

    /// Steals as [`try_steal_some`](Self::try_steal_some) if a block that `random` chooses among
    /// all blocks has items for thieves. So a thief that tries one queue after the other with
    /// random numbers steals more likely from longer queues.
    ///
    /// # Errors
    ///
    /// As [`try_steal`](Self::try_steal); `Empty` also if the block has no items for thieves.
    pub fn try_steal_sampled(&self, random: u64, most: usize) -> Result<Loot<'_, T>, TryPopError> {
        let (blocks, bottom) = (self.end.slots(), &self.end.header().thieves.bottom);
        let start =
            bottom.load(Ordering::Relaxed) + random % blocks.shape().blocks as u64 * blocks.size();
        let word = Word(blocks.at(start).word().load(Ordering::Relaxed));
        match word.is_of(blocks.number(start)) && word.is_granted() {
            true => self.try_steal_some(most),
            false => Err(TryPopError::Empty),
        }
    }

    /// The lowest block with items that thieves have not taken, if the owner has entered it.
    fn bottom(&self) -> Option<Found<'_>> {
        let (blocks, bottom) = (self.end.slots(), &self.end.header().thieves.bottom);
        let mut start = bottom.load(Ordering::Relaxed);
        loop {
            let (block, number) = (blocks.at(start), blocks.number(start));
            let word = Word(block.word().load(Ordering::Relaxed));
            if !word.is_after(number) {
                if !word.is_of(number) {
                    return None;
                }
                if word.index() < blocks.size() {
                    return Some(Found { block, start, word });
                }
            }
            // All of it has been taken.
            let next = start + blocks.size();
            start = match bottom.compare_exchange(start, next, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => next,
                Err(further) => further,
            };
        }
    }

    /// Steals as [`try_steal_some`](Self::try_steal_some), and if there are no other items up to
    /// half of those in the owner's block.
    ///
    /// # Errors
    ///
    /// As [`try_steal`](Self::try_steal), and `Busy` if the owner, or another thief, was faster.
    pub fn try_seize(&self, most: usize) -> Result<Loot<'_, T>, TryPopError> {
        let most = most.max(1);
        let closed = self.end.peer_is_gone();
        match self.bottom() {
            None if closed => Err(TryPopError::Closed),
            None => Err(TryPopError::Empty),
            Some(found) if found.word.is_granted() => self.try_steal_some(most),
            Some(found) if closed => self.take_rest(&found, most),
            Some(found) => self.seize(&found, most),
        }
    }

    /// Whether a thief is about to seize items.
    #[doc(hidden)]
    pub fn is_being_seized(&self) -> bool {
        self.end.header().thieves.seizing.is_taken()
    }

    /// Whether there was nothing to steal or to seize.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items that could be stolen or seized. Concurrent calls of the owner and of thieves may or
    /// may not count.
    pub fn len(&self) -> usize {
        let Some(Found { start, word, .. }) = self.bottom() else { return 0 };
        // Relaxed: the caller has a fence, if it needs one.
        let top = self.end.header().top.load(Ordering::Relaxed);
        let all = top.saturating_sub(start + word.index());
        // If the owner seems to be below its items, it has just left a granted block.
        all.max(word.is_granted().into()) as usize
    }

    fn seize(&self, found: &Found<'_>, most: usize) -> Result<Loot<'_, T>, TryPopError> {
        let (&Found { block, start, word }, header) = (found, self.end.header());
        let from = start + word.index();
        if header.top.load(Ordering::Relaxed) <= from {
            return Err(TryPopError::Empty);
        }
        let _only = header.thieves.seizing.take().ok_or(TryPopError::Busy)?;
        let seized = word.for_seizer();
        block.exchange(word, seized, Ordering::Relaxed).map_err(|_| TryPopError::Busy)?;
        // From here on the owner finds the mark at its next pop. The fence makes its pops before
        // that visible.
        let is_answered = (0..LOOKS).any(|_| {
            pause(1);
            block.word().load(Ordering::Relaxed) != seized.0
        });
        let is_ordered = is_answered || header.barrier.heavy();
        // Acquire ↔ Release in `try_push` and `try_pop`: the items.
        let top = header.top.load(Ordering::Acquire).min(start + self.end.slots().size());
        let half = if is_ordered { top.saturating_sub(from).div_ceil(2) } else { 0 };
        let n = half.min(most as u64);
        let left = word.with_index(word.index() + n);
        // Acquire ↔ Release in `look`: the item that the owner gives.
        let n = match block.word().compare_exchange(
            seized.0,
            left.0,
            Ordering::Relaxed,
            Ordering::Acquire,
        ) {
            Ok(_) => n,
            // The block is not reused before this thread has read the item that it was given.
            Err(now) if Word(now).is_gift(word) => 1,
            Err(_) => return Err(TryPopError::Busy),
        };
        match n {
            0 if is_ordered => Err(TryPopError::Empty),
            0 => Err(TryPopError::Busy),
            // SAFETY: the owner has given this item, or it has not taken the mark back: then it had
            // popped none of these items. Now they are this thread's.
            n => Ok(unsafe { Loot::new(self.end.slots(), from, n) }),
        }
    }

    /// Takes items of the block of an owner that is gone. A thief that has marked it gets nothing.
    fn take_rest(&self, found: &Found<'_>, most: usize) -> Result<Loot<'_, T>, TryPopError> {
        let (&Found { block, start, word }, blocks) = (found, self.end.slots());
        let from = start + word.index();
        // Relaxed: everything that the owner did happens before this thread sees that the owner is
        // gone.
        let top = self.end.header().top.load(Ordering::Relaxed).min(start + blocks.size());
        let n = top.saturating_sub(from).min(most as u64);
        if n == 0 {
            return Err(TryPopError::Closed);
        }
        let left = word.for_owner().with_index(word.index() + n);
        block.exchange(word, left, Ordering::Relaxed).map_err(|_| TryPopError::Busy)?;
        // SAFETY: the owner is gone, and the word gave these items to this thread.
        Ok(unsafe { Loot::new(blocks, from, n) })
    }
}

steal::handles! { 'a, Loot<'a, T>:
    fn try_steal_sampled(&self, random: u64, most: usize) -> Result<Loot<'_, T>, TryPopError> {
        self.try_steal_sampled(random, most)
    }

    fn try_seize(&self, most: usize) -> Result<Loot<'_, T>, TryPopError> {
        self.try_seize(most)
    }
}
