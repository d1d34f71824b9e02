//! Misuse that must not compile: cloning a handle, sharing it, sending items that must stay in
//! their thread.
//!
//! Each file of `compile_fail/` begins with the error that it must give. The rest of the compiler's
//! message is not compared, because it changes from one version to the next. `handles.rs` checks
//! the same properties of every queue, without messages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The error that a case must give, and how often at least.
fn expected(case: &Path) -> (usize, String) {
    let source = fs::read_to_string(case).unwrap();
    let line = source.lines().next().and_then(|line| line.strip_prefix("//! ")).unwrap();
    match line.split_once(" times ") {
        Some((times, error)) => (times.parse().unwrap(), error.to_string()),
        None => (1, line.to_string()),
    }
}

/// How often the compiler has reported `error`: a code, a colon, and a part of the message.
fn errors(stderr: &str, error: &str) -> usize {
    let (code, words) = error.split_once(": ").expect("a code and some words");
    stderr.lines().filter(|line| line.starts_with(code) && line.contains(words)).count()
}

/// A copy of the cases, beside which the compiler's messages may be written.
fn copies() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile_fail")
}

#[test]
fn misuse_does_not_compile() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_fail");
    let _ = fs::remove_dir_all(copies());
    fs::create_dir_all(copies()).unwrap();
    for case in fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path()) {
        fs::copy(&case, copies().join(case.file_name().unwrap())).unwrap();
    }
    compile_all();
    for case in fs::read_dir(copies()).unwrap().map(|entry| entry.unwrap().path()) {
        if case.extension().is_some_and(|extension| extension == "rs") {
            gives_its_error(&case);
        }
    }
}

/// Compiles all cases in a process of its own. Each must fail: `trybuild`'s output is shown only if
/// one does not.
fn compile_all() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "compile_copies"])
        .env("TRYBUILD", "overwrite")
        .output()
        .unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{out}{err}");
}

#[test]
#[ignore = "run by `misuse_does_not_compile`"]
fn compile_copies() {
    if std::env::var_os("TRYBUILD").is_some() {
        trybuild::TestCases::new().compile_fail(copies().join("*.rs"));
    }
}

/// Checks that a case was refused for the reason in its first line.
fn gives_its_error(case: &Path) {
    let (times, error) = expected(case);
    let stderr = fs::read_to_string(case.with_extension("stderr")).unwrap();
    let found = errors(&stderr, &error);
    assert!(found >= times, "{}: {found} times \"{error}\" in\n{stderr}", case.display());
}
