//! All that can be measured.

use std::collections::HashSet;

use corelane_bench::{EntryKind, Slots, entries};

#[test]
fn ids_are_unique() {
    let ids: HashSet<_> = entries().iter().map(|entry| &entry.id).collect();
    assert_eq!(ids.len(), entries().len());
}

#[test]
fn every_queue_with_packed_slots_keeps_its_any_type_variant() {
    for entry in entries() {
        if matches!(entry.kind, EntryKind::Ours { slots: Slots::Packed, .. }) {
            let variant = format!("{}-any", entry.id);
            assert!(entries().iter().any(|entry| entry.id == variant), "no {variant}");
        }
    }
}

#[test]
fn every_peer_has_a_version() {
    for entry in entries() {
        if let EntryKind::Peer { version, .. } = &entry.kind {
            assert_ne!(version, "unknown", "{}", entry.id);
        }
    }
}
