//! The channel of capacity 0: a sender and a receiver meet, and the message goes from one to the
//! other.
//!
//! Waiting threads and tasks are listed under a lock. A partner *claims* the first one that it can:
//! each waiting thread or task is claimed once, although a [`Select`](super::Select) may wait in
//! several lists.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use core::task::Waker;
use core::{iter, mem};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::error::{RecvError, SendError};
use super::party::Party;
use super::sender::Sent;
use crate::carrier::Carrier;
use crate::memory::{AtomicBool, Mutex, MutexGuard, Ordering, yield_now};
use crate::queue::{TryPopError, TryPushError};
use crate::unwind::{catch_each, drop_each, go_on, quietly};
use crate::wait::bell::{Bell, Look};

/// The message that is handed over. While this is empty, the message comes as soon as the sender's
/// thread runs.
struct Hand<T> {
    message: Carrier<T>,
    /// The sender has no message after all.
    is_withdrawn: bool,
    /// The receiver takes no message any more.
    is_given_up: bool,
}

type Packet<T> = Arc<Mutex<Hand<T>>>;

/// A wait for a partner.
pub(super) struct Waiting<T> {
    /// In its list.
    number: u64,
    party: Arc<Party>,
    packet: Packet<T>,
}

impl<T> Clone for Waiting<T> {
    fn clone(&self) -> Self {
        Self { number: self.number, party: self.party.clone(), packet: self.packet.clone() }
    }
}

struct Entry<T> {
    waiting: Waiting<T>,
    choice: u64,
}

type Entries<T> = BTreeMap<u64, Entry<T>>;

/// The threads and tasks that wait.
pub(super) struct Rendezvous<T> {
    lists: Mutex<Lists<T>>,
    /// Rings when one more waits.
    pub(super) arrivals: Bell,
    /// As `is_closed` of the lists. A thread that waits reads it at each look, so that its partner
    /// gets the lock.
    closed: AtomicBool,
}

struct Lists<T> {
    /// By their numbers, which grow.
    senders: Entries<T>,
    receivers: Entries<T>,
    /// Messages whose receivers gave up at the same time.
    left: VecDeque<Carrier<T>>,
    /// Number of waits so far, and of messages in `left` so far.
    entered: u64,
    /// The senders or the receivers are gone.
    is_closed: bool,
}

impl<T> Default for Rendezvous<T> {
    fn default() -> Self {
        let lists = Lists {
            senders: BTreeMap::new(),
            receivers: BTreeMap::new(),
            left: VecDeque::new(),
            entered: 0,
            is_closed: false,
        };
        Self { lists: Mutex::new(lists), arrivals: Bell::default(), closed: AtomicBool::new(false) }
    }
}

impl<T> Drop for Rendezvous<T> {
    fn drop(&mut self) {
        // Several messages may panic.
        self.clear();
    }
}

/// Claims the first entry that can be claimed, and removes it.
fn claim<T>(entries: &mut Entries<T>) -> Option<Entry<T>> {
    let mut all = entries.iter();
    let (&number, _) = all.find(|(_, entry)| entry.waiting.party.claim(entry.choice))?;
    entries.remove(&number)
}

/// What a thread waits for.
#[derive(Clone, Copy)]
enum Side {
    Send,
    Receive,
}

impl<T> Lists<T> {
    fn enter(&mut self, side: Side, party: &Arc<Party>, index: usize) -> Waiting<T> {
        self.entered += 1;
        let hand = Hand { message: Carrier::empty(), is_withdrawn: false, is_given_up: false };
        let (number, packet) = (self.entered, Arc::new(Mutex::new(hand)));
        let waiting = Waiting { number, party: party.clone(), packet };
        let entry = Entry { waiting: waiting.clone(), choice: index as u64 + 1 };
        match side {
            Side::Send => self.senders.insert(number, entry),
            Side::Receive => self.receivers.insert(number, entry),
        };
        waiting
    }

    fn remove(&mut self, waiting: &Waiting<T>) {
        self.senders.remove(&waiting.number);
        self.receivers.remove(&waiting.number);
    }

