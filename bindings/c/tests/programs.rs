//! Programs in C, built with the header and the static library.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// This package.
fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A program's place, in the folder for what tests write.
fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The static library, which Cargo has built beside the tests.
fn library() -> PathBuf {
    env::current_exe().expect("a path").with_file_name("libcorelane_c.a")
}

/// What a command prints. The test fails if the command does.
fn output(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{command:?}: {out}{err}");
    out.into_owned()
}

fn succeeds(command: &str, args: &[&str]) -> bool {
    Command::new(command).args(args).output().is_ok_and(|output| output.status.success())
}

/// Builds a program of one file with the library. `None` if there is no compiler.
fn build(compiler: &str, standard: &str, source: &str) -> Option<PathBuf> {
    if !succeeds(compiler, &["--version"]) {
        println!("left out: there is no {compiler}");
        return None;
    }
    let source = folder().join(source);
    let built = program(&source.file_name().expect("a name").to_string_lossy().replace('.', "-"));
    output(
        Command::new(compiler)
            .args([
                standard,
                "-O1",
                "-Wall",
                "-Wextra",
                "-Wpedantic",
                "-Werror",
                "-D_GNU_SOURCE",
                "-I",
            ])
            .arg(folder().join("include"))
            .arg(source)
            .arg(library())
            .args(["-lpthread", "-ldl", "-lm", "-o"])
            .arg(&built),
    );
    Some(built)
}

/// What a program prints. Under valgrind, if it is there: then the test fails if memory is used
/// after its end, or leaks.
fn checked(program: &Path, argument: &str) -> String {
    let mut command = match succeeds("valgrind", &["--version"]) {
        true => {
            let mut valgrind = Command::new("valgrind");
            valgrind.args(["-q", "--error-exitcode=3", "--leak-check=full"]);
            // The standard library keeps a few bytes for a thread that C has made.
            valgrind.args(["--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"]);
            valgrind.arg(program);
            valgrind
        }
        false => Command::new(program),
    };
    output(command.arg(argument))
}

#[test]
fn the_example_counts_all_numbers() {
    let Some(built) = build("cc", "-std=c99", "examples/threads.c") else { return };
    assert_eq!(checked(&built, ""), "2000 numbers, sum 999000\n");
}

#[test]
fn each_call_does_what_the_header_says() {
    let Some(built) = build("cc", "-std=c11", "tests/c/calls.c") else { return };
    let socket = program(&format!("calls-{}", std::process::id()));
    assert_eq!(checked(&built, &socket.to_string_lossy()), "all calls are as documented\n");
}

#[test]
fn the_cpp_header_works_with_and_without_exceptions() {
    for standard in ["-std=c++17", "-std=c++20"] {
        let Some(built) = build("c++", standard, "tests/c/calls.cpp") else { return };
        assert_eq!(checked(&built, ""), "all calls are as documented\n");
    }
    let Some(built) = build("c++", "-fno-exceptions", "tests/c/calls.cpp") else { return };
    assert_eq!(output(&mut Command::new(built)), "all calls are as documented\n");
}

/// DPDK's forwarding over its own rings and over `bbq`. The program itself fails if a packet is
/// lost, doubled or overtaken.
#[test]
fn dpdk_forwards_every_packet_over_both_rings() {
    if !succeeds("pkg-config", &["--exists", "libdpdk"]) {
        println!("left out: DPDK is not installed: apt install libdpdk-dev dpdk");
        return;
    }
    let built = program("dpdk-forward");
    output(Command::new(folder().join("dpdk/build")).arg(library()).arg(&built));
    let table = output(Command::new(built).args(["--", "--rounds=1", "--ms=10", "--capacity=64"]));
    for ring in ["rte_ring, SP/SC", "bbq, one handle a side", "rte_ring, MP/MC", "bbq, clones"] {
        let rows: Vec<_> = table.lines().filter_map(|line| line.strip_prefix(ring)).collect();
        assert_eq!(rows.len(), 2, "between server and clients, and under ports: {table}");
        let packets = |row: &str| row.split_whitespace().next()?.parse::<u64>().ok();
        assert!(rows.into_iter().all(|row| packets(row) > Some(0)), "{table}");
    }
    assert!(table.contains("No packet was lost, doubled or overtaken"), "{table}");
}
