//! Sub-queues that are rings with one thread a side at a time. Their counters are the numbers of
//! pushes and pops.

use core::marker::PhantomData;

use super::parts::{PartShape, Parts, Variables};
use crate::memory::{AtomicU64, Ordering};
use crate::pad::Padded;
use crate::queue::{CapacityError, Config, TryPopError, TryPushError, full};
use crate::random::Random;
use crate::region::{End, Run, State, ends};
use crate::ring::HeadTail;
use crate::ring::mode::{Cursors, MOST_SLOTS, Refused, Wanted, distance};
use crate::unwind::drop_each;

/// The counters of a ring. A side's position is also the number of its pushes, or pops.
pub(super) struct Counters {
    producers: Padded<HeadTail>,
    consumers: Padded<HeadTail>,
}

impl Variables for Counters {
    fn new(first: u64) -> Self {
        let cursors = || Padded(HeadTail::new(first, 0));
        Self { producers: cursors(), consumers: cursors() }
    }
}

impl Counters {
    /// Pushes so far, from any number on; 63 bits, which may wrap.
    pub(super) fn pushes(&self) -> u64 {
        self.producers.tail()
    }

    /// Pops so far, from the same number on.
    pub(super) fn pops(&self) -> u64 {
        self.consumers.tail()
    }

    /// Items inside.
    pub(super) fn len(&self) -> u64 {
        // Pops first, so that a ring without items seems to have none.
        let pops = self.pops();
        distance(pops, self.pushes())
    }

    /// Whether no pop is unfinished.
    fn rests(&self) -> bool {
        self.consumers.rests_at(self.pops())
    }
}

/// What all handles share besides the rings.
pub(super) struct Header<T> {
    /// Handles made so far: each has random numbers of its own.
    handles: AtomicU64,
    /// Producers made so far that have a ring of their own.
    producers: AtomicU64,
    items: PhantomData<T>,
}

impl<T> Header<T> {
    fn new() -> Self {
        Self { handles: AtomicU64::new(2), producers: AtomicU64::new(1), items: PhantomData }
    }
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Parts<Counters, T>;

    fn drop_items(&self, parts: &Parts<Counters, T>) {
        let mut left = (0..parts.count()).flat_map(|part| {
            let Counters { producers, consumers } = parts.at(part);
            // A handle in the middle of a call is never dropped, so no call is unfinished.
            let (read, write) = (consumers.done().unwrap_or(0), producers.done().unwrap_or(0));
            (0..distance(read, write)).map(move |i| (part, read.wrapping_add(i)))
        });
        // SAFETY: these slots hold items that were never popped, and each is listed once.
        drop_each(|| left.next().map(|(part, position)| unsafe { parts.read(part, position) }));
    }
}

/// A part of a handle: its access to the queue.
pub(super) type Side<T> = End<Header<T>>;

/// Both ends of a queue of at most `rings` rings, with `config.capacity` slots together.
pub(super) fn open<T: Send>(
    config: Config,
    rings: usize,
) -> Result<(Side<T>, Side<T>), CapacityError> {
    config.only(&[])?;
    let shape = PartShape::of::<Header<T>>(config, rings, MOST_SLOTS)?;
    ends(config.memory, shape, Header::new())
}

/// The same of `rings` rings with `config.capacity` slots each.
pub(super) fn open_each<T: Send>(
    config: Config,
    rings: usize,
) -> Result<(Side<T>, Side<T>), CapacityError> {
    config.only(&[])?;
    let shape = PartShape::of_each::<Header<T>>(config, rings, MOST_SLOTS)?;
    ends(config.memory, shape, Header::new())
}

impl<T> Side<T> {
    /// The number of a new handle: 2 or more. The first two handles have the numbers 0 and 1.
    pub(super) fn next_handle(&self) -> u64 {
        // Relaxed: only the number matters.
        self.header().handles.fetch_add(1, Ordering::Relaxed)
    }

    /// The ring of a new producer. The first producer has ring 0.
    pub(super) fn next_ring(&self) -> usize {
        // Relaxed: as above.
        let number = self.header().producers.fetch_add(1, Ordering::Relaxed);
        number as usize & (self.slots().count() - 1)
    }

    /// Items inside.
    pub(super) fn len(&self) -> usize {
        let len: u64 = self.slots().iter().map(Counters::len).sum();
        (len as usize).min(self.slots().total())
    }

    /// Whether all rings were empty at one moment.
    pub(super) fn is_empty(&self) -> bool {
        self.slots().all_at_once(Counters::pushes, |ring| ring.len() == 0)
    }

    /// Whether all rings were full at one moment, and no pop was unfinished.
    pub(super) fn is_full(&self) -> bool {
        let n = self.slots().each() as u64;
        self.slots().all_at_once(Counters::pops, |ring| ring.len() >= n && ring.rests())
    }

    /// Whether this ring is full, and no pop from it is unfinished.
    pub(super) fn is_full_ring(&self, ring: usize) -> bool {
        let (ring, n) = (self.slots().at(ring), self.slots().each() as u64);
        ring.rests() && ring.len() >= n
    }

    /// A ring at random.
    #[inline]
    pub(super) fn any(&self, random: &mut Random) -> usize {
        random.below(self.slots().count())
    }

    /// Takes a free slot of this ring.
    #[inline]
    pub(super) fn take_slot(&self, ring: usize) -> Result<Run, Refused> {
        let n = self.slots().each() as u64;
        let Counters { producers, consumers } = self.slots().at(ring);
        producers.take(Wanted::UpTo(1), || consumers.tail().wrapping_add(n))
    }

    /// Takes a free slot of any ring, `first` last.
    #[cold]
    pub(super) fn take_slot_behind(&self, first: usize) -> Result<(usize, Run), TryPushError<()>> {
        while !self.is_full() {
            let mut is_busy = false;
            for ring in self.slots().behind(first) {
                match self.take_slot(ring) {
                    Ok(run) => return Ok((ring, run)),
                    Err(Refused::Busy) => is_busy = true,
                    Err(Refused::Short(_)) => is_busy |= !self.slots().at(ring).rests(),
                }
            }
            if is_busy {
                return Err(TryPushError::Busy(()));
            }
        }
        Err(full(self.peer_is_gone(), ()))
    }

    /// Fills a slot that [`take_slot`](Self::take_slot) has returned.
    #[inline]
    pub(super) fn fill(&self, (ring, run): (usize, Run), item: T) {
        // SAFETY: the slot's last item has been taken, and the slot is allocated to this thread
        // alone.
        unsafe { self.slots().write(ring, run.position, item) };
        self.slots().at(ring).producers.finish(run);
    }

    /// Takes the oldest item of this ring.
    #[inline]
    pub(super) fn take_item(&self, ring: usize) -> Result<T, Refused> {
        let Counters { producers, consumers } = self.slots().at(ring);
        let run = consumers.take(Wanted::UpTo(1), || producers.tail())?;
        // SAFETY: the slot holds an item, and is reserved to this thread alone.
        let item = unsafe { self.slots().read(ring, run.position) };
        consumers.finish(run);
        Ok(item)
    }

    /// Takes an item of any ring, `first` last.
    #[cold]
    pub(super) fn take_item_behind(&self, first: usize) -> Result<T, TryPopError> {
        while !self.is_empty() {
            let mut is_busy = false;
            for ring in self.slots().behind(first) {
                match self.take_item(ring) {
                    Ok(item) => return Ok(item),
                    Err(refused) => is_busy |= matches!(refused, Refused::Busy),
                }
            }
            if is_busy {
                return Err(TryPopError::Busy);
            }
        }
        Err(TryPopError::Empty)
    }
}
