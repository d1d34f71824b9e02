//! The state of a receiver of several senders: one of [`Receiving`] for each.

use std::collections::{BTreeMap, VecDeque};
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
    /// Items in the order in which they were delivered: of which sender, and how many.
    runs: VecDeque<(Id, u64)>,
    /// Items that the program has taken, of all senders.
    taken: u64,
    /// For senders that don't agree.
    other: Receiving,
    is_closed: bool,
}

#[derive(Debug)]
struct Sender {
    state: Receiving,
    taken: u64,
    heard: Duration,
}

impl Several {
    pub(crate) fn new(id: Id, terms: Terms, times: Times, window: u64) -> Self {
        let other = Receiving::new(id, terms, times, window);
        let (senders, runs) = (BTreeMap::new(), VecDeque::new());
        Self { id, terms, times, window, senders, runs, taken: 0, other, is_closed: false }
    }

    fn sender(&mut self, id: Id, now: Duration) -> Option<&mut Sender> {
        if !self.senders.contains_key(&id) {
            if self.senders.len() == MOST {
                // None of those whose items are inside.
                let gone = self.senders.iter().filter(|(_, sender)| !sender.state.has_sender());
                let gone = gone.filter(|(_, sender)| !sender.state.has_untaken());
                let oldest = gone.min_by_key(|(_, sender)| sender.heard).map(|(&id, _)| id)?;
                self.senders.remove(&oldest);
            }
            let mut state = Receiving::new(self.id, self.terms, self.times, self.window);
            if self.is_closed {
                state.close();
            }
            self.senders.insert(id, Sender { state, taken: 0, heard: now });
        }
        let sender = self.senders.get_mut(&id)?;
        sender.heard = now;
        Some(sender)
    }

    fn states(&self) -> impl Iterator<Item = &Receiving> {
        self.senders.values().map(|sender| &sender.state)
    }
}

impl Receive for Several {
    fn on_packet(&mut self, packet: Packet, now: Duration) -> Option<(Data, u32)> {
        let id = match &packet {
            Packet::Seek { sender, terms } if *terms == self.terms => *sender,
            Packet::Data(data) if data.terms == self.terms && data.receiver == self.id => {
                data.sender
            }
            _ => {
                self.other.on_packet(packet, now);
                return None;
            }
        };
        let new = self.sender(id, now)?.state.on_packet(packet, now)?;
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
            if let Some(sender) = self.senders.get_mut(id) {
                sender.taken += of_this;
                sender.state.on_taken(sender.taken);
            }
            if *count == 0 {
                self.runs.pop_front();
            }
        }
    }

    fn poll(&mut self, now: Duration) -> Option<Packet> {
        // Their own offers would be as many as there are senders that have gone.
        let states = self.senders.values_mut().filter_map(|sender| sender.state.poll_bound(now));
        states.chain(self.other.poll(now)).next()
    }

    fn next_time(&self) -> Duration {
        let times = self.states().map(Receiving::next_time_bound);
        times.chain([self.other.next_time()]).min().unwrap_or_default()
    }

    fn close(&mut self) {
        self.is_closed = true;
        self.senders.values_mut().for_each(|sender| sender.state.close());
    }

    /// The next sender may come.
    fn is_over(&self) -> bool {
        false
    }

    fn has_sender(&self) -> bool {
        self.states().any(Receiving::has_sender)
    }

    fn has_differed(&self) -> bool {
        false
    }

    fn is_refused(&self) -> bool {
        self.other.is_refused()
    }

    fn is_short(&self) -> bool {
        self.states().any(Receiving::is_short)
    }

    fn has_untaken(&self) -> bool {
        self.states().any(Receiving::has_untaken)
    }

    fn knows(&self, id: Id) -> bool {
        self.senders.contains_key(&id)
    }

    fn times(&self) -> Times {
        self.times
    }
}
