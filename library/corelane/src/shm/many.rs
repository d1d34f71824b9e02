//! Lanes side by side: several processes push, each in its own lane, and several pop from all of
//! them.

use alloc::alloc::Layout;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use std::os::fd::RawFd;
use std::time::Instant;

use super::bells::{Bell, Link, ONE, Sleeps, Word};
use super::carried::{Kind, Named, Sizes, end};
use super::error::Error;
use super::file::{Seat, Seats};
use super::places::{Place, items};
use super::{Item, Lanes, ManyConsumer, ManyProducer, Side};
use crate::lanes::{self, Header, Shape};
use crate::memory::{AtomicU32, Barrier};
use crate::pad::Padded;
use crate::queue::{self, CapacityError, TryPopError, answered_by, handles};
use crate::region::shared::{Leaves, found, shared_layout};
use crate::spin::Retries;
use crate::wait;
use crate::wait::Waits;
use crate::wait::bell::Look;
use crate::wait::sealed::{self, Rings};

/// Items or byte records of several producers, for several consumers: what [`Lanes`] carry.
pub struct Many<T: ?Sized>(PhantomData<fn(&T) -> &T>);

/// Most producers.
const MOST: usize = 1 << 16;

impl<T: Item> Lanes<T> {
    /// Makes lanes for up to `producers` producers at a time, each with room for at least
    /// `capacity` items. Consumers may be any number.
    ///
    /// # Errors
    ///
    /// If one of the numbers is 0 or too large, or as [`create`](super::Lane::create).
    pub fn create_for_producers(producers: usize, capacity: usize) -> Result<Self, Error> {
        if producers == 0 || producers > MOST {
            return Err(CapacityError::OutOfRange { asked: producers, most: MOST }.into());
        }
        Self::of(Sizes { capacity, longest: producers }, Named::of::<Many<T>>())
    }

    /// How many producers there may be at a time.
    pub fn producers(&self) -> usize {
        producers(self.sizes)
    }
}

/// How many producers there may be, if the caller didn't say.
const USUAL: usize = 16;

fn producers(sizes: Sizes) -> usize {
    if sizes.longest == 0 { USUAL } else { sizes.longest.min(MOST) }
}

fn shape<T>(sizes: Sizes) -> Result<Shape, CapacityError> {
    let shape = Shape::new::<T>(producers(sizes), sizes.capacity)?;
    let each = size_of::<T>() + size_of::<u64>();
    match shape.lanes.checked_mul(shape.len).and_then(|slots| slots.checked_mul(each)) {
        Some(bytes) if bytes < isize::MAX as usize / 4 => Ok(shape),
        _ => Err(CapacityError::OutOfMemory { bytes: usize::MAX }),
    }
}

/// Where each producer sleeps: behind the queue. Returns the layout of both, and the place.
fn with_words<T>(shape: Shape) -> (Layout, usize) {
    let words = Layout::array::<Padded<AtomicU32>>(shape.lanes);
    let both = shared_layout::<Header<T>>(shape).extend(words.expect("there are at most 65,536"));
    both.expect("the shape bounds it")
}

impl<T: Item> Kind for Many<T> {
    type Producer = ManyProducer<T>;
    type Consumer = ManyConsumer<T>;
    type Item = T;
    const QUEUE: [u8; 8] = *b"lanes\0\0\0";

    fn seats(sizes: Sizes) -> [Seats; 2] {
        let count = producers(sizes) as u32;
        [Seats { first: 2, count, is_shared: false }, Seats { first: 1, count: 1, is_shared: true }]
    }

    fn layout(sizes: Sizes) -> Result<Layout, CapacityError> {
        Ok(with_words::<T>(shape::<T>(sizes)?).0)
    }

    unsafe fn found(link: &Link, sizes: Sizes) -> Result<(), CapacityError> {
        // SAFETY: the caller's contract. The header of empty lanes is zeros.
        let lanes = unsafe { found::<Header<T>>(link.queue(), shape::<T>(sizes)?) };
        lanes::begin(&lanes, 0);
        Ok(())
    }

    unsafe fn producer(
        link: &Arc<Link>,
        sizes: Sizes,
        seat: Seat,
    ) -> Result<ManyProducer<T>, Error> {
        let (shape, number) = (shape::<T>(sizes)?, seat.number as usize);
        let place = Place::new(link, Side::Producer, seat);
        // SAFETY: the lane was made with this shape, and the seat is one of its lanes.
        let room = unsafe { Bell::new(link, Side::Producer, room::<T>(link, shape, number), ONE) };
        let bells = Sending { items: items(link, Side::Consumer, ONE), room, place };
        // SAFETY: the caller's contract. The seat is that of this lane.
        let end = unsafe { end(link, shape, Side::Producer, Leaves::Others) }?;
        let tx = lanes::Producer::resume(end, number)?;
        // For threads that wait for a producer.
        bells.items.ring_for_all();
        Ok(wait::Producer::new(tx, bells))
    }

