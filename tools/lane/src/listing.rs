//! `lane list`.

use corelane_bench::{Entry, EntryKind, Slots, between, entries};

/// Every queue with what it promises, and the peers with their versions.
pub(crate) fn render() -> String {
    let text = |is_peer: bool| {
        let entries = entries().iter().filter(move |entry| entry.is_peer() == is_peer);
        entries.map(paragraph).collect::<String>()
    };
    format!("Queues of corelane\n{}\nPeers\n{}", text(false), text(true))
}

fn paragraph(entry: &Entry) -> String {
    let between = between(entry.sides);
    match &entry.kind {
        EntryKind::Ours { info, slots } => {
            let items = match slots {
                Slots::Packed => "tokens in packed slots",
                Slots::Any => "items of any type",
                Slots::Plain => "plain data",
            };
            let lines = [
                ("between", between),
                ("guarantee", info.guarantee),
                ("capacity", info.capacity),
                ("choose", info.choose),
                ("avoid", info.avoid),
            ];
            let lines = lines.map(|(name, value)| format!("      {name:<10} {value}\n")).concat();
            format!("\n  {:<16} {} ({}); {items}\n{lines}", entry.id, info.name, info.paper)
        }
        EntryKind::Peer { package, version, what } => {
            let bounds = if entry.bounded { "" } else { ", UNBOUNDED: never full" };
            format!("  {:<18} {package} {version}: {what}; {between}{bounds}\n", entry.id)
        }
    }
}
