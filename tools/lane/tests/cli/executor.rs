//! `lane bench executor`.

use serde_json::json;

use crate::common::{assert_has, assert_refused, assert_report, json_of, number, results};

/// `lane bench executor` with `args`, and so few tasks that a run takes no time.
fn executor(args: &str) -> String {
    format!("bench executor --rounds 1 --far-above 1e12 --items 2000 {args}")
}

#[test]
fn executors_are_measured_in_all_ways() {
    let json = json_of(&executor("--workers 1,2"));
    for name in ["corelane-executor", "tokio", "tokio-current", "async-executor"] {
        let of = results(&json).iter().filter(|result| result["queue"] == name);
        // One of them has one thread.
        assert_eq!(of.count(), if name == "tokio-current" { 5 } else { 10 }, "{name}");
    }
    for result in results(&json) {
        assert_has(result, json!({ "suite": "executor" }));
        assert!(result["params"].get("capacity").is_none(), "{result}");
        assert!(number(&result["groups"]["near"]["median"]) > 0.0, "{result}");
    }
}

#[test]
fn the_report_names_tests_and_workers() {
    let words = ["corelane-executor", "ping-pong", "2 workers", "ns/yield"];
    assert_report(&executor("corelane-executor --workers 2"), &words);
}

#[test]
fn bad_options_are_refused() {
    for (args, text) in [
        ("toko", "tokio"),
        ("--workers 0", "1"),
        ("--workers 9999", "choose fewer --workers"),
        ("--test spawn", "spawn-join"),
        ("tokio-current --workers 2", "nothing to measure"),
    ] {
        assert_refused(&executor(args), &[text]);
    }
}
