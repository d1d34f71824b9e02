// Above 500 lines: one test for each known bug that a ring can have.

//! A plain ring with bugs that can be switched on. All bugs are in one file because they share one
//! ring.
//!
//! Slots are locked and handles lend private buffers, so that no bug is undefined behaviour: an
//! item that would be corrupt in a real ring is lost, doubled or out of order here.

use std::collections::VecDeque;
use std::hint::black_box;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, ThreadId};
use std::time::Duration;

use corelane::{
    Built, CapacityError, Config, Consumer, Info, LendItems, LendSlots, LentItems, LentSlots,
    Producer, TryPopError, TryPushError,
};
use corelane_conformance::Single;

/// The bug of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// None.
    Nothing,
    /// A destructor's panic skips the call that would free the chunk's slots.
    NoReleaseOnUnwind,
    /// A destructor's panic ends the loop that drops the items left in the queue.
    NoTeardownOnUnwind,
    /// A handle takes an old view for a new one if 8 bits of the counter are the same again.
    ViewOf8Bits,
    /// The same with 16 bits.
    ViewOf16Bits,
    /// The number of slots is rounded up, and may overflow, before it is compared.
    RoundingWraps,
    /// The size of all slots is computed without a check for overflow.
    BytesWrap,
    /// Counters of 8 bits, also in a ring of 256 slots.
    CountersOf8Bits,
    /// Counters of 16 bits, also in a ring of 65536 slots.
    CountersOf16Bits,
    /// A side that is dropped looks for the other side before it says that it is gone.
    LooksBeforeItGoes,
    /// Observers subtract indices instead of counters.
    SubtractsIndices,
    /// Observers subtract as if counters never wrapped.
    SubtractsSaturating,
    /// Items that are pushed between the look for an item and the look for the producer are not
    /// looked for.
    ClosedAfterOneLook,
    /// The producer refreshes its copy of the consumer's counter, but answers from the old copy.
    FullByOldCopy,
    /// The consumer refreshes its copy of the producer's counter, but answers from the old copy.
    EmptyByOldCopy,
    /// Other threads see a completed push only together with the next push.
    StaysInStoreBuffer,
    /// The producer's observer loads the consumer's counter before the previous operation.
    LoadsReadEarly,
    /// The consumer's observer loads the producer's counter before the previous operation.
    LoadsWriteEarly,
    /// A batch moves at least one item, even if it is empty.
    ZeroIsOne,
    /// A batch is longer than the private buffer.
    OverrunsBuffer,
    /// The producer takes slots for free until an item has been written into them.
    FirstLapUnguarded,
    /// Items are counted by dividing a distance in bytes.
    CountsBytes,
    /// The slots are built on the stack and then moved.
    BuildsOnStack,
    /// The region is not freed.
    KeepsMemory,
    /// A pop waits for a producer that is in the middle of a batch.
    WaitsForProducer,
    /// A push waits for a consumer that is in the middle of a batch.
    WaitsForConsumer,
}

/// Items in the private buffer of [`Bug::OverrunsBuffer`].
const BUFFER: usize = 64;

/// One of the two sides.
#[derive(Clone, Copy)]
enum Side {
    Producer,
    Consumer,
}

impl Side {
    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Gives another thread time for a race.
pub fn pause() {
    thread::sleep(Duration::from_micros(300));
}

/// Uses up `bytes` of the stack.
pub fn use_stack(bytes: usize) {
    let frame = black_box([0_u8; 1024]);
    if bytes > frame.len() {
        use_stack(bytes - frame.len());
    }
    black_box(frame);
}

/// A slot never drops its item; the call that takes the item does.
type Slot<T> = Mutex<ManuallyDrop<Option<T>>>;

/// The shared state of both handles. Positions from `read` to `write` hold items.
struct Shared<T> {
    bug: Bug,
    slots: Vec<Slot<T>>,
    write: AtomicU64,
    read: AtomicU64,
    /// The bits of the sides that are gone.
    gone: AtomicU8,
    /// Which side is in the middle of a batch, for [`Bug::WaitsForProducer`] and its like.
    in_batch: [AtomicBool; 2],
    /// The thread of the last push, and `write` as others see it, for [`Bug::StaysInStoreBuffer`].
    store_buffer: Mutex<(Option<ThreadId>, u64)>,
}

impl<T> Shared<T> {
    fn has(&self, bug: Bug) -> bool {
        self.bug == bug
    }

