use std::net::IpAddr;

use etherparse::PacketBuilder;

use super::table::{MOST_BUFFERED, MOST_ONE_WAY, MOST_TWO_WAY};
use super::*;
use crate::build::{ACK, CLIENT, FIN, SERVER, SYN, client_hello, tcp, udp};
use crate::packet::{Key, Segment};
use crate::parse::Parser;

/// The flows of packets, by their first packets.
fn flows(frames: impl IntoIterator<Item = Vec<u8>>) -> Vec<FlowRecord> {
    timed(frames.into_iter().map(|frame| (0, frame)))
}

fn timed(frames: impl IntoIterator<Item = (u64, Vec<u8>)>) -> Vec<FlowRecord> {
    let (mut parser, mut shards) = (Parser::default(), Shards::of_one_in(1));
    let (mut parsed, mut over) = (Vec::new(), Vec::new());
    for ((at_ns, frame), number) in frames.into_iter().zip(0..) {
        let packet = Packet { number, ..Packet::ethernet(at_ns, frame) };
        parser.take(Box::new(packet), &mut parsed);
        parsed.drain(..).for_each(|packet| shards.take(&packet, &mut over));
    }
    shards.finish(&mut over);
    assert_eq!(shards.kept(), (0, 0));
    over.sort_by_key(|flow| flow.number);
    over
}

fn is_client(flow: &FlowRecord) -> bool {
    flow.ends[0] == (IpAddr::from(CLIENT.0), CLIENT.1)
}

#[test]
fn the_sender_of_the_syn_is_the_initiator() {
    let syn = tcp(CLIENT, SERVER, 7, SYN, b"");
    let answer = tcp(SERVER, CLIENT, 9, SYN | ACK, b"");
    let (there, back) = (tcp(CLIENT, SERVER, 8, ACK, b"x"), tcp(SERVER, CLIENT, 10, ACK, b"y"));
    for (frames, is_the_client) in [
        (vec![syn, answer.clone(), there.clone(), back.clone()], true),
        (vec![answer, there.clone()], true),
        (vec![there.clone(), back.clone()], true),
        (vec![back, there], false),
    ] {
        let bytes: usize = frames.iter().map(Vec::len).sum();
        let packets = frames.len() as u64;
        let found = flows(frames);
        assert_eq!((found.len(), found[0].packets, found[0].bytes), (1, packets, bytes as u64));
        assert_eq!(is_client(&found[0]), is_the_client);
    }
}

#[test]
fn a_new_syn_begins_a_new_flow() {
    let syn = |sequence| tcp(CLIENT, SERVER, sequence, SYN, b"");
    assert_eq!(flows([syn(7), syn(7)]).len(), 1, "it was sent again");
    assert_eq!(flows([syn(7), syn(8)]).len(), 2);
    let end = || tcp(CLIENT, SERVER, 8, ACK | FIN, b"");
    assert_eq!(flows([syn(7), end(), syn(7)]).len(), 1);
    assert_eq!(flows([end(), syn(7)]).len(), 2);
}

#[test]
fn a_long_pause_ends_a_flow() {
    let frame = || udp(CLIENT, SERVER, b"x");
    assert_eq!(timed([(0, frame()), (IDLE_NS, frame())]).len(), 1);
    assert_eq!(timed([(0, frame()), (IDLE_NS + 1, frame())]).len(), 2);
    // A clock that was set back.
    assert_eq!(timed([(IDLE_NS + 1, frame()), (0, frame()), (1, frame())]).len(), 2);
}

