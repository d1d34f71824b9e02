//! The engine that moves packets: Zenoh, between two peers.
//!
//! It loses packets while a connection is broken, and when an end isn't known yet. What the
//! protocol does about that is in [`protocol`](crate::protocol).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::net::{TcpListener, ToSocketAddrs as _};
use std::panic::resume_unwind;
use std::thread;

use bytes::Bytes;
use corelane::channel;
use zenoh::Wait as _;
use zenoh::bytes::ZBytes;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;

use crate::error::OpenError;
use crate::node::Tls;
use crate::pool;
use crate::protocol::{BINDINGS, Data, Id, Packet};
use crate::pump::Event;
#[cfg(feature = "shared-memory")]
use crate::shm::Route;

/// The connections of a node.
#[derive(Debug)]
pub(crate) struct Engine {
    /// `None` only in its drop.
    session: Option<zenoh::Session>,
    address: String,
    /// Whether large packets to nodes of this machine go through memory.
    has_shm: bool,
}

impl Drop for Engine {
    fn drop(&mut self) {
        let session = self.session.take();
        apart(|| drop(session));
    }
}

/// Runs `work` in a thread outside of Tokio: the engine panics where it would have to wait in a runtime
/// of one thread.
fn apart<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let done = thread::scope(|scope| scope.spawn(work).join());
    done.unwrap_or_else(|panic| resume_unwind(panic))
}

impl Engine {
    pub(crate) fn open(
        address: &str,
        listens: bool,
        tls: Option<&Tls>,
        has_shm: bool,
    ) -> Result<Self, OpenError> {
        check(address, listens)?;
        let address = if listens { with_port(address)? } else { address.into() };
        let protocol = if tls.is_some() { "tls" } else { "tcp" };
        let mut settings = settings(&format!("{protocol}/{address}"), listens, has_shm);
        if let Some(tls) = tls {
            tls.check()?;
            settings.extend(certificates(tls));
        }
        let mut config = zenoh::Config::default();
        for (key, value) in settings {
            config
                .insert_json5(&key, &value)
                .map_err(|error| OpenError::Engine(without_places(&error)))?;
        }
        let session = apart(|| zenoh::open(config).wait())
            .map_err(|error| wrong(&address, without_places(&error)))?;
        Ok(Self { session: Some(session), address, has_shm })
    }

    /// Where it listens, or what it connects to.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The connections of an end. What comes for it goes to `events`.
    pub(crate) fn link(
        &self,
        name: &str,
        id: Id,
        is_sender: bool,
        events: &channel::Sender<Event>,
    ) -> Result<Link, OpenError> {
        let (own, other) = if is_sender { ("s", "r") } else { ("r", "s") };
        let session = self.session.as_ref().expect("it isn't dropped");
        let subscribe = |key: String| {
            let events = events.clone();
            let declared = session.declare_subscriber(key).callback(move |sample| {
                if let Some(packet) = packet(sample.payload()) {
                    // The pump may have ended.
                    let _ = events.send(Event::Packet(packet));
                }
            });
            declared.wait().map_err(|error| OpenError::Engine(without_places(&error)))
        };
        let all = format!("corelane/{name}/{own}/all");
        // What is for its bindings comes here, too.
        let to_it = format!("corelane/{name}/{own}/{id:x}");
        let subscribers = apart(|| Ok([subscribe(all)?, subscribe(to_it)?]))?;
        Ok(Link {
            session: session.clone(),
            has_shm: self.has_shm,
            to: format!("corelane/{name}/{other}"),
            _subscribers: subscribers,
            destinations: HashMap::new(),
        })
    }
}

fn wrong(address: &str, reason: impl Into<String>) -> OpenError {
    OpenError::Address { address: address.into(), reason: reason.into() }
}

/// Fails if an address isn't one, or if its host isn't known.
fn check(address: &str, listens: bool) -> Result<(), OpenError> {
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| listens || port > 0);
    let is_address =
        address.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && is_port(port));
    if !is_address || address.contains(['"', '/', '#', '?']) {
        return Err(wrong(
            address,
            "this is no address: give a host and a port, such as 10.0.0.2:7447",
        ));
    }
    let found = address.to_socket_addrs().map(|mut found| found.next());
    match found {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(wrong(address, "the host has no address")),
        Err(error) => Err(wrong(address, format!("the host isn't known: {error}"))),
    }
}

/// The address to listen at, with a free port instead of port 0. The engine says less of what is wrong.
fn with_port(address: &str) -> Result<String, OpenError> {
    let listener = TcpListener::bind(address).and_then(|listener| listener.local_addr());
    let port = listener.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            wrong(address, "another program listens there: end it, or take another port")
        }
        io::ErrorKind::AddrNotAvailable => wrong(
            address,
            "this machine has no such address: give one of its own, or 0.0.0.0 for all of them",
        ),
        _ => wrong(address, error.to_string()),
    })?;
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    Ok(format!("{host}:{}", port.port()))
}

/// What the engine says, without the places in its source.
fn without_places(error: &zenoh::Error) -> String {
    let text = error.to_string();
    let (mut rest, mut words) = (&text[..], String::new());
    while let Some((before, after)) = rest.split_once(".rs:") {
        words.push_str(before.rsplit_once(" at ").map_or(before, |(words, _)| words));
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    }
    words + rest
}

/// Most bytes of a packet without its items.
const HEAD: usize = 64;

