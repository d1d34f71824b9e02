//! The two sides of a queue: what every algorithm implements.

use super::chunk::{LentItems, LentSlots, ReadChunk, WriteChunk, WriteChunkUninit};
use super::config::Backing;
use super::error::{TooFew, TryPopError, TryPushError, full};
use super::looks::Looks;

/// A sending side of a queue.
///
/// A handle is the private half of the algorithm: cached indices and batch positions live in it,
/// never in shared memory. It can be sent to another thread. Where there may be several producers it can
/// be cloned; where there is only one it is a [`SingleProducer`], and can't.
///
/// No call is left in its middle by a panic, but by an item's or an iterator's own, for which it is prepared. A thread that
/// never comes back, or forgets its handle, counts as there: the queue isn't closed by it. Its page says what else that means.
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
    /// What the queue carries.
    type Item;

    /// Appends `item`.
    ///
    /// # Errors
    ///
    /// [`Full`](TryPushError::Full) if no slot was found free, [`Busy`](TryPushError::Busy) if another
    /// thread is about to free one, or in the way as its queue's page says,
    /// [`Closed`](TryPushError::Closed) if no slot was found free and all
    /// consumers are gone (what they freed as their last deed may let a later push succeed). All give the
    /// item back. While there is room, and nobody in the way, items are accepted even though nobody will pop them: looking for
    /// consumers on every push would cost a cache miss when they leave and a load every time before.
    fn try_push(&mut self, item: Self::Item) -> Result<(), TryPushError<Self::Item>>;

    /// Items that the queue promises to take: while fewer are inside, a push doesn't say full. `usize::MAX` if it is never
    /// full.
    ///
    /// At least what was asked for when the queue was made; each queue's page says how it is
    /// rounded.
    fn capacity(&self) -> usize;

    /// Most items that can be inside: [`capacity`](Self::capacity), and what the algorithm needs besides.
    ///
    /// A queue that gives slots back in groups, to touch shared memory less often, has up to a group more than it
    /// promises. For pools: of what items point to, so much can be in the queue.
    fn slots(&self) -> usize {
        self.capacity()
    }

    /// Whether all consumers have been dropped.
    ///
    /// `true` also means that all they did before happens before this call returns.
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

    /// Makes every pushed item visible to the consumer.
    ///
    /// Only queues with delayed publication ([`mcring`](crate::mc_ring)) have anything to do;
    /// for all others an item is visible when `try_push` returns, or when other threads are done with
    /// pushes that they had begun.
    fn flush(&mut self) {}

    /// Appends copies of as many leading `items` as fit, and returns how many that were.
    ///
    /// Where the algorithm can, many are published at once. Items of other producers may come between
    /// them. While the queue is [busy](TryPushError::Busy), the call looks again for about a microsecond. Fewer items than given
    /// mean that the queue is full, closed, or still busy: [`try_push`](Self::try_push) says which.
    fn push_slice(&mut self, items: &[Self::Item]) -> usize
    where
        Self::Item: Copy,
    {
        let mut looks = Looks::default();
        let mut done = 0;
        while done < items.len() {
            match self.try_push(items[done]) {
                Ok(()) => done += 1,
                Err(error) if looks.again(error.is_busy()) => {}
                Err(_) => break,
            }
        }
        done
    }
}

/// What a producer does for its chunks: it lends slots, and publishes what was written into them.
///
/// Implemented by each queue's only producer; used through [`SingleProducer`].
#[doc(hidden)]
pub trait LendSlots: Producer {
    /// Number of items that can be pushed now without failing, counted up to `wanted`.
    fn free_up_to(&mut self, wanted: usize) -> usize;

    /// Number of slots [`lend`](Self::lend) can give at once, up to `wanted`.
    ///
    /// Less than [`free_up_to`](Self::free_up_to) only for queues that lend a private buffer instead of their slots, or those of one
    /// ring of several.
    fn lendable(&mut self, wanted: usize) -> usize {
        self.free_up_to(wanted)
    }

    /// The slots of the next `n` items, to be written before [`publish`](Self::publish).
    ///
    /// # Safety
    ///
    /// `n` is at most what the last call of [`lendable`](Self::lendable) answered, and nothing was
    /// pushed since.
    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, Self::Item>;

    /// Pushes the first `n` items written into the lent slots.
    ///
    /// # Safety
    ///
    /// `n` is at most what was lent last, and the first `n` of those slots hold items.
    unsafe fn publish(&mut self, n: usize);