/// A handshake, and the client's bytes from `first` on in pieces of `len` bytes, as `order` says.
fn in_pieces(
    first: u32,
    bytes: &[u8],
    len: usize,
    order: impl Fn(&mut Vec<Vec<u8>>),
) -> FlowRecord {
    let handshake = [
        tcp(CLIENT, SERVER, first.wrapping_sub(1), SYN, b""),
        tcp(SERVER, CLIENT, 100, SYN | ACK, b""),
    ];
    let piece = |(n, piece)| tcp(CLIENT, SERVER, first.wrapping_add((n * len) as u32), ACK, piece);
    let mut pieces: Vec<_> = bytes.chunks(len).enumerate().map(piece).collect();
    order(&mut pieces);
    let mut found = flows(handshake.into_iter().chain(pieces));
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn a_hello_is_put_together_from_segments() {
    let hello = client_hello("example.org");
    // The sequence wraps in the middle.
    for first in [1, 0_u32.wrapping_sub(40)] {
        for len in [12, 50, 1000] {
            let orders: [fn(&mut Vec<Vec<u8>>); 4] = [
                |_| {},
                |pieces| pieces.reverse(),
                |pieces| pieces.rotate_left(1),
                // Each is sent twice.
                |pieces| *pieces = pieces.iter().flat_map(|p| [p.clone(), p.clone()]).collect(),
            ];
            for order in orders {
                let found = in_pieces(first, &hello, len, order);
                assert_eq!((found.app, &*found.host), ("tls", "example.org"), "{first} {len}");
            }
        }
    }
}

#[test]
fn overlapping_segments_keep_the_first_bytes() {
    let hello = client_hello("example.org");
    let other = [b'!'; 40];
    let found = in_pieces(1, &hello, hello.len() - 20, |pieces| {
        pieces.insert(1, tcp(CLIENT, SERVER, 1 + 20, ACK, &other));
    });
    assert_eq!(&*found.host, "example.org");
}

#[test]
fn streams_are_known_without_their_beginnings() {
    let hello = client_hello("example.org");
    // The SYN comes late.
    let late = [tcp(CLIENT, SERVER, 8, ACK, &hello), tcp(CLIENT, SERVER, 7, SYN, b"")];
    assert_eq!(flows(late)[0].host, "example.org");
    // The second half first.
    let (one, two) = hello.split_at(40);
    let turned = [tcp(CLIENT, SERVER, 48, ACK, two), tcp(CLIENT, SERVER, 8, ACK, one)];
    assert_eq!(flows(turned)[0].app, "tls");
    // From the middle on, a segment may begin a record.
    let middle = [
        tcp(CLIENT, SERVER, 500, ACK, b"\xf3 the rest of a record"),
        tcp(CLIENT, SERVER, 900, ACK, &[23, 3, 3, 0, 4, 1, 2, 3, 4]),
    ];
    assert_eq!(flows(middle)[0].app, "tls");
}

#[test]
fn what_is_not_known_is_called_so() {
    let found = flows([udp(CLIENT, SERVER, b"?"), tcp(CLIENT, SERVER, 7, SYN, b"")]);
    assert_eq!(found.iter().map(|flow| flow.app).collect::<Vec<_>>(), ["unknown"; 2]);
    // A request whose headers end with the capture.
    let begun = flows([tcp(CLIENT, SERVER, 7, ACK, b"GET / HTTP/1.1\r\nHos")]);
    assert_eq!((begun[0].app, &*begun[0].host), ("http", ""));
}

#[test]
fn the_payload_of_icmp_is_of_no_application() {
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4(CLIENT.0, SERVER.0, 64);
    let echo = builder.icmpv4_echo_request(1, 2);
    echo.write(&mut frame, b"d1:ad2:id20:").expect("memory takes all");
    let found = flows([frame]);
    assert_eq!((found[0].app, &*found[0].transport()), ("icmp", "icmp"));
}

/// A segment from the `n`-th address.
fn numbered(n: u32, payload: &[u8], back: bool) -> Packet {
    let low = (IpAddr::from(n.to_be_bytes()), 1000);
    let high = (IpAddr::from([255; 16]), 80);
    let tcp = Tcp { sequence: 1, syn: payload.is_empty(), ack: false, ends: false };
    let segment = Segment {
        key: Key { low, high, protocol: 6 },
        is_from_low: !back,
        shard: n as usize % SHARDS,
        packets: 1,
        bytes: 60,
        first_ns: 0,
        payload: 0..payload.len(),
        tcp: Some(tcp),
    };
    Packet { number: n.into(), segment, ..Packet::ethernet(0, payload.to_vec()) }
}

#[test]
fn a_flood_of_half_open_flows_has_bounds_and_ends_no_other_flow() {
    let (mut shards, mut over) = (Shards::of_one_in(1), Vec::new());
    let talking = u32::MAX;
    shards.take(&numbered(talking, b"", false), &mut over);
    shards.take(&numbered(talking, b"", true), &mut over);
    let (mut seen, mut most) = (0, 0);
    for n in 0..1_000_000 {
        shards.take(&numbered(n, b"", false), &mut over);
        assert!(over.iter().all(|flow| flow.packets == 1));
        seen += over.len();
        over.clear();
        most = most.max(if n % 1000 == 0 { shards.kept().0 } else { 0 });
    }
    assert!(most <= SHARDS * MOST_ONE_WAY + 1, "{most}");
    shards.finish(&mut over);
    // None is lost, and the flow with an answer was there to the end.
    assert_eq!(seen + over.len(), 1_000_001);
    assert_eq!(over.iter().filter(|flow| flow.packets == 2).count(), 1);
}

#[test]
fn answered_flows_and_kept_bytes_have_bounds() {
    let (mut shards, mut over) = (Shards::of_one_in(1), Vec::new());
    let part = [&[22, 3, 1, 60, 0, 1][..], &[0; 900]].concat();
    let most = SHARDS * MOST_TWO_WAY;
    for n in 0..most as u32 + 10_000 {
        shards.take(&numbered(n, &part, false), &mut over);
        shards.take(&numbered(n, b"", true), &mut over);
        if n % 1000 == 0 {
            let (flows, bytes) = shards.kept();
            assert!(flows <= most && bytes <= SHARDS * MOST_BUFFERED, "{flows} {bytes}");
        }
    }
    shards.finish(&mut over);
    assert_eq!(over.len(), most + 10_000);
    assert!(over.iter().all(|flow| flow.app == "tls"), "what is known is said");
}
