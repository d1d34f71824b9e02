//! Where processes sleep: a word of the lane for each side, on which the kernel lets a thread
//! sleep.
//!
//! [`wait::word`](crate::wait::word) defines the contents of the word. This module has the system
//! calls.

use alloc::sync::Arc;
use core::cell::Cell;
use core::ptr::NonNull;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::thread::futex;
use rustix::time::Timespec;

use super::file::{Seat, Seats};
use super::header::{Header, QUEUE_AT};
use super::{Peer, Side};
use crate::memory::{AtomicU32, Barrier, Ordering, yield_now};
use crate::pad::Padded;
use crate::region::shared::{Mapping, Presence, presence};
use crate::wait::Waits;
use crate::wait::bell::Look;
use crate::wait::sealed::{self, Rings};
use crate::wait::thread::is_over;
use crate::wait::word::{Knows, SLEEPERS, Sleeper};

/// The time after which a sleeper first checks whether the other process lives. The following
/// intervals double. With a shorter time a sleep would cost twice as much: a timer that is due
/// sooner than the others of its core costs as much as the sleep.
const FIRST_LOOK: Duration = Duration::from_millis(64);
/// Without a fence a wake-up may be lost, so a sleeper looks again soon.
pub(super) const UNFENCED: Duration = Duration::from_millis(1);
/// The longest of these times.
pub(super) const LAST_LOOK: Duration = Duration::from_secs(1);

/// How long a producer sleeps before each look for room in a long queue. The system adds some 50
/// microseconds to each.
const NAPS: [Duration; 4] = {
    let micros = Duration::from_micros;
    [micros(50), micros(100), micros(200), micros(400)]
};

/// A lane, as one process sees it.
#[derive(Debug)]
pub struct Link {
    pub(super) mapping: Arc<Mapping>,
    /// For questions about locks: it has none itself.
    pub(super) file: OwnedFd,
    /// Of the producers and of the consumers.
    pub(super) seats: [Seats; 2],
}

impl Link {
    pub(super) fn header(&self) -> &Header {
        // SAFETY: the lane was made with a header at its start, which consists of atomics.
        unsafe { self.mapping.base().cast().as_ref() }
    }

    /// Where the queue is.
    pub(super) fn queue(&self) -> NonNull<u8> {
        // SAFETY: the mapping is longer than this.
        unsafe { self.mapping.base().add(QUEUE_AT) }
    }

    pub(super) fn presence(&self) -> &Presence {
        // SAFETY: a queue was made here, and the mapping lives as long as this.
        unsafe { presence(self.queue()) }
    }

    /// Closes the side if its owners are dead. Returns whether it has.
    pub(super) fn bury(&self, side: Side) -> bool {
        let epoch = self.close_if_free(side);
        if let Some(epoch) = epoch {
            // Relaxed: it is only for the user.
            self.header().died[side as usize].store(epoch + 1, Ordering::Relaxed);
        }
        epoch.is_some()
    }

    /// Closes the side if no process has it any more, and returns its epoch.
    pub(super) fn close_if_free(&self, side: Side) -> Option<u64> {
        let presence = self.presence();
        let seen = presence.seen();
        let epoch = Presence::epoch(side, seen);
        let seats = self.seats[side as usize];
        // No process has taken it yet, or it is closed already.
        if epoch == 0 || Presence::was_gone(side, seen) || seats.are_taken(self.file.as_fd()) {
            return None;
        }
        presence.bury(side, seen).then_some(epoch)
    }

    /// The state of the owner of a side, as far as it is known.
    pub(super) fn peer(&self, side: Side) -> Peer {
        self.bury(side);
        let seen = self.presence().seen();
        let epoch = Presence::epoch(side, seen);
        let died = self.header().died[side as usize].load(Ordering::Relaxed) == epoch + 1;
        match Presence::was_gone(side, seen) {
            _ if epoch == 0 => Peer::Absent,
            false => Peer::Alive,
            true if died => Peer::Died,
            true => Peer::Left,
        }
    }
}

/// The bells of a lane, as the owner of a side has them. Dropped after the handle of the queue.
#[derive(Debug)]
pub struct Bells {
    items: Bell,
    room: Bell,
    side: Side,
    /// Given back last.
    seat: Seat,
}