    /// Why no slot can be lent, after [`lendable`](Self::lendable) has answered 0.
    fn refusal(&self) -> TryPushError<()> {
        full(self.is_closed(), ())
    }
}

/// The only producer of a queue. It alone fills slots, so it can count and lend them.
///
/// For generic code: handles have these calls themselves.
///
/// # Batches
///
/// [`write_chunk_uninit`](Self::write_chunk_uninit) lends free slots, to be filled in place;
/// [`push_iter`](Self::push_iter) is built on it. One batch is published at once where the algorithm can,
/// otherwise item by item in one tight loop.
pub trait SingleProducer: LendSlots {
    /// Number of items that can be pushed now without failing, counted up to `wanted`.
    ///
    /// The answer is a lower bound: the consumer may free more at any moment. A small `wanted` may save
    /// a look at shared memory.
    fn free_slots(&mut self, wanted: usize) -> usize {
        self.free_up_to(wanted)
    }

    /// Whether a push would fail now.
    ///
    /// `false` is a promise (only this handle fills slots); `true` may be outdated at once.
    fn is_full(&mut self) -> bool {
        self.free_up_to(1) == 0
    }

    /// Lends up to `n` free slots, to be filled in place and then committed.
    ///
    /// The chunk has [`len`](WriteChunkUninit::len) slots: fewer than `n` if fewer are free, or if the
    /// queue lends a private buffer and that is smaller. Asking for 0 gives an empty chunk.
    ///
    /// # Errors
    ///
    /// As [`try_push`](Producer::try_push), if not one slot is free.
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

    /// As [`write_chunk_uninit`](Self::write_chunk_uninit), of slots that hold default items: no `unsafe` is needed.
    ///
    /// # Errors
    ///
    /// As [`try_push`](Producer::try_push), if not one slot is free.
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
    /// If fewer can be lent, how many that are.
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

