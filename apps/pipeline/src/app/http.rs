//! HTTP/1 and the first bytes of HTTP/2.

use httparse::{EMPTY_HEADER, Request, Status};

use super::{App, Match, printable};
use Match::{Is, More, No};

/// What begins a connection of HTTP/2 without TLS.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n";
/// Methods of HTTP, WebDAV and UPnP.
const METHODS: [&str; 27] = [
    "GET",
    "POST",
    "HEAD",
    "PUT",
    "DELETE",
    "OPTIONS",
    "CONNECT",
    "TRACE",
    "PATCH",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "SUBSCRIBE",
    "UNSUBSCRIBE",
    "NOTIFY",
    "M-SEARCH",
    "REPORT",
    "MERGE",
    "MKCALENDAR",
    "SEARCH",
    "PURGE",
    "RPC_IN_DATA",
    "RPC_OUT_DATA",
];
/// Headers that the parser takes, at most.
const MOST_HEADERS: usize = 96;

/// The beginning of a stream: a request, or an answer.
pub(super) fn of_stream(head: &[u8]) -> Match {
    if head.starts_with(PREFACE) || head.starts_with(b"HTTP/1.") {
        return Is(App::named("http"));
    }
    if [PREFACE, b"HTTP/1."].iter().any(|whole| whole.starts_with(head)) {
        return More(None);
    }
    let begins = |method: &&str| {
        let method = method.as_bytes();
        let common = method.len().min(head.len());
        head[..common] == method[..common] && head.get(common).is_none_or(|&next| next == b' ')
    };
    if METHODS.iter().any(begins) { request(head) } else { No }
}

fn request(head: &[u8]) -> Match {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or(head);
    let is_whole = line.len() < head.len();
    if is_whole && !line.windows(7).any(|part| part == b" HTTP/1") {
        return No;
    }
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut request = Request::new(&mut headers);
    let ended = match request.parse(head) {
        Ok(Status::Complete(_)) => true,
        Ok(Status::Partial) => false,
        // The request line was good, so the headers are odd.
        Err(_) if is_whole => true,
        Err(_) => return No,
    };
    let method = printable(request.method.unwrap_or_default().as_bytes());
    match host(head).map(printable) {
        Some(host) => Is(App { method, ..App::with_host("http", host) }),
        None if ended => Is(App { method, ..App::with_host("http", authority(&request)) }),
        None => More(is_whole.then_some("http")),
    }
}

/// The host that a whole line names. The parser keeps no headers of requests that it refuses.
fn host(head: &[u8]) -> Option<&[u8]> {
    let lines = head.split_inclusive(|&byte| byte == b'\n').skip(1);
    lines.take_while(|line| !line.trim_ascii().is_empty()).find_map(|line| {
        let (name, value) = line.strip_suffix(b"\n")?.split_at_checked(5)?;
        name.eq_ignore_ascii_case(b"host:").then(|| value.trim_ascii())
    })
}

/// The host of a request that names it in its target, as those to proxies.
fn authority(request: &Request<'_, '_>) -> String {
    let target = request.path.unwrap_or_default();
    let host = match target.split_once("://") {
        Some((_, rest)) => rest.split('/').next().unwrap_or_default(),
        None if request.method == Some("CONNECT") => target,
        None => "",
    };
    printable(host.as_bytes())
}