    fn new(config: Config, bug: Bug) -> Result<Self, CapacityError> {
        let first = config.first;
        Ok(Self {
            bug,
            slots: slots(config.capacity, bug)?,
            write: AtomicU64::new(first),
            read: AtomicU64::new(first),
            gone: AtomicU8::new(0),
            in_batch: Default::default(),
            store_buffer: Mutex::new((None, first)),
        })
    }

    fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    fn slot(&self, position: u64) -> MutexGuard<'_, ManuallyDrop<Option<T>>> {
        let index = position as usize & (self.slots.len() - 1);
        self.slots[index].lock().expect("nothing panics with a slot in its hands")
    }

    /// The slot's old item is overwritten, not dropped.
    fn put(&self, position: u64, item: T) {
        *self.slot(position) = ManuallyDrop::new(Some(item));
    }

    fn take(&self, position: u64) -> Option<T> {
        self.slot(position).take()
    }

    /// Items between two counters.
    fn count(&self, write: u64, read: u64) -> u64 {
        let count = write.wrapping_sub(read);
        if self.has(Bug::CountersOf8Bits) {
            return u64::from(count as u8);
        }
        if self.has(Bug::CountersOf16Bits) {
            return u64::from(count as u16);
        }
        if self.has(Bug::CountsBytes) {
            let size = size_of::<T>() as u64;
            return count.wrapping_mul(size).checked_div(size).unwrap_or(0);
        }
        count
    }

    /// Items between two counters, as observers count them.
    fn observed(&self, write: u64, read: u64) -> u64 {
        if self.has(Bug::SubtractsIndices) {
            let mask = self.capacity() - 1;
            return (write & mask).wrapping_sub(read & mask);
        }
        if self.has(Bug::SubtractsSaturating) {
            return write.saturating_sub(read);
        }
        self.count(write, read)
    }

    fn store_write(&self, write: u64) {
        if self.has(Bug::StaysInStoreBuffer) {
            let before = self.write.load(Ordering::Relaxed);
            *self.store_buffer.lock().unwrap() = (Some(thread::current().id()), before);
        }
        self.write.store(write, Ordering::Release);
    }

    fn load_write(&self) -> u64 {
        if self.has(Bug::StaysInStoreBuffer) {
            let (thread, seen) = *self.store_buffer.lock().unwrap();
            if thread != Some(thread::current().id()) {
                return seen;
            }
        }
        self.write.load(Ordering::Acquire)
    }

    fn is_gone(&self, side: Side) -> bool {
        self.gone.load(Ordering::Acquire) & side.bit() != 0
    }

    /// Notes that `side` is in the middle of a batch, or no longer.
    fn note_batch(&self, side: Side, in_batch: bool) {
        self.in_batch[side as usize].store(in_batch, Ordering::Release);
    }

    /// Waits until `side` is not in the middle of a batch.
    fn wait_for(&self, side: Side) {
        while self.in_batch[side as usize].load(Ordering::Acquire) && !self.is_gone(side) {
            thread::yield_now();
        }
    }

    /// Marks `side` as gone. The last side drops the items that are left.
    fn leave(&self, side: Side) {
        let mut before = self.gone.load(Ordering::Acquire);
        if self.has(Bug::LooksBeforeItGoes) {
            pause();
            self.gone.fetch_or(side.bit(), Ordering::AcqRel);
        } else {
            before = self.gone.fetch_or(side.bit(), Ordering::AcqRel);
        }
        if before != 0 {
            self.drop_items();
        }
    }

