//! Builds packets for tests.

// Each test program uses some of it.
#![allow(dead_code)]

use etherparse::{IpFragOffset, IpHeaders, IpNumber, Ipv4Header, PacketBuilder};

/// An address of IPv4 and a port.
pub type End = ([u8; 4], u16);

pub const CLIENT: End = ([10, 0, 0, 1], 40_000);
pub const SERVER: End = ([192, 0, 2, 7], 443);

/// Flags of TCP.
pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const ACK: u8 = 16;

/// A TCP segment in an Ethernet packet.
pub fn tcp(from: End, to: End, sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut builder = PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv4(from.0, to.0, 64)
        .tcp(from.1, to.1, sequence, 1024);
    if flags & SYN != 0 {
        builder = builder.syn();
    }
    if flags & FIN != 0 {
        builder = builder.fin();
    }
    if flags & ACK != 0 {
        builder = builder.ack(1);
    }
    let mut bytes = Vec::new();
    builder.write(&mut bytes, payload).expect("memory takes all");
    bytes
}

/// A UDP datagram in an Ethernet packet.
pub fn udp(from: End, to: End, payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4(from.0, to.0, 64);
    let mut bytes = Vec::new();
    builder.udp(from.1, to.1).write(&mut bytes, payload).expect("memory takes all");
    bytes
}

/// The IP payload of an Ethernet packet with IPv4.
pub fn ip_payload(frame: &[u8]) -> &[u8] {
    &frame[14 + 20..]
}

/// A fragment of a UDP datagram: `content` at byte `offset` of the datagram.
pub fn fragment(id: u16, offset: u16, more: bool, content: &[u8]) -> Vec<u8> {
    let mut ip = Ipv4Header::new(content.len() as u16, 64, IpNumber::UDP, CLIENT.0, SERVER.0)
        .expect("it is short");
    ip.identification = id;
    ip.more_fragments = more;
    ip.dont_fragment = false;
    ip.fragment_offset = IpFragOffset::try_new(offset / 8).expect("it is small");
    let mut bytes = Vec::new();
    PacketBuilder::ethernet2([1; 6], [2; 6])
        .ip(IpHeaders::Ipv4(ip, Default::default()))
        .write(&mut bytes, IpNumber::UDP, content)
        .expect("memory takes all");
    bytes
}

/// A ClientHello in a record of TLS.
pub fn client_hello(host: &str) -> Vec<u8> {
    let message = hello_message(host);
    [&[22, 3, 1], &(message.len() as u16).to_be_bytes()[..], &message].concat()
}

/// A ClientHello.
pub fn hello_message(host: &str) -> Vec<u8> {
    let len = host.len() as u16;
    let name = [&(len + 3).to_be_bytes()[..], &[0], &len.to_be_bytes(), host.as_bytes()].concat();
    let padding = [&[0, 21, 0, 4][..], &[0; 4]].concat();
    let name = [&[0, 0][..], &(len + 5).to_be_bytes(), &name].concat();
    let extensions = [padding, name].concat();
    let mut body = [&[3, 3][..], &[7; 32], &[0], &[0, 2, 0x13, 1], &[1, 0]].concat();
    body.extend((extensions.len() as u16).to_be_bytes());
    body.extend(extensions);
    [&[1, 0], &(body.len() as u16).to_be_bytes()[..], &body].concat()
}

/// A question of DNS for an address.
pub fn question(name: &str) -> Vec<u8> {
    let mut message = vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        message.push(label.len() as u8);
        message.extend(label.as_bytes());
    }
    message.extend([0, 0, 1, 0, 1]);
    message
}
