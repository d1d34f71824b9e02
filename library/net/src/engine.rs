//! The engine that moves packets: Zenoh, between two peers.
//!
//! It loses packets while a connection is broken, and when an end isn't known yet. What the
//! protocol does about that is in [`protocol`](crate::protocol).

use std::collections::HashMap;

use corelane::channel;
use zenoh::Wait as _;
use zenoh::bytes::ZBytes;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;

use crate::error::OpenError;
use crate::protocol::{Id, Packet};
use crate::pump::Event;

/// The connections of a node.
#[derive(Debug)]
pub(crate) struct Engine {
    session: zenoh::Session,
}

impl Engine {
    pub(crate) fn open(address: &str, listens: bool) -> Result<Self, OpenError> {
        let wrong = |reason: String| OpenError::Address { address: address.into(), reason };
        let is_address = address.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
        });
        if !is_address || address.contains(['"', '/', '#', '?']) {
            return Err(wrong("not an address".into()));
        }
        let (yes, no) = if listens { ("listen", "connect") } else { ("connect", "listen") };
        let settings = [
            ("mode", "\"peer\"".to_string()),
            (&format!("{yes}/endpoints") as &str, format!("[\"tcp/{address}\"]")),
            (&format!("{no}/endpoints"), "[]".into()),
            // A node that isn't there yet is awaited in the background.
            ("connect/timeout_ms", "0".into()),
            ("connect/exit_on_failure", "false".into()),
            ("listen/exit_on_failure", "true".into()),
            ("connect/retry", RETRY.into()),
            // No other nodes are sought.
            ("scouting/multicast/enabled", "false".into()),
            ("scouting/gossip/enabled", "false".into()),
            ("open/return_conditions/connect_scouted", "false".into()),
        ];
        let mut config = zenoh::Config::default();
        for (key, value) in settings {
            config
                .insert_json5(key, &value)
                .map_err(|error| OpenError::Engine(error.to_string()))?;
        }
        let session = zenoh::open(config).wait().map_err(|error| wrong(error.to_string()))?;
        Ok(Self { session })
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
        let subscribe = |key: String| {
            let events = events.clone();
            let declared = self.session.declare_subscriber(key).callback(move |sample| {
                let bytes = sample.payload().to_bytes().into_owned().into();
                if let Some(packet) = Packet::from_bytes(bytes) {
                    // The pump may have ended.
                    let _ = events.send(Event::Packet(packet));
                }
            });
            declared.wait().map_err(|error| OpenError::Engine(error.to_string()))
        };
        let subscribers = [
            subscribe(format!("corelane/{name}/{own}/all"))?,
            subscribe(format!("corelane/{name}/{own}/{id:x}"))?,
        ];
        Ok(Link {
            session: self.session.clone(),
            to: format!("corelane/{name}/{other}"),
            _subscribers: subscribers,
            publishers: HashMap::new(),
        })
    }
}

/// Times between attempts to connect, in milliseconds.
const RETRY: &str = "{ period_init_ms: 50, period_max_ms: 1000, period_increase_factor: 2 }";

/// The connections of an end.
#[derive(Debug)]
pub(crate) struct Link {
    session: zenoh::Session,
    /// Where the other ends are.
    to: String,
    _subscribers: [Subscriber<()>; 2],
    /// To an end, or to all.
    publishers: HashMap<Option<Id>, Publisher<'static>>,
}

/// Publishers to ends that may be gone.
const PUBLISHERS: usize = 64;

impl Link {
    /// Sends a packet. It may get lost.
    pub(crate) fn send(&mut self, packet: &Packet) -> Result<(), String> {
        let to = match packet {
            Packet::Seek { .. } | Packet::Offer { .. } => None,
            Packet::Data(data) => Some(data.receiver),
            Packet::Status(status) => Some(status.sender),
            Packet::Refused { to } => Some(*to),
        };
        if self.publishers.len() > PUBLISHERS {
            self.publishers.clear();
        }
        let publisher = match self.publishers.entry(to) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(unknown) => {
                let id = to.map_or("all".into(), |id| format!("{id:x}"));
                let declared = self
                    .session
                    .declare_publisher(format!("{}/{id}", self.to))
                    .congestion_control(CongestionControl::Block)
                    .express(true);
                unknown.insert(declared.wait().map_err(|error| error.to_string())?)
            }
        };
        let (head, items) = packet.to_bytes();
        let mut bytes = ZBytes::writer();
        bytes.append(head.into());
        if !items.is_empty() {
            bytes.append(items.into());
        }
        publisher.put(bytes.finish()).wait().map_err(|error| error.to_string())
    }
}
