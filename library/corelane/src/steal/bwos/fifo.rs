// Above 500 lines: the owner and its thieves are one protocol, and judged together.

//! `bwos-fifo`: the owner takes the oldest item, thieves the oldest behind the owner's block.
//!
//! The owner pushes into the *back* block, and grants it when it has pushed a few items. It pops
//! from the *front* block, and takes over the next block when the front block is empty. Thieves
//! steal from the blocks between, and from the back block after it is granted. An owner whose queue
//! is nearly empty comes to the back block before it grants this block, and meets no thief there.
//!
#![doc = advice!(bwos_fifo)]
//!
//! | | |
//! |---|---|
//! | guarantee | owner: never waits for a thief, oldest first; a pop retries after a concurrent step of a thief. Thieves: lock-free; each steals items in the order of the pushes, except those that it seizes |
//! | capacity | n, rounded up to whole blocks, for an owner that pops; slots behind items that the owner has not popped are not free, even if thieves have taken their items. Less while a thief is between taking and reading |
//! | blocks | about 8 and one more, of n/8 slots, a power of two from 8 to 1024; [`Config::block`] sets another number of slots, rounded down to a power of two. The owner grants a block when it has pushed a 64th of it; [`Config::batch`] sets another number of items, less than the slots; with 0, and in blocks of fewer than 64 slots by default, it grants the block at once |
//! | misses per item | owner: 0, and about 3 for each block that thieves have touched. One for each push while a thief looks at the back block. Thief: those of the item and of the block's words |
//! | paper | J. Wang: *High Performance and Dependable Asynchronous Communication on Multi-Core Systems* (2024), §4.3 and §4.4; [seizing](super) is ours |
//!
//! ```
//! use corelane::steal::fifo;
//!
//! let mut worker = fifo(100)?;
//! worker.try_push("first")?;
//! worker.try_push("second")?;
//! let thief = worker.stealer();
//! // All items are in the owner's block.
//! assert!(thief.try_steal().is_err());
//! assert_eq!(thief.try_seize(1)?.next(), Some("first"));
//! assert_eq!(worker.try_pop(), Ok("second"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::marker::PhantomData;

use super::blocks::{AtHand, Block, Blocks, Loot, RightToSeize, Shape, Word};
use crate::memory::{AtomicU64, Barrier, Ordering, without_unwinding};
use crate::pad::Padded;
use crate::queue::config::ConfigOption;
use crate::queue::{CapacityError, Config, Info, Sides, TryPopError, TryPushError};
use crate::region::{End, State, ends};
use crate::steal;

/// For the programs that check and measure it; not stable.
#[doc(hidden)]
pub const INFO: Info = Info {
    id: "bwos-fifo",
    name: "block-based work stealing, oldest first",
    paper: "Wang 2024, §4.3 and §4.4",
    sides: Sides::OneToMany,
    guarantee: "lock-free; owner FIFO, each thief FIFO",
    capacity: "n, rounded up to blocks",
    choose: advice!(choose bwos_fifo),
    avoid: advice!(avoid bwos_fifo),
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
    let shape = Shape::new::<Header<T>>(config, &[ConfigOption::Block, ConfigOption::Batch])?;
    let barrier = Barrier::new();
    let (end, thieves) = ends(config.memory, shape, Header::new(&shape, barrier))?;
    let first = shape.first();
    let front = Front::new(end.slots(), first, Word::owned(end.slots().number(first)), barrier);
    let back = Back::new(end.slots(), first);
    Ok(Worker { front, back, end, thieves })
}

/// What the owner and its thieves share besides the blocks.
struct Header<T> {
    /// The position of the owner's next item, or behind it while the owner pops it. Written by the
    /// owner.
    head: Padded<AtomicU64>,
    thieves: Padded<Thieves>,
    barrier: Barrier,
    item: PhantomData<fn() -> T>,
}

/// What thieves need to begin.
struct Thieves {
    /// Where the owner's block starts. Written by the owner.
    front: AtomicU64,
    seizing: RightToSeize,
}

impl<T> Header<T> {
    fn new(shape: &Shape, barrier: Barrier) -> Self {
        let first = || AtomicU64::new(shape.first());
        let thieves = Thieves { front: first(), seizing: RightToSeize::new() };
        Self { head: Padded(first()), thieves: Padded(thieves), barrier, item: PhantomData }
    }
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Blocks<T>;

