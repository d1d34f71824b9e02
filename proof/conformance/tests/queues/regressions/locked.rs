//! A queue behind a lock, for any number of handles, with bugs that can be switched on.
//!
//! An item that comes twice is copied bit by bit. This is harmless for numbers, and for items of a
//! ledger, which can be dropped twice.

use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread::{self, ThreadId};

use corelane::{
    Built, CapacityError, Config, Consumer, Info, Producer, Sides, TryPopError, TryPushError,
};
use corelane_conformance::Any;

use super::ring::{pause, use_stack};

/// The bug of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// None.
    Nothing,
    /// A handle takes an old view for a new one if 8 bits of the counter are the same again.
    ViewOf8Bits,
    /// The same with 16 bits.
    ViewOf16Bits,
    /// Counters of 8 bits, also in a queue of 256 items.
    CountersOf8Bits,
    /// Counters of 16 bits, also in a queue of 65536 items.
    CountersOf16Bits,
    /// A handle refreshes its copy of the counter, but answers from the old copy.
    EmptyByOldCopy,
    /// Other threads see a completed push only together with the next push.
    StaysInStoreBuffer,
    /// An empty slice counts as a slice of one item.
    ZeroIsOne,
    /// Items that are pushed between the look for an item and the look for the producers are not
    /// looked for.
    ClosedAfterOneLook,
    /// A side counts as gone as soon as one of its handles is gone.
    ClosedByAnyHandle,
    /// The count of handles is updated in two steps, between which other handles may update it.
    CountsHandlesInSteps,
    /// A handle that is dropped looks whether others are left before it says that it is gone.
    LooksBeforeItGoes,
    /// The newest item is leaked when the queue is dropped.
    NewestIsLeaked,
    /// If an item's destructor panics while the queue is dropped, the other items are not dropped.
    NoTeardownOnUnwind,
    /// Late slices add to a counter until it changes the lap.
    LateSlicesSpill,
    /// Consumers read the oldest item before they claim it.
    LooksBeforeItTakes,
    /// A consumer skips a slot whose producer has not finished. An item that is written into the
    /// slot later is lost.
    SkipsHole,
    /// A consumer that finds a slot whose producer has not finished waits for ever.
    WaitsAtHole,
    /// A slot whose producer has not finished is taken for the end of the queue.
    EmptyAtHole,
    /// A slot counts as full until its consumer has finished.
    FreesLate,
    /// Producers must push in turn, so an idle producer blocks all others.
    TakesTurns,
    /// Now and then an item overtakes another item.
    SwapsNeighbours,
    /// The first item of the second lap is lost.
    SecondLapLosesAnItem,
    /// The size of all slots is computed without a check for overflow.
    BytesWrap,
    /// Items are counted by dividing a distance in bytes.
    CountsBytes,
    /// The slots are built on the stack and then moved.
    BuildsOnStack,
}

/// The handles of a side.
#[derive(Debug, Default)]
struct Handles {
    present: usize,
    /// Whether a handle is gone.
    missed: bool,
}

/// Gives another thread time for a race, at some positions.
fn pause_rarely(position: u64) {
    if position.is_multiple_of(64) {
        pause();
    }
}

/// The state behind the lock.
struct State<T> {
    /// A slot that its producer has not written yet is `None`.
    items: VecDeque<Option<ManuallyDrop<T>>>,
    pushed: u64,
    popped: u64,
    /// Items that consumers are taking, for [`Bug::FreesLate`].
    in_hand: u64,
    handles: [Handles; 2],
    /// The sum that late slices have added.
    late: usize,
    /// Producers made so far, and the producer whose turn it is.
    producers: usize,
    turn: usize,
    /// The thread of the last push.
    pusher: Option<ThreadId>,
    /// Whether a consumer has found a slot that is not written yet.
    met_hole: bool,
}

struct Shared<T> {
    bug: Bug,
    capacity: usize,
    state: Mutex<State<T>>,
}

