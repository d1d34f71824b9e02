//! Zenoh's own `put` for each item, between two peers.

use std::thread;
use std::time::Duration;

use zenoh::Wait as _;
use zenoh::handlers::FifoChannelHandler;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::sample::Sample;

use super::{Rx, Tx, Way, text};
use crate::suite::net::ends::End;
use crate::suite::net::record;

const KEY: &str = "bench";

/// Over TCP, or through memory, where Zenoh copies large items by itself.
pub(super) struct Zenoh<const SHARES: bool>;

impl<const SHARES: bool> Way for Zenoh<SHARES> {
    type Tx = Sends;
    type Rx = Receives;

    async fn sender(end: &End) -> Result<Sends, String> {
        let session = open("connect", "listen", &end.address, SHARES)?;
        let publisher = session.declare_publisher(KEY);
        let publisher = publisher.congestion_control(CongestionControl::Block).wait();
        let publisher = publisher.map_err(text)?;
        // What is sent before goes nowhere.
        while !publisher.matching_status().wait().map_err(text)?.matching() {
            thread::sleep(Duration::from_millis(1));
        }
        Ok(Sends { _session: session, publisher, record_bytes: end.record_bytes })
    }

    async fn receiver(end: &End) -> Result<Receives, String> {
        let session = open("listen", "connect", &end.address, SHARES)?;
        let subscriber = session.declare_subscriber(KEY).wait().map_err(text)?;
        Ok(Receives { _session: session, subscriber, record_bytes: end.record_bytes })
    }
}

/// A session that listens at, or connects to, an address, and seeks no others.
fn open(at: &str, nowhere: &str, address: &str, shares: bool) -> Result<zenoh::Session, String> {
    let mut config = zenoh::Config::default();
    for (key, value) in [
        ("mode", "\"peer\"".into()),
        (&format!("{at}/endpoints"), format!("[\"tcp/{address}\"]")),
        (&format!("{nowhere}/endpoints"), "[]".into()),
        ("scouting/multicast/enabled", "false".into()),
        ("transport/shared_memory/enabled", shares.to_string()),
    ] {
        config.insert_json5(key, &value).map_err(text)?;
    }
    zenoh::open(config).wait().map_err(text)
}

pub(super) struct Sends {
    _session: zenoh::Session,
    publisher: Publisher<'static>,
    record_bytes: usize,
}

impl Tx for Sends {
    #[inline]
    async fn put(&mut self, number: u64) -> Result<(), String> {
        self.publisher.put(record::of(number, self.record_bytes)).wait().map_err(text)
    }
}

pub(super) struct Receives {
    _session: zenoh::Session,
    subscriber: Subscriber<FifoChannelHandler<Sample>>,
    record_bytes: usize,
}

impl Rx for Receives {
    #[inline]
    async fn get(&mut self) -> Result<u64, String> {
        let sample = self.subscriber.recv().map_err(text)?;
        record::number(&sample.payload().to_bytes(), self.record_bytes)
    }
}
