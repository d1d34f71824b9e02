//! `lane list`.

use std::fmt::Write;

use crate::catalogue::{self, Entry, Kind, Slots};

/// Every queue with what it promises, and the peers with their versions.
pub(crate) fn render() -> String {
    let mut text = String::from("SPSC queues of corelane\n");
    for entry in catalogue::entries().iter().filter(|entry| !entry.is_peer()) {
        text.push_str(&paragraph(entry));
    }
    text.push_str("\nPeers\n");
    for entry in catalogue::entries().iter().filter(|entry| entry.is_peer()) {
        text.push_str(&paragraph(entry));
    }
    text
}

fn paragraph(entry: &Entry) -> String {
    let mut text = String::new();
    match &entry.kind {
        Kind::Ours { info, slots } => {
            let items = match slots {
                Slots::Packed => "tokens in packed slots",
                Slots::Any => "items of any type",
            };
            let lines = [
                ("guarantee", info.guarantee),
                ("capacity", info.capacity),
                ("choose", info.choose),
                ("avoid", info.avoid),
            ];
            write!(text, "\n  {:<16} {} ({}); {items}\n", entry.id, info.name, info.paper)
                .expect("writing to a string");
            for (name, value) in lines {
                writeln!(text, "      {name:<10} {value}").expect("writing to a string");
            }
        }
        Kind::Peer { package, version, what } => {
            writeln!(text, "  {:<18} {package} {version}: {what}", entry.id)
                .expect("writing to a string");
        }
    }
    text
}
