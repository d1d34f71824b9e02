//! `lane calibrate`, and how `lane verify` and `lane simulate` start programs of their own.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::{check_refusal, number, printed, stdout, text};

/// `args` given to a copy of `lane` in the directory `at`, outside of any checkout.
fn copy_in(at: &Path, args: &str) -> Output {
    let copy = at.join("lane");
    // By another process: a file that is open for writing can't be started, and processes that
    // other tests start meanwhile inherit what is open here.
    let copied = Command::new("cp").arg(crate::PROGRAM).arg(&copy).status();
    assert!(copied.expect("cp can be started").success());
    let mut lane = Command::new(copy);
    lane.args(args.split_whitespace()).env("PATH", at.join("path"));
    lane.output().expect("lane can be started")
}

#[cfg(unix)]
fn write_script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;

    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(path, format!("#!/bin/sh\n{text}\n")).expect("a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it may be run");
}

#[cfg(unix)]
#[test]
fn programs_beside_lane_come_before_those_on_the_path() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let at = directory.path();
    write_script(&at.join("path/lane-verify"), "echo path; exit 3");
    let output = copy_in(at, "verify lq --html x");
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("path\n", Some(3)));
    write_script(&at.join("lane-verify"), "echo \"$@\"");
    let output = copy_in(at, "verify lq --html x --help");
    assert_eq!(stdout(&output), "lq --html x --help\n");
}

#[test]
fn a_program_that_is_nowhere_is_told_how_to_build() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = copy_in(directory.path(), "simulate lq");
    check_refusal(&output, &["lane-simulate", "cargo build --release -p lane-simulate"]);
    assert!(printed("--help").contains("verify"));
}

#[test]
fn a_calibration_has_times() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("machine.json");
    let said = printed(&format!("calibrate --json {}", text(&path)));
    assert!(said.contains("lane simulate --machine"));
    let json = fs::read_to_string(path).expect("the file was written");
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    assert!(number(&json["line_rtt_ns"]) > 0.0 && number(&json["pause_ns"]) > 0.0);
}
