//! `lane bench pipeline`.

use std::fs;

use crate::common::{assert_has, assert_refused, json_of, printed, results, text};
use crate::runs::interrupted;

/// `lane bench pipeline` with `args`: a lap of the packets for each measurement.
fn pipeline(args: &str) -> String {
    format!("bench pipeline --rounds 1 --far-above 1e12 --items 1 {args}")
}

#[test]
fn every_bounded_queue_and_peer_passes_packets_on() {
    let json = json_of(&pipeline("--batch 32"));
    let queues = ["inline", "ffq", "ffq-slip", "mcring", "bqueue", "linering", "locked"];
    for queue in queues.into_iter().chain(["rtrb", "crossbeam-channel", "kanal", "std-channel"]) {
        let of = results(&json).iter().filter(|result| result["queue"] == queue);
        assert_eq!(of.count(), 1, "{queue}");
    }
    for result in results(&json) {
        assert_has(result, serde_json::json!({ "suite": "pipeline", "unit": "ns/packet" }));
        let group = &result["groups"]["near"];
        assert!(group["median"].as_f64() > Some(0.0), "{result}");
    }
}

#[test]
fn packets_are_only_parsed_and_each_way_to_wait_has_a_row() {
    let ways = "--parse-only --wait yield,sleep --threads 2 --batch 1";
    let text = printed(&pipeline(&format!("linering {ways}")));
    for words in ["packets, parsed, capacity 1024", "2 threads of flows", "inline (floor)"] {
        assert!(text.contains(words), "no {words} in {text}");
    }
    assert!(text.contains("linering yield") && text.contains("linering sleep"), "{text}");
}

#[test]
fn packets_on_a_schedule_have_latencies() {
    let json = json_of(&pipeline("linering --test open-loop --rate 1000000 --batch 32"));
    for result in results(&json) {
        assert!(result["groups"]["near"]["latency_ns"]["p99"].as_u64() > Some(0), "{result}");
    }
}

#[test]
fn bad_input_is_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("no.pcap");
    fs::write(&path, "no capture").expect("it can be written");
    let file = text(&path);
    for (args, word) in [
        ("cnq", "cnq"),
        ("uspsc", "uspsc"),
        ("lq --batch 2000", "--capacity"),
        ("lq --trace /none", "/none"),
        (&format!("lq --trace {file}"), file),
    ] {
        assert_refused(&pipeline(args), &[word]);
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_measured_results() {
    interrupted("bench pipeline linering --batch 32");
}
