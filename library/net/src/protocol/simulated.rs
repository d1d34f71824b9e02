//! Both ends over a network that loses, doubles, reorders and delays packets, with processes that
//! are killed, by seed.
//!
//! After each schedule the faults end. Then all that the last sender has sent must arrive. What
//! must hold is in [`World::take`] and [`World::check`].

use std::time::Duration;

use bytes::Bytes;

use super::{Id, Packet, Receiving, Sending, Terms, Times};

const TIMES: Times =
    Times { patience: Duration::from_millis(400), again: Duration::from_millis(10) };
const MILLISECOND: Duration = Duration::from_millis(1);

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
}

/// A mistake that the checks must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// The receiver takes packets in the order in which they come.
    IgnoresGaps,
    /// The receiver says that its program has taken what it has delivered.
    TellsTooMuch,
    /// The receiver takes no sender for dead.
    ForgetsTheTime,
}

struct Sender {
    id: Id,
    state: Sending,
    left: u64,
}

struct Receiver {
    state: Receiving,
    /// Delivered, and not taken by the program: the sender, and the number.
    inside: std::collections::VecDeque<(Id, u64)>,
    delivered: u64,
    taken: u64,
    /// What the program has taken last.
    last: Option<(Id, u64)>,
}

struct World {
    random: Random,
    mistake: Mistake,
    now: Duration,
    sender: Sender,
    receiver: Receiver,
    /// To the receiver or to the sender, and when it arrives.
    network: Vec<(Duration, bool, Packet)>,
    is_faulty: bool,
    is_cut_until: Duration,
    window: u64,
    next_id: Id,
    /// Up to which number the programs have taken all items of the sender.
    taken: u64,
    /// Items that were taken twice, by different receivers.
    doubled: u64,
}

