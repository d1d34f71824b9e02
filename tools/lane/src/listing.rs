//! `lane list`.

use std::fmt::Write;

use corelane::Sides;

use crate::catalogue::{self, Entry, Kind, Slots};

/// Every queue with what it promises, and the peers with their versions.
pub(crate) fn render() -> String {
    let mut text = String::from("Queues of corelane\n");
    for entry in catalogue::entries().iter().filter(|entry| !entry.is_peer()) {
        text.push_str(&paragraph(entry));
    }
    text.push_str("\nPeers\n");
    for entry in catalogue::entries().iter().filter(|entry| entry.is_peer()) {
        text.push_str(&paragraph(entry));
    }
    text
}

/// Whom a queue is between, in words.
pub(crate) fn between(sides: Sides) -> &'static str {
    match sides {
        Sides::OneToOne => "one producer, one consumer",
        Sides::ManyToOne => "several producers, one consumer",
        Sides::OneToMany => "one producer, several consumers",
        Sides::ManyToMany => "several producers, several consumers",
    }
}

fn paragraph(entry: &Entry) -> String {
    let mut text = String::new();
    match &entry.kind {
        Kind::Ours { info, slots } => {
            let items = match slots {
                Slots::Packed => "tokens in packed slots",
                Slots::Any => "items of any type",
                Slots::Plain => "plain data",
            };
            let lines = [
                ("between", between(entry.sides)),
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
            let bounds = if entry.bounded { "" } else { ", UNBOUNDED: never full" };
            let between = between(entry.sides);
            writeln!(text, "  {:<18} {package} {version}: {what}; {between}{bounds}", entry.id)
                .expect("writing to a string");
        }
    }
    text
}