    /// Takes a message that was left, or claims a sender.
    fn try_recv(&mut self, message: &mut Carrier<T>) -> Result<Option<Entry<T>>, TryPopError> {
        if let Some(mut left) = self.left.pop_front() {
            left.move_to(message);
            return Ok(None);
        }
        match claim(&mut self.senders) {
            Some(entry) => Ok(Some(entry)),
            None if self.is_closed => Err(TryPopError::Closed),
            None => Err(TryPopError::Empty),
        }
    }
}

/// Takes the message of a claimed sender, which is there or comes soon. Returns whether it was not
/// withdrawn.
fn take<T>(packet: &Packet<T>, message: &mut Carrier<T>) -> bool {
    loop {
        if let Some(is_there) = take_now(packet, message) {
            return is_there;
        }
        yield_now();
    }
}

/// As [`take`]. `None` if it comes later.
fn take_now<T>(packet: &Packet<T>, message: &mut Carrier<T>) -> Option<bool> {
    let mut hand = packet.lock();
    hand.message.move_to(message);
    (message.has_item() || hand.is_withdrawn).then_some(message.has_item())
}

/// As [`take_now`]. If the message comes later, the wait is ended.
fn take_or_give_up<T>(packet: &Packet<T>, message: &mut Carrier<T>) -> bool {
    let mut hand = packet.lock();
    hand.message.move_to(message);
    hand.is_given_up = !message.has_item();
    message.has_item()
}

impl<T> Rendezvous<T> {
    /// Takes the message of a claimed sender, as [`take`]. Without the lock of the lists.
    fn take_from(&self, entry: &Entry<T>, message: &mut Carrier<T>) -> bool {
        let panic = catch_each([entry.waiting.party.waker()], Waker::wake);
        let is_there = take(&entry.waiting.packet, message);
        if panic.is_some() && is_there {
            // The caller doesn't return.
            quietly(|| self.leave(message));
        }
        go_on(panic);
        is_there
    }

    pub(super) fn try_send(&self, message: &mut Carrier<T>) -> Result<(), TryPushError<()>> {
        self.offer(message).map_err(|lists| match lists.is_closed {
            true => TryPushError::Closed(()),
            false => TryPushError::Full(()),
        })
    }

