//! Ends over a network that loses, doubles, reorders and delays packets, with programs that are
//! killed, are cut off, and come while another one lives, by seed.
//!
//! After each schedule the faults end. Then all that the senders have sent must arrive. What must
//! hold is in [`World::take`] and [`World::check`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;

use super::{Deliver, Guarantee, Id, Packet, Receive, Receiving, Sending, Several, Terms, Times};

const TIMES: Times =
    Times { patience: Duration::from_millis(400), again: Duration::from_millis(10) };
const MILLISECOND: Duration = Duration::from_millis(1);
/// How long a packet may be on its way.
const LONGEST: Duration = Duration::from_millis(900);

/// A generator of numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn is_one_of(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Milliseconds.
    fn time(&mut self, below: u64) -> Duration {
        MILLISECOND * self.below(below) as u32
    }
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
    /// Since when it only answers.
    ended: Option<Duration>,
}

struct World {
    random: Random,
    mistake: Mistake,
    now: Duration,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    /// When a packet arrives, and where.
    network: Vec<(Duration, Id, Packet)>,
    /// Ends that don't hear each other, until a time.
    cuts: BTreeMap<(Id, Id), Duration>,
    is_faulty: bool,
    /// Whether receivers are of several senders.
    of_several: bool,
    next_id: Id,
    /// When there was last a sender besides the one that lives, or packets of it.
    rivalry: Duration,
}

impl World {
    fn new(seed: u64, mistake: Mistake) -> Self {
        let mut world = Self {
            random: Random(seed),
            mistake,
            now: Duration::ZERO,
            senders: Vec::new(),
            receivers: Vec::new(),
            network: Vec::new(),
            cuts: BTreeMap::new(),
            is_faulty: true,
            of_several: seed.is_multiple_of(3),
            next_id: 0,
            rivalry: Duration::ZERO,
        };
        world.start_sender();
        world.start_receiver();
        world
    }

    fn id(&mut self) -> Id {
        self.next_id += 1;
        self.next_id
    }

    fn start_sender(&mut self) {
        let (id, left) = (self.id(), self.random.below(30));
        let state =
            Sending::new(id, Terms::new(Guarantee::Ordered, 0), TIMES, 1 + self.random.below(12));
        self.senders.push(Sender { id, state, left, taken: BTreeSet::new(), is_alive: true });
    }

