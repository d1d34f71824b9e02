use std::net::IpAddr;

use etherparse::{IpNumber, PacketBuilder};

use super::*;
use crate::build::{CLIENT, SERVER, SYN, fragment, ip_payload, tcp, udp};
use crate::packet::{Packet, Parcel};

/// All packets through a parser: what it hands on, and its tally.
fn parsed(frames: impl IntoIterator<Item = Vec<u8>>) -> (Vec<Parcel>, Tally) {
    let packets = frames.into_iter().map(|bytes| Packet::ethernet(0, bytes));
    parsed_packets(packets)
}

fn parsed_packets(packets: impl IntoIterator<Item = Packet>) -> (Vec<Parcel>, Tally) {
    let (mut parser, mut out) = (Parser::default(), Vec::new());
    for (packet, number) in packets.into_iter().zip(0..) {
        parser.take(Box::new(Packet { number, ..packet }), &mut out);
    }
    parser.finish(&mut out);
    (out, parser.tally)
}

/// The only packet, which is good.
fn one(frame: Vec<u8>) -> Packet {
    let (mut out, tally) = parsed([frame]);
    assert_eq!((out.len(), tally.malformed, tally.bad_checksums), (1, 0, 0));
    *out.remove(0)
}

fn assert_is_udp(packet: &Packet) {
    assert_eq!((packet.segment.key.protocol, packet.payload()), (17, &b"hello"[..]));
    assert_eq!((packet.way().0.1, packet.way().1.1), (40_000, 443));
}

fn hello() -> Vec<u8> {
    udp(CLIENT, SERVER, b"hello")
}

#[test]
fn both_directions_have_one_key() {
    let (there, back) = (one(hello()), one(udp(SERVER, CLIENT, b"hello")));
    assert_is_udp(&there);
    assert_eq!(there.segment.key, back.segment.key);
    assert_eq!(there.segment.shard, back.segment.shard);
    assert_ne!(there.segment.is_from_low, back.segment.is_from_low);
}

#[test]
fn the_padding_of_ethernet_is_no_payload() {
    assert_is_udp(&one([hello(), vec![0; 20]].concat()));
}

#[test]
fn tags_and_labels_are_looked_through() {
    let frame = hello();
    let (addresses, rest) = (&frame[..12], &frame[12..]);
    let vlan = |kind: u16| [kind.to_be_bytes(), [0, 5]].concat();
    let tagged = |tags: &[u8]| one([addresses, tags, rest].concat());
    assert_is_udp(&tagged(&vlan(0x8100)));
    assert_is_udp(&tagged(&[vlan(0x88a8), vlan(0x8100)].concat()));
    assert_is_udp(&tagged(&vlan(0x9100).repeat(5)));
    let mpls = [&[0x88, 0x47][..], &[0, 0, 0x10, 9], &[0, 0, 0x11, 9]].concat();
    assert_is_udp(&one([addresses, &mpls, &rest[2..]].concat()));
    let session = [0x88, 0x64, 0x11, 0, 0, 1, 0, 40, 0, 0x21];
    assert_is_udp(&one([addresses, &session, &rest[2..]].concat()));
    let snap = [0, 50, 0xaa, 0xaa, 3, 0, 0, 0];
    assert_is_udp(&one([addresses, &snap, rest].concat()));
    // A tag that nothing follows.
    let (out, tally) = parsed([[addresses, &vlan(0x8100)[..]].concat()]);
    assert_eq!((out.len(), tally.malformed), (0, 1));
}

#[test]
fn link_layers_are_known() {
    let ip = hello()[14..].to_vec();
    let through = |link, header: &[u8]| {
        let bytes = [header, &ip].concat();
        let (out, tally) = parsed_packets([Packet { link, ..Packet::ethernet(0, bytes) }]);
        assert_eq!(tally.malformed, 0, "{link}");
        assert_is_udp(&out[0]);
    };
    through(0, &[2, 0, 0, 0]);
    through(0, &[0, 0, 0, 2]);
    through(108, &[0, 0, 0, 2]);
    through(9, &[0xff, 3, 0, 0x21]);
    through(9, &[0, 0x21]);
    through(101, &[]);
    through(113, &[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0]);
    let cooked = |kind: [u8; 2]| [&kind[..], &[0; 18]].concat();
    through(276, &cooked([8, 0]));
    through(276, &[cooked([0x81, 0]), vec![0, 5, 8, 0]].concat());
    let (out, tally) = parsed_packets([Packet { link: 105, ..Packet::ethernet(0, ip.clone()) }]);
    assert!(out.is_empty() && tally.others["unknown-link"].packets == 1);
}

