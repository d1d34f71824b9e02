//! `lane list`.

use corelane_bench::{CALLS, Entry, EntryKind, Sides, between, call, listed, listed_as};
use corelane_report::{Block, Document, Failure, Table, wrapped};
use serde_json::{Value, json};

/// Most characters of a line.
const WIDTH: usize = 80;

/// Tables with a row for each algorithm, those to try first in front, and the peers. All properties
/// of queues that are named.
pub(crate) fn table(names: &[String]) -> Result<String, Failure> {
    if !names.is_empty() {
        return long(names);
    }
    let mut document = Document::new("", "");
    let place = |entry: &Entry| CALLS.iter().position(|(id, _)| *id == entry.info.id);
    let mut first: Vec<_> = ours().filter(|entry| place(entry).is_some()).collect();
    first.sort_by_key(|entry| place(entry));
    let others = || ours().filter(|entry| place(entry).is_none());
    document.add(Block::heading(2, "Try first"));
    document.add(group(first.into_iter(), true));
    document.add(Block::heading(2, "For special needs"));
    document.add(group(others().filter(|entry| !entry.is_literature()), false));
    document.add(Block::heading(2, "To compare and to learn: the feature `literature`"));
    document.add(group(others().filter(|entry| entry.is_literature()), false));
    let several = "P:C: one (1) or several (n) producers and consumers. -any: for items of any type, where the plain queue \
                   has packed slots for tokens. `lane list QUEUE --long` says what a queue guarantees and when not to use it.";
    document.add(Block::Note(several.into()));
    let of = |is_bounded| {
        let peers = peers().filter(|(entry, _)| entry.info.bounded == is_bounded);
        let names = peers.map(|(entry, version)| format!("{} {version}", entry.info.id));
        names.collect::<Vec<_>>().join(", ")
    };
    let peers = format!("Peers: {}; never full: {}", of(true), of(false));
    document.add(Block::Paragraph(peers));
    Ok(document.to_text())
}

/// A table of queues without their variants, perhaps with the functions that make them.
fn group(entries: impl Iterator<Item = &'static Entry>, has_calls: bool) -> Block {
    let mut names = vec!["queue", "P:C", "call", "use it"];
    if !has_calls {
        names.remove(2);
    }
    let rows = entries.filter(|entry| entry.info.variant_of.is_none());
    let rows = rows.map(|entry| row(entry, has_calls));
    Block::Table(Table::new(names).of_text().with(rows))
}

fn row(entry: &'static Entry, has_calls: bool) -> Vec<String> {
    let info = &entry.info;
    let has_any = ours().any(|other| other.info.variant_of == Some(info.id));
    let any = if has_any { ", -any" } else { "" };
    let mut cells = vec![format!("{}{any}", info.id), sides(info.sides).into()];
    cells.extend(has_calls.then(|| call(info.id, entry.module)));
    cells.push(info.choose.into());
    cells
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

/// Every queue with its properties, and the peers with their versions; or the named ones.
pub(crate) fn long(names: &[String]) -> Result<String, Failure> {
    let entries = chosen(names)?;
    let text = |heading: &str, is_peer: bool| {
        let entries = entries.iter().filter(move |entry| entry.is_peer() == is_peer);
        let text = entries.map(|entry| paragraph(entry)).collect::<String>();
        if text.is_empty() { text } else { format!("{heading}\n{text}") }
    };
    let (ours, peers) = (text("Queues of corelane", false), text("Peers", true));
    let gap = if ours.is_empty() || peers.is_empty() { "" } else { "\n" };
    Ok(format!("{ours}{gap}{peers}"))
}

/// The named entries; all if none is named.
fn chosen(names: &[String]) -> Result<Vec<&'static Entry>, Failure> {
    if names.is_empty() { Ok(listed().collect()) } else { listed_as(names) }
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
            let title = format!("{} ({}); {items}", info.name, info.paper);
            let lines = lines.map(|(name, value)| property(&format!("      {name:<10} "), value));
            format!("\n{}{}", property(&format!("  {id:<14} "), &title), lines.concat())
        }
        EntryKind::Peer { package, version } => {
            let bounds = if info.bounded { "" } else { ", UNBOUNDED: never full" };
            let title = format!("{package} {version}: {}; {between}{bounds}", info.name);
            property(&format!("  {id:<18} "), &title)
        }
    }
}

/// A value behind a name, in as many lines as it needs.
fn property(name: &str, value: &str) -> String {
    let indent = name.chars().count();
    let lines = wrapped(value, WIDTH - indent);
    let rest = lines[1..].iter().map(|line| format!("{:indent$}{line}\n", ""));
    format!("{name}{}\n{}", lines[0], rest.collect::<String>())
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

/// All properties for programs.
pub(crate) fn json(names: &[String]) -> Result<String, Failure> {
    let queues: Vec<Value> = chosen(names)?.into_iter().map(value).collect();
    Ok(serde_json::to_string_pretty(&queues).expect("plain data") + "\n")
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
