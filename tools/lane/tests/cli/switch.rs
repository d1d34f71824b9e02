//! `lane bench switch`.

use crate::common::{assert_has, assert_report, json_of, output, printed, results, stderr};
use crate::runs::interrupted;

/// `lane bench switch` with `args`, and so few packets that a run takes no time.
fn switch(args: &str) -> String {
    format!("bench switch --rounds 1 --far-above 1e12 --items 300 {args}")
}

#[test]
fn every_bounded_queue_and_peer_forwards() {
    let json = json_of(&switch("--clients 2,3"));
    for queue in ["lq", "linering", "bqueue", "mcring", "rtrb", "crossbeam-channel"] {
        let of = results(&json).iter().filter(|result| result["queue"] == queue);
        assert_eq!(of.count(), 2 * 2 * 2, "{queue}");
    }
    for result in results(&json) {
        assert_has(result, serde_json::json!({ "suite": "switch", "unit": "ns/packet" }));
        let group = &result["groups"]["near"];
        assert!(group["median"].as_f64() > Some(0.0), "{result}");
        assert!(group["messages_per_s"].as_f64() > Some(0.0), "{result}");
    }
}

#[test]
fn queues_of_one_packet_work() {
    let text =
        printed(&switch("lq linering --capacity 1 --batch 1 --switch-batch 1 --test flooding"));
    assert!(text.contains("flooding, capacity 1, the switch pulls 1"), "{text}");
}

#[test]
fn the_report_has_both_workloads() {
    assert_report(&switch("lq bqueue"), &["requests and responses", "8 clients send 8 in one go"]);
}

#[test]
fn queues_that_cant_be_ports_are_refused() {
    for (args, word) in [
        ("uspsc", "uspsc"),
        ("bbq", "bbq"),
        ("lq --clients 1", "1"),
        ("lq --batch 300", "--capacity"),
    ] {
        let output = output(&switch(args));
        assert_eq!(output.status.code(), Some(2), "{args}");
        assert!(stderr(&output).contains(word), "{}", stderr(&output));
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_measured_results() {
    interrupted("bench switch linering --clients 2");
}
