//! A relaxed queue behind a lock, with bugs that can be switched on: for tests of checks.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard};

use corelane::{
    Built, CapacityError, Config, Consumer, Info, Producer, Queue, Sides, TryPopError, TryPushError,
};

use crate::Any;
use crate::rng::Rng;

/// The bug of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// None.
    Nothing,
    /// A pop may take the item behind the k oldest.
    TooFar,
    /// An item may be passed over k times.
    TooLate,
    /// A push drops its item now and then.
    Loses,
    /// A pop says empty now and then, although there are items.
    EmptyTooEarly,
    /// A push says full now and then, although there is room.
    FullTooEarly,
}

/// Calls of which one is wrong, if only some calls are wrong.
const RARELY: u64 = 64;

/// An item in the queue.
struct Held<T> {
    item: T,
    /// How many younger items have been popped.
    passed: usize,
}

/// The state behind the lock.
struct State<T> {
    /// The oldest item is the first.
    items: VecDeque<Held<T>>,
    rng: Rng,
    calls: u64,
    /// Handles of each side.
    handles: [usize; 2],
}

struct Shared<T> {
    bug: Bug,
    capacity: usize,
    k: usize,
    state: Mutex<State<T>>,
}

/// Index of a side.
const PRODUCERS: usize = 0;
const CONSUMERS: usize = 1;

impl<T> Shared<T> {
    fn new(config: Config, bug: Bug) -> Result<Self, CapacityError> {
        let (capacity, size) = (config.capacity, size_of::<Held<T>>());
        let most = isize::MAX as usize / size;
        if capacity == 0 || capacity > most {
            return Err(CapacityError::OutOfRange { asked: capacity, most });
        }
        let mut items = VecDeque::new();
        let no_memory = |_| CapacityError::OutOfMemory { bytes: capacity * size };
        items.try_reserve_exact(capacity).map_err(no_memory)?;
        let state = State { items, rng: Rng::new(config.first), calls: 0, handles: [0; 2] };
        let k = config.relaxation.unwrap_or(Loose::DEFAULT_K).max(1);
        Ok(Self { bug, capacity, k, state: Mutex::new(state) })
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().expect("no call panics")
    }

    /// Whether a call that is rarely wrong is wrong this time, by this bug.
    fn is_wrong(&self, bug: Bug, state: &mut State<T>) -> bool {
        if self.bug != bug {
            return false;
        }
        state.calls += 1;
        state.calls.is_multiple_of(RARELY)
    }

    fn push(&self, item: T) -> Result<(), TryPushError<T>> {
        let mut state = self.lock();
        let is_full = state.items.len() == self.capacity;
        if is_full || self.is_wrong(Bug::FullTooEarly, &mut state) {
            return Err(match state.handles[CONSUMERS] {
                0 => TryPushError::Closed(item),
                _ => TryPushError::Full(item),
            });
        }
        if !self.is_wrong(Bug::Loses, &mut state) {
            state.items.push_back(Held { item, passed: 0 });
        }
        Ok(())
    }

    fn pop(&self) -> Result<T, TryPopError> {
        let mut state = self.lock();
        if state.items.is_empty() {
            return Err(match state.handles[PRODUCERS] {
                0 => TryPopError::Closed,
                _ => TryPopError::Empty,
            });
        }
        if self.is_wrong(Bug::EmptyTooEarly, &mut state) {
            return Err(TryPopError::Empty);
        }
        let place = self.choose(&mut state);
        state.items.iter_mut().take(place).for_each(|held| held.passed += 1);
        Ok(state.items.remove(place).expect("there is an item").item)
    }

