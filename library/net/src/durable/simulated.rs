//! Senders and a server over a network that loses, delays and reorders what they say, by a seed.
//! Senders of two names share a lane. A program starts anew while the one before it may still live.
//! `CORELANE_SCHEDULES` is the number of schedules, 20,000 if it isn't given.

use std::collections::BTreeMap;

use super::message::Head;
use super::publishing::{Last, Outcome, Publication, Publishing};
use crate::protocol::simulated::Random;

/// A mistake that the simulation must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// A sender takes its name over without the message of another name.
    TakesOverAtOnce,
    /// Three messages are under way.
    ThreeUnderWay,
}

/// A message that may be stored, and a sender that waits for the answer.
struct Request {
    name: usize,
    sender: usize,
    publication: Publication,
}

struct Server {
    /// The sequence of the last message.
    sequence: u64,
    last: [Option<Last>; 2],
    /// Of each name: the writers of its items.
    items: [Vec<u64>; 2],
}

impl Server {
    fn store(&mut self, name: usize, publication: &Publication) -> Result<Outcome, String> {
        if self.last[name].map_or(0, |last| last.sequence) != publication.expected {
            return Ok(Outcome::Refused);
        }
        self.sequence += 1;
        let (head, _) = Head::split(&publication.message).expect("a sender has written it");
        if head.first != self.items[name].len() as u64 {
            return Err(format!("{} items, and then {head:?}", self.items[name].len()));
        }
        self.items[name].extend((0..head.count).map(|_| head.writer));
        self.last[name] = Some(Last { sequence: self.sequence, head });
        Ok(Outcome::Stored(self.sequence))
    }
}

struct Sender {
    name: usize,
    state: Publishing,
    writer: u64,
    /// Where its items begin, and how many it has accepted.
    first: u64,
    accepted: u64,
}

struct World {
    random: Random,
    mistake: Mistake,
    server: Server,
    senders: BTreeMap<usize, Sender>,
    started: usize,
    requests: Vec<Request>,
    answers: Vec<(usize, u64, Outcome)>,
}

impl World {
    fn start(&mut self, name: usize) -> Result<(), String> {
        if self.mistake != Mistake::TakesOverAtOnce {
            self.server.sequence += 1;
        }
        let last = self.server.last[name];
        let writer = 1 + self.started as u64;
        let head = Head { writer, first: last.map_or(0, |last| last.head.end()), count: 0 };
        let expected = last.map_or(0, |last| last.sequence);
        let taking_over = Publication { id: 0, expected, message: head.with(&[]) };
        self.server.store(name, &taking_over)?;
        let mut state = Publishing::new(self.server.last[name].expect("it is stored"));
        if self.mistake == Mistake::ThreeUnderWay {
            state.most = 3;
        }
        let sender = Sender { name, state, writer, first: head.first, accepted: 0 };
        self.senders.insert(self.started, sender);
        self.started += 1;
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        let random = &mut self.random;
        let ids: Vec<usize> = self.senders.keys().copied().collect();
        let id = ids[random.below(ids.len() as u64) as usize];
        match random.below(40) {
            0 => {
                let name = random.below(2) as usize;
                // The one before it is killed, or lives on.
                if random.below(2) == 0 {
                    self.senders.retain(|_, sender| sender.name != name);
                }
                self.start(name)?;
            }
            1..12 => {
                let (count, sender) = (1 + random.below(3), self.senders.get_mut(&id).unwrap());
                if sender.state.unstored() < 12 {
                    sender.state.push(&[], count as u32);
                    sender.accepted += count;
                }
            }
            12..24 => {
                let sender = self.senders.get_mut(&id).unwrap();
                if let Some(publication) = sender.state.poll() {
                    let name = sender.name;
                    self.requests.push(Request { name, sender: id, publication });
                } else if sender.state.must_look() {
                    let is_taken = sender.state.looked(self.server.last[sender.name]).is_err();
                    if is_taken {
                        self.senders.remove(&id);
                    }
                }
            }
            24..32 if !self.requests.is_empty() => {
                // Mostly in order.
                let index =
                    if random.below(4) == 0 { random.below(self.requests.len() as u64) } else { 0 };
                let request = self.requests.remove(index as usize);
                let is_lost = random.below(12);
                let outcome = match is_lost {
                    0 => Outcome::Unknown,
                    1 => Outcome::Full,
                    _ => self.server.store(request.name, &request.publication)?,
                };
                self.answers.push((request.sender, request.publication.id, outcome));
            }
            32..39 if !self.answers.is_empty() => {
                let index = random.below(self.answers.len() as u64) as usize;
                let (sender, publication, mut outcome) = self.answers.remove(index);
                if random.below(12) == 0 {
                    outcome = Outcome::Unknown;
                }
                if let Some(sender) = self.senders.get_mut(&sender) {
                    sender.state.came_out(publication, outcome);
                }
            }
            39 => {
                // It waits no longer. The message may still arrive.
                if let Some(request) = self.requests.first()
                    && let Some(sender) = self.senders.get_mut(&request.sender)
                {
                    sender.state.came_out(request.publication.id, Outcome::Unknown);
                }
            }
            _ => {}
        }
        self.check()
    }

    /// What a sender knows to be stored is, as this sender's.
    fn check(&self) -> Result<(), String> {
        for sender in self.senders.values() {
            let items = &self.server.items[sender.name];
            let known = sender.first + sender.accepted - sender.state.unstored();
            let stored = items.get(sender.first as usize..known as usize);
            if !stored.is_some_and(|items| items.iter().all(|&writer| writer == sender.writer)) {
                return Err(format!("{known} are known to be stored, of {}", items.len()));
            }
        }
        Ok(())
    }
}

/// Returns the number of items that were stored.
fn run(seed: u64, mistake: Mistake) -> Result<usize, String> {
    let mut world = World {
        random: Random(seed),
        mistake,
        server: Server { sequence: 0, last: [None; 2], items: [vec![], vec![]] },
        senders: BTreeMap::new(),
        started: 0,
        requests: Vec::new(),
        answers: Vec::new(),
    };
    world.start(0)?;
    world.start(1)?;
    for _ in 0..400 {
        world.step()?;
    }
    Ok(world.server.items.iter().map(Vec::len).sum())
}

fn schedules() -> u64 {
    std::env::var("CORELANE_SCHEDULES").map_or(20_000, |n| n.parse().expect("a number"))
}

#[test]
fn each_item_is_stored_once_and_in_order() {
    let mut items = 0;
    for seed in 0..schedules() {
        items += run(seed, Mistake::None).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    assert!(items as u64 > 20 * schedules(), "{items} items");
}

#[test]
fn the_simulation_finds_a_sender_that_takes_over_at_once() {
    assert!((0..schedules()).any(|seed| run(seed, Mistake::TakesOverAtOnce).is_err()));
}

#[test]
fn the_simulation_finds_three_messages_under_way() {
    assert!((0..schedules()).any(|seed| run(seed, Mistake::ThreeUnderWay).is_err()));
}
