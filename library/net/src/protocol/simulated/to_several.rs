//! Senders to several receivers: they share, get all, or get the items of some keys.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use corelane::channel;

use super::{MILLISECOND, Network, TIMES, is_found, run_all};
use crate::codec::Plain;
use crate::fill::{Fill, ToSeveral};
use crate::protocol::{
    BINDINGS, Deliver, Distributing, Distribution, Guarantee, Id, Packet, Receive, Receiving,
    Returned, Several, Terms,
};

/// A mistake that the checks must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// Items of a receiver that has gone aren't given out again.
    ForgetsTheDead,
    /// Receivers take packets in the order in which they come.
    IgnoresGaps,
    /// Keys are assigned anew while items are out.
    IsHasty,
}

/// A binding: its id, which may come again, and its first number.
type Binding = (Id, u64);

/// More bytes than there are in a window.
const PACKET: usize = 1 << 20;

/// Keys, by the number of an item.
const KEYS: u64 = 5;

struct Sender {
    id: Id,
    outbox: ToSeveral<u64, Plain>,
    /// `None` when the program has ended.
    front: Option<channel::Sender<u64>>,
    rest: channel::Receiver<u64>,
    /// Items that the program has sent, and will have sent.
    sent: u64,
    total: u64,
    /// Items that any program has taken, and that may come twice.
    taken: BTreeSet<u64>,
    returned: BTreeSet<u64>,
    is_alive: bool,
}

struct Receiver {
    id: Id,
    state: Box<dyn Receive>,
    window: u64,
    /// Delivered, and not taken: the binding, and the item.
    inside: VecDeque<(Binding, u64)>,
    delivered: u64,
    taken: u64,
    /// What it has taken of each binding, of each key: the last item.
    last: BTreeMap<(Binding, u64), u64>,
    had: BTreeSet<(Id, u64)>,
    /// The binding that it has.
    binding: Option<Binding>,
    /// Since when it only answers.
    ended: Option<Duration>,
    is_closed: bool,
}

struct World {
    net: Network,
    distribution: Distribution,
    mistake: Mistake,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    /// Whether receivers are of several senders.
    of_several: bool,
    /// Whether there was a second sender.
    has_rivals: bool,
    is_calm: bool,
}

impl World {
    fn new(seed: u64, distribution: Distribution, mistake: Mistake) -> Self {
        let is_calm = seed.is_multiple_of(16);
        let mut world = Self {
            net: Network::new(seed, is_calm),
            distribution,
            mistake,
            senders: Vec::new(),
            receivers: Vec::new(),
            of_several: seed.is_multiple_of(3),
            has_rivals: false,
            is_calm,
        };
        world.start_sender();
        if world.of_several && world.net.random.is_one_of(2) {
            world.start_sender();
        }
        for _ in 0..1 + world.net.random.below(3) {
            world.start_receiver();
        }
        world
    }

    fn start_sender(&mut self) {
        self.has_rivals |= !self.senders.is_empty();
        let (id, window) = (self.net.id(), 1 + self.net.random.below(8));
        let terms = Terms::new(Guarantee::Ordered, 0);
        let mut state = Distributing::new(id, terms, TIMES, window, self.distribution);
        state.is_hasty = self.mistake == Mistake::IsHasty;
        let (front, rest) = channel::bounded(4);
        self.senders.push(Sender {
            id,
            outbox: ToSeveral::new(state, Box::new(|item| item % KEYS)),
            front: Some(front),
            rest,
            sent: 0,
            total: self.net.random.below(40),
            taken: BTreeSet::new(),
            returned: BTreeSet::new(),
            is_alive: true,
        });
    }

