//! Relaxed queues: looks at one sub-queue after the other, locked rings, and segments.

use corelane_loom::memory::Ordering::{Acquire, Relaxed, Release};
use corelane_loom::memory::{AtomicBool, AtomicU64};
use loom::sync::Arc;

use super::Seeded;
use super::handles::{self, Mechanism, Place};
use crate::Exploration;
use crate::explore::{both, explore};
use crate::item::Ticket;
use crate::relaxed::two_in_a_slot;
use crate::shared::two_consumers_and_one_item;

pub(super) fn bugs() -> Vec<Seeded> {
    vec![
        Seeded {
            queue: "cnq",
            bug: "claims a slot although the capsule was closed",
            sound: closed_while_claimed::<false>,
            broken: closed_while_claimed::<true>,
        },
        Seeded {
            queue: "d-cbo",
            bug: "says empty when it has looked at each sub-queue once",
            sound: moved_behind_a_look::<false>,
            broken: moved_behind_a_look::<true>,
        },
        Seeded {
            queue: "radq",
            bug: "reads the number of pushes before the number of pops",
            sound: counted_while_it_moves::<false>,
            broken: counted_while_it_moves::<true>,
        },
        Seeded {
            queue: "multi-fifo",
            bug: "gives back a lock that another thread has",
            sound: || two_in_a_slot(handles::of::<Ring<SOUND>>),
            broken: || two_in_a_slot(handles::of::<Ring<FALSE_UNLOCK>>),
        },
        Seeded {
            queue: "lldq",
            bug: "lets two threads of a side into one ring",
            sound: || two_in_a_slot(handles::of::<Ring<SOUND>>),
            broken: || two_in_a_slot(handles::of::<Ring<NO_LOCK>>),
        },
        Seeded {
            queue: "bsq",
            bug: "takes an item from a slot that another consumer has claimed",
            sound: || two_consumers_and_one_item(handles::of::<Segment<false>>),
            broken: || two_consumers_and_one_item(handles::of::<Segment<true>>),
        },
        Seeded {
            queue: "block-fifo",
            bug: "gives a slot back before it has moved the item out",
            sound: || two_in_a_slot(handles::of::<OneSlot<false>>),
            broken: || two_in_a_slot(handles::of::<OneSlot<true>>),
        },
        Seeded {
            queue: "usq",
            bug: "leaves a segment of which a slot is free",
            sound: left_while_filled::<false>,
            broken: left_while_filled::<true>,
        },
    ]
}

/// A producer claims a slot while another thread closes the capsule. A consumer takes the items
/// that were claimed before.
fn closed_while_claimed<const BROKEN: bool>() -> Exploration {
    const CLOSED: u64 = 1 << 16;
    explore(|| {
        let claimed = Arc::new(AtomicU64::new(0));
        let other = claimed.clone();
        let claim = move || match BROKEN {
            true => {
                let is_open = other.load(Relaxed) & CLOSED == 0;
                if is_open {
                    other.fetch_add(1, Relaxed);
                }
                is_open
            }
            false => other.compare_exchange(0, 1, Relaxed, Relaxed).is_ok(),
        };
        let (is_pushed, taken) = both(claim, || claimed.fetch_or(CLOSED, Relaxed));
        assert_eq!(taken, u64::from(is_pushed), "no consumer comes back to the capsule");
    })
}

/// No bug.
const SOUND: u8 = 0;
/// A thread that finds the ring locked unlocks it.
const FALSE_UNLOCK: u8 = 1;
/// Nothing is locked.
const NO_LOCK: u8 = 2;

/// Slots of a ring or of a segment, for one lap.
const N: usize = 4;

/// A sub-queue that one thread at a time uses. Broken: `BUG` is one of those above.
struct Ring<const BUG: u8> {
    places: [Place; N],
    is_locked: AtomicBool,
    pushes: AtomicU64,
    pops: AtomicU64,
}

impl<const BUG: u8> Ring<BUG> {
    fn lock(&self) -> bool {
        let is_taken = BUG == NO_LOCK
            || self.is_locked.compare_exchange(false, true, Acquire, Relaxed).is_ok();
        if BUG == FALSE_UNLOCK && !is_taken {
            self.unlock();
        }
        is_taken
    }

    fn unlock(&self) {
        self.is_locked.store(false, Release);
    }
}

impl<const BUG: u8> Mechanism for Ring<BUG> {
    const CAPACITY: usize = N;
    type Tx = ();
    type Rx = ();

    fn new() -> Self {
        let places = [(); N].map(|()| Place::empty());
        let [pushes, pops] = [0, 0].map(AtomicU64::new);
        Self { places, is_locked: AtomicBool::new(false), pushes, pops }
    }

    fn push(&self, (): &mut (), item: Ticket) -> Result<(), Ticket> {
        if !self.lock() {
            return Err(item);
        }
        let position = self.pushes.load(Relaxed);
        self.places[position as usize].put(item);
        self.pushes.store(position + 1, Release);
        self.unlock();
        Ok(())
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        if !self.lock() {
            return None;
        }
        let position = self.pops.load(Relaxed);
        let item = (position < self.pushes.load(Acquire)).then(|| {
            self.pops.store(position + 1, Release);
            self.places[position as usize].take()
        });
        self.unlock();
        item
    }
}

