//! Senders to one receiver, and receivers of one sender or of several.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;

use super::{LONGEST, Network, TIMES, is_found, run_all};
use crate::protocol::{
    Deliver, Guarantee, Id, Packet, Receive, Receiving, Sending, Several, Terms, Times,
};

/// What a lane promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lane {
    Ordered,
    OfSeveral,
    AtMostOnce,
}

/// A mistake that the checks must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// The receiver takes packets in the order in which they come.
    IgnoresGaps,
    /// The receiver says that its program has taken what was delivered.
    TellsTooMuch,
    /// The receiver takes no sender for dead.
    IsTooPatient,
    /// At most once: the sender keeps items until they are taken.
    KeepsItems,
}

/// A sender, and what of its items was taken by any program.
struct Sender {
    id: Id,
    state: Sending,
    left: u64,
    taken: BTreeSet<u64>,
    is_alive: bool,
}

struct Receiver {
    id: Id,
    state: Box<dyn Receive>,
    window: u64,
    /// Delivered, and not taken: the sender, and the number.
    inside: VecDeque<(Id, u64)>,
    delivered: u64,
    taken: u64,
    /// What comes next of each sender.
    next: BTreeMap<Id, u64>,
    /// The items that its sender has sent, and those that have come.
    sent: BTreeSet<(Id, u64)>,
    came: BTreeSet<(Id, u64)>,
    /// Since when it only answers.
    ended: Option<Duration>,
}

struct World {
    net: Network,
    lane: Lane,
    mistake: Mistake,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    /// Whether only one receiver has lived.
    has_one: bool,
    /// Whether a sender was killed.
    has_killed: bool,
    /// When there was last a sender besides the one that lives, or packets of it.
    rivalry: Duration,
}

impl World {
    fn new(seed: u64, lane: Lane, mistake: Mistake) -> Self {
        let is_calm = lane == Lane::AtMostOnce && seed.is_multiple_of(8);
        let mut world = Self {
            net: Network::new(seed, is_calm),
            lane,
            mistake,
            senders: Vec::new(),
            receivers: Vec::new(),
            has_one: true,
            has_killed: false,
            rivalry: Duration::ZERO,
        };
        world.start_sender();
        world.start_receiver();
        world.has_one = true;
        world
    }

    fn terms(&self) -> Terms {
        let is_at_most_once = self.lane == Lane::AtMostOnce && self.mistake != Mistake::KeepsItems;
        let guarantee = if is_at_most_once { Guarantee::AtMostOnce } else { Guarantee::Ordered };
        Terms::new(guarantee, 0)
    }

    fn start_sender(&mut self) {
        let (id, left) = (self.net.id(), self.net.random.below(30));
        let state = Sending::new(id, self.terms(), TIMES, 1 + self.net.random.below(12));
        self.senders.push(Sender { id, state, left, taken: BTreeSet::new(), is_alive: true });
    }

    fn start_receiver(&mut self) {
        self.has_one = false;
        let (id, window) = (self.net.id(), 1 + self.net.random.below(12));
        let times = match self.mistake {
            // Longer than any schedule.
            Mistake::IsTooPatient => Times { patience: Duration::from_secs(1000), ..TIMES },
            _ => TIMES,
        };
        let mut one = Receiving::new(id, self.terms(), times, window);
        one.ignores_gaps = self.mistake == Mistake::IgnoresGaps;
        let state: Box<dyn Receive> = match self.lane {
            Lane::OfSeveral => Box::new(Several::new(id, self.terms(), times, window)),
            _ => Box::new(one),
        };
        let (inside, next) = (VecDeque::new(), BTreeMap::new());
        self.receivers.push(Receiver {
            id,
            state,
            window,
            inside,
            delivered: 0,
            taken: 0,
            next,
            sent: BTreeSet::new(),
            came: BTreeSet::new(),
            ended: None,
        });
    }

    /// The senders and the receivers.
    fn ids(&self) -> (Vec<Id>, Vec<Id>) {
        let senders = self.senders.iter().map(|sender| sender.id);
        (senders.collect(), self.receivers.iter().map(|receiver| receiver.id).collect())
    }

    fn post(&mut self, posts: Vec<(Id, Packet)>) {
        let (senders, receivers) = self.ids();
        for (from, packet) in posts {
            self.net.post(from, &packet, &senders, &receivers);
            if let Packet::Data(data) = packet
                && let Some(to) = self.receivers.iter_mut().find(|to| to.id == data.receiver)
            {
                let numbers = data.first..data.first + u64::from(data.count);
                to.sent.extend(numbers.map(|number| (data.sender, number)));
            }
        }
    }

