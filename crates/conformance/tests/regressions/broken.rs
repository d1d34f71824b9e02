//! Checks that fail: each is run on a ring with a bug that it must find.
//!
//! A broken ring has a process to itself, a copy of the test that runs it. So it may overflow its stack,
//! and what its panics print is shown only if it is not found.

use std::env;
use std::process::Command;

use crate::ring::Bug;

/// Names the bug that a copy of the test is to run.
const BUG: &str = "CORELANE_BUG";

/// A bug, and a check on a ring that has it.
type Broken = (Bug, fn());

/// Runs a check on the ring without a bug, which must pass, and on broken ones, each of which must fail.
///
/// `test` is the name of the test that calls this.
pub fn passes_and_fails(test: &str, sound: fn(), broken: &[Broken]) {
    match env::var(BUG) {
        Ok(name) => run(&name, broken),
        Err(_) => {
            sound();
            broken.iter().for_each(|&(bug, _)| must_fail(test, bug));
        }
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

/// Runs a copy of the test on the ring with `bug`. It is the check that must fail, and not the ring.
fn must_fail(test: &str, bug: Bug) {
    let output = Command::new(env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(BUG, format!("{bug:?}"))
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{bug:?} was not found");
    assert!(is_a_checks(&words), "{bug:?} was found by something else: {words}");
}

/// Whether these are the words of a check that has failed, or of a stack that was too small.
fn is_a_checks(words: &str) -> bool {
    let mut panics = words.lines().filter(|line| line.contains("panicked at")).peekable();
    let some = panics.peek().is_some() || words.contains("has overflowed its stack");
    some && !panics.any(|line| line.contains("ring.rs"))
}
