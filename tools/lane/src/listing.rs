//! `lane list`.

use corelane_bench::{Entry, EntryKind, Sides, between, listed};
use corelane_report::{Block, Document, Table};
use serde_json::{Value, json};

/// Most characters of the column that says when to use a queue.
const CHOOSE: usize = 58;

/// A table with a row for each algorithm, and the peers.
pub(crate) fn table() -> String {
    let mut document = Document::new("", "");
    let rows = ours().filter(|entry| entry.info.variant_of.is_none()).map(row);
    let table = Table::new(["queue", "P:C", "progress", "use it"]).of_text();
    document.add(Block::Table(table.with(rows)));
    let several = "P:C: one (1) or several (n) producers and consumers. -any: for items of any type, where the plain queue \
                   has packed slots for tokens. `lane list --long` says when not to use a queue.";
    document.add(Block::Note(several.into()));
    let of = |is_bounded| {
        let peers = peers().filter(|(entry, _)| entry.info.bounded == is_bounded);
        let names = peers.map(|(entry, version)| format!("{} {version}", entry.info.id));
        names.collect::<Vec<_>>().join(", ")
    };
    let peers = format!("Peers: {}; never full: {}", of(true), of(false));
    document.add(Block::Paragraph(peers));
    document.to_text()
}

fn row(entry: &'static Entry) -> [String; 4] {
    let info = &entry.info;
    let has_any = ours().any(|other| other.info.variant_of == Some(info.id));
    let progress = info.guarantee.split([';', ',']).next().unwrap_or_default();
    let progress = progress.split(" FIFO").next().unwrap_or_default().trim_end_matches(" owner");
    // Queues that overwrite never wait.
    let progress = if progress.len() > 13 { "never waits" } else { progress };
    let mut choose: String = info.choose.chars().take(CHOOSE).collect();
    if choose.len() < info.choose.len() {
        choose.pop();
        choose.truncate(choose.trim_end_matches([' ', ',', ':']).len());
        choose.push('…');
    }
    let any = if has_any { ", -any" } else { "" };
    [format!("{}{any}", info.id), sides(info.sides).into(), progress.into(), choose]
}

fn sides(sides: Sides) -> &'static str {
    match sides {
        Sides::OneToOne => "1:1",
        Sides::ManyToOne => "n:1",
        Sides::OneToMany => "1:n",
        Sides::ManyToMany => "n:n",
    }
}

fn ours() -> impl Iterator<Item = &'static Entry> {
    listed().filter(|entry| !entry.is_peer())
}

fn peers() -> impl Iterator<Item = (&'static Entry, &'static str)> {
    listed().filter_map(|entry| match &entry.kind {
        EntryKind::Peer { version, .. } => Some((entry, version.as_str())),
        EntryKind::Ours { .. } => None,
    })
}

/// Every queue with its properties, and the peers with their versions.
pub(crate) fn long() -> String {
    let text = |is_peer: bool| {
        let entries = listed().filter(move |entry| entry.is_peer() == is_peer);
        entries.map(paragraph).collect::<String>()
    };
    format!("Queues of corelane\n{}\nPeers\n{}", text(false), text(true))
}

fn paragraph(entry: &Entry) -> String {
    let info = &entry.info;
    let is_stolen_from = entry.module.starts_with("steal");
    let between = if is_stolen_from { "an owner and its thieves" } else { between(info.sides) };
    let id = info.id;
    match &entry.kind {
        EntryKind::Ours { items } => {
            let lines = [
                ("between", between),
                ("guarantee", info.guarantee),
                ("capacity", info.capacity),
                ("use it", info.choose),
                ("don't", info.avoid),
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

/// When to use each algorithm, and when not, with its module.
pub(crate) fn markdown() -> String {
    let mut document = Document::new("", "");
    let row = |entry: &'static Entry| {
        let info = &entry.info;
        let code = |text: &str| format!("`{text}`");
        [code(info.id), code(entry.module), info.choose.into(), info.avoid.into()]
    };
    let table = Table::new(["queue", "module", "use it", "don't use it"]).of_text();
    let rows = ours().filter(|entry| entry.info.variant_of.is_none()).map(row);
    document.add(Block::Table(table.with(rows)));
    document.to_markdown()
}

/// The same for programs.
pub(crate) fn json() -> String {
    let queues: Vec<Value> = listed().map(value).collect();
    serde_json::to_string_pretty(&queues).expect("plain data") + "\n"
}

fn value(entry: &Entry) -> Value {
    let info = &entry.info;
    let mut value = json!({
        "id": info.id, "name": info.name, "peer": entry.is_peer(), "between": sides(info.sides),
        "bounded": info.bounded, "overwrites": info.overwrites,
    });
    let more = match &entry.kind {
        EntryKind::Ours { items } => json!({
            "items": items, "paper": info.paper, "guarantee": info.guarantee, "capacity": info.capacity,
            "choose": info.choose, "avoid": info.avoid,
        }),
        EntryKind::Peer { package, version } => json!({ "package": package, "version": version }),
    };
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
    }
    value
}
