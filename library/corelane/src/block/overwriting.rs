// Above 500 lines: one algorithm with its page, both of its sides and its own tests.

//! `bbq-drop-old`: the block-based bounded queue that overwrites.
//!
//! The ring is divided into blocks, as in [`block::shared`](crate::block::shared). A producer
//! enters the next block whether or not its items have been popped: pushes never read what
//! consumers write. A consumer reads speculatively: it copies an item, and uses the copy only if no
//! producer has entered the block again meanwhile.
//!
//! The only handle of a side works with plain stores and loads until it is cloned, and again soon
//! after all its clones are gone. An only consumer writes nothing but its position, once for each
//! block.
//!
#![doc = advice!(literature bbq_drop_old)]
//!
//! Items must be [plain data](crate::overwrite::Plain). If no push may be refused, use
//! [`seq_ring`](crate::seq_ring).
//!
//! | | |
//! |---|---|
//! | guarantee | producers never wait for consumers; first in first out, with gaps that are counted: [`Consumer::lost`]. A pop retries as long as producers overtake it during its copy |
//! | capacity | N − S, with N slots, and S slots in a block: as asked, or up to S − 1 more. The newest N − S items are always [kept](Producer::kept), and never more than N |
//! | blocks | as [`block::shared`](crate::block::shared) |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | errors | a push never says full. It says busy if it needs the next block, and a push of an earlier lap into that block is unfinished: the thread of the earlier push was stopped for N − S pushes or more. Until this thread continues, all pushes say busy, and the queue keeps its old items. With more producers than cores pushes are busy most of the time, and [`seq_ring`](crate::seq_ring) is the better queue. A refused item is given back, and not counted as lost. If all consumers are gone, a push says closed where it would say busy; otherwise it succeeds |
//! | paper | J. Wang: *High Performance and Dependable Asynchronous Communication on Multi-Core Systems* (2024), §2.4.3, drop-old |
//!
//! # Departures from the paper
//!
//! - All counters count through all laps, as in [`block::shared`](crate::block::shared), and the
//!   heads are positions. So the first block is like the others, and the second bug of the paper's
//!   §2.5 can't occur. The first bug can't occur either: the count of a block that other producers
//!   have entered is ahead. Fences prevent the third bug.
//! - Consumers check `entered`, and not `allocated`, which producers add to. `entered` has a cache
//!   line of its own, and is written once a lap.
//! - An overtaken consumer continues with the oldest block that may not be overwritten yet. The
//!   paper's consumer continues with the next block, whatever this block holds, and so may skip
//!   blocks that are not overwritten.
//! - Each lost item is counted, by one consumer.
//! - The only handle of a side works as in §2.4.5 until it is cloned.
//! - A pop says busy also if no slot is committed but a slot is allocated. Slots are reserved by
//!   compare-and-swap. [`block::shared`](crate::block::shared) gives the reasons for both.
//! - A thread must not be stopped in the middle of a call while `allocated` advances by half its
//!   range, as in [`block::shared`](crate::block::shared).
//!
//! ```
//! use corelane::block::overwriting;
//!
//! let (mut tx, mut rx) = overwriting::queue(2)?;
//! for time in [10, 20, 30, 40] {
//!     tx.try_push(time)?;
//! }
//! // Three slots, one to a block: 40 overwrote 10.
//! assert_eq!(rx.pop_iter().collect::<Vec<_>>(), [20, 30, 40]);
//! assert_eq!(rx.lost(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::cell::Cell;

use crate::block::layout::{BlockShape, Blocks};
use crate::block::variables::{BlockVariables, Heads, ProducerCursors};
use crate::memory::{AtomicU64, Ordering, advance, fence, is_before};
use crate::pad::Padded;
use crate::plain::{Plain, Words};
use crate::queue::{
    self, CapacityError, Config, Info, Sides, TryPopError, TryPushError, answered_by, handles,
    queue_type,
};
use crate::region::{End, Run, State, ends};
use crate::spin::{Backoff, Retries};

/// A queue that keeps at least the `capacity` newest items.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Plain>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Plain>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    // The block that is being filled may hold none of the items that are kept.
    let shape = BlockShape::with_slots::<Header<T>>(config, |size| config.capacity + size)?;
    let header = Header { heads: Heads::new(&shape), items: core::marker::PhantomData };
    let (tx, rx) = ends(config.memory, shape, header)?;
    let first = shape.first;
    Ok((
        Producer { write: first, block_end: first, is_alone: Cell::new(true), end: tx },
        Consumer { read: first, known: first, lost: 0, is_alone: Cell::new(true), end: rx },
    ))
}

