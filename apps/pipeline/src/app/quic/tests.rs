use aes_gcm::aead::AeadInOut;

use super::*;
use crate::build::hello_message;

/// The connection ID of the example in RFC 9001 A.1.
const DESTINATION: &[u8] = b"\x83\x94\xc8\xf0\x3e\x51\x57\x08";

/// Bytes of hexadecimal digits.
fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<_> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// An Initial packet with a number of 4 bytes, as a client seals it.
fn sealed(number: u32, version: u32, destination: &[u8], frames: &[u8]) -> Vec<u8> {
    let known = Version::of(version as usize).expect("a known version");
    let keys = Keys::of(known, destination).expect("a connection ID");
    let len = 0x4000 | (4 + frames.len() + 16) as u16;
    let mut packet = [
        &[0xc3 | known.initial << 4],
        &version.to_be_bytes()[..],
        &[destination.len() as u8],
        destination,
        &[0, 0],
        &len.to_be_bytes(),
        &number.to_be_bytes(),
    ]
    .concat();
    let number_at = packet.len() - 4;
    let mut nonce = keys.nonce;
    for (place, byte) in nonce[8..].iter_mut().zip(number.to_be_bytes()) {
        *place ^= byte;
    }
    let mut content = frames.to_vec();
    let sealing = (&Nonce::from(nonce), &packet[..], content.as_mut_slice().into());
    let tag = keys.packet.encrypt_inout_detached(sealing.0, sealing.1, sealing.2);
    packet.extend(content);
    packet.extend(tag.expect("it is short"));
    let sample: [u8; 16] = packet[number_at + 4..number_at + 20].try_into().expect("it is long");
    let mut mask: Block<Aes128> = sample.into();
    keys.header.encrypt_block(&mut mask);
    packet[0] ^= mask[0] & 0x0f;
    for (place, byte) in packet[number_at..number_at + 4].iter_mut().zip(&mask[1..]) {
        *place ^= byte;
    }
    packet
}

/// A CRYPTO frame, and padding.
fn crypto(offset: u16, content: &[u8]) -> Vec<u8> {
    let place = (0x4000 | offset).to_be_bytes();
    let len = (0x4000 | content.len() as u16).to_be_bytes();
    [&[0, 6][..], &place, &len, content, &[0; 30]].concat()
}

fn is(host: &str) -> Match {
    Is(App::with_host("quic", host.into()))
}

#[test]
fn the_example_of_the_rfc_is_sealed_and_opened() {
    let mut frames =
        hex("060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e86804fe3a47f06a2b69484c
         00000413011302010000c000000010000e00000b6578616d706c652e636f6dff01000100000a00080006
         001d0017001800100007000504616c706e000500050100000000003300260024001d00209370b2c9caa4
         7fbabaf4559fedba753de171fa71f50f1ce15d43e994ec74d748002b0003020304000d0010000e040305
         0306030203080408050806002d00020101001c00024001003900320408ffffffffffffffff05048000ff
         ff07048000ffff0801100104800075300901100f088394c8f03e51570806048000ffff");
    frames.resize(1162, 0);
    let packet = sealed(2, 1, DESTINATION, &frames);
    let begin = hex("c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11d242b123dc9b");
    assert!(packet.starts_with(&begin));
    assert!(packet.ends_with(&hex("e221af44860018ab0856972e194cd934")));
    assert_eq!(of_datagram(&packet, &mut None), is("example.com"));
}

#[test]
fn all_versions_with_keys_are_read() {
    for version in [1, 0x6b33_43cf, 0xff00_001d, 0xff00_001b, 0xface_b002] {
        let packet = sealed(0, version, b"1234", &crypto(0, &hello_message("example.org")));
        assert_eq!(of_datagram(&packet, &mut None), is("example.org"), "{version:x}");
    }
    let unknown = [&[0xc0, 0xff, 0, 0, 3, 0, 0][..], &[0; 40]].concat();
    assert_eq!(of_datagram(&unknown, &mut None), More(Some("quic")));
}

#[test]
fn a_hello_may_span_packets_and_datagrams() {
    let hello = hello_message("example.org");
    let (one, two) = hello.split_at(50);
    let first = sealed(0, 1, b"1234", &crypto(50, two));
    let second = sealed(1, 1, b"1234", &[&[2, 0, 0, 0, 0][..], &crypto(0, one)].concat());
    // In one datagram, and in two. What lies between is not of the client.
    let both = [&first[..], &second].concat();
    assert_eq!(of_datagram(&both, &mut None), is("example.org"));
    let (mut quic, answer) = (None, sealed(0, 1, b"servers", &crypto(0, b"?")));
    assert_eq!(of_datagram(&first, &mut quic), More(Some("quic")));
    assert_eq!(of_datagram(&answer[..answer.len() - 1], &mut quic), No);
    assert_eq!(of_datagram(&second, &mut quic), is("example.org"));
}

#[test]
fn after_a_retry_the_keys_are_new() {
    let (one, hello) = (crypto(0, b"\x01\0\0\xff"), crypto(0, &hello_message("example.org")));
    let mut quic = None;
    assert_eq!(of_datagram(&sealed(0, 1, b"1234", &one), &mut quic), More(Some("quic")));
    assert_eq!(of_datagram(&sealed(1, 1, b"5678", &hello), &mut quic), is("example.org"));
}

#[test]
fn damaged_packets_are_not_opened() {
    let packet = sealed(0, 1, b"1234", &crypto(0, &hello_message("example.org")));
    for at in 0..packet.len() {
        let mut damaged = packet.clone();
        damaged[at] ^= 0x10;
        assert!(!matches!(of_datagram(&damaged, &mut None), Is(_)), "{at}");
        assert!(!matches!(of_datagram(&packet[..at], &mut None), Is(_)), "{at}");
    }
}

#[test]
fn the_first_quic_of_google_has_its_host_in_the_clear() {
    let tags = [&b"CHLO\x02\0\0\0"[..], b"PAD\0\x03\0\0\0", b"SNI\0\x0e\0\0\0"].concat();
    let values = b"---example.org";
    let packet = [&b"\x0d12345678Q043\x01"[..], &[0; 16], &tags, values].concat();
    assert_eq!(of_datagram(&packet, &mut None), is("example.org"));
}