impl World {
    fn new(seed: u64, mistake: Mistake) -> Self {
        let mut random = Random(seed);
        let window = 1 + random.below(12);
        let mut world = Self {
            sender: Sender { id: 0, state: sending(0, window), left: 0 },
            receiver: receiver(0, window, mistake),
            random,
            mistake,
            now: Duration::ZERO,
            network: Vec::new(),
            is_faulty: true,
            is_cut_until: Duration::ZERO,
            window,
            next_id: 1,
            taken: 0,
            doubled: 0,
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
        let id = self.id();
        let left = self.random.below(30);
        self.sender = Sender { id, state: sending(id, self.window), left };
        self.taken = 0;
    }

    fn start_receiver(&mut self) {
        let id = self.id();
        self.receiver = receiver(id, self.window, self.mistake);
    }

    fn post(&mut self, to_receiver: bool, packet: Packet) {
        if self.is_faulty && (self.now < self.is_cut_until || self.random.is_one_of(12)) {
            return;
        }
        let copies = if self.is_faulty && self.random.is_one_of(12) { 2 } else { 1 };
        for _ in 0..copies {
            let most = if self.is_faulty && self.random.is_one_of(4) { 60 } else { 3 };
            let at = self.now + MILLISECOND * self.random.below(most) as u32;
            self.network.push((at, to_receiver, packet.clone()));
        }
    }

    fn deliver(&mut self) {
        let mut index = 0;
        while index < self.network.len() {
            if self.network[index].0 > self.now {
                index += 1;
                continue;
            }
            let (_, to_receiver, packet) = self.network.swap_remove(index);
            if to_receiver {
                if let Some((data, known)) = self.receiver.state.on_packet(packet, self.now) {
                    let from = data.first + u64::from(known);
                    let numbers = from..data.first + u64::from(data.count);
                    self.receiver.delivered += numbers.end - numbers.start;
                    self.receiver.inside.extend(numbers.map(|number| (data.sender, number)));
                    assert!(self.receiver.inside.len() as u64 <= self.window, "more than its room");
                }
            } else {
                self.sender.state.on_packet(packet, self.now);
            }
        }
    }

    /// The receiver's program takes an item.
    fn take(&mut self) {
        let Some(item) = self.receiver.inside.pop_front() else { return };
        self.receiver.taken += 1;
        if let Some((sender, number)) = self.receiver.last
            && sender == item.0
        {
            assert_eq!(item.1, number + 1, "lost, doubled or reordered within a receiver");
        }
        self.receiver.last = Some(item);
        if item.0 == self.sender.id {
            assert!(
                item.1 <= self.taken,
                "item {} comes, and {} was not taken",
                item.1,
                self.taken
            );
            self.doubled += u64::from(item.1 < self.taken);
            self.taken = self.taken.max(item.1 + 1);
        }
        let told = match self.mistake {
            Mistake::TellsTooMuch => self.receiver.delivered,
            _ => self.receiver.taken,
        };
        self.receiver.state.on_taken(told);
    }

    fn push(&mut self) {
        let Sender { state, left, .. } = &mut self.sender;
        let n = (1 + self.random.below(4)).min(*left).min(state.room());
        if n > 0 {
            state.push(Bytes::new(), n as u32);
            *left -= n;
            if *left == 0 {
                state.end();
            }
        } else if *left == 0 && state.untaken() == 0 && !state.is_over() {
            state.end();
        }
        assert!(state.untaken() <= self.window, "more than the window");
    }

    fn poll(&mut self) {
        for _ in 0..100 {
            let packet = self.sender.state.poll(self.now);
            let Some(packet) = packet else { break };
            self.post(true, packet);
        }
        for _ in 0..100 {
            let Some(packet) = self.receiver.state.poll(self.now) else { break };
            self.post(false, packet);
        }
    }

    fn fault(&mut self) {
        match self.random.below(60) {
            0 => self.start_receiver(),
            1 => self.start_sender(),
            2 => {
                let time = MILLISECOND * self.random.below(1000) as u32;
                self.is_cut_until = self.now + time;
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
        for _ in 0..self.random.below(3) {
            self.take();
        }
        self.poll();
        let at = self.network.iter().map(|packet| packet.0).min();
        let ends = self.sender.state.next_time().min(self.receiver.state.next_time());
        let next = at.map_or(ends, |at| at.min(ends));
        // Programs act, too.
        self.now = next.clamp(self.now + MILLISECOND, self.now + 20 * MILLISECOND);
    }

    /// Everything arrives, in a time that has a bound, once the faults have ended.
    fn check(&mut self) {
        self.is_faulty = false;
        let end = self.now + 10 * TIMES.patience;
        while !self.sender.state.is_over() || !self.receiver.inside.is_empty() {
            self.step();
            assert!(
                self.now < end,
                "it goes on for ever: {:?}\n{:?}",
                self.sender.state,
                self.receiver.state
            );
        }
        assert_eq!(self.taken, self.taken.max(self.sender.state.untaken()), "all is taken");
        assert!(self.network.len() < 1000, "the network fills up");
    }
}

fn sending(id: Id, window: u64) -> Sending {
    Sending::new(id, Terms::new(0, 0), TIMES, window)
}

fn receiver(id: Id, window: u64, mistake: Mistake) -> Receiver {
    let times = match mistake {
        // Longer than any schedule.
        Mistake::ForgetsTheTime => Times { patience: Duration::from_secs(1000), ..TIMES },
        _ => TIMES,
    };
    let mut state = Receiving::new(id, Terms::new(0, 0), times, window);
    state.ignores_gaps = mistake == Mistake::IgnoresGaps;
    Receiver { state, inside: Default::default(), delivered: 0, taken: 0, last: None }
}

fn run(seed: u64, mistake: Mistake) {
    let mut world = World::new(seed, mistake);
    let steps = 20 + world.random.below(100);
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
    for mistake in [Mistake::IgnoresGaps, Mistake::TellsTooMuch, Mistake::ForgetsTheTime] {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let found =
            (0..3000).find(|&seed| std::panic::catch_unwind(|| run(seed, mistake)).is_err());
        std::panic::set_hook(hook);
        assert!(found.is_some(), "{mistake:?} is not found");
    }
}
