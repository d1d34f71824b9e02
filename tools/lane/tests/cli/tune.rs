//! `lane bench replay` and `lane tune`.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{
    assert_refused, assert_report, json_of, list, number, printed, results, text, written,
};

/// A workload: calls of one item, after 300 ns of work on either side.
fn workload(producers: usize, consumers: usize) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("jobs.workload");
    let calls = "300 0 20 1\n".repeat(50);
    let threads = ["producer", "consumer"].map(|side| format!("{side}\n{calls}"));
    let text = format!(
        "corelane workload 1\nitem 16\ncapacity 64\nclock 20\n{}{}",
        threads[0].repeat(producers),
        threads[1].repeat(consumers)
    );
    fs::write(&path, text).expect("a new file");
    (directory, path)
}

#[test]
fn a_workload_is_replayed_in_all_ways_that_are_asked_for() {
    let (_directory, path) = workload(1, 1);
    let ways = "--batch 1,4 --wait yield,sleep --capacity 32 --rounds 1 --duration 1ms";
    let args = format!("bench replay {} linering kanal rtrb {ways}", text(&path));
    let json = json_of(&args);
    // Two batches in two ways, a channel, and a peer that only yields.
    assert_eq!(results(&json).len(), 4 + 1 + 2, "{:?}", results(&json).len());
    for result in results(&json) {
        let summary = result["groups"].as_object().and_then(|groups| groups.values().next());
        // A round may be mixed.
        let Some(summary) = summary else { continue };
        assert!(number(&summary["median"]) > 100.0 && number(&summary["latency_ns"]["p99"]) > 0.0);
    }
}

#[test]
fn the_choice_is_told_with_its_reason_and_its_line_of_rust() {
    let (_directory, path) = workload(1, 1);
    let told = |args: &str| {
        // A terminal breaks lines.
        let words = printed(&format!("tune {} --rounds 1 {args}", text(&path)));
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let beside_peers = told("");
    for word in ["Take ", "ns an item", "The best ", "1 producer, 1 consumer", "p99 ns"] {
        assert!(beside_peers.contains(word), "no {word} in {beside_peers}");
    }
    let ours = told("--no-peers");
    assert!(ours.contains("let (") && ours.contains("corelane::"), "{ours}");
}

#[test]
fn programs_get_a_queue_of_corelane() {
    let (_directory, path) = workload(2, 1);
    let args = format!("tune {} --no-peers --rounds 1 --for latency", text(&path));
    let saved: Value = serde_json::from_str(&written(&args, "--save")).expect("it is JSON");
    assert_eq!(saved["choice"], saved["ours"]);
    let capacity = number(&saved["ours"]["capacity"]);
    assert!((1.0..=4096.0).contains(&capacity) && saved["ours"]["queue"].is_string(), "{saved}");
    assert_eq!(saved["goal"], "latency");
    let json = json_of(&args);
    assert_eq!(list(&json, "parts").len(), 3, "queues, ways, capacities");
    let is_peer = |result: &Value| result["peer"] == true;
    assert!(list(&json, "parts").iter().all(|part| !results(part).iter().any(is_peer)));
}

#[test]
fn a_report_of_replays_has_a_chart() {
    let (_directory, path) = workload(1, 1);
    let args = "linering --rounds 1 --duration 1ms --far-above 1e12";
    assert_report(&format!("bench replay {} {args}", text(&path)), &["jobs.workload", "p99"]);
}

#[test]
fn what_is_no_workload_is_refused() {
    let (directory, path) = workload(2, 2);
    let broken = directory.path().join("broken");
    fs::write(&broken, "corelane workload 1\nitem 8\nproducer\n1 2 3\n").expect("a new file");
    for command in ["bench replay", "tune"] {
        assert_refused(&format!("{command} Cargo.toml"), &["Cargo.toml", "Recorder", "capture"]);
        assert_refused(&format!("{command} missing"), &["missing", "No such file"]);
        assert_refused(&format!("{command} {}", text(&broken)), &["line 4", "Recorder"]);
    }
    let path = text(&path);
    assert_refused(&format!("tune {path} --for speed"), &["throughput, latency, cpu"]);
    assert_refused(&format!("tune {path} --rounds 0"), &["--rounds", "choose 1 or more"]);
    assert_refused(&format!("tune {path} --save /no/such/file"), &["choose another path"]);
    assert_refused(&format!("bench replay {path} rtrb"), &["rtrb is between", "2x2", "choose"]);
    assert_refused(&format!("bench replay {path} nosuch"), &["nosuch", "lane list"]);
    assert_refused(
        &format!("bench replay {path} --batch 65"),
        &["--batch 65", "--capacity 64", "choose 1 to 64"],
    );
}
