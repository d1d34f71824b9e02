//! Ends over a network that loses, doubles, reorders and delays packets, with programs that are
//! killed, are cut off, and come while another one lives, by seed.
//!
//! After each schedule the faults end. Then all that the senders have sent must arrive. What must
//! hold is in `take` and `check` of the worlds.

mod to_one;
mod to_several;

use std::collections::BTreeMap;
use std::panic::{RefUnwindSafe, catch_unwind};
use std::time::Duration;

use super::{BINDINGS, Data, Id, Packet, Status, Times};

const TIMES: Times =
    Times { patience: Duration::from_millis(400), again: Duration::from_millis(10) };
const MILLISECOND: Duration = Duration::from_millis(1);
/// How long a packet may be on its way.
const LONGEST: Duration = Duration::from_millis(900);

/// A generator of numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
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

struct Network {
    random: Random,
    now: Duration,
    /// When a packet arrives, and where.
    packets: Vec<(Duration, Id, Packet)>,
    /// Ends that don't hear each other, until a time.
    cuts: BTreeMap<(Id, Id), Duration>,
    is_faulty: bool,
    /// Whether packets arrive in their order.
    is_ordered: bool,
    last_id: Id,
}

impl Network {
    fn new(seed: u64, is_calm: bool) -> Self {
        Self {
            random: Random(seed),
            now: Duration::ZERO,
            packets: Vec::new(),
            cuts: BTreeMap::new(),
            is_faulty: !is_calm,
            is_ordered: is_calm,
            last_id: 0,
        }
    }

    fn id(&mut self) -> Id {
        self.last_id += BINDINGS + 1;
        self.last_id
    }

    fn post(&mut self, from: Id, packet: &Packet, senders: &[Id], receivers: &[Id]) {
        let one;
        let to = match packet {
            Packet::Seek { .. } => receivers,
            Packet::Offer { .. } => senders,
            Packet::Data(Data { receiver: to, .. })
            | Packet::Status(Status { sender: to, .. })
            | Packet::Refused { to } => {
                one = [to & !BINDINGS];
                &one
            }
        };
        for &to in to {
            let cut = self.cuts.get(&(from.min(to), from.max(to)));
            let is_cut = cut.is_some_and(|&until| self.now < until);
            if self.is_faulty && (is_cut || self.random.is_one_of(12)) {
                continue;
            }
            let copies = if self.is_faulty && self.random.is_one_of(12) { 2 } else { 1 };
            for _ in 0..copies {
                let at = self.now + self.delay();
                self.packets.push((at, to, packet.clone()));
            }
        }
    }

    fn delay(&mut self) -> Duration {
        if self.is_ordered {
            return MILLISECOND;
        }
        let most = match self.random.below(32) {
            0 if self.is_faulty => LONGEST.as_millis() as u64,
            1..8 if self.is_faulty => 60,
            _ => 3,
        };
        self.random.time(most)
    }

    /// The packets that arrive now, and where.
    fn arrived(&mut self) -> Vec<(Id, Packet)> {
        let now = self.now;
        let arrived = self.packets.extract_if(.., |packet| packet.0 <= now);
        arrived.map(|(_, to, packet)| (to, packet)).collect()
    }

    /// Cuts some of the senders off from some of the receivers.
    fn cut(&mut self, senders: &[Id], receivers: &[Id]) {
        for &sender in senders {
            for &receiver in receivers {
                if self.random.is_one_of(2) {
                    let until = self.now + self.random.time(1500);
                    self.cuts.insert((sender.min(receiver), sender.max(receiver)), until);
                }
            }
        }
    }

    /// To the next time at which something happens. `next` are the times of the ends.
    fn advance(&mut self, next: impl Iterator<Item = Duration>) {
        let packets = self.packets.iter().map(|packet| packet.0);
        let next = packets.chain(next).min().unwrap_or_default();
        // Programs act, too.
        self.now = next.clamp(self.now + MILLISECOND, self.now + 20 * MILLISECOND);
    }
}

/// Runs schedules, of which none may fail. More of them by the environment.
fn run_all(number: u64, run: impl Fn(u64) + RefUnwindSafe) {
    let more = std::env::var("CORELANE_SCHEDULES").ok();
    let number = more.map_or(number, |n| n.parse().expect("CORELANE_SCHEDULES is a number"));
    for seed in 0..number {
        assert!(catch_unwind(|| run(seed)).is_ok(), "with seed {seed}");
    }
}

/// Whether one of some schedules fails.
fn is_found(run: impl Fn(u64) + RefUnwindSafe) -> bool {
    (0..30_000).any(|seed| catch_unwind(|| run(seed)).is_err())
}
