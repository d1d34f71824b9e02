//! The switch.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::counters::Counters;
use crate::mac::Mac;
use crate::port::{Packet, Port};
use crate::table::Table;

/// How long the address of a port's last packet needs no look into the table, in milliseconds; or
/// half of the age of addresses, if that is less.
const FRESH: u64 = 1000;
/// Length of an Ethernet header.
const HEADER: usize = 14;

/// What happens to a packet if the receiving port has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// It is dropped and counted, as in the paper.
    Drop,
    /// It waits. Its sender's port is not pulled meanwhile. A port that takes nothing for `patience`
    /// milliseconds is stuck: packets for it are dropped until it takes one again. Broadcasts and
    /// multicasts wait for no port: they are dropped where there is no room.
    Wait {
        /// How long a port may take nothing.
        patience: u64,
    },
}

/// How a switch works.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Most packets that a turn pulls from a port: B_V of the paper.
    pub batch: usize,
    /// What happens if a port has no room.
    pub overflow: Overflow,
    /// How long an address is known after its last packet, in milliseconds.
    pub age: u64,
    /// Most addresses that are known.
    pub addresses: usize,
}

impl Options {
    /// The default with batches of `batch`.
    pub fn of(batch: usize) -> Self {
        Self { batch, ..Self::default() }
    }
}

impl Default for Options {
    /// Batches of 32; drops; addresses for five minutes, as other switches; at most 16,384.
    fn default() -> Self {
        Self { batch: 32, overflow: Overflow::Drop, age: 300_000, addresses: 16_384 }
    }
}

/// A learning switch between ports. One thread calls [`turn`](Self::turn) over and over.
#[derive(Debug)]
pub struct Switch<P: Port> {
    ports: Vec<Option<Attached<P>>>,
    table: Table,
    options: Options,
    /// The port that is pulled first in the next turn. No port is always the first to find room.
    first: usize,
    /// The packets of the current port.
    pulled: Vec<P::Packet>,
}

/// A port with what the switch keeps of it.
#[derive(Debug)]
struct Attached<P: Port> {
    port: P,
    counters: Arc<Counters>,
    /// Packets for this port: pulled in this turn, or waiting for room.
    outgoing: VecDeque<P::Packet>,
    /// Packets from this port that wait for room at others.
    held: VecDeque<P::Packet>,
    /// The source of the last packet, and when the table learned it.
    last: Option<(Mac, u64)>,
    /// Since when the port has taken nothing of what is there for it.
    full_since: Option<u64>,
}

impl<P: Port> Switch<P> {
    /// A switch without ports.
    pub fn new(options: Options) -> Self {
        let table = Table::new(options.age, options.addresses);
        Self { ports: Vec::new(), table, options, first: 0, pulled: Vec::new() }
    }

    /// Adds a port. Returns its number, and what it carries from now on.
    pub fn attach(&mut self, port: P) -> (usize, Arc<Counters>) {
        let counters = Arc::<Counters>::default();
        let attached = Attached {
            port,
            counters: counters.clone(),
            outgoing: VecDeque::new(),
            held: VecDeque::new(),
            last: None,
            full_since: None,
        };
        let number = self.ports.iter().position(Option::is_none).unwrap_or_else(|| {
            self.ports.push(None);
            self.ports.len() - 1
        });
        self.ports[number] = Some(attached);
        (number, counters)
    }

    /// Whether packets of this port wait for room at others.
    pub fn has_held(&self, number: usize) -> bool {
        let port = self.ports.get(number).and_then(Option::as_ref);
        port.is_some_and(|port| !port.held.is_empty())
    }

    /// Removes a port. Packets that wait there are dropped, and its addresses are forgotten.
    pub fn detach(&mut self, number: usize) -> Option<P> {
        let Attached { port, outgoing, held, counters, .. } = self.ports.get_mut(number)?.take()?;
        counters.dropped.add((outgoing.len() + held.len()) as u64);
        outgoing.into_iter().chain(held).for_each(Packet::discard);
        self.table.forget(number);
        Some(port)
    }

    /// The ports with their numbers.
    pub fn ports(&mut self) -> impl Iterator<Item = (usize, &mut P)> {
        let ports = self.ports.iter_mut().enumerate();
        ports.filter_map(|(number, port)| Some((number, &mut port.as_mut()?.port)))
    }

    /// The addresses that the switch knows.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Forgets addresses that were not heard of for too long. To be called now and then.
    pub fn expire(&mut self, now: u64) {
        self.table.expire(now);
    }

    /// Whether packets wait for room at a port.
    pub fn has_waiting(&self) -> bool {
        let has_some = |port: &Attached<P>| !port.outgoing.is_empty() || !port.held.is_empty();
        self.ports.iter().flatten().any(has_some)
    }

