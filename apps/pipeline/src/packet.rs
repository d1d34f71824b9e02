//! A packet on its way through the stages.

use std::net::IpAddr;
use std::ops::Range;
use std::time::Instant;

use corelane_capture::Record;

/// A packet on its way. It is one word, so that all queues take it.
pub type Parcel = Box<Packet>;

/// A packet. Stages hand it on by ownership, so its bytes are never copied.
#[derive(Debug, Clone, Default)]
pub struct Packet {
    /// The captured bytes.
    pub bytes: Vec<u8>,
    /// Length on the wire.
    pub wire: u32,
    /// When it was captured, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Decimal places of the capture's seconds.
    pub digits: u8,
    /// The number of its link type, as pcap files have it.
    pub link: u32,
    /// When it should have been sent in a replay that follows a clock.
    pub due: Option<Instant>,
    /// Its place in the capture, from 0.
    pub(crate) number: u64,
    /// What the parse stage has found.
    pub(crate) segment: Segment,
}

impl Packet {
    /// An Ethernet packet, captured in full.
    pub fn ethernet(at_ns: u64, bytes: Vec<u8>) -> Self {
        let wire = bytes.len() as u32;
        Self { bytes, wire, at_ns, digits: 9, link: 1, ..Self::default() }
    }

    /// Makes it a copy of `other`, in the memory that it has.
    pub fn copy_from(&mut self, other: &Self) {
        self.bytes.clone_from(&other.bytes);
        (self.wire, self.at_ns) = (other.wire, other.at_ns);
        (self.digits, self.link) = (other.digits, other.link);
        (self.due, self.segment) = (other.due, other.segment.clone());
    }

    /// Sets what a capture says about the packet whose bytes are here.
    pub(crate) fn describe(&mut self, record: &Record, at_ns: u64) {
        (self.wire, self.at_ns) = (record.bytes, at_ns);
        (self.digits, self.link) = (record.digits, record.link);
        // Of an earlier use.
        (self.due, self.segment) = (None, Segment::default());
    }

    /// Whether the capture holds fewer bytes than the wire had.
    pub(crate) fn is_cut(&self) -> bool {
        self.bytes.len() < self.wire as usize
    }

    /// What its transport carries.
    pub(crate) fn payload(&self) -> &[u8] {
        self.bytes.get(self.segment.payload.clone()).unwrap_or_default()
    }

    /// The addresses that it goes between, and in which order.
    pub(crate) fn way(&self) -> (Endpoint, Endpoint) {
        let Key { low, high, .. } = self.segment.key;
        if self.segment.is_from_low { (low, high) } else { (high, low) }
    }
}

/// An address and a port. The port is 0 where a transport has none.
pub(crate) type Endpoint = (IpAddr, u16);

/// The two ends of a flow, in the same order for both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) low: Endpoint,
    pub(crate) high: Endpoint,
    /// The protocol number of IP.
    pub(crate) protocol: u8,
}

/// What the parse stage finds in a packet, or in a datagram of several fragments.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) key: Key,
    pub(crate) is_from_low: bool,
    /// The part of the flow table that has the flow.
    pub(crate) shard: usize,
    /// Packets and bytes of the wire that it stands for.
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// When the first of these packets was captured.
    pub(crate) first_ns: u64,
    pub(crate) payload: Range<usize>,
    pub(crate) tcp: Option<Tcp>,
}

/// The fields of a TCP header that matter here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tcp {
    pub(crate) sequence: u32,
    pub(crate) syn: bool,
    pub(crate) ack: bool,
    pub(crate) ends: bool,
}

impl Tcp {
    /// The number of its first byte of payload: a SYN has a number of its own.
    pub(crate) fn begin(self) -> u32 {
        self.sequence.wrapping_add(self.syn.into())
    }
}

impl Default for Segment {
    fn default() -> Self {
        let none = (IpAddr::from([0, 0, 0, 0]), 0);
        Self {
            key: Key { low: none, high: none, protocol: 0 },
            is_from_low: true,
            shard: 0,
            packets: 0,
            bytes: 0,
            first_ns: 0,
            payload: 0..0,
            tcp: None,
        }
    }
}
