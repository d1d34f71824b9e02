//! `lane bench mpmc`: shapes of results and refusals, never times.

use serde_json::Value;

use crate::common::{assert_refused, assert_success, json_of_suite, lane, stderr, stdout};

/// Few enough items for a debug build on a busy machine, and no round that is mixed.
const FEW: [&str; 4] = ["--items", "200", "--far-above", "1e12"];

fn mpmc(args: &[&str]) -> std::process::Output {
    lane(&[&["bench", "mpmc", "--rounds", "1"], args].concat())
}

fn json_of(args: &[&str]) -> Value {
    json_of_suite("mpmc", &[args, &FEW].concat())
}

fn results(json: &Value) -> &Vec<Value> {
    json["results"].as_array().expect("a list of results")
}

fn cells(json: &Value) -> Vec<(String, u64, u64)> {
    let side = |result: &Value, side| result["params"][side].as_u64().expect("a number");
    let cell = |result: &Value| {
        let queue = result["queue"].as_str().expect("an id").to_owned();
        (queue, side(result, "producers"), side(result, "consumers"))
    };
    results(json).iter().map(cell).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn throughput_has_the_documented_shape() {
    let json = json_of(&["bbq", "--test", "throughput", "--threads", "2x3", "--batch", "1,32"]);
    assert_eq!(json["schema"], 1);
    assert!(json["command"].as_str().expect("a command").contains("bench mpmc"));
    assert!(json["machine"]["cores"].as_array().is_some_and(|cores| !cores.is_empty()));
    assert!(number(&json["rounds"][0]["line_rtt_ns"]) > 0.0);
    assert_eq!(results(&json).len(), 2);
    for (result, batch) in results(&json).iter().zip([1, 32]) {
        for (key, value) in
            [("suite", "mpmc"), ("test", "throughput"), ("queue", "bbq"), ("unit", "ns/item")]
        {
            assert_eq!(result[key], value);
        }
        let params = &result["params"];
        assert_eq!((&params["producers"], &params["consumers"]), (&2.into(), &3.into()));
        assert_eq!((&params["capacity"], &params["batch"]), (&4096.into(), &batch.into()));
        assert_eq!(params["workload"], "simple");
        let near = &result["groups"]["near"];
        assert_eq!(near["n"], 1);
        for key in ["p25", "median", "p75", "items_per_s"] {
            assert!(number(&near[key]) > 0.0, "{key}");
        }
        for side in ["producers", "consumers"] {
            assert!((0.0..=1.0).contains(&number(&near["fairness"][side])), "{side}");
        }
    }
}

#[test]
fn every_queue_and_peer_passes_every_test_with_every_workload() {
    let tests = ["--test", "throughput,data-latency,op-latency,full-empty"];
    let args = ["--workload", "simple,complex", "--threads", "1x1,2x2,2x1,1x2", "--batch", "1,8"];
    let json =
        json_of(&[tests, [args[0], args[1]], [args[2], args[3]], [args[4], args[5]]].concat());
    let cells = cells(&json);
    for shape in [(1, 1), (2, 2), (2, 1), (1, 2)] {
        assert!(cells.iter().any(|(queue, p, c)| queue == "bbq" && (*p, *c) == shape));
    }
    for (queue, producers, consumers) in cells {
        let sides = (producers, consumers);
        match queue.as_str() {
            "bbq-mpsc" | "std-channel" => assert_eq!(consumers, 1),
            "bbq-spmc" => assert_eq!(producers, 1),
            "bbq-spsc" | "rtrb" => assert_eq!(sides, (1, 1)),
            _ => {}
        }
    }
}

#[test]
fn queues_between_one_and_one_can_be_named_for_that() {
    let json = json_of(&["linering", "bqueue", "--workload", "simple,complex"]);
    assert!(
        cells(&json).iter().all(|(_, producers, consumers)| (*producers, *consumers) == (1, 1))
    );
    assert!(cells(&json).iter().any(|(queue, ..)| queue == "bqueue"));
}

#[test]
fn latencies_have_percentiles() {
    // Long enough for items that were not in the queue when the measurement began.
    let args = ["bbq", "--test", "data-latency,op-latency", "--threads", "1x2"];
    let length = ["--duration", "100ms", "--far-above", "1e12"];
    let json = json_of_suite("mpmc", &[&args[..], &length].concat());
    let near = |at: usize| &results(&json)[at]["groups"]["near"];
    assert_eq!(results(&json)[0]["params"]["capacity"], 128);
    for (times, at) in [("latency_ns", 0), ("push_ns", 1), ("pop_ns", 1)] {
        let times = &near(at)[times];
        assert!(number(&times["items"]) > 0.0);
        assert!(number(&times["p50"]) <= number(&times["p99"]));
    }
}

#[test]
fn profiling_counts_losses() {
    let args = ["bbq", "--test", "op-latency", "--workload", "profiling", "--threads", "2x1"];
    let capacity = ["--capacity", "4", "--duration", "20ms", "--far-above", "1e12"];
    let json = json_of_suite("mpmc", &[&args[..], &capacity].concat());
    let lost = number(&results(&json)[0]["groups"]["near"]["lost"]);
    assert!((0.0..=1.0).contains(&lost));
}

#[test]
fn producers_overwrite_with_a_consumer_and_without() {
    let test = ["--test", "overwrite", "--threads", "2x2", "--duration", "5ms"];
    let json = json_of_suite("mpmc", &[&["bbq", "bbq-drop-old"][..], &test].concat());
    let cells = cells(&json);
    let cell = |queue: &str, consumers| (queue.to_owned(), 2, consumers);
    assert_eq!(cells, [cell("bbq-drop-old", 0), cell("bbq", 1), cell("bbq-drop-old", 1)]);
    let refused = mpmc(&["bbq-drop-old", "--test", "throughput"]);
    assert_refused(&refused, &["bbq-drop-old", "--test overwrite"]);
}

#[test]
fn a_queue_without_bounds_is_never_full_and_labelled() {
    let threads = ["--test", "throughput,full-empty", "--threads", "2x2"];
    let output = mpmc(&[&["bbq", "--peers"][..], &threads, &FEW].concat());
    assert_success(&output);
    #[cfg(feature = "peers")]
    {
        assert!(stdout(&output).contains("crossbeam-seg (unbounded)"));
        let json = json_of(&[&["crossbeam-seg"][..], &threads].concat());
        assert!(results(&json).iter().all(|result| result["params"]["operation"] != "push"));
        assert!(stdout(&lane(&["list"])).contains("UNBOUNDED"));
    }
}

#[test]
fn more_threads_than_cores_yield() {
    let json = json_of(&["bbq", "--test", "throughput", "--threads", "8x8", "--cores", "0"]);
    assert_eq!(results(&json)[0]["params"]["wait"], "yield");
    assert_eq!(json["machine"]["same_core"], true);
}

#[test]
fn tiny_queues_work() {
    let args = ["bbq", "bbq-mpsc", "bbq-spmc", "--threads", "2x2,2x1,1x2", "--capacity", "1"];
    assert_success(&mpmc(&[&args[..], &FEW].concat()));
}

#[test]
fn list_says_whom_a_queue_is_between() {
    let text = stdout(&lane(&["list"]));
    assert!(text.contains("bbq-mpsc") && text.contains("several producers, one consumer"));
}

#[test]
fn the_report_has_a_chart_with_all_shapes() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("report.html");
    let path = path.to_str().expect("a path of text");
    let args = ["bbq", "--threads", "1x1,2x2", "--html", path];
    assert_success(&mpmc(&[&args[..], &FEW].concat()));
    let html = std::fs::read_to_string(path).expect("the report was written");
    for word in ["<svg", "bbq", "1x1 threads", "2x2 threads", "fair P"] {
        assert!(html.contains(word), "no {word}");
    }
    for outside in ["<script", "<link", "<img", "url(", "src="] {
        assert!(!html.contains(outside), "{outside} in the report");
    }
}

