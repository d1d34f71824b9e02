//! What the pipeline has seen.

use std::borrow::Cow;
use std::collections::{BTreeMap, BinaryHeap};

use hdrhistogram::Histogram;

use crate::packet::Endpoint;
use crate::parse::Tally;

/// Flows that are listed at most: the first ones. The others are only counted.
pub const MOST_LISTED: usize = 1 << 18;

/// A sum over flows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Total {
    /// Flows.
    pub flows: u64,
    /// Their packets.
    pub packets: u64,
    /// The bytes of these packets on the wire.
    pub bytes: u64,
}

impl Total {
    pub(crate) fn add(&mut self, flows: u64, packets: u64, bytes: u64) {
        self.flows += flows;
        self.packets += packets;
        self.bytes += bytes;
    }
}

/// A flow that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowRecord {
    /// The number of its first packet, which sorts flows.
    pub(crate) number: u64,
    /// The initiator, and the other end.
    pub(crate) ends: [Endpoint; 2],
    /// The protocol number of IP.
    pub(crate) protocol: u8,
    /// Packets of both directions.
    pub packets: u64,
    /// The bytes of these packets on the wire.
    pub bytes: u64,
    /// When its first packet was captured, in nanoseconds since 1970.
    pub first_ns: u64,
    /// The same for its last packet.
    pub last_ns: u64,
    /// Decimal places of these times.
    pub(crate) digits: u8,
    /// The application.
    pub app: &'static str,
    /// The host that it asks for, or nothing.
    pub host: String,
    /// The method of HTTP, or nothing.
    pub method: String,
}

impl FlowRecord {
    /// The name of its transport.
    pub fn transport(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self.protocol {
            1 => "icmp",
            2 => "igmp",
            6 => "tcp",
            17 => "udp",
            33 => "dccp",
            47 => "gre",
            50 => "esp",
            51 => "ah",
            58 => "icmp6",
            132 => "sctp",
            136 => "udplite",
            other => return Cow::Owned(format!("ip-{other}")),
        })
    }
}

/// Flows in the order of their first packets, for a heap that gives the last one.
#[derive(Debug)]
struct ByNumber(FlowRecord);

impl PartialEq for ByNumber {
    fn eq(&self, other: &Self) -> bool {
        self.0.number == other.0.number
    }
}

impl Eq for ByNumber {}

impl PartialOrd for ByNumber {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByNumber {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.number.cmp(&other.0.number)
    }
}

/// What the pipeline has seen.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Packets of the capture.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets lost because a queue was full.
    pub dropped: u64,
    /// Packets that contradict themselves or each other. They belong to no flow.
    pub malformed: u64,
    /// Packets with a wrong checksum. They are not left out.
    pub bad_checksums: u64,
    /// Sums over the flows of each application, and over packets of no flow by their kind.
    pub protocols: BTreeMap<&'static str, Total>,
    /// The first flows of the capture, [`MOST_LISTED`] at most, by their first packets.
    pub flows: Vec<FlowRecord>,
    /// Sums over all flows that are not listed.
    pub unlisted: Total,
    /// The time from when a packet was due until it was classified, in nanoseconds, in a replay
    /// that follows a clock.
    pub latency_ns: Option<Histogram<u64>>,
}

/// Collects flows in any order.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    protocols: BTreeMap<&'static str, Total>,
    first: BinaryHeap<ByNumber>,
    unlisted: Total,
    pub(crate) flows: u64,
}

impl Collector {
    pub(crate) fn add(&mut self, flow: FlowRecord) {
        self.flows += 1;
        self.protocols.entry(flow.app).or_default().add(1, flow.packets, flow.bytes);
        self.first.push(ByNumber(flow));
        if self.first.len() > MOST_LISTED
            && let Some(ByNumber(last)) = self.first.pop()
        {
            self.unlisted.add(1, last.packets, last.bytes);
        }
    }

    /// The report, but for what the input stage has counted.
    pub(crate) fn report(self, tally: Tally) -> Report {
        let Self { mut protocols, first, unlisted, .. } = self;
        for (name, total) in tally.others {
            protocols.entry(name).or_default().add(0, total.packets, total.bytes);
        }
        Report {
            malformed: tally.malformed,
            bad_checksums: tally.bad_checksums,
            protocols,
            flows: first.into_sorted_vec().into_iter().map(|ByNumber(flow)| flow).collect(),
            unlisted,
            ..Report::default()
        }
    }
}
