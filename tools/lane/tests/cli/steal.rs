//! `lane bench steal`.

use serde_json::json;

use crate::common::{assert_has, assert_refused, assert_report, json_of, number, results};

/// `lane bench steal` with `args`, and so few items that a run takes no time.
fn steal(args: &str) -> String {
    format!("bench steal --rounds 1 --far-above 1e12 --items 20000 {args}")
}

#[test]
fn owners_are_measured_alone_and_beside_thieves() {
    let json = json_of(&steal("--stolen 10"));
    let ours = ["bwos-lifo", "bwos-fifo", "abp", "abp-asymmetric", "tokio-ring"];
    let others = ["crossbeam-lifo", "st3-fifo", "vec", "vecdeque"];
    for queue in ours.into_iter().chain(others) {
        let of = results(&json).iter().filter(|result| result["queue"] == queue);
        // Collections of one thread have no thieves.
        assert_eq!(of.count(), if queue.starts_with("vec") { 2 } else { 4 }, "{queue}");
    }
    for result in results(&json) {
        assert_has(result, json!({ "suite": "steal", "unit": "ns/item of the owner" }));
        assert!(number(&result["groups"]["near"]["median"]) > 0.0, "{result}");
        let is_stolen_from = result["params"]["thieves"] != 0;
        assert!(is_stolen_from || result["groups"]["near"]["stolen"] == 0.0, "{result}");
    }
}

#[test]
fn pools_are_measured() {
    let json =
        json_of(&steal("--test pool --threads 2,3 --balancing 0,50 --policy rand,numa-prob"));
    for result in results(&json) {
        assert_has(result, json!({ "test": "pool", "unit": "ns/item of a thread" }));
        let stolen = number(&result["groups"]["near"]["stolen"]);
        assert!(stolen == 0.0 || result["params"]["balancing_percent"] == 50, "{result}");
    }
    // Without the collections of one thread. If nothing is stolen, policies are the same.
    assert_eq!(results(&json).len(), 9 * 2 * 3);
}

#[test]
fn every_policy_is_measured() {
    let policies = "rand,seq,last,best-of-two,best-of-many,numa,rand-prob,numa-prob";
    let json = json_of(&steal(&format!(
        "bwos-fifo st3-fifo --test pool --threads 4 --balancing 100 --policy {policies}"
    )));
    assert_eq!(results(&json).len(), 2 * 8);
    for result in results(&json) {
        assert_has(&result["params"], json!({ "threads": 4, "thieves": 3 }));
        assert!(policies.contains(result["params"]["policy"].as_str().unwrap()), "{result}");
    }
}

#[test]
fn the_report_has_both_orders() {
    let words = ["bwos-lifo", "bwos-fifo", "hungry-thief", "10 % stolen"];
    assert_report(&steal("bwos-lifo bwos-fifo --stolen 10"), &words);
}

#[test]
fn bad_options_are_refused() {
    for (args, text) in [
        ("bwos-fif", "bwos-fifo"),
        ("--stolen 101", "0..=100"),
        ("--test pool --balancing 101", "0..=100"),
        ("--test pool --threads 1", "2..=64"),
        ("--test pool --policy first", "rand, seq, last"),
        ("--cores 99999", "there is no core 99999"),
        ("--capacity 0", "1"),
        ("vec --test stolen --stolen 10", "nothing to measure"),
        ("bwos-lifo --capacity 9999999999999999", "choose a smaller --capacity"),
    ] {
        assert_refused(&steal(args), &[text]);
    }
}