/// A word at which threads of other processes sleep.
#[derive(Debug)]
pub(super) struct Word {
    /// In memory that stays mapped.
    word: NonNull<AtomicU32>,
    knows: Knows,
    /// The number of threads that a push or pop wakes.
    wakes: u32,
}

/// One thread.
pub(super) const ONE: u32 = 1;
/// All threads.
pub(super) const ALL: u32 = SLEEPERS;

// SAFETY: it points into memory that any thread may use. It isn't `Sync`.
unsafe impl Send for Word {}

impl Word {
    /// # Safety
    ///
    /// `word` stays mapped as long as this lives.
    pub(super) unsafe fn new(word: NonNull<AtomicU32>, wakes: u32, barrier: Barrier) -> Self {
        Self { word, knows: Knows::new(barrier), wakes }
    }

    #[inline(always)]
    pub(super) fn get(&self) -> &AtomicU32 {
        // SAFETY: the contract of `new`.
        unsafe { self.word.as_ref() }
    }

    /// Wakes a thread that sleeps here.
    #[inline(always)] // the price of each push and pop
    pub(super) fn ring(&self) {
        self.ring_for(self.wakes);
    }

    /// Wakes up to `n` threads that sleep here.
    #[inline(always)]
    fn ring_for(&self, n: u32) {
        if self.knows.ring(self.get(), n) {
            self.wake(n);
        }
    }

    /// Wakes all threads that sleep here.
    pub(super) fn ring_for_all(&self) {
        self.ring_for(ALL);
    }

    #[cold]
    #[inline(never)]
    fn wake(&self, n: u32) {
        let wake = |n| {
            let most = if n == ALL { i32::MAX as u32 } else { n };
            futex::wake(self.get(), futex::Flags::empty(), most)
        };
        // Fails only for addresses that are not mapped.
        if wake(n) == Ok(0) && self.knows.has_sleepers(self.get()) {
            self.knows.ring(self.get(), ALL);
            let _ = wake(ALL);
        }
    }
}

/// Where the threads of one side sleep.
#[derive(Debug)]
pub struct Bell {
    /// In the memory that `link` keeps mapped.
    word: Word,
    /// When this side next checks whether the other process lives, and the time until then.
    pub(super) next_look: Cell<(Option<Instant>, Duration)>,
    /// The side that sleeps here.
    pub(super) sleeper: Side,
    pub(super) link: Arc<Link>,
}

impl Bells {
    /// For the owner of a side.
    pub(super) fn new(link: &Arc<Link>, side: Side, seat: Seat) -> Self {
        let Header { items, room, .. } = link.header();
        // SAFETY: both words are in the lane.
        let (items, room) = unsafe {
            // Wakes all threads, because one of them may still sleep for a task that is gone.
            let bell =
                |side, word: &Padded<AtomicU32>| Bell::new(link, side, NonNull::from(&word.0), ALL);
            (bell(Side::Consumer, items), bell(Side::Producer, room))
        };
        Self { items, room, side, seat }
    }

    /// Wakes all sleepers, so that they see that an owner has come or gone.
    fn ring(&self) {
        self.items.word.ring_for_all();
        self.room.word.ring_for_all();
    }

    /// Rings for a new owner: a thread may wait for the owner, or for the room that has come back.
    pub(super) fn rung(self) -> Self {
        self.ring();
        self
    }
}

/// The bells of a process that sleeps at one of them.
pub trait Sleeps: sealed::Bells {
    /// Where this side sleeps.
    fn own(&self) -> &Bell;

    /// The descriptor of the handle's seat, if it is here.
    fn seat(&self) -> Option<RawFd> {
        None
    }
}

impl Sleeps for Bells {
    fn seat(&self) -> Option<RawFd> {
        Some(self.seat.descriptor())
    }

    fn own(&self) -> &Bell {
        match self.side {
            Side::Producer => &self.room,
            Side::Consumer => &self.items,
        }
    }
}

impl sealed::Bells for Bells {
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

impl Drop for Bells {
    fn drop(&mut self) {
        self.ring();
    }
}

impl Bell {
    /// # Safety
    ///
    /// `word` is in the memory of the lane.
    pub(super) unsafe fn new(
        link: &Arc<Link>,
        sleeper: Side,
        word: NonNull<AtomicU32>,
        wakes: u32,
    ) -> Self {
        // SAFETY: the link keeps the lane mapped.
        let word = unsafe { Word::new(word, wakes, Barrier::between_processes()) };
        Self { word, next_look: Cell::new((None, FIRST_LOOK)), sleeper, link: link.clone() }
    }

