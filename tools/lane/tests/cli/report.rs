//! `lane report`: saved results as tables and as a picture.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{assert_refused, json_of, list, printed, text};

/// A file of results whose near group is also the far group.
fn kept(at: &Path, args: &str) -> PathBuf {
    let mut json = json_of(&format!("bench {args} --rounds 1 --far-above 1e12"));
    let mut far = json["rounds"][0].take();
    far["group"] = "far".into();
    json["rounds"] =
        json!([{ "line_rtt_ns": 100.0, "block_handoff_ns_per_u64": 0.5, "group": "near" }, far]);
    for result in json["results"].as_array_mut().expect("a list") {
        let near: Value = result["groups"]["near"].clone();
        result["groups"]["far"] = near;
    }
    let path = at.join("kept.json");
    fs::write(&path, json.to_string()).expect("a new file");
    path
}

#[test]
fn kept_results_become_tables_and_a_picture() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let kept =
        kept(directory.path(), "spsc lq linering mcring rtrb std-channel --items 500 --batch 1,32");
    let [markdown, svg] = ["numbers.md", "stream.svg"].map(|name| directory.path().join(name));
    let files = format!("--markdown {} --svg {}", text(&markdown), text(&svg));
    let said = printed(&format!("report {} {files}", text(&kept)));
    assert!(said.contains("linering") && said.contains(text(&markdown)), "{said}");
    let tables = fs::read_to_string(&markdown).expect("the tables were written");
    let of_each =
        ["| queue | near | far |", "## Between one producer and one consumer", "- near: 1 round;"];
    for words in of_each.iter().chain(&[
        "| linering | ",
        "### stream, up to 32 items per call",
        "items of 64 bytes, handles in a field",
    ]) {
        assert!(tables.contains(words), "no {words} in:\n{tables}");
    }
    let picture = fs::read_to_string(&svg).expect("the picture was written");
    assert!(picture.starts_with("<svg xmlns=") && !picture.contains("class=\"rule\""));
    for words in ["Near: the cores share a cache", "Far: ", "linering", "less is better"] {
        assert!(picture.contains(words), "no {words}");
    }
    assert!(
        !picture.contains("mcring"),
        "it publishes late, which is no answer to the same question"
    );
}

#[test]
fn numbers_of_threads_are_columns() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let kept = kept(
        directory.path(),
        "mpmc bbq --test throughput --threads 1x1,2x1 --placement apart --items 200",
    );
    let said = printed(&format!("report {}", text(&kept)));
    let head: Vec<_> = said.lines().filter(|line| line.contains("1x1")).skip(1).collect();
    assert_eq!(head.len(), 2, "near and far: {said}");
    assert!(head.iter().all(|head| head.ends_with("2x1")), "{said}");
    let picture =
        format!("report {} --svg {}", text(&kept), text(&directory.path().join("new.svg")));
    assert_refused(&picture, &["no stream", "lane bench spsc"]);
}

#[test]
fn files_without_results_are_refused() {
    assert_refused("report /no/such/file", &["/no/such/file", "lane bench --json"]);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("other.json");
    fs::write(&path, "{}").expect("a new file");
    assert_refused(&format!("report {}", text(&path)), &["other.json", "lane bench --json"]);
    assert!(
        list(&json_of("bench spsc rtrb --items 500 --rounds 1 --test rtt"), "results")
            .iter()
            .all(|result| result["version"].as_str().is_some_and(|v| v.starts_with("0.")))
    );
}
