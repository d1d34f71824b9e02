//! The state of a sender to several receivers: one of [`Sending`] for each that offers itself.
//!
//! Each binding has an id of its own: the sender's, with the number of the binding in its lowest
//! bits. So a receiver that is bound anew doesn't mistake the numbers of its items for earlier ones.
//! A receiver gets items from its first answer on, never more than it has room for.
//!
//! A binding ends when its receiver is dead, has another sender or is closed. Unless all receivers
//! get all items, those that it is not known to have taken are *returned*: the sender gives them out
//! again, before newer ones.
//!
//! The receivers are told the end when all items are taken: until then, one may have to take those
//! of another one.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use super::{
    BINDINGS, Deliver, Difference, Id, Packet, Refusals, Returned, Search, Sending, Terms, Times,
};

/// Which receivers get an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distribution {
    /// One that has room.
    Share,
    /// All.
    Broadcast,
    /// The one that has the item's key.
    ByKey,
}

/// A receiver, by its place among the bindings, or all of them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    One(usize),
    All,
}

/// A sender to several receivers. Each has the whole window.
#[derive(Debug)]
pub(crate) struct Distributing {
    id: Id,
    terms: Terms,
    times: Times,
    window: u64,
    distribution: Distribution,
    bindings: Vec<Binding>,
    /// The number of bindings so far.
    pub(super) bound: u64,
    /// The number of batches so far, each for one receiver.
    given: u64,
    /// The binding that is asked for a packet next.
    turn: usize,
    pub(super) returned: VecDeque<Returned>,
    /// Items of a broadcast that no receiver is left to take.
    unreceived: u64,
    has_ended: bool,
    is_awaited: bool,
    seek: Search,
    replies: VecDeque<Packet>,
    refusals: Option<Refusals>,
    difference: Difference,
    /// A mistake, for the simulation to find.
    #[cfg(test)]
    pub(crate) is_hasty: bool,
}

#[derive(Debug)]
struct Binding {
    receiver: Id,
    /// The id of this binding.
    id: Id,
    state: Sending,
    /// When the receiver was given items last, by `given`.
    given: u64,
    /// Whether the receiver has keys.
    has_keys: bool,
}

impl Distributing {
    pub(crate) fn new(
        id: Id,
        terms: Terms,
        times: Times,
        window: u64,
        distribution: Distribution,
    ) -> Self {
        Self {
            id,
            terms,
            times,
            window,
            distribution,
            bindings: Vec::new(),
            bound: 0,
            given: 0,
            turn: 0,
            returned: VecDeque::new(),
            unreceived: 0,
            has_ended: false,
            is_awaited: false,
            seek: Search::from(Duration::ZERO, times),
            replies: VecDeque::new(),
            refusals: None,
            difference: Difference::default(),
            #[cfg(test)]
            is_hasty: false,
        }
    }

    pub(crate) fn distribution(&self) -> Distribution {
        self.distribution
    }

    /// The receivers of the next items, and how many of the `available` ones they get. `None` if there
    /// is no room.
    pub(crate) fn next_target(&self, available: u64) -> Option<(Target, u64)> {
        let (target, most) = match self.distribution {
            Distribution::Broadcast => {
                (Target::All, self.ready().map(|(_, binding)| binding.state.credit()).min()?)
            }
            _ => {
                // Of those with the same room, the one that had nothing for longest.
                let (index, best) = self
                    .ready()
                    .max_by_key(|(_, binding)| (binding.state.credit(), Reverse(binding.given)))?;
                let most = best.state.credit();
                // A part of them, so that all receivers are done at about the same time: guided
                // self-scheduling (Polychronopoulos and Kuck, 1987).
                let part = available / self.receivers() as u64;
                (Target::One(index), most.min(part.max(1)))
            }
        };
        (most > 0).then_some((target, most.min(available)))
    }

    /// Gives items to receivers that have room for them.
    pub(crate) fn push(&mut self, target: Target, items: Bytes, count: u32) {
        match target {
            Target::One(index) => {
                self.given += 1;
                self.bindings[index].given = self.given;
                self.bindings[index].state.push(items, count);
            }
            Target::All => {
                for binding in self.bindings.iter_mut().filter(|one| one.state.is_ready()) {
                    binding.state.push(items.clone(), count);
                }
            }
        }
    }

