//! `lane bench rings`.

use crate::common::{assert_has, assert_report, json_of, output, printed, results, stderr};
use crate::runs::interrupted;

/// `lane bench rings` with `args`, and so few requests that a run takes no time.
fn rings(args: &str) -> String {
    format!("bench rings --rounds 1 --far-above 1e12 --items 300 {args}")
}

#[test]
fn the_rings_of_io_uring_stand_beside_queues() {
    let json = json_of(&rings("--entries 1,32,1024 --batch 1,32"));
    for queue in ["bbq-spsc", "bbq", "linering", "llq", "io-uring"] {
        let of = results(&json).iter().filter(|result| result["queue"] == queue);
        assert_eq!(of.count(), 3 * 2, "{queue}");
    }
    for result in results(&json) {
        assert_has(result, serde_json::json!({ "suite": "rings", "unit": "ns/request" }));
        assert_eq!(result["peer"], result["queue"] == "io-uring", "{result}");
        assert!(result["groups"]["near"]["median"].as_f64() > Some(0.0), "{result}");
    }
}

#[test]
fn the_gains_of_the_thesis_stand_beside() {
    let text = printed(&rings("bbq-spsc io-uring --entries 32,64"));
    assert!(text.contains("gain of bbq in the thesis: 6.7×"), "{text}");
    assert_eq!(text.matches("in the thesis:").count(), 2, "of batches of 1 and to 32: {text}");
}

#[test]
fn the_report_has_both_batches() {
    assert_report(&rings("bbq-spsc --peers --entries 32"), &["batches of 1 to 32", "20.9×"]);
}

#[test]
fn impossible_rings_are_refused() {
    for (args, word) in [
        ("lq", "choose from bbq-spsc"),
        ("--entries 48", "64"),
        ("--entries 0", "1..=32768"),
        ("--batch 33", "1..=32"),
        ("--cores 999", "999"),
    ] {
        let output = output(&rings(args));
        assert_eq!(output.status.code(), Some(2), "{args}");
        assert!(stderr(&output).contains(word), "{}", stderr(&output));
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_measured_results() {
    interrupted("bench rings bbq-spsc io-uring --entries 32");
}
