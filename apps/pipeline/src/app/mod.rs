//! Which application a flow belongs to, by the first bytes that it carries.

mod dns;
mod http;
mod quic;
mod rtp;
mod signatures;
mod tls;

use crate::packet::Endpoint;
use quic::Quic;
use rtp::Rtp;

/// The name of flows whose application isn't known.
pub(crate) const UNKNOWN: &str = "unknown";

/// An application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct App {
    pub(crate) name: &'static str,
    /// The host that the flow asks for, or nothing.
    pub(crate) host: String,
    /// The method of HTTP, or nothing.
    pub(crate) method: String,
}

impl App {
    fn named(name: &'static str) -> Self {
        Self::with_host(name, String::new())
    }

    fn with_host(name: &'static str, host: String) -> Self {
        Self { name, host, method: String::new() }
    }
}

/// What bytes are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// Not of this protocol.
    No,
    /// They may be, and more bytes will tell. The application, if there are never more.
    More(Option<&'static str>),
    /// They are of this application.
    Is(App),
}

use Match::{More, No};

impl Match {
    /// The first answer that isn't no. What asks for more bytes stands back behind a certain
    /// answer.
    fn or(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            No => other(),
            More(name) => match other() {
                No => More(name),
                More(other) => More(name.or(other)),
                is => is,
            },
            is => is,
        }
    }
}

/// The first bytes of the two directions of a stream, the initiator's first.
pub(crate) fn of_stream(heads: [&[u8]; 2], ends: [Endpoint; 2]) -> Match {
    let [ours, theirs] = heads.map(|head| match head {
        [] => No,
        head => tls::of_stream(head)
            .or(|| http::of_stream(head))
            .or(|| signatures::of_stream(head))
            .or(|| dns::of_stream(head, ends)),
    });
    ours.or(|| theirs)
}

/// What datagrams leave for those behind them.
#[derive(Debug, Default)]
pub(crate) struct Datagrams {
    quic: Option<Quic>,
    rtp: Rtp,
}

impl Datagrams {
    /// A datagram between the ends `from` and `to`.
    pub(crate) fn next(&mut self, bytes: &[u8], [from, to]: [Endpoint; 2]) -> Match {
        signatures::of_datagram(bytes, [from, to])
            .or(|| dns::of_datagram(bytes, [from, to]))
            .or(|| quic::of_datagram(bytes, &mut self.quic))
            .or(|| self.rtp.next(bytes, from))
    }

    /// Memory that they take, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.quic.as_ref().map_or(0, Quic::memory)
    }
}

/// The application of a protocol that has neither streams nor datagrams.
pub(crate) fn of_protocol(protocol: u8) -> Option<&'static str> {
    Some(match protocol {
        1 => "icmp",
        2 => "igmp",
        47 => "gre",
        50 => "esp",
        51 => "ah",
        58 => "icmp6",
        88 => "eigrp",
        89 => "ospf",
        103 => "pim",
        112 => "vrrp",
        _ => return None,
    })
}

/// Bytes of a host that are kept: as many as a name of DNS has at most.
const LONGEST_HOST: usize = 255;

/// Text from the network that may be shown on a terminal and in files: printable ASCII, without
/// spaces. The rest of a text that is too long is left out.
fn printable(bytes: &[u8]) -> String {
    let shown = |&byte: &u8| if byte.is_ascii_graphic() { char::from(byte) } else { '?' };
    bytes.iter().take(LONGEST_HOST).map(shown).collect()
}

/// Reads numbers and slices from the front of bytes.
#[derive(Debug, Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(front)
    }

    /// A number of 1 to 4 bytes.
    fn number(&mut self, len: usize) -> Option<usize> {
        self.take(len).map(|bytes| bytes.iter().fold(0, |n, &byte| n << 8 | usize::from(byte)))
    }

    /// Bytes behind their length, which has `len` bytes.
    fn vector(&mut self, len: usize) -> Option<Self> {
        let len = self.number(len)?;
        self.take(len).map(Bytes)
    }

    /// As [`vector`](Self::vector), or what there is of it.
    fn vector_or_rest(&mut self, len: usize) -> Option<Self> {
        let len = self.number(len)?;
        self.take(len.min(self.0.len())).map(Bytes)
    }
}

#[cfg(test)]
mod tests;