    fn drop_items(&self, blocks: &Blocks<T>) {
        let head = self.head.load(Ordering::Relaxed);
        let first = blocks.start(head);
        let starts = (0..blocks.shape().blocks as u64).map(|i| first + i * blocks.size());
        let runs = starts.map_while(|start| {
            let block = blocks.at(start);
            let word = Word(block.word().load(Ordering::Relaxed));
            let back = block.back().load(Ordering::Relaxed).min(start + blocks.size());
            word.is_of(blocks.number(start)).then(|| head.max(start + word.index())..back)
        });
        blocks.drop_items(runs.flatten());
    }
}

/// The block from which the owner pops. A value, as [`Back`], so that the handle stays in registers
/// when the owner goes to another block.
struct Front<T> {
    /// Behind the items that the owner knows of.
    stop: u64,
    /// The end.
    until: u64,
    /// What the block's word is, unless a thief has marked it or taken items.
    word: Word,
    /// What a pop expects the word to be: `word`, or no word at all if each pop needs a fence, for
    /// which it has to [`look`](Self::look).
    expected: u64,
    /// Items that thieves have taken, as far as the owner has noticed.
    taken: u64,
    block: AtHand<T>,
    barrier: Barrier,
}

/// The block into which the owner pushes.
struct Back<T> {
    /// The next slot to fill.
    tail: u64,
    /// Where the owner grants the block, or the end.
    stop: u64,
    block: AtHand<T>,
}

impl<T> Clone for Back<T> {
    fn clone(&self) -> Self {
        Self { block: self.block.clone(), ..*self }
    }
}

impl<T> Back<T> {
    fn new(blocks: &Blocks<T>, start: u64) -> Self {
        let (block, stop) = (blocks.at_hand(start), start + blocks.size());
        Self { tail: start, stop, block }
    }

    /// The end of the block.
    fn until(&self, blocks: &Blocks<T>) -> u64 {
        blocks.start(self.stop - 1) + blocks.size()
    }

    /// Grants the block, unless it is the front block, too.
    fn granted(&self, until: u64, front: &Front<T>) -> Self {
        if front.until != until {
            let mut word = Word(self.block.word().load(Ordering::Relaxed));
            while let Err(found) = self.block.exchange(word, word.for_thieves(), Ordering::Relaxed)
            {
                word = found;
            }
        }
        Self { stop: until, ..self.clone() }
    }

    /// Grants the block, or, at its end, enters the next one. `None` if that is not free.
    fn go_on(&self, blocks: &Blocks<T>, front: &Front<T>) -> Option<Self> {
        let until = self.until(blocks);
        if self.stop != until {
            return Some(self.granted(until, front));
        }
        let block = blocks.at(until);
        // The front block, or one behind it, has its slots.
        let in_use = blocks.number(until) - blocks.number(front.until - 1);
        if in_use == blocks.shape().blocks as u64 || !block.is_read() {
            return None;
        }
        let next = Self::new(blocks, until);
        let (number, held) = (blocks.number(until), blocks.shape().held);
        let (word, stop) = match held {
            0 => (Word::granted(number), next.stop),
            held => (Word::owned(number), next.tail + held),
        };
        block.word().store(word.0, Ordering::Relaxed);
        Some(Self { stop, ..next })
    }
}

impl<T> Clone for Front<T> {
    fn clone(&self) -> Self {
        Self { block: self.block.clone(), ..*self }
    }
}

impl<T> Front<T> {
    fn new(blocks: &Blocks<T>, start: u64, word: Word, barrier: Barrier) -> Self {
        let block = blocks.at_hand(start);
        let (stop, until) = (start + word.index(), start + blocks.size());
        let (expected, taken) = (word.expected(barrier), word.index());
        Self { stop, until, word, expected, taken, block, barrier }
    }

    /// Finds out which items follow: of this block, or, if all of them have been taken, of the next
    /// one, which the owner takes over.
    fn go_on(mut self, blocks: &Blocks<T>, header: &Header<T>, back: &Back<T>) -> Self {
        let mut head = header.head.load(Ordering::Relaxed);
        while head == self.until && self.until != back.until(blocks) {
            self.block.count_taken(self.taken);
            let start = self.until;
            let block = blocks.at(start);
            let mut word = Word(block.word().load(Ordering::Relaxed));
            let owned = loop {
                let owned = word.for_owner().with_start(word.index());
                if owned == word {
                    // The block has not been granted, so no thief has been there.
                    break owned;
                }
                match block.exchange(word, owned, Ordering::Relaxed) {
                    Ok(()) => break owned,
                    Err(found) => word = found,
                }
            };
            self = Self::new(blocks, start, owned, self.barrier);
            head = self.stop;
            header.head.store(head, Ordering::Relaxed);
            header.thieves.front.store(start, Ordering::Relaxed);
        }
        Self { stop: back.tail.min(self.until), ..self }
    }

