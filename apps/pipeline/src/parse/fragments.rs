//! Fragments of IP datagrams: kept until the datagram is complete.

use std::net::IpAddr;
use std::ops::Range;

use hashlink::LinkedHashMap;

use super::ip::{Fragment, Ip};
use super::{Tally, transport};
use crate::packet::{Packet, Parcel};

/// Most bytes of packets that wait for the rest of their datagrams.
pub(super) const MOST_BYTES: usize = 16 << 20;
/// How long a datagram may wait for its rest, in nanoseconds of the capture's time.
const LIFETIME_NS: u64 = 30_000_000_000;
/// Bytes of a datagram, at most: more can't be named in the header of IP.
const LARGEST: usize = 65_535;
/// A piece counts as at least this many bytes, for what is kept besides its own.
const OVERHEAD: usize = 512;

/// What identifies a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    source: IpAddr,
    destination: IpAddr,
    id: u32,
    /// Fragments of IPv6 but the first need not tell the protocol.
    protocol: Option<u8>,
}

/// A datagram of which pieces are missing.
#[derive(Debug)]
struct Datagram {
    ip: Ip,
    since_ns: u64,
    pieces: Vec<Piece>,
    /// Length of the datagram, if the last fragment is here.
    len: Option<usize>,
    /// Pieces contradict each other. All fragments to come are malformed, too (RFC 5722).
    is_poisoned: bool,
    /// A header of a fragment had a wrong checksum, which is counted already.
    has_bad_checksum: bool,
    /// What it counts as.
    kept: usize,
}

/// A fragment.
#[derive(Debug)]
struct Piece {
    packet: Parcel,
    payload: Range<usize>,
    offset: usize,
    is_cut: bool,
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        &self.packet.bytes[self.payload.clone()]
    }

    fn end(&self) -> usize {
        self.offset + self.payload.len()
    }
}

/// What became of a fragment.
pub(super) enum Kept {
    Waits,
    /// It was the last one missing.
    Whole(Parcel),
    /// It is malformed, and so are others that were kept: their number.
    Malformed(u64),
}

/// All datagrams of which pieces are missing, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    waiting: LinkedHashMap<Key, Datagram>,
    bytes: usize,
}

impl Fragments {
    /// Keeps a fragment.
    pub(super) fn keep(
        &mut self,
        packet: Parcel,
        ip: Ip,
        tally: &mut Tally,
        out: &mut Vec<Parcel>,
    ) -> Kept {
        let Some(Fragment { id, offset, is_last }) = ip.fragment else { return Kept::Malformed(1) };
        let (payload, is_cut) = (ip.payload.clone(), ip.is_cut);
        let is_odd = !is_last && payload.len() % 8 != 0 && !is_cut;
        if payload.is_empty() || is_odd || offset + payload.len() > LARGEST {
            return Kept::Malformed(1);
        }
        let protocol = ip.source.is_ipv4().then_some(ip.protocol.0);
        let key = Key { source: ip.source, destination: ip.destination, id, protocol };
        let piece = Piece { packet, payload, offset, is_cut };
        let cost = piece.packet.bytes.capacity() + OVERHEAD;
        self.make_room(cost, tally, out);
        let datagram = self.waiting.entry(key).or_insert_with(|| Datagram::new(ip.clone(), &piece));
        let malformed = datagram.add(piece, ip, is_last);
        let kept = datagram.cost();
        self.bytes = self.bytes - datagram.kept + kept;
        datagram.kept = kept;
        match malformed {
            _ if datagram.is_whole() => {
                let datagram = self.remove(&key).expect("it is there");
                datagram.joined(tally).map_or(Kept::Waits, Kept::Whole)
            }
            0 => Kept::Waits,
            malformed => Kept::Malformed(malformed),
        }
    }

    /// Gives up datagrams that have waited too long.
    pub(super) fn expire(&mut self, now_ns: u64, tally: &mut Tally, out: &mut Vec<Parcel>) {
        let is_old = |datagram: &Datagram| now_ns.abs_diff(datagram.since_ns) > LIFETIME_NS;
        while self.waiting.front().is_some_and(|(_, oldest)| is_old(oldest)) {
            self.give_up_oldest(tally, out);
        }
    }

    /// Gives up all datagrams.
    pub(super) fn finish(&mut self, tally: &mut Tally, out: &mut Vec<Parcel>) {
        while !self.waiting.is_empty() {
            self.give_up_oldest(tally, out);
        }
    }

    fn make_room(&mut self, cost: usize, tally: &mut Tally, out: &mut Vec<Parcel>) {
        while self.bytes + cost > MOST_BYTES && !self.waiting.is_empty() {
            self.give_up_oldest(tally, out);
        }
    }

    fn give_up_oldest(&mut self, tally: &mut Tally, out: &mut Vec<Parcel>) {
        let Some((_, datagram)) = self.waiting.pop_front() else { return };
        self.bytes -= datagram.kept;
        out.extend(datagram.beginning(tally));
    }

