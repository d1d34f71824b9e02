//! Protocols that a few bytes tell.

use super::{App, Match};
use crate::packet::Endpoint;
use Match::{Is, More, No};

/// Bytes that begin a stream of a protocol.
const STREAMS: [(&str, &[u8]); 25] = [
    ("bittorrent", b"\x13BitTorrent protocol"),
    ("ssh", b"SSH-2.0-"),
    ("ssh", b"SSH-1."),
    ("smtp", b"EHLO "),
    ("smtp", b"HELO "),
    ("imap", b"* OK "),
    ("pop3", b"+OK "),
    ("ftp", b"USER "),
    ("rtsp", b"RTSP/1.0 "),
    ("sip", b"SIP/2.0 "),
    ("sip", b"REGISTER sip:"),
    ("sip", b"INVITE sip:"),
    ("vnc", b"RFB 00"),
    ("xmpp", b"<stream:stream"),
    ("xmpp", b"<?xml version='1.0'?><stream"),
    ("xmpp", b"<?xml version=\"1.0\"?><stream"),
    ("xmpp", b"<iq "),
    ("xmpp", b"<message "),
    ("xmpp", b"<presence "),
    ("dnscrypt", b"r6fnvWj8"),
    ("redis", b"*1\r\n$4\r\nPING"),
    ("redis", b"*2\r\n$7\r\nCOMMAND"),
    ("rtmp", b"\x03\0\0\0\0\0\0\0\0"),
    ("git", b"003egit-"),
    ("nats", b"INFO {\"server_id\""),
];

/// The beginning of a stream.
pub(super) fn of_stream(head: &[u8]) -> Match {
    let mut found = No;
    for (name, bytes) in STREAMS {
        if head.starts_with(bytes) {
            return Is(App::named(name));
        }
        if bytes.starts_with(head) {
            found = More(None);
        }
    }
    match head {
        // The greeting of a server, which says what it is.
        [b'2', b'2', b'0', b' ' | b'-', rest @ ..] => {
            let says = |word: &[u8]| rest.windows(4).any(|part| part.eq_ignore_ascii_case(word));
            match (says(b"smtp") || says(b"mail"), rest.contains(&b'\n')) {
                (true, _) => Is(App::named("smtp")),
                (false, true) => Is(App::named("ftp")),
                (false, false) => More(None),
            }
        }
        // SMB, behind the length of a message of NetBIOS.
        [0, _, _, _, 0xff | 0xfe, b'S', b'M', b'B', ..] => Is(App::named("smb")),
        // RDP: a packet of TPKT with a connection request.
        [3, 0, 0, len, cotp, 0xe0 | 0xd0, ..] if usize::from(*cotp) + 5 == usize::from(*len) => {
            Is(App::named("rdp"))
        }
        // A connection of MQTT, whose length has one byte or two, and of its older version.
        [0x10, _, 0, 4, b'M', b'Q', b'T', b'T', ..]
        | [0x10, _, _, 0, 4, b'M', b'Q', b'T', b'T', ..]
        | [0x10, _, 0, 6, b'M', b'Q', b'I', b's', b'd', b'p', ..] => Is(App::named("mqtt")),
        // The first message of a client of PostgreSQL, and its request for TLS.
        [0, 0, _, _, 0, 3, 0, 0, b'u', b's', b'e', b'r', 0, ..]
        | [0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f, ..] => Is(App::named("postgres")),
        // The greeting of MySQL: length, number 0, version 10, and the server's version as text.
        [_, _, 0, 0, 10, b'1'..=b'9', b'.' | b'0'..=b'9', ..] => Is(App::named("mysql")),
        [b'R', b'T', ..] if head.windows(9).any(|part| part == b" RTSP/1.0") => {
            Is(App::named("rtsp"))
        }
        _ => found,
    }
}

