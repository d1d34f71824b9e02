//! `lane bench mpmc`: shapes of results, never times.

use serde_json::{Value, json};

use crate::common::{
    assert_has, assert_report, json_of, number, output, printed, results, stderr, text,
};
use crate::runs::interrupted;

/// `lane bench mpmc` with `args`, with no round that is mixed.
fn mpmc(args: &str) -> String {
    format!("bench mpmc --rounds 1 --far-above 1e12 {args}")
}

/// The same with few enough items for a debug build on a busy machine.
fn few(args: &str) -> String {
    mpmc(&format!("--items 200 {args}"))
}

/// The results of queues.
fn queues(json: &Value) -> impl Iterator<Item = &Value> {
    results(json).iter().filter(|result| result["floor"] != true)
}

fn cells(json: &Value) -> Vec<(String, u64, u64)> {
    let side = |result: &Value, side| result["params"][side].as_u64().expect("a number");
    let cell = |result: &Value| {
        let queue = result["queue"].as_str().expect("an id").to_owned();
        (queue, side(result, "producers"), side(result, "consumers"))
    };
    queues(json).map(cell).collect()
}

#[test]
fn throughput_has_the_documented_shape() {
    let json = json_of(&few("bbq --test throughput --threads 2x3 --batch 1,32 --placement apart"));
    assert_eq!(json["schema"], 1);
    assert!(json["command"].as_str().expect("a command").contains("bench mpmc"));
    assert!(json["machine"]["cores"].as_array().is_some_and(|cores| !cores.is_empty()));
    assert!(number(&json["rounds"][0]["line_rtt_ns"]) > 0.0);
    assert_eq!(queues(&json).count(), 2);
    for (result, batch) in queues(&json).zip([1, 32]) {
        let what = json!({ "suite": "mpmc", "test": "throughput", "queue": "bbq" });
        assert_has(result, what);
        assert_eq!(result["unit"], "ns/item");
        let size = json!({ "producers": 2, "consumers": 3, "capacity": 4096, "batch": batch });
        assert_has(&result["params"], size);
        assert_has(&result["params"], json!({ "workload": "simple", "placement": "apart" }));
        let near = &result["groups"]["near"];
        assert_eq!(near["n"], 1);
        for key in ["p25", "median", "p75", "items_per_s"] {
            assert!(number(&near[key]) > 0.0, "{key}");
        }
        assert!(number(&near["failed"]) >= 0.0 && number(&near["run"]) > 0.0);
        for side in ["producers", "consumers"] {
            assert!((0.0..=1.0).contains(&number(&near["fairness"][side])), "{side}");
        }
    }
}

#[test]
fn every_queue_and_peer_passes_every_test_with_every_workload() {
    let tests = "--test throughput,data-latency,op-latency,full-empty --placement mixed";
    let never_full = "lprq lcrq lcrq-any msq crossbeam-seg crossbeam-unbounded std-unbounded";
    // Each test, number of threads, workload and batch with each queue, but not each workload with each batch.
    let run = |queues| {
        let with = |more| few(&format!("{queues} {tests} --threads 1x1,2x2,2x1,1x2 {more}"));
        let all = ["--workload simple --batch 1", "--workload complex --batch 8"];
        all.map(|more| cells(&json_of(&with(more)))).concat()
    };
    let cells = run("");
    assert!(cells.iter().all(|(queue, ..)| queue != "msq") && !run(never_full).is_empty());
    for shape in [(1, 1), (2, 2), (2, 1), (1, 2)] {
        assert!(cells.iter().any(|(queue, p, c)| queue == "bbq" && (*p, *c) == shape));
    }
    for (queue, producers, consumers) in cells {
        match queue.as_str() {
            "bbq-mpsc" | "std-channel" => assert_eq!(consumers, 1),
            "bbq-spmc" => assert_eq!(producers, 1),
            "bbq-spsc" | "rtrb" => assert_eq!((producers, consumers), (1, 1)),
            _ => {}
        }
    }
}

#[test]
fn queues_between_one_and_one_can_be_named_for_that() {
    let cells = cells(&json_of(&few("linering bqueue --workload simple,complex")));
    assert!(cells.iter().all(|(_, producers, consumers)| (*producers, *consumers) == (1, 1)));
    assert!(cells.iter().any(|(queue, ..)| queue == "bqueue"));
}

#[test]
fn latencies_have_percentiles() {
    // Long enough for items that were pushed after the measurement began.
    let tests =
        "bbq --test data-latency,op-latency --threads 1x2 --placement apart --duration 100ms";
    let json = json_of(&mpmc(tests));
    assert_eq!(results(&json)[0]["params"]["capacity"], 128);
    for (times, at) in [("latency_ns", 0), ("push_ns", 1), ("pop_ns", 1)] {
        let times = &results(&json)[at]["groups"]["near"][times];
        assert!(number(&times["items"]) > 0.0);
        assert!(number(&times["p50"]) <= number(&times["p99"]));
    }
}

