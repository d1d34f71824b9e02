//! Handles of a side that has several: their seats, and where they sleep.

use alloc::sync::Arc;
use core::ptr::NonNull;
use std::os::fd::RawFd;

use super::Side;
use super::bells::{Bell, Link, ONE, Sleeps};
use super::file::Seat;
use crate::wait::sealed;

/// A seat of one of several handles of a side.
#[derive(Debug)]
pub(super) struct Place {
    link: Arc<Link>,
    side: Side,
    seat: Option<Seat>,
}

impl Place {
    pub(super) fn new(link: &Arc<Link>, side: Side, seat: Seat) -> Self {
        Self { link: link.clone(), side, seat: Some(seat) }
    }

    /// The descriptor of the seat.
    pub(super) fn seat(&self) -> Option<RawFd> {
        self.seat.as_ref().map(Seat::descriptor)
    }

    /// Gives the seat back, and closes the side if it was the side's last seat.
    pub(super) fn leave(&mut self) {
        if self.seat.take().is_some() {
            self.link.close_if_free(self.side);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Where the consumers sleep, as a process of `side` sees it.
pub(super) fn items(link: &Arc<Link>, side: Side, wakes: u32) -> Bell {
    // SAFETY: the word is in the lane.
    unsafe { Bell::new(link, side, NonNull::from(&link.header().items.0), wakes) }
}

/// The bells of a handle: one at which all handles of its side sleep, and one that it rings.
#[derive(Debug)]
pub struct SharedBells {
    items: Bell,
    room: Bell,
    side: Side,
    place: Place,
}

impl SharedBells {
    pub(super) fn new(link: &Arc<Link>, place: Place, side: Side) -> Self {
        let word = NonNull::from(&link.header().room.0);
        // SAFETY: the word is in the lane.
        let room = unsafe { Bell::new(link, Side::Producer, word, ONE) };
        Self { items: items(link, Side::Consumer, ONE), room, side, place }
    }

    pub(super) fn ring_for_all(&self) {
        self.items.ring_for_all();
        self.room.ring_for_all();
    }
}

impl Sleeps for SharedBells {
    fn seat(&self) -> Option<RawFd> {
        self.place.seat()
    }

    fn own(&self) -> &Bell {
        match self.side {
            Side::Producer => &self.room,
            Side::Consumer => &self.items,
        }
    }
}

impl sealed::Bells for SharedBells {
    type Items = Bell;
    type Room = Bell;
    const HAS_SEVERAL: bool = true;

    #[inline(always)]
    fn items(&self) -> &Bell {
        &self.items
    }

    #[inline(always)]
    fn room(&self) -> &Bell {
        &self.room
    }
}

impl Drop for SharedBells {
    fn drop(&mut self) {
        self.place.leave();
        self.ring_for_all();
    }
}
