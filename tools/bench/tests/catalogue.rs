//! All that can be measured.

use std::collections::HashSet;

use corelane_bench::{EntryKind, entries};

#[test]
fn ids_are_unique() {
    let ids: HashSet<_> = entries().iter().map(|entry| entry.info.id).collect();
    assert_eq!(ids.len(), entries().len());
}

#[test]
fn every_variant_stands_beside_its_algorithm() {
    for variant in entries().iter().filter_map(|entry| entry.info.variant_of) {
        assert!(entries().iter().any(|entry| entry.info.id == variant), "no {variant}");
    }
}

#[test]
fn every_peer_has_a_version() {
    for entry in entries() {
        if let EntryKind::Peer { version, .. } = &entry.kind {
            assert_ne!(version, "unknown", "{}", entry.info.id);
        }
    }
}
