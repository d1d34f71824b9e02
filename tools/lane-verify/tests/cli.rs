//! `lane verify`: needed orderings are found, and broken queues are reported.

#[path = "../../lane/tests/cli/common.rs"]
#[allow(dead_code, reason = "other programs need other parts")]
mod common;

use std::fs;

use serde_json::{Value, json};

use common::{assert_has, assert_refused, json_of, list, output, printed, stdout, text, written};

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_lane-verify");

#[test]
fn every_ordering_of_the_line_ring_is_needed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [json, html, markdown] =
        ["v.json", "v.html", "v.md"].map(|name| directory.path().join(name));
    let [json, html, markdown] = [&json, &html, &markdown].map(|path| text(path));
    let files = format!("--json {json} --html {html} --markdown {markdown}");
    assert!(printed(&format!("linering {files}")).contains("line_ring/"));

    let json = fs::read_to_string(json).expect("the file was written");
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_has(&json, json!({ "schema": 1, "interrupted": false }));
    assert_eq!(json["seeded_bugs"][0]["found"], true);
    let queue = &json["queues"][0];
    assert_has(queue, json!({ "queue": "linering", "score": 1.0 }));
    assert!(queue["models"].as_u64() > Some(10) && queue["executions"].as_u64() > Some(1000));
    check_sites(list(queue, "sites"));

    let html = fs::read_to_string(html).expect("the file was written");
    assert!(html.contains("Ordering::Release") && html.contains("verdict needed"));
    assert!(!html.contains("http"), "the page needs no network");

    let again = written(&format!("linering --kept {markdown}"), "--markdown");
    let markdown = fs::read_to_string(markdown).expect("the file was written");
    assert!(markdown.contains("| needed |") && !markdown.contains("survives |"));
    assert_eq!(again, markdown);
}

fn check_sites(sites: &[Value]) {
    for site in sites {
        assert!(site["source"].as_str().expect("text").contains("Ordering::"), "{site}");
        assert!(site["line"].is_u64() && site["function"].is_string());
        assert!(["load", "store", "rmw", "cas", "fence"].contains(&site["op"].as_str().unwrap()));
        match site["ordering"].as_str().expect("an ordering") {
            "Relaxed" => assert_eq!(site["verdict"], "relaxed"),
            _ => {
                assert_eq!(site["verdict"], "needed");
                assert!(site["model"].as_str().expect("a model").starts_with("linering::"));
                assert!(!site["why"].as_str().expect("a message").is_empty());
            }
        }
    }
    let has =
        |op, ordering| sites.iter().any(|site| site["op"] == op && site["ordering"] == ordering);
    assert!(has("load", "Acquire") && has("store", "Release") && has("rmw", "AcqRel"));
}

#[test]
fn a_broken_queue_is_reported() {
    let canary = output("canary");
    assert_eq!(canary.status.code(), Some(1));
    let text = stdout(&canary);
    let broken = "canary is broken: canary::transfer fails: Causality violation";
    assert!(text.contains(broken), "{text}");
}

#[test]
fn bad_input_is_refused() {
    assert_refused("lqq", &["lqq", "lq"]);
    assert_refused("lq --json /nowhere/v.json", &["/nowhere/v.json", "choose another path"]);
    assert_refused("lq --kept /nowhere.md", &["/nowhere.md", "--markdown"]);
    let no_table = ["Cargo.toml (it has no ordering table)", "--markdown"];
    assert_refused("lq --kept Cargo.toml", &no_table);
    assert_refused("canary --histories 1s", &["name another queue"]);
}

#[test]
fn histories_are_clean() {
    let json = json_of("bqueue bbq --histories 300ms");
    let queues: Vec<_> = list(&json, "queues").iter().map(|queue| &queue["queue"]).collect();
    assert!(["bqueue", "bbq"].into_iter().all(|id| queues.iter().any(|queue| **queue == id)));
    for queue in list(&json, "queues") {
        assert!(queue["operations"].as_u64() > Some(10_000), "{queue}");
        assert!(queue["violation"].is_null(), "{queue}");
    }
}
