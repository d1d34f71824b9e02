//! Packets through all stages: the same flows whatever the queues and threads, and no packet that
//! does harm.

mod build;

use corelane::line_ring::LineRing;
use corelane::wait::Strategy as Wait;
use pipeline::{Named, Of, Packet, Parcel, Report, Settings, json, parse_inline, run, run_inline};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::FileFailurePersistence;

use build::{ACK, CLIENT, End, FIN, SERVER, SYN, client_hello, fragment, question, tcp, udp};

type Packets = Vec<Parcel>;

fn inline(packets: &Packets) -> Report {
    run_inline(&mut packets.clone().into_iter())
}

fn staged(packets: &Packets, settings: &Settings) -> Report {
    let queue = Of::<LineRing>::default();
    run(&queue, &mut packets.clone().into_iter(), settings, |_| {}).expect("the capacity is usual")
}

fn capture(frames: impl IntoIterator<Item = Vec<u8>>) -> Packets {
    let packet = |(n, frame)| Box::new(Packet::ethernet(n * 1_000_000, frame));
    (0_u64..).zip(frames).map(packet).collect()
}

/// The `n`-th client.
fn other(n: u16) -> End {
    ([10, 1, (n >> 8) as u8, n as u8], 1024 + n)
}

/// Conversations of several kinds, whose packets alternate.
fn conversations() -> Packets {
    let one = |n: u16| {
        let (client, host) = (other(n), format!("host-{n}.example.org"));
        let hello = client_hello(&host);
        let (first, second) = hello.split_at(30);
        [
            tcp(client, SERVER, 7, SYN, b""),
            tcp(SERVER, client, 90, SYN | ACK, b""),
            tcp(client, SERVER, 8 + 30, ACK, second),
            udp(client, ([9, 9, 9, 9], 53), &question(&host)),
            tcp(client, SERVER, 8, ACK, first),
            fragment(n, 0, true, &udp(CLIENT, SERVER, &[0; 40])[34..50]),
            tcp(SERVER, client, 91, ACK | FIN, b"bye"),
        ]
    };
    let all: Vec<_> = (0..300).map(one).collect();
    capture((0..7).flat_map(|step| all.iter().map(move |frames| frames[step].clone())))
}

#[test]
fn queues_threads_batches_and_waits_change_nothing() {
    let packets = conversations();
    let expected = inline(&packets);
    assert_eq!((expected.packets, expected.dropped, expected.malformed), (2100, 0, 0));
    assert_eq!((expected.protocols["tls"].flows, expected.protocols["dns"].flows), (300, 300));
    let expected = json(&expected);
    let usual = Settings::default();
    for (threads, batch, capacity) in [(1, 1, 1), (2, 7, 16), (3, 500, 2), (64, 32, 1024)] {
        let settings = Settings { threads, batch, capacity, ..usual };
        assert_eq!(json(&staged(&packets, &settings)), expected, "{settings:?}");
    }
    for wait in [Wait::Yield, Wait::Sleep] {
        assert_eq!(json(&staged(&packets, &Settings { wait, ..usual })), expected, "{wait:?}");
    }
    for queue in Named::all() {
        let settings = Settings { threads: 2, ..usual };
        let report = run(&queue, &mut packets.clone().into_iter(), &settings, |_| {});
        let report = report.unwrap_or_else(|error| panic!("{}: {error}", queue.id));
        assert_eq!(json(&report), expected, "{}", queue.id);
    }
}

#[test]
fn packets_that_are_only_parsed_have_no_flows() {
    let packets = conversations();
    let expected = parse_inline(&mut packets.clone().into_iter());
    assert_eq!((expected.packets, expected.flows.len()), (2100, 0));
    let settings = Settings { parse_only: true, threads: 2, ..Settings::default() };
    assert_eq!(json(&staged(&packets, &settings)), json(&expected));
}

/// More flows than the table holds: which of them end early is the same, too.
#[test]
fn threads_don_t_change_which_flows_end_early() {
    let syn = |n: u32| tcp((n.to_be_bytes(), 1000), SERVER, 7, SYN, b"");
    let again = |n: u32| tcp((n.to_be_bytes(), 1000), SERVER, 8, ACK, b"x");
    let packets = capture((0..70_000).map(syn).chain((0..70_000).step_by(7).map(again)));
    let expected = inline(&packets);
    assert!(expected.flows.len() > 70_000, "some have ended, and have begun again");
    for threads in [2, 5] {
        let report = staged(&packets, &Settings { threads, ..Settings::default() });
        assert_eq!(report.flows, expected.flows, "{threads}");
    }
}