/// What the sides share besides blocks.
struct Header<T> {
    heads: Heads,
    items: core::marker::PhantomData<T>,
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Blocks<Cursors, Words<T>>;

    fn drop_items(&self, _: &Self::Slots) {
        // Plain data has no destructor.
    }
}

/// The variables of a block.
#[repr(C)]
struct Cursors {
    producers: Padded<ProducerCursors>,
    /// How many slots consumers have taken, of this lap or an earlier one.
    reserved: Padded<AtomicU64>,
    /// The lap in which slots are being filled, or have been filled.
    entered: Padded<AtomicU64>,
}

impl BlockVariables for Cursors {
    fn new(shape: &BlockShape) -> Self {
        let lap_before = shape.first.wrapping_sub(shape.arrangement().positions());
        let count = || AtomicU64::new(shape.first);
        Self {
            producers: Padded(ProducerCursors {
                allocated: AtomicU64::new(shape.arrangement().all_allocated(lap_before)),
                committed: count(),
            }),
            reserved: Padded(count()),
            entered: Padded(AtomicU64::new(lap_before)),
        }
    }
}

/// A sending side.
#[repr(align(128))]
pub struct Producer<T> {
    /// Next position to fill, while there is no other producer.
    write: u64,
    /// End of the block that `write` is in, or at the end of.
    block_end: u64,
    is_alone: Cell<bool>,
    end: End<Header<T>>,
}

/// A receiving side.
#[repr(align(128))]
pub struct Consumer<T> {
    /// Next position to empty, while there is no other consumer.
    read: u64,
    /// The position up to which items have been seen, in the block of `read`.
    known: u64,
    lost: u64,
    is_alone: Cell<bool>,
    end: End<Header<T>>,
}

/// Why no slots are free.
struct Busy;

/// Slots of all blocks but one.
fn kept<T>(blocks: &Blocks<Cursors, Words<T>>) -> usize {
    blocks.len() - blocks.arrangement().size() as usize
}

/// The position up to which consumers have taken items, or where the block starts that they are in.
fn taken<T>(blocks: &Blocks<Cursors, Words<T>>, heads: &Heads) -> u64 {
    // Relaxed, both: a snapshot.
    let head = heads.chead.load(Ordering::Relaxed);
    let arrangement = blocks.arrangement();
    let taken = arrangement.go_on(head, blocks.at(head).reserved.load(Ordering::Relaxed));
    // The only consumer counts none in its block, and writes down the block only.
    if taken.wrapping_sub(head) <= arrangement.size() { taken } else { head }
}

/// Items from `read` on that are not overwritten.
fn count<T>(blocks: &Blocks<Cursors, Words<T>>, read: u64) -> usize {
    let arrangement = blocks.arrangement();
    // The last position that has been filled in each block.
    let filled = |start| {
        // Relaxed: a snapshot.
        let committed = blocks.at(start).producers.committed.load(Ordering::Relaxed);
        let last = committed.wrapping_sub(arrangement.step());
        arrangement.go_on(arrangement.lap(last) | start, last)
    };
    let later = |a, b| if is_before(a, b) { b } else { a };
    let last = blocks.starts().map(filled).reduce(later).expect("there are blocks");
    if is_before(last, read) {
        return 0;
    }
    let in_block = last.wrapping_sub(arrangement.start(last)) as usize + 1;
    let behind = arrangement.distance(read, last) as usize + 1;
    behind.min(kept(blocks) + in_block)
}

impl<T: Plain> Producer<T> {
    /// Number of newest items that the queue keeps at least: the slots of all blocks but one.
    pub fn kept(&self) -> usize {
        kept(self.end.slots())
    }

    /// Takes up to `wanted` slots of one block.
    #[inline(always)] // see `queue::try_pop_by`
    fn allocate(&mut self, wanted: u64) -> Result<Run, Busy> {
        while !self.is_alone.get() {
            // Acquire ↔ Release in `advance_phead`: the block's `allocated`.
            let head = self.end.header().heads.phead.load(Ordering::Acquire);
            if let Some(run) = self.allocate_in(head, wanted) {
                return Ok(run);
            }
            if !self.take_over() {
                self.advance_phead(head)?;
            }
        }
        if self.write == self.block_end {
            self.enter_block();
        }
        // Release ↔ Acquire of the fence in `is_left`: a consumer that copies what is written from
        // now on sees that the block has been entered. Each push has a fence, since the handle may
        // have moved to another thread.
        fence(Ordering::Release);
        let left = self.block_end.wrapping_sub(self.write);
        let run = Run { position: self.write, n: wanted.min(left) };
        self.write = self.write.wrapping_add(run.n);
        Ok(run)
    }

