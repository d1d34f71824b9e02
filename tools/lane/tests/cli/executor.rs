//! `lane bench executor`.

use serde_json::json;

use crate::common::{assert_has, assert_refused, assert_report, json_of, number, results};

/// `lane bench executor` with `args`, and so few tasks that a run takes no time.
fn executor(args: &str) -> String {
    format!("bench executor --rounds 1 --far-above 1e12 --items 2000 {args}")
}

#[test]
fn executors_are_measured_in_all_ways() {
    let json = json_of(&executor("--workers 1,2 --task 1us"));
    // With one worker and with two, but those that have one thread.
    for (name, count) in [
        ("corelane-executor", 12),
        ("tokio", 12),
        ("tokio-current", 6),
        ("async-executor", 12),
        ("corelane-fork-join", 6),
        ("rayon", 6),
        ("chili", 4),
        ("calls", 3),
    ] {
        let of = results(&json).iter().filter(|result| result["queue"] == name);
        assert_eq!(of.count(), count, "{name}");
    }
    for result in results(&json) {
        assert_has(result, json!({ "suite": "executor" }));
        assert!(result["params"].get("capacity").is_none(), "{result}");
        assert!(number(&result["groups"]["near"]["median"]) > 0.0, "{result}");
    }
}

#[test]
fn the_report_names_tests_and_workers() {
    let words = [
        "corelane-executor",
        "rayon",
        "ping-pong",
        "2 workers",
        "ns/yield",
        "Fibonacci",
        "1 us for a task",
    ];
    assert_report(&executor("corelane-executor rayon --workers 2 --task 1us"), &words);
}

#[test]
fn bad_options_are_refused() {
    for (args, text) in [
        ("toko", "choose from corelane-executor, tokio,"),
        ("--task 0", "such as"),
        ("--task 1h", "up to 1s"),
        ("--workers 0", "1"),
        ("--workers 9999", "choose fewer --workers"),
        ("--test spawn", "spawn-join"),
        ("tokio-current --workers 2", "nothing to measure"),
    ] {
        assert_refused(&executor(args), &[text]);
    }
}
