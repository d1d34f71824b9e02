// Above 500 lines: both sides of a queue, most of it documentation.

//! The two sides of a queue: what every algorithm implements.

use super::chunk::{LentItems, LentSlots, ReadChunk, WriteChunk, WriteChunkUninit};
use super::config::Backing;
use super::error::{TooFew, TryPopError, TryPushError, full};
use crate::spin::Retries;

/// A sending side of a queue.
///
/// A handle is the private half of the algorithm: it has the cached indices and batch positions,
/// which are never in shared memory. A handle can be sent to another thread. It can be cloned if
/// the queue may have several producers. An only producer can't be cloned, and is a
/// [`SingleProducer`].
///
/// No call panics in the middle, except in the code of an item or an iterator: then the queue stays
/// intact. A handle that is forgotten, or whose thread never runs again, is never dropped, so its
/// side is never closed. The queue's page has the other effects of a stopped thread.
///
/// The trait can be a trait object, and `&mut P` and `Box<P>` implement it:
///
/// ```
/// use corelane::{Producer, mpmc, spsc};
///
/// let (one, _rx) = spsc::queue::<u32>(8)?;
/// let (other, _rx) = mpmc::queue::<u32>(8)?;
/// let mut producers: Vec<Box<dyn Producer<Item = u32>>> = vec![Box::new(one), Box::new(other)];
/// for tx in &mut producers {
///     tx.try_push(1).unwrap();
/// }
/// # Ok::<(), corelane::CapacityError>(())
/// ```
pub trait Producer {
    /// The type of the items.
    type Item;

    /// Appends `item`.
    ///
    /// # Errors
    ///
    /// [`Full`](TryPushError::Full) if the push found no free slot. [`Busy`](TryPushError::Busy) if
    /// an unfinished call of another thread is in the way: the
    /// [table](crate#three-answers-besides-success) says when. All errors give the item back.
    ///
    /// [`Closed`](TryPushError::Closed) if the push found no free slot and all consumers are gone.
    /// A push that finds a free slot succeeds even then, also after a push that said `Closed`: the
    /// consumers may have freed slots just before they were dropped. A check for consumers in every
    /// push would cost a load each time, and a cache miss when the last consumer is dropped.
    fn try_push(&mut self, item: Self::Item) -> Result<(), TryPushError<Self::Item>>;

    /// Items that the queue always has room for: while fewer are inside, a push doesn't say full.
    /// `usize::MAX` if the queue is never full.
    ///
    /// At least as asked when the queue was made; each queue's page says how the number is rounded.
    fn capacity(&self) -> usize;

    /// Most items that can be inside: [`capacity`](Self::capacity), and the slots that the
    /// algorithm needs besides.
    ///
    /// A queue that gives slots back in groups, to access shared memory less often, has up to a
    /// group more than its capacity. A pool needs this number: up to `slots` of its objects can be
    /// in the queue at once.
    fn slots(&self) -> usize {
        self.capacity()
    }

    /// Number of items inside: a snapshot, which other handles may make outdated at once.
    ///
    /// An item counts until its slot has come back to producers. So the number is exact while no
    /// other handle is in a call, except in queues that give slots back in groups: there up to
    /// [`slots`](Self::slots) − [`capacity`](Self::capacity) popped items count too. The
    /// [table](crate::Consumer#counting) has these and other exceptions.
    ///
    /// The default, for handles that can't count, is [`usize::MAX`]. All queues of this crate
    /// count. An implementation that wraps a handle should forward the call to that handle.
    fn len(&mut self) -> usize {
        usize::MAX
    }

    /// Whether no item is inside, as far as [`len`](Self::len) counts.
    fn is_empty(&mut self) -> bool {
        self.len() == 0
    }

    /// Whether a push may find no room.
    ///
    /// `false`: there was room when the call looked, and there still is if this is the only
    /// producer. `true`: at least [`capacity`](Self::capacity) items are inside, or a push would
    /// fail now.
    fn is_full(&mut self) -> bool {
        self.len() >= self.capacity()
    }

