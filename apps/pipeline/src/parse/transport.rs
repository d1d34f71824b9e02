//! TCP, UDP, and the protocols without streams.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

use etherparse::checksum::Sum16BitWords;
use etherparse::{IpNumber, TcpHeaderSlice, UdpHeader, UdpHeaderSlice};

use super::ip::Ip;
use crate::flow::SHARDS;
use crate::packet::{Endpoint, Key, Segment, Tcp};

/// What a transport header says.
struct Header {
    ports: (u16, u16),
    len: usize,
    /// Bytes of the header and its payload.
    total: usize,
    tcp: Option<Tcp>,
    checksum: Checksum,
}

/// Over which bytes the checksum goes.
#[derive(PartialEq)]
enum Checksum {
    None,
    /// Only the message.
    Message,
    /// The message, the addresses and the protocol.
    WithAddresses,
}

/// The segment in the payload of `ip`, and whether its checksum or that of `ip` is wrong. `None` if
/// it is malformed.
pub(crate) fn parse(ip: &Ip, bytes: &[u8]) -> Option<(Segment, bool)> {
    let message = &bytes[ip.payload.clone()];
    let header = header(ip, message)?;
    let start = ip.payload.start;
    let from = (ip.source, header.ports.0);
    let to = (ip.destination, header.ports.1);
    let (key, is_from_low) = key(from, to, ip.protocol.0);
    let segment = Segment {
        shard: shard(&key),
        key,
        is_from_low,
        payload: start + header.len..start + header.total,
        tcp: header.tcp,
        ..Segment::default()
    };
    let message = &message[..header.total];
    let is_bad = !ip.is_cut
        && match header.checksum {
            Checksum::None => false,
            Checksum::Message => Sum16BitWords::new().add_slice(message).ones_complement() != 0,
            Checksum::WithAddresses => with_addresses(ip, message) != 0,
        };
    Some((segment, is_bad || ip.has_bad_checksum))
}

fn header(ip: &Ip, message: &[u8]) -> Option<Header> {
    let whole = |len, checksum| {
        let total = message.len();
        (len <= total).then_some(Header { ports: (0, 0), len, total, tcp: None, checksum })
    };
    match ip.protocol {
        IpNumber::TCP => {
            let tcp = TcpHeaderSlice::from_slice(message).ok()?;
            let header = whole(tcp.slice().len(), Checksum::WithAddresses)?;
            let ports = (tcp.source_port(), tcp.destination_port());
            let (syn, ack, ends) = (tcp.syn(), tcp.ack(), tcp.fin() || tcp.rst());
            let tcp = Tcp { sequence: tcp.sequence_number(), syn, ack, ends };
            Some(Header { ports, tcp: Some(tcp), ..header })
        }
        IpNumber::UDP => udp(ip, message),
        // Other transports with ports in the same place: SCTP, DCCP, UDP-Lite.
        IpNumber::SCTP | IpNumber::DCCP | IpNumber::UDP_LITE => {
            let header = whole(8, Checksum::None)?;
            let port = |at| u16::from_be_bytes([message[at], message[at + 1]]);
            Some(Header { ports: (port(0), port(2)), ..header })
        }
        IpNumber::ICMP => whole(4, Checksum::Message),
        IpNumber::IGMP => whole(8, Checksum::Message),
        IpNumber::IPV6_ICMP => whole(4, Checksum::WithAddresses),
        _ => whole(0, Checksum::None),
    }
}

fn udp(ip: &Ip, message: &[u8]) -> Option<Header> {
    let udp = UdpHeaderSlice::from_slice(message).ok()?;
    let total = match usize::from(udp.length()) {
        // A length for which the field is too short, or which segmentation fills in later.
        0 => message.len(),
        len if len < UdpHeader::LEN => return None,
        len if len > message.len() && !ip.is_cut => return None,
        len => len.min(message.len()),
    };
    // In IPv4 a sender may leave the checksum out.
    let checksum = match udp.checksum() {
        0 => Checksum::None,
        _ => Checksum::WithAddresses,
    };
    let ports = (udp.source_port(), udp.destination_port());
    Some(Header { ports, len: UdpHeader::LEN, total, tcp: None, checksum })
}

fn with_addresses(ip: &Ip, message: &[u8]) -> u16 {
    let sum = match (ip.source, ip.destination) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            Sum16BitWords::new().add_4bytes(from.octets()).add_4bytes(to.octets())
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            Sum16BitWords::new().add_16bytes(from.octets()).add_16bytes(to.octets())
        }
        _ => unreachable!("both addresses are of one header"),
    };
    sum.add_2bytes([0, ip.protocol.0])
        .add_2bytes((message.len() as u16).to_be_bytes())
        .add_slice(message)
        .ones_complement()
}

/// The same key for both directions of a flow, and whether this direction is from its low end.
fn key(from: Endpoint, to: Endpoint, protocol: u8) -> (Key, bool) {
    let is_from_low = from <= to;
    let (low, high) = if is_from_low { (from, to) } else { (to, from) };
    (Key { low, high, protocol }, is_from_low)
}

/// The part of the flow table for `key`. It is the same in each run, because each part has its own
/// bounds.
fn shard(key: &Key) -> usize {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish() as usize % SHARDS
}