    fn deliver(&mut self) {
        let now = self.net.now;
        for (to, packet) in self.net.arrived() {
            if let Some(sender) = self.senders.iter_mut().find(|sender| sender.id == to) {
                sender.state.on_packet(packet, now);
            } else if let Some(receiver) = self.receivers.iter_mut().find(|end| end.id == to) {
                receiver.on_packet(packet, now);
            }
        }
    }

    /// A receiver's program takes an item.
    fn take(&mut self, index: usize) {
        let receiver = &mut self.receivers[index];
        let Some((sender, number)) = receiver.inside.pop_front() else { return };
        receiver.taken += 1;
        if let Some(next) = receiver.next.insert(sender, number + 1) {
            // Another receiver may have taken some between.
            assert!(number >= next, "doubled or reordered within a receiver");
        }
        if let Some(sender) = self.senders.iter_mut().find(|other| other.id == sender) {
            let all_before = sender.taken.iter().zip(0..).all(|(&taken, n)| taken == n);
            assert!(
                self.lane == Lane::AtMostOnce
                    || (all_before && number <= sender.taken.len() as u64),
                "items before {number} are lost"
            );
            let is_new = sender.taken.insert(number);
            assert!(is_new || self.lane != Lane::AtMostOnce, "{number} came twice");
        }
        let told = match self.mistake {
            Mistake::TellsTooMuch => receiver.delivered,
            _ => receiver.taken,
        };
        receiver.state.on_taken(told);
    }

    fn push(&mut self) {
        for sender in &mut self.senders {
            let n = (1 + self.net.random.below(4)).min(sender.left).min(sender.state.room());
            if n > 0 {
                sender.state.push(Bytes::new(), n as u32);
                sender.left -= n;
            }
            sender.state.set_awaited(self.net.random.is_one_of(4));
            if sender.left == 0 {
                sender.state.end();
            }
        }
    }

    fn poll(&mut self) {
        let mut posts = Vec::new();
        for sender in self.senders.iter_mut().filter(|sender| sender.is_alive) {
            while let Some(packet) = sender.state.poll(self.net.now) {
                posts.push((sender.id, packet));
                assert!(posts.len() < 1000, "it never stops");
            }
            if sender.state.is_refused() {
                let silence = self.net.now.saturating_sub(self.rivalry);
                assert!(silence <= 4 * TIMES.patience, "its place is free");
                sender.is_alive = false;
            }
            sender.is_alive &= !sender.state.is_over();
        }
        if self.senders.iter().filter(|sender| sender.is_alive).count() > 1 {
            self.rivalry = self.net.now;
        }
        for receiver in &mut self.receivers {
            while !(receiver.ended.is_none() && receiver.state.is_over())
                && let Some(packet) = receiver.state.poll(self.net.now)
            {
                if receiver.ended.is_none() || matches!(packet, Packet::Status(_)) {
                    posts.push((receiver.id, packet));
                }
                assert!(posts.len() < 1000, "it never stops");
            }
            if receiver.ended.is_none() && receiver.state.is_over() {
                receiver.ended = Some(self.net.now);
            }
        }
        let now = self.net.now;
        self.receivers.retain(|receiver| {
            let has_ended = receiver.ended.is_some_and(|ended| now >= ended + TIMES.patience);
            !has_ended && !receiver.state.is_refused()
        });
        self.post(posts);
    }

