//! Random packets through the whole pipeline: each is in a flow, in a sum of other packets, or
//! malformed, once; and every report can be written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pipeline::{Packet, csv, document, json, run_inline};

/// Link types that are known, and one that isn't.
const LINKS: [u32; 12] = [1, 1, 1, 1, 101, 0, 9, 104, 108, 113, 276, 7];

/// A packet behind a link type, seconds since the last packet, bytes that the capture has cut off,
/// and a length.
fn packet(bytes: &mut &[u8], at_ns: &mut u64) -> Option<Box<Packet>> {
    let (&[link, seconds, cut, high, low], rest) = bytes.split_first_chunk()?;
    let len = usize::from(u16::from_be_bytes([high, low])).min(rest.len());
    let (content, rest) = rest.split_at(len);
    *bytes = rest;
    *at_ns += u64::from(seconds) * 1_000_000_000;
    let mut packet = Packet::ethernet(*at_ns, content.to_vec());
    packet.link = LINKS[usize::from(link) % LINKS.len()];
    packet.wire += u32::from(cut);
    Some(Box::new(packet))
}

fuzz_target!(|bytes: &[u8]| {
    let (mut rest, mut at_ns) = (bytes, 0);
    let packets: Vec<_> = std::iter::from_fn(|| packet(&mut rest, &mut at_ns)).collect();
    let count = packets.len() as u64;
    let report = run_inline(&mut packets.into_iter());
    let seen: u64 = report.protocols.values().map(|total| total.packets).sum();
    assert_eq!(seen + report.malformed, count);
    let _ = (json(&report), csv(&report), document(&report).to_text());
});
