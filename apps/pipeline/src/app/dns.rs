//! DNS and protocols with its messages: mDNS, LLMNR, the name service of NetBIOS.
//!
//! Only the first name is read, by hand: it stands behind the header, in questions and in mDNS's
//! answers without one, and never is a reference. So messages that are cut, or have records of new
//! kinds, are read too.

use super::{App, Bytes, Match};
use crate::packet::Endpoint;
use Match::{Is, More, No};

const HEADER: usize = 12;
/// Bytes of a name, at most.
const LONGEST_NAME: usize = 255;

/// A datagram.
pub(super) fn of_datagram(bytes: &[u8], ends: [Endpoint; 2]) -> Match {
    let has_port = |port| ends.iter().any(|end| end.1 == port);
    let (name, service) = match () {
        _ if has_port(53) => ("dns", Service::Dns),
        _ if has_port(5353) => ("mdns", Service::Mdns),
        _ if has_port(5355) => ("llmnr", Service::Dns),
        _ if has_port(137) => ("netbios", Service::Netbios),
        // Elsewhere only a question that nothing follows, or of which the rest is an answer.
        _ => ("dns", Service::Unexpected),
    };
    message(bytes, service).map_or(No, |host| Is(App::with_host(name, host)))
}

/// A stream: messages behind their lengths. Only at the usual port, for two bytes are no proof.
pub(super) fn of_stream(head: &[u8], ends: [Endpoint; 2]) -> Match {
    if !ends.iter().any(|end| end.1 == 53) {
        return No;
    }
    let mut head = Bytes(head);
    let Some(mut content) = head.vector_or_rest(2) else { return More(Some("dns")) };
    match message(content.0, Service::Dns) {
        Some(host) => Is(App::with_host("dns", host)),
        None if content.take(LONGEST_NAME + HEADER).is_none() => More(Some("dns")),
        None => No,
    }
}

/// The rules that a message must follow.
#[derive(Clone, Copy, PartialEq)]
enum Service {
    Dns,
    Mdns,
    Netbios,
    Unexpected,
}

/// The first name in a message, if it is one.
fn message(bytes: &[u8], service: Service) -> Option<String> {
    let mut rest = Bytes(bytes);
    let (_id, flags) = (rest.number(2)?, rest.number(2)?);
    let counts = [rest.number(2)?, rest.number(2)?, rest.number(2)?, rest.number(2)?];
    let [questions, answers, authorities, additional] = counts;
    let operation = flags >> 11 & 15;
    let is_answer = flags & 0x8000 != 0;
    let reserved = flags & 0x0040;
    let is_plausible = match service {
        // Registration, release and others have numbers of their own.
        Service::Netbios => operation <= 9 && questions + answers + additional > 0,
        Service::Mdns => questions + answers + authorities > 0,
        Service::Dns => operation <= 6 && reserved == 0 && questions <= 1,
        Service::Unexpected => {
            let few = answers <= 32 && authorities <= 32 && additional <= 4;
            let fits = is_answer || answers + authorities == 0;
            operation == 0 && reserved == 0 && questions == 1 && few && fits
        }
    };
    if !is_plausible {
        return None;
    }
    if counts == [0; 4] {
        // An answer that says no more than that it failed.
        return (is_answer && rest.0.is_empty()).then(String::new);
    }
    let name = name(&mut rest)?;
    let (kind, class) = (rest.number(2)?, rest.number(2)?);
    // The highest bit of a class is a flag in mDNS.
    let is_class = matches!(class & 0x7fff, 1..=4 | 254 | 255);
    let is_strict = service == Service::Unexpected;
    let is_name = !is_strict || (!name.is_empty() && name.bytes().all(is_usual));
    if kind == 0 || !is_class || !is_name {
        return None;
    }
    // A question of a client stands alone, but for options of 11 bytes and more.
    if is_strict && !is_answer && additional == 0 && !rest.0.is_empty() {
        return None;
    }
    Some(if service == Service::Netbios { netbios(&name).unwrap_or(name) } else { name })
}

fn is_usual(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._".contains(&byte)
}

/// A name without references, with dots between its labels.
fn name(rest: &mut Bytes<'_>) -> Option<String> {
    let mut name = String::new();
    loop {
        let len = rest.number(1)?;
        if len == 0 {
            return Some(name);
        }
        // 64 and more would be a reference, or a kind of label that doesn't exist.
        if len >= 64 || name.len() > LONGEST_NAME {
            return None;
        }
        if !name.is_empty() {
            name.push('.');
        }
        label(rest.take(len)?, &mut name);
    }
}

/// Appends a label: small letters of any script, and unusual bytes as in zone files.
fn label(bytes: &[u8], name: &mut String) {
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '.' | '\\' => name.extend(['\\', letter]),
                _ if letter.is_ascii_graphic() => name.push(letter.to_ascii_lowercase()),
                _ if letter.is_alphanumeric() => name.push(letter),
                _ => escape(letter.encode_utf8(&mut [0; 4]).as_bytes(), name),
            }
        }
        escape(chunk.invalid(), name);
    }
}

fn escape(bytes: &[u8], name: &mut String) {
    bytes.iter().for_each(|byte| name.push_str(&format!("\\{byte:03}")));
}

/// The name that NetBIOS has written as two letters for each byte (RFC 1001 §14.1).
fn netbios(name: &str) -> Option<String> {
    let first = name.split('.').next()?.as_bytes();
    if first.len() != 32 || !first.iter().all(|letter| (b'a'..=b'p').contains(letter)) {
        return None;
    }
    let decoded = first.chunks(2).map(|pair| (pair[0] - b'a') << 4 | (pair[1] - b'a'));
    // The last byte is the kind of the name. Spaces and zeros fill the others up.
    let bytes: Vec<u8> = decoded.take(15).collect();
    let end = bytes.iter().rposition(|byte| !b" \0".contains(byte)).map_or(0, |last| last + 1);
    Some(super::printable(&bytes[..end]).to_ascii_lowercase())
}