    fn start_receiver(&mut self) {
        let (id, window) = (self.net.id(), 1 + self.net.random.below(8));
        let terms = Terms::new(Guarantee::Ordered, 0);
        let mut one = Receiving::new(id, terms, TIMES, window);
        one.ignores_gaps = self.mistake == Mistake::IgnoresGaps;
        let state: Box<dyn Receive> = match self.of_several {
            true => Box::new(Several::new(id, terms, TIMES, window)),
            false => Box::new(one),
        };
        self.receivers.push(Receiver {
            id,
            state,
            window,
            inside: VecDeque::new(),
            delivered: 0,
            taken: 0,
            last: BTreeMap::new(),
            had: BTreeSet::new(),
            binding: None,
            ended: None,
            is_closed: false,
        });
    }

    /// The senders and the receivers.
    fn ids(&self) -> (Vec<Id>, Vec<Id>) {
        let senders = self.senders.iter().map(|sender| sender.id);
        (senders.collect(), self.receivers.iter().map(|receiver| receiver.id).collect())
    }

    fn deliver(&mut self) {
        let now = self.net.now;
        for (to, packet) in self.net.arrived() {
            if let Some(sender) = self.senders.iter_mut().find(|sender| sender.id == to) {
                sender.outbox.state().on_packet(packet, now);
            } else if let Some(receiver) = self.receivers.iter_mut().find(|end| end.id == to) {
                receiver.on_packet(packet, now);
            }
        }
    }

    /// A receiver's program takes an item.
    fn take(&mut self, index: usize) {
        let receiver = &mut self.receivers[index];
        let Some((binding, item)) = receiver.inside.pop_front() else { return };
        receiver.taken += 1;
        receiver.state.on_taken(receiver.taken);
        let (id, key) = (binding.0 & !BINDINGS, item % KEYS);
        let is_first = receiver.had.insert((id, item));
        match self.distribution {
            Distribution::Share => {}
            Distribution::Broadcast => {
                let last = receiver.last.insert((binding, 0), item);
                assert!(last.is_none_or(|last| item == last + 1), "{item} after {last:?}");
                assert!(is_first, "{item} came twice");
            }
            Distribution::ByKey => {
                let last = receiver.last.insert((binding, key), item);
                assert!(last.is_none_or(|last| item > last), "{item} after {last:?}");
            }
        }
        if let Some(sender) = self.senders.iter_mut().find(|sender| sender.id == id) {
            sender.on_taken(item, self.distribution);
        }
    }

    fn push(&mut self) {
        for sender in self.senders.iter_mut().filter(|sender| sender.is_alive) {
            sender.push(self.net.random.below(5));
            sender.fill(self.mistake);
            sender.outbox.state().set_awaited(self.net.random.is_one_of(4));
            if self.distribution != Distribution::Broadcast {
                let safe = sender.sent - sender.untaken();
                assert!(safe <= sender.taken.len() as u64, "{safe} are said to be taken");
            }
        }
    }

    fn poll(&mut self) {
        let (now, mut posts) = (self.net.now, Vec::new());
        for sender in self.senders.iter_mut().filter(|sender| sender.is_alive) {
            while let Some(packet) = sender.outbox.state().poll(now) {
                posts.push((sender.id, packet));
                assert!(posts.len() < 1000, "it never stops");
            }
            let state = sender.outbox.state();
            assert!(!state.is_refused() || self.has_rivals, "its place is free");
            sender.is_alive &= !state.is_refused() && !state.is_over();
        }
        for receiver in &mut self.receivers {
            receiver.poll(now, &mut posts);
        }
        self.receivers.retain(|receiver| {
            let has_ended = receiver.ended.is_some_and(|ended| now >= ended + TIMES.patience);
            assert!(!receiver.state.is_refused(), "no receiver has its place");
            !has_ended
        });
        let (senders, receivers) = self.ids();
        for (from, packet) in posts {
            self.net.post(from, &packet, &senders, &receivers);
        }
    }