    fn fault(&mut self) {
        match self.net.random.below(100) {
            // The program is killed, or another one comes while it lives.
            n @ 0..2 => {
                if n == 0 {
                    self.receivers.clear();
                }
                self.start_receiver();
            }
            n @ 2..4 => {
                if n == 2 {
                    self.senders.clear();
                    self.has_killed = true;
                    self.rivalry = self.net.now + LONGEST;
                }
                self.start_sender();
            }
            4..8 => {
                let (senders, receivers) = self.ids();
                self.net.cut(&senders, &receivers);
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
        let senders = self.senders.iter().map(|sender| sender.state.next_time());
        let receivers = self.receivers.iter().map(|receiver| receiver.state.next_time());
        self.net.advance(senders.chain(receivers));
    }

    /// Everything arrives, in a time that has a bound, once the faults have ended.
    fn check(&mut self) {
        let is_calm = !std::mem::replace(&mut self.net.is_faulty, false);
        // Those that are bound to dead ones, then those that wait for their place, one by one.
        let end = self.net.now + TIMES.patience * (10 + 6 * self.senders.len() as u32);
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
        for sender in &self.senders {
            if sender.state.is_over() && (is_calm || self.lane != Lane::AtMostOnce) {
                assert_eq!(sender.taken.len() as u64, sender.state.sent_in_all(), "all is taken");
            }
        }
        self.check_lost();
    }

    /// At most once: what a receiver says of items that don't come.
    fn check_lost(&self) {
        let all_over = self.senders.iter().all(|sender| sender.state.is_over());
        for receiver in &self.receivers {
            let (lost, sent) = (receiver.state.lost(), receiver.sent.len() as u64);
            let missing = sent - receiver.came.len() as u64;
            if self.lane != Lane::AtMostOnce {
                assert_eq!(lost, 0);
            } else if self.has_one && all_over && !self.has_killed {
                assert_eq!(lost, missing, "of {sent}");
            } else {
                assert!(lost <= missing, "{lost} of {missing}, of {sent}");
            }
        }
    }
}

impl Receiver {
    fn on_packet(&mut self, packet: Packet, now: Duration) {
        if self.ended.is_some() {
            // As the pump: it answers its last sender only.
            let Packet::Data(data) = &packet else { return };
            if !self.state.knows(data.sender) {
                return;
            }
            self.ended = Some(now);
        }
        if let Some((data, known)) = self.state.on_packet(packet, now) {
            let numbers = data.first + u64::from(known)..data.first + u64::from(data.count);
            self.delivered += numbers.end - numbers.start;
            self.inside.extend(numbers.clone().map(|number| (data.sender, number)));
            self.came.extend(numbers.map(|number| (data.sender, number)));
            let of_sender = self.inside.iter().filter(|item| item.0 == data.sender).count();
            assert!(of_sender as u64 <= self.window, "more than its room");
        }
    }
}

fn run(seed: u64, lane: Lane, mistake: Mistake) {
    let mut world = World::new(seed, lane, mistake);
    let steps = 20 + world.net.random.below(150);
    for _ in 0..steps {
        world.step();
    }
    world.check();
}

fn run_ordered(seed: u64, mistake: Mistake) {
    let lane = if seed.is_multiple_of(3) { Lane::OfSeveral } else { Lane::Ordered };
    run(seed, lane, mistake);
}

#[test]
fn a_program_that_waits_hears_at_once_what_is_taken() {
    let terms = Terms::new(Guarantee::Ordered, 0);
    for is_awaited in [false, true] {
        let mut sender = Sending::new(1 << 16, terms, TIMES, 8);
        let mut receiver = Receiving::new(2 << 16, terms, TIMES, 8);
        let exchange = |sender: &mut Sending, receiver: &mut Receiving| loop {
            let (to, from) = (sender.poll(TIMES.again), receiver.poll(TIMES.again));
            if (&to, &from) == (&None, &None) {
                return;
            }
            if let Some(packet) = to {
                receiver.on_packet(packet, TIMES.again);
            }
            if let Some(packet) = from {
                sender.on_packet(packet, TIMES.again);
            }
        };
        exchange(&mut sender, &mut receiver);
        sender.push(Bytes::new(), 1);
        exchange(&mut sender, &mut receiver);
        sender.set_awaited(is_awaited);
        exchange(&mut sender, &mut receiver);
        assert_eq!(receiver.is_awaited(), is_awaited);
        receiver.on_taken(1);
        exchange(&mut sender, &mut receiver);
        assert_eq!(sender.untaken(), u64::from(!is_awaited));
    }
}

#[test]
fn nothing_is_lost_doubled_or_reordered() {
    run_all(20_000, |seed| run_ordered(seed, Mistake::None));
}

#[test]
fn nothing_comes_twice_and_the_lost_are_counted() {
    run_all(10_000, |seed| run(seed, Lane::AtMostOnce, Mistake::None));
}

#[test]
fn mistakes_are_found() {
    use Mistake::*;
    for mistake in [IgnoresGaps, TellsTooMuch, IsTooPatient] {
        assert!(is_found(|seed| run_ordered(seed, mistake)), "{mistake:?} is not found");
    }
    assert!(is_found(|seed| run(seed, Lane::AtMostOnce, KeepsItems)), "KeepsItems is not found");
}