    /// A thief has marked the block, or has taken items; or each pop comes here for its fence.
    /// Returns whether the item at `head` is still there. If not, `stop` is behind the items that
    /// are gone.
    fn look(self, blocks: &Blocks<T>, head: u64) -> (Self, bool) {
        let start = self.until - blocks.size();
        loop {
            let word = self.block.unmarked(self.barrier);
            let taken = start + word.start()..start + word.index();
            if word.index() == self.word.index() || head < taken.start {
                return (self, true);
            }
            let noticed = word.with_start(word.index());
            if self.block.exchange(word, noticed, Ordering::Relaxed).is_ok() {
                let taken = self.taken + taken.end - taken.start;
                return (Self { taken, ..Self::new(blocks, start, noticed, self.barrier) }, false);
            }
        }
    }
}

/// The owner's handle.
#[repr(align(128))]
pub struct Worker<T> {
    front: Front<T>,
    back: Back<T>,
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
        if self.back.tail == self.back.stop && !self.enter_next() {
            return Err(TryPushError::Full(item));
        }
        let back = &mut self.back;
        // SAFETY: the slot is free, and behind all items.
        unsafe { back.block.cells.write(back.tail, item) };
        back.tail += 1;
        // Release ↔ Acquire in `try_steal_some` and `try_seize`: the item.
        back.block.back().store(back.tail, Ordering::Release);
        Ok(())
    }

    #[inline(always)]
    fn enter_next(&mut self) -> bool {
        let (front, back, blocks) =
            (self.front.clone(), self.back.clone(), self.end.slots().clone());
        let header = self.end.header();
        let (front, next) = without_unwinding(move || match back.go_on(&blocks, &front) {
            None => {
                // The front block may be empty, by seizures that the owner has not noticed.
                let (front, is_there) = front.look(&blocks, header.head.load(Ordering::Relaxed));
                if !is_there {
                    header.head.store(front.stop, Ordering::Relaxed);
                }
                let front = front.go_on(&blocks, header, &back);
                let next = back.go_on(&blocks, &front);
                (front, next)
            }
            next => (front, next),
        });
        self.front = front;
        next.map(|next| self.back = next).is_some()
    }

    /// Pops the oldest item.
    ///
    /// # Errors
    ///
    /// `Empty` if there is none, except those that thieves have taken.
    #[inline(always)]
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        loop {
            // Relaxed: no other thread writes it.
            let mut head = self.end.header().head.load(Ordering::Relaxed);
            if head == self.front.stop {
                if !self.find_more(head) {
                    return Err(TryPopError::Empty);
                }
                head = self.end.header().head.load(Ordering::Relaxed);
            }
            self.end.header().head.store(head + 1, Ordering::Relaxed);
            if !self.front.barrier.light_finds(self.front.block.word(), || self.front.expected) {
                let (front, blocks) = (self.front.clone(), self.end.slots().clone());
                let (front, is_there) = without_unwinding(move || front.look(&blocks, head));
                self.front = front;
                if !is_there {
                    self.end.header().head.store(self.front.stop, Ordering::Relaxed);
                    continue;
                }
            }
            // SAFETY: the item is in the owner's block, and no thief has taken it.
            return Ok(unsafe { self.front.block.cells.read(head) });
        }
    }

    /// Whether there are items behind those that the owner knew of.
    #[inline(always)]
    fn find_more(&mut self, head: u64) -> bool {
        self.front.stop = self.back.tail.min(self.front.until);
        if head != self.front.stop {
            return true;
        }
        if self.front.until == self.back.until(self.end.slots()) {
            return false;
        }
        let (front, back) = (self.front.clone(), self.back.clone());
        let (blocks, header) = (self.end.slots().clone(), self.end.header());
        let (front, is_found) = without_unwinding(move || {
            let front = front.go_on(&blocks, header, &back);
            let is_found = header.head.load(Ordering::Relaxed) != front.stop;
            (front, is_found)
        });
        self.front = front;
        is_found
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

impl<T> Stealer<T> {
    /// Steals the oldest item behind the owner's block.
    ///
    /// # Errors
    ///
    /// `Empty` if there is none but in the owner's block, or in a block that it has not granted
    /// yet, also for a moment while the owner takes a block over, `Closed` if there is none and the
    /// owner is gone. `Busy` if the owner is gone, and another thief was faster.
    pub fn try_steal(&self) -> Result<T, TryPopError> {
        steal::Stealer::try_steal(self)
    }

    /// Steals up to `most`, at least one, of these items, all at once and of one block.
    ///
    /// # Errors
    ///
    /// As [`try_steal`](Self::try_steal).
    pub fn try_steal_some(&self, most: usize) -> Result<Loot<'_, T>, TryPopError> {
        let closed = self.end.peer_is_gone();
        let blocks = self.end.slots();
        let mut start = self.end.header().thieves.front.load(Ordering::Relaxed);
        loop {
            let (block, number) = (blocks.at(start), blocks.number(start));
            let word = Word(block.word().load(Ordering::Relaxed));
            if !word.is_of(number) && !word.is_after(number) {
                // The owner has not entered it.
                break;
            }
            if word.is_after(number) || !word.is_granted() || word.index() == blocks.size() {
                let front = self.end.header().thieves.front.load(Ordering::Relaxed);
                let is_held = word.is_of(number) && !word.is_granted() && start > front;
                if is_held && blocks.shape().held > 0 {
                    // Items behind it are younger, and it may be granted in the meantime.
                    break;
                }
                start = front.max(start + blocks.size());
                continue;
            }
            match self.take(start, word, most) {
                Err(TryPopError::Busy) => {}
                Err(_) => break,
                loot => return loot,
            }
        }
        match closed {
            true => match self.try_seize(most) {
                Err(TryPopError::Empty) => Err(TryPopError::Closed),
                other => other,
            },
            false => Err(TryPopError::Empty),
        }
    }

    /// Steals up to `most` items of a block that `random` chooses among all blocks, if there are
    /// any. So a thief that tries one queue after the other with random numbers steals more likely
    /// from longer queues, and many thieves of one queue don't meet at its first block. Items of
    /// other blocks may be older.
    ///
    /// # Errors
    ///
    /// `Empty` if the block has no item, is the owner's, or is not granted yet, also if the owner
    /// is gone; `Busy` if another thief was faster.
    pub fn try_steal_sampled(&self, random: u64, most: usize) -> Result<Loot<'_, T>, TryPopError> {
        let blocks = self.end.slots();
        let front = self.end.header().thieves.front.load(Ordering::Relaxed);
        let start = front + random % blocks.shape().blocks as u64 * blocks.size();
        let word = Word(blocks.at(start).word().load(Ordering::Relaxed));
        let is_stealable = word.is_of(blocks.number(start)) && word.is_granted();
        if !is_stealable || word.index() == blocks.size() {
            return Err(TryPopError::Empty);
        }
        self.take(start, word, most)
    }

    /// Takes items of a granted block. `Empty` if the owner has pushed no more; `Busy` if the word
    /// has changed.
    fn take(&self, start: u64, word: Word, most: usize) -> Result<Loot<'_, T>, TryPopError> {
        let blocks = self.end.slots();
        let block = blocks.at(start);
        let from = start + word.index();
        // Acquire ↔ Release in `try_push`: the items.
        let back = block.back().load(Ordering::Acquire).min(start + blocks.size());
        let n = back.saturating_sub(from).min(most.max(1) as u64);
        if n == 0 {
            return Err(TryPopError::Empty);
        }
        let taken = word.with_index(word.index() + n);
        block.exchange(word, taken, Ordering::Relaxed).map_err(|_| TryPopError::Busy)?;
        // SAFETY: the word was granted, and gave these items to this thread.
        Ok(unsafe { Loot::new(blocks, from, n) })
    }

    /// Steals up to `most` items, but no more than half, from the owner's block, or, if that is
    /// empty, from the block that it has not granted yet.
    ///
    /// # Errors
    ///
    /// `Empty` if there is none in these blocks; `Busy` if the owner, or another thief, was faster,
    /// or if a granted block has items: [`try_steal`](Self::try_steal) gets them.
    pub fn try_seize(&self, most: usize) -> Result<Loot<'_, T>, TryPopError> {
        let most = most.max(1);
        let closed = self.end.peer_is_gone();
        let blocks = self.end.slots();
        let mut start = self.end.header().thieves.front.load(Ordering::Relaxed);
        let mut word = Word(blocks.at(start).word().load(Ordering::Relaxed));
        if !word.is_of(blocks.number(start)) || word.is_granted() {
            return Err(TryPopError::Busy);
        }
        loop {
            let (block, end) = (blocks.at(start), start + blocks.size());
            // The owner's pops since then may not be visible yet.
            let from = self.end.header().head.load(Ordering::Relaxed).max(start + word.index());
            if block.back().load(Ordering::Relaxed).min(end) > from {
                return match closed {
                    // `try_steal` gets them.
                    _ if word.is_granted() => Err(TryPopError::Busy),
                    true => self.take_rest(block, start, word, most),
                    false => self.seize(block, start, word, most),
                };
            }
            start = end;
            word = Word(blocks.at(start).word().load(Ordering::Relaxed));
            if word.is_after(blocks.number(start)) {
                return Err(TryPopError::Busy);
            }
            if !word.is_of(blocks.number(start)) {
                return Err(TryPopError::Empty);
            }
        }
    }

    /// Whether a thief is about to seize items.
    #[doc(hidden)]
    pub fn is_being_seized(&self) -> bool {
        self.end.header().thieves.seizing.is_taken()
    }

    /// Whether there was nothing to steal or to seize.
    pub fn is_empty(&self) -> bool {
        self.count(1) == 0
    }

    /// Items that could be stolen or seized. Concurrent calls of the owner and of thieves may or
    /// may not count.
    pub fn len(&self) -> usize {
        self.count(u64::MAX) as usize
    }

    /// Counts items until there are `enough`.
    fn count(&self, enough: u64) -> u64 {
        let (blocks, header) = (self.end.slots(), self.end.header());
        let mut start = header.thieves.front.load(Ordering::Relaxed);
        let mut count = 0;
        while count < enough {
            let (block, number) = (blocks.at(start), blocks.number(start));
            let word = Word(block.word().load(Ordering::Relaxed));
            let end = start + blocks.size();
            if word.is_after(number) {
                start = header.thieves.front.load(Ordering::Relaxed).max(end);
                continue;
            }
            if !word.is_of(number) {
                break;
            }
            // Relaxed: the caller has a fence, if it needs one.
            let (head, back) =
                (header.head.load(Ordering::Relaxed), block.back().load(Ordering::Relaxed));
            let from = start + word.index();
            let from = if word.is_granted() { from } else { from.max(head) };
            count += back.min(end).saturating_sub(from);
            if back < end {
                break;
            }
            start = end;
        }
        count
    }

    fn seize(
        &self,
        block: &Block,
        start: u64,
        word: Word,
        most: usize,
    ) -> Result<Loot<'_, T>, TryPopError> {
        let (blocks, header) = (self.end.slots(), self.end.header());
        let _only = header.thieves.seizing.take().ok_or(TryPopError::Busy)?;
        let seized = word.for_seizer();
        block.exchange(word, seized, Ordering::Relaxed).map_err(|_| TryPopError::Busy)?;
        // From here on the owner finds the mark at its next pop. The fence makes its pops before
        // that visible.
        let is_ordered = header.barrier.heavy();
        let head = header.head.load(Ordering::Relaxed);
        // Acquire ↔ Release in `try_push`: the items.
        let back = block.back().load(Ordering::Acquire).min(start + blocks.size());
        let from = head.max(start + word.index());
        // If the owner has not noticed the seizure before, it will read where the seizure began.
        let first = if word.start() == word.index() { from - start } else { word.start() };
        let half = if is_ordered { back.saturating_sub(from).div_ceil(2) } else { 0 };
        let n = half.min(most as u64);
        let left = match n {
            0 => word,
            n => word.with_start(first).with_index(from - start + n),
        };
        block.exchange(seized, left, Ordering::Relaxed).map_err(|_| TryPopError::Busy)?;
        match n {
            // There was an item, and the owner has popped it. Others may be held.
            0 => Err(TryPopError::Busy),
            // SAFETY: the owner has not taken the mark back, so it had popped none of these items,
            // and now they are this thread's.
            n => Ok(unsafe { Loot::new(blocks, from, n) }),
        }
    }

    /// Takes items of the front block of an owner that is gone. A thief that has marked it gets
    /// nothing.
    fn take_rest(
        &self,
        block: &Block,
        start: u64,
        word: Word,
        most: usize,
    ) -> Result<Loot<'_, T>, TryPopError> {
        let blocks = self.end.slots();
        // Relaxed: everything that the owner did happens before this thread sees that the owner is
        // gone.
        let from = self.end.header().head.load(Ordering::Relaxed).max(start + word.index());
        let back = block.back().load(Ordering::Relaxed).min(start + blocks.size());
        let n = back.saturating_sub(from).min(most as u64);
        if n == 0 {
            return Err(TryPopError::Empty);
        }
        let left = word.for_owner().with_index(from - start + n);
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

    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}
