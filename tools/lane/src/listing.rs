//! `lane list`.

use corelane_bench::{Entry, EntryKind, between, entries};

/// Every queue with what it promises, and the peers with their versions.
pub(crate) fn render() -> String {
    let text = |is_peer: bool| {
        let entries = entries().iter().filter(move |entry| entry.is_peer() == is_peer);
        entries.map(paragraph).collect::<String>()
    };
    format!("Queues of corelane\n{}\nPeers\n{}", text(false), text(true))
}

fn paragraph(entry: &Entry) -> String {
    let info = &entry.info;
    let (id, between) = (info.id, between(info.sides));
    match &entry.kind {
        EntryKind::Ours { items } => {
            let lines = [
                ("between", between),
                ("guarantee", info.guarantee),
                ("capacity", info.capacity),
                ("choose", info.choose),
                ("avoid", info.avoid),
            ];
            let lines = lines.map(|(name, value)| format!("      {name:<10} {value}\n")).concat();
            format!("\n  {id:<16} {} ({}); {items}\n{lines}", info.name, info.paper)
        }
        EntryKind::Peer { package, version } => {
            let bounds = if info.bounded { "" } else { ", UNBOUNDED: never full" };
            format!("  {id:<18} {package} {version}: {}; {between}{bounds}\n", info.name)
        }
    }
}
