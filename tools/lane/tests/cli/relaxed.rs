//! `lane bench relaxed`: shapes of results, never times.

use std::fs;

use serde_json::{Value, json};

use crate::common::{
    assert_has, assert_refused, assert_report, json_of, number, printed, results, text,
};

/// `lane bench relaxed` with `args`, with no round that is mixed, and with few enough items for a
/// debug build on a busy machine.
fn relaxed(args: &str) -> String {
    format!("bench relaxed --rounds 1 --far-above 1e12 --items 2000 {args}")
}

const ALL: &str = "--test throughput,data-latency,rank-error,memory";

/// The k of each result of a queue.
fn ks(json: &Value, queue: &str) -> Vec<Option<u64>> {
    let of = results(json).iter().filter(|result| result["queue"] == queue);
    of.map(|result| result["params"]["k"].as_u64()).collect()
}

#[test]
fn every_queue_passes_every_test() {
    let json = json_of(&relaxed(&format!("{ALL} --threads 2x2,1x2 --relaxation 4,64")));
    for (queue, count) in [("cnq-bbq", 16), ("usq", 16), ("lldq", 8), ("leased", 8), ("kanal", 8)] {
        assert_eq!(ks(&json, queue).len(), count, "{queue}");
    }
    let near = |result: &Value| result["groups"]["near"].clone();
    for result in results(&json) {
        assert_has(result, json!({ "suite": "relaxed" }));
        assert!(number(&near(result)["median"]) >= 0.0, "{result}");
    }
    let of =
        |test: &'static str| results(&json).iter().filter(move |result| result["test"] == test);
    for result in of("rank-error") {
        for key in ["rank_error", "delay"] {
            let (by_return, certain) = (&near(result)[key], &near(result)["certain"][key]);
            let k = result["params"]["k"].as_f64().unwrap_or(f64::INFINITY);
            assert!(number(&certain["max"]) < k, "{result}");
            assert!(number(&by_return["mean"]) <= number(&by_return["max"]), "{result}");
            assert!(number(&by_return["p99"]) <= number(&by_return["max"]), "{result}");
        }
    }
    // Only the queue that is never full takes memory later.
    for result in of("memory").filter(|result| result["queue"] != "usq") {
        assert!(number(&near(result)["median"]) > 4096.0 * 8.0, "{result}");
        assert_eq!(near(result)["allocations"], 0, "{result}");
    }
}

#[test]
fn queues_have_the_k_that_they_tell() {
    let args = "cnq d-cbo faaq --test rank-error --threads 1x1 --relaxation 1,2,256,255,9999";
    let json = json_of(&relaxed(args));
    assert_eq!(ks(&json, "cnq"), [Some(1), Some(252), Some(9984)]);
    assert_eq!([ks(&json, "d-cbo"), ks(&json, "faaq")], [vec![None], vec![Some(1)]]);
    let size = json!({ "producers": 1, "consumers": 1, "placement": "apart", "capacity": 4096 });
    assert_has(&results(&json)[0]["params"], size);
    assert_eq!(results(&json)[0]["unit"], "older items inside");
}

#[test]
fn throughput_is_compared_with_the_tube() {
    let shown = printed(&relaxed("cnq faaq --test throughput --threads 2x2 --relaxation 256"));
    let row = |queue: &str| {
        let row = shown.lines().find(|line| line.trim_start().starts_with(queue));
        row.expect("the queue has a row").to_owned()
    };
    assert!(shown.contains("× tube"), "{shown}");
    assert!(row("cnq k=252").contains('×') && !row("faaq").contains('×'), "{shown}");
}

#[test]
fn the_frontier_is_in_the_report_and_in_a_file() {
    let args = relaxed("cnq leased usq kanal --threads 1x1,2x2 --relaxation 16,256");
    assert_report(&args, &["Throughput against rank errors, 2x2", "mean rank error + 1; 1x1"]);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [kept, svg] = ["kept.json", "frontier.svg"].map(|name| directory.path().join(name));
    printed(&format!("{args} --json {}", text(&kept)));
    let said = printed(&format!("report {} --svg {}", text(&kept), text(&svg)));
    assert!(said.contains("cnq k=252") && said.contains("Out of turn"), "{said}");
    let picture = fs::read_to_string(&svg).expect("the picture was written");
    for words in ["<svg xmlns=", "cnq k=15", "usq k=16<", "million items a second", "2x2 threads"] {
        assert!(picture.contains(words), "no {words} in {picture}");
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    for (args, words) in [
        ("--relaxation 0", &["--relaxation", "choose 1 or more"][..]),
        ("--relaxation few", &["--relaxation", "whole number"]),
        ("cnqq", &["called cnqq", "cnq, "]),
        ("lq", &["lq is between one producer, one consumer", "use `lane bench spsc lq`"]),
        ("seqring", &["seqring loses items", "--test overwrite"]),
        ("--threads 0x2", &["0x2", "each from 1 to 64"]),
        ("bbq-mpsc --threads 2x2", &["2x2", "bbq-mpsc is between several producers, one"]),
        ("--test stream", &["throughput", "rank-error"]),
        ("--placement free --cores 0,0", &["nothing to measure", "placement free left out"]),
    ] {
        assert_refused(&format!("bench relaxed {args}"), words);
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_measured_results() {
    crate::runs::interrupted("bench relaxed cnq --test throughput");
}
