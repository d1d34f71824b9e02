//! Reports as JSON, CSV and tables.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, UNIX_EPOCH};

use corelane_report::{Block, Document, Media, Table};
use hdrhistogram::Histogram;
use serde::Serialize;

use crate::report::{FlowRecord, Report, Total};

/// Flows in the table on the terminal.
const TOP: usize = 10;
/// The percentiles that are shown of latencies.
const PERCENTILES: [(&str, f64); 5] =
    [("50", 50.0), ("90", 90.0), ("99", 99.0), ("99.9", 99.9), ("100", 100.0)];

#[derive(Serialize)]
struct Root<'a> {
    schema: u32,
    packets: u64,
    bytes: u64,
    dropped: u64,
    malformed: u64,
    bad_checksums: u64,
    protocols: &'a BTreeMap<&'static str, Total>,
    flows: Vec<Flow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unlisted: Option<Total>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ns: Option<BTreeMap<&'static str, u64>>,
}

#[derive(Serialize)]
struct Flow<'a> {
    src: IpAddr,
    src_port: u16,
    dst: IpAddr,
    dst_port: u16,
    transport: Cow<'static, str>,
    packets: u64,
    bytes: u64,
    first: String,
    last: String,
    app: &'static str,
    host: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    method: &'a str,
}

impl<'a> Flow<'a> {
    fn of(flow: &'a FlowRecord) -> Self {
        let [(src, src_port), (dst, dst_port)] = flow.ends;
        Self {
            src,
            src_port,
            dst,
            dst_port,
            transport: flow.transport(),
            packets: flow.packets,
            bytes: flow.bytes,
            first: time(flow.first_ns, flow.digits),
            last: time(flow.last_ns, flow.digits),
            app: flow.app,
            host: &flow.host,
            method: &flow.method,
        }
    }
}

/// A time as RFC 3339 writes it, with at least `digits` decimal places.
fn time(ns: u64, digits: u8) -> String {
    let time = UNIX_EPOCH + Duration::from_nanos(ns);
    match digits {
        0 => humantime::format_rfc3339_seconds(time).to_string(),
        1..=3 => humantime::format_rfc3339_millis(time).to_string(),
        4..=6 => humantime::format_rfc3339_micros(time).to_string(),
        _ => humantime::format_rfc3339_nanos(time).to_string(),
    }
}

fn percentiles(latency: &Histogram<u64>) -> impl Iterator<Item = (&'static str, u64)> {
    PERCENTILES
        .into_iter()
        .map(|(name, percentile)| (name, latency.value_at_percentile(percentile)))
}

/// A report for programs.
pub fn json(report: &Report) -> String {
    let root = Root {
        schema: 1,
        packets: report.packets,
        bytes: report.bytes,
        dropped: report.dropped,
        malformed: report.malformed,
        bad_checksums: report.bad_checksums,
        protocols: &report.protocols,
        flows: report.flows.iter().map(Flow::of).collect(),
        unlisted: (report.unlisted != Total::default()).then_some(report.unlisted),
        latency_ns: report.latency_ns.as_ref().map(|latency| percentiles(latency).collect()),
    };
    serde_json::to_string_pretty(&root).expect("plain data") + "\n"
}

/// The flows of a report for spreadsheets, a line each.
pub fn csv(report: &Report) -> String {
    const COLUMNS: [&str; 12] = [
        "src",
        "src_port",
        "dst",
        "dst_port",
        "transport",
        "packets",
        "bytes",
        "first",
        "last",
        "app",
        "host",
        "method",
    ];
    // The header is written here: it must be there without flows, too.
    let mut lines = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    lines.write_record(COLUMNS).expect("memory takes all");
    for flow in report.flows.iter().map(Flow::of) {
        let Flow { src, src_port, dst, dst_port, transport, packets, bytes, .. } = flow;
        let (numbers, times) = ((packets, bytes), (flow.first, flow.last));
        let row = (
            src,
            src_port,
            dst,
            dst_port,
            transport,
            numbers,
            times,
            flow.app,
            flow.host,
            flow.method,
        );
        lines.serialize(row).expect("memory takes all");
    }
    let bytes = lines.into_inner().expect("memory takes all");
    String::from_utf8(bytes).expect("it was written as text")
}

/// A report for people: the applications, and the largest flows.
pub fn document(report: &Report) -> Document {
    let mut document = Document::new("pipeline", "");
    let Report { packets, bytes, dropped, malformed, bad_checksums, .. } = report;
    let counts = format!(
        "{packets} packets, {bytes} bytes; {dropped} dropped, {malformed} malformed, {bad_checksums} bad checksums"
    );
    document.fact(Media::ALL, "packets", counts);
    let tables = [protocols(report), flows(report)];
    let tables = tables.into_iter().filter(|table| !table.rows.is_empty());
    tables.for_each(|table| document.add(Block::Table(table)));
    if report.unlisted.flows > 0 {
        let text = format!("{} more flows are counted and not listed.", report.unlisted.flows);
        document.add(Block::Paragraph(text));
    }
    if let Some(latency) = &report.latency_ns {
        let table = Table::new(["percentile", "latency (ns)"]);
        let rows = percentiles(latency).map(|(name, ns)| [name.into(), ns.to_string()]);
        document.add(Block::Table(table.with(rows)));
    }
    document
}

fn protocols(report: &Report) -> Table {
    let mut sums: Vec<_> = report.protocols.iter().collect();
    sums.sort_by_key(|(_, total)| std::cmp::Reverse(total.bytes));
    let row = |(name, total): (&&str, &Total)| {
        [
            name.to_string(),
            total.flows.to_string(),
            total.packets.to_string(),
            total.bytes.to_string(),
        ]
    };
    Table::new(["application", "flows", "packets", "bytes"]).with(sums.into_iter().map(row))
}

fn flows(report: &Report) -> Table {
    let mut flows: Vec<_> = report.flows.iter().collect();
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.bytes));
    let row = |flow: &&FlowRecord| {
        let [from, to] = flow.ends.map(|(address, port)| match address {
            IpAddr::V6(address) if port > 0 => format!("[{address}]:{port}"),
            address if port > 0 => format!("{address}:{port}"),
            address => address.to_string(),
        });
        let (packets, bytes) = (flow.packets.to_string(), flow.bytes.to_string());
        [
            format!("{from} → {to}"),
            packets,
            bytes,
            flow.transport().into(),
            flow.app.into(),
            flow.host.clone(),
        ]
    };
    Table::new(["flow", "packets", "bytes", "over", "application", "host"])
        .with(flows.iter().take(TOP).map(row))
}