    /// Whether all consumers have been dropped.
    ///
    /// `true` also means that all that the dropped handles did happens before this call returns.
    fn is_closed(&self) -> bool;

    /// What kind of memory the queue lives in.
    fn backing(&self) -> Backing {
        Backing::Heap
    }

    /// One more handle of this side, if the queue may have several.
    ///
    /// `None` for the only producer of a queue, and for handles behind `&mut` or in a `Box`. A
    /// [`BoxedProducer`](crate::BoxedProducer) can be cloned.
    fn try_clone(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Makes every pushed item visible to consumers.
    ///
    /// This has an effect only in queues with delayed publication: `mcring`, with or without a
    /// timer, and [`blq`](crate::lamport::batched) after `push_local`. In all other queues an item
    /// is visible when `try_push` returns, or when earlier and concurrent pushes of other threads
    /// have finished.
    fn flush(&mut self) {}

    /// Appends copies of as many leading `items` as fit, and returns their number.
    ///
    /// Where the algorithm can, many are published at once. Items of other producers may come
    /// between them. While the queue is [busy](TryPushError::Busy), the call looks again for about
    /// a microsecond. Fewer items than given mean that the queue is full, closed, or still busy:
    /// [`try_push`](Self::try_push) says which.
    fn push_slice(&mut self, items: &[Self::Item]) -> usize
    where
        Self::Item: Copy,
    {
        let mut retries = Retries::default();
        let mut done = 0;
        while done < items.len() {
            match self.try_push(items[done]) {
                Ok(()) => done += 1,
                Err(error) if retries.again(error.is_busy()) => {}
                Err(_) => break,
            }
        }
        done
    }
}

/// What a producer does for its chunks: it lends slots, and publishes the items written into them.
///
/// Implemented by each queue's only producer; used through [`SingleProducer`].
#[doc(hidden)]
pub trait LendSlots: Producer {
    /// Number of items that can be pushed now without failing, counted up to `wanted`.
    fn free_up_to(&mut self, wanted: usize) -> usize;

    /// Number of slots [`lend`](Self::lend) can give at once, up to `wanted`.
    ///
    /// Less than [`free_up_to`](Self::free_up_to) only for queues that lend slots of one ring of
    /// several.
    fn lendable(&mut self, wanted: usize) -> usize {
        self.free_up_to(wanted)
    }

    /// The slots of the next `n` items, to be written before [`publish`](Self::publish).
    ///
    /// # Safety
    ///
    /// `n` is at most the answer of the last call of [`lendable`](Self::lendable), and nothing was
    /// pushed since.
    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, Self::Item>;

    /// Pushes the first `n` items written into the lent slots.
    ///
    /// # Safety
    ///
    /// `n` is at most the number lent last, and the first `n` of those slots hold items.
    unsafe fn publish(&mut self, n: usize);

    /// Why no slot can be lent, after [`lendable`](Self::lendable) has answered 0.
    fn refusal(&self) -> TryPushError<()> {
        full(self.is_closed(), ())
    }
}

/// The only producer of a queue. No other handle fills slots, so this one can count and lend them.
///
/// For generic code: handles have these calls themselves.
///
/// # Batches
///
/// [`write_chunk_uninit`](Self::write_chunk_uninit) lends free slots, to be filled in place;
/// [`push_iter`](Self::push_iter) is built on it. A batch is published at once where the algorithm
/// can, otherwise item by item in one tight loop.
pub trait SingleProducer: LendSlots {
    /// Number of items that can be pushed now without failing, counted up to `wanted`.
    ///
    /// The answer is a lower bound: the consumer may free more slots at any moment. A small
    /// `wanted` may save a read of shared memory.
    fn free_slots(&mut self, wanted: usize) -> usize {
        self.free_up_to(wanted)
    }