    fn fault(&mut self) {
        match self.net.random.below(100) {
            0..3 if self.receivers.len() < 5 => self.start_receiver(),
            // Killed, or closed.
            n @ 3..6 if !self.receivers.is_empty() => {
                let index = self.net.random.below(self.receivers.len() as u64) as usize;
                match n {
                    3 => self.receivers[index].close(self.net.now),
                    _ => drop(self.receivers.swap_remove(index)),
                }
            }
            6 => {
                self.senders.clear();
                self.start_sender();
                self.has_rivals = true; // packets of the dead one
            }
            7 if self.senders.len() < 3 => self.start_sender(),
            8..12 => {
                let (senders, receivers) = self.ids();
                self.net.cut(&senders, &receivers);
            }
            12..15 => {
                // The next binding has the id of the last one, as after many.
                self.senders.iter_mut().for_each(|one| one.outbox.state().bound += BINDINGS);
            }
            _ => {}
        }
    }

    fn step(&mut self) {
        if self.net.is_faulty {
            self.fault();
        }
        self.deliver();
        self.push();
        for index in 0..self.receivers.len() {
            for _ in 0..self.net.random.below(3) {
                self.take(index);
            }
        }
        self.poll();
        let senders = self.senders.iter_mut().filter(|sender| sender.is_alive);
        let senders = senders.map(|sender| sender.outbox.state().next_time());
        let receivers = self.receivers.iter().map(|receiver| receiver.state.next_time());
        self.net.advance(senders.chain(receivers));
    }

    /// Everything arrives, in a time that has a bound, once the faults have ended.
    fn check(&mut self) {
        self.net.is_faulty = false;
        let end = self.net.now + TIMES.patience * (15 + 10 * self.senders.len() as u32);
        while self.senders.iter().any(|sender| sender.is_alive) {
            if self.receivers.iter().all(|receiver| receiver.ended.is_some()) {
                self.start_receiver();
            }
            self.step();
            assert!(self.net.now < end, "it goes on for ever");
        }
        for index in 0..self.receivers.len() {
            while !self.receivers[index].inside.is_empty() {
                self.take(index);
            }
        }
        for sender in &mut self.senders {
            if !sender.outbox.state().is_over() {
                continue;
            }
            assert_eq!(sender.sent, sender.total);
            if self.distribution == Distribution::Broadcast {
                let last = sender.total.checked_sub(1);
                self.receivers.iter().for_each(|receiver| receiver.check_last(sender.id, last));
            } else {
                assert_eq!(sender.taken.len() as u64, sender.total, "all is taken");
                assert_eq!(sender.untaken(), 0);
            }
            assert!(!self.is_calm || sender.returned.is_empty(), "nothing has failed");
        }
    }
}

impl Sender {
    /// The program sends up to `most` items, and ends behind the last one.
    fn push(&mut self, most: u64) {
        let Some(front) = &self.front else { return };
        for _ in 0..most.min(self.total - self.sent) {
            if front.try_send(self.sent).is_err() {
                return;
            }
            self.sent += 1;
        }
        if self.sent == self.total {
            self.front = None;
        }
    }

    /// As the pump. Notes what is given out again.
    fn fill(&mut self, mistake: Mistake) {
        let state = self.outbox.state();
        for Returned { items, count, taken } in &state.returned {
            let items = items.chunks(8).map(|item| u64::from_le_bytes(item.try_into().unwrap()));
            self.returned.extend(items.take(*count as usize).skip(*taken as usize));
        }
        while mistake == Mistake::ForgetsTheDead && state.take_returned().is_some() {}
        self.outbox.fill(&self.rest, PACKET, &AtomicU64::new(0)).expect("numbers can be read");
    }

    fn untaken(&self) -> u64 {
        self.rest.len() as u64 + self.outbox.untaken()
    }

    fn on_taken(&mut self, item: u64, distribution: Distribution) {
        if distribution == Distribution::ByKey {
            let mut before = (item % KEYS..item).step_by(KEYS as usize);
            assert!(before.all(|item| self.taken.contains(&item)), "items before {item} are lost");
        }
        let is_first = self.taken.insert(item);
        if distribution != Distribution::Broadcast {
            assert!(is_first || self.returned.contains(&item), "{item} came twice");
        }
    }
}