    fn remove(&mut self, key: &Key) -> Option<Datagram> {
        let datagram = self.waiting.remove(key)?;
        self.bytes -= datagram.kept;
        Some(datagram)
    }

    /// What is kept, in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Datagram {
    fn new(ip: Ip, first: &Piece) -> Self {
        let since_ns = first.packet.at_ns;
        Self {
            ip,
            since_ns,
            pieces: Vec::new(),
            len: None,
            is_poisoned: false,
            has_bad_checksum: false,
            kept: 0,
        }
    }

    /// Adds a piece in its place. Returns the number of packets that are malformed for it.
    fn add(&mut self, piece: Piece, ip: Ip, is_last: bool) -> u64 {
        self.has_bad_checksum |= ip.has_bad_checksum;
        if self.is_poisoned {
            return 1;
        }
        if is_last && !piece.is_cut {
            let len = self.len.replace(piece.end());
            if len.is_some_and(|len| len != piece.end()) {
                return self.poison() + 1;
            }
        }
        let at = self.pieces.partition_point(|other| other.offset < piece.offset);
        let is_copy =
            |other: &Piece| other.offset == piece.offset && other.bytes() == piece.bytes();
        if self.pieces.get(at).is_some_and(is_copy) {
            // It came twice, and is counted with its copy.
            let copy = &mut self.pieces[at].packet.segment;
            copy.packets += 1;
            copy.bytes += u64::from(piece.packet.wire);
            return 0;
        }
        let overlaps_before = at > 0 && self.pieces[at - 1].end() > piece.offset;
        let overlaps_next = self.pieces.get(at).is_some_and(|next| next.offset < piece.end());
        let is_beyond = self.len.is_some_and(|len| {
            piece.end() > len || self.pieces.last().is_some_and(|last| last.end() > len)
        });
        if piece.offset == 0 {
            self.ip = ip;
        }
        self.pieces.insert(at, piece);
        self.pieces[at].packet.segment.packets = 1;
        self.pieces[at].packet.segment.bytes = self.pieces[at].packet.wire.into();
        if overlaps_before || overlaps_next || is_beyond { self.poison() } else { 0 }
    }

    /// Drops all pieces. Returns the number of their packets.
    fn poison(&mut self) -> u64 {
        self.is_poisoned = true;
        let (packets, _) = self.totals();
        self.pieces.clear();
        self.pieces.shrink_to_fit();
        packets
    }

    fn totals(&self) -> (u64, u64) {
        let sum = |(packets, bytes), piece: &Piece| {
            let segment = &piece.packet.segment;
            (packets + segment.packets, bytes + segment.bytes)
        };
        self.pieces.iter().fold((0, 0), sum)
    }

    fn cost(&self) -> usize {
        let pieces = self.pieces.iter().map(|piece| piece.packet.bytes.capacity() + OVERHEAD);
        OVERHEAD + pieces.sum::<usize>()
    }

    fn is_whole(&self) -> bool {
        // Pieces don't overlap, so without a hole their lengths add up.
        let held: usize = self.pieces.iter().map(|piece| piece.payload.len()).sum();
        self.len == Some(held) && self.pieces.iter().all(|piece| !piece.is_cut)
    }

    /// The datagram as one packet. `None` if what is in it is malformed.
    fn joined(self, tally: &mut Tally) -> Option<Parcel> {
        let bytes: Vec<u8> = self.pieces.iter().flat_map(Piece::bytes).copied().collect();
        self.as_packet(bytes, false, tally)
    }

    /// The beginning of a datagram whose rest is missing: it tells the flow. Without it nothing
    /// does.
    fn beginning(self, tally: &mut Tally) -> Option<Parcel> {
        let first = self.pieces.first().filter(|piece| piece.offset == 0);
        match first.map(|piece| piece.bytes().to_vec()) {
            Some(bytes) => self.as_packet(bytes, true, tally),
            None => {
                let (packets, bytes) = self.totals();
                if packets > 0 {
                    tally.count("fragment", packets, bytes);
                }
                None
            }
        }
    }

    fn as_packet(&self, bytes: Vec<u8>, is_cut: bool, tally: &mut Tally) -> Option<Parcel> {
        let (packets, wire) = self.totals();
        let ip = self.ip.clone().reassembled(&bytes, is_cut);
        let Some((mut segment, is_bad)) = ip.and_then(|ip| transport::parse(&ip, &bytes)) else {
            tally.malformed += packets;
            return None;
        };
        tally.bad_checksums += u64::from(is_bad && !self.has_bad_checksum);
        let by_number = self.pieces.iter().map(|piece| &piece.packet);
        let first = by_number.clone().min_by_key(|packet| packet.number)?;
        let last = by_number.max_by_key(|packet| packet.number)?;
        (segment.packets, segment.bytes, segment.first_ns) = (packets, wire, first.at_ns);
        let (number, at_ns, digits, link) = (first.number, last.at_ns, last.digits, last.link);
        Some(Box::new(Packet {
            bytes,
            wire: 0,
            at_ns,
            digits,
            link,
            due: last.due,
            number,
            segment,
        }))
    }
}
