//! The parse stage: link layer, IP with its fragments, transport.

mod fragments;
mod ip;
mod link;
mod transport;

use std::collections::BTreeMap;

use crate::packet::Parcel;
use crate::report::Total;
use fragments::{Fragments, Kept};
use ip::Ip;
use link::Carried;

/// What the parse stage has seen, besides the packets that it hands on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) malformed: u64,
    pub(crate) bad_checksums: u64,
    /// Packets of no flow.
    pub(crate) others: BTreeMap<&'static str, Total>,
}

impl Tally {
    fn count(&mut self, name: &'static str, packets: u64, bytes: u64) {
        self.others.entry(name).or_default().add(0, packets, bytes);
    }
}

/// Parses packets one by one.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    pub(crate) tally: Tally,
    fragments: Fragments,
}

impl Parser {
    /// Parses `packet`, and appends what belongs to flows to `out`: the packet, a datagram that is
    /// now complete, or fragments whose rest is missing.
    pub(crate) fn take(&mut self, packet: Parcel, out: &mut Vec<Parcel>) {
        self.fragments.expire(packet.at_ns, &mut self.tally, out);
        match link::carried(packet.link, &packet.bytes) {
            Carried::Ip(at) => self.internet(packet, at, out),
            Carried::Other(name) => self.tally.count(name, 1, packet.wire.into()),
            Carried::Malformed => self.tally.malformed += 1,
        }
    }

    /// Gives up waiting for fragments.
    pub(crate) fn finish(&mut self, out: &mut Vec<Parcel>) {
        self.fragments.finish(&mut self.tally, out);
    }

    fn internet(&mut self, mut packet: Parcel, at: usize, out: &mut Vec<Parcel>) {
        let Some(ip) = Ip::parse(&packet.bytes, at, packet.is_cut()) else {
            self.tally.malformed += 1;
            return;
        };
        if ip.fragment.is_some() {
            self.tally.bad_checksums += u64::from(ip.has_bad_checksum);
            match self.fragments.keep(packet, ip, &mut self.tally, out) {
                Kept::Waits => {}
                Kept::Whole(datagram) => out.push(datagram),
                Kept::Malformed(packets) => self.tally.malformed += packets,
            }
            return;
        }
        match transport::parse(&ip, &packet.bytes) {
            Some((mut segment, has_bad_checksum)) => {
                self.tally.bad_checksums += u64::from(has_bad_checksum);
                (segment.packets, segment.bytes) = (1, packet.wire.into());
                segment.first_ns = packet.at_ns;
                packet.segment = segment;
                out.push(packet);
            }
            None => self.tally.malformed += 1,
        }
    }
}

#[cfg(test)]
mod tests;
