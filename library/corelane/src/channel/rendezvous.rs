//! The channel of capacity 0: a sender and a receiver meet, and the message goes from one to the other.
//!
//! Those that wait are listed under a lock. A partner *claims* the first one that it can: each waiting thread or task is claimed
//! once, although a [`Select`](super::Select) may wait in several lists.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::mem;
use core::task::Waker;
use std::time::Instant;

use crate::memory::{AtomicU64, Mutex, Ordering, Parker, yield_now};
use crate::queue::{TryPopError, TryPushError};
use crate::wait::bell::{Bell, Look};
use crate::wait::thread::{OwnLooks, is_over};

/// One that waits, perhaps for several things.
pub(super) struct Party {
    /// What has been chosen for it: an index, plus 1. 0 while it waits.
    chosen: AtomicU64,
    waker: Mutex<Waker>,
}

/// Chosen by those that wait no more.
const GIVEN_UP: u64 = u64::MAX;

impl Party {
    pub(super) fn new(waker: &Waker) -> Arc<Self> {
        Arc::new(Self { chosen: AtomicU64::new(0), waker: Mutex::new(waker.clone()) })
    }

    fn claim(&self, choice: u64) -> bool {
        // Relaxed: packets have locks.
        self.chosen.compare_exchange(0, choice, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// The index of what was chosen.
    pub(super) fn chosen(&self) -> Option<usize> {
        match self.chosen.load(Ordering::Relaxed) {
            0 | GIVEN_UP => None,
            choice => Some(choice as usize - 1),
        }
    }

    /// Waits no more. The index of what was chosen before.
    pub(super) fn give_up(&self) -> Option<usize> {
        self.claim(GIVEN_UP);
        self.chosen()
    }

    pub(super) fn wake(&self) {
        let waker = self.waker.lock().clone();
        waker.wake();
    }

    pub(super) fn set_waker(&self, waker: &Waker) {
        let mut known = self.waker.lock();
        if !known.will_wake(waker) {
            let old = mem::replace(&mut *known, waker.clone());
            drop(known);
            drop(old);
        }
    }
}

/// Blocks the thread until `poll` is done. `None` if that was not before `until`.
pub(super) fn meet<R>(
    until: Option<Instant>,
    mut poll: impl FnMut(&Waker) -> Look<R>,
) -> Option<R> {
    let (parker, mut looks) = (Parker::new(), OwnLooks::begin());
    loop {
        if let Look::Done(found) = poll(parker.waker()) {
            looks.found();
            return Some(found);
        }
        if is_over(until) {
            return None;
        }
        if !looks.again() {
            parker.park(until);
        }
    }
}

/// What is handed over.
enum Hand<T> {
    /// The message comes as soon as the sender's thread runs.
    Empty,
    Message(T),
    /// The sender has no message after all.
    Withdrawn,
}

type Packet<T> = Arc<Mutex<Hand<T>>>;

/// A wait for a partner.
pub(super) struct Waiting<T> {
    party: Arc<Party>,
    packet: Packet<T>,
}

impl<T> Clone for Waiting<T> {
    fn clone(&self) -> Self {
        Self { party: self.party.clone(), packet: self.packet.clone() }
    }
}

struct Entry<T> {
    waiting: Waiting<T>,
    choice: u64,
}

/// The threads and tasks that wait.
pub(super) struct Rendezvous<T> {
    lists: Mutex<Lists<T>>,
    /// Rings when one more waits.
    pub(super) arrivals: Bell,
}

struct Lists<T> {
    senders: VecDeque<Entry<T>>,
    receivers: VecDeque<Entry<T>>,
    /// Messages whose receivers gave up at the same time.
    left: VecDeque<T>,
    /// Number of those that have waited, and of messages in `left` so far.
    entered: u64,
    /// The senders or the receivers are gone.
    is_closed: bool,
}

impl<T> Default for Rendezvous<T> {
    fn default() -> Self {
        let lists = Lists {
            senders: VecDeque::new(),
            receivers: VecDeque::new(),
            left: VecDeque::new(),
            entered: 0,
            is_closed: false,
        };
        Self { lists: Mutex::new(lists), arrivals: Bell::default() }
    }
}

/// Claims the first entry that can be claimed, and removes it.
fn claim<T>(entries: &mut VecDeque<Entry<T>>) -> Option<Entry<T>> {
    let place = entries.iter().position(|entry| entry.waiting.party.claim(entry.choice))?;
    entries.remove(place)
}

/// What is waited for.
#[derive(Clone, Copy)]
enum Side {
    Send,
    Receive,
}

impl<T> Lists<T> {
    fn enter(&mut self, side: Side, party: &Arc<Party>, index: usize, hand: Hand<T>) -> Waiting<T> {
        let waiting = Waiting { party: party.clone(), packet: Arc::new(Mutex::new(hand)) };
        let entry = Entry { waiting: waiting.clone(), choice: index as u64 + 1 };
        match side {
            Side::Send => self.senders.push_back(entry),
            Side::Receive => self.receivers.push_back(entry),
        }
        self.entered += 1;
        waiting
    }

    fn remove(&mut self, waiting: &Waiting<T>) {
        let is_other = |entry: &Entry<T>| !Arc::ptr_eq(&entry.waiting.packet, &waiting.packet);
        self.senders.retain(is_other);
        self.receivers.retain(is_other);
    }

    fn try_recv(&mut self) -> Result<Got<T>, TryPopError> {
        if let Some(message) = self.left.pop_front() {
            return Ok(Got::Message(message));
        }
        match claim(&mut self.senders) {
            Some(entry) => Ok(Got::From(entry)),
            None if self.is_closed => Err(TryPopError::Closed),
            None => Err(TryPopError::Empty),
        }
    }
}

/// What a receiver has found.
enum Got<T> {
    Message(T),
    /// A sender, claimed.
    From(Entry<T>),
}

impl<T> Got<T> {
    /// The message, without the lock.
    fn take(self) -> Option<T> {
        match self {
            Self::Message(message) => Some(message),
            Self::From(entry) => {
                entry.waiting.party.wake();
                take(&entry.waiting.packet)
            }
        }
    }
}

/// The message of a claimed sender, which is there or comes soon. `None` if it was withdrawn.
fn take<T>(packet: &Packet<T>) -> Option<T> {
    loop {
        match mem::replace(&mut *packet.lock(), Hand::Empty) {
            Hand::Message(message) => return Some(message),
            Hand::Withdrawn => return None,
            Hand::Empty => yield_now(),
        }
    }
}

impl<T> Rendezvous<T> {
    pub(super) fn try_send(&self, message: T) -> Result<(), TryPushError<T>> {
        let mut lists = self.lists.lock();
        match claim(&mut lists.receivers) {
            Some(entry) => {
                drop(lists);
                entry.waiting.give(message);
                Ok(())
            }
            None if lists.is_closed => Err(TryPushError::Closed(message)),
            None => Err(TryPushError::Full(message)),
        }
    }

    pub(super) fn try_recv(&self) -> Result<T, TryPopError> {
        loop {
            let got = self.lists.lock().try_recv()?;
            if let Some(message) = got.take() {
                return Ok(message);
            }
        }
    }

    /// Gives the message to a receiver, or waits for one. `Done(Err(..))` if there will be none.
    pub(super) fn poll_send(
        &self,
        message: &mut Option<T>,
        waiting: &mut Option<Waiting<T>>,
        waker: &Waker,
    ) -> Look<Result<(), T>> {
        if let Some(known) = waiting {
            known.party.set_waker(waker);
        }
        let mut lists = self.lists.lock();
        if let Some(known) = waiting {
            if known.party.chosen().is_some() {
                *waiting = None;
                return Look::Done(Ok(()));
            }
            if !lists.is_closed {
                return Look::NotYet;
            }
            drop(lists);
            let back = waiting.take().map(|waiting| self.cancel_send(waiting));
            return Look::Done(back.unwrap_or(Ok(())));
        }
        let Some(message) = message.take() else { return Look::Done(Ok(())) };
        if let Some(entry) = claim(&mut lists.receivers) {
            drop(lists);
            entry.waiting.give(message);
            return Look::Done(Ok(()));
        }
        if lists.is_closed {
            return Look::Done(Err(message));
        }
        let new = lists.enter(Side::Send, &Party::new(waker), 0, Hand::Message(message));
        *waiting = Some(new);
        drop(lists);
        self.arrivals.ring_for_all();
        Look::NotYet
    }

    /// Ends the wait. The message, if it was not sent.
    pub(super) fn cancel_send(&self, waiting: Waiting<T>) -> Result<(), T> {
        if waiting.party.give_up().is_some() {
            return Ok(());
        }
        self.lists.lock().remove(&waiting);
        match take(&waiting.packet) {
            Some(message) => Err(message),
            None => Ok(()),
        }
    }

    /// Takes the message of a sender, or waits for one. `Done(None)` if there will be none.
    pub(super) fn poll_recv(
        &self,
        waiting: &mut Option<Waiting<T>>,
        waker: &Waker,
    ) -> Look<Option<T>> {
        loop {
            if let Some(known) = waiting {
                known.party.set_waker(waker);
                if known.party.chosen().is_none() {
                    if !self.lists.lock().is_closed {
                        return Look::NotYet;
                    }
                    let last = waiting.take().and_then(|waiting| self.cancel_recv(waiting));
                    return Look::Done(last);
                }
                // Not `take`: the message may not come soon, and its sender wakes this side.
                let hand = mem::replace(&mut *known.packet.lock(), Hand::Empty);
                if matches!(hand, Hand::Empty) {
                    return Look::NotYet;
                }
                *waiting = None;
                if let Hand::Message(message) = hand {
                    return Look::Done(Some(message));
                }
                // Withdrawn: waits anew.
            }
            let mut lists = self.lists.lock();
            match lists.try_recv() {
                Ok(got) => {
                    drop(lists);
                    if let Some(message) = got.take() {
                        return Look::Done(Some(message));
                    }
                }
                Err(TryPopError::Closed) => return Look::Done(None),
                Err(_) => {
                    let new = lists.enter(Side::Receive, &Party::new(waker), 0, Hand::Empty);
                    *waiting = Some(new);
                    drop(lists);
                    self.arrivals.ring_for_all();
                    return Look::NotYet;
                }
            }
        }
    }

    /// Ends the wait. The message that came at the same time.
    pub(super) fn cancel_recv(&self, waiting: Waiting<T>) -> Option<T> {
        if waiting.party.give_up().is_some() {
            return take(&waiting.packet);
        }
        self.lists.lock().remove(&waiting);
        None
    }

    /// Gives a message back that no receiver wants: the next one gets it.
    pub(super) fn leave(&self, message: T) {
        let mut lists = self.lists.lock();
        if let Some(entry) = claim(&mut lists.receivers) {
            drop(lists);
            return entry.waiting.give(message);
        }
        // Under the same lock: a receiver that begins to wait finds it.
        lists.left.push_back(message);
        lists.entered += 1;
        drop(lists);
        self.arrivals.ring_for_all();
    }

    /// Grows when one more waits, or leaves a message.
    pub(super) fn version(&self) -> u64 {
        self.lists.lock().entered
    }

    /// Drops the messages that were given back.
    pub(super) fn clear(&self) {
        let left = mem::take(&mut self.lists.lock().left);
        drop(left);
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

    /// Waits for a receiver, as choice `index` of `party`.
    pub(super) fn enter_sender(&self, party: &Arc<Party>, index: usize) -> Waiting<T> {
        let waiting = self.lists.lock().enter(Side::Send, party, index, Hand::Empty);
        self.arrivals.ring_for_all();
        waiting
    }

    /// Waits for a sender, as choice `index` of `party`.
    pub(super) fn enter_receiver(&self, party: &Arc<Party>, index: usize) -> Waiting<T> {
        let waiting = self.lists.lock().enter(Side::Receive, party, index, Hand::Empty);
        self.arrivals.ring_for_all();
        waiting
    }

    /// Takes a choice out of the lists again.
    pub(super) fn remove(&self, waiting: &Waiting<T>) {
        self.lists.lock().remove(waiting);
    }

    /// No more messages. Wakes all.
    pub(super) fn close(&self) {
        let mut lists = self.lists.lock();
        lists.is_closed = true;
        let all: Vec<_> = lists
            .senders
            .iter()
            .chain(&lists.receivers)
            .map(|entry| entry.waiting.party.clone())
            .collect();
        drop(lists);
        all.iter().for_each(|party| party.wake());
        self.arrivals.ring_for_all();
    }
}

impl<T> Waiting<T> {
    /// The message of the sender that has chosen this wait. `None` if it was withdrawn.
    pub(super) fn take(&self) -> Option<T> {
        take(&self.packet)
    }

    /// Hands the message to the receiver: the one that waits, or the one that has chosen this wait.
    pub(super) fn give(&self, message: T) {
        self.hand(Hand::Message(message));
    }

    /// Tells the receiver that there is no message.
    pub(super) fn withdraw(&self) {
        self.hand(Hand::Withdrawn);
    }

    fn hand(&self, hand: Hand<T>) {
        *self.packet.lock() = hand;
        self.party.wake();
    }
}

fn has_other<T>(entries: &VecDeque<Entry<T>>, own: Option<&Arc<Party>>) -> bool {
    let is_own = |entry: &Entry<T>| own.is_some_and(|own| Arc::ptr_eq(own, &entry.waiting.party));
    entries.iter().any(|entry| !is_own(entry) && entry.waiting.party.chosen().is_none())
}
