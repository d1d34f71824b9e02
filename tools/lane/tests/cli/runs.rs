//! What runs give: shapes, never times.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::common::{assert_success, bench, json_of, lane, stderr, stdout};
use serde_json::Value;

/// Few enough items for a debug build on a busy machine.
const FEW: [&str; 2] = ["--items", "500"];

fn results(json: &Value) -> &Vec<Value> {
    json["results"].as_array().expect("a list of results")
}

/// The summary of a result in whatever group its round was.
fn summary(result: &Value) -> &Value {
    let groups = result["groups"].as_object().expect("groups");
    groups.values().next().expect("at least one group")
}

/// A far limit at which no round can be mixed, so that a single round always counts.
const ALL_NEAR: [&str; 2] = ["--far-above", "1e12"];

#[test]
fn list_names_queues_with_guarantees_and_peers_with_versions() {
    let output = lane(&["list"]);
    assert_success(&output);
    let text = stdout(&output);
    for word in ["bqueue", "bqueue-any", "wait-free FIFO", "capacity"] {
        assert!(text.contains(word), "no {word}");
    }
    #[cfg(feature = "peers")]
    assert!(text.contains("rtrb 0."), "no version of rtrb");
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lane"))
        .arg("list")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("lane can be started");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("lane ends");
    assert_success(&output);
    assert_eq!(stderr(&output), "");
}

#[test]
fn json_has_the_documented_shape() {
    let json = json_of(
        &[&["bqueue", "--batch", "1,32", "--test", "stream"][..], &FEW, &ALL_NEAR].concat(),
    );
    assert_eq!(json["schema"], 1);
    assert!(json["command"].as_str().expect("a command").contains("bench spsc"));
    assert!(json["machine"]["cpu"].is_string());
    assert_eq!(json["interrupted"], false);
    let round = &json["rounds"][0];
    assert!(round["line_rtt_ns"].as_f64().expect("a number") > 0.0);
    assert!(round["block_handoff_ns_per_u64"].as_f64().expect("a number") > 0.0);
    assert_eq!(round["group"], "near");
    let result = &results(&json)[0];
    for (key, value) in
        [("suite", "spsc"), ("test", "stream"), ("queue", "bqueue"), ("unit", "ns/item")]
    {
        assert_eq!(result[key], value);
    }
    assert_eq!(result["peer"], false);
    let params = &result["params"];
    assert_eq!((&params["capacity"], &params["batch"]), (&4096.into(), &1.into()));
    assert_eq!((&params["payload"], &params["regime"]), (&"u64".into(), &"free".into()));
    assert_eq!((&params["load_p_ns"], &params["load_c_ns"]), (&0.into(), &0.into()));
    let near = &result["groups"]["near"];
    assert_eq!(near["n"], 1);
    for key in ["p25", "median", "p75"] {
        assert!(near[key].as_f64().expect("a number") > 0.0);
    }
    assert!(near["perceived_batch"]["producer"].as_f64().expect("a number") > 0.0);
    assert!(result["groups"].get("far").is_none());
}

#[test]
fn every_queue_and_peer_passes_every_test_with_every_payload() {
    let args = ["--test", "stream,rtt", "--batch", "1,32", "--payload", "u64,indirect"];
    let json = json_of(&[&args[..], &FEW, &ALL_NEAR].concat());
    let queues: Vec<_> = results(&json).iter().map(|result| &result["queue"]).collect();
    let per_queue = 2 * 3;
    assert!(queues.len() >= 9 * per_queue);
    assert_eq!(queues.len() % per_queue, 0, "every queue has every cell");
    assert!(results(&json).iter().any(|r| r["peer"] == true));
}

#[test]
fn open_loop_gives_percentiles() {
    let args = ["lq", "bqueue", "--test", "open-loop", "--rate", "20000", "--duration", "20ms"];
    let json = json_of(&[&args[..], &ALL_NEAR].concat());
    for result in results(&json) {
        let latency = &summary(result)["latency_ns"];
        let at = |key: &str| latency[key].as_u64().expect("a number");
        assert!(at("items") > 100);
        assert!(at("p50") <= at("p99") && at("p99") <= at("p99.9") && at("p99.9") <= at("max"));
    }
}