impl Receiver {
    fn on_packet(&mut self, packet: Packet, now: Duration) {
        if self.ended.is_some() {
            // As the pump: it answers its senders only.
            let Packet::Data(data) = &packet else { return };
            if !self.state.knows(data.sender) {
                return;
            }
            self.ended = Some(now);
        }
        let of = match &packet {
            Packet::Data(data) => Some((data.sender, data.base)),
            _ => None,
        };
        let new = self.state.on_packet(packet, now);
        if of.is_some_and(|(id, _)| self.state.knows(id))
            && (!self.is_bound_to(of) || of > self.binding)
        {
            self.binding = of;
        }
        let Some((data, known)) = new.filter(|_| !self.is_closed) else { return };
        let items = data.items.chunks(8).map(|item| u64::from_le_bytes(item.try_into().unwrap()));
        let new = items.take(data.count as usize).skip(known as usize);
        self.delivered += u64::from(data.count - known);
        self.inside.extend(new.map(|item| ((data.sender, data.base), item)));
        let of_sender = self.inside.iter().filter(|item| item.0.0 == data.sender).count();
        assert!(of_sender as u64 <= self.window, "more than its room");
    }

    fn poll(&mut self, now: Duration, posts: &mut Vec<(Id, Packet)>) {
        while !(self.ended.is_none() && self.state.is_over())
            && let Some(packet) = self.state.poll(now)
        {
            if self.ended.is_none() || matches!(packet, Packet::Status(_)) {
                posts.push((self.id, packet));
            }
            assert!(posts.len() < 1000, "it never stops");
        }
        if self.ended.is_none() && self.state.is_over() {
            self.ended = Some(now);
        }
    }

    /// The handle is dropped.
    fn close(&mut self, now: Duration) {
        self.is_closed = true;
        self.ended = Some(self.ended.unwrap_or(now + MILLISECOND));
        self.state.close();
        self.inside.clear();
    }

    /// What it got by the binding that it has, if it got something, goes on to the last item.
    fn check_last(&self, sender: Id, last: Option<u64>) {
        if let Some(binding) = self.binding.filter(|(id, _)| id & !BINDINGS == sender)
            && let Some(&got) = self.last.get(&(binding, 0))
            && self.state.is_over()
            && !self.is_closed
        {
            assert_eq!(Some(got), last, "the last items are lost");
        }
    }

    fn is_bound_to(&self, binding: Option<Binding>) -> bool {
        self.binding.map(|(id, _)| id) == binding.map(|(id, _)| id)
    }
}

fn run(seed: u64, distribution: Distribution, mistake: Mistake) {
    let mut world = World::new(seed, distribution, mistake);
    let steps = 20 + world.net.random.below(150);
    for _ in 0..steps {
        world.step();
    }
    world.check();
}

#[test]
fn receivers_share() {
    run_all(3_000, |seed| run(seed, Distribution::Share, Mistake::None));
}

#[test]
fn receivers_get_all() {
    run_all(3_000, |seed| run(seed, Distribution::Broadcast, Mistake::None));
}

#[test]
fn receivers_get_their_keys() {
    run_all(3_000, |seed| run(seed, Distribution::ByKey, Mistake::None));
}

#[test]
fn mistakes_are_found() {
    for (distribution, mistake) in [
        (Distribution::Share, Mistake::ForgetsTheDead),
        (Distribution::Broadcast, Mistake::IgnoresGaps),
        (Distribution::ByKey, Mistake::ForgetsTheDead),
        (Distribution::ByKey, Mistake::IsHasty),
    ] {
        let is_found = is_found(|seed| run(seed, distribution, mistake));
        assert!(is_found, "{mistake:?} is not found");
    }
}
