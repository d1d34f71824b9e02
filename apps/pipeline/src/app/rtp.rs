//! RTP and RTCP (RFC 3550). Few of their bits are fixed, so it takes two packets of a stream to
//! tell RTP.

use super::{App, Bytes, Match};
use crate::packet::Endpoint;
use Match::{Is, More, No};

/// Most packets by which a packet may be behind the newest one of its stream.
const FURTHEST: u16 = 16;

/// The last packet that may be of RTP.
#[derive(Debug, Default)]
pub(super) struct Rtp(Option<Header>);

#[derive(Debug)]
struct Header {
    from: Endpoint,
    /// The kind of the payload, and the number of the stream.
    stream: (usize, usize),
    sequence: u16,
}

impl Rtp {
    /// The next datagram.
    pub(super) fn next(&mut self, bytes: &[u8], from: Endpoint) -> Match {
        if is_control(bytes) {
            return Is(App::named("rtcp"));
        }
        let Some(header) = header(bytes, from) else { return No };
        let is_next = self.0.as_ref().is_some_and(|last| {
            let behind = header.sequence.wrapping_sub(last.sequence);
            (last.from, last.stream) == (from, header.stream) && (1..=FURTHEST).contains(&behind)
        });
        self.0 = Some(header);
        if is_next { Is(App::named("rtp")) } else { More(None) }
    }
}

/// The header of version 2.
fn header(bytes: &[u8], from: Endpoint) -> Option<Header> {
    let mut rest = Bytes(bytes);
    let (first, second) = (rest.number(1)?, rest.number(1)?);
    let (sequence, _time, source) = (rest.number(2)?, rest.number(4)?, rest.number(4)?);
    let kind = second & 0x7f;
    let is_kind = matches!(kind, 0..=34 | 96..=127);
    let stream = (kind, source);
    (first >> 6 == 2 && is_kind).then_some(Header { from, stream, sequence: sequence as u16 })
}

/// A report or another packet of RTCP, whose length fits.
fn is_control(bytes: &[u8]) -> bool {
    let [0x80..=0xbf, 200..=204, high, low, ..] = bytes else { return false };
    let words = usize::from(u16::from_be_bytes([*high, *low]));
    (1..=bytes.len() / 4).contains(&(words + 1)) && bytes.len() >= 8
}