const FREE: u64 = 0;
const WRITING: u64 = 1;
const FULL: u64 = 2;
const TAKING: u64 = 3;

/// A segment. Broken: a consumer doesn't claim a slot.
struct Segment<const BROKEN: bool> {
    places: [Place; N],
    states: [AtomicU64; N],
}

impl<const BROKEN: bool> Mechanism for Segment<BROKEN> {
    const CAPACITY: usize = N;
    type Tx = ();
    type Rx = ();

    fn new() -> Self {
        let (places, states) = ([(); N].map(|()| Place::empty()), [(); N].map(|()| free()));
        Self { places, states }
    }

    fn push(&self, (): &mut (), item: Ticket) -> Result<(), Ticket> {
        for (place, state) in self.places.iter().zip(&self.states) {
            if state.compare_exchange(FREE, WRITING, Relaxed, Relaxed).is_ok() {
                place.put(item);
                state.store(FULL, Release);
                return Ok(());
            }
        }
        Err(item)
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        let claim = |state: &AtomicU64| match BROKEN {
            true => state.load(Acquire) == FULL,
            false => state.compare_exchange(FULL, TAKING, Acquire, Relaxed).is_ok(),
        };
        let slot = self.states.iter().position(claim)?;
        let item = self.places[slot].take();
        self.states[slot].store(TAKING, Release);
        Some(item)
    }
}

/// A slot that is used again. Broken: it is free before its item has been moved out.
struct OneSlot<const BROKEN: bool> {
    place: Place,
    state: AtomicU64,
}

impl<const BROKEN: bool> Mechanism for OneSlot<BROKEN> {
    const CAPACITY: usize = 1;
    type Tx = ();
    type Rx = ();

    fn new() -> Self {
        Self { place: Place::empty(), state: free() }
    }

    fn push(&self, (): &mut (), item: Ticket) -> Result<(), Ticket> {
        if self.state.compare_exchange(FREE, WRITING, Acquire, Relaxed).is_err() {
            return Err(item);
        }
        self.place.put(item);
        self.state.store(FULL, Release);
        Ok(())
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        let claimed = if BROKEN { FREE } else { TAKING };
        self.state.compare_exchange(FULL, claimed, Acquire, Relaxed).ok()?;
        let item = self.place.take();
        if !BROKEN {
            self.state.store(FREE, Release);
        }
        Some(item)
    }
}

fn free() -> AtomicU64 {
    AtomicU64::new(FREE)
}

/// A consumer leaves a segment of two slots while a producer fills the second one. Broken: the
/// consumer leaves when it finds no item, though a slot is free.
fn left_while_filled<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let slots = Arc::new([free(), free()]);
        let others = slots.clone();
        let work = move || {
            for slot in others.iter() {
                slot.store(WRITING, Relaxed);
                slot.store(FULL, Release);
            }
        };
        let ((), (taken, is_left)) = both(work, || {
            let states = || slots.each_ref().map(|slot| slot.load(Acquire));
            let taken = states().map(|state| state == FULL);
            let may_leave = |state: u64, is_taken: bool| match BROKEN {
                true => is_taken || state != FULL,
                false => is_taken,
            };
            let is_left = states().iter().zip(taken).all(|(&state, is)| may_leave(state, is));
            (taken, is_left)
        });
        assert!(!is_left || taken == [true; 2], "an item is left in a segment that was left");
    })
}

/// The counters of a sub-queue.
struct Counters {
    pushes: AtomicU64,
    pops: AtomicU64,
}

impl Counters {
    fn of(items: u64) -> Self {
        Self { pushes: AtomicU64::new(items), pops: AtomicU64::new(0) }
    }

    fn push(&self) {
        self.pushes.store(self.pushes.load(Relaxed) + 1, Release);
    }

    fn pop(&self) {
        self.pops.store(self.pops.load(Relaxed) + 1, Release);
    }

    fn is_empty(&self) -> bool {
        let pops = self.pops.load(Acquire);
        self.pushes.load(Acquire) == pops
    }
}

/// An item is pushed into a sub-queue that was found empty, and then the item of the next sub-queue
/// is popped. There is always an item. Broken: no second look at the numbers of pushes.
fn moved_behind_a_look<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let queues = Arc::new([Counters::of(0), Counters::of(1)]);
        let others = queues.clone();
        let work = move || {
            others[0].push();
            others[1].pop();
        };
        both(work, || {
            let pushes = || queues.each_ref().map(|queue| queue.pushes.load(Acquire));
            let before = pushes();
            let were_empty = queues.iter().all(Counters::is_empty);
            assert!(!were_empty || !BROKEN && before != pushes(), "there is always an item");
        });
    })
}

/// An item is pushed, and then the item before it is popped. There is always an item.
fn counted_while_it_moves<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let queue = Arc::new(Counters::of(1));
        let other = queue.clone();
        let work = move || {
            other.push();
            other.pop();
        };
        both(work, || {
            let is_empty = match BROKEN {
                true => queue.pushes.load(Acquire) == queue.pops.load(Acquire),
                false => queue.is_empty(),
            };
            assert!(!is_empty, "there is always an item");
        });
    })
}
