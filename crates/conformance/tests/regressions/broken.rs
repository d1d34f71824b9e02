//! Checks that fail: each is run on a ring with a bug that it must find.
//!
//! A broken ring has a process to itself, a copy of the test that runs it. So it may overflow its stack,
//! and what its panics print is shown only if it is not found.

use std::env;
use std::process::{Child, Command, Output, Stdio};

use crate::ring::Bug;

/// Names the bug that a copy of the test is to run.
const BUG: &str = "CORELANE_BUG";

/// A bug, and a check on a ring that has it.
type Broken = (Bug, fn());

/// Runs a check on the ring without a bug, which must pass, and on broken ones, each of which must fail.
///
/// `test` is the name of the test that calls this.
pub fn passes_and_fails(test: &str, sound: fn(), broken: &[Broken]) {
    if let Ok(name) = env::var(BUG) {
        return run(&name, broken);
    }
    sound();
    let copies: Vec<_> = broken.iter().map(|&(bug, _)| (bug, copy(test, bug))).collect();
    for (bug, copy) in copies {
        must_fail(bug, &copy.wait_with_output().unwrap());
    }
}

/// Runs the check on the ring whose bug has this name.
fn run(name: &str, broken: &[Broken]) {
    for (bug, check) in broken {
        if format!("{bug:?}") == name {
            check();
        }
    }
}

/// A copy of the test that runs the check on the ring with `bug`.
fn copy(test: &str, bug: Bug) -> Child {
    Command::new(env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(BUG, format!("{bug:?}"))
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// It is the check that must have failed, and not the ring.
fn must_fail(bug: Bug, output: &Output) {
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{bug:?} was not found");
    let found = match bug {
        Bug::BuildsOnStack => words.contains("has overflowed its stack"),
        _ => words.contains("panicked at") && !words.contains("ring.rs"),
    };
    assert!(found, "{bug:?} was found by something else: {words}");
}
