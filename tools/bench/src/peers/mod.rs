//! What one would otherwise use, each as its documentation recommends.
//!
//! Channels that can block are used through their non-blocking calls, like everything else here:
//! both threads have a core for themselves.

#[cfg(feature = "peers")]
mod crates;
mod std_channel;

use crate::catalogue::{Entry, EntryKind, PairKernels};
use crate::goods::Parcel;
use crate::payload::Indirect;
use std_channel::{Sync, Unbounded};

/// All peers. Without the feature `peers` that is the standard library alone.
pub(crate) fn entries() -> Vec<Entry> {
    from_registry().into_iter().chain([std_channel(), std_unbounded()]).collect()
}

#[cfg(feature = "peers")]
fn from_registry() -> Vec<Entry> {
    crates::entries()
}

#[cfg(not(feature = "peers"))]
fn from_registry() -> Vec<Entry> {
    Vec::new()
}

fn std_channel() -> Entry {
    let kernels = PairKernels::new::<Sync<u64>, Sync<Indirect>>();
    Entry::new::<Sync<u64>, Sync<Parcel>>(
        "std-channel",
        of_std("channel, sync_channel"),
        Some(kernels),
    )
}

fn std_unbounded() -> Entry {
    let kernels = PairKernels::new::<Unbounded<u64>, Unbounded<Indirect>>();
    let kind = of_std("channel, unbounded");
    Entry::new::<Unbounded<u64>, Unbounded<Parcel>>("std-unbounded", kind, Some(kernels))
}

fn of_std(what: &'static str) -> EntryKind {
    EntryKind::Peer { package: "std", version: "of the compiler".into(), what }
}
