//! What can be measured.

use corelane_bench::{EntryKind, entries};

#[test]
fn every_entry_has_an_id_of_its_own_a_known_algorithm_and_a_version() {
    for (number, entry) in entries().enumerate() {
        let id = entry.info.id;
        let is_known = |id: &str| entries().any(|other| other.info.id == id);
        assert!(entries().take(number).all(|other| other.info.id != id), "{id} twice");
        assert!(entry.info.variant_of.is_none_or(is_known), "{id} is a variant of none");
        let is_unknown =
            matches!(&entry.kind, EntryKind::Peer { version, .. } if version == "unknown");
        assert!(!is_unknown, "{id} has no version");
    }
}