    /// Lends up to `n` free slots, to be filled in place and then committed.
    ///
    /// The chunk has [`len`](WriteChunkUninit::len) slots: fewer than `n` if fewer are free, or if
    /// the run of slots that the queue can lend at once is shorter. With `n` = 0 the chunk is
    /// empty.
    ///
    /// # Errors
    ///
    /// As [`try_push`](Producer::try_push), if no slot is free.
    fn write_chunk_uninit(
        &mut self,
        n: usize,
    ) -> Result<WriteChunkUninit<'_, Self>, TryPushError<()>>
    where
        Self: Sized,
    {
        match self.lendable(n) {
            0 if n > 0 => Err(self.refusal()),
            len => Ok(WriteChunkUninit::new(self, len)),
        }
    }

    /// As [`write_chunk_uninit`](Self::write_chunk_uninit), of slots that hold default items: no
    /// `unsafe` is needed.
    ///
    /// # Errors
    ///
    /// As [`try_push`](Producer::try_push), if no slot is free.
    fn write_chunk(&mut self, n: usize) -> Result<WriteChunk<'_, Self>, TryPushError<()>>
    where
        Self: Sized,
        Self::Item: Default + Copy,
    {
        self.write_chunk_uninit(n).map(WriteChunk::new)
    }

    /// As [`write_chunk`](Self::write_chunk), of exactly `n` slots.
    ///
    /// # Errors
    ///
    /// If fewer can be lent: their number.
    fn write_chunk_exact(&mut self, n: usize) -> Result<WriteChunk<'_, Self>, TooFew>
    where
        Self: Sized,
        Self::Item: Default + Copy,
    {
        match self.lendable(n) {
            len if len < n => Err(TooFew { len, closed: self.is_closed() }),
            len => Ok(WriteChunk::new(WriteChunkUninit::new(self, len))),
        }
    }

    /// Appends items of `items` until the iterator ends or the queue is full, and returns their
    /// number.
    ///
    /// The iterator gives no item for which there is no slot: pass `iter.by_ref()` to go on later.
    fn push_iter<I: IntoIterator<Item = Self::Item>>(&mut self, items: I) -> usize
    where
        Self: Sized,
    {
        let mut items = items.into_iter();
        let mut retries = Retries::default();
        let mut done = 0;
        loop {
            // With a short iterator, slots that it would not fill are not looked for. With a long
            // iterator, the consumer sees the first items before the last ones are made.
            let wanted = items.size_hint().1.unwrap_or(usize::MAX).min(RUN);
            let chunk = match self.write_chunk_uninit(wanted) {
                Ok(chunk) => chunk,
                Err(error) if retries.again(error.is_busy()) => continue,
                Err(_) => return done,
            };
            let len = chunk.len();
            let filled = chunk.fill_from_iter(&mut items);
            done += filled;
            if filled < len || len == 0 {
                return done;
            }
        }
    }
}

/// Items that [`push_iter`](SingleProducer::push_iter) publishes at once.
const RUN: usize = 64;

impl<P: LendSlots + ?Sized> SingleProducer for P {}

/// A receiving side of a queue.
///
/// A handle can be cloned if the queue may have several consumers. An only consumer can't be
/// cloned, and is a [`SingleConsumer`].
///
/// The trait can be a trait object, and `&mut C` and `Box<C>` implement it.
///
/// # Counting
///
/// `len` of a handle is exact while no other handle is in a call, except in these queues:
///
/// | queue | `len` of a consumer | `len` of a producer |
/// |---|---|---|
/// | `iffq`, `biffq`, `bqueue`, `linering`, `bbq` and its relatives, `faaq`: slots come back in groups | exact | up to `slots()` − `capacity()` too many |
/// | `leased` | exact, or `slots()` while another call is in the way | up to `slots()` − `capacity()` too many |
/// | `mcring`, `mcring-sane` | published items only | up to `slots()` − `capacity()` too many |
/// | `uspsc` | exact up to 65,536 | each ring before the producer's ring counts as full, so up to a ring too many, and slots that were left unused |
/// | `dspsc` | exact up to 65,536; visits each item | exact |
/// | `lprq`, `lcrq`, `lcrq-pool` | each ring between the rings of the two sides counts as full. After contention, positions without an item count too: up to 10 for each thread that found a ring full | as for a consumer |
/// | `usq` | exact up to 65,536; visits each segment | as for a consumer |
/// | `scq` | after contention, positions without an item count too | as for a consumer |
/// | `seqring` | exact up to the capacity | up to 64 too many |
/// | `bbq-drop-old` | exact up to the capacity | up to a block too many |
pub trait Consumer {
    /// The type of the items.
    type Item;

