//! Runs the program and looks at what it says.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// `lane` with `args`, in the directory `at`.
pub fn lane_in(at: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lane"))
        .args(args)
        .current_dir(at)
        .output()
        .expect("lane can be started")
}

/// `lane` with `args`.
pub fn lane(args: &[&str]) -> Output {
    lane_in(Path::new("."), args)
}

/// `lane bench spsc` with `args`, as short as it gets.
pub fn bench(args: &[&str]) -> Output {
    lane(&[&["bench", "spsc", "--rounds", "1"], args].concat())
}

/// What was printed.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// What was complained about.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// Checks that `output` is a success.
#[track_caller]
pub fn assert_success(output: &Output) {
    assert!(output.status.success(), "{:?}\n{}", output.status, stderr(output));
}

/// Checks that `lane` refused, with exit code 2 and a message that contains all of `words`.
#[track_caller]
pub fn assert_refused(output: &Output, words: &[&str]) {
    let message = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.starts_with("error: "), "{message}");
    assert!(!message.contains("panicked"), "{message}");
    for word in words {
        assert!(message.contains(word), "no {word:?} in: {message}");
    }
}

/// The JSON that a short run of `lane bench spsc` with `args` writes.
#[track_caller]
pub fn json_of(args: &[&str]) -> Value {
    json_of_suite("spsc", args)
}

/// The JSON that a short run of `lane bench` with `args` writes.
#[track_caller]
pub fn json_of_suite(suite: &str, args: &[&str]) -> Value {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("results.json");
    let path = path.to_str().expect("a path of text");
    let begin = ["bench", suite, "--rounds", "1", "--json", path];
    assert_success(&lane(&[&begin, args].concat()));
    let text = std::fs::read_to_string(path).expect("the file was written");
    serde_json::from_str(&text).expect("it is JSON")
}
