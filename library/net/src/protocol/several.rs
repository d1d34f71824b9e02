//! The state of a receiver of several senders: one of [`Receiving`] for each.
//!
//! A packet costs the work for its sender only: the senders stand in a queue by the time when each
//! is due, and what is asked of all of them is counted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::{Data, Id, Packet, Receive, Receiving, Terms, Times};

/// Senders of which something is known. Those that are gone are forgotten first.
const MOST: usize = 1024;

/// A receiver of several senders. Each has the whole window.
#[derive(Debug)]
pub(crate) struct Several {
    id: Id,
    terms: Terms,
    times: Times,
    window: u64,
    senders: BTreeMap<Id, Sender>,
    /// When a packet to each sender is due.
    due: BTreeSet<(Duration, Id)>,
    /// Senders that are there, those that may wait for room, and those that wait until all is taken.
    there: usize,
    short: usize,
    awaited: usize,
    /// Items in the order in which they were delivered: of which sender, and how many.
    runs: VecDeque<(Id, u64)>,
    /// Items that the program has taken, of all senders.
    taken: u64,
    /// For senders that look for a receiver, or don't agree.
    other: Receiving,
    is_closed: bool,
}

#[derive(Debug)]
struct Sender {
    state: Receiving,
    taken: u64,
    heard: Duration,
    noted: Noted,
}

/// What the receiver has noted of a sender.
#[derive(Debug, Clone, Copy)]
struct Noted {
    due: Duration,
    is_there: bool,
    is_short: bool,
    is_awaited: bool,
}

impl Noted {
    fn of(state: &Receiving) -> Self {
        Self {
            due: state.next_time_bound(),
            is_there: state.has_sender(),
            is_short: state.is_short(),
            is_awaited: state.is_awaited(),
        }
    }
}

impl Several {
    pub(crate) fn new(id: Id, terms: Terms, times: Times, window: u64) -> Self {
        Self {
            id,
            terms,
            times,
            window,
            senders: BTreeMap::new(),
            due: BTreeSet::new(),
            there: 0,
            short: 0,
            awaited: 0,
            runs: VecDeque::new(),
            taken: 0,
            other: Receiving::new(id, terms, times, window),
            is_closed: false,
        }
    }

    /// Adds a sender, if it isn't known and there is room for it.
    fn add(&mut self, id: Id, now: Duration) {
        if self.senders.contains_key(&id) {
            return;
        }
        if self.senders.len() == MOST {
            // None of those whose items are inside.
            let gone = self.senders.iter().filter(|(_, sender)| !sender.state.has_sender());
            let gone = gone.filter(|(_, sender)| !sender.state.has_untaken());
            let oldest = gone.min_by_key(|(_, sender)| sender.heard).map(|(&id, _)| id);
            let Some(oldest) = oldest else { return };
            let forgotten = self.senders.remove(&oldest);
            forgotten.into_iter().for_each(|sender| self.unnote(oldest, sender.noted));
        }
        let mut state = Receiving::new(self.id, self.terms, self.times, self.window);
        if self.is_closed {
            state.close();
        }
        let noted = Noted::of(&state);
        self.note(id, noted);
        self.senders.insert(id, Sender { state, taken: 0, heard: now, noted });
    }

    /// Changes the state of a sender, and notes what follows.
    fn change<R>(&mut self, id: Id, change: impl FnOnce(&mut Sender) -> R) -> Option<R> {
        let sender = self.senders.get_mut(&id)?;
        let result = change(sender);
        let new = Noted::of(&sender.state);
        let old = std::mem::replace(&mut sender.noted, new);
        self.unnote(id, old);
        self.note(id, new);
        Some(result)
    }

    fn note(&mut self, id: Id, noted: Noted) {
        self.due.insert((noted.due, id));
        self.there += usize::from(noted.is_there);
        self.short += usize::from(noted.is_short);
        self.awaited += usize::from(noted.is_awaited);
    }

    fn unnote(&mut self, id: Id, noted: Noted) {
        self.due.remove(&(noted.due, id));
        self.there -= usize::from(noted.is_there);
        self.short -= usize::from(noted.is_short);
        self.awaited -= usize::from(noted.is_awaited);
    }
}

impl Receive for Several {
    fn on_packet(&mut self, packet: Packet, now: Duration) -> Option<(Data, u32)> {
        let id = match &packet {
            Packet::Data(data) if data.is_farewell() => return None,
            Packet::Data(data) if data.terms == self.terms && data.receiver == self.id => {
                data.sender
            }
            _ => {
                self.other.on_packet(packet, now);
                return None;
            }
        };
        self.add(id, now);
        let new = self.change(id, |sender| {
            sender.heard = now;
            sender.state.on_packet(packet, now)
        })??;
        self.runs.push_back((id, u64::from(new.0.count - new.1)));
        Some(new)
    }

    fn on_taken(&mut self, taken: u64) {
        let mut new = taken - self.taken;
        self.taken = taken;
        while new > 0
            && let Some((id, count)) = self.runs.front_mut()
        {
            let of_this = new.min(*count);
            *count -= of_this;
            new -= of_this;
            let (id, is_empty) = (*id, *count == 0);
            if is_empty {
                self.runs.pop_front();
            }
            self.change(id, |sender| {
                sender.taken += of_this;
                sender.state.on_taken(sender.taken);
            });
        }
    }

    fn poll(&mut self, now: Duration) -> Option<Packet> {
        // Their own offers would be as many as there are senders that have gone.
        while let Some(&(due, id)) = self.due.first()
            && due <= now
        {
            if let Some(packet) = self.change(id, |sender| sender.state.poll_bound(now))? {
                return Some(packet);
            }
        }
        self.other.poll(now)
    }

    fn next_time(&self) -> Duration {
        let due = self.due.first().map_or(Duration::MAX, |&(due, _)| due);
        due.min(self.other.next_time())
    }

    fn close(&mut self) {
        self.is_closed = true;
        let ids: Vec<Id> = self.senders.keys().copied().collect();
        for id in ids {
            self.change(id, |sender| sender.state.close());
        }
    }

    /// The next sender may come.
    fn is_over(&self) -> bool {
        false
    }

    fn has_all(&self) -> bool {
        false
    }

    fn has_one_sender(&self) -> bool {
        self.senders.len() == 1
    }

    fn has_sender(&self) -> bool {
        self.there > 0
    }

    fn has_differed(&self) -> bool {
        false
    }

    fn is_refused(&self) -> bool {
        self.other.is_refused()
    }

    fn may_be_refused(&self, now: Duration) -> bool {
        self.other.may_be_refused(now)
    }

    fn is_short(&self) -> bool {
        self.short > 0
    }

    fn is_awaited(&self) -> bool {
        self.awaited > 0
    }

    fn has_untaken(&self) -> bool {
        !self.runs.is_empty()
    }

    fn knows(&self, id: Id) -> bool {
        self.senders.contains_key(&id)
    }

    fn lost(&self) -> u64 {
        0 // there is no such lane at most once
    }

    fn times(&self) -> Times {
        self.times
    }
}