    /// Removes the oldest item.
    ///
    /// # Errors
    ///
    /// [`Empty`](TryPopError::Empty) if there is no item. [`Busy`](TryPopError::Busy) if there may
    /// be an item, but an unfinished push or pop of another thread is in the way.
    /// [`Closed`](TryPopError::Closed) if there is no item and all producers are gone. No pop says
    /// `Closed` before all items are popped.
    fn try_pop(&mut self) -> Result<Self::Item, TryPopError>;

    /// Items that the queue always has room for: see [`Producer::capacity`].
    fn capacity(&self) -> usize;

    /// Most items that can be inside: see [`Producer::slots`].
    fn slots(&self) -> usize {
        self.capacity()
    }

    /// Number of items that are visible: a snapshot, which other handles may make outdated at once.
    ///
    /// Exact while no other handle is in a call, in most queues: see [the table](Self#counting).
    /// [`usize::MAX`] if the handle can't count: see [`Producer::len`].
    fn len(&mut self) -> usize {
        usize::MAX
    }

    /// Whether a pop may find no item.
    ///
    /// `true`: at a moment of the call no item could be popped. `false`: an item was there when the
    /// call looked, and still is if this is the only consumer. In `lprq`, `lcrq` and `scq` a
    /// position without an item may also lead to `false`, after contention. In `leased` another
    /// call that is in the way may lead to `false`.
    fn is_empty(&mut self) -> bool {
        self.len() == 0
    }

    /// Whether at least [`capacity`](Self::capacity) items are inside, as far as [`len`](Self::len)
    /// counts.
    fn is_full(&mut self) -> bool {
        self.len() >= self.capacity()
    }

    /// Whether all producers have been dropped. Items may still be waiting.
    ///
    /// `true` also means that all that the dropped handles did happens before this call returns.
    fn is_closed(&self) -> bool;

    /// What kind of memory the queue lives in.
    fn backing(&self) -> Backing {
        Backing::Heap
    }

    /// The k of k-FIFO: a pop takes one of the k oldest items. 1 means first in, first out, and
    /// `usize::MAX` that there is no bound.
    ///
    /// Only [relaxed](crate::relaxed) queues have another k than 1.
    fn relaxation(&self) -> usize {
        1
    }

    /// Number of overwritten items that this handle has counted: each lost item is counted by one
    /// consumer. 0 for queues that don't [overwrite](crate::overwrite).
    fn lost(&self) -> u64 {
        0
    }

