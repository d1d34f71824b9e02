//! The matrix with the languages that are there, and with a peer that sends wrong items.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn matrix(peers: &[(&str, &Path)], args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_matrix"));
    for (name, program) in peers {
        command.arg("--peer").arg(format!("{name}={}", program.display()));
    }
    command.args(args).output().expect("it starts")
}

fn rust() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_peer"))
}

/// Builds a peer. `None` if there is no compiler.
fn build(compiler: &str, standard: &str, source: &Path) -> Option<PathBuf> {
    if Command::new(compiler).arg("--version").output().is_err() {
        println!("left out: there is no {compiler}: apt install gcc g++");
        return None;
    }
    let name = source.file_name().expect("a name").to_string_lossy().replace('.', "-");
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // Cargo has built it beside the tests.
    let library = env::current_exe().expect("a path").with_file_name("libcorelane_c.a");
    let built_well = Command::new(compiler)
        .args([standard, "-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-I"])
        .arg(folder().join("../c/include"))
        .args([source, &library])
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&built)
        .status();
    assert!(built_well.expect("it starts").success());
    Some(built)
}

#[test]
fn every_language_pushes_to_every_other() {
    let c = build("cc", "-std=c11", &folder().join("peer.c"));
    let cpp = build("c++", "-std=c++17", &folder().join("peer.cpp"));
    let mut peers = vec![("Rust", rust())];
    peers.extend(c.as_deref().map(|program| ("C", program)));
    peers.extend(cpp.as_deref().map(|program| ("C++", program)));
    let output = matrix(&peers, &["--items", "50000", "--kills", "6"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let n = peers.len();
    assert!(text.ends_with(&format!("\n{} passed, 0 failed\n", 2 * n * n + n)), "{text}");
}

#[test]
fn a_wrong_item_is_found() {
    let source = fs::read_to_string(folder().join("peer.c")).expect("it is there");
    let wrong = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong.c");
    fs::write(&wrong, source.replace("0x9E3779B97F4A7C15", "7")).expect("it can be written");
    let Some(wrong) = build("cc", "-std=c11", &wrong) else { return };
    let output = matrix(&[("Rust", rust()), ("wrong", &wrong)], &["--items", "10", "--kills", "0"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("wrong to Rust, items: FAILED") && text.contains("instead of item 1"),
        "{text}"
    );
    assert!(text.ends_with("\n8 passed, 2 failed\n"), "{text}");
}

#[test]
fn wrong_arguments_are_answered_in_one_line() {
    let output = matrix(&[("C", Path::new("nothing"))], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no program nothing"));
}
