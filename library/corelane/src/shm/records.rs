//! Records of several processes: a ring that all of them share.

use alloc::alloc::Layout;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use core::ptr::NonNull;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::bells::{ALL, LAST_LOOK, Link, Word};
use super::carried::{Kind, OfRecords, Sizes, end};
use super::error::Error;
use super::file::{Seat, Seats};
use super::places::{Place, SharedBells};
use super::{Many, ManyRecordConsumer, ManyRecordProducer, Side};
use crate::bytes::ClaimError;
use crate::bytes::record::{Claims, Records};
use crate::memory::{AtomicU32, Barrier};
use crate::pad::Padded;
use crate::queue::{CapacityError, Config, TryPopError};
use crate::region::shared::{Leaves, found, shared_layout};
use crate::seat_ring::{self, Geometry, Header, Ring, SEATS, SLOTS};
use crate::wait;

impl OfRecords for Many<[u8]> {
    const MOST: usize = SLOTS;

    fn size_of_record(len: usize) -> usize {
        seat_ring::size_of_record(len)
    }

    fn max_len(sizes: Sizes) -> usize {
        geometry(sizes).map_or(0, Geometry::max_len)
    }
}

fn geometry(sizes: Sizes) -> Result<Geometry, CapacityError> {
    let config = Config::new(sizes.capacity);
    Geometry::new(if sizes.longest == 0 { config } else { config.block(sizes.longest) })
}

/// The seats of each side.
fn all_seats() -> [Seats; 2] {
    let count = SEATS as u32;
    [0, count].map(|first| Seats { first, count, is_shared: false })
}

impl Kind for Many<[u8]> {
    type Producer = ManyRecordProducer;
    type Consumer = ManyRecordConsumer;
    type Item = u8;
    const QUEUE: [u8; 8] = *b"seatring";
    const ITEM: (usize, usize) = (1, 8);

    fn name() -> &'static str {
        <[u8]>::name()
    }

    fn seats(_: Sizes) -> [Seats; 2] {
        all_seats()
    }

    fn layout(sizes: Sizes) -> Result<Layout, CapacityError> {
        Ok(shared_layout::<Header>(geometry(sizes)?.len()))
    }

    unsafe fn found(link: &Link, sizes: Sizes) -> Result<(), CapacityError> {
        let geometry = geometry(sizes)?;
        // SAFETY: the caller's contract. A header for position 0 is zeros.
        let words = unsafe { found::<Header>(link.queue(), geometry.len()) };
        seat_ring::begin(&words, geometry, 0);
        Ok(())
    }

    unsafe fn producer(
        link: &Arc<Link>,
        sizes: Sizes,
        seat: Seat,
    ) -> Result<ManyRecordProducer, Error> {
        let (geometry, number) = (geometry(sizes)?, seat.number as u16);
        let bells = SharedBells::new(link, Place::new(link, Side::Producer, seat), Side::Producer);
        // SAFETY: the caller's contract.
        let end = unsafe { end(link, geometry.len(), Side::Producer, Leaves::Others) }?;
        // The system has released the seat, so its last handle is gone.
        let queue = seat_ring::Producer::new(end, geometry, number);
        // For threads that wait for a producer, or for what this one has recovered.
        bells.ring_for_all();
        Ok(wait::bytes::Producer::new(Claimer { queue, rescue: Rescue::new(link) }, bells))
    }

    unsafe fn consumer(
        link: &Arc<Link>,
        sizes: Sizes,
        seat: Seat,
        _: u64,
    ) -> Result<ManyRecordConsumer, Error> {
        let (geometry, number) = (geometry(sizes)?, seat.number as u16);
        let bells = SharedBells::new(link, Place::new(link, Side::Consumer, seat), Side::Consumer);
        // SAFETY: the caller's contract.
        let end = unsafe { end(link, geometry.len(), Side::Consumer, Leaves::Others) }?;
        // As above.
        let queue = seat_ring::Consumer::new(end, geometry, number);
        bells.ring_for_all();
        Ok(wait::bytes::Consumer::new(Reader { queue, rescue: Rescue::new(link) }, bells))
    }
}

/// The time in which calls fail before the handle first looks for dead processes.
const FIRST_RESCUE: Duration = Duration::from_millis(60);

/// When a handle that can't go on next looks for what dead processes have left.
#[derive(Debug)]
struct Rescue {
    link: Arc<Link>,
    /// Where consumers sleep, and producers.
    sleepers: [Word; 2],
    next: Option<Instant>,
    after: Duration,
}

impl Rescue {
    fn new(link: &Arc<Link>) -> Self {
        let (header, barrier) = (link.header(), Barrier::between_processes());
        let word = |word: &Padded<AtomicU32>| {
            // SAFETY: the word is in the lane, which the link keeps mapped.
            unsafe { Word::new(NonNull::from(&word.0), ALL, barrier) }
        };
        let sleepers = [word(&header.items), word(&header.room)];
        Self { link: link.clone(), sleepers, next: None, after: FIRST_RESCUE }
    }

