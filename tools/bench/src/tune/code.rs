//! The line of Rust that makes what is recommended.

use super::search::Variant;
use crate::calls::call;
use crate::catalogue::EntryKind;
use crate::suite::wait::Strategy;

/// What makes the queues of other crates, without the capacity and what closes the call.
const PEERS: &[(&str, &str, &str)] = &[
    ("rtrb", "rtrb::RingBuffer::<T>::new(", ")"),
    ("ringbuf", "ringbuf::HeapRb::<T>::new(", ").split()"),
    ("crossbeam-array", "std::sync::Arc::new(crossbeam::queue::ArrayQueue::<T>::new(", "))"),
    ("crossbeam-channel", "crossbeam::channel::bounded::<T>(", ")"),
    (
        "concurrent-queue",
        "std::sync::Arc::new(concurrent_queue::ConcurrentQueue::<T>::bounded(",
        "))",
    ),
    ("flume", "flume::bounded::<T>(", ")"),
    ("kanal", "kanal::bounded::<T>(", ")"),
    ("crossfire", "crossfire::mpmc::bounded_blocking::<T>(", ")"),
    ("std-channel", "std::sync::mpsc::sync_channel::<T>(", ")"),
];

/// The line to write, with a comment on batches.
pub(super) fn of(variant: &Variant) -> String {
    let (entry, capacity) = (variant.entry(), variant.capacity);
    let id = entry.info.id;
    let code = match &entry.kind {
        EntryKind::Peer { package, version } => match PEERS.iter().find(|(peer, ..)| *peer == id) {
            Some((_, begin, end)) => {
                format!("let (tx, rx) = {begin}{capacity}{end}; // {package} {version}")
            }
            None => format!("// {id} of {package} {version}, for {capacity} items"),
        },
        EntryKind::Ours { .. } => ours(variant),
    };
    match variant.batch {
        1 => code,
        n => format!("{code}\n// up to {n} items a call: push_slice, pop_slice"),
    }
}

fn ours(variant: &Variant) -> String {
    let (entry, capacity) = (variant.entry(), variant.capacity);
    match entry.info.id {
        "channel" => format!("let (tx, rx) = corelane::channel::bounded::<T>({capacity});"),
        "channel-local" => format!(
            "let (tx, rx) = corelane::channel::bounded::<T>({capacity});\nlet (tx, rx) = (tx.local(), rx.local());"
        ),
        id => {
            let queue = format!("corelane::{}::<T>({capacity})?", call(id, entry.module));
            let pair = format!("let (mut tx, mut rx) = corelane::wait::pair({queue});");
            match variant.strategy {
                Strategy::Adaptive => pair,
                other => {
                    let way = format!("corelane::wait::Strategy::{other:?}");
                    format!(
                        "{pair}\nlet (mut tx, mut rx) = (tx.strategy({way}), rx.strategy({way}));"
                    )
                }
            }
        }
    }
}
