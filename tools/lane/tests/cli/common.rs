//! Runs the program and checks its output. Arguments are a text, with spaces between them. The
//! tests of `lane-verify` and `lane-simulate` share this file.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// The program with `args`, not yet started.
pub fn command(args: &str) -> Command {
    let mut program = Command::new(crate::PROGRAM);
    program.args(args.split_whitespace());
    program
}

/// The output of the program with `args`.
pub fn output(args: &str) -> Output {
    command(args).output().expect("it can be started")
}

/// The text on stdout.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// The text on stderr.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// The text that a successful run with `args` prints.
#[track_caller]
pub fn printed(args: &str) -> String {
    let output = output(args);
    assert!(output.status.success(), "{:?}\n{}", output.status, stderr(&output));
    stdout(&output)
}

/// Checks that the program with `args` refuses, with exit code 2 and a line that contains all of
/// `words`.
#[track_caller]
pub fn assert_refused(args: &str, words: &[&str]) {
    check_refusal(&output(args), words);
}

/// Checks that `output` is a refusal.
#[track_caller]
pub fn check_refusal(output: &Output, words: &[&str]) {
    let message = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.starts_with("error: ") && message.lines().count() == 1, "{message}");
    for word in words {
        assert!(message.contains(word), "no {word:?} in: {message}");
    }
}

/// The list `name` in `json`.
#[track_caller]
pub fn list<'a>(json: &'a Value, name: &str) -> &'a Vec<Value> {
    json[name].as_array().expect("a list")
}

/// The text of a path.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// The file that the program with `args` and `flag` writes.
#[track_caller]
pub fn written(args: &str, flag: &str) -> String {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("results");
    printed(&format!("{args} {flag} {}", text(&path)));
    std::fs::read_to_string(path).expect("the file was written")
}

/// The JSON that the program with `args` writes.
#[track_caller]
pub fn json_of(args: &str) -> Value {
    serde_json::from_str(&written(args, "--json")).expect("it is JSON")
}

/// Checks that the report of a run with `args` has all of `words`, and is one file without a
/// network.
#[track_caller]
pub fn assert_report(args: &str, words: &[&str]) {
    let html = written(args, "--html");
    for word in words.iter().chain(&["<svg"]) {
        assert!(html.contains(word), "no {word}");
    }
    for outside in ["<script", "<link", "<img", "url(", "src="] {
        assert!(!html.contains(outside), "{outside} in the report");
    }
}

/// The results in `json`.
pub fn results(json: &Value) -> &Vec<Value> {
    list(json, "results")
}

/// A number in JSON.
#[track_caller]
pub fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// Checks `value`'s entries under some keys.
#[track_caller]
pub fn assert_has(value: &Value, expected: Value) {
    for (key, expected) in expected.as_object().expect("keys and values") {
        assert_eq!(&value[key], expected, "{key}");
    }
}