    /// The place of the item to pop: any of the k oldest, unless the oldest was passed over too
    /// often. No item was passed over more often than an older one.
    fn choose(&self, state: &mut State<T>) -> usize {
        let most_passes = match self.bug {
            Bug::TooLate => self.k,
            // Otherwise no pop of a queue with a k of 1 would go too far.
            Bug::TooFar => (self.k - 1).max(1),
            _ => self.k - 1,
        };
        let reach = self.k.saturating_add(usize::from(self.bug == Bug::TooFar));
        match state.items[0].passed < most_passes {
            true => state.rng.below(reach.min(state.items.len())),
            false => 0,
        }
    }
}

/// A handle of one side.
struct Handle<const SIDE: usize, T> {
    shared: Arc<Shared<T>>,
    /// One thread at a time has a handle, as a queue's.
    not_sync: PhantomData<Cell<()>>,
}

impl<const SIDE: usize, T> Handle<SIDE, T> {
    fn new(shared: &Arc<Shared<T>>) -> Self {
        shared.lock().handles[SIDE] += 1;
        Self { shared: shared.clone(), not_sync: PhantomData }
    }
}

impl<const SIDE: usize, T> Drop for Handle<SIDE, T> {
    fn drop(&mut self) {
        self.shared.lock().handles[SIDE] -= 1;
    }
}

/// A sending side.
pub struct Tx<T>(Handle<PRODUCERS, T>);

/// A receiving side.
pub struct Rx<T>(Handle<CONSUMERS, T>);

impl<T> Tx<T> {
    fn shared(&self) -> &Arc<Shared<T>> {
        &self.0.shared
    }
}

impl<T> Rx<T> {
    fn shared(&self) -> &Arc<Shared<T>> {
        &self.0.shared
    }
}

impl<T> Producer for Tx<T> {
    type Item = T;

    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        self.shared().push(item)
    }

    fn capacity(&self) -> usize {
        self.shared().capacity
    }

    fn len(&mut self) -> usize {
        self.shared().lock().items.len()
    }

    fn is_closed(&self) -> bool {
        self.shared().lock().handles[CONSUMERS] == 0
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Consumer for Rx<T> {
    type Item = T;

    fn try_pop(&mut self) -> Result<T, TryPopError> {
        self.shared().pop()
    }

    fn capacity(&self) -> usize {
        self.shared().capacity
    }

    fn len(&mut self) -> usize {
        self.shared().lock().items.len()
    }

    fn is_closed(&self) -> bool {
        self.shared().lock().handles[PRODUCERS] == 0
    }

    fn relaxation(&self) -> usize {
        self.shared().k
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Clone for Tx<T> {
    fn clone(&self) -> Self {
        Self(Handle::new(self.shared()))
    }
}

impl<T> Clone for Rx<T> {
    fn clone(&self) -> Self {
        Self(Handle::new(self.shared()))
    }
}

impl<T> fmt::Debug for Tx<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tx").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Rx<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rx").finish_non_exhaustive()
    }
}

/// The queue without a bug.
#[derive(Debug)]
pub struct Loose;

impl Loose {
    /// The k of a queue that isn't told another.
    const DEFAULT_K: usize = 4;

    const INFO: Info = Info {
        id: "loose",
        name: "relaxed queue behind a lock",
        sides: Sides::ManyToMany,
        relaxed: true,
        ..Info::RING
    };
}

impl<T: Send> Queue<T> for Loose {
    const INFO: Info = Self::INFO;
    type Producer = Tx<T>;
    type Consumer = Rx<T>;

    fn with(config: Config) -> Built<Tx<T>, Rx<T>> {
        queue(config, Bug::Nothing)
    }
}

/// A queue with this bug.
///
/// # Errors
///
/// If the capacity is 0 or too large for memory.
pub fn queue<T>(config: Config, bug: Bug) -> Built<Tx<T>, Rx<T>> {
    let shared = Arc::new(Shared::new(config, bug)?);
    Ok((Tx(Handle::new(&shared)), Rx(Handle::new(&shared))))
}

/// Queues with this bug.
pub fn subject<T: Send + 'static>(bug: Bug) -> Any<T> {
    Any::new(Loose::INFO, move |config| queue(config, bug))
}
