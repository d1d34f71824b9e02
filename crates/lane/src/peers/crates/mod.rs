//! Crates from the registry.

mod concurrent_queue;
mod crossbeam;
mod flume;
mod heapless;
mod kanal;
mod ringbuf;
mod rtrb;
mod thingbuf;

use std::num::NonZeroU64;

use crate::catalogue::{Entry, Kernels, Kind};
use crate::link::Link;
use crate::payload::Indirect;

/// What this workspace was built with; says which version of a crate is measured.
const LOCK_FILE: &str = include_str!("../../../../../Cargo.lock");

/// All of them.
pub(super) fn entries() -> Vec<Entry> {
    vec![
        peer::<rtrb::Rtrb<u64>, rtrb::Rtrb<Indirect>>("rtrb", "rtrb", "SPSC ring"),
        peer::<ringbuf::Ringbuf<u64>, ringbuf::Ringbuf<Indirect>>(
            "ringbuf",
            "ringbuf",
            "SPSC ring with cached indices",
        ),
        peer::<heapless::Heapless<u64>, heapless::Heapless<Indirect>>(
            "heapless",
            "heapless",
            "SPSC ring, spsc::Queue<T, 4096>",
        ),
        peer::<crossbeam::Array<u64>, crossbeam::Array<Indirect>>(
            "crossbeam-array",
            "crossbeam-queue",
            "MPMC ring, ArrayQueue",
        ),
        peer::<crossbeam::Channel<u64>, crossbeam::Channel<Indirect>>(
            "crossbeam-channel",
            "crossbeam-channel",
            "MPMC channel, bounded",
        ),
        peer::<concurrent_queue::Concurrent<u64>, concurrent_queue::Concurrent<Indirect>>(
            "concurrent-queue",
            "concurrent-queue",
            "MPMC ring, bounded",
        ),
        peer::<thingbuf::Thing<NonZeroU64>, thingbuf::Thing<Indirect>>(
            "thingbuf",
            "thingbuf",
            "MPMC ring, slots reused in place",
        ),
        peer::<kanal::Kanal<u64>, kanal::Kanal<Indirect>>(
            "kanal",
            "kanal",
            "MPMC channel, bounded",
        ),
        peer::<flume::Flume<u64>, flume::Flume<Indirect>>(
            "flume",
            "flume",
            "MPMC channel, bounded",
        ),
    ]
}

fn peer<N: Link, I: Link>(id: &str, package: &'static str, what: &'static str) -> Entry {
    let version = locked_version(LOCK_FILE, package).unwrap_or("unknown").to_owned();
    Entry {
        id: id.into(),
        kind: Kind::Peer { package, version, what },
        kernels: Kernels::of::<N, I>(),
    }
}

/// The version of `package` in a lock file.
fn locked_version<'a>(lock_file: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock_file.lines().skip_while(|line| *line != name);
    lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_has_a_version() {
        for entry in entries() {
            let Kind::Peer { version, .. } = entry.kind else { panic!("{} is no peer", entry.id) };
            assert_ne!(version, "unknown", "{}", entry.id);
        }
    }
}
