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

use self::concurrent_queue::Concurrent;
use self::crossbeam::{Array, Channel, Seg};
use self::flume::Flume;
use self::heapless::Heapless;
use self::kanal::Kanal;
use self::ringbuf::Ringbuf;
use self::rtrb::Rtrb;
use self::thingbuf::Thing;
use crate::catalogue::{Entry, EntryKind, PairKernels};
use crate::goods::{Goods, Parcel};
use crate::link::Link;
use crate::payload::{Indirect, Payload};

/// What this workspace was built with; says which version of a crate is measured.
const LOCK_FILE: &str = include_str!("../../../../../Cargo.lock");

/// All of them.
pub(super) fn entries() -> Vec<Entry> {
    vec![
        peer::<Rtrb<u64>, Rtrb<Indirect>, Rtrb<Parcel>>("rtrb", "rtrb", "ring"),
        peer::<Ringbuf<u64>, Ringbuf<Indirect>, Ringbuf<Parcel>>(
            "ringbuf",
            "ringbuf",
            "ring with cached indices",
        ),
        peer::<Heapless<u64>, Heapless<Indirect>, Heapless<Parcel>>(
            "heapless",
            "heapless",
            "ring, spsc::Queue<T, 4096>",
        ),
        peer::<Array<u64>, Array<Indirect>, Array<Parcel>>(
            "crossbeam-array",
            "crossbeam-queue",
            "ring, ArrayQueue",
        ),
        peer::<Seg<u64>, Seg<Indirect>, Seg<Parcel>>(
            "crossbeam-seg",
            "crossbeam-queue",
            "list, SegQueue",
        ),
        peer::<Channel<u64>, Channel<Indirect>, Channel<Parcel>>(
            "crossbeam-channel",
            "crossbeam-channel",
            "channel, bounded",
        ),
        peer::<Concurrent<u64>, Concurrent<Indirect>, Concurrent<Parcel>>(
            "concurrent-queue",
            "concurrent-queue",
            "ring, bounded",
        ),
        peer::<Thing<NonZeroU64>, Thing<Indirect>, Thing<Parcel>>(
            "thingbuf",
            "thingbuf",
            "ring, slots reused in place",
        ),
        peer::<Kanal<u64>, Kanal<Indirect>, Kanal<Parcel>>("kanal", "kanal", "channel, bounded"),
        peer::<Flume<u64>, Flume<Indirect>, Flume<Parcel>>("flume", "flume", "channel, bounded"),
        peer::<Channel<u64, false>, Channel<Indirect, false>, Channel<Parcel, false>>(
            "crossbeam-unbounded",
            "crossbeam-channel",
            "channel, unbounded",
        ),
        peer::<Kanal<u64, false>, Kanal<Indirect, false>, Kanal<Parcel, false>>(
            "kanal-unbounded",
            "kanal",
            "channel, unbounded",
        ),
        peer::<Flume<u64, false>, Flume<Indirect, false>, Flume<Parcel, false>>(
            "flume-unbounded",
            "flume",
            "channel, unbounded",
        ),
    ]
}

/// A queue that carries numbers as `N`, pointers as `I`, and boxes as `B`.
fn peer<N, I, B>(id: &str, package: &'static str, what: &'static str) -> Entry
where
    N: Link<Item: Payload + Goods>,
    I: Link<Item: Payload>,
    B: Link<Item: Goods>,
{
    Entry::new::<N, B>(id, kind(package, what), Some(PairKernels::new::<N, I>()))
}

fn kind(package: &'static str, what: &'static str) -> EntryKind {
    let version = locked_version(LOCK_FILE, package).unwrap_or("unknown").to_owned();
    EntryKind::Peer { package, version, what }
}

/// The version of `package` in a lock file.
fn locked_version<'a>(lock_file: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock_file.lines().skip_while(|line| *line != name);
    lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')
}