#[test]
fn lost_packets_are_counted() {
    let packets: Packets = (0..10).flat_map(|_| conversations()).collect();
    let settings = Settings { capacity: 1, batch: 1000, drops: true, ..Settings::default() };
    let report = staged(&packets, &settings);
    let seen: u64 = report.protocols.values().map(|total| total.packets).sum();
    assert_eq!(report.packets, packets.len() as u64);
    assert_eq!(seen + report.dropped + report.malformed, report.packets);
    assert!(report.dropped > 0);
}

/// Packets of few conversations, so that they meet.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let ends = || {
        let ends = || vec![CLIENT, SERVER, other(1), ([9; 4], 53), ([224, 0, 0, 251], 5353)];
        (select(ends()), select(ends()))
    };
    let payload = prop_oneof![
        vec(any::<u8>(), 0..80),
        Just(client_hello("example.org")),
        Just(question("example.org")),
        Just(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec()),
        Just([&[0xc0, 0, 0, 0, 1, 4, 1, 2, 3, 4, 0, 0, 40][..], &[7; 60]].concat()),
        (0..70_usize).prop_map(|len| client_hello("example.org")[..len].to_vec()),
    ]
    .boxed();
    let segment = (ends(), 0..200_u32, any::<u8>(), payload.clone());
    let pieces = (0..4_u16, 0..8_u16, any::<bool>(), vec(any::<u8>(), 0..64));
    prop_oneof![
        segment.prop_map(|((from, to), sequence, flags, payload)| {
            tcp(from, to, sequence.wrapping_sub(100), flags, &payload)
        }),
        (ends(), payload).prop_map(|((from, to), payload)| udp(from, to, &payload)),
        pieces.prop_map(|(id, place, more, content)| fragment(id, 8 * place, more, &content)),
        vec(any::<u8>(), 0..120),
    ]
}

/// Changes of single bytes, and cuts.
fn mutated() -> impl Strategy<Value = Packet> {
    let changes = prop_oneof![3 => Just(Vec::new()), 1 => vec((any::<Index>(), any::<u8>()), 0..6)];
    let cut = prop_oneof![4 => Just(None), 1 => any::<Index>().prop_map(Some)];
    let link = prop_oneof![20 => Just(1), 1 => select(vec![0, 9, 101, 104, 108, 113, 276, 7])];
    (frame(), changes, cut, any::<bool>(), any::<u32>(), link).prop_map(
        |(mut bytes, changes, cut, is_told, at_s, link)| {
            for (at, byte) in changes {
                if let Some(place) = bytes.len().checked_sub(1).map(|most| at.index(most + 1)) {
                    bytes[place] = byte;
                }
            }
            let wire = bytes.len() as u32;
            bytes.truncate(cut.map_or(bytes.len(), |at: Index| at.index(bytes.len() + 1)));
            let at_ns = u64::from(at_s) * 1_000_000_000;
            let mut packet = Packet::ethernet(at_ns, bytes);
            packet.link = link;
            packet.wire = if is_told { wire } else { packet.wire };
            packet
        },
    )
}

/// Failures are saved beside this file, and tried first in the next run.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    let persistence = FileFailurePersistence::WithSource("proptest-regressions");
    ProptestConfig { failure_persistence: Some(Box::new(persistence)), ..usual }
}

proptest! {
    #![proptest_config(config())]

    /// Each packet is in a flow, in a sum of other packets, or malformed; once.
    #[test]
    fn no_packet_is_lost_or_counted_twice(packets in vec(mutated().prop_map(Box::new), 0..60)) {
        let report = inline(&packets);
        let seen: u64 = report.protocols.values().map(|total| total.packets).sum();
        prop_assert_eq!(seen + report.malformed, packets.len() as u64);
        let flows: u64 = report.flows.iter().map(|flow| flow.packets).sum();
        prop_assert!(flows <= seen && report.unlisted.flows == 0);
        prop_assert!(report.flows.iter().all(|flow| flow.first_ns <= flow.last_ns));
        let settings = Settings { threads: 3, batch: 4, capacity: 8, ..Settings::default() };
        prop_assert_eq!(json(&staged(&packets, &settings)), json(&report));
    }
}