    /// Gives newcomers their keys, when nothing is out any more: an item must not overtake an earlier
    /// one of its key. Returns whether items may be given out.
    pub(crate) fn settle(&mut self) -> bool {
        let is_new = |binding: &Binding| binding.state.is_ready() && !binding.has_keys;
        let has_new = self.bindings.iter().any(is_new);
        let may_change = self.out() == 0;
        #[cfg(test)]
        let may_change = may_change || self.is_hasty;
        if has_new && may_change {
            self.bindings.iter_mut().for_each(|one| one.has_keys = one.state.is_ready());
            return true;
        }
        !has_new && self.bindings.iter().any(|binding| binding.has_keys)
    }

    /// The receiver that has a key: by rendezvous hashing (Thaler and Ravishankar, 1998). When one
    /// goes, only its keys get another one, so that no wait is needed: what it had not taken is
    /// given out before newer items.
    pub(crate) fn owner(&self, key: u64) -> Option<usize> {
        let owners = self.bindings.iter().enumerate().filter(|(_, binding)| binding.has_keys);
        let owner = owners.max_by_key(|(_, binding)| mix(key ^ mix(binding.receiver)));
        owner.map(|(index, _)| index)
    }

    /// How many more items a receiver has room for.
    pub(crate) fn credit(&self, index: usize) -> u64 {
        self.bindings[index].state.credit()
    }

    /// Takes items that must be given out again, oldest first.
    pub(crate) fn take_returned(&mut self) -> Option<Returned> {
        self.returned.pop_front()
    }

    /// Receivers that have answered.
    fn ready(&self) -> impl Iterator<Item = (usize, &Binding)> {
        self.bindings.iter().enumerate().filter(|(_, binding)| binding.state.is_ready())
    }

    /// Items that are given out and not known to be taken, by one receiver or all.
    fn out(&self) -> u64 {
        let each = self.bindings.iter().map(|binding| binding.state.untaken());
        match self.distribution {
            Distribution::Broadcast => each.max().unwrap_or(0),
            _ => each.sum(),
        }
    }

    fn offered(&mut self, receiver: Id, now: Duration) {
        let offer = Packet::Offer { receiver, terms: self.terms };
        let is_end_known = self.bindings.iter().any(|binding| binding.state.is_over());
        match self.bindings.iter_mut().find(|binding| binding.receiver == receiver) {
            // Its sender was silent for too long, or it can have several.
            Some(binding) if !binding.state.is_over() => binding.state.on_packet(offer, now),
            None if !is_end_known => self.bind(receiver, now),
            // A newcomer waits for the next sender: this one would go on as long as they come.
            _ => {}
        }
    }

    fn bind(&mut self, receiver: Id, now: Duration) {
        let id = self.binding_id();
        let mut state = Sending::new(id, self.terms, self.times, self.window);
        // The receiver may remember the id from 65,536 bindings ago: then the numbers were lower.
        state.begin_with((self.bound >> BINDINGS.count_ones()) << 40);
        state.set_awaited(self.is_awaited);
        state.bind(receiver, now);
        (self.difference.is_known, self.refusals) = (false, None);
        self.bindings.push(Binding { receiver, id, state, given: 0, has_keys: false });
    }

    /// An id that no binding has.
    fn binding_id(&mut self) -> Id {
        loop {
            self.bound += 1;
            let id = self.id | (self.bound & BINDINGS);
            if id != self.id && self.bindings.iter().all(|binding| binding.id != id) {
                return id;
            }
        }
    }

    /// Passes a packet to a binding, which may end by it.
    fn pass(&mut self, id: Id, packet: Packet, now: Duration) {
        let Some(index) = self.bindings.iter().position(|binding| binding.id == id) else { return };
        self.bindings[index].state.on_packet(packet, now);
        self.remove_if_gone(index, now);
    }

