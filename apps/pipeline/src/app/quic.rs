//! QUIC: the ClientHello in the Initial packets of a client (RFC 9001 §5, RFC 9369).
//!
//! Their keys follow from a connection ID that the client sends in the clear, so anyone may read
//! them.

use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::aes::Aes128;
use aes_gcm::aes::cipher::{Block, BlockCipherEncrypt};
use aes_gcm::{Aes128Gcm, Nonce, Tag};
use hkdf::Hkdf;
use sha2::Sha256;

use super::tls::{Hello, client_hello};
use super::{App, Bytes, Match, printable};
use crate::flow::Head;
use Match::{Is, More, No};

/// What the keys of a version are made with.
struct Version {
    salt: [u8; 20],
    /// The labels of key, nonce and header protection.
    labels: [&'static str; 3],
    /// The number of the type of Initial packets.
    initial: u8,
}

const LABELS: [&str; 3] = ["quic key", "quic iv", "quic hp"];
const V1: Version = Version {
    salt: *b"\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a",
    labels: LABELS,
    initial: 0,
};
const V2: Version = Version {
    salt: *b"\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9",
    labels: ["quicv2 key", "quicv2 iv", "quicv2 hp"],
    initial: 1,
};
/// Drafts 29 to 32, and 23 to 28.
const DRAFT_29: Version = Version {
    salt: *b"\xaf\xbf\xec\x28\x99\x93\xd2\x4c\x9e\x97\x86\xf1\x9c\x61\x11\xe0\x43\x90\xa8\x99",
    labels: LABELS,
    initial: 0,
};
const DRAFT_23: Version = Version {
    salt: *b"\xc3\xee\xf7\x12\xc7\x2e\xbb\x5a\x11\xa7\xd2\x43\x2b\xb4\x63\x65\xbe\xf9\xf5\x02",
    labels: LABELS,
    initial: 0,
};

impl Version {
    /// The version of this number, if its keys are known.
    fn of(number: usize) -> Option<&'static Self> {
        match number {
            1 | 0xff00_0021 | 0xff00_0022 => Some(&V1),
            0x6b33_43cf => Some(&V2),
            0xff00_001d..=0xff00_0020 => Some(&DRAFT_29),
            // The second is Facebook's.
            0xff00_0017..=0xff00_001c | 0xface_b002 => Some(&DRAFT_23),
            _ => None,
        }
    }
}

/// Whether a number is that of a version: a known one, one of a draft or of Facebook, or one that
/// is reserved to exercise negotiation.
fn is_version(number: usize) -> bool {
    let begins = |begin, digits: u32| number >> (32 - 4 * digits) == begin;
    let is_reserved = number & 0x0f0f_0f0f == 0x0a0a_0a0a;
    Version::of(number).is_some() || begins(0xff_0000, 6) || begins(0xfaceb, 5) || is_reserved
}

/// What a flow keeps between the datagrams of a handshake.
#[derive(Debug)]
pub(crate) struct Quic {
    keys: Keys,
    /// The stream of the handshake.
    hello: Head,
}

impl Quic {
    pub(super) fn memory(&self) -> usize {
        self.hello.memory()
    }
}

/// The keys of a client's Initial packets.
struct Keys {
    packet: Aes128Gcm,
    nonce: [u8; 12],
    header: Aes128,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys(..)")
    }
}

/// A datagram, which may have several packets.
pub(super) fn of_datagram(bytes: &[u8], quic: &mut Option<Quic>) -> Match {
    let mut found = No;
    let mut rest = Bytes(bytes);
    while let Some(packet) = long_header(&mut rest) {
        found = More(Some("quic"));
        let Some(version) = packet.version.filter(|known| known.initial == packet.kind) else {
            // A version that is unknown, a handshake that goes on, or the answer of a server.
            continue;
        };
        let Some(frames) = opened(&packet, version, quic) else { continue };
        let Some(Quic { hello, .. }) = quic else { continue };
        let _ = handshake(Bytes(&frames), hello);
        if let Hello::Whole(host) = client_hello(hello.bytes()) {
            return Is(App::with_host("quic", host));
        }
    }
    if found == No { google(bytes) } else { found }
}

/// A packet with a long header.
struct Long<'a> {
    version: Option<&'static Version>,
    kind: u8,
    destination: &'a [u8],
    /// From the packet's first byte to its end.
    bytes: &'a [u8],
    /// Where its number is.
    number_at: usize,
}

/// Takes a packet with a long header. If its version is unknown, all bytes are its own.
fn long_header<'a>(rest: &mut Bytes<'a>) -> Option<Long<'a>> {
    let bytes = rest.0;
    let first = *bytes.first().filter(|&first| first & 0xc0 == 0xc0)?;
    let mut at = Bytes(&bytes[1..]);
    let number = at.number(4)?;
    let (destination, source) = (at.vector(1)?.0, at.vector(1)?.0);
    let version = Version::of(number);
    // Version 0 lists the versions of a server.
    let is_list = number == 0 && !at.0.is_empty() && at.0.len() % 4 == 0;
    if !(is_version(number) || is_list) || destination.len() > 20 || source.len() > 20 {
        return None;
    }
    let kind = first >> 4 & 3;
    let mut packet = Long { version, kind, destination, bytes, number_at: 0 };
    rest.0 = &[];
    if version.is_some_and(|version| version.initial == kind) {
        let token = varint(&mut at)?;
        at.take(token)?;
        let len = varint(&mut at)?;
        packet.number_at = bytes.len() - at.0.len();
        at.take(len)?;
        (packet.bytes, rest.0) = bytes.split_at(bytes.len() - at.0.len());
    }
    Some(packet)
}