/// Index of a side's [`Handles`].
const PRODUCERS: usize = 0;
const CONSUMERS: usize = 1;

impl<T> Shared<T> {
    fn has(&self, bug: Bug) -> bool {
        self.bug == bug
    }

    /// Whether a push gives the lock back before it has finished.
    fn leaves_holes(&self) -> bool {
        self.has(Bug::SkipsHole) || self.has(Bug::WaitsAtHole) || self.has(Bug::EmptyAtHole)
    }

    fn new(config: Config, bug: Bug) -> Result<Self, CapacityError> {
        let (capacity, size) = (config.capacity, size_of::<T>().max(1));
        let room = isize::MAX as usize / 2;
        let bytes = match bug == Bug::BytesWrap {
            true => capacity.wrapping_mul(size),
            false => capacity.saturating_mul(size),
        };
        if capacity == 0 || bytes > room {
            return Err(CapacityError::OutOfRange { asked: capacity, most: room / size });
        }
        if bug == Bug::BuildsOnStack {
            use_stack(bytes);
        }
        let mut items = VecDeque::new();
        items.try_reserve_exact(bytes / size).map_err(|_| CapacityError::OutOfMemory { bytes })?;
        let state = State {
            items,
            pushed: config.first,
            popped: config.first,
            in_hand: 0,
            handles: Default::default(),
            late: 0,
            producers: 0,
            turn: 0,
            pusher: None,
            met_hole: false,
        };
        Ok(Self { bug, capacity, state: Mutex::new(state) })
    }