#[test]
fn regimes_and_loads_become_parameters() {
    let json = json_of(
        &[&["lq", "--test", "stream", "--regime", "free,fp,fc,balanced"][..], &FEW].concat(),
    );
    let loads: Vec<_> = results(&json)
        .iter()
        .map(|r| (r["params"]["load_p_ns"].as_u64(), r["params"]["load_c_ns"].as_u64()))
        .collect();
    assert_eq!(loads, [(0, 0), (0, 10), (20, 10), (50, 50)].map(|(p, c)| (Some(p), Some(c))));
    let json = json_of(&[&["lq", "--test", "stream", "--load-p", "7"][..], &FEW].concat());
    let params = &results(&json)[0]["params"];
    assert_eq!((&params["regime"], &params["load_p_ns"]), (&"custom".into(), &7.into()));
}

#[test]
fn a_grid_has_a_hundred_squares_per_queue() {
    let json = json_of(&["lq", "bqueue", "--grid", "--items", "100"]);
    assert_eq!(results(&json).len(), 200);
}

#[test]
fn the_report_is_one_file_without_network() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("report.html");
    let path = path.to_str().expect("a path of text");
    assert_success(&bench(&[&["lq", "bqueue", "--html", path][..], &FEW, &ALL_NEAR].concat()));
    let html = fs::read_to_string(path).expect("the report was written");
    assert!(html.contains("<svg") && html.contains("bqueue") && html.contains("line_rtt"));
    for outside in ["<script", "<link", "<img", "url(", "src="] {
        assert!(!html.contains(outside), "{outside} in the report");
    }
}

#[test]
fn one_core_for_both_sides_is_allowed_and_labelled() {
    let core = core_affinity::get_core_ids().expect("cores")[0].id;
    let cores = format!("{core},{core}");
    let args = ["bqueue", "--test", "stream,rtt", "--cores", &cores, "--items", "100"];
    assert!(stdout(&bench(&args)).contains("same core"));
    let json = json_of(&args);
    assert_eq!(json["machine"]["same_core"], true);
    assert_eq!(json["rounds"][0]["group"], "near");
    assert_eq!(results(&json)[0]["params"]["wait"], "yield");
}

#[test]
fn tiny_queues_work() {
    for capacity in ["1", "2", "3"] {
        let args = ["--no-peers", "--capacity", capacity, "--test", "stream,rtt", "--items", "200"];
        assert_success(&bench(&args));
    }
}

#[test]
fn peers_can_be_added_and_left_out() {
    let queues = |args: &[&str]| {
        let json = json_of(&[args, &["--test", "rtt", "--items", "50"]].concat());
        results(&json).iter().filter(|r| r["peer"] == true).count()
    };
    assert_eq!(queues(&["--no-peers"]), 0);
    assert_eq!(queues(&["lq"]), 0);
    #[cfg(feature = "peers")]
    assert!(queues(&["lq", "--peers"]) >= 9);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_was_measured() {
    let json = interrupted(&["bench", "spsc", "lq", "--test", "stream"]);
    assert_eq!(json["interrupted"], true);
    assert!(!json["rounds"].as_array().expect("rounds").is_empty());
}

/// The JSON of a long run with `args` that Ctrl-C ends.
#[cfg(unix)]
pub fn interrupted(args: &[&str]) -> Value {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("results.json");
    let child = Command::new(env!("CARGO_BIN_EXE_lane"))
        .args(args)
        .args(["--rounds", "1000000", "--duration", "5ms"])
        .args(["--json", path.to_str().expect("a path of text")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("lane can be started");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill can be started").success());
    let output = child.wait_with_output().expect("lane ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stdout(&output).contains("Interrupted"));
    let json = fs::read_to_string(path).expect("the file was written");
    serde_json::from_str(&json).expect("it is JSON")
}

/// Captures to replay: the directory in `LANE_CAPTURES`, or the one beside the repository.
fn captures() -> Vec<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/pcap");
    let directory = std::env::var_os("LANE_CAPTURES").map_or(beside, PathBuf::from);
    let files = fs::read_dir(&directory).into_iter().flatten().flatten();
    let captures: Vec<_> = files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pcap"))
        .collect();
    if captures.is_empty() {
        println!("skipped: no captures in {}, set LANE_CAPTURES", directory.display());
    }
    captures
}

#[test]
fn captures_are_replayed() {
    for capture in captures() {
        let path = capture.to_str().expect("a path of text");
        let args = ["bqueue", "--test", "open-loop", "--trace", path, "--speedup", "1000"];
        let json =
            json_of(&[&args[..], &["--payload", "u64,indirect", "--duration", "50ms"]].concat());
        assert_eq!(results(&json).len(), 2);
    }
}