    /// Gives the message to a receiver that waits. If no receiver waits, returns the lock: while it
    /// is held, no receiver begins to wait.
    fn offer(&self, message: &mut Carrier<T>) -> Result<(), MutexGuard<'_, Lists<T>>> {
        loop {
            let mut lists = self.lists.lock();
            let Some(entry) = claim(&mut lists.receivers) else { return Err(lists) };
            drop(lists);
            if entry.waiting.give(message) {
                return Ok(());
            }
        }
    }

    /// Gives the message to the receiver that was claimed, or, if this receiver has given up, to
    /// the next one. If there will be none, the message stays where it was.
    pub(super) fn give(&self, waiting: &Waiting<T>, message: &mut Carrier<T>) -> Sent {
        if !waiting.give(message) && !self.give_to_next(message, true) {
            return Err(SendError(()));
        }
        Ok(())
    }

    pub(super) fn try_recv(&self, message: &mut Carrier<T>) -> Result<(), TryPopError> {
        loop {
            let claimed = self.lists.lock().try_recv(message)?;
            if claimed.is_none_or(|entry| self.take_from(&entry, message)) {
                return Ok(());
            }
        }
    }

    /// Gives the message to a receiver, or waits for one. If there will be none, the message stays
    /// where it was.
    pub(super) fn poll_send(
        &self,
        message: &mut Carrier<T>,
        waiting: &mut Option<Waiting<T>>,
        waker: &Waker,
    ) -> Look<Sent> {
        if let Some(known) = waiting {
            known.party.set_waker(waker);
            if known.party.chosen().is_some() {
                *waiting = None;
                return Look::Done(Ok(()));
            }
            if !self.is_closed() {
                return Look::NotYet;
            }
            let is_sent = waiting.take().is_none_or(|waiting| self.cancel_send(waiting, message));
            return Look::Done(if is_sent { Ok(()) } else { Err(SendError(())) });
        }
        if !message.has_item() {
            return Look::Done(Ok(()));
        }
        let Err(mut lists) = self.offer(message) else { return Look::Done(Ok(())) };
        if lists.is_closed {
            return Look::Done(Err(SendError(())));
        }
        let new = lists.enter(Side::Send, &Party::new(waker), 0);
        // Before a receiver can claim it.
        message.move_to(&mut new.packet.lock().message);
        *waiting = Some(new);
        drop(lists);
        self.announce(waiting, |known| _ = self.cancel_send(known, message));
        Look::NotYet
    }

    /// Whether the lists were closed. A thread that finds it late is woken later.
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Wakes threads and tasks that look for such a wait. If a waker panics, this wait is removed.
    fn announce(&self, waiting: &mut Option<Waiting<T>>, cancel: impl FnOnce(Waiting<T>)) {
        let ring = AssertUnwindSafe(|| self.arrivals.ring_for_all());
        if let Err(panic) = catch_unwind(ring) {
            _ = waiting.take().map(cancel);
            resume_unwind(panic);
        }
    }

    /// Ends the wait. Whether the message was sent; otherwise it is in `message` again.
    pub(super) fn cancel_send(&self, waiting: Waiting<T>, message: &mut Carrier<T>) -> bool {
        if waiting.party.give_up().is_some() {
            return true;
        }
        self.lists.lock().remove(&waiting);
        !take(&waiting.packet, message)
    }

    /// Takes the message of a sender, or waits for one. `Done(Err(..))` if there will be none.
    pub(super) fn poll_recv(
        &self,
        message: &mut Carrier<T>,
        waiting: &mut Option<Waiting<T>>,
        waker: &Waker,
    ) -> Look<Result<(), RecvError>> {
        loop {
            if let Some(known) = waiting {
                known.party.set_waker(waker);
                if known.party.chosen().is_none() {
                    if !self.is_closed() {
                        return Look::NotYet;
                    }
                    let mut lists = self.lists.lock();
                    // Not if it is chosen at the same time.
                    if known.party.give_up().is_none() {
                        lists.remove(known);
                        *waiting = None;
                        return Look::Done(Err(RecvError));
                    }
                }
                // Not `take`: the message may not come soon, and its sender wakes this side.
                let Some(is_there) = take_now(&known.packet, message) else {
                    return Look::NotYet;
                };
                *waiting = None;
                if is_there {
                    return Look::Done(Ok(()));
                }
                // Withdrawn: waits anew.
            }
            let mut lists = self.lists.lock();
            match lists.try_recv(message) {
                Ok(claimed) => {
                    drop(lists);
                    if claimed.is_none_or(|entry| self.take_from(&entry, message)) {
                        return Look::Done(Ok(()));
                    }
                }
                Err(TryPopError::Closed) => return Look::Done(Err(RecvError)),
                Err(_) => {
                    let new = lists.enter(Side::Receive, &Party::new(waker), 0);
                    *waiting = Some(new);
                    drop(lists);
                    self.announce(waiting, |known| self.give_up_recv(known));
                    return Look::NotYet;
                }
            }
        }
    }

    /// Ends the wait. Takes the message that came at the same time.
    pub(super) fn cancel_recv(&self, waiting: Waiting<T>, message: &mut Carrier<T>) -> bool {
        if waiting.party.give_up().is_some() {
            return take(&waiting.packet, message);
        }
        self.lists.lock().remove(&waiting);
        false
    }

    /// Ends the wait without a further wait: the sender may be a select of this thread. A message
    /// that came at the same time goes to another receiver, and so does a message that comes later.
    pub(super) fn give_up_recv(&self, waiting: Waiting<T>) {
        if waiting.party.give_up().is_none() {
            return self.lists.lock().remove(&waiting);
        }
        let mut message = Carrier::empty();
        if take_or_give_up(&waiting.packet, &mut message) {
            self.leave(&mut message);
        }
    }

    /// Gives a message back that a receiver took: the next one gets it.
    pub(super) fn leave(&self, message: &mut Carrier<T>) {
        self.give_to_next(message, false);
    }

    /// Gives the message to the next receiver, now or when it comes. With `must_be_open`, not if
    /// the channel is closed. Whether it was given.
    fn give_to_next(&self, message: &mut Carrier<T>, must_be_open: bool) -> bool {
        let Err(mut lists) = self.offer(message) else { return true };
        if must_be_open && lists.is_closed {
            return false;
        }
        let mut left = Carrier::empty();
        message.move_to(&mut left);
        // Under the same lock: a receiver that begins to wait finds it.
        lists.left.push_back(left);
        lists.entered += 1;
        drop(lists);
        self.arrivals.ring_for_all();
        true
    }

    /// Grows when one more waits, or leaves a message.
    pub(super) fn version(&self) -> u64 {
        self.lists.lock().entered
    }

    /// Drops the messages that were given back.
    pub(super) fn clear(&self) {
        let mut left = mem::take(&mut self.lists.lock().left);
        drop_each(|| left.pop_front());
    }

    /// Whether a sender waits, other than `own`.
    pub(super) fn has_sender(&self, own: Option<&Arc<Party>>) -> bool {
        let lists = self.lists.lock();
        !lists.left.is_empty() || has_other(&lists.senders, own)
    }

    /// Whether a receiver waits, other than `own`.
    pub(super) fn has_receiver(&self, own: Option<&Arc<Party>>) -> bool {
        has_other(&self.lists.lock().receivers, own)
    }

    /// The wait of the next receiver, which gets the message that follows.
    pub(super) fn claim_receiver(&self) -> Option<Waiting<T>> {
        claim(&mut self.lists.lock().receivers).map(|entry| entry.waiting)
    }

    /// Waits for a receiver, as choice `index` of `party`. The caller rings the bell `arrivals`.
    pub(super) fn enter_sender(&self, party: &Arc<Party>, index: usize) -> Waiting<T> {
        self.lists.lock().enter(Side::Send, party, index)
    }

    /// Waits for a sender, as choice `index` of `party`. The caller rings the bell `arrivals`.
    pub(super) fn enter_receiver(&self, party: &Arc<Party>, index: usize) -> Waiting<T> {
        self.lists.lock().enter(Side::Receive, party, index)
    }

    /// Takes a choice out of the lists again.
    pub(super) fn remove(&self, waiting: &Waiting<T>) {
        self.lists.lock().remove(waiting);
    }

    /// No more messages. Returns all that wait: the caller wakes them.
    pub(super) fn close(&self) -> impl Iterator<Item = Waker> + use<'_, T> {
        let mut lists = self.lists.lock();
        lists.is_closed = true;
        // Relaxed: the threads that wait are woken below.
        self.closed.store(true, Ordering::Relaxed);
        let entries = lists.senders.values().chain(lists.receivers.values());
        let all: Vec<_> = entries.map(|entry| entry.waiting.party.clone()).collect();
        drop(lists);
        let arrivals = iter::once(&self.arrivals).flat_map(Bell::take_all);
        all.into_iter().map(|party| party.waker()).chain(arrivals)
    }
}

impl<T> Waiting<T> {
    /// Takes the message of the sender that has chosen this wait. Whether it was not withdrawn.
    pub(super) fn take(&self, message: &mut Carrier<T>) -> bool {
        take(&self.packet, message)
    }

    /// Hands the message to the receiver that was claimed. `false` if this receiver has given up:
    /// then the message is where it was.
    fn give(&self, message: &mut Carrier<T>) -> bool {
        let mut hand = self.packet.lock();
        if hand.is_given_up {
            return false;
        }
        message.move_to(&mut hand.message);
        drop(hand);
        self.party.wake();
        true
    }

    /// Tells the receiver that there is no message.
    pub(super) fn withdraw(&self) {
        self.packet.lock().is_withdrawn = true;
        self.party.wake();
    }
}

fn has_other<T>(entries: &Entries<T>, own: Option<&Arc<Party>>) -> bool {
    let is_own = |entry: &Entry<T>| own.is_some_and(|own| Arc::ptr_eq(own, &entry.waiting.party));
    entries.values().any(|entry| !is_own(entry) && entry.waiting.party.chosen().is_none())
}