    /// One more handle of this side, if the queue may have several.
    ///
    /// `None` for the only consumer of a queue, and for handles behind `&mut` or in a `Box`. A
    /// [`BoxedConsumer`](crate::BoxedConsumer) can be cloned.
    fn try_clone(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Moves items into the front of `into` until it is full or the queue is empty, and returns how
    /// many that were.
    ///
    /// While the queue is [busy](TryPopError::Busy), the call looks again for about a microsecond.
    /// Fewer items than asked for mean that the queue is empty, closed, or still busy:
    /// [`try_pop`](Self::try_pop) says which.
    fn pop_slice(&mut self, into: &mut [Self::Item]) -> usize
    where
        Self::Item: Copy,
    {
        let mut retries = Retries::default();
        let mut done = 0;
        while done < into.len() {
            match self.try_pop() {
                Ok(item) => {
                    into[done] = item;
                    done += 1;
                }
                Err(error) if retries.again(error == TryPopError::Busy) => {}
                Err(_) => break,
            }
        }
        done
    }

    /// Pops items for as long as there are any, as an iterator.
    ///
    /// While the queue is [busy](TryPopError::Busy), the iterator looks again for about a
    /// microsecond. It ends when the queue is empty, closed, or still busy:
    /// [`try_pop`](Self::try_pop) says which.
    fn pop_iter(&mut self) -> PopIter<'_, Self>
    where
        Self: Sized,
    {
        PopIter(self)
    }
}

/// What a consumer does for its chunks: it lends items, and gives back the slots of taken items.
///
/// Implemented by each queue's only consumer; used through [`SingleConsumer`].
///
/// # Safety
///
/// Chunks move items out of what [`lend`](Self::lend) gives. So `lend` gives the oldest items of
/// the queue. They are initialised, and owned by the implementor. Items that were lent and then
/// [released](Self::release) are never read, dropped or lent again.
#[doc(hidden)]
pub unsafe trait LendItems: Consumer {
    /// Number of items that can be popped now without failing, counted up to `wanted`.
    fn filled_up_to(&mut self, wanted: usize) -> usize;

    /// Number of items [`lend`](Self::lend) can give at once, up to `wanted`.
    fn lendable(&mut self, wanted: usize) -> usize {
        self.filled_up_to(wanted)
    }

    /// The next `n` items in place, to be taken before [`release`](Self::release).
    ///
    /// # Safety
    ///
    /// `n` is at most the answer of the last call of [`lendable`](Self::lendable), less what has
    /// been released since, and nothing was popped since.
    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, Self::Item>;

    /// Gives the slots of the next `n` items back to the producer.
    ///
    /// # Safety
    ///
    /// `n` is at most the number lent last, and the first `n` of those items have been moved out or
    /// dropped.
    unsafe fn release(&mut self, n: usize);

    /// As [`lendable`](Self::lendable), after `lendable` has answered 0: finds the last items, or
    /// says why there are none.
    ///
    /// # Errors
    ///
    /// As [`try_pop`](Consumer::try_pop).
    fn look_again(&mut self, wanted: usize) -> Result<usize, TryPopError> {
        if !self.is_closed() {
            return Err(TryPopError::Empty);
        }
        // The last items may have been pushed between the look at the slots and the read of the
        // flag.
        match self.lendable(wanted) {
            0 => Err(TryPopError::Closed),
            len => Ok(len),
        }
    }
}

/// The only consumer of a queue. No other handle takes items, so this one can count and lend them.
///
/// For generic code: handles have these calls themselves.
pub trait SingleConsumer: LendItems {
    /// Number of items that can be popped now without failing, counted up to `wanted`.
    ///
    /// The answer is a lower bound: the producer may push more items at any moment. A small
    /// `wanted` may save a read of shared memory.
    fn available(&mut self, wanted: usize) -> usize {
        self.filled_up_to(wanted)
    }

    /// Lends up to `n` items in place, to be read or taken and then committed.
    ///
    /// The chunk has [`len`](ReadChunk::len) items: fewer than `n` if fewer are there, or if the
    /// run of items that the queue can lend at once is shorter. With `n` = 0 the chunk is empty.
    ///
    /// # Errors
    ///
    /// As [`try_pop`](Consumer::try_pop), if there is no item.
    fn read_chunk(&mut self, n: usize) -> Result<ReadChunk<'_, Self>, TryPopError>
    where
        Self: Sized,
    {
        let len = match self.lendable(n) {
            0 if n > 0 => self.look_again(n)?,
            len => len,
        };
        Ok(ReadChunk::new(self, len))
    }