    /// Enters the next block as the only producer: all pushes into it are finished.
    #[inline]
    fn enter_block(&mut self) {
        let blocks = self.end.slots();
        self.write = blocks.arrangement().next(self.write);
        let (block, arrangement) = (blocks.at(self.write), blocks.arrangement());
        // As if no producer had allocated. Later producers don't need the value, but it must not
        // become so old that it seems to be ahead.
        let lap_before =
            arrangement.all_allocated(self.write.wrapping_sub(arrangement.positions()));
        block.producers.allocated.store(lap_before, Ordering::Relaxed);
        // Release ↔ Acquire in `oldest` and `is_left`: the items that an overtaken consumer can
        // still pop.
        block.entered.store(arrangement.lap(self.write), Ordering::Release);
        self.block_end = blocks.end(self.write);
    }

    /// Continues as the only producer, if all others are gone and no slot is left in their block.
    #[inline]
    fn take_over(&mut self) -> bool {
        if !self.end.is_only() {
            return false;
        }
        let (header, blocks) = (self.end.header(), self.end.slots());
        let arrangement = blocks.arrangement();
        // Relaxed: all writes of other handles are visible, and no other handle writes any more.
        let head = header.heads.phead.load(Ordering::Relaxed);
        let allocated = blocks.at(head).producers.allocated.load(Ordering::Relaxed);
        let is_done = arrangement.offset(allocated) >= arrangement.size();
        if is_done {
            (self.write, self.block_end) = (blocks.next_block(head), blocks.next_block(head));
            self.is_alone.set(true);
        }
        is_done
    }

    /// Publishes the state of the only producer, before there are others.
    fn share(&self) {
        let (header, blocks) = (self.end.header(), self.end.slots());
        let arrangement = blocks.arrangement();
        // Relaxed, all of it: there is no other producer yet, and consumers learn no more from it
        // than from `committed`.
        if self.write == self.block_end {
            let last = arrangement.block_before(self.write);
            header.heads.phead.store(last, Ordering::Relaxed);
            return;
        }
        let block = blocks.at(self.write);
        block.producers.allocated.store(arrangement.allocated(self.write), Ordering::Relaxed);
        header.heads.phead.store(arrangement.start(self.write), Ordering::Relaxed);
    }

    /// The paper's `allocate_entry`: slots of the block that starts at `head`, if any are left.
    #[inline]
    fn allocate_in(&self, head: u64, wanted: u64) -> Option<Run> {
        let blocks = self.end.slots();
        let arrangement = blocks.arrangement();
        let allocated = &blocks.at(head).producers.allocated;
        // Late producers must not add again and again. Acquire ↔ Release of the addition below:
        // observing the block full makes visible all commits behind it that its last producer had
        // observed.
        let taken = arrangement.offset(allocated.load(Ordering::Acquire));
        let wanted = wanted.min(arrangement.size().checked_sub(taken)?);
        if wanted == 0 {
            return None;
        }
        // Acquire ↔ Release in `advance_phead`: earlier writes to the slots. Release: see above.
        let offset = arrangement.offset(allocated.fetch_add(wanted, Ordering::AcqRel));
        let left = arrangement.size().checked_sub(offset).filter(|left| *left > 0)?;
        // Release ↔ Acquire of the fence in `is_left`: a consumer that copies what is written from
        // now on sees that the block has been entered.
        fence(Ordering::Release);
        // Producers may have entered the block again since `head`, but the slots have the same
        // places in each lap.
        Some(Run { position: head.wrapping_add(offset), n: wanted.min(left) })
    }