    /// Takes the lock. A waiting thread retries and doesn't sleep: a sleeping thread would delay
    /// others.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        loop {
            match self.state.try_lock() {
                Ok(state) => return state,
                Err(TryLockError::WouldBlock) => thread::yield_now(),
                Err(error) => panic!("{error} behind the lock"),
            }
        }
    }

    /// Items between two counters.
    fn count(&self, pushed: u64, popped: u64) -> usize {
        let count = pushed.wrapping_sub(popped);
        if self.has(Bug::CountersOf8Bits) {
            return usize::from(count as u8);
        }
        if self.has(Bug::CountersOf16Bits) {
            return usize::from(count as u16);
        }
        match self.has(Bug::CountsBytes) && size_of::<T>() == 0 {
            true => 0,
            false => count as usize,
        }
    }

    fn has_room(&self, state: &State<T>) -> bool {
        self.count(state.pushed, state.popped.wrapping_sub(state.in_hand)) < self.capacity
    }

    /// Counts a new handle of this side.
    fn enter(&self, side: usize) {
        if self.has(Bug::CountsHandlesInSteps) {
            let (present, pushed) = {
                let state = self.lock();
                (state.handles[side].present, state.pushed)
            };
            pause_rarely(pushed);
            self.lock().handles[side].present = present + 1;
        } else {
            self.lock().handles[side].present += 1;
        }
    }

    /// Counts a dropped handle of this side. The last handle of both sides drops the items that are
    /// left.
    fn leave(&self, side: usize) {
        let others =
            |state: &State<T>| state.handles.iter().map(|side| side.present).sum::<usize>();
        let mut before = others(&self.lock());
        if self.has(Bug::LooksBeforeItGoes) {
            pause();
        }
        let mut state = self.lock();
        if !self.has(Bug::LooksBeforeItGoes) {
            before = others(&state);
        }
        state.handles[side].present = state.handles[side].present.saturating_sub(1);
        state.handles[side].missed = true;
        if before == 1 {
            if self.has(Bug::NewestIsLeaked) {
                state.items.pop_back();
            }
            let items: Vec<_> = state.items.drain(..).collect();
            drop(state);
            let items = items.into_iter().flatten().map(ManuallyDrop::into_inner);
            match self.has(Bug::NoTeardownOnUnwind) {
                true => items.for_each(drop),
                // A vector drops all of its items, also when a destructor panics.
                false => drop(items.collect::<Vec<T>>()),
            }
        }
    }

    /// Whether a side is gone.
    fn is_gone(&self, side: usize) -> bool {
        let handles = &self.lock().handles[side];
        handles.present == 0 || (self.has(Bug::ClosedByAnyHandle) && handles.missed)
    }

    fn push(&self, producer: usize, item: T) -> Result<(), TryPushError<T>> {
        let mut state = self.lock();
        if self.has(Bug::TakesTurns) && state.turn != producer {
            return Err(TryPushError::Busy(item));
        }
        if !self.has_room(&state) {
            return Err(TryPushError::Full(item));
        }
        state.turn = (state.turn + 1) % state.producers;
        state.late = 0;
        let position = state.pushed;
        state.pushed = position.wrapping_add(1);
        if self.leaves_holes() {
            state.items.push_back(None);
            drop(state);
            pause_rarely(position);
            let mut state = self.lock();
            let behind = state.pushed.wrapping_sub(position) as usize;
            let place = state.items.len().checked_sub(behind);
            if let Some(slot) = place.and_then(|place| state.items.get_mut(place)) {
                *slot = Some(ManuallyDrop::new(item));
            }
            return Ok(());
        }
        state.pusher = Some(thread::current().id());
        let is_lost = self.has(Bug::SecondLapLosesAnItem) && position == self.capacity as u64;
        match is_lost {
            true => state.popped = state.popped.wrapping_add(1),
            false => state.items.push_back(Some(ManuallyDrop::new(item))),
        }
        Ok(())
    }

    /// Notes a slice that has found no room: a late slice.
    fn come_too_late(&self, len: usize) {
        let mut state = self.lock();
        state.late += len;
        if self.has(Bug::LateSlicesSpill) && state.late >= 16 * self.capacity {
            state.late = 0;
            // The lap has changed, so its oldest item seems to be gone.
            let _ = state.take();
        }
    }

    /// The oldest item, for a handle that saw `view` items pushed when it last looked.
    fn pop(&self, view: &mut u64) -> Result<Option<T>, TryPopError> {
        let mut state = self.lock();
        let unchanged = state.pushed ^ *view;
        let is_view_fresh = (self.has(Bug::ViewOf8Bits) && unchanged as u8 == 0)
            || (self.has(Bug::ViewOf16Bits) && unchanged as u16 == 0);
        let before = if is_view_fresh { *view } else { std::mem::replace(view, state.pushed) };
        let seen = match self.has(Bug::EmptyByOldCopy) {
            true => before,
            false => *view,
        };
        let is_hidden = self.has(Bug::StaysInStoreBuffer)
            && state.items.len() == 1
            && state.pusher != Some(thread::current().id());
        if (seen.wrapping_sub(state.popped) as i64) <= 0
            || self.count(seen, state.popped) == 0
            || is_hidden
        {
            return Ok(None);
        }
        if state.met_hole && self.has(Bug::WaitsAtHole) {
            return Err(TryPopError::Busy);
        }
        if let Some(None) = state.items.front() {
            state.met_hole = true;
            if self.has(Bug::SkipsHole) {
                let _ = state.take();
            }
            return match self.has(Bug::EmptyAtHole) {
                true => Ok(None),
                false => Err(TryPopError::Busy),
            };
        }
        if self.has(Bug::FreesLate) {
            let popped = state.popped;
            let item = state.take();
            state.in_hand += 1;
            drop(state);
            pause_rarely(popped);
            self.lock().in_hand -= 1;
            return Ok(item);
        }
        if self.has(Bug::SwapsNeighbours)
            && state.popped.is_multiple_of(64)
            && state.items.len() > 1
        {
            state.items.swap(0, 1);
        }
        if !self.has(Bug::LooksBeforeItTakes) {
            return Ok(state.take());
        }
        // SAFETY: see the module's page.
        let item = state.items.front().map(|item| unsafe { ptr::read(item) });
        let popped = state.popped;
        drop(state);
        pause_rarely(popped);
        let _ = self.lock().take();
        Ok(item.flatten().map(ManuallyDrop::into_inner))
    }
}

