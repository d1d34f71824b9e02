//! `lane bench ring`.

use serde_json::Value;

use crate::common::{assert_refused, assert_success, json_of_suite, lane, stdout};
use crate::runs::interrupted;

/// So few messages that a run takes no time.
const FEW: [&str; 2] = ["--items", "300"];

fn ring(args: &[&str]) -> std::process::Output {
    lane(&[&["bench", "ring", "--rounds", "1"], args].concat())
}

#[test]
fn every_queue_and_peer_goes_round() {
    let json = json_of_suite("ring", &[&["--threads", "2,3"], &FEW[..]].concat());
    let results = json["results"].as_array().expect("results");
    let of = |queue: &str| results.iter().filter(|r| r["queue"] == queue).collect::<Vec<_>>();
    for queue in ["dspsc", "uspsc", "linering", "mcring", "rtrb", "kanal-unbounded"] {
        let threads: Vec<_> = of(queue).iter().map(|r| r["params"]["threads"].clone()).collect();
        assert_eq!(threads, [2, 3], "{queue}");
    }
    for result in results {
        let group = result["groups"].as_object().and_then(|groups| groups.values().next());
        let value = |key| group.and_then(|group| group[key].as_f64());
        assert!(value("median") > Some(0.0) && value("messages_per_s") > Some(0.0), "{result}");
        assert_eq!((&result["suite"], &result["unit"]), (&"ring".into(), &"ns/message".into()));
    }
}

#[test]
fn queues_between_several_threads_can_be_named() {
    let args = [&["bbq", "lprq", "lcrq", "crossbeam-seg", "--threads", "4"], &FEW[..]].concat();
    let text = stdout(&ring(&args));
    for word in ["lprq (unbounded)", "4 threads", "ns/message", "1024 messages under way"] {
        assert!(text.contains(word), "no {word} in:\n{text}");
    }
}

#[test]
fn queues_that_are_too_short_for_what_is_under_way_still_carry_it() {
    let tiny = ["--capacity", "1", "--in-flight", "50", "--threads", "3", "--no-peers"];
    assert_success(&ring(&[&tiny[..], &FEW].concat()));
}

#[test]
fn the_whole_run_may_be_under_way() {
    let all = ["uspsc", "dspsc", "--in-flight", "5000", "--items", "5000"];
    assert_success(&ring(&all));
}

#[test]
fn the_report_has_a_chart_with_all_numbers_of_threads() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("report.html");
    let path = path.to_str().expect("a path of text");
    assert_success(&ring(&[&["uspsc", "dspsc", "--html", path], &FEW[..]].concat()));
    let html = std::fs::read_to_string(path).expect("the report was written");
    for word in ["<svg", "uspsc (unbounded)", "2 threads", "4 threads", "ns/message"] {
        assert!(html.contains(word), "no {word}");
    }
}

#[test]
fn bad_input_is_refused() {
    assert_refused(&ring(&["uspc"]), &["uspc", "'uspsc'"]);
    for wrong in ["1", "65", "0", "x"] {
        assert_refused(&ring(&["--threads", wrong]), &["--threads", wrong]);
    }
    assert_refused(&ring(&["--in-flight", "0"]), &["--in-flight", "choose 1 or more"]);
    assert_refused(&ring(&["--cores", "9999"]), &["no core 9999"]);
    assert_refused(&ring(&["bbq-drop-old"]), &["bbq-drop-old loses messages", "choose other"]);
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    let json: Value = interrupted(&["bench", "ring", "linering", "--threads", "2"]);
    assert_eq!(json["interrupted"], true);
}
