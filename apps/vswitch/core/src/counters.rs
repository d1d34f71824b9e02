//! What a port has carried.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a port has carried, seen from its client. The switch writes, any thread may read.
#[derive(Debug, Default)]
pub struct Counters {
    /// Packets that the client has sent.
    pub sent: Counter,
    /// Their bytes.
    pub sent_bytes: Counter,
    /// Packets that were passed to the client.
    pub received: Counter,
    /// Their bytes.
    pub received_bytes: Counter,
    /// Packets for the client that were dropped, because it had no room for them; and packets that
    /// waited when the port was removed.
    pub dropped: Counter,
    /// Packets of the client that went to all other ports.
    pub flooded: Counter,
    /// Packets of the client that went to no port: their receiver is at the same port, or they are
    /// no Ethernet packets.
    pub filtered: Counter,
}

/// A number that one thread increases.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// The number.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Only one thread may call this.
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }
}