    fn start_receiver(&mut self) {
        let (id, window) = (self.id(), 1 + self.random.below(12));
        let times = match self.mistake {
            // Longer than any schedule.
            Mistake::IsTooPatient => Times { patience: Duration::from_secs(1000), ..TIMES },
            _ => TIMES,
        };
        let mut one = Receiving::new(id, Terms::new(Guarantee::Ordered, 0), times, window);
        one.ignores_gaps = self.mistake == Mistake::IgnoresGaps;
        let state: Box<dyn Receive> = match self.of_several {
            true => Box::new(Several::new(id, Terms::new(Guarantee::Ordered, 0), times, window)),
            false => Box::new(one),
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
            ended: None,
        });
    }

    fn post(&mut self, from: Id, packet: Packet) {
        let to: Vec<Id> = match &packet {
            Packet::Seek { .. } => self.receivers.iter().map(|receiver| receiver.id).collect(),
            Packet::Offer { .. } => self.senders.iter().map(|sender| sender.id).collect(),
            Packet::Data(data) => vec![data.receiver],
            Packet::Status(status) => vec![status.sender],
            Packet::Refused { to } => vec![*to],
        };
        for to in to {
            let cut = self.cuts.get(&(from.min(to), from.max(to)));
            let is_cut = cut.is_some_and(|&until| self.now < until);
            if self.is_faulty && (is_cut || self.random.is_one_of(12)) {
                continue;
            }
            let copies = if self.is_faulty && self.random.is_one_of(12) { 2 } else { 1 };
            for _ in 0..copies {
                let most = match self.random.below(32) {
                    0 if self.is_faulty => LONGEST.as_millis() as u64,
                    1..8 if self.is_faulty => 60,
                    _ => 3,
                };
                let at = self.now + self.random.time(most);
                self.network.push((at, to, packet.clone()));
            }
        }
    }

    fn deliver(&mut self) {
        let mut index = 0;
        while index < self.network.len() {
            if self.network[index].0 > self.now {
                index += 1;
                continue;
            }
            let (_, to, packet) = self.network.swap_remove(index);
            if let Some(sender) = self.senders.iter_mut().find(|sender| sender.id == to) {
                sender.state.on_packet(packet, self.now);
            } else if let Some(receiver) = self.receivers.iter_mut().find(|end| end.id == to) {
                receiver.on_packet(packet, self.now);
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
                all_before && number <= sender.taken.len() as u64,
                "items before {number} are lost"
            );
            sender.taken.insert(number);
        }
        let told = match self.mistake {
            Mistake::TellsTooMuch => receiver.delivered,
            _ => receiver.taken,
        };
        receiver.state.on_taken(told);
    }

    fn push(&mut self) {
        for sender in &mut self.senders {
            let n = (1 + self.random.below(4)).min(sender.left).min(sender.state.room());
            if n > 0 {
                sender.state.push(Bytes::new(), n as u32);
                sender.left -= n;
            }
            if sender.left == 0 {
                sender.state.end();
            }
        }
    }

    fn poll(&mut self) {
        let mut posts = Vec::new();
        for sender in self.senders.iter_mut().filter(|sender| sender.is_alive) {
            while let Some(packet) = sender.state.poll(self.now) {
                posts.push((sender.id, packet));
                assert!(posts.len() < 1000, "it never stops");
            }
            if sender.state.is_refused() {
                let silence = self.now.saturating_sub(self.rivalry);
                assert!(silence <= 4 * TIMES.patience, "its place is free");
                sender.is_alive = false;
            }
            sender.is_alive &= !sender.state.is_over();
        }
        if self.senders.iter().filter(|sender| sender.is_alive).count() > 1 {
            self.rivalry = self.now;
        }
        for receiver in &mut self.receivers {
            while !(receiver.ended.is_none() && receiver.state.is_over())
                && let Some(packet) = receiver.state.poll(self.now)
            {
                if receiver.ended.is_none() || matches!(packet, Packet::Status(_)) {
                    posts.push((receiver.id, packet));
                }
                assert!(posts.len() < 1000, "it never stops");
            }
            if receiver.ended.is_none() && receiver.state.is_over() {
                receiver.ended = Some(self.now);
            }
        }
        let now = self.now;
        self.receivers.retain(|receiver| {
            let has_ended = receiver.ended.is_some_and(|ended| now >= ended + TIMES.patience);
            !has_ended && !receiver.state.is_refused()
        });
        posts.into_iter().for_each(|(from, packet)| self.post(from, packet));
    }

    fn fault(&mut self) {
        match self.random.below(100) {
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
                    self.rivalry = self.now + LONGEST;
                }
                self.start_sender();
            }
            4..8 => {
                for sender in &self.senders {
                    for receiver in &self.receivers {
                        if self.random.is_one_of(2) {
                            let until = self.now + self.random.time(1500);
                            let pair = (sender.id.min(receiver.id), sender.id.max(receiver.id));
                            self.cuts.insert(pair, until);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn step(&mut self) {
        if self.is_faulty {
            self.fault();
        }
        self.deliver();
        self.push();
        for index in 0..self.receivers.len() {
            for _ in 0..self.random.below(3) {
                self.take(index);
            }
        }
        self.poll();
        let packets = self.network.iter().map(|packet| packet.0);
        let senders = self.senders.iter().map(|sender| sender.state.next_time());
        let receivers = self.receivers.iter().map(|receiver| receiver.state.next_time());
        let next = packets.chain(senders).chain(receivers).min().unwrap_or_default();
        // Programs act, too.
        self.now = next.clamp(self.now + MILLISECOND, self.now + 20 * MILLISECOND);
    }

    /// Everything arrives, in a time that has a bound, once the faults have ended.
    fn check(&mut self) {
        self.is_faulty = false;
        // Those that are bound to dead ones, then those that wait for their place, one by one.
        let end = self.now + TIMES.patience * (10 + 6 * self.senders.len() as u32);
        while self.senders.iter().any(|sender| sender.is_alive) {
            if self.receivers.iter().all(|receiver| receiver.ended.is_some()) {
                self.start_receiver();
            }
            self.step();
            assert!(self.now < end, "it goes on for ever");
        }
        for index in 0..self.receivers.len() {
            while !self.receivers[index].inside.is_empty() {
                self.take(index);
            }
        }
        for sender in &self.senders {
            if sender.state.is_over() {
                assert_eq!(sender.taken.len() as u64, sender.state.sent_in_all(), "all is taken");
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
            self.inside.extend(numbers.map(|number| (data.sender, number)));
            let of_sender = self.inside.iter().filter(|item| item.0 == data.sender).count();
            assert!(of_sender as u64 <= self.window, "more than its room");
        }
    }
}

fn run(seed: u64, mistake: Mistake) {
    let mut world = World::new(seed, mistake);
    let steps = 20 + world.random.below(150);
    for _ in 0..steps {
        world.step();
    }
    world.check();
}

/// The number of schedules. More by the environment.
fn schedules() -> u64 {
    let more = std::env::var("CORELANE_SCHEDULES").ok();
    more.map_or(20_000, |number| number.parse().expect("CORELANE_SCHEDULES is a number"))
}

#[test]
fn nothing_is_lost_doubled_or_reordered() {
    for seed in 0..schedules() {
        let result = std::panic::catch_unwind(|| run(seed, Mistake::None));
        assert!(result.is_ok(), "with seed {seed}");
    }
}

#[test]
fn mistakes_are_found() {
    use Mistake::*;
    for mistake in [IgnoresGaps, TellsTooMuch, IsTooPatient] {
        let found =
            (0..3000).find(|&seed| std::panic::catch_unwind(|| run(seed, mistake)).is_err());
        assert!(found.is_some(), "{mistake:?} is not found");
    }
}