    fn drop_items(&self) {
        let (read, write) = (self.read.load(Ordering::Relaxed), self.write.load(Ordering::Relaxed));
        let items = (0..write.wrapping_sub(read)).filter_map(|n| self.take(read.wrapping_add(n)));
        if self.has(Bug::NoTeardownOnUnwind) {
            items.for_each(drop);
        } else {
            // A vector drops all of its items, also when a destructor panics.
            drop(items.collect::<Vec<T>>());
        }
    }
}

/// The slots for `asked` items, a power of two.
fn slots<T>(asked: usize, bug: Bug) -> Result<Vec<Slot<T>>, CapacityError> {
    let size = size_of::<Slot<T>>();
    let room = isize::MAX as usize / 2;
    let most = 1 << (room / size).ilog2();
    let len = asked.checked_next_power_of_two().unwrap_or(0);
    let bytes = len.wrapping_mul(size);
    let fits = if bug == Bug::RoundingWraps {
        len <= most
    } else if bug == Bug::BytesWrap {
        bytes <= room
    } else {
        asked <= most
    };
    if asked == 0 || !fits {
        return Err(CapacityError::OutOfRange { asked, most });
    }
    if bug == Bug::BuildsOnStack {
        use_stack(bytes);
    }
    let mut slots = Vec::new();
    slots.try_reserve_exact(bytes / size).map_err(|_| CapacityError::OutOfMemory { bytes })?;
    if bytes > 0 {
        fill(&mut slots, bytes / size);
    }
    Ok(slots)
}

/// Makes `len` empty slots.
#[inline(never)] // a slot may be larger than the stack, and then there is no memory for any
fn fill<T>(slots: &mut Vec<Slot<T>>, len: usize) {
    slots.resize_with(len, || Mutex::new(ManuallyDrop::new(None)));
}

/// The sending side.
pub struct Tx<T> {
    shared: Arc<Shared<T>>,
    write: u64,
    /// The last value of `read` that the producer loaded.
    read_shadow: u64,
    /// The value of `read` before the last operation, for [`Bug::LoadsReadEarly`].
    read_early: u64,
    buffer: Vec<MaybeUninit<T>>,
}

impl<T> Tx<T> {
    fn has(&self, bug: Bug) -> bool {
        self.shared.has(bug)
    }

    fn new(shared: Arc<Shared<T>>, first: u64) -> Self {
        let lap = if shared.has(Bug::FirstLapUnguarded) { shared.capacity() } else { 0 };
        let read_shadow = first.wrapping_add(lap);
        Self { shared, write: first, read_shadow, read_early: first, buffer: Vec::new() }
    }

    fn look(&mut self) {
        self.read_shadow = self.shared.read.load(Ordering::Acquire);
    }

    fn has_room(&self) -> bool {
        self.shared.count(self.write, self.read_shadow) != self.shared.capacity()
    }

    /// Whether the next slot is free. Loads the consumer's counter if need be.
    fn find_room(&mut self) -> bool {
        if self.has_room() {
            return true;
        }
        self.look();
        !self.has(Bug::FullByOldCopy) && self.has_room()
    }

    /// Advances by `n` positions.
    fn advance(&mut self, n: usize) {
        self.write = self.write.wrapping_add(n as u64);
        self.shared.store_write(self.write);
    }
}

impl<T> Producer for Tx<T> {
    type Item = T;

    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        if self.has(Bug::WaitsForConsumer) {
            self.shared.wait_for(Side::Consumer);
        }
        if !self.find_room() {
            return Err(match self.is_closed() {
                true => TryPushError::Closed(item),
                false => TryPushError::Full(item),
            });
        }
        self.shared.put(self.write, item);
        self.advance(1);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.shared.slots.len()
    }

    fn is_full(&mut self) -> bool {
        self.free_up_to(1) == 0
    }

    fn is_closed(&self) -> bool {
        self.shared.is_gone(Side::Consumer)
    }
}

