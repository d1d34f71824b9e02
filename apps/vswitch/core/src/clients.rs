//! The clients with which paper 1 measures its switch, §6.2 and §6.3.
//!
//! A client never waits inside a call, so one thread can run several clients by turns.

use std::collections::VecDeque;

use crate::frame::Frame;
use crate::mac::Mac;
use crate::port::{Packet, Port};

/// Length of the clients' packets: the shortest of Ethernet.
const SHORTEST: usize = 60;
/// The Ethernet type for experiments.
const EXPERIMENT: [u8; 2] = [0x88, 0xb5];

/// The contents of a client's packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The client that gets it.
    pub to: u32,
    /// The client that has sent it.
    pub from: u32,
    /// Whether it answers a request.
    pub answers: bool,
    /// Packets that its sender has sent to its receiver before.
    pub number: u32,
}

/// A packet that a client can write and read.
pub trait Writable: Packet {
    /// A new packet.
    fn blank() -> Self;

    /// Makes it a packet with this header.
    fn write(&mut self, header: Header);

    /// Its header.
    fn header(&self) -> Header;
}

impl Writable for Frame {
    fn blank() -> Self {
        Self::of(&[0; SHORTEST])
    }

    #[inline]
    fn write(&mut self, Header { to, from, answers, number }: Header) {
        if self.bytes_mut().is_none() {
            // The switch didn't know yet where its receiver is, and others have it, too.
            *self = Self::blank();
        }
        let bytes = self.bytes_mut().expect("it is new");
        bytes[0..6].copy_from_slice(&Mac::local(to).to_bytes());
        bytes[6..12].copy_from_slice(&Mac::local(from).to_bytes());
        bytes[12..14].copy_from_slice(&EXPERIMENT);
        bytes[14] = u8::from(answers);
        bytes[16..20].copy_from_slice(&to.to_le_bytes());
        bytes[20..24].copy_from_slice(&from.to_le_bytes());
        bytes[24..28].copy_from_slice(&number.to_le_bytes());
    }

    #[inline]
    fn header(&self) -> Header {
        let word = |at: usize| self[at..].first_chunk().copied().map(u32::from_le_bytes);
        let word = |at| word(at).expect("packets have 60 bytes");
        Header { to: word(16), from: word(20), answers: self[14] == 1, number: word(24) }
    }
}

/// A client of the switch.
#[derive(Debug)]
pub struct Client<P: Port> {
    /// From the client's side: it pulls what it receives, and pushes what it sends.
    port: P,
    /// Which one it is.
    number: u32,
    /// Packets in one go: B_C of the paper.
    batch: usize,
    /// The other clients. The first is the next to which a packet is sent.
    others: VecDeque<u32>,
    /// Packets for use.
    free: Vec<P::Packet>,
    received: Vec<P::Packet>,
    /// Packets that the switch had no room for yet.
    outgoing: VecDeque<P::Packet>,
    /// Answers that have not come yet.
    awaited: usize,
    /// For each client the number of the next packet to it, and of the next packet from it.
    numbers: Vec<[u32; 2]>,
    /// From which clients a packet has come. It need not be for this one.
    heard: Vec<bool>,
    /// What came and what didn't.
    tally: Tally,
}

/// What a client has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets that it has given to the switch.
    pub sent: u64,
    /// Packets that it got.
    pub received: u64,
    /// Packets for it that never came, as far as later packets of the same client show.
    pub lost: u64,
    /// Packets that came after a later packet of the same client, or twice.
    pub reordered: u64,
    /// Packets for others.
    pub misdirected: u64,
}

impl<P: Port<Packet: Writable>> Client<P> {
    /// Client `number` of `clients`, which sends `batch` packets in one go.
    ///
    /// # Panics
    ///
    /// If there are fewer than two clients.
    pub fn new(port: P, number: u32, clients: u32, batch: usize) -> Self {
        assert!(clients > 1, "a client needs another one");
        let others = (number + 1..clients).chain(0..number).collect();
        Self {
            port,
            number,
            batch,
            others,
            free: Vec::new(),
            received: Vec::new(),
            outgoing: VecDeque::new(),
            awaited: 0,
            numbers: vec![[0; 2]; clients as usize],
            heard: (0..clients).map(|other| other == number).collect(),
            tally: Tally::default(),
        }
    }

