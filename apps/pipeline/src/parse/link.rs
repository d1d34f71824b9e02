//! Link layers: where the IP packet begins.

/// What a link layer carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carried {
    /// An IP packet, from this byte on.
    Ip(usize),
    /// Another protocol.
    Other(&'static str),
    /// The header is cut or contradicts itself.
    Malformed,
}

use Carried::{Ip, Malformed, Other};

/// Looks through the link layer. `link` is the number of its type, as pcap files have it.
pub(crate) fn carried(link: u32, bytes: &[u8]) -> Carried {
    let found = match link {
        1 => typed(bytes, 12),
        // BSD's loopback, in the byte order of its machine, and in network order.
        0 | 108 => family(bytes),
        9 => ppp(bytes, 0),
        // Raw IP.
        12 | 14 | 101 | 228 | 229 => Some(Ip(0)),
        // Cisco's HDLC.
        104 => typed(bytes, 2),
        // Linux cooked, versions 1 and 2.
        113 => typed(bytes, 14),
        276 => sll2(bytes),
        _ => Some(Other("unknown-link")),
    };
    match found {
        Some(Ip(at)) if at < bytes.len() => Ip(at),
        Some(other @ Other(_)) => other,
        _ => Malformed,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|word| u16::from_be_bytes(*word))
}

/// From the two bytes that name a type on: any number of tags, labels and tunnels.
fn typed(bytes: &[u8], mut at: usize) -> Option<Carried> {
    loop {
        let kind = word(bytes, at)?;
        at += 2;
        match kind {
            0x0800 | 0x86dd => return Some(Ip(at)),
            0x0806 | 0x8035 => return Some(Other("arp")),
            // VLAN, QinQ, and older numbers of QinQ: two bytes, and the type of what follows.
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => at += 2,
            0x8847 | 0x8848 => return mpls(bytes, at),
            // A session of PPP over Ethernet.
            0x8864 => return ppp(bytes, at + 6),
            // A length: LLC follows. SNAP with Ethernet types is a type again.
            0..0x0600 => match bytes.get(at..at + 6)? {
                [0xaa, 0xaa, 3, 0, 0, 0] => at += 6,
                _ => return Some(Other("llc")),
            },
            _ => return Some(Other("non-ip")),
        }
    }
}

/// Linux cooked, version 2: the type is at the beginning.
fn sll2(bytes: &[u8]) -> Option<Carried> {
    const HEADER: usize = 20;
    match word(bytes, 0)? {
        0x0800 | 0x86dd => Some(Ip(HEADER)),
        0x0806 | 0x8035 => Some(Other("arp")),
        0x8100 | 0x88a8 => typed(bytes, HEADER + 2),
        _ => Some(Other("non-ip")),
    }
}

/// Labels up to the last one, behind which the version of IP is the only hint.
fn mpls(bytes: &[u8], mut at: usize) -> Option<Carried> {
    loop {
        let label = bytes.get(at..at + 4)?;
        at += 4;
        if label[2] & 1 == 1 {
            return Some(match bytes.get(at)? >> 4 {
                4 | 6 => Ip(at),
                _ => Other("mpls"),
            });
        }
    }
}

fn ppp(bytes: &[u8], mut at: usize) -> Option<Carried> {
    // Address and control, where they aren't compressed away.
    if bytes.get(at..at + 2)? == [0xff, 0x03] {
        at += 2;
    }
    Some(match word(bytes, at)? {
        // Cisco's HDLC, which has the same link type.
        0x0f00 | 0x8f00 => return typed(bytes, at + 2),
        0x0021 | 0x0057 => Ip(at + 2),
        0x0281 | 0x0283 => return mpls(bytes, at + 2),
        _ => Other("ppp"),
    })
}

/// A family of addresses: 2 is IPv4, and each BSD has its own number for IPv6.
fn family(bytes: &[u8]) -> Option<Carried> {
    let &family = bytes.first_chunk::<4>()?;
    let number = u32::from_le_bytes(family).min(u32::from_be_bytes(family));
    Some(if matches!(number, 2 | 10 | 24 | 28 | 30) { Ip(4) } else { Other("non-ip") })
}