impl<T> LendSlots for Tx<T> {
    fn free_up_to(&mut self, wanted: usize) -> usize {
        self.look();
        let mut read = self.read_shadow;
        if self.has(Bug::LoadsReadEarly) {
            read = mem::replace(&mut self.read_early, read);
        }
        let used = self.shared.observed(self.write, read);
        wanted.min(self.shared.capacity().wrapping_sub(used) as usize)
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, T> {
        self.shared.note_batch(Side::Producer, true);
        let len = self.buffer.len().max(n);
        self.buffer.resize_with(len, MaybeUninit::uninit);
        (&mut self.buffer[..n], &mut [])
    }

    unsafe fn publish(&mut self, n: usize) {
        // The memory behind the buffer's end has other owners.
        let most = if self.has(Bug::OverrunsBuffer) { BUFFER } else { n };
        for (item, ahead) in self.buffer.drain(..n).zip(0..).take(most) {
            // SAFETY: by the caller's contract the first `n` slots hold items.
            self.shared.put(self.write.wrapping_add(ahead), unsafe { item.assume_init() });
        }
        self.advance(if self.has(Bug::ZeroIsOne) { n.max(1) } else { n });
        self.shared.note_batch(Side::Producer, false);
    }
}

impl<T> Drop for Tx<T> {
    fn drop(&mut self) {
        self.shared.leave(Side::Producer);
        if self.has(Bug::KeepsMemory) {
            mem::forget(self.shared.clone());
        }
    }
}

/// The receiving side.
pub struct Rx<T> {
    shared: Arc<Shared<T>>,
    read: u64,
    /// The last value of `write` that the consumer loaded.
    write_shadow: u64,
    /// The value of `write` before the last operation, for [`Bug::LoadsWriteEarly`].
    write_early: u64,
    /// The value of `write` that an observer last loaded, for [`Bug::ViewOf8Bits`] and
    /// [`Bug::ViewOf16Bits`].
    view: u64,
    /// The oldest items of the queue, to be lent.
    buffer: VecDeque<MaybeUninit<T>>,
}

impl<T> Rx<T> {
    fn has(&self, bug: Bug) -> bool {
        self.shared.has(bug)
    }

    fn new(shared: Arc<Shared<T>>, first: u64) -> Self {
        let (view, buffer) = (first, VecDeque::new());
        Self { shared, read: first, write_shadow: first, write_early: first, view, buffer }
    }

    fn has_item(&self) -> bool {
        self.shared.count(self.write_shadow, self.read) != 0
    }

    /// Whether there is an item. Loads the producer's counter if need be.
    fn find_item(&mut self) -> bool {
        if self.has_item() {
            return true;
        }
        self.write_shadow = self.shared.load_write();
        !self.has(Bug::EmptyByOldCopy) && self.has_item()
    }

    fn pop(&mut self) -> Option<T> {
        if !self.find_item() {
            return None;
        }
        let item = match self.buffer.pop_front() {
            // SAFETY: the buffer holds items.
            Some(item) => unsafe { item.assume_init() },
            None => self.shared.take(self.read)?,
        };
        self.advance(1);
        Some(item)
    }

    /// Advances by `n` positions.
    fn advance(&mut self, n: usize) {
        self.read = self.read.wrapping_add(n as u64);
        self.shared.read.store(self.read, Ordering::Release);
    }

    /// The producer's counter as observers see it.
    fn observed_write(&mut self) -> u64 {
        let write = self.shared.load_write();
        if self.has(Bug::LoadsWriteEarly) {
            return mem::replace(&mut self.write_early, write);
        }
        let unchanged = write ^ self.view;
        let is_view_fresh = (self.has(Bug::ViewOf8Bits) && unchanged as u8 == 0)
            || (self.has(Bug::ViewOf16Bits) && unchanged as u16 == 0);
        if !is_view_fresh {
            self.view = write;
        }
        self.view
    }

