//! The command line of `lane count`.

use std::process::{Command, Output};

fn count(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lane-count")).args(arguments).output().expect("it starts")
}

fn has_valgrind() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok()
}

#[test]
fn an_unknown_queue_is_a_wrong_command_line() {
    let output = count(&["chanel"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("chanel") && text.lines().count() == 1, "{text}");
}

#[test]
fn counts_that_are_kept_are_found_again() {
    if !has_valgrind() {
        eprintln!("left out: there is no valgrind; `apt install valgrind`");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counts.json");
    let path = file.to_str().unwrap();
    let output = count(&["linering", "--json", path]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&file).unwrap();
    let again = count(&["linering", "--kept", path]);
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stdout));
    // Ten times as many instructions are a change.
    let other = text.replacen("\"instructions\": ", "\"instructions\": 9", 1);
    assert_ne!(other, text);
    std::fs::write(&file, other).unwrap();
    let changed = count(&["linering", "--kept", path]);
    assert_eq!(changed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&changed.stdout).contains("linering, turns"));
}