/// The packet of a payload. What came through shared memory is a part of its own, and is not copied.
fn packet(payload: &ZBytes) -> Option<Packet> {
    let mut parts = payload.slices();
    if let (Some(head), Some(items), None) = (parts.next(), parts.next(), parts.next())
        && head.len() <= HEAD
        && let Some(Packet::Data(data)) = Packet::from_bytes(Bytes::copy_from_slice(head))
        && data.items.is_empty()
        && !items.is_empty()
    {
        let items = Bytes::from_owner(Part(payload.clone(), 1));
        return Some(Packet::Data(Data { items, ..data }));
    }
    Packet::from_bytes(in_one_piece(payload))
}

/// The bytes of a packet, without a copy if they are in one piece.
fn in_one_piece(payload: &ZBytes) -> Bytes {
    if payload.slices().nth(1).is_none() {
        return Bytes::from_owner(Part(payload.clone(), 0));
    }
    let mut joined = pool::buffer(payload.len());
    payload.slices().for_each(|slice| joined.extend_from_slice(slice));
    pool::share(joined)
}

/// A part of a payload.
struct Part(ZBytes, usize);

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        self.0.slices().nth(self.1).unwrap_or_default()
    }
}

/// The engine's settings for a node at an endpoint, such as `tcp/10.0.0.2:7447`.
fn settings(endpoint: &str, listens: bool, has_shm: bool) -> Vec<(String, String)> {
    let (yes, no) = if listens { ("listen", "connect") } else { ("connect", "listen") };
    [
        ("mode", "\"peer\""),
        (&format!("{yes}/endpoints") as &str, &format!("[\"{endpoint}\"]") as &str),
        (&format!("{no}/endpoints"), "[]"),
        // A node that isn't there yet is awaited in the background.
        ("connect/timeout_ms", "-1"),
        ("connect/exit_on_failure", "false"),
        ("listen/exit_on_failure", "true"),
        ("connect/retry", RETRY),
        // No other nodes are sought.
        ("scouting/multicast/enabled", "false"),
        ("scouting/gossip/enabled", "false"),
        ("open/return_conditions/connect_scouted", "false"),
        ("transport/shared_memory/enabled", if has_shm { "true" } else { "false" }),
        ("transport/shared_memory/transport_optimization/enabled", "false"),
    ]
    .map(|(key, value)| (key.into(), value.into()))
    .into()
}

/// The engine's settings for certificates, which both nodes show.
fn certificates(tls: &Tls) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    let mut set = |key: &str, value: String| {
        settings.push((format!("transport/link/tls/{key}"), value));
    };
    for (key, file) in [
        ("root_ca_certificate", &tls.authority),
        ("listen_certificate", &tls.certificate),
        ("connect_certificate", &tls.certificate),
        ("listen_private_key", &tls.key),
        ("connect_private_key", &tls.key),
    ] {
        set(key, format!("{:?}", file.display().to_string()));
    }
    set("enable_mtls", "true".into());
    set("verify_name_on_connect", "true".into());
    settings
}

/// Times between attempts to connect, in milliseconds.
const RETRY: &str = "{ period_init_ms: 50, period_max_ms: 1000, period_increase_factor: 2 }";

/// The connections of an end.
#[derive(Debug)]
pub(crate) struct Link {
    session: zenoh::Session,
    has_shm: bool,
    /// Where the other ends are.
    to: String,
    _subscribers: [Subscriber<()>; 2],
    /// An end, or all.
    destinations: HashMap<Option<Id>, Destination>,
}

/// Most ends that are known: some of them may be gone.
const DESTINATIONS: usize = 2048;

/// How packets get to an end.
#[derive(Debug)]
struct Destination {
    publisher: Publisher<'static>,
    #[cfg(feature = "shared-memory")]
    route: Option<Route>,
}

impl Link {
    /// Most bytes of items in a packet, if they have the same length. A packet wakes some threads, so it
    /// should be large. With more bytes, the caches no longer hold it, and what goes through a connection
    /// is copied more often than what goes through memory.
    pub(crate) fn packet_bytes(&self) -> usize {
        if self.has_shm { 480 << 10 } else { 240 << 10 }
    }

    /// Sends a packet. It may get lost.
    pub(crate) fn send(&mut self, packet: &Packet) -> Result<(), String> {
        let to = match packet {
            Packet::Seek { .. } | Packet::Offer { .. } => None,
            Packet::Data(data) => Some(data.receiver),
            Packet::Status(status) => Some(status.sender),
            Packet::Refused { to } => Some(*to),
        };
        let to = to.map(|id| id & !BINDINGS);
        if self.destinations.len() > DESTINATIONS {
            self.destinations.clear();
        }
        let destination = match self.destinations.entry(to) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let id = to.map_or("all".into(), |id| format!("{id:x}"));
                let declared = self
                    .session
                    .declare_publisher(format!("{}/{id}", self.to))
                    .congestion_control(CongestionControl::Block)
                    .express(true);
                unknown.insert(Destination {
                    publisher: declared.wait().map_err(|error| without_places(&error))?,
                    #[cfg(feature = "shared-memory")]
                    route: self.has_shm.then(|| Route::new(&self.session)),
                })
            }
        };
        let (head, items) = packet.to_bytes();
        let items = ZBytes::from(items);
        #[cfg(feature = "shared-memory")]
        let items = match (packet, &mut destination.route) {
            (Packet::Data(data), Some(route)) => route.through(data).unwrap_or(items),
            _ => items,
        };
        let mut bytes = ZBytes::writer();
        bytes.append(head.into());
        if !items.is_empty() {
            bytes.append(items);
        }
        let put = destination.publisher.put(bytes.finish());
        put.wait().map_err(|error| without_places(&error))
    }
}
