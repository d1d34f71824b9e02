//! IPv4 and IPv6, with extension headers.

use std::net::IpAddr;
use std::ops::Range;

use etherparse::{IpNumber, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice};

/// IP packets inside IP packets, at most.
const NESTED: usize = 4;

/// What an IP header says.
#[derive(Debug, Clone)]
pub(crate) struct Ip {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    /// The protocol of the payload. For a fragment, of the datagram.
    pub(crate) protocol: IpNumber,
    /// Where the payload is.
    pub(crate) payload: Range<usize>,
    /// Whether the capture holds only the beginning of the payload.
    pub(crate) is_cut: bool,
    pub(crate) has_bad_checksum: bool,
    pub(crate) fragment: Option<Fragment>,
}

/// A place in a datagram.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fragment {
    pub(crate) id: u32,
    pub(crate) offset: usize,
    pub(crate) is_last: bool,
}

impl Ip {
    /// The packet that begins at byte `at`, or the innermost one of a tunnel. `is_cut` says whether
    /// the capture holds less than the wire had. `None` if it is malformed.
    pub(crate) fn parse(bytes: &[u8], mut at: usize, is_cut: bool) -> Option<Self> {
        let mut outer_is_bad = false;
        for _ in 0..NESTED {
            let mut ip = Self::one(bytes, at, is_cut)?;
            ip.has_bad_checksum |= outer_is_bad;
            let Some(header) = ip.tunnel(&bytes[ip.payload.clone()]) else { return Some(ip) };
            (at, outer_is_bad) = (ip.payload.start + header, ip.has_bad_checksum);
        }
        None
    }

    /// The length of what lies between this header and that of an IP packet in the payload, if that
    /// is what the payload is.
    fn tunnel(&self, payload: &[u8]) -> Option<usize> {
        match self.protocol {
            _ if self.fragment.is_some() => None,
            IpNumber::IPV4 | IpNumber::IPV6 => Some(0),
            IpNumber::GRE => gre(payload),
            _ => None,
        }
    }

    fn one(bytes: &[u8], at: usize, is_cut: bool) -> Option<Self> {
        let packet = bytes.get(at..)?;
        let (mut ip, claimed) = match packet.first()? >> 4 {
            4 => Self::version_4(packet)?,
            6 => Self::version_6(packet)?,
            _ => return None,
        };
        ip.is_cut = claimed > packet.len();
        // The wire had less than the header claims.
        if ip.is_cut && !is_cut {
            return None;
        }
        // Behind it, there is the padding of a link layer.
        ip.payload.end = claimed.min(packet.len());
        if ip.fragment.is_none() {
            ip.look_through_extensions(packet)?;
        }
        ip.payload = at + ip.payload.start..at + ip.payload.end;
        Some(ip)
    }

    /// What the header says, and the length of the packet that it claims.
    fn version_4(packet: &[u8]) -> Option<(Self, usize)> {
        let header = Ipv4HeaderSlice::from_slice(packet).ok()?;
        let len = header.slice().len();
        let fragment = header.is_fragmenting_payload().then(|| Fragment {
            id: header.identification().into(),
            offset: usize::from(header.fragments_offset().value()) * 8,
            is_last: !header.more_fragments(),
        });
        let claimed = match usize::from(header.total_len()) {
            // A packet that the network interface was to split.
            0 => packet.len(),
            claimed if claimed < len => return None,
            claimed => claimed,
        };
        let ip = Self {
            source: header.source_addr().into(),
            destination: header.destination_addr().into(),
            protocol: header.protocol(),
            payload: len..len,
            is_cut: false,
            has_bad_checksum: sum(header.slice()) != 0,
            fragment,
        };
        Some((ip, claimed))
    }

    fn version_6(packet: &[u8]) -> Option<(Self, usize)> {
        let header = Ipv6HeaderSlice::from_slice(packet).ok()?;
        let len = header.slice().len();
        let claimed = match usize::from(header.payload_length()) {
            // A jumbogram, or a packet that the network interface was to split.
            0 => packet.len(),
            payload => len + payload,
        };
        let ip = Self {
            source: header.source_addr().into(),
            destination: header.destination_addr().into(),
            protocol: header.next_header(),
            payload: len..len,
            is_cut: false,
            has_bad_checksum: false,
            fragment: None,
        };
        Some((ip, claimed))
    }

    /// Moves the begin of the payload behind the extension headers, up to that of a fragment: what
    /// follows there is part of the datagram. (The crate's own walk goes on.) `None` if a header is
    /// cut.
    fn look_through_extensions(&mut self, packet: &[u8]) -> Option<()> {
        loop {
            let rest = packet.get(self.payload.clone())?;
            let len = match self.protocol {
                IpNumber::AUTHENTICATION_HEADER => 8 + 4 * usize::from(*rest.get(1)?),
                _ if self.source.is_ipv4() => return Some(()),
                IpNumber::IPV6_HEADER_HOP_BY_HOP
                | IpNumber::IPV6_ROUTE_HEADER
                | IpNumber::IPV6_DESTINATION_OPTIONS
                | IpNumber::MOBILITY_HEADER => 8 + 8 * usize::from(*rest.get(1)?),
                IpNumber::IPV6_FRAGMENTATION_HEADER => {
                    let header = Ipv6FragmentHeaderSlice::from_slice(rest).ok()?;
                    // On a whole packet it means nothing (RFC 6946).
                    self.fragment = header.is_fragmenting_payload().then(|| Fragment {
                        id: header.identification(),
                        offset: usize::from(header.fragment_offset().value()) * 8,
                        is_last: !header.more_fragments(),
                    });
                    header.slice().len()
                }
                _ => return Some(()),
            };
            self.protocol = IpNumber(*rest.first().filter(|_| len <= rest.len())?);
            self.payload.start += len;
            if self.fragment.is_some() {
                return Some(());
            }
        }
    }

    /// Of a datagram that is complete again, or cut. Its first bytes may be extension headers, too,
    /// or a tunnel's. `None` if they are malformed.
    pub(crate) fn reassembled(mut self, bytes: &[u8], is_cut: bool) -> Option<Self> {
        self.payload = 0..bytes.len();
        (self.fragment, self.has_bad_checksum, self.is_cut) = (None, false, is_cut);
        self.look_through_extensions(bytes)?;
        if let Some(header) = self.tunnel(&bytes[self.payload.clone()]) {
            self = Self::parse(bytes, self.payload.start + header, is_cut)?;
        }
        // A fragment in a fragment.
        self.fragment.is_none().then_some(self)
    }
}

/// The length of a header of GRE (RFC 2784, RFC 2890) that IP follows.
fn gre(payload: &[u8]) -> Option<usize> {
    let ([flags, 0, 8, 0, ..] | [flags, 0, 0x86, 0xdd, ..]) = payload else { return None };
    // Checksum, key and sequence number are there if their flags are set.
    let fields = (flags & 0xb0).count_ones() as usize;
    (flags & 0x4f == 0).then_some(4 + 4 * fields)
}

/// The checksum of these bytes: 0 if their own checksum, which is among them, is right.
fn sum(bytes: &[u8]) -> u16 {
    etherparse::checksum::Sum16BitWords::new().add_slice(bytes).ones_complement()
}
