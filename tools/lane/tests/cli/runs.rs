//! The output of `lane list` and `lane bench spsc`: shapes, never times.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{
    assert_has, assert_report, command, json_of, number, output, printed, results, stderr, stdout,
    text,
};

/// `lane bench spsc` with `args`, with a far limit at which no round can be mixed, so that a single
/// round always counts.
fn spsc(args: &str) -> String {
    format!("bench spsc --rounds 1 --far-above 1e12 {args}")
}

/// The same with few enough items for a debug build on a busy machine.
fn few(args: &str) -> String {
    spsc(&format!("--items 500 {args}"))
}

#[test]
fn list_names_queues_with_guarantees_and_peers_with_versions() {
    let text = printed("list --long");
    let ours = ["bqueue", "bqueue-any", "wait-free FIFO", "capacity", "bbq-mpsc"];
    let more = ["several producers, one consumer", "rtrb 0.", "UNBOUNDED"];
    for word in ours.into_iter().chain(more) {
        assert!(text.contains(word), "no {word}");
    }
}

#[test]
fn the_list_has_all_queues() {
    let text = printed("list");
    assert!(text.contains("bqueue, -any ") && text.contains("n:1"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&printed("list --json")).expect("it is JSON");
    let all = json.as_array().expect("a list");
    assert!(all.iter().any(|queue| queue["id"] == "bqueue-any" && queue["between"] == "1:1"));
    for queue in all.iter().filter(|queue| queue["peer"] == false) {
        assert!(
            text.contains(queue["id"].as_str().expect("an id").trim_end_matches("-any")),
            "{queue}"
        );
    }
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let mut list = command("list");
    let mut child = list.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("lane ends");
    assert!(output.status.success());
    assert_eq!(stderr(&output), "");
}

#[test]
fn json_has_the_documented_shape() {
    let json = json_of(&few("bqueue --batch 1,32 --test stream"));
    assert_has(&json, json!({ "schema": 1, "interrupted": false }));
    assert!(json["command"].as_str().expect("a command").contains("bench spsc"));
    assert!(json["machine"]["cpu"].is_string());
    let round = &json["rounds"][0];
    assert!(number(&round["line_rtt_ns"]) > 0.0);
    assert!(number(&round["block_handoff_ns_per_u64"]) > 0.0);
    assert_eq!(round["group"], "near");
    let result = &results(&json)[0];
    let what = json!({ "suite": "spsc", "test": "stream", "queue": "bqueue", "peer": false });
    assert_has(result, what);
    assert_eq!(result["unit"], "ns/item");
    assert_has(&result["params"], json!({ "capacity": 4096, "batch": 1, "payload": "u64" }));
    assert_has(&result["params"], json!({ "item_bytes": 8, "handles": "loop" }));
    assert_has(&result["params"], json!({ "regime": "free", "load_p_ns": 0, "load_c_ns": 0 }));
    let near = &result["groups"]["near"];
    assert_eq!(near["n"], 1);
    for key in ["p25", "median", "p75"] {
        assert!(number(&near[key]) > 0.0);
    }
    assert!(number(&near["perceived_batch"]["producer"]) > 0.0);
    assert!(result["groups"].get("far").is_none());
}

#[test]
fn every_queue_and_peer_passes_every_test_with_every_payload() {
    let tests = "--test stream,rtt --batch 1,32 --payload u64,indirect --item 8 --handles loop";
    let json = json_of(&few(tests));
    let per_queue = 2 * 3;
    assert!(results(&json).len() >= 9 * per_queue);
    assert_eq!(results(&json).len() % per_queue, 0, "every queue has every cell");
    assert!(results(&json).iter().any(|r| r["peer"] == true));
}

#[test]
fn items_and_handles_have_tables_of_their_own() {
    let conditions = "--item 8,16,24,64,256,1024 --handles loop,field --capacity 16,64";
    let json = json_of(&few(&format!("--test stream {conditions}")));
    let count = |queue: &str| {
        let of_queue = results(&json).iter().filter(|result| result["queue"] == queue);
        let is_word = |result: &&Value| result["params"]["item_bytes"] == 8;
        (of_queue.clone().filter(is_word).count(), of_queue.count())
    };
    assert_eq!(
        [count("linering"), count("bqueue"), count("bqueue-any")],
        [(4, 24), (4, 4), (4, 24)]
    );
    assert_eq!([count("rtrb"), count("heapless"), count("kanal")], [(4, 24), (4, 24), (4, 4)]);
    let run = output(&few("linering bqueue --batch 1,32"));
    assert!(stderr(&run).contains("left out with items of more than 8 bytes: bqueue\n"));
    let tables = ["8 bytes, handles in the loop", "64 bytes, handles in a field"];
    assert!(tables.iter().all(|words| stdout(&run).contains(&format!("items of {words}"))));
    assert_eq!(stdout(&run).matches("handles in the loop").count(), 3, "batches of words only");
}

#[test]
fn modules_and_crates_are_names_too() {
    let queues = |args: &str| {
        let json = json_of(&few(&format!("{args} --test rtt")));
        results(&json)
            .iter()
            .map(|r| r["queue"].as_str().expect("an id").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(queues("line_ring b_queue"), ["bqueue", "bqueue-any", "linering"]);
    assert_eq!(queues("lamport lq"), ["lq", "llq", "blq"]);
    assert_eq!(queues("block bbq_spsc"), ["bbq-spsc"], "the others are between several threads");
    assert_eq!(queues("crossbeam-queue"), ["crossbeam-array", "crossbeam-seg"]);
}

#[test]
fn the_plain_loop_is_the_default_and_has_a_table_of_its_own() {
    let waits = |args: &str| {
        let json = json_of(&few(&format!("bqueue --item 8 --handles loop {args}")));
        let of = |result: &Value| result["params"]["wait"].as_str().expect("a word").to_owned();
        results(&json).iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(waits("--test stream,rtt"), ["spin", "spin"]);
    let all = ["spin", "greedy"];
    assert_eq!(waits("--test stream --wait spin,greedy"), all);
    assert_eq!(waits("--test stream --batch 8 --wait spin,greedy"), all);
    let shown = printed(&few("bqueue --test stream --wait spin,greedy"));
    assert!(["waiting with pauses", "waiting greedily"].iter().all(|words| shown.contains(words)));
}

#[test]
fn open_loop_gives_percentiles() {
    let json = json_of(&spsc("lq bqueue --test open-loop --rate 20000 --duration 20ms"));
    for result in results(&json) {
        let latency = &result["groups"]["near"]["latency_ns"];
        let at = |key| number(&latency[key]);
        assert!(at("items") > 100.0);
        assert!(at("p50") <= at("p99") && at("p99") <= at("p99.9") && at("p99.9") <= at("max"));
    }
}

#[test]
fn regimes_and_loads_become_parameters() {
    let regimes = "--regime free,fp,fc,balanced --item 8 --handles loop";
    let json = json_of(&few(&format!("lq --test stream {regimes}")));
    for (result, [p, c]) in results(&json).iter().zip([[0, 0], [0, 10], [20, 10], [50, 50]]) {
        assert_has(&result["params"], json!({ "load_p_ns": p, "load_c_ns": c }));
    }
    assert_eq!(results(&json).len(), 4);
    let json = json_of(&few("lq --test stream --load-p 7"));
    assert_has(&results(&json)[0]["params"], json!({ "regime": "custom", "load_p_ns": 7 }));
}

#[test]
fn a_grid_has_a_hundred_squares_per_queue() {
    assert_eq!(results(&json_of(&few("lq bqueue --grid"))).len(), 200);
}

#[test]
fn the_report_is_one_file_without_network() {
    assert_report(&few("lq bqueue"), &["bqueue", "line_rtt"]);
}

#[test]
fn one_core_for_both_sides_is_allowed_and_labelled() {
    let core = core_affinity::get_core_ids().expect("cores")[0].id;
    let args = few(&format!("bqueue --test stream,rtt --cores {core},{core}"));
    assert!(printed(&args).contains("same core"));
    let json = json_of(&args);
    assert_eq!(json["machine"]["same_core"], true);
    assert_eq!(json["rounds"][0]["group"], "near");
    assert_eq!(results(&json)[0]["params"]["wait"], "yield");
}

#[test]
fn tiny_queues_work() {
    for capacity in 1..=3 {
        printed(&few(&format!("--no-peers --capacity {capacity} --test stream,rtt")));
    }
}

#[test]
fn peers_can_be_added_and_left_out() {
    let peers = |args| {
        let json = json_of(&few(&format!("{args} --test rtt")));
        results(&json).iter().filter(|r| r["peer"] == true).count()
    };
    assert_eq!((peers("--no-peers"), peers("lq")), (0, 0));
    assert!(peers("lq --peers") >= 9);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_measured_results() {
    interrupted("bench spsc lq --test stream");
}

/// The program ends within a second after a signal, and somewhat later on a busy machine.
#[cfg(unix)]
const SOON: Duration = Duration::from_secs(10);

/// Checks that Ctrl-C ends a long run with `args`, and that the measured results are kept.
#[cfg(unix)]
pub fn interrupted(args: &str) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("results.json");
    let args = format!("{args} --rounds 1000000 --duration 5ms --json {}", text(&path));
    let output = signalled(&args, "-INT", " left: ");
    assert!(stdout(&output).contains("Interrupted"));
    let said = stderr(&output);
    assert!(
        said.contains(" %, ") && said.contains(" left: "),
        "no progress without a terminal: {said}"
    );
    let json = fs::read_to_string(path).expect("the file was written");
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(json["interrupted"], true);
    assert!(!json["rounds"].as_array().expect("rounds").is_empty());
}

#[cfg(unix)]
#[test]
fn a_measurement_is_not_waited_for() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("results.json");
    // No round is mixed: such a round is not kept.
    let kept = format!("--far-above 1e12 --json {}", text(&path));
    let run = format!("--threads 1x1 --test throughput --rounds 2 {kept}");
    let output = signalled(&format!("bench mpmc bbq {run} --duration 1h"), "-TERM", "lane: ");
    assert!(stderr(&output).contains("nothing was measured"), "{}", stderr(&output));
    assert!(!path.exists(), "there was nothing to write");
    // The results that were measured before are kept, although their round never ended.
    let queues = "bbq bbq-mpsc bbq-spmc bbq-bytes scq ring locked";
    let output =
        signalled(&format!("bench mpmc {queues} {run} --duration 300ms"), "-TERM", " left: ");
    assert!(stdout(&output).contains("bbq") && path.exists(), "{}", stderr(&output));
}

/// The output of the program with `args`, which gets a signal when it has said `words`. It must end
/// soon.
#[cfg(unix)]
#[track_caller]
fn signalled(args: &str, signal: &str, words: &str) -> Output {
    let mut long = command(args);
    let mut child = long.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let mut said = String::new();
    for line in lines.by_ref().map_while(Result::ok) {
        said += &format!("{line}\n");
        if line.contains(words) {
            break;
        }
    }
    let kill = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(kill.expect("kill can be started").success());
    let begin = Instant::now();
    let output = child.wait_with_output().expect("lane ends");
    assert!(begin.elapsed() < SOON, "it took {:?}", begin.elapsed());
    lines.map_while(Result::ok).for_each(|line| said += &format!("{line}\n"));
    assert_eq!(output.status.code(), Some(130), "{said}");
    Output { stderr: said.into_bytes(), ..output }
}

#[test]
fn a_run_says_first_what_it_does_and_leaves_standard_output_to_json() {
    let output = output(&few("lq rtrb --test rtt --json -"));
    let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("it is JSON");
    assert_eq!(results(&json).len(), 2);
    let said = stderr(&output);
    let first = said.lines().next().unwrap_or_default();
    assert!(first.contains("Takes about a second") && first.contains("1 test"), "{said}");
    assert!(said.contains("Near: the cores share a cache"), "tables go elsewhere: {said}");
    assert!(said.contains("× floor: of line_rtt"), "columns are explained: {said}");
}

/// Three packets of 60 bytes, a millisecond apart.
#[test]
fn captures_are_replayed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("three.pcap");
    let mut capture: Vec<u8> = Vec::new();
    // The header of the file: magic number, version, two zeros, most bytes of a packet, Ethernet.
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        capture.extend(word.to_le_bytes());
    }
    for packet in 0..3 {
        // Seconds, microseconds, bytes in the file, bytes that were sent.
        for word in [1, 1000 * packet, 60, 60] {
            capture.extend(u32::to_le_bytes(word));
        }
        capture.extend([0; 60]);
    }
    fs::write(&path, capture).expect("a new file");
    let args = "bqueue --test open-loop --payload u64,indirect --trace";
    let json = json_of(&spsc(&format!("{args} {}", text(&path))));
    assert_eq!(results(&json).len(), 2);
    for result in results(&json) {
        assert_eq!(result["groups"]["near"]["latency_ns"]["items"], 3);
    }
}