    /// The position behind the buffer.
    fn behind_buffer(&self) -> u64 {
        self.read.wrapping_add(self.buffer.len() as u64)
    }
}

impl<T> Consumer for Rx<T> {
    type Item = T;

    fn try_pop(&mut self) -> Result<T, TryPopError> {
        if self.has(Bug::WaitsForProducer) {
            self.shared.wait_for(Side::Producer);
        }
        if let Some(item) = self.pop() {
            return Ok(item);
        }
        if self.has(Bug::ClosedAfterOneLook) {
            pause();
        }
        if !self.is_closed() {
            return Err(TryPopError::Empty);
        }
        if self.has(Bug::ClosedAfterOneLook) {
            return Err(TryPopError::Closed);
        }
        self.pop().ok_or(TryPopError::Closed)
    }

    fn capacity(&self) -> usize {
        self.shared.slots.len()
    }

    fn len(&mut self) -> usize {
        self.filled_up_to(usize::MAX)
    }

    fn is_empty(&mut self) -> bool {
        self.filled_up_to(1) == 0
    }

    fn is_closed(&self) -> bool {
        self.shared.is_gone(Side::Producer)
    }
}

// SAFETY: the lent items are in a private buffer. Some bugs lend an item twice, and are found with
// items that can be dropped twice.
unsafe impl<T> LendItems for Rx<T> {
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        let write = self.observed_write();
        wanted.min(self.shared.observed(write, self.read) as usize)
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, T> {
        self.shared.note_batch(Side::Consumer, true);
        let (first, second) = self.buffer.as_mut_slices();
        let in_first = n.min(first.len());
        // SAFETY: the buffer holds items.
        unsafe { (items(&mut first[..in_first]), items(&mut second[..n - in_first])) }
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        let write = self.shared.load_write();
        while self.buffer.len() < wanted && self.behind_buffer() != write {
            let Some(item) = self.shared.take(self.behind_buffer()) else { break };
            self.buffer.push_back(MaybeUninit::new(item));
        }
        wanted.min(self.buffer.len())
    }

    unsafe fn release(&mut self, n: usize) {
        if self.has(Bug::NoReleaseOnUnwind) && thread::panicking() {
            return;
        }
        self.buffer.drain(..n);
        self.advance(n);
        self.shared.note_batch(Side::Consumer, false);
    }
}

impl<T> Drop for Rx<T> {
    fn drop(&mut self) {
        // Items that were lent and not released go back to their slots.
        for (item, ahead) in self.buffer.drain(..).zip(0..) {
            // SAFETY: the buffer holds items.
            self.shared.put(self.read.wrapping_add(ahead), unsafe { item.assume_init() });
        }
        self.shared.leave(Side::Consumer);
    }
}

/// The items in `slots`.
///
/// # Safety
///
/// All slots hold items.
unsafe fn items<T>(slots: &mut [MaybeUninit<T>]) -> &mut [T] {
    // SAFETY: the same memory, all of it initialised by the caller's contract.
    unsafe { &mut *(ptr::from_mut(slots) as *mut [T]) }
}

/// A ring with this bug.
pub fn queue<T>(config: Config, bug: Bug) -> Built<Tx<T>, Rx<T>> {
    let shared = Arc::new(Shared::new(config, bug)?);
    Ok((Tx::new(shared.clone(), config.first), Rx::new(shared, config.first)))
}

/// Rings with this bug.
pub fn subject<T: Send + 'static>(bug: Bug) -> Single<T> {
    let info = Info { id: "ring", name: "ring with a bug", ..Info::RING };
    Single::new(info, move |config| queue(config, bug))
}