#[test]
fn profiling_counts_losses() {
    let profiling = "bbq --test op-latency --workload profiling --threads 2x1";
    let json = json_of(&mpmc(&format!("{profiling} --capacity 4 --duration 20ms")));
    let lost = number(&results(&json)[0]["groups"]["near"]["lost"]);
    assert!((0.0..=1.0).contains(&lost));
}

#[test]
fn producers_overwrite_with_a_consumer_and_without() {
    let test = "bbq bbq-drop-old --test overwrite --threads 2x2 --placement apart --duration 5ms";
    let cell = |queue: &str, consumers| (queue.to_owned(), 2, consumers);
    let expected = [cell("bbq-drop-old", 0), cell("bbq", 1), cell("bbq-drop-old", 1)];
    assert_eq!(cells(&json_of(&mpmc(test))), expected);
}

#[test]
fn a_queue_without_bounds_is_never_full_and_labelled() {
    let test = "--test throughput,full-empty --threads 2x2";
    let text = printed(&few(&format!("bbq --peers {test}")));
    assert!(text.contains("crossbeam-seg (unbounded)"));
    let json = json_of(&few(&format!("crossbeam-seg {test}")));
    assert!(results(&json).iter().all(|result| result["params"]["operation"] != "push"));
}

#[test]
fn threads_that_share_a_core_yield() {
    let threads = "bbq --test throughput --threads 8x8 --cores 0 --wait spin,pause-yield,yield";
    let json = json_of(&few(threads));
    let waits: Vec<_> = queues(&json).map(|result| &result["params"]["wait"]).collect();
    assert_eq!(waits, ["yield", "pause-yield"]);
    assert_eq!(json["machine"]["same_core"], true);
}

#[test]
fn each_placement_has_a_table_with_floors() {
    let threads = "bbq --test throughput --threads 1x1,2x2";
    let (args, directory) = (few(threads), tempfile::tempdir().expect("a temporary directory"));
    let path = directory.path().join("results.json");
    let shown = printed(&format!("{args} --json {}", text(&path)));
    let kept = std::fs::read_to_string(&path).expect("the file was written");
    let json: Value = serde_json::from_str(&kept).expect("it is JSON");
    let count = |placement: &str, producers: u64| {
        let is_here = |result: &&Value| {
            let params = &result["params"];
            params["placement"] == placement && params["producers"] == producers
        };
        results(&json).iter().filter(is_here).count()
    };
    // On a single core mixed threads are as those apart.
    let mixed = if json["machine"]["same_core"] == true { 0 } else { 3 };
    assert_eq!(["apart", "mixed", "free"].map(|placement| count(placement, 1)), [3, 0, 3]);
    assert_eq!(["apart", "free"].map(|placement| count(placement, 2)), [3, 3]);
    assert!([0, mixed].contains(&count("mixed", 2)), "enough cores for all, or mixed");
    let floors = results(&json).iter().filter(|result| result["floor"] == true);
    assert!(floors.clone().all(|floor| number(&floor["groups"]["near"]["median"]) > 0.0));
    let ids: Vec<_> = floors.map(|floor| &floor["queue"]).take(2).collect();
    assert_eq!(ids, ["counter", "lock"]);
    let again = printed(&format!("report {}", text(&path)));
    for words in ["placed apart", "placed free", "counter (floor)", "lock (floor)"] {
        assert!(shown.contains(words) && again.contains(words), "no {words}");
    }
}

#[test]
fn tiny_queues_work() {
    printed(&few("bbq bbq-mpsc bbq-spmc --threads 2x2,2x1,1x2 --capacity 1"));
}

#[test]
fn the_report_has_a_chart_with_all_shapes() {
    let words = ["bbq", "1x1 threads", "2x2 threads", "fair P"];
    assert_report(&few("bbq --threads 1x1,2x2"), &words);
}

#[test]
fn ring_is_left_out_where_threads_share_a_core_unless_named() {
    let shared = "--no-peers --test throughput --threads 1x1 --cores 0,0";
    let (all, named) = (few(shared), few(&format!("ring {shared}")));
    let is_ring = |(queue, ..): &(String, u64, u64)| queue == "ring";
    let measured = cells(&json_of(&all));
    assert!(measured.len() > 3 && !measured.iter().any(is_ring), "{measured:?}");
    assert!(cells(&json_of(&named)).iter().all(is_ring));
    for (args, is_said) in [(all, true), (named, false)] {
        let notes = stderr(&output(&args));
        assert_eq!(notes.contains("ring left out"), is_said, "{notes}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_measured_results() {
    interrupted("bench mpmc bbq --test throughput");
}