    /// Takes a packet that its port has given while the switch slept. It goes out in the next turn.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    pub fn take(&mut self, number: usize, packet: P::Packet, now: u64) {
        let counters = &self.source(number).counters;
        counters.sent.add(1);
        counters.sent_bytes.add(packet.bytes() as u64);
        if let Err(packet) = self.forward(number, packet, now) {
            self.source(number).held.push_back(packet);
        }
    }

    /// Pulls from all ports, and pushes to all ports. `now` is in milliseconds. Returns the number
    /// of packets that have come from ports, or were passed to one: 0 means that nothing moved.
    pub fn turn(&mut self, now: u64) -> usize {
        let mut moved = 0;
        let first = self.first;
        for number in (first..self.ports.len()).chain(0..first) {
            moved += self.pull(number, now);
        }
        self.first = if first + 1 < self.ports.len() { first + 1 } else { 0 };
        let overflow = self.options.overflow;
        for port in self.ports.iter_mut().flatten() {
            moved += port.push(overflow, now);
        }
        moved
    }

    /// The pull phase for one port.
    fn pull(&mut self, number: usize, now: u64) -> usize {
        let Some(source) = &mut self.ports[number] else { return 0 };
        if !source.held.is_empty() {
            return self.forward_held(number, now);
        }
        let mut pulled = std::mem::take(&mut self.pulled);
        source.port.pull(self.options.batch, &mut pulled);
        let count = pulled.len();
        if count > 0 {
            let bytes = pulled.iter().map(Packet::bytes).sum::<usize>();
            source.counters.sent.add(count as u64);
            source.counters.sent_bytes.add(bytes as u64);
        }
        let mut packets = pulled.drain(..);
        while let Some(packet) = packets.next() {
            if let Err(packet) = self.forward(number, packet, now) {
                let held = [packet].into_iter().chain(packets.by_ref());
                self.source(number).held.extend(held);
            }
        }
        drop(packets);
        self.pulled = pulled;
        count
    }

    /// Passes on packets that found no room in an earlier turn.
    fn forward_held(&mut self, number: usize, now: u64) -> usize {
        let mut moved = 0;
        while let Some(packet) = self.source(number).held.pop_front() {
            if let Err(packet) = self.forward(number, packet, now) {
                self.source(number).held.push_front(packet);
                break;
            }
            moved += 1;
        }
        moved
    }

    fn source(&mut self, number: usize) -> &mut Attached<P> {
        self.ports[number].as_mut().expect("a packet came from it")
    }

    /// Puts a packet into the list of its destination. Gives it back if it must wait.
    fn forward(&mut self, from: usize, packet: P::Packet, now: u64) -> Result<(), P::Packet> {
        if packet.bytes() < HEADER {
            self.source(from).counters.filtered.add(1);
            packet.discard();
            return Ok(());
        }
        let [destination, source] = packet.addresses();
        self.learn(from, source, now);
        let known = if destination.is_group() { None } else { self.table.find(destination, now) };
        match known {
            Some(to) if to == from => {
                self.source(from).counters.filtered.add(1);
                packet.discard();
            }
            Some(to) => {
                let to =
                    self.ports[to].as_mut().expect("addresses of detached ports are forgotten");
                if !to.has_room(self.options) {
                    return Err(packet);
                }
                to.outgoing.push_back(packet);
            }
            None => return self.flood(from, packet, destination.is_group()),
        }
        Ok(())
    }

    /// All ports but one.
    fn others(&mut self, than: usize) -> impl Iterator<Item = &mut Attached<P>> {
        let ports = self.ports.iter_mut().enumerate().filter(move |(number, _)| *number != than);
        ports.filter_map(|(_, port)| port.as_mut())
    }

    fn learn(&mut self, from: usize, address: Mac, now: u64) {
        let fresh = FRESH.min(self.options.age / 2);
        let last = &mut self.ports[from].as_mut().expect("a packet came from it").last;
        // Another port may have had the address meanwhile: then it's back after `fresh`.
        if last.is_none_or(|(mac, learned)| mac != address || now >= learned + fresh) {
            *last = Some((address, now));
            self.table.learn(address, from, now);
        }
    }

    /// Gives a packet to all other ports. Gives it back if it must wait for one of them.
    fn flood(&mut self, from: usize, packet: P::Packet, is_group: bool) -> Result<(), P::Packet> {
        let options = self.options;
        if !is_group && !self.others(from).all(|port| port.has_room(options)) {
            return Err(packet);
        }
        self.source(from).counters.flooded.add(1);
        for port in self.others(from) {
            if port.has_room(options) {
                port.outgoing.push_back(packet.share());
            } else {
                port.counters.dropped.add(1);
            }
        }
        packet.discard();
        Ok(())
    }
}

impl<P: Port> Attached<P> {
    /// Whether a packet may be put into the list. If packets are dropped, that happens behind it.
    fn has_room(&self, options: Options) -> bool {
        options.overflow == Overflow::Drop || self.outgoing.len() < options.batch
    }

    /// The push phase for this port. Returns the number of packets that it took.
    fn push(&mut self, overflow: Overflow, now: u64) -> usize {
        let waiting = self.outgoing.len();
        if waiting == 0 {
            return 0;
        }
        let bytes =
            |packets: &VecDeque<P::Packet>| packets.iter().map(Packet::bytes).sum::<usize>();
        let before = bytes(&self.outgoing);
        self.port.push(&mut self.outgoing);
        let taken = waiting - self.outgoing.len();
        if taken > 0 {
            self.counters.received.add(taken as u64);
            self.counters.received_bytes.add((before - bytes(&self.outgoing)) as u64);
            self.full_since = None;
        }
        if !self.outgoing.is_empty() && self.gives_up(overflow, now) {
            self.counters.dropped.add(self.outgoing.len() as u64);
            self.outgoing.drain(..).for_each(Packet::discard);
        }
        taken
    }

    /// Whether packets that the port has no room for are dropped.
    fn gives_up(&mut self, overflow: Overflow, now: u64) -> bool {
        match overflow {
            Overflow::Drop => true,
            Overflow::Wait { patience } => now >= *self.full_since.get_or_insert(now) + patience,
        }
    }
}