    /// The handle goes on.
    #[inline]
    fn is_over(&mut self) {
        // The time of the next look stays: what a dead process has may wait behind steady traffic.
        self.after = FIRST_RESCUE;
    }

    /// The handle can't go on. From time to time this recovers what dead processes have left.
    /// Returns whether there was anything.
    #[cold]
    #[inline(never)]
    fn look(&mut self, ring: &Ring) -> bool {
        let now = Instant::now();
        let is_due = self.next.is_some_and(|next| now >= next);
        if is_due {
            self.after = (2 * self.after).min(LAST_LOOK);
        }
        if is_due || self.next.is_none() {
            self.next = Some(now + self.after);
        }
        is_due && self.recover(ring)
    }

    fn recover(&self, ring: &Ring) -> bool {
        let users: BTreeSet<(bool, u16)> =
            ring.users().map(|(side, seat)| (side == Side::Producer, seat)).collect();
        let mut found = ring.find_forgotten();
        for (is_producer, number) in users {
            let side = if is_producer { Side::Producer } else { Side::Consumer };
            let seat = all_seats()[side as usize].only(number.into());
            // Taken by a live process, or by one that recovers it just now. While this process has
            // the seat, no other one does.
            if seat.are_taken(self.link.file.as_fd()) {
                continue;
            }
            let Ok(Some(seat)) = seat.take(self.link.file.as_fd()) else { continue };
            found |= ring.recover(side, number);
            drop(seat);
            // The last handle of the side may have left meanwhile, and found this seat taken.
            found |= self.link.close_if_free(side).is_some();
        }
        if found {
            self.sleepers.iter().for_each(Word::ring_for_all);
        }
        found
    }
}

impl Claimer {
    pub(super) fn records(&self) -> usize {
        self.queue.records()
    }
}

impl Reader {
    pub(super) fn records(&self) -> usize {
        self.queue.records()
    }
}

/// A producer that recovers what dead processes have left.
#[derive(Debug)]
pub struct Claimer {
    queue: seat_ring::Producer,
    rescue: Rescue,
}

impl Claims for Claimer {
    type Allocated = seat_ring::Allocated;
    type Room<'a> = seat_ring::Room<'a>;
    const CHANGES_IN_VAIN: bool = seat_ring::Producer::CHANGES_IN_VAIN;

    #[inline]
    fn allocate(&mut self, len: usize) -> Result<seat_ring::Allocated, ClaimError> {
        match self.queue.allocate(len) {
            Err(ClaimError::Full | ClaimError::Busy) if self.rescue.look(&self.queue.ring) => {
                self.queue.allocate(len)
            }
            Ok(allocated) => {
                self.rescue.is_over();
                Ok(allocated)
            }
            error => error,
        }
    }

    #[inline]
    unsafe fn room(&mut self, allocated: seat_ring::Allocated) -> seat_ring::Room<'_> {
        // SAFETY: the caller's contract.
        unsafe { self.queue.room(allocated) }
    }

    fn capacity(&self) -> usize {
        self.queue.capacity()
    }

    fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    fn max_len(&self) -> usize {
        self.queue.max_len()
    }

    fn most_records(&self, len: usize) -> usize {
        self.queue.most_records(len)
    }
}

/// A consumer that recovers what dead processes have left.
#[derive(Debug)]
pub struct Reader {
    queue: seat_ring::Consumer,
    rescue: Rescue,
}

// SAFETY: as the queue's own.
unsafe impl Records for Reader {
    type Found = seat_ring::Found;

    #[inline]
    fn reserve(&mut self, freed: &mut bool) -> Result<(seat_ring::Found, usize), TryPopError> {
        match self.queue.reserve(freed) {
            Ok(found) => {
                self.rescue.is_over();
                Ok(found)
            }
            // Before the end, what dead consumers had not given back comes again.
            Err(TryPopError::Closed) if self.rescue.recover(&self.queue.ring) => {
                self.queue.reserve(freed)
            }
            Err(_) if self.rescue.look(&self.queue.ring) => self.queue.reserve(freed),
            error => error,
        }
    }

    #[inline]
    unsafe fn bytes(&self, found: seat_ring::Found, len: usize) -> *const u8 {
        // SAFETY: the caller's contract.
        unsafe { self.queue.bytes(found, len) }
    }

    #[inline]
    unsafe fn release(&mut self, found: seat_ring::Found, len: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.queue.release(found, len) }
    }

    fn capacity(&self) -> usize {
        self.queue.capacity()
    }

    fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }
}

impl ManyRecordProducer {
    /// From now on this handle finds the lane full when `records` records are inside.
    #[must_use]
    pub fn limit(mut self, records: usize) -> Self {
        self.queue.queue.limit(records);
        self
    }
}