#[test]
fn bad_numbers_of_threads_are_refused() {
    for wrong in ["0x1", "1x1x1", "999x999", "2", "axb"] {
        assert_refused(
            &mpmc(&["--threads", wrong]),
            &["--threads", wrong, "such as 2x4", "1 to 64"],
        );
    }
}

#[test]
fn threads_that_no_chosen_queue_can_have_are_refused() {
    let output = mpmc(&["bbq-mpsc", "--threads", "2x1,2x2"]);
    assert_refused(&output, &["2x2", "bbq-mpsc is between several producers, one consumer"]);
    assert_refused(&mpmc(&["lq", "--threads", "2x1"]), &["2x1", "lq"]);
}

#[test]
fn ring_is_left_out_where_threads_share_a_core_unless_named() {
    let shared = ["--no-peers", "--test", "throughput", "--threads", "1x1", "--cores", "0,0"];
    let is_ring = |(queue, ..): &(String, u64, u64)| queue == "ring";
    let all = cells(&json_of(&shared));
    assert!(all.len() > 3 && !all.iter().any(is_ring), "{all:?}");
    let named = [&["ring"], &shared[..]].concat();
    assert!(cells(&json_of(&named)).iter().all(is_ring));
    for (args, is_said) in [(&shared[..], true), (&named[..], false)] {
        let output = mpmc(&[args, &FEW].concat());
        assert_success(&output);
        assert_eq!(stderr(&output).contains("ring left out"), is_said, "{}", stderr(&output));
    }
}

#[test]
fn other_bad_input_is_refused() {
    assert_refused(&mpmc(&["bbqq"]), &["bbqq", "'bbq'"]);
    assert_refused(&mpmc(&["--test", "stream"]), &["throughput", "full-empty"]);
    assert_refused(&mpmc(&["--cores", "0,9999"]), &["no core 9999", "choose from 0"]);
    assert_refused(&mpmc(&["--batch", "65", "--capacity", "64"]), &["65", "choose 1 to 64"]);
    assert_refused(&mpmc(&["--workload", "profiling"]), &["--test data-latency or op-latency"]);
    let most = usize::MAX.to_string();
    assert_refused(&mpmc(&["bbq", "--capacity", &most]), &["bbq", "choose 1 to"]);
    assert_refused(&mpmc(&["--json", "/no/such/directory/file"]), &["choose another path"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_was_measured() {
    let output = crate::runs::interrupted(&["bench", "mpmc", "bbq", "--test", "throughput"]);
    assert_eq!(output["interrupted"], true);
    assert!(!output["rounds"].as_array().expect("rounds").is_empty());
}
