//! The calls of handles as inherent methods, so that users need import no trait.

/// Inherent methods of a handle for items of a type, and its `Debug`: `[bounds] Handle:
/// single_producer of Item;`.
macro_rules! handles {
    ($([$($bounds:tt)*] $handle:ty: $side:ident of $item:ty;)*) => {$(
        impl<$($bounds)*> $handle {
            $crate::queue::handles!(@$side $item);
        }

        $crate::queue::handles!(@debug [$($bounds)*] $handle);
    )*};
    (@debug [$($bounds:tt)*] $handle:ty) => {
        impl<$($bounds)*> core::fmt::Debug for $handle {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($handle)).field("capacity", &self.capacity()).finish_non_exhaustive()
            }
        }
    };
    (@producer $item:ty) => {
        /// Appends `item`.
        ///
        /// # Errors
        ///
        /// [`Full`](crate::TryPushError::Full) if there is no room,
        /// [`Busy`](crate::TryPushError::Busy) if an unfinished call of another thread is in the
        /// way, [`Closed`](crate::TryPushError::Closed) if there is no room and all consumers are
        /// gone. All errors give the item back. More in
        /// [`Producer::try_push`](crate::Producer::try_push).
        #[inline(always)] // a call would cost more than the push itself
        pub fn try_push(&mut self, item: $item) -> Result<(), $crate::TryPushError<$item>> {
            $crate::Producer::try_push(self, item)
        }

        /// Appends copies of as many leading `items` as fit, and returns their number.
        ///
        /// Where the algorithm can, many are published at once. Items of other producers may come
        /// between them. Fewer items than given mean that the queue is full, closed, or has been
        /// busy for about a microsecond: [`try_push`](Self::try_push) says which.
        #[inline]
        #[must_use = "the other items were not pushed"]
        pub fn push_slice(&mut self, items: &[$item]) -> usize
        where
            $item: Copy,
        {
            $crate::Producer::push_slice(self, items)
        }

        /// Makes every pushed item visible to consumers. Only queues whose page says that
        /// publication is delayed need it.
        #[inline]
        pub fn flush(&mut self) {
            $crate::Producer::flush(self);
        }

        /// Whether all consumers have been dropped.
        ///
        /// `true` also means that all that the dropped handles did happens before this call
        /// returns.
        #[inline]
        pub fn is_closed(&self) -> bool {
            $crate::Producer::is_closed(self)
        }

        /// Number of items inside: a snapshot, which other handles may make outdated at once.
        ///
        /// Popped items count until their slots have come back:
        /// [`Producer::len`](crate::Producer::len) says how exact the number is.
        #[inline]
        pub fn len(&mut self) -> usize {
            $crate::Producer::len(self)
        }

        /// Whether no item is inside, as far as [`len`](Self::len) counts.
        #[inline]
        pub fn is_empty(&mut self) -> bool {
            $crate::Producer::is_empty(self)
        }

        /// Whether a push may find no room.
        ///
        /// `false`: there was room, and there still is if this is the only producer. `true` may be
        /// outdated at once.
        #[inline]
        pub fn is_full(&mut self) -> bool {
            $crate::Producer::is_full(self)
        }

        $crate::queue::handles!(@both Producer);
    };
    (@consumer $item:ty) => {
        /// Removes the oldest item.
        ///
        /// # Errors
        ///
        /// [`Empty`](crate::TryPopError::Empty) if there is no item,
        /// [`Busy`](crate::TryPopError::Busy) if an unfinished call of another thread is in the
        /// way, [`Closed`](crate::TryPopError::Closed) if there is no item and all producers are
        /// gone. More in [`Consumer::try_pop`](crate::Consumer::try_pop).
        #[inline(always)] // a call would cost more than the pop itself
        pub fn try_pop(&mut self) -> Result<$item, $crate::TryPopError> {
            $crate::Consumer::try_pop(self)
        }

        /// Moves items into the front of `into` until it is full or the queue is empty, and returns
        /// how many that were.
        ///
        /// Fewer items than asked for mean that the queue is empty, closed, or has been busy for
        /// about a microsecond: [`try_pop`](Self::try_pop) says which.
        #[inline]
        #[must_use = "only so many places hold new items"]
        pub fn pop_slice(&mut self, into: &mut [$item]) -> usize
        where
            $item: Copy,
        {
            $crate::Consumer::pop_slice(self, into)
        }

        /// Pops items for as long as there are any, as an iterator.
        ///
        /// It ends when the queue is empty, closed, or has been busy for about a microsecond:
        /// [`try_pop`](Self::try_pop) says which.
        #[inline]
        pub fn pop_iter(&mut self) -> $crate::PopIter<'_, Self> {
            $crate::Consumer::pop_iter(self)
        }

        /// Whether all producers have been dropped. Items may still be waiting.
        ///
        /// `true` also means that all that the dropped handles did happens before this call
        /// returns.
        #[inline]
        pub fn is_closed(&self) -> bool {
            $crate::Consumer::is_closed(self)
        }

        /// Number of items that are visible: a snapshot, which other handles may make outdated at
        /// once.
        ///
        /// [`Consumer::len`](crate::Consumer::len) says how exact the number is.
        #[inline]
        pub fn len(&mut self) -> usize {
            $crate::Consumer::len(self)
        }

        /// Whether a pop may find no item.
        ///
        /// `false`: an item was there, and still is if this is the only consumer. `true` may be
        /// outdated at once.
        #[inline]
        pub fn is_empty(&mut self) -> bool {
            $crate::Consumer::is_empty(self)
        }

        /// Whether at least [`capacity`](Self::capacity) items are inside, as far as
        /// [`len`](Self::len) counts.
        #[inline]
        pub fn is_full(&mut self) -> bool {
            $crate::Consumer::is_full(self)
        }

        $crate::queue::handles!(@both Consumer);
    };
    (@both $side:ident) => {
        /// Items that the queue always has room for; `usize::MAX` if it is never full.
        #[inline]
        pub fn capacity(&self) -> usize {
            $crate::$side::capacity(self)
        }

        /// Most items that can be inside: [`capacity`](Self::capacity), and the slots that the
        /// algorithm needs besides.
        #[inline]
        pub fn slots(&self) -> usize {
            $crate::$side::slots(self)
        }

        /// What kind of memory the queue lives in.
        pub fn backing(&self) -> $crate::Backing {
            $crate::$side::backing(self)
        }
    };
    (@single_producer $item:ty) => {
        $crate::queue::handles!(@producer $item);
        $crate::queue::handles!(@lend_slots $item);
    };
    (@lend_slots $item:ty) => {
        /// Number of items that can be pushed now without failing, counted up to `wanted`.
        ///
        /// The consumer may free more slots at any moment. A small `wanted` may save a read of
        /// shared memory.
        #[inline]
        pub fn free_slots(&mut self, wanted: usize) -> usize {
            $crate::SingleProducer::free_slots(self, wanted)
        }

        /// Lends up to `n` free slots, to be filled in place and then committed; fewer if fewer can
        /// be lent.
        ///
        /// # Errors
        ///
        /// As [`try_push`](Self::try_push), if no slot can be lent.
        #[inline]
        pub fn write_chunk_uninit(
            &mut self,
            n: usize,
        ) -> Result<$crate::WriteChunkUninit<'_, Self>, $crate::TryPushError<()>> {
            $crate::SingleProducer::write_chunk_uninit(self, n)
        }

        /// As [`write_chunk_uninit`](Self::write_chunk_uninit), of slots that hold default items:
        /// no `unsafe` is needed.
        ///
        /// # Errors
        ///
        /// As [`try_push`](Self::try_push), if no slot can be lent.
        #[inline]
        pub fn write_chunk(
            &mut self,
            n: usize,
        ) -> Result<$crate::WriteChunk<'_, Self>, $crate::TryPushError<()>>
        where
            $item: Default + Copy,
        {
            $crate::SingleProducer::write_chunk(self, n)
        }

        /// As [`write_chunk`](Self::write_chunk), of exactly `n` slots.
        ///
        /// # Errors
        ///
        /// If fewer can be lent: their number.
        #[inline]
        pub fn write_chunk_exact(
            &mut self,
            n: usize,
        ) -> Result<$crate::WriteChunk<'_, Self>, $crate::TooFew>
        where
            $item: Default + Copy,
        {
            $crate::SingleProducer::write_chunk_exact(self, n)
        }

        /// Appends items of `items` until the iterator ends or the queue is full, and returns their
        /// number.
        ///
        /// The iterator gives no item for which there is no slot: pass `iter.by_ref()` to go on
        /// later.
        #[inline]
        #[must_use = "the other items were not pushed"]
        pub fn push_iter<I: IntoIterator<Item = $item>>(&mut self, items: I) -> usize {
            $crate::SingleProducer::push_iter(self, items)
        }
    };
    (@single_consumer $item:ty) => {
        $crate::queue::handles!(@consumer $item);
        $crate::queue::handles!(@lend_items $item);
    };
    (@lend_items $item:ty) => {
        /// Number of items that can be popped now without failing, counted up to `wanted`.
        ///
        /// The producer may push more items at any moment. A small `wanted` may save a read of
        /// shared memory.
        #[inline]
        pub fn available(&mut self, wanted: usize) -> usize {
            $crate::SingleConsumer::available(self, wanted)
        }

        /// Lends up to `n` items in place, to be read or taken and then committed; fewer if fewer
        /// can be lent.
        ///
        /// # Errors
        ///
        /// As [`try_pop`](Self::try_pop), if no item can be lent.
        #[inline]
        pub fn read_chunk(
            &mut self,
            n: usize,
        ) -> Result<$crate::ReadChunk<'_, Self>, $crate::TryPopError> {
            $crate::SingleConsumer::read_chunk(self, n)
        }

        /// As [`read_chunk`](Self::read_chunk), of exactly `n` items.
        ///
        /// # Errors
        ///
        /// If fewer can be lent: their number, and whether producers can still push more.
        #[inline]
        pub fn read_chunk_exact(
            &mut self,
            n: usize,
        ) -> Result<$crate::ReadChunk<'_, Self>, $crate::TooFew> {
            $crate::SingleConsumer::read_chunk_exact(self, n)
        }
    };
}
pub(crate) use handles;