    /// Enters the block after `head`, if all pushes into it of the last lap are finished.
    #[inline]
    fn advance_phead(&self, head: u64) -> Result<(), Busy> {
        let blocks = self.end.slots();
        let arrangement = blocks.arrangement();
        let next = blocks.next_block(head);
        let block = blocks.at(next);
        // Acquire ↔ Release in `commit`: earlier writes to the slots.
        let committed = block.producers.committed.load(Ordering::Acquire);
        // `committed` may be ahead already, if other producers have entered the block.
        if is_before(committed, arrangement.count(next)) {
            return Err(Busy);
        }
        // Release ↔ Acquire in `oldest` and `is_left`: the items that an overtaken consumer can
        // still pop. The next line orders `entered` for producers.
        advance(&block.entered, arrangement.lap(next), Ordering::Release);
        // Release ↔ Acquire in `allocate_in`: earlier writes to the slots.
        advance(&block.producers.allocated, arrangement.allocated(next), Ordering::Release);
        // Release ↔ Acquire in `allocate`: the block's `allocated`.
        advance(&self.end.header().heads.phead, next, Ordering::Release);
        Ok(())
    }

    /// Publishes the items of `run` to consumers.
    #[inline]
    fn commit(&self, run: Run) {
        let blocks = self.end.slots();
        let arrangement = blocks.arrangement();
        let steps = run.n * arrangement.step();
        let committed = &blocks.at(run.position).producers.committed;
        // Release ↔ Acquire in `find`: the items. Release ↔ Acquire in `advance_phead`: the writes
        // to the slots.
        if self.is_alone.get() {
            committed.store(arrangement.count(run.position).wrapping_add(steps), Ordering::Release);
        } else {
            committed.fetch_add(steps, Ordering::Release);
        }
    }
}

impl<T: Plain> queue::Producer for Producer<T> {
    type Item = T;

