//! Batches: runs of slots that a queue lends to its user.

use core::fmt;
use core::mem::MaybeUninit;
use core::ptr;

use super::error::TryPopError;
use super::handle::{SingleConsumer, SingleProducer};
use crate::spin::Retries;
use crate::unwind::drop_each;

/// A run of free slots. The second part is empty unless the run crosses the end of the ring.
pub type LentSlots<'a, T> = (&'a mut [MaybeUninit<T>], &'a mut [MaybeUninit<T>]);

/// A run of items. The second part is empty unless the run crosses the end of the ring.
pub type LentItems<'a, T> = (&'a mut [T], &'a mut [T]);

/// Free slots, lent by [`SingleProducer::write_chunk_uninit`].
///
/// Nothing is published until [`commit`](Self::commit) or one of the calls that fill the chunk.
/// Dropping the chunk instead leaves the queue as it was. Items already written are then forgotten,
/// not dropped, as with any `MaybeUninit`.
///
/// ```
/// use corelane::spsc;
///
/// let (mut tx, _rx) = spsc::chunk_queue::<u8>(8)?;
/// let mut chunk = tx.write_chunk_uninit(5).unwrap();
/// let (first, second) = chunk.as_mut_slices();
/// for (slot, byte) in first.iter_mut().chain(second).zip(*b"hey") {
///     slot.write(byte);
/// }
/// // SAFETY: three slots are written.
/// unsafe { chunk.commit(3) };
/// # Ok::<(), corelane::CapacityError>(())
/// ```
pub struct WriteChunkUninit<'a, P: SingleProducer> {
    producer: &'a mut P,
    len: usize,
}

impl<'a, P: SingleProducer> WriteChunkUninit<'a, P> {
    /// `len` slots, which `producer` has just said it can lend.
    pub(crate) fn new(producer: &'a mut P, len: usize) -> Self {
        Self { producer, len }
    }

    /// Number of slots in the chunk.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the chunk has no slot: only if the caller asked for none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The slots. The second slice is empty unless the run crosses the end of the ring. It is
    /// always empty in [mirrored](crate::Memory::Mirrored) memory.
    #[allow(clippy::type_complexity, reason = "the alias of this type is hidden")]
    pub fn as_mut_slices(&mut self) -> (&mut [MaybeUninit<P::Item>], &mut [MaybeUninit<P::Item>]) {
        // SAFETY: the producer said that it can lend `len` slots, and the chunk has borrowed the
        // producer mutably since.
        unsafe { self.producer.lend(self.len) }
    }

    /// Pushes the first `n` slots of the chunk.
    ///
    /// # Panics
    ///
    /// If `n` is more than [`len`](Self::len).
    ///
    /// # Safety
    ///
    /// The first `n` slots have been written.
    pub unsafe fn commit(self, n: usize) {
        assert!(n <= self.len, "commit of {n} slots, but the chunk has {}", self.len);
        publish_written(self.producer, n);
    }

    /// Writes items of `items` into the chunk, pushes them, and returns their number.
    ///
    /// If the iterator panics, the items that it gave before are pushed: no item is lost.
    pub fn fill_from_iter(mut self, items: impl IntoIterator<Item = P::Item>) -> usize {
        /// Publishes the written items, even when the iterator panics.
        struct Written<'a, P: SingleProducer>(&'a mut P, usize);
        impl<P: SingleProducer> Drop for Written<'_, P> {
            fn drop(&mut self) {
                publish_written(self.0, self.1);
            }
        }

        let (first, second) = self.as_mut_slices();
        let parts = [(first.as_mut_ptr(), first.len()), (second.as_mut_ptr(), second.len())];
        let mut written = Written(self.producer, 0);
        let mut items = items.into_iter();
        'slots: for (base, len) in parts {
            for i in 0..len {
                let Some(item) = items.next() else { break 'slots };
                // SAFETY: `i` is inside the lent slice, which nothing else accesses until
                // `publish`.
                unsafe { (*base.add(i)).write(item) };
                written.1 += 1;
            }
        }
        written.1
    }

    /// Copies items from the front of `from`, pushes them, and returns their number.
    pub fn copy_from_slice(mut self, from: &[P::Item]) -> usize
    where
        P::Item: Copy,
    {
        let n = from.len().min(self.len);
        let (first, second) = self.as_mut_slices();
        let (head, tail) = from[..n].split_at(n.min(first.len()));
        copy_into(head, first);
        copy_into(tail, second);
        // SAFETY: the first `n` slots have just been written.
        unsafe { self.commit(n) };
        n
    }
}

/// Copies `from` to the front of `to`.
fn copy_into<T: Copy>(from: &[T], to: &mut [MaybeUninit<T>]) {
    let to = &mut to[..from.len()];
    // SAFETY: both have `from.len()` elements, and a mutable slice overlaps no other.
    unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to.as_mut_ptr().cast(), from.len()) };
}

impl<P: SingleProducer> fmt::Debug for WriteChunkUninit<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteChunkUninit").field("len", &self.len).finish_non_exhaustive()
    }
}

