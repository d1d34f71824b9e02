//! TLS: records, and the server name of a ClientHello (RFC 8446, RFC 6066 §3).

use super::{App, Bytes, Match, printable};
use Match::{Is, More, No};

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: usize = 0;
/// Bytes of a record, at most, with what encryption may add.
const LARGEST_RECORD: usize = (16 << 10) + 256;
/// Bytes of a record's header.
const HEADER: usize = 5;

/// The beginning of a stream.
pub(super) fn of_stream(head: &[u8]) -> Match {
    let Some(kind) = head.first().filter(|kind| (20..=23).contains(*kind)) else {
        return sslv2(head);
    };
    if head.len() < HEADER {
        return if matches!(head[1..], [] | [3, ..]) { More(None) } else { No };
    }
    let len = usize::from(u16::from_be_bytes([head[3], head[4]]));
    if head[1] != 3 || head[2] > 4 || len == 0 || len > LARGEST_RECORD {
        return No;
    }
    if *kind != HANDSHAKE {
        // A stream whose beginning wasn't captured.
        return Is(App::named("tls"));
    }
    match head.get(HEADER) {
        None => More(Some("tls")),
        Some(&CLIENT_HELLO) => of_client(&handshake(head)),
        // A ServerHello, or what is encrypted.
        Some(_) => Is(App::named("tls")),
    }
}

/// The contents of the handshake records at the front: a message may span several.
fn handshake(mut head: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    while let [HANDSHAKE, 3, _, high, low, rest @ ..] = head {
        let len = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let (content, next) = rest.split_at(len);
        message.extend_from_slice(content);
        head = next;
    }
    message
}

fn of_client(message: &[u8]) -> Match {
    match client_hello(message) {
        Hello::Whole(host) => Is(App::with_host("tls", host)),
        Hello::Part => More(Some("tls")),
        Hello::None => Is(App::named("tls")),
    }
}

/// A message that may be a ClientHello.
pub(super) enum Hello {
    /// It is one for this host, or for none that is named.
    Whole(String),
    /// It is the beginning of one.
    Part,
    /// It is none.
    None,
}

/// The ClientHello at the front of `message`, if it is one.
pub(super) fn client_hello(message: &[u8]) -> Hello {
    let mut message = Bytes(message);
    match message.number(1) {
        None => return Hello::Part,
        Some(kind) if kind != usize::from(CLIENT_HELLO) => return Hello::None,
        Some(_) => {}
    }
    let Some(len) = message.number(3) else { return Hello::Part };
    match message.take(len) {
        Some(hello) => Hello::Whole(server_name(Bytes(hello)).unwrap_or_default()),
        // The name may be here even if the end isn't.
        None => server_name(message).map_or(Hello::Part, Hello::Whole),
    }
}

/// The server name in the extensions of a ClientHello.
fn server_name(mut hello: Bytes<'_>) -> Option<String> {
    // Version and random.
    hello.take(2 + 32)?;
    let (_session, _ciphers, _compression) = (hello.vector(1)?, hello.vector(2)?, hello.vector(1)?);
    let mut extensions = hello.vector_or_rest(2)?;
    loop {
        let (kind, mut extension) = (extensions.number(2)?, extensions.vector(2)?);
        if kind == SERVER_NAME {
            let mut names = extension.vector(2)?;
            // The only kind of name that there is: a host's.
            return (names.number(1)? == 0).then(|| Some(printable(names.vector(2)?.0)))?;
        }
    }
}

/// A hello of clients that also speak SSL 2.0: its length, its kind, version 3, and lengths that
/// fit.
fn sslv2(head: &[u8]) -> Match {
    let [first, second, 1, 3, 0..=3, rest @ ..] = head else { return No };
    let len = usize::from(u16::from_be_bytes([first & 0x7f, *second]));
    let mut lens = Bytes(rest);
    let mut number = || lens.number(2);
    let (Some(ciphers), Some(session), Some(challenge)) = (number(), number(), number()) else {
        return No;
    };
    let is_hello = first & 0x80 != 0 && len == 9 + ciphers + session + challenge;
    if is_hello && ciphers % 3 == 0 { Is(App::named("tls")) } else { No }
}
