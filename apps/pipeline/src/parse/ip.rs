//! IPv4 and IPv6, with extension headers.

use std::net::IpAddr;
use std::ops::Range;

use etherparse::{IpNumber, Ipv6ExtensionSlice, Ipv6ExtensionsSlice, LaxIpSlice};

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
            let is_tunnel = matches!(ip.protocol, IpNumber::IPV4 | IpNumber::IPV6);
            if !is_tunnel || ip.fragment.is_some() {
                return Some(ip);
            }
            (at, outer_is_bad) = (ip.payload.start, ip.has_bad_checksum);
        }
        None
    }

    fn one(bytes: &[u8], at: usize, is_cut: bool) -> Option<Self> {
        let (ip, stopped) = LaxIpSlice::from_slice(bytes.get(at..)?).ok()?;
        let content = ip.payload();
        // An extension header that is cut or makes no sense; or the wire had less than the header
        // claims.
        if stopped.is_some() || (content.incomplete && !is_cut) {
            return None;
        }
        let start = content.payload.as_ptr() as usize - bytes.as_ptr() as usize;
        let (has_bad_checksum, fragment) = match &ip {
            LaxIpSlice::Ipv4(ip) => {
                let header = ip.header();
                let fragment = ip.is_payload_fragmented().then(|| Fragment {
                    id: header.identification().into(),
                    offset: usize::from(header.fragments_offset().value()) * 8,
                    is_last: !header.more_fragments(),
                });
                (sum(header.slice()) != 0, fragment)
            }
            LaxIpSlice::Ipv6(ip) => (false, fragment_header(ip.extensions())),
        };
        Some(Self {
            source: ip.source_addr(),
            destination: ip.destination_addr(),
            protocol: content.ip_number,
            payload: start..start + content.payload.len(),
            is_cut: content.incomplete,
            has_bad_checksum,
            fragment,
        })
    }

    /// Of a datagram that is complete again: behind the extension headers that its first fragment
    /// had behind the fragment header. `None` if they are malformed.
    pub(crate) fn reassembled(mut self, bytes: &[u8]) -> Option<Self> {
        self.payload = 0..bytes.len();
        if self.source.is_ipv6() {
            let (_, protocol, rest, stopped) =
                Ipv6ExtensionsSlice::from_slice_lax(self.protocol, bytes);
            if stopped.is_some() {
                return None;
            }
            (self.protocol, self.payload) = (protocol, bytes.len() - rest.len()..bytes.len());
        }
        (self.fragment, self.has_bad_checksum) = (None, false);
        Some(self)
    }
}

/// The place of a fragment. A fragment header on a whole packet means nothing (RFC 6946).
fn fragment_header(extensions: &Ipv6ExtensionsSlice<'_>) -> Option<Fragment> {
    let header = extensions.clone().into_iter().find_map(|header| match header {
        Ipv6ExtensionSlice::Fragment(header) if header.is_fragmenting_payload() => Some(header),
        _ => None,
    })?;
    Some(Fragment {
        id: header.identification(),
        offset: usize::from(header.fragment_offset().value()) * 8,
        is_last: !header.more_fragments(),
    })
}

/// The checksum of these bytes: 0 if their own checksum, which is among them, is right.
fn sum(bytes: &[u8]) -> u16 {
    etherparse::checksum::Sum16BitWords::new().add_slice(bytes).ones_complement()
}