/// A datagram between ports.
pub(super) fn of_datagram(bytes: &[u8], ends: [Endpoint; 2]) -> Match {
    let has = |ports: [u16; 2]| ends.iter().any(|end| ports.contains(&end.1));
    let word = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let name = match bytes {
        _ if bittorrent(bytes) => "bittorrent",
        // A server's answer begins with these bytes.
        [b'r', b'6', b'f', b'n', b'v', b'W', b'j', b'8', ..] => "dnscrypt",
        _ if stun(bytes) => "stun",
        _ if ssdp(bytes) || (has([1900, 1900]) && bytes.starts_with(b"HTTP/1.1 ")) => "ssdp",
        // DHCP's magic cookie behind the fields of BOOTP.
        [1 | 2, ..] if word(236) == Some(0x6382_5363) => "dhcp",
        [1..=13, _, _, _, 0, ..] if has([546, 547]) => "dhcp6",
        // Versions 1 to 4, modes 1 to 5 with all their fields; modes 6 and 7 are shorter.
        [first, ..] if has([123, 123]) && ntp(*first, bytes.len()) => "ntp",
        [0x10..=0x16, _, _, _, _, _, _, _, _, _, ..] if has([138, 138]) => "netbios",
        [0x30, ..] if has([161, 162]) && snmp(bytes) => "snmp",
        [b'<', b'0'..=b'9', ..] if has([514, 514]) => "syslog",
        [1, 0, 0, 0, ..] if bytes.len() == 148 => "wireguard",
        [20..=23, 0xfe, 0xff | 0xfd, ..] if bytes.len() > 13 => "dtls",
        _ if sip(bytes) => "sip",
        [1..=5, _, high, low, ..]
            if has([1812, 1813])
                && bytes.len() == usize::from(u16::from_be_bytes([*high, *low])) =>
        {
            "radius"
        }
        _ => return No,
    };
    Is(App::named(name))
}

fn bittorrent(bytes: &[u8]) -> bool {
    // Messages of the DHT, and the first one to a tracker.
    let begins = [
        b"d1:ad2:id20:".as_slice(),
        b"d1:rd2:id20:",
        b"d2:ip6:",
        b"d1:eli20",
        b"BT-SEARCH * HTTP/1.1",
        b"\x13BitTorrent protocol",
    ];
    let tracker = b"\0\0\x04\x17\x27\x10\x19\x80\0\0\0\0";
    // uTP's first packet: type 4, version 1, number 1, and nothing to acknowledge.
    let connects = matches!(bytes, [0x41, 0..=2, ..])
        && (20..=40).contains(&bytes.len())
        && bytes[16..20] == [0, 1, 0, 0];
    begins.iter().any(|begin| bytes.starts_with(begin))
        || connects
        || (bytes.len() == 16 && bytes.starts_with(tracker))
}

/// A type with two zero bits, a length, and the magic cookie (RFC 8489).
fn stun(bytes: &[u8]) -> bool {
    let [0..=3, _, high, low, 0x21, 0x12, 0xa4, 0x42, ..] = bytes else { return false };
    let len = usize::from(u16::from_be_bytes([*high, *low]));
    len % 4 == 0 && bytes.len() >= 20
}

fn ssdp(bytes: &[u8]) -> bool {
    bytes.starts_with(b"M-SEARCH * HTTP/1.1") || bytes.starts_with(b"NOTIFY * HTTP/1.1")
}

fn ntp(first: u8, len: usize) -> bool {
    let (version, mode) = (first >> 3 & 7, first & 7);
    (1..=4).contains(&version) && matches!((mode, len), (1..=5, 48..) | (6 | 7, 8..))
}

/// A sequence whose first member is a version from 0 to 3.
fn snmp(bytes: &[u8]) -> bool {
    bytes.windows(3).take(4).any(|part| matches!(part, [2, 1, 0..=3]))
}

fn sip(bytes: &[u8]) -> bool {
    let line = bytes.split(|&byte| byte == b'\r').next().unwrap_or_default();
    line.starts_with(b"SIP/2.0 ") || line.ends_with(b" SIP/2.0")
}
