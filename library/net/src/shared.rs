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
use crate::protocol::Data;

/// Bytes of a node's memory. Its pages are locked, of which a process usually may have 8 MiB.
const BYTES: usize = 4 << 20;

/// How long packets go through the connection after one was lost: the receiver may have no access.
const DETOUR: Duration = Duration::from_secs(10);

/// A node's memory.
#[derive(Debug, Default)]
pub(crate) struct SharedMemory(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    #[default]
    Unasked,
    /// Is asked for, and no packet was large.
    Asked,
    There(ShmProvider<PosixShmProviderBackend>),
    /// The system gives none.
    Refused,
}

impl SharedMemory {
    pub(crate) fn allow(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Unasked = *state {
            *state = State::Asked;
        }
    }

    pub(crate) fn is_asked(&self) -> bool {
        !matches!(*self.0.lock().unwrap_or_else(PoisonError::into_inner), State::Unasked)
    }

    /// A copy of these bytes. `None` if there is no room: receivers that were killed keep theirs.
    fn copy(&self, bytes: &[u8]) -> Option<ZBytes> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Asked = *state {
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
    /// The item behind those that were sent.
    next: u64,
    /// When a packet was last sent again.
    lost_at: Option<Instant>,
}

impl Route {
    pub(crate) fn new(session: &zenoh::Session) -> Self {
        let is_near = session.info().transports().wait().any(|other| other.is_shm());
        Self { is_near, next: 0, lost_at: None }
    }

    /// The items of a packet, in memory. `None` if they go through the connection.
    pub(crate) fn through(&mut self, memory: &SharedMemory, data: &Data) -> Option<ZBytes> {
        if !self.is_near || data.items.len() < LARGE {
            return None;
        }
        if data.first < self.next {
            self.lost_at = Some(Instant::now());
        }
        self.next = data.first + u64::from(data.count);
        if self.lost_at.is_some_and(|at| at.elapsed() < DETOUR) {
            return None;
        }
        memory.copy(&data.items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_full_refuses_until_a_copy_is_gone() {
        let memory = SharedMemory::default();
        let bytes = vec![7; 256 << 10];
        assert!(memory.copy(&bytes).is_none(), "nobody has asked for it");
        memory.allow();
        let mut copies: Vec<_> = std::iter::from_fn(|| memory.copy(&bytes)).collect();
        assert!((8..=16).contains(&copies.len()), "{} copies", copies.len());
        assert!(copies.iter().all(|copy| copy.to_bytes() == bytes));
        copies.pop();
        assert!(memory.copy(&bytes).is_some());
    }
}
