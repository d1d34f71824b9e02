//! Memory that the nodes of one machine share: the items of large packets go through it.
//!
//! The engine copies large packets there by itself, too, but takes the memory back when a receiver
//! hasn't looked at it for 0.1 seconds: a receiver that was stopped would read another packet's items.
//! So the lane has memory of its own, and takes back what no receiver has.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use zenoh::Wait as _;
use zenoh::bytes::ZBytes;
use zenoh::shm::{PosixShmProviderBackend, ShmProvider, ShmProviderBuilder};

use crate::pool::LARGE;
use crate::protocol::{Data, Id};

/// Bytes of a process's memory. Its pages are locked, of which a process usually may have 8 MiB.
const BYTES: usize = 4 << 20;

/// How long packets go through the connection after one was sent again, and how often that may be:
/// the receiver may have no access, and what it doesn't get is never free again.
const DETOUR: Duration = Duration::from_secs(1);
const DETOURS: u32 = 3;

/// The memory of all nodes of the process. It is never given back: then the engine would use its
/// descriptions for other packets, also if receivers still have them.
static MEMORY: Memory = Memory(Mutex::new(State::New));

struct Memory(Mutex<State>);

enum State {
    /// No packet was large.
    New,
    There(ShmProvider<PosixShmProviderBackend>),
    /// The system gives none.
    Refused,
}

impl Memory {
    /// A copy of these bytes. `None` if there is no room.
    fn copy(&self, bytes: &[u8]) -> Option<ZBytes> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::New = *state {
            let made = ShmProviderBuilder::default_backend(BYTES).wait();
            *state = made.map_or(State::Refused, State::There);
        }
        let State::There(memory) = &*state else { return None };
        // Each time: what was used last is still in the caches.
        memory.garbage_collect();
        let mut copy = memory.alloc(bytes.len()).wait().ok()?;
        copy.copy_from_slice(bytes);
        Some(copy.into())
    }
}

/// Which packets to an end go through memory.
#[derive(Debug)]
pub(crate) struct Route {
    /// Whether a node of this machine is connected.
    is_near: bool,
    /// The sender of the last packet through memory, and the number of the item behind it.
    last: (Id, u64),
    /// When packets were sent again.
    detours: u32,
    since: Option<Instant>,
}

impl Route {
    pub(crate) fn new(session: &zenoh::Session) -> Self {
        let is_near = session.info().transports().wait().any(|other| other.is_shm());
        Self { is_near, last: (0, 0), detours: 0, since: None }
    }

    /// The items of a packet, in memory. `None` if they go through the connection.
    pub(crate) fn through(&mut self, data: &Data) -> Option<ZBytes> {
        // What is sent at most once isn't sent again to a receiver that has no access.
        if !self.is_near || data.items.len() < LARGE || data.terms.are_at_most_once() {
            return None;
        }
        let (sender, next) = self.last;
        if data.sender == sender && data.first < next {
            (self.since, self.detours) = (Some(Instant::now()), self.detours + 1);
            self.last = (0, 0);
        }
        let is_detour = self.since.is_some_and(|since| since.elapsed() < DETOUR);
        if is_detour || self.detours > DETOURS {
            return None;
        }
        self.last = (data.sender, data.first + u64::from(data.count));
        MEMORY.copy(&data.items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_full_refuses_until_a_copy_is_gone() {
        let memory = Memory(Mutex::new(State::New));
        let bytes = vec![7; 256 << 10];
        let mut copies: Vec<_> = std::iter::from_fn(|| memory.copy(&bytes)).collect();
        assert!((8..=16).contains(&copies.len()), "{} copies", copies.len());
        assert!(copies.iter().all(|copy| copy.to_bytes() == bytes));
        copies.pop();
        assert!(memory.copy(&bytes).is_some());
    }
}
