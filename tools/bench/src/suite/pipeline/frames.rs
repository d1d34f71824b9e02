//! Packets of web and name servers, and of their clients.

use etherparse::PacketBuilder;
use pipeline::Packet;

/// Clients, each of which has a flow.
const CLIENTS: u8 = 200;
/// Packets of a flow, at most.
const TURNS: u32 = 16;
/// Time between two packets.
const GAP_NS: u64 = 1000;

const DNS_QUESTION: &[u8] =
    b"\0\x07\x01\0\0\x01\0\0\0\0\0\0\x03www\x07example\x03org\0\0\x01\0\x01";
const DNS_ANSWER: &[u8] =
    b"\0\x07\x81\x80\0\x01\0\x01\0\0\0\0\x03www\x07example\x03org\0\0\x01\0\x01\
    \xc0\x0c\0\x01\0\x01\0\0\x0e\x10\0\x04\xc0\0\x02\x07";
const HTTP_REQUEST: &[u8] =
    b"GET /index.html HTTP/1.1\r\nHost: www.example.org\r\nAccept: */*\r\n\r\n";
/// A ClientHello for `www.example.org`.
const TLS_HELLO: &[u8] = b"\x16\x03\x01\0\x47\x01\0\0\x43\x03\x03\
    0123456789abcdef0123456789abcdef\0\0\x02\x13\x01\x01\0\0\x18\
    \0\0\0\x14\0\x12\0\0\x0fwww.example.org";
/// A piece of an answer.
const PIECE: &[u8] = &[b'.'; 1200];

/// The packets of all clients by turns.
pub(super) fn frames() -> Vec<Packet> {
    let turns = (0..TURNS).flat_map(|turn| (0..CLIENTS).map(move |client| (client, turn)));
    let frames = turns.filter_map(|(client, turn)| match client % 4 {
        0 => datagram(client, turn),
        kind => Some(segment(client, turn, if kind == 1 { 80 } else { 443 })),
    });
    (0..).zip(frames).map(|(number, bytes)| Packet::ethernet(number * GAP_NS, bytes)).collect()
}

/// A question, and its answer.
fn datagram(client: u8, turn: u32) -> Option<Vec<u8>> {
    let payload = match turn {
        0 => DNS_QUESTION,
        1 => DNS_ANSWER,
        _ => return None,
    };
    let (from, to) = ends(client, turn, 53);
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4(from.0, to.0, 64);
    let mut bytes = Vec::new();
    builder.udp(from.1, to.1).write(&mut bytes, payload).expect("memory takes all");
    Some(bytes)
}

/// A connection: SYN, its answer, an acknowledgment, a request, and pieces of an answer.
fn segment(client: u8, turn: u32, port: u16) -> Vec<u8> {
    let request = if port == 80 { HTTP_REQUEST } else { TLS_HELLO };
    let (sequence, payload) = match turn {
        0 => (1000, &[][..]),
        1 => (9000, &[][..]),
        2 => (1001, request),
        _ if is_answer(turn) => (9001 + (turn - 3) / 2 * PIECE.len() as u32, PIECE),
        _ => (1001 + request.len() as u32, &[][..]),
    };
    let (from, to) = ends(client, turn, port);
    let mut builder = PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv4(from.0, to.0, 64)
        .tcp(from.1, to.1, sequence, 1024);
    if turn < 2 {
        builder = builder.syn();
    }
    if turn > 0 {
        builder = builder.ack(1);
    }
    let mut bytes = Vec::new();
    builder.write(&mut bytes, payload).expect("memory takes all");
    bytes
}

fn is_answer(turn: u32) -> bool {
    turn % 2 == 1
}

/// An address of IPv4 and a port.
type End = ([u8; 4], u16);

/// Sender and receiver.
fn ends(client: u8, turn: u32, port: u16) -> (End, End) {
    let ends = (([10, 0, 0, client], 40_000 + u16::from(client)), ([192, 0, 2, 7], port));
    if is_answer(turn) { (ends.1, ends.0) } else { ends }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_flows_are_recognised() {
        let mut source = frames().into_iter().map(Box::new).collect::<Vec<_>>().into_iter();
        let report = pipeline::run_inline(&mut source);
        assert_eq!((report.malformed, report.bad_checksums), (0, 0));
        let flows = ["dns", "http", "tls"].map(|name| report.protocols[name].flows);
        assert_eq!(flows, [50, 50, 100]);
        assert!(report.flows.iter().all(|flow| flow.host == "www.example.org"), "{report:?}");
    }
}