/// Free slots that hold default items, lent by [`SingleProducer::write_chunk`].
///
/// Nothing is published until [`commit`](Self::commit). Dropping the chunk instead leaves the queue
/// as it was.
///
/// ```
/// use corelane::spsc;
///
/// let (mut tx, mut rx) = spsc::chunk_queue::<u8>(8)?;
/// let mut chunk = tx.write_chunk(3).unwrap();
/// chunk.as_mut_slices().0.copy_from_slice(b"hey");
/// chunk.commit_all();
/// assert_eq!(rx.pop_iter().collect::<Vec<_>>(), b"hey");
/// # Ok::<(), corelane::CapacityError>(())
/// ```
#[derive(Debug)]
pub struct WriteChunk<'a, P: SingleProducer>(WriteChunkUninit<'a, P>);

impl<'a, P: SingleProducer<Item: Default + Copy>> WriteChunk<'a, P> {
    /// `chunk`, filled with default items.
    pub(crate) fn new(mut chunk: WriteChunkUninit<'a, P>) -> Self {
        let (first, second) = chunk.as_mut_slices();
        for slot in first.iter_mut().chain(second) {
            slot.write(P::Item::default());
        }
        Self(chunk)
    }

    /// Number of slots in the chunk.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the chunk has no slot: only if the caller asked for none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The items. The second slice is empty unless the run crosses the end of the ring. It is
    /// always empty in [mirrored](crate::Memory::Mirrored) memory.
    pub fn as_mut_slices(&mut self) -> (&mut [P::Item], &mut [P::Item]) {
        let (first, second) = self.0.as_mut_slices();
        // SAFETY: `new` has written all slots of the chunk, and they have been lent to the chunk
        // since.
        unsafe {
            (&mut *(ptr::from_mut(first) as *mut [_]), &mut *(ptr::from_mut(second) as *mut [_]))
        }
    }

    /// Pushes the first `n` items of the chunk.
    ///
    /// # Panics
    ///
    /// If `n` is more than [`len`](Self::len).
    pub fn commit(self, n: usize) {
        // SAFETY: all slots are written.
        unsafe { self.0.commit(n) };
    }

    /// Pushes all items of the chunk.
    pub fn commit_all(self) {
        let n = self.len();
        self.commit(n);
    }
}

/// Items in place, lent by [`SingleConsumer::read_chunk`].
///
/// Nothing is popped until [`commit`](Self::commit) or one of the calls that take the items.
/// Dropping the chunk instead leaves the queue as it was.
///
/// ```
/// use corelane::spsc;
///
/// let (mut tx, mut rx) = spsc::chunk_queue::<u64>(8)?;
/// tx.push_slice(&[1, 2, 3, 4]);
/// let chunk = rx.read_chunk(3).unwrap();
/// assert_eq!(chunk.as_slices().0, [1, 2, 3]);
/// chunk.commit(2);
/// assert_eq!(rx.try_pop(), Ok(3));
/// # Ok::<(), corelane::CapacityError>(())
/// ```
pub struct ReadChunk<'a, C: SingleConsumer> {
    consumer: &'a mut C,
    first: *mut [C::Item],
    second: *mut [C::Item],
}

impl<'a, C: SingleConsumer> ReadChunk<'a, C> {
    /// `len` items, which `consumer` has just said it can lend.
    pub(crate) fn new(consumer: &'a mut C, len: usize) -> Self {
        // SAFETY: `lendable` has just answered `len`, and the chunk borrows the consumer from here
        // on.
        let (first, second) = unsafe { consumer.lend(len) };
        let (first, second) = (ptr::from_mut(first), ptr::from_mut(second));
        Self { consumer, first, second }
    }

    /// Number of items in the chunk.
    pub fn len(&self) -> usize {
        self.first.len() + self.second.len()
    }

    /// Whether the chunk has no item: only if the caller asked for none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items. The second slice is empty unless the run crosses the end of the ring. It is
    /// always empty in [mirrored](crate::Memory::Mirrored) memory.
    pub fn as_slices(&self) -> (&[C::Item], &[C::Item]) {
        // SAFETY: both slices were lent as items of this chunk, and are not released while it
        // lives.
        unsafe { (&*self.first, &*self.second) }
    }

    /// The items, to be changed in place.
    pub fn as_mut_slices(&mut self) -> (&mut [C::Item], &mut [C::Item]) {
        // SAFETY: as in `as_slices`; the two runs do not overlap and the chunk is borrowed mutably.
        unsafe { (&mut *self.first, &mut *self.second) }
    }