    /// Removes a binding whose receiver is dead, has another sender, or is closed.
    fn remove_if_gone(&mut self, index: usize, now: Duration) -> bool {
        let state = &self.bindings[index].state;
        if state.is_over() || !(state.is_alone(now) || state.is_closed()) {
            return false;
        }
        let binding = self.bindings.swap_remove(index);
        if binding.state.is_closed() {
            self.replies.extend(binding.state.farewells()); // it waits for that
        }
        if self.bindings.is_empty() {
            self.seek = Search::from(now, self.times);
        }
        let untaken = binding.state.untaken();
        if self.distribution == Distribution::Broadcast {
            if self.receivers() == 0 {
                self.unreceived += untaken;
            }
        } else if untaken > 0 {
            // The program's end stands behind them.
            self.has_ended = false;
            self.returned.extend(binding.state.into_untaken());
        }
        true
    }

    fn tell_end(&mut self) {
        if self.has_ended && self.out() == 0 {
            self.bindings.iter_mut().for_each(|binding| binding.state.end());
        }
    }
}

impl Deliver for Distributing {
    fn on_packet(&mut self, packet: Packet, now: Duration) {
        match packet {
            Packet::Offer { receiver, terms } if terms == self.terms => self.offered(receiver, now),
            Packet::Offer { .. } => {
                if self.difference.is_heard(self.bindings.is_empty(), now, self.times) {
                    self.replies.push_back(Packet::Seek { sender: self.id, terms: self.terms });
                }
            }
            Packet::Status(status) => self.pass(status.sender, packet, now),
            // A receiver that has another sender. There may be others.
            Packet::Refused { to } if to == self.id => {
                if self.bindings.is_empty() {
                    self.refusals = Refusals::and(self.refusals, now, self.times);
                }
            }
            Packet::Refused { to } => self.pass(to, packet, now),
            Packet::Seek { .. } | Packet::Data(_) => {}
        }
    }

    fn poll(&mut self, now: Duration) -> Option<Packet> {
        if let Some(reply) = self.replies.pop_front() {
            return Some(reply);
        }
        self.tell_end();
        let mut looks = 0;
        while looks < self.bindings.len() {
            self.turn %= self.bindings.len();
            if self.remove_if_gone(self.turn, now) {
                continue;
            }
            let state = &mut self.bindings[self.turn].state;
            if !state.is_over()
                && let Some(packet) = state.poll(now)
            {
                return Some(packet);
            }
            (self.turn, looks) = (self.turn + 1, looks + 1);
        }
        let seek = Packet::Seek { sender: self.id, terms: self.terms };
        (self.bindings.is_empty() && self.seek.is_due(now, self.times)).then_some(seek)
    }

    fn next_time(&self) -> Duration {
        if !self.replies.is_empty() || !self.returned.is_empty() {
            return Duration::ZERO;
        }
        if self.bindings.is_empty() {
            return self.seek.at;
        }
        let states = self.bindings.iter().map(|binding| &binding.state);
        let times = states.filter(|state| !state.is_over()).map(Sending::next_time);
        times.min().unwrap_or(Duration::MAX)
    }

    fn end(&mut self) {
        self.has_ended = true;
    }

    fn set_awaited(&mut self, is_awaited: bool) {
        if std::mem::replace(&mut self.is_awaited, is_awaited) != is_awaited {
            self.bindings.iter_mut().for_each(|binding| binding.state.set_awaited(is_awaited));
        }
    }

    fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn is_over(&self) -> bool {
        let mut states = self.bindings.iter().map(|binding| &binding.state);
        self.has_ended && !self.bindings.is_empty() && states.all(Sending::is_over)
    }

    /// Others may come.
    fn is_closed(&self) -> bool {
        false
    }

    fn untaken(&self) -> u64 {
        let returned = self.returned.iter().map(|one| u64::from(one.count - one.taken));
        self.out() + returned.sum::<u64>() + self.unreceived
    }

    fn receivers(&self) -> usize {
        self.ready().count()
    }

    fn has_differed(&self) -> bool {
        self.difference.is_known
    }

    fn is_refused(&self) -> bool {
        self.refusals.is_some_and(|refusals| refusals.are_final(self.times))
    }

    fn may_be_refused(&self, now: Duration) -> bool {
        self.refusals.is_some_and(|refusals| refusals.are_new(now, self.times))
    }

    fn farewells(&self) -> Vec<Packet> {
        self.bindings.iter().flat_map(|binding| binding.state.farewells()).collect()
    }
}

/// Spreads a number's bits (the finalizer of splitmix64).
fn mix(mut n: u64) -> u64 {
    n = (n ^ n >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    n = (n ^ n >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    n ^ n >> 31
}