    pub(super) fn word(&self) -> &AtomicU32 {
        self.word.get()
    }

    /// Wakes all sleepers of this bell, so that they see that an owner has come or gone.
    pub(super) fn ring_for_all(&self) {
        self.word.ring_for_all();
    }

    /// Says that this thread is about to sleep: see [`Knows::announce`].
    pub(super) fn announce(&self) -> Sleeper {
        self.word.knows.announce(self.word())
    }

    /// Sleeps until the word changes, for at most `time`.
    fn sleep_at_word(&self, sleeper: Sleeper, time: Duration) {
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        // Also ends without a wake-up: then the caller looks again.
        let _ = futex::wait(self.word(), futex::Flags::empty(), sleeper.word, Some(&time));
    }

    /// Closes the other side if its process is dead, unless it is too early for a look. Returns the
    /// time until the next look, or 0 if the side was closed. The time is kept from one wait to the
    /// next, so a dead process is found by short waits, too.
    pub(super) fn look_after_peer(&self) -> Duration {
        let now = Instant::now();
        let (next, interval) = self.next_look.get();
        match next {
            Some(next) if now < next => return next - now,
            Some(_) if self.link.bury(self.sleeper.other()) => return Duration::ZERO,
            _ => {}
        }
        let after = if next.is_some() { (2 * interval).min(LAST_LOOK) } else { FIRST_LOOK };
        self.next_look.set((Some(now + after), after));
        after
    }

    /// The state of the other side, as far as it is known.
    pub(super) fn peer(&self) -> Peer {
        self.link.peer(self.sleeper.other())
    }

    /// Changes when a process takes the other side.
    pub(super) fn epoch_of_peer(&self) -> u64 {
        Presence::epoch(self.sleeper.other(), self.link.presence().seen())
    }

    /// The other process has done something.
    pub(super) fn is_answered(&self) {
        self.next_look.set((None, FIRST_LOOK));
    }
}

impl Rings for Bell {
    #[inline(always)] // the price of each push and pop
    fn ring(&self) {
        self.word.ring();
    }

    #[inline]
    fn ring_for(&self, n: usize) {
        if n > 0 {
            self.word.ring_for(n.clamp(self.word.wakes as usize, ALL as usize) as u32);
        }
    }

    fn sleep<R>(
        &self,
        waits: &mut Waits,
        until: Option<Instant>,
        mut look: impl FnMut() -> Look<R>,
    ) -> Option<R> {
        let mut sleeper = self.announce();
        while !is_over(until) {
            match waits.count(look()) {
                Look::Done(found) => {
                    sleeper.leave(self.word());
                    self.is_answered();
                    return Some(found);
                }
                Look::Busy => {
                    // Perhaps by a process that is dead.
                    self.look_after_peer();
                    yield_now();
                }
                Look::NotYet => {
                    let begin = Instant::now();
                    let time = self.look_after_peer();
                    let time = if sleeper.is_fenced { time } else { time.min(UNFENCED) };
                    let left = until.map(|until| until.saturating_duration_since(begin));
                    self.sleep_at_word(sleeper, left.map_or(time, |left| left.min(time)));
                    waits.sleeps += 1;
                    waits.asleep += begin.elapsed();
                }
            }
            if sleeper.is_rung(self.word()) {
                sleeper = self.announce();
            }
        }
        if sleeper.leave(self.word()) && self.word.wakes == ONE {
            // For another sleeper.
            self.ring();
        }
        None
    }

    fn nap<R>(&self, until: Option<Instant>, mut look: impl FnMut() -> Look<R>) -> Option<R> {
        // One that sleeps alone is woken rarely: the other side doesn't ring for it again.
        if self.word.wakes != ONE {
            return None;
        }
        for time in NAPS {
            if is_over(until) {
                break;
            }
            std::thread::sleep(time);
            if let Look::Done(found) = look() {
                self.is_answered();
                return Some(found);
            }
        }
        None
    }

    fn check(&self) {
        self.look_after_peer();
    }
}