    #[inline(always)] // a call would cost more than a push of the only producer
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        match self.allocate(1) {
            Ok(run) => {
                self.end.slots().array().store(run.position, &item);
                self.commit(run);
                Ok(())
            }
            Err(Busy) if self.end.peer_is_gone() => Err(TryPushError::Closed(item)),
            Err(Busy) => Err(TryPushError::Busy(item)),
        }
    }

    /// The newest items that are [kept](Self::kept).
    #[inline]
    fn capacity(&self) -> usize {
        self.kept()
    }

    fn slots(&self) -> usize {
        self.end.slots().len()
    }

    answered_by!(closed: end);

    /// Visits all blocks. Counts up to a block of popped items too many.
    fn len(&mut self) -> usize {
        let blocks = self.end.slots();
        count(blocks, taken(blocks, &self.end.header().heads))
    }

    /// Takes as much of a block as it can at once.
    fn push_slice(&mut self, items: &[T]) -> usize {
        let mut retries = Retries::default();
        let mut rest = items;
        while !rest.is_empty() {
            let run = match self.allocate(rest.len() as u64) {
                Ok(run) => run,
                Err(Busy) if retries.again(true) => continue,
                Err(Busy) => break,
            };
            let (now, later) = rest.split_at(run.n as usize);
            for (i, item) in now.iter().enumerate() {
                self.end.slots().array().store(run.slot(i), item);
            }
            self.commit(run);
            rest = later;
        }
        items.len() - rest.len()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// What a consumer finds in a block.
enum Found {
    /// Items up to this position.
    Items(u64),
    /// No item that may be taken, and why.
    Nothing(TryPopError),
    /// Items of a later lap.
    Overwritten,
}

impl<T: Plain> Consumer<T> {
    /// Number of items that this handle found overwritten. No consumer has popped or will pop them.
    ///
    /// Each lost item is counted by one consumer, when a pop finds the next item, or none. Items
    /// overwritten since then are not counted yet.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Number of newest items that the queue keeps at least: the slots of all blocks but one.
    pub fn kept(&self) -> usize {
        kept(self.end.slots())
    }

    /// Takes up to `wanted` items of one block. Producers may overwrite them at any time.
    #[inline(always)] // see `queue::try_pop_by`
    fn reserve(&mut self, wanted: u64) -> Result<Run, TryPopError> {
        while !self.is_alone.get() {
            // Acquire ↔ Release in `advance_chead`: the items that made another consumer leave the
            // block.
            let head = self.end.header().heads.chead.load(Ordering::Acquire);
            if let Some(run) = self.reserve_in(head, wanted)? {
                return Ok(run);
            }
            self.take_over();
        }
        while self.read == self.known {
            let arrangement = self.end.slots().arrangement();
            self.read = arrangement.next(self.read);
            self.known = self.read;
            if arrangement.is_start(self.read) {
                // Relaxed: producers only count by it.
                self.end.header().heads.chead.store(self.read, Ordering::Relaxed);
            }
            match self.find(self.read) {
                Found::Items(known) => self.known = known,
                Found::Nothing(reason) => return Err(reason),
                Found::Overwritten => {
                    let oldest = self.oldest(self.read);
                    self.lost += self.end.slots().arrangement().distance(self.read, oldest);
                    (self.read, self.known) = (oldest, oldest);
                }
            }
        }
        let run = Run { position: self.read, n: wanted.min(self.known.wrapping_sub(self.read)) };
        self.read = self.read.wrapping_add(run.n);
        Ok(run)
    }

    /// Looks for items from `read` on, to the end of its block.
    #[inline]
    fn find(&self, read: u64) -> Found {
        let blocks = self.end.slots();
        let (block, arrangement) = (blocks.at(read), blocks.arrangement());
        // Acquire ↔ Release in `Producer::commit`: the items.
        let committed = block.producers.committed.load(Ordering::Acquire);
        let filled = arrangement.go_on(arrangement.start(read), committed);
        if is_before(blocks.end(read), filled) {
            return Found::Overwritten;
        }
        // Relaxed: a thread that knows of a push knows that all slots before the pushed one were
        // allocated.
        let allocated = || block.producers.allocated.load(Ordering::Relaxed);
        let is_begun = |position| is_before(arrangement.allocated(position), allocated());
        if !is_before(read, filled) {
            let is_busy = is_begun(read);
            return Found::Nothing(if is_busy { TryPopError::Busy } else { TryPopError::Empty });
        }
        // The count doesn't say which slots are filled, unless all allocated slots are.
        if filled != blocks.end(read) && is_begun(filled) {
            return Found::Nothing(TryPopError::Busy);
        }
        Found::Items(filled)
    }

    /// Where the oldest items are, for a consumer that was overtaken in the block of `read`: behind
    /// the items of the newer lap.
    #[inline]
    fn oldest(&self, read: u64) -> u64 {
        let (blocks, start) = (self.end.slots(), self.end.slots().arrangement().start(read));
        let arrangement = blocks.arrangement();
        // Acquire ↔ Release in `enter_block` and `advance_phead`, perhaps of a later lap than that
        // of the items that have been seen: the items that are still there.
        let entered = blocks.at(read).entered.load(Ordering::Acquire);
        let laps = entered.wrapping_sub(arrangement.lap(start));
        blocks.next_block(start.wrapping_add(laps).wrapping_sub(arrangement.positions()))
    }

    /// Whether the copies made from `run` until now are the items that were pushed there.
    #[inline]
    fn is_left(&self, run: Run) -> bool {
        let blocks = self.end.slots();
        // Acquire ↔ Release of the producers' fences: `entered` of the lap from which a word was
        // copied.
        fence(Ordering::Acquire);
        // Acquire ↔ Release in `enter_block` and `advance_phead`: the items that are still there.
        let entered = blocks.at(run.position).entered.load(Ordering::Acquire);
        entered == blocks.arrangement().lap(run.position)
    }

    /// Whether all copies made from `run` are the items that were pushed there. Otherwise these
    /// items are lost.
    #[inline]
    fn is_intact(&mut self, run: Run) -> bool {
        let (blocks, is_intact) = (self.end.slots(), self.is_left(run));
        if !is_intact && self.is_alone.get() {
            // The rest of the block is lost as well.
            let end = blocks.end(run.position);
            self.lost += end.wrapping_sub(run.position);
            (self.read, self.known) = (end, end);
        } else if !is_intact {
            self.lost += run.n;
        }
        is_intact
    }

    /// The paper's `reserve_entry`: items of the block that starts at `head`; `None` if all its
    /// items were taken.
    #[inline]
    fn reserve_in(&mut self, head: u64, wanted: u64) -> Result<Option<Run>, TryPopError> {
        let blocks = self.end.slots();
        let (cursor, arrangement) = (&blocks.at(head).reserved, blocks.arrangement());
        // No consumer has taken items in the laps that were left out.
        advance(cursor, arrangement.count(head), Ordering::Relaxed);
        // Acquire ↔ Release of the exchange below: observing an item taken makes visible the items
        // behind it that its consumer had observed. Otherwise the queue would seem empty.
        let (mut reserved, mut backoff) = (cursor.load(Ordering::Acquire), Backoff::new());
        let full = arrangement.full_count(head);
        while is_before(reserved, full) {
            let position = arrangement.go_on(head, reserved);
            let (n, next) = match self.find(position) {
                Found::Items(filled) => {
                    let n = wanted.min(filled.wrapping_sub(position));
                    (n, reserved.wrapping_add(n * arrangement.step()))
                }
                Found::Nothing(reason) => return Err(reason),
                Found::Overwritten => (0, full),
            };
            match cursor.compare_exchange(reserved, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) if n > 0 => return Ok(Some(Run { position, n })),
                Ok(_) => {
                    self.lost += blocks.end(head).wrapping_sub(position);
                    self.advance_chead(head, self.oldest(head));
                    return Ok(None);
                }
                Err(_) => {
                    backoff.wait();
                    reserved = cursor.load(Ordering::Acquire);
                }
            }
        }
        self.advance_chead(head, self.end.slots().next_block(head));
        Ok(None)
    }

    /// The next position that one of several consumers empties.
    fn next(&self) -> u64 {
        let blocks = self.end.slots();
        let arrangement = blocks.arrangement();
        let mut head = self.end.header().heads.chead.load(Ordering::Acquire);
        loop {
            let reserved = blocks.at(head).reserved.load(Ordering::Acquire);
            if is_before(reserved, arrangement.count(head)) {
                // No consumer has taken items in the laps that were left out.
                return head;
            }
            if is_before(reserved, arrangement.full_count(head)) {
                return arrangement.go_on(head, reserved);
            }
            head = blocks.next_block(head);
        }
    }

    /// Moves from the block that starts at `head` to the block at `next`, unless another consumer
    /// has left `head`.
    #[inline]
    fn advance_chead(&mut self, head: u64, next: u64) {
        let chead = &self.end.header().heads.chead;
        // Release ↔ Acquire in `reserve`: the items that make this consumer leave the block. Not a
        // maximum: of two consumers that know different next blocks, one decides, and counts the
        // items that are left out.
        if chead.compare_exchange(head, next, Ordering::Release, Ordering::Relaxed).is_ok() {
            let blocks = self.end.slots();
            self.lost += blocks.arrangement().distance(blocks.end(head), next);
        }
    }

    /// Continues as the only consumer, if all others are gone.
    #[inline]
    fn take_over(&mut self) {
        if !self.end.is_only() {
            return;
        }
        let blocks = self.end.slots();
        // Relaxed: all writes of other handles are visible, and no other handle writes any more.
        let head = self.end.header().heads.chead.load(Ordering::Relaxed);
        let reserved = blocks.at(head).reserved.load(Ordering::Relaxed);
        let read = blocks.arrangement().go_on(head, reserved);
        // `read` may be a position of an earlier lap.
        let read = if is_before(read, head) { head } else { read };
        (self.read, self.known) = (read, read);
        self.is_alone.set(true);
    }

    /// Publishes the state of the only consumer, before there are others.
    fn share(&self) {
        let (header, blocks) = (self.end.header(), self.end.slots());
        let arrangement = blocks.arrangement();
        let read = arrangement.next(self.read);
        // Relaxed, both: there is no other consumer yet.
        blocks.at(read).reserved.store(arrangement.count(read), Ordering::Relaxed);
        header.heads.chead.store(arrangement.start(read), Ordering::Relaxed);
    }
}