    /// Its side of the port.
    pub fn port(&self) -> &P {
        &self.port
    }

    /// What it has seen so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Tells the switch where this client is, which it learns from a packet to any address.
    pub fn introduce(&mut self) {
        let mut packet = P::Packet::blank();
        let header = Header { to: self.number, from: self.number, answers: false, number: 0 };
        packet.write(header);
        self.outgoing.push_back(packet);
        while !self.outgoing.is_empty() {
            self.port.push(&mut self.outgoing);
        }
    }

    /// Sends a packet to all other clients: to an address that the switch doesn't know.
    pub fn greet(&mut self) {
        let mut packet = P::Packet::blank();
        let (to, from) = (u32::MAX, self.number);
        packet.write(Header { to, from, answers: false, number: 0 });
        self.outgoing.push_back(packet);
        self.send();
    }

    /// Whether a packet has come from each other client: then all have ports.
    pub fn has_heard_of_all(&self) -> bool {
        self.heard.iter().all(|heard| *heard)
    }

    /// Takes all that has come, and sends a batch to other clients by turns. What finds no room
    /// is sent the next time. Returns the number of packets that came or went.
    pub fn flood(&mut self) -> usize {
        let received = self.receive();
        self.free.append(&mut self.received);
        while self.outgoing.len() < self.batch {
            self.request();
        }
        received + self.send()
    }

    /// Answers requests, and sends a batch of requests to other clients by turns when all answers
    /// to its own requests have come. Returns the number of packets that came or went.
    pub fn exchange(&mut self) -> usize {
        let received = self.receive();
        let mut packets = std::mem::take(&mut self.received);
        for mut packet in packets.drain(..) {
            let Header { to, from, answers, .. } = packet.header();
            if to != self.number || from as usize >= self.numbers.len() {
                self.free.push(packet);
            } else if answers {
                self.awaited = self.awaited.saturating_sub(1);
                self.free.push(packet);
            } else {
                let header = self.next(from, true);
                packet.write(header);
                self.outgoing.push_back(packet);
            }
        }
        self.received = packets;
        if self.awaited == 0 {
            (0..self.batch).for_each(|_| self.request());
            self.awaited = self.batch;
        }
        received + self.send()
    }

    /// Takes all packets that have come, without sending. Returns the number of packets.
    pub fn drain(&mut self) -> usize {
        let received = self.receive();
        self.free.append(&mut self.received);
        received
    }

    /// Takes all packets that have come.
    fn receive(&mut self) -> usize {
        self.port.pull(usize::MAX, &mut self.received);
        for packet in &self.received {
            let Header { to, from, number, .. } = packet.header();
            self.heard.get_mut(from as usize).into_iter().for_each(|heard| *heard = true);
            let of_sender = self.numbers.get_mut(from as usize).filter(|_| from != self.number);
            let Some([_, next]) = of_sender.filter(|_| to == self.number) else {
                self.tally.misdirected += 1;
                continue;
            };
            match number.checked_sub(*next) {
                Some(lost) => {
                    self.tally.lost += u64::from(lost);
                    *next = number + 1;
                }
                None => self.tally.reordered += 1,
            }
        }
        self.tally.received += self.received.len() as u64;
        self.received.len()
    }

    /// The header of the next packet to a client.
    fn next(&mut self, to: u32, answers: bool) -> Header {
        let [next, _] = &mut self.numbers[to as usize];
        let number = *next;
        *next += 1;
        Header { to, from: self.number, answers, number }
    }

    /// Puts a packet for the next client into the list.
    fn request(&mut self) {
        self.others.rotate_left(1);
        let header = self.next(*self.others.back().expect("there are others"), false);
        let mut packet = self.free.pop().unwrap_or_else(P::Packet::blank);
        packet.write(header);
        self.outgoing.push_back(packet);
    }

    fn send(&mut self) -> usize {
        let before = self.outgoing.len();
        self.port.push(&mut self.outgoing);
        let sent = before - self.outgoing.len();
        self.tally.sent += sent as u64;
        sent
    }
}