#[test]
fn extension_headers_are_looked_through() {
    let (from, to) = ([1; 16], [2; 16]);
    let builder = || PacketBuilder::ethernet2([1; 6], [2; 6]).ipv6(from, to, 64);
    let mut plain = Vec::new();
    builder().udp(40_000, 443).write(&mut plain, b"hello").expect("memory takes all");
    assert_is_udp(&one(plain.clone()));
    // Hop-by-hop, routing and destination options, of which the second is 16 bytes long.
    let extensions = [
        &[43, 0, 1, 4, 0, 0, 0, 0][..],
        &[60, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[17, 0, 1, 4, 0, 0, 0, 0],
    ]
    .concat();
    let mut long = [&plain[..54], &extensions, &plain[54..]].concat();
    long[14 + 5] += extensions.len() as u8;
    long[14 + 6] = 0;
    assert_is_udp(&one(long.clone()));
    // A header that claims to be longer than the packet.
    long[14 + 40 + 1] = 200;
    let (out, tally) = parsed([long]);
    assert_eq!((out.len(), tally.malformed), (0, 1));
}

#[test]
fn authentication_headers_are_looked_through() {
    let mut frame = hello();
    let header = [17, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1];
    frame.splice(34..34, header);
    frame[14 + 3] += header.len() as u8;
    frame[14 + 9] = 51;
    let (out, tally) = parsed([frame]);
    assert_eq!(tally.malformed, 0);
    assert_is_udp(&out[0]);
}

#[test]
fn tunnels_are_looked_through() {
    let inner = hello()[14..].to_vec();
    let tunnel = |protocol, content: &[u8]| {
        let mut frame = Vec::new();
        let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([9; 4], [8; 4], 64);
        builder.write(&mut frame, protocol, content).expect("memory takes all");
        frame
    };
    let once = tunnel(IpNumber::IPV4, &inner);
    assert_is_udp(&one(once.clone()));
    for header in [&[0, 0, 8, 0][..], &[0x30, 0, 8, 0, 1, 2, 3, 4, 0, 0, 0, 1]] {
        assert_is_udp(&one(tunnel(IpNumber::GRE, &[header, &inner].concat())));
    }
    // Ethernet in GRE.
    let other = one(tunnel(IpNumber::GRE, &[&[0, 0, 0x65, 0x58][..], &hello()].concat()));
    assert_eq!(other.segment.key.protocol, 47);
    let many = (0..9).fold(once, |frame, _| tunnel(IpNumber::IPV4, &frame[14..]));
    assert_eq!(parsed([many]).1.malformed, 1);
}

#[test]
fn each_truncation_is_malformed_or_cut() {
    for whole in [hello(), tcp(CLIENT, SERVER, 1, SYN, b"hello")] {
        for len in 0..whole.len() {
            let bytes = whole[..len].to_vec();
            let (out, tally) = parsed([bytes.clone()]);
            assert_eq!((out.len(), tally.malformed), (0, 1), "{len} bytes on the wire");
            // The capture has less than the wire had: headers suffice.
            let packet = Packet { wire: whole.len() as u32, ..Packet::ethernet(0, bytes) };
            let (out, tally) = parsed_packets([packet]);
            assert_eq!(out.len() + tally.malformed as usize, 1);
            assert_eq!(out.len() == 1, len >= whole.len() - 5, "{len} bytes captured");
            assert_eq!(tally.bad_checksums, 0);
        }
    }
}

#[test]
fn wrong_checksums_are_counted_and_the_packet_stays() {
    for at in [14 + 10, 14 + 20 + 6, 14 + 20 + 8] {
        let mut frame = hello();
        frame[at] ^= 0x55;
        let (out, tally) = parsed([frame]);
        assert_eq!((out.len(), tally.malformed, tally.bad_checksums), (1, 0, 1), "{at}");
    }
    let mut none = hello();
    none[14 + 20 + 6..14 + 20 + 8].fill(0);
    assert_eq!(parsed([none]).1.bad_checksums, 0, "a sender of UDP may leave it out");
}

#[test]
fn other_protocols_are_summed_up() {
    let arp = [&[0; 12][..], &[8, 6], &[0; 28]].concat();
    let llc = [&[0; 12][..], &[0, 3, 0x42, 0x42, 3, 0, 0, 0, 0]].concat();
    let (out, tally) = parsed([arp, llc]);
    assert!(out.is_empty() && tally.malformed == 0);
    assert_eq!((tally.others["arp"].packets, tally.others["arp"].bytes), (1, 42));
    assert_eq!(tally.others["llc"].packets, 1);
}

/// The datagram "hello…" of 8 + 40 bytes in three fragments of 16.
fn fragments() -> [Vec<u8>; 3] {
    let whole = udp(CLIENT, SERVER, &[b'x'; 40]);
    let datagram = ip_payload(&whole);
    [0, 16, 32].map(|at| fragment(7, at as u16, at < 32, &datagram[at..at + 16]))
}

#[test]
fn fragments_are_joined_in_any_order() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let (out, tally) = parsed(order.map(|n| fragments()[n].clone()));
        assert_eq!((out.len(), tally.malformed, tally.bad_checksums), (1, 0, 0), "{order:?}");
        assert_eq!(out[0].payload(), [b'x'; 40]);
        assert_eq!((out[0].segment.packets, out[0].segment.bytes), (3, 3 * (14 + 20 + 16)));
        assert_eq!(out[0].segment.shard, one(udp(CLIENT, SERVER, b"")).segment.shard);
    }
}