    unsafe fn consumer(
        link: &Arc<Link>,
        sizes: Sizes,
        seat: Seat,
        _: u64,
    ) -> Result<ManyConsumer<T>, Error> {
        let shape = shape::<T>(sizes)?;
        let place = Place::new(link, Side::Consumer, seat);
        let barrier = Barrier::between_processes();
        // SAFETY: the lane was made with this shape. The place keeps it mapped.
        let room = |number| unsafe { Word::new(room::<T>(link, shape, number), ONE, barrier) };
        // SAFETY: the caller's contract. There may be several consumers.
        let end = unsafe { end(link, shape, Side::Consumer, Leaves::Others) }?;
        let rooms = (0..shape.lanes).map(room).collect();
        let seat = place.seat();
        let rx = Taker { queue: lanes::Consumer::new(end), rooms, place };
        // For threads that wait for a consumer.
        rx.rooms.iter().for_each(Word::ring_for_all);
        Ok(wait::Consumer::new(
            rx,
            Taking { items: items(link, Side::Consumer, ONE), none: Silent, seat },
        ))
    }
}

/// Where the producer of a lane sleeps.
///
/// # Safety
///
/// The lanes were made with this shape, and this one exists.
unsafe fn room<T>(link: &Link, shape: Shape, number: usize) -> NonNull<AtomicU32> {
    let at = with_words::<T>(shape).1;
    // SAFETY: the caller's contract: there is room for a word for each lane, and zeros make one.
    unsafe { link.queue().add(at).cast::<Padded<AtomicU32>>().add(number).cast() }
}

/// The bells of a producer: one at which it sleeps, and one that it rings.
#[derive(Debug)]
pub struct Sending {
    items: Bell,
    room: Bell,
    place: Place,
}

impl Sleeps for Sending {
    fn seat(&self) -> Option<RawFd> {
        self.place.seat()
    }

    fn own(&self) -> &Bell {
        &self.room
    }
}

impl Sleeps for Taking {
    fn seat(&self) -> Option<RawFd> {
        self.seat
    }

    fn own(&self) -> &Bell {
        &self.items
    }
}

impl sealed::Bells for Sending {
    type Items = Bell;
    type Room = Bell;

    #[inline(always)]
    fn items(&self) -> &Bell {
        &self.items
    }

    #[inline(always)]
    fn room(&self) -> &Bell {
        &self.room
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.place.leave();
        self.items.ring_for_all();
    }
}

/// The bell at which a consumer sleeps. After a pop it rings others: see [`Taker`].
#[derive(Debug)]
pub struct Taking {
    items: Bell,
    none: Silent,
    /// The descriptor of the seat, which the [`Taker`] has.
    seat: Option<RawFd>,
}

/// In place of a bell that other code rings.
#[derive(Debug)]
pub struct Silent;

impl sealed::Bells for Taking {
    type Items = Bell;
    type Room = Silent;

    #[inline(always)]
    fn items(&self) -> &Bell {
        &self.items
    }

    #[inline(always)]
    fn room(&self) -> &Silent {
        &self.none
    }
}

impl Rings for Silent {
    #[inline(always)]
    fn ring(&self) {}

    #[inline(always)]
    fn ring_for(&self, _: usize) {}

    fn sleep<R>(&self, _: &mut Waits, _: Option<Instant>, _: impl FnMut() -> Look<R>) -> Option<R> {
        unreachable!("consumers wait for items")
    }
}

/// A consumer that rings the bell of the producer whose item it has taken.
pub struct Taker<T> {
    queue: lanes::Consumer<T>,
    rooms: Box<[Word]>,
    place: Place,
}

impl<T: Item> queue::Consumer for Taker<T> {
    type Item = T;

    #[inline(always)] // as the queue's own
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        match self.queue.try_pop() {
            Ok(item) => {
                self.rooms[self.queue.last_lane()].ring();
                Ok(item)
            }
            Err(error) => {
                self.ring_for_given_back();
                Err(error)
            }
        }
    }

    fn pop_slice(&mut self, into: &mut [T]) -> usize {
        let (mut retries, mut done) = (Retries::default(), 0);
        while done < into.len() {
            match self.queue.pop_some(&mut into[done..]) {
                Ok(taken) => {
                    done += taken;
                    self.rooms[self.queue.last_lane()].ring();
                }
                Err(error) if retries.again(error == TryPopError::Busy) => {}
                Err(_) => break,
            }
        }
        self.ring_for_given_back();
        done
    }

    answered_by!(handle: queue);

    fn len(&mut self) -> usize {
        self.queue.len()
    }

    fn is_empty(&mut self) -> bool {
        self.queue.is_empty()
    }
}

impl<T: Item> Taker<T> {
    /// Rings for slots that a dead consumer had read: their producer may sleep.
    fn ring_for_given_back(&mut self) {
        if let Some(lane) = self.queue.given_back() {
            self.rooms[lane].ring();
        }
    }
}

impl<T> Drop for Taker<T> {
    fn drop(&mut self) {
        self.place.leave();
        self.rooms.iter().for_each(Word::ring_for_all);
    }
}

handles! {
    [T: Item] Taker<T>: consumer of T;
}

impl<T: ?Sized> fmt::Debug for Many<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Many")
    }
}