    /// Appends items of `items` until it ends or the queue is full, and returns how many that were.
    ///
    /// No item is taken from the iterator that has no slot: pass `iter.by_ref()` to go on later.
    fn push_iter<I: IntoIterator<Item = Self::Item>>(&mut self, items: I) -> usize
    where
        Self: Sized,
    {
        let mut items = items.into_iter();
        let mut looks = Looks::default();
        let mut done = 0;
        loop {
            // An iterator that says it is short saves looking for slots that it would not fill.
            let wanted = items.size_hint().1.unwrap_or(usize::MAX);
            let chunk = match self.write_chunk_uninit(wanted) {
                Ok(chunk) => chunk,
                Err(error) if looks.again(error.is_busy()) => continue,
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

impl<P: LendSlots + ?Sized> SingleProducer for P {}

/// A receiving side of a queue.
///
/// Where there may be several consumers it can be cloned; where there is only one it is a
/// [`SingleConsumer`], and can't.
///
/// The trait can be a trait object, and `&mut C` and `Box<C>` implement it.
pub trait Consumer {
    /// What the queue carries.
    type Item;

    /// Removes the oldest item.
    ///
    /// # Errors
    ///
    /// [`Empty`](TryPopError::Empty) if there is none, [`Busy`](TryPopError::Busy) if another thread's push,
    /// or pop, is unfinished and in the way of what may be finished, [`Closed`](TryPopError::Closed) if there is
    /// none and none will come because all producers are gone. All that was pushed is popped before
    /// `Closed` is seen.
    fn try_pop(&mut self) -> Result<Self::Item, TryPopError>;

    /// Items that the queue promises to take: see [`Producer::capacity`].
    fn capacity(&self) -> usize;

    /// Most items that can be inside: see [`Producer::slots`].
    fn slots(&self) -> usize {
        self.capacity()
    }

    /// Whether all producers have been dropped. Items may still be waiting.
    ///
    /// `true` also means that all they did before happens before this call returns.
    fn is_closed(&self) -> bool;

    /// What kind of memory the queue lives in.
    fn backing(&self) -> Backing {
        Backing::Heap
    }

    /// Items that were overwritten before this handle could pop them: only queues that
    /// [overwrite](crate::overwrite) have any.
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
    /// While the queue is [busy](TryPopError::Busy), the call looks again for about a microsecond. Fewer items than asked for
    /// mean that the queue is empty, closed, or still busy: [`try_pop`](Self::try_pop) says which.
    fn pop_slice(&mut self, into: &mut [Self::Item]) -> usize
    where
        Self::Item: Copy,
    {
        let mut looks = Looks::default();
        let mut done = 0;
        while done < into.len() {
            match self.try_pop() {
                Ok(item) => {
                    into[done] = item;
                    done += 1;
                }
                Err(error) if looks.again(error == TryPopError::Busy) => {}
                Err(_) => break,
            }
        }
        done
    }

    /// Pops items for as long as there are any, as an iterator.
    ///
    /// While the queue is [busy](TryPopError::Busy), the iterator looks again for about a microsecond. It ends when the queue is
    /// empty, closed, or still busy: [`try_pop`](Self::try_pop) says which.
    fn pop_iter(&mut self) -> PopIter<'_, Self>
    where
        Self: Sized,
    {
        PopIter(self)
    }
}

/// What a consumer does for its chunks: it lends items, and gives back the slots of those that were taken.
///
/// Implemented by each queue's only consumer; used through [`SingleConsumer`].
///
/// # Safety
///
/// Chunks move items out of what [`lend`](Self::lend) gives. So it gives the oldest items of the
/// queue, which are initialised and the implementor's own; and items that were lent and then
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
    /// `n` is at most what the last call of [`lendable`](Self::lendable) answered, less what has been
    /// released since, and nothing was popped since.
    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, Self::Item>;

    /// Gives the slots of the next `n` items back to the producer.
    ///
    /// # Safety
    ///
    /// `n` is at most what was lent last, and the first `n` of those items have been moved out or
    /// dropped.
    unsafe fn release(&mut self, n: usize);

    /// As [`lendable`](Self::lendable), after that has answered 0: says why nothing is there, or finds the last items.
    ///
    /// # Errors
    ///
    /// As [`try_pop`](Consumer::try_pop).
    fn look_again(&mut self, wanted: usize) -> Result<usize, TryPopError> {
        if !self.is_closed() {
            return Err(TryPopError::Empty);
        }
        // The last items may have come between the look at the slots and the look at the flag.
        match self.lendable(wanted) {
            0 => Err(TryPopError::Closed),
            len => Ok(len),
        }
    }
}

/// The only consumer of a queue. It alone takes items, so it can count and lend them.
///
/// For generic code: handles have these calls themselves.
pub trait SingleConsumer: LendItems {
    /// Number of items that can be popped now without failing, counted up to `wanted`.
    ///
    /// The answer is a lower bound: the producer may push more at any moment. A small `wanted` may save
    /// a look at shared memory.
    fn available(&mut self, wanted: usize) -> usize {
        self.filled_up_to(wanted)
    }

    /// Number of items that are visible now. Queues that are never full count up to 65,536.
    fn len(&mut self) -> usize {
        self.filled_up_to(usize::MAX)
    }

    /// Whether a pop would fail now.
    ///
    /// `false` is a promise (only this handle takes items); `true` may be outdated at once.
    fn is_empty(&mut self) -> bool {
        self.filled_up_to(1) == 0
    }

    /// Lends up to `n` items in place, to be read or taken and then committed.
    ///
    /// The chunk has [`len`](ReadChunk::len) items: fewer than `n` if fewer are there, or if the queue
    /// lends a private buffer and that is smaller. Asking for 0 gives an empty chunk.
    ///
    /// # Errors
    ///
    /// As [`try_pop`](Consumer::try_pop), if not one item is there.
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
    /// If fewer can be lent, how many that are, and whether more can still come.
    fn read_chunk_exact(&mut self, n: usize) -> Result<ReadChunk<'_, Self>, TooFew>
    where
        Self: Sized,
    {
        // Asked before the look at the items, which finds all that was pushed before.
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
        let mut looks = Looks::default();
        loop {
            match self.0.try_pop() {
                Ok(item) => return Some(item),
                Err(error) if looks.again(error == TryPopError::Busy) => {}
                Err(_) => return None,
            }
        }
    }
}

/// [`Consumer::try_pop`] from an algorithm's own `pop`, which knows only empty.
///
/// The producer may have pushed between the first look and its end. So if it is gone, what it pushed
/// is looked for once more before the answer is `Closed`.
///
/// Always inlined: a call that takes the handle by reference, however rarely made, would force the
/// compiler to keep the handle in memory instead of in registers around every release store.
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

/// What a handle's [end](crate::region::End) answers, inside of an `impl Producer` or `impl Consumer`: how much fits,
/// whether the other side is gone, and where the queue lives. With `closed`, the handle says itself how much fits; with
/// `blocks`, slots come back in blocks.
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
