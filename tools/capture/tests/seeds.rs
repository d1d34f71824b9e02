//! The captures from which fuzzing starts are valid, in every format.

use std::fs;
use std::path::Path;

use corelane_capture::{Packet, read};

/// The packets of the capture with this name.
fn packets(name: &str) -> Vec<(u64, u32)> {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/capture");
    let file = fs::File::open(seeds.join(name)).expect("the seed is there");
    let packets = read(file).expect("the seed is valid");
    packets.into_iter().map(|Packet { at_ns, bytes }| (at_ns, bytes)).collect()
}

#[test]
fn legacy() {
    let in_micros = [(1_500_000_000, 60), (1_500_001_000, 1514), (2_000_000_000, 64)];
    assert_eq!(packets("micros.pcap"), in_micros);
    assert_eq!(packets("big-endian.pcap"), in_micros);
    let in_nanos = [(1_500_000_000, 60), (1_500_000_001, 1514), (2_000_000_000, 64)];
    assert_eq!(packets("nanos.pcap"), in_nanos);
}

/// Two interfaces: one with microseconds, and one with nanoseconds whose clock is a second late.
#[test]
fn next_generation() {
    let expected = [(1_500_000_000, 60), (1_500_001_000, 1514), (2_000_000_000, 64)];
    assert_eq!(packets("little-endian.pcapng"), expected);
    assert_eq!(packets("big-endian.pcapng"), expected);
}
