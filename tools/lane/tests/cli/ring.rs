//! `lane bench ring`.

use crate::common::{assert_has, assert_report, json_of, printed, results};
use crate::runs::interrupted;

/// `lane bench ring` with `args`, and so few messages that a run takes no time.
fn ring(args: &str) -> String {
    format!("bench ring --rounds 1 --far-above 1e12 --items 300 {args}")
}

#[test]
fn every_queue_and_peer_goes_round() {
    let json = json_of(&ring("--threads 2,3"));
    let of =
        |queue: &str| results(&json).iter().filter(|r| r["queue"] == queue).collect::<Vec<_>>();
    for queue in ["dspsc", "uspsc", "linering", "mcring", "rtrb", "kanal-unbounded"] {
        let threads: Vec<_> = of(queue).iter().map(|r| r["params"]["threads"].clone()).collect();
        assert_eq!(threads, [2, 3], "{queue}");
    }
    for result in results(&json) {
        let group = result["groups"].as_object().and_then(|groups| groups.values().next());
        let value = |key| group.and_then(|group| group[key].as_f64());
        assert!(value("median") > Some(0.0) && value("messages_per_s") > Some(0.0), "{result}");
        assert_has(result, serde_json::json!({ "suite": "ring", "unit": "ns/message" }));
    }
}

#[test]
fn queues_between_several_threads_can_be_named() {
    let text = printed(&ring("bbq lprq lcrq crossbeam-seg --threads 4"));
    for word in ["lprq (unbounded)", "4 threads", "ns/message", "1024 messages under way"] {
        assert!(text.contains(word), "no {word} in:\n{text}");
    }
}

#[test]
fn queues_may_be_shorter_and_longer_than_what_is_under_way() {
    printed(&ring("--capacity 1 --in-flight 50 --threads 3 --no-peers"));
    printed("bench ring --rounds 1 uspsc dspsc --in-flight 5000 --items 5000");
}

#[test]
fn the_report_has_a_chart_with_all_numbers_of_threads() {
    let words = ["uspsc (unbounded)", "2 threads", "4 threads", "ns/message"];
    assert_report(&ring("uspsc dspsc"), &words);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_measured_results() {
    interrupted("bench ring linering --threads 2");
}