#[test]
fn a_tunnel_may_be_in_fragments() {
    let whole = hello()[14..].to_vec();
    let pieces = [(0, true, &whole[..24]), (24, false, &whole[24..])];
    let tunnel = pieces.map(|(at, more, content)| {
        let mut frame = fragment(7, at, more, content);
        frame[14 + 9] = IpNumber::IPV4.0;
        frame
    });
    let (out, tally) = parsed(tunnel);
    assert_eq!((out.len(), tally.malformed), (1, 0));
    assert_is_udp(&out[0]);
}

#[test]
fn a_fragment_may_come_twice() {
    let [a, b, c] = fragments();
    let (out, tally) = parsed([a.clone(), a, b, c]);
    assert_eq!((out.len(), out[0].segment.packets, tally.malformed), (1, 4, 0));
}

#[test]
fn overlapping_fragments_are_malformed() {
    let [a, b, c] = fragments();
    let other = fragment(7, 8, true, &[b'!'; 16]);
    let (out, tally) = parsed([a.clone(), other, b.clone(), c.clone()]);
    assert_eq!((out.len(), tally.malformed), (0, 4), "and so are those behind them");
    // The same place with other contents, a second end, and a piece behind the end.
    let cases = [
        fragment(7, 0, true, &[b'!'; 16]),
        fragment(7, 40, false, &[b'!'; 16]),
        fragment(7, 48, true, &[b'!'; 16]),
    ];
    for case in cases {
        let (out, tally) = parsed([a.clone(), c.clone(), case, b.clone()]);
        assert_eq!((out.len(), tally.malformed), (0, 4));
    }
}

#[test]
fn impossible_fragments_are_malformed() {
    let cases = [
        fragment(7, 0, true, &[0; 15]),
        fragment(7, 8, false, &[]),
        // Beyond the largest datagram.
        fragment(7, 65_528, false, &[0; 16]),
    ];
    for case in cases {
        let (out, tally) = parsed([case]);
        assert_eq!((out.len(), tally.malformed), (0, 1));
    }
}

#[test]
fn the_beginning_of_a_datagram_tells_its_flow() {
    let [a, b, _] = fragments();
    let (out, tally) = parsed([b.clone(), a]);
    assert_eq!((out.len(), tally.malformed, tally.bad_checksums), (1, 0, 0));
    assert_eq!((out[0].segment.packets, out[0].payload()), (2, &[b'x'; 8][..]));
    let (out, tally) = parsed([b]);
    assert!(out.is_empty() && tally.malformed == 0);
    assert_eq!(tally.others["fragment"].packets, 1);
}

#[test]
fn fragments_of_ipv6_are_joined() {
    let mut whole = Vec::new();
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv6([1; 16], [2; 16], 64);
    builder.udp(40_000, 443).write(&mut whole, &[b'y'; 24]).expect("memory takes all");
    // Destination options behind the fragment header are part of the datagram.
    let datagram = [&[17, 0, 1, 4, 0, 0, 0, 0][..], &whole[54..]].concat();
    let piece = |at: usize, more: u16, content: &[u8]| {
        let place = (at as u16 | more).to_be_bytes();
        let header = [60, 0, place[0], place[1], 0, 0, 0, 9];
        let mut frame = [&whole[..54], &header, content].concat();
        frame[14 + 4..14 + 6].copy_from_slice(&((8 + content.len()) as u16).to_be_bytes());
        frame[14 + 6] = 44;
        frame
    };
    let (out, tally) = parsed([piece(16, 0, &datagram[16..]), piece(0, 1, &datagram[..16])]);
    assert_eq!((out.len(), tally.malformed, tally.bad_checksums), (1, 0, 0));
    assert_eq!((out[0].payload(), out[0].segment.key.protocol), (&[b'y'; 24][..], 17));
    assert_eq!(out[0].way().0, (IpAddr::from([1; 16]), 40_000));
}

#[test]
fn waiting_fragments_have_bounds() {
    let (mut parser, mut out) = (Parser::default(), Vec::new());
    for n in 0..40_000_u32 {
        let mut frame = fragment(n as u16, 0, true, &[0; 1024]);
        frame[14 + 12..14 + 16].copy_from_slice(&n.to_be_bytes());
        parser.take(Box::new(Packet::ethernet(0, frame)), &mut out);
        assert!(parser.fragments.bytes() <= fragments::MOST_BYTES);
    }
    let given_up = out.len();
    assert!(given_up > 0 && given_up < 40_000);
    // Half a minute later all others are given up.
    parser.take(Box::new(Packet::ethernet(31_000_000_000, hello())), &mut out);
    assert_eq!((out.len(), parser.fragments.bytes()), (40_001, 0));
}
