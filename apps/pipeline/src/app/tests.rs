use super::*;
use crate::build::{client_hello, hello_message, question};

const ENDS: [Endpoint; 2] = [at(40_000), at(443)];

const fn at(port: u16) -> Endpoint {
    (std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), port)
}

fn to(port: u16) -> [Endpoint; 2] {
    [at(40_000), at(port)]
}

fn client(bytes: &[u8]) -> Match {
    of_stream([bytes, &[]], ENDS)
}

fn datagram(bytes: &[u8], port: u16) -> Match {
    Datagrams::default().next(bytes, to(port))
}

fn is(name: &'static str, host: &str) -> Match {
    Match::Is(App::with_host(name, host.into()))
}

/// No prefix of `bytes` is taken for something else.
fn assert_grows(bytes: &[u8], whole: Match) {
    for len in 1..bytes.len() {
        let found = client(&bytes[..len]);
        assert!(matches!(found, Match::More(_)) || found == whole, "{found:?} at {len}");
    }
    assert_eq!(client(bytes), whole);
}

#[test]
fn a_client_hello_names_its_host() {
    assert_grows(&client_hello("example.org"), is("tls", "example.org"));
    assert_eq!(client(&client_hello("")), is("tls", ""));
    assert_eq!(client(&client_hello("a b\x1b[31m")), is("tls", "a?b?[31m"));
    assert_eq!(client(&client_hello(&"a".repeat(1000))), is("tls", &"a".repeat(255)));
    let server = [22, 3, 3, 0, 5, 2, 0, 0, 1, 0];
    assert_eq!(of_stream([&[], &server], ENDS), is("tls", ""));
}

#[test]
fn a_client_hello_may_span_records() {
    let message = hello_message("example.org");
    let record = |part: &[u8]| [&[22, 3, 1, 0, part.len() as u8][..], part].concat();
    let records: Vec<u8> = message.chunks(10).flat_map(record).collect();
    assert_eq!(client(&records), is("tls", "example.org"));
}

#[test]
fn lengths_that_lie_find_no_host_and_do_no_harm() {
    let hello = client_hello("example.org");
    for at in 5..hello.len() {
        for byte in [0, 1, 0x7f, 0xff] {
            let mut wrong = hello.clone();
            wrong[at] = byte;
            let found = client(&wrong);
            assert!(matches!(found, Match::Is(App { name: "tls", .. }) | Match::More(Some("tls"))));
        }
    }
}

#[test]
fn requests_name_their_hosts() {
    let http = |method: &str, host| {
        Match::Is(App { method: method.into(), ..App::with_host("http", String::from(host)) })
    };
    let get = b"GET / HTTP/1.1\r\nAccept: */*\r\nhOST: example.org:8080\r\n";
    assert_grows(get, http("GET", "example.org:8080"));
    assert_eq!(client(b"GET / HTTP/1.0\r\n\r\n"), http("GET", ""));
    let proxy = b"CONNECT example.org:443 HTTP/1.1\r\n\r\n";
    assert_eq!(client(proxy), http("CONNECT", "example.org:443"));
    let absolute = b"GET http://example.org/a HTTP/1.0\r\n\r\n";
    assert_eq!(client(absolute), http("GET", "example.org"));
    // The parser refuses the header's name.
    let odd = b"POST /x HTTP/1.1\r\na header: 1\r\nHost: example.org\r\n\r\n";
    assert_eq!(client(odd), http("POST", "example.org"));
    assert_eq!(client(b"GET milk\r\n"), Match::No);
    assert_eq!(client(b"GETTING ON"), Match::No);
    assert_eq!(of_stream([b"?", b"HTTP/1.1 200 OK"], ENDS), is("http", ""));
}

#[test]
fn questions_have_names() {
    let message = question("Example.Org");
    assert_eq!(datagram(&message, 53), is("dns", "example.org"));
    assert_eq!(datagram(&message, 5353), is("mdns", "example.org"));
    assert_eq!(datagram(&message, 5355), is("llmnr", "example.org"));
    assert_eq!(datagram(&message, 4444), is("dns", "example.org"));
    assert_eq!(datagram(&question("b\u{fc}ro.a b"), 53), is("dns", "b\u{fc}ro.a\\032b"));
    let framed = [&(message.len() as u16).to_be_bytes()[..], &message].concat();
    assert_eq!(of_stream([&framed, &[]], to(53)), is("dns", "example.org"));
    // "EXAMPLE" as NetBIOS writes it.
    let name = question("EFFIEBENFAEMEFCACACACACACACACAAA");
    assert_eq!(datagram(&name, 137), is("netbios", "example"));
    // A reference in place of a name, and a name without an end.
    let mut wrong = message.clone();
    wrong[12] = 0xc0;
    assert_eq!(datagram(&wrong, 53), Match::No);
    assert_eq!(datagram(&message[..20], 53), Match::No);
}

#[test]
fn a_few_bytes_tell_many_protocols() {
    let mut dhcp = vec![1; 240];
    dhcp[236..].copy_from_slice(&[0x63, 0x82, 0x53, 0x63]);
    let ntp = [&[0x23][..], &[0; 47]].concat();
    let stun = [&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &[0; 12]].concat();
    let datagrams: [(&str, u16, &[u8]); 7] = [
        ("dhcp", 67, &dhcp),
        ("ntp", 123, &ntp),
        ("stun", 3478, &stun),
        ("ssdp", 1900, b"M-SEARCH * HTTP/1.1\r\n"),
        ("bittorrent", 6881, b"d1:ad2:id20:abcdefghij0123456789"),
        ("dnscrypt", 443, b"r6fnvWj8abcdefgh"),
        ("rtcp", 5001, &[0x81, 201, 0, 1, 1, 2, 3, 4]),
    ];
    for (name, port, bytes) in datagrams {
        assert_eq!(datagram(bytes, port), is(name, ""), "{name}");
    }
    let streams: [(&str, &[u8]); 5] = [
        ("ssh", b"SSH-2.0-OpenSSH_9.2\r\n"),
        ("bittorrent", b"\x13BitTorrent protocol"),
        ("smtp", b"220 mail.example.org ESMTP\r\n"),
        ("ftp", b"220 Welcome\r\n"),
        ("smb", b"\0\0\0\x55\xfeSMB"),
    ];
    for (name, bytes) in streams {
        assert_eq!(of_stream([&[], bytes], ENDS), is(name, ""), "{name}");
    }
    assert_eq!(client(b"nothing that is known"), Match::No);
}

#[test]
fn a_stream_of_rtp_is_told_by_two_packets() {
    let packet = |sequence: u8| [0x80, 96, 0, sequence, 0, 0, 0, 1, 9, 9, 9, 9, 0];
    let mut datagrams = Datagrams::default();
    assert_eq!(datagrams.next(&packet(3), to(5000)), Match::More(None));
    assert_eq!(datagrams.next(&packet(200), to(5000)), Match::More(None));
    assert_eq!(datagrams.next(&packet(201), to(5000)), is("rtp", ""));
}