    /// Drops the first `n` items of the chunk and gives their slots back.
    ///
    /// If a destructor panics, the others of the `n` still run.
    ///
    /// # Panics
    ///
    /// If `n` is more than [`len`](Self::len).
    pub fn commit(self, n: usize) {
        assert!(n <= self.len(), "commit of {n} items, but the chunk has {}", self.len());
        /// Gives the slots back, even when a destructor panics.
        struct Release<'a, C: SingleConsumer>(&'a mut C, usize);
        impl<C: SingleConsumer> Drop for Release<'_, C> {
            fn drop(&mut self) {
                release_taken(self.0, self.1);
            }
        }

        let Self { consumer, first, second } = self;
        let _release = Release(consumer, n);
        let mut items = each(first).chain(each(second)).take(n);
        // SAFETY: these are the items of the chunk, and each is moved out once.
        drop_each(|| items.next().map(|item| unsafe { item.read() }));
    }

    /// Drops all items of the chunk and gives their slots back.
    pub fn commit_all(self) {
        let n = self.len();
        self.commit(n);
    }

    /// Moves items into the front of `into`, and returns their number. The other items stay in the
    /// queue.
    pub fn copy_to_slice(self, into: &mut [C::Item]) -> usize
    where
        C::Item: Copy,
    {
        let n = into.len().min(self.len());
        let (first, second) = self.as_slices();
        let in_first = n.min(first.len());
        let (head, tail) = into[..n].split_at_mut(in_first);
        head.copy_from_slice(&first[..in_first]);
        tail.copy_from_slice(&second[..n - in_first]);
        release_taken(self.consumer, n);
        n
    }
}

impl<C: SingleConsumer> fmt::Debug for ReadChunk<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadChunk").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<'a, C: SingleConsumer> IntoIterator for ReadChunk<'a, C> {
    type Item = C::Item;
    type IntoIter = ReadChunkIntoIter<'a, C>;

    /// Moves the items out one by one, each with its slot. The iterator's drop drops the items that
    /// are left.
    ///
    /// A slot is given back as soon as its item is out, because the iterator may be forgotten. To
    /// give all slots back together, use the items in place and [`commit`](ReadChunk::commit).
    fn into_iter(self) -> ReadChunkIntoIter<'a, C> {
        let left = self.len();
        ReadChunkIntoIter { consumer: self.consumer, left }
    }
}

/// Iterator over the items of a [`ReadChunk`].
#[derive(Debug)]
pub struct ReadChunkIntoIter<'a, C: SingleConsumer> {
    consumer: &'a mut C,
    /// Items that are lent and not yet taken.
    left: usize,
}

impl<C: SingleConsumer> Iterator for ReadChunkIntoIter<'_, C> {
    type Item = C::Item;

    #[inline]
    fn next(&mut self) -> Option<C::Item> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: one of the lent items is left. It is moved out and released, so it occurs only
        // once.
        unsafe {
            let item = ptr::read(&self.consumer.lend(1).0[0]);
            self.consumer.release(1);
            Some(item)
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<C: SingleConsumer> ExactSizeIterator for ReadChunkIntoIter<'_, C> {}

impl<C: SingleConsumer> Drop for ReadChunkIntoIter<'_, C> {
    fn drop(&mut self) {
        drop_each(|| self.next());
    }
}

/// `push_slice` for queues that publish many items at once.
#[inline]
pub(crate) fn push_slice<P: SingleProducer<Item: Copy>>(
    producer: &mut P,
    items: &[P::Item],
) -> usize {
    let mut retries = Retries::default();
    let mut done = 0;
    while done < items.len() {
        match producer.write_chunk_uninit(items.len() - done) {
            Ok(chunk) => done += chunk.copy_from_slice(&items[done..]),
            Err(error) if retries.again(error.is_busy()) => {}
            Err(_) => break,
        }
    }
    done
}

/// `pop_slice` for queues that free many slots at once.
#[inline]
pub(crate) fn pop_slice<C: SingleConsumer<Item: Copy>>(
    consumer: &mut C,
    into: &mut [C::Item],
) -> usize {
    let mut retries = Retries::default();
    let mut done = 0;
    while done < into.len() {
        match consumer.read_chunk(into.len() - done) {
            Ok(chunk) => done += chunk.copy_to_slice(&mut into[done..]),
            Err(error) if retries.again(error == TryPopError::Busy) => {}
            Err(_) => break,
        }
    }
    done
}

/// Pointers to the items of a slice.
fn each<T>(slice: *mut [T]) -> impl Iterator<Item = *mut T> {
    // SAFETY: `i` is inside the slice.
    (0..slice.len()).map(move |i| unsafe { slice.cast::<T>().add(i) })
}

/// Publishes the first `n` lent slots, which have been written.
fn publish_written<P: SingleProducer>(producer: &mut P, n: usize) {
    // SAFETY: `n` slots are lent and written. Lending them again costs nothing. For a model checker
    // it is the last access before they are published.
    unsafe {
        let _ = producer.lend(n);
        producer.publish(n);
    }
}

/// Releases the first `n` lent slots, whose items have been taken.
fn release_taken<C: SingleConsumer>(consumer: &mut C, n: usize) {
    // SAFETY: `n` items are lent and moved out. As in `publish_written`, lending is the last
    // access.
    unsafe {
        let _ = consumer.lend(n);
        consumer.release(n);
    }
}