    /// As [`read_chunk`](Self::read_chunk), of exactly `n` items.
    ///
    /// # Errors
    ///
    /// If fewer can be lent: their number, and whether producers can still push more.
    fn read_chunk_exact(&mut self, n: usize) -> Result<ReadChunk<'_, Self>, TooFew>
    where
        Self: Sized,
    {
        // Read before the look, so that the look finds all that was pushed before.
        let closed = self.is_closed();
        match self.lendable(n) {
            len if len < n => Err(TooFew { len, closed }),
            len => Ok(ReadChunk::new(self, len)),
        }
    }
}

impl<C: LendItems + ?Sized> SingleConsumer for C {}

/// Iterator of [`Consumer::pop_iter`].
#[derive(Debug)]
pub struct PopIter<'a, C>(&'a mut C);

impl<C: Consumer> Iterator for PopIter<'_, C> {
    type Item = C::Item;

    #[inline]
    fn next(&mut self) -> Option<C::Item> {
        let mut retries = Retries::default();
        loop {
            match self.0.try_pop() {
                Ok(item) => return Some(item),
                Err(error) if retries.again(error == TryPopError::Busy) => {}
                Err(_) => return None,
            }
        }
    }
}

/// [`Consumer::try_pop`] from an algorithm's own `pop`, which knows only empty.
///
/// The producer may have pushed between the first look and the drop of its handle. So if the
/// producer is gone, this looks for an item once more before the answer is `Closed`.
///
/// Always inlined: even a rare call that takes the handle by reference would force the compiler to
/// keep the handle in memory, instead of in registers, around every release store.
#[inline(always)]
pub(crate) fn try_pop_by<C: Consumer>(
    consumer: &mut C,
    pop: impl Fn(&mut C) -> Option<C::Item>,
) -> Result<C::Item, TryPopError> {
    let mut closed = false;
    loop {
        if let Some(item) = pop(consumer) {
            return Ok(item);
        }
        if closed {
            return Err(TryPopError::Closed);
        }
        closed = consumer.is_closed();
        if !closed {
            return Err(TryPopError::Empty);
        }
    }
}

/// The methods of an `impl Producer` or `impl Consumer` that a handle's [end](crate::region::End)
/// answers: the capacity, whether the other side is gone, and the memory. With `closed`, the handle
/// itself has the capacity. With `blocks`, slots come back in blocks.
macro_rules! answered_by {
    ($end:ident$($call:tt)?) => {
        #[inline]
        fn capacity(&self) -> usize {
            self.$end$($call)?.slots().len()
        }

        $crate::queue::answered_by!(closed: $end$($call)?);
    };
    (blocks: $end:ident$($call:tt)?) => {
        #[inline]
        fn capacity(&self) -> usize {
            self.$end$($call)?.slots().arrangement().promised()
        }

        fn slots(&self) -> usize {
            self.$end$($call)?.slots().len()
        }

        $crate::queue::answered_by!(closed: $end$($call)?);
    };
    (closed: $end:ident$($call:tt)?) => {
        #[inline]
        fn is_closed(&self) -> bool {
            self.$end$($call)?.peer_is_gone()
        }

        fn backing(&self) -> $crate::queue::Backing {
            self.$end$($call)?.backing()
        }
    };
    // The counts of an only producer, by its free slots.
    (lent: slots) => {
        fn len(&mut self) -> usize {
            let free = $crate::queue::LendSlots::free_up_to(self, usize::MAX);
            $crate::queue::Producer::slots(self) - free
        }

        fn is_full(&mut self) -> bool {
            $crate::queue::LendSlots::free_up_to(self, 1) == 0
        }
    };
    // The counts of an only consumer, by the items that it can take.
    (lent: items) => {
        fn len(&mut self) -> usize {
            $crate::queue::LendItems::filled_up_to(self, usize::MAX)
        }

        fn is_empty(&mut self) -> bool {
            $crate::queue::LendItems::filled_up_to(self, 1) == 0
        }
    };
    // By another handle.
    (handle: $handle:tt) => {
        #[inline]
        fn capacity(&self) -> usize {
            self.$handle.capacity()
        }

        fn slots(&self) -> usize {
            self.$handle.slots()
        }

        #[inline]
        fn is_closed(&self) -> bool {
            self.$handle.is_closed()
        }

        fn backing(&self) -> $crate::queue::Backing {
            self.$handle.backing()
        }
    };
}
pub(crate) use answered_by;
