//! Checks that must fail: each is run on a queue with a bug that the check must find.
//!
//! A broken queue runs in a process of its own, a copy of the test. So it may overflow its stack,
//! and its panics are shown only if the bug is not found.

use std::env;
use std::process::{Child, Command, Output, Stdio};

/// The environment variable that names the bug for a copy of the test.
const BUG: &str = "CORELANE_BUG";

/// The name of a bug, and a check on a queue with this bug.
type Broken = (&'static str, fn());

/// The sources of broken queues.
const SOURCES: [&str; 3] = ["ring.rs", "locked.rs", "loose.rs"];

/// Runs a check on the queue without a bug, which must pass, and on broken ones, each of which must
/// fail.
///
/// `test` is the path of the test that calls this, with the name of the crate.
pub fn passes_and_fails(test: &str, sound: fn(), broken: &[Broken]) {
    if let Ok(name) = env::var(BUG) {
        return run(&name, broken);
    }
    sound();
    let (_, test) = test.split_once("::").expect("the crate and the test");
    let copies: Vec<_> = broken.iter().map(|&(bug, _)| (bug, copy(test, bug))).collect();
    for (bug, copy) in copies {
        must_fail(bug, &copy.wait_with_output().unwrap());
    }
}

/// Runs the check on the queue whose bug has this name.
fn run(name: &str, broken: &[Broken]) {
    for (bug, check) in broken {
        if *bug == name {
            check();
        }
    }
}

/// A copy of the test that runs the check on the queue with `bug`.
fn copy(test: &str, bug: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(BUG, bug)
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Checks that the check has failed, and not the queue.
fn must_fail(bug: &str, output: &Output) {
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{bug} was not found");
    let found = match bug {
        "BuildsOnStack" => words.contains("has overflowed its stack"),
        _ => words.contains("panicked at") && !SOURCES.iter().any(|file| words.contains(file)),
    };
    assert!(found, "{bug} was found by another check: {words}");
}