/// A number whose first two bits are its length (RFC 9000 §16).
fn varint(at: &mut Bytes<'_>) -> Option<usize> {
    let first = at.number(1)?;
    let more = at.take((1 << (first >> 6)) - 1)?;
    Some(more.iter().fold(first & 0x3f, |number, &byte| number << 8 | usize::from(byte)))
}

/// The frames of an Initial packet of the client. The keys of the flow stay the same even if the
/// client has learnt another connection ID since, but not after a Retry.
fn opened(packet: &Long<'_>, version: &Version, quic: &mut Option<Quic>) -> Option<Vec<u8>> {
    if let Some(known) = quic
        && let Some(frames) = known.keys.open(packet)
    {
        return Some(frames);
    }
    let keys = Keys::of(version, packet.destination)?;
    let frames = keys.open(packet)?;
    *quic = Some(Quic { keys, hello: Head::default() });
    Some(frames)
}

impl Keys {
    fn of(version: &Version, destination: &[u8]) -> Option<Self> {
        let (secret, _) = Hkdf::<Sha256>::extract(Some(&version.salt), destination);
        let secret = Hkdf::<Sha256>::from_prk(&secret).ok()?;
        let mut client = [0; 32];
        expand(&secret, "client in", &mut client)?;
        let client = Hkdf::<Sha256>::from_prk(&client).ok()?;
        let (mut key, mut nonce, mut header) = ([0; 16], [0; 12], [0; 16]);
        let [key_label, nonce_label, header_label] = version.labels;
        expand(&client, key_label, &mut key)?;
        expand(&client, nonce_label, &mut nonce)?;
        expand(&client, header_label, &mut header)?;
        let (packet, header) = (Aes128Gcm::new(&key.into()), Aes128::new(&header.into()));
        Some(Self { packet, nonce, header })
    }

    /// Decrypts a packet. `None` if it isn't one with these keys.
    fn open(&self, packet: &Long<'_>) -> Option<Vec<u8>> {
        let (at, bytes) = (packet.number_at, packet.bytes);
        // The sample begins where the number would end if it were as long as possible.
        let sample: [u8; 16] = bytes.get(at + 4..at + 20)?.try_into().ok()?;
        let mut mask: Block<Aes128> = sample.into();
        self.header.encrypt_block(&mut mask);
        let first = bytes[0] ^ (mask[0] & 0x0f);
        let number_len = usize::from(first & 3) + 1;
        let mut header = bytes[..at + number_len].to_vec();
        header[0] = first;
        let mut nonce = self.nonce;
        for (place, n) in (12 - number_len..12).zip(0..) {
            header[at + n] ^= mask[1 + n];
            nonce[place] ^= header[at + n];
        }
        let (content, tag) = bytes[at + number_len..].split_last_chunk::<16>()?;
        let mut content = content.to_vec();
        let (nonce, tag) = (Nonce::from(nonce), Tag::from(*tag));
        let opened = self.packet.decrypt_inout_detached(
            &nonce,
            &header,
            content.as_mut_slice().into(),
            &tag,
        );
        opened.ok().map(|()| content)
    }
}

/// HKDF-Expand-Label of TLS 1.3 without a context.
fn expand(secret: &Hkdf<Sha256>, label: &str, into: &mut [u8]) -> Option<()> {
    let len = (into.len() as u16).to_be_bytes();
    let label_len = [(6 + label.len()) as u8];
    secret.expand_multi_info(&[&len, &label_len, b"tls13 ", label.as_bytes(), &[0]], into).ok()
}

/// Copies what the CRYPTO frames carry to its place. Ends at a frame of another kind.
fn handshake(mut frames: Bytes<'_>, hello: &mut Head) -> Option<()> {
    loop {
        match varint(&mut frames)? {
            // Padding, ping.
            0 | 1 => {}
            kind @ (2 | 3) => {
                let (_largest, _delay) = (varint(&mut frames)?, varint(&mut frames)?);
                let ranges = varint(&mut frames)?;
                let numbers =
                    ranges.saturating_mul(2).saturating_add(if kind == 3 { 4 } else { 1 });
                (0..numbers).try_for_each(|_| varint(&mut frames).map(drop))?;
            }
            6 => {
                let (offset, len) = (varint(&mut frames)?, varint(&mut frames)?);
                hello.insert(offset, frames.take(len)?);
            }
            _ => return None,
        }
    }
}

/// Google's QUIC of before: a version such as Q043 behind a connection ID, and in the first packet
/// of a client a list of tags in the clear, of which one is the host.
fn google(bytes: &[u8]) -> Match {
    let is_version =
        |version: &[u8]| matches!(version, [b'Q' | b'T', b'0', b'0'..=b'9', b'0'..=b'9']);
    let at_9 = bytes.get(9..13).is_some_and(is_version) && bytes[0] & 0x09 == 0x09;
    let at_1 = bytes.get(1..5).is_some_and(is_version) && bytes[0] & 0x80 != 0;
    if !at_9 && !at_1 {
        return No;
    }
    Is(App::with_host("quic", tagged_host(bytes).unwrap_or_default()))
}

/// The value of the tag SNI in a CHLO: tags, each with the end of its value, then the values.
fn tagged_host(bytes: &[u8]) -> Option<String> {
    let at = bytes.windows(4).take(64).position(|tag| tag == b"CHLO")?;
    let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize);
    let tags = word(at + 4)? & 0xffff;
    let (first, values, mut begin) = (at + 8, at + 8 + 8 * tags, 0);
    for tag in (0..tags).map(|n| first + 8 * n) {
        let end = word(tag + 4)?;
        if bytes.get(tag..tag + 4)? == b"SNI\0" {
            return bytes.get(values + begin..values.checked_add(end)?).map(printable);
        }
        begin = end;
    }
    None
}

#[cfg(test)]
mod tests;