impl<T> State<T> {
    fn take(&mut self) -> Option<T> {
        let item = self.items.pop_front()?;
        self.popped = self.popped.wrapping_add(1);
        item.map(ManuallyDrop::into_inner)
    }
}

/// A sending side.
#[derive(Debug)]
pub struct Tx<T> {
    shared: Arc<Shared<T>>,
    number: usize,
}

/// A receiving side.
#[derive(Debug)]
pub struct Rx<T> {
    shared: Arc<Shared<T>>,
    /// The number of pushed items when this consumer last looked.
    view: u64,
}

impl<T> std::fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl<T> Tx<T> {
    fn new(shared: Arc<Shared<T>>) -> Self {
        shared.enter(PRODUCERS);
        let number = shared.lock().producers;
        shared.lock().producers += 1;
        Self { shared, number }
    }
}

impl<T> Rx<T> {
    fn new(shared: Arc<Shared<T>>, view: u64) -> Self {
        shared.enter(CONSUMERS);
        Self { shared, view }
    }
}

impl<T> Producer for Tx<T> {
    type Item = T;

    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        self.shared.push(self.number, item).map_err(|error| match self.is_closed() {
            true => TryPushError::Closed(error.into_inner()),
            false => error,
        })
    }

    fn capacity(&self) -> usize {
        self.shared.capacity
    }

    fn is_closed(&self) -> bool {
        self.shared.is_gone(CONSUMERS)
    }

    fn try_clone(&self) -> Option<Self> {
        Some(Self::new(self.shared.clone()))
    }

    fn push_slice(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        let done = items.iter().take_while(|&&item| self.try_push(item).is_ok()).count();
        if done == 0 {
            self.shared.come_too_late(items.len());
        }
        done
    }
}

impl<T> Consumer for Rx<T> {
    type Item = T;

    fn try_pop(&mut self) -> Result<T, TryPopError> {
        if let Some(item) = self.shared.pop(&mut self.view)? {
            return Ok(item);
        }
        let after_one_look = self.shared.has(Bug::ClosedAfterOneLook);
        if after_one_look {
            pause();
        }
        match self.is_closed() {
            false => Err(TryPopError::Empty),
            true if after_one_look => Err(TryPopError::Closed),
            true => self.shared.pop(&mut self.view)?.ok_or(TryPopError::Closed),
        }
    }

    fn capacity(&self) -> usize {
        self.shared.capacity
    }

    fn is_closed(&self) -> bool {
        self.shared.is_gone(PRODUCERS)
    }

    fn try_clone(&self) -> Option<Self> {
        Some(Self::new(self.shared.clone(), self.view))
    }

    fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        if into.is_empty() && self.shared.has(Bug::ZeroIsOne) {
            let _ = self.try_pop();
        }
        let slots = into.iter_mut();
        slots.map_while(|slot| self.try_pop().ok().map(|item| *slot = item)).count()
    }
}

impl<T> Drop for Tx<T> {
    fn drop(&mut self) {
        self.shared.leave(PRODUCERS);
    }
}

impl<T> Drop for Rx<T> {
    fn drop(&mut self) {
        self.shared.leave(CONSUMERS);
    }
}

/// A queue with this bug.
pub fn queue<T>(config: Config, bug: Bug) -> Built<Tx<T>, Rx<T>> {
    let shared = Arc::new(Shared::new(config, bug)?);
    Ok((Tx::new(shared.clone()), Rx::new(shared, config.first)))
}

/// Queues with this bug.
pub fn subject<T: Send + 'static>(bug: Bug) -> Any<T> {
    let (name, sides) = ("queue behind a lock with a bug", Sides::ManyToMany);
    let info = Info { id: "locked", name, sides, ..Info::RING };
    Any::new(info, move |config| queue(config, bug))
}