impl<T: Plain> queue::Consumer for Consumer<T> {
    type Item = T;

    #[inline(always)] // a call would cost more than a pop of the only consumer
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        let mut closed = false;
        loop {
            match self.reserve(1) {
                Ok(run) => {
                    let item = self.end.slots().array().load(run.position);
                    if self.is_intact(run) {
                        // SAFETY: the copy is the item that was pushed.
                        return Ok(unsafe { item.assume_init() });
                    }
                }
                Err(TryPopError::Empty) if closed => return Err(TryPopError::Closed),
                // Looks once more, for items that producers pushed before they were dropped.
                Err(TryPopError::Empty) if self.end.peer_is_gone() => closed = true,
                Err(reason) => return Err(reason),
            }
        }
    }

    /// The newest items that are [kept](Self::kept).
    #[inline]
    fn capacity(&self) -> usize {
        self.kept()
    }

    fn slots(&self) -> usize {
        self.end.slots().len()
    }

    answered_by!(closed: end);

    /// Visits all blocks.
    fn len(&mut self) -> usize {
        let blocks = self.end.slots();
        match self.is_alone.get() {
            true => count(blocks, self.read),
            false => count(blocks, taken(blocks, &self.end.header().heads)),
        }
    }

    fn is_empty(&mut self) -> bool {
        let blocks = self.end.slots();
        let arrangement = blocks.arrangement();
        let read = match self.is_alone.get() {
            true if self.read != self.known => return false,
            true => arrangement.next(self.read),
            false => self.next(),
        };
        matches!(self.find(read), Found::Nothing(TryPopError::Empty))
    }

    /// Takes all it can of a block at once. If a producer enters the block meanwhile, all these
    /// items are lost. Behind the popped items `into` may hold copies of lost ones.
    fn pop_slice(&mut self, into: &mut [T]) -> usize {
        let mut retries = Retries::default();
        let mut done = 0;
        while done < into.len() {
            let run = match self.reserve((into.len() - done) as u64) {
                Ok(run) => run,
                Err(error) if retries.again(error == TryPopError::Busy) => continue,
                Err(_) => break,
            };
            for (i, slot) in into[done..][..run.n as usize].iter_mut().enumerate() {
                let item = self.end.slots().array().load(run.slot(i));
                if !self.is_left(run) {
                    break;
                }
                // SAFETY: the copy is the item that was pushed.
                *slot = unsafe { item.assume_init() };
            }
            if self.is_intact(run) {
                done += run.n as usize;
            }
        }
        done
    }

    fn lost(&self) -> u64 {
        self.lost
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T: Plain> Clone for Producer<T> {
    fn clone(&self) -> Self {
        if self.is_alone.replace(false) {
            self.share();
        }
        Self { write: 0, block_end: 0, is_alone: Cell::new(false), end: self.end.duplicate() }
    }
}

impl<T: Plain> Clone for Consumer<T> {
    /// Another handle, whose count of lost items is 0.
    fn clone(&self) -> Self {
        if self.is_alone.replace(false) {
            self.share();
        }
        let end = self.end.duplicate();
        Self { read: 0, known: 0, lost: 0, is_alone: Cell::new(false), end }
    }
}

handles! {
    [T: Plain] Producer<T>: producer of T;
    [T: Plain] Consumer<T>: consumer of T;
}

queue_type!(BbqDropOld of [T: Plain] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "bbq-drop-old",
    name: "block-based bounded queue, drop-old",
    paper: "Wang 2024, §2.4.3",
    sides: Sides::ManyToMany,
    guarantee: "producers never wait for consumers; FIFO with gaps",
    overwrites: true,
    capacity: "n, rounded up to a power of two N: the newest N - S are kept, S to a block",
    choose: advice!(choose bbq_drop_old),
    avoid: advice!(avoid bbq_drop_old),
    ..Info::RING
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept() {
        for first in [0, u64::MAX - 20] {
            let (mut tx, mut rx) = queue_with(Config::new(12).block(4).first(first)).unwrap();
            (0..100u64).for_each(|i| tx.try_push(i).unwrap());
            let kept: Vec<_> = rx.pop_iter().collect();
            assert!(kept.iter().copied().eq(84..100), "{kept:?}");
            assert_eq!(rx.lost(), 84);
            tx.try_push(100).unwrap();
            assert_eq!((rx.try_pop(), rx.lost()), (Ok(100), 84));
        }
    }

    #[test]
    fn a_block_makes_room_for_one_item() {
        let (mut tx, mut rx) = queue_with(Config::new(12).block(4)).unwrap();
        (0..17u32).for_each(|i| tx.try_push(i).unwrap());
        assert_eq!(rx.try_pop(), Ok(4));
        assert_eq!(rx.lost(), 4);
    }

    #[test]
    fn several_consumers_count_each_lost_item_once() {
        let (mut tx, mut rx) = queue_with(Config::new(12).block(4)).unwrap();
        let mut other = rx.clone();
        let (mut pushed, mut popped) = (0u64, 0);
        for round in 0..200 {
            for _ in 0..round % 41 {
                tx.try_push(pushed).unwrap();
                pushed += 1;
            }
            popped += rx.pop_iter().take(round % 5).count() as u64;
            popped += other.pop_iter().take(round % 3).count() as u64;
        }
        popped += rx.pop_iter().count() as u64;
        assert_eq!(popped + rx.lost() + other.lost(), pushed);
        assert!(rx.lost() > 0 && other.lost() > 0);
    }
}
