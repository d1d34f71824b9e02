//! `lane verify`: that needed orderings are found needed, and that what is broken is reported.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

/// The program with `args`.
fn verify(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lane-verify")).args(args).output().expect("it can be started")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[track_caller]
fn assert_success(output: &Output) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}\n{message}", output.status);
}

/// Checks that it refused, with exit code 2 and a message that contains all of `words`.
#[track_caller]
fn assert_refused(output: &Output, words: &[&str]) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.starts_with("error: ") && !message.contains("panicked"), "{message}");
    for word in words {
        assert!(message.contains(word), "no {word:?} in: {message}");
    }
}

#[test]
fn every_ordering_of_the_line_ring_is_needed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("text").to_owned();
    let [json, html, markdown] = ["v.json", "v.html", "v.md"].map(path);
    let files = ["--json", &json, "--html", &html, "--markdown", &markdown];
    let output = verify(&[&["linering"][..], &files].concat());
    assert_success(&output);

    let json = fs::read_to_string(json).expect("the file was written");
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(json["schema"], 1);
    assert_eq!(json["interrupted"], false);
    assert_eq!(json["seeded_bugs"][0]["found"], true);
    let queue = &json["queues"][0];
    assert_eq!(queue["queue"], "linering");
    assert_eq!(queue["score"], 1.0);
    assert!(queue["models"].as_u64() > Some(10) && queue["executions"].as_u64() > Some(1000));
    check_sites(queue["sites"].as_array().expect("a list of sites"));

    let html = fs::read_to_string(html).expect("the file was written");
    assert!(html.contains("Ordering::Release") && html.contains("verdict needed"));
    assert!(!html.contains("http"), "the page needs no network");
    assert!(stdout(&output).contains("line_ring/"));

    let again = path("again.md");
    let kept = ["--kept", &markdown, "--markdown", &again];
    assert_success(&verify(&[&["linering"][..], &kept].concat()));
    let markdown = fs::read_to_string(markdown).expect("the file was written");
    assert!(markdown.contains("| needed |") && !markdown.contains("survives |"));
    assert_eq!(fs::read_to_string(again).expect("the file was written"), markdown);
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
    let output = verify(&["canary"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let text = stdout(&output);
    assert!(
        text.contains("canary is broken: canary::transfer fails: Causality violation"),
        "{text}"
    );
}

#[test]
fn an_unknown_queue_is_refused() {
    assert_refused(&verify(&["lqq"]), &["lqq", "lq"]);
}

#[test]
fn a_file_that_cannot_be_written_is_refused() {
    let output = verify(&["lq", "--json", "/nowhere/v.json"]);
    assert_refused(&output, &["/nowhere/v.json", "choose another path"]);
}

#[test]
fn a_table_that_is_none_is_refused() {
    assert_refused(&verify(&["lq", "--kept", "/nowhere.md"]), &["/nowhere.md", "--markdown"]);
    let output = verify(&["lq", "--kept", "Cargo.toml"]);
    assert_refused(&output, &["Cargo.toml (it has no ordering table)", "--markdown"]);
}

#[test]
fn histories_of_a_queue_are_clean() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let json = directory.path().join("histories.json");
    let json = json.to_str().expect("text");
    let output = verify(&["bqueue", "--histories", "300ms", "--json", json]);
    assert_success(&output);
    assert!(stdout(&output).contains("bqueue"), "{}", stdout(&output));
    let json: Value = serde_json::from_str(&fs::read_to_string(json).expect("it was written"))
        .expect("it is JSON");
    for queue in json["queues"].as_array().expect("a list of queues") {
        assert!(queue["operations"].as_u64() > Some(10_000), "{queue}");
        assert!(queue["violation"].is_null(), "{queue}");
    }
}

#[test]
fn the_canary_has_no_histories() {
    assert_refused(&verify(&["canary", "--histories", "1s"]), &["name another queue"]);
}

#[test]
fn histories_of_several_threads_are_checked() {
    let output = verify(&["bbq", "--histories", "100ms"]);
    assert!(stdout(&output).contains("bbq"), "{}", stdout(&output));
}
