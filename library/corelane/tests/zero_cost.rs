//! The memory facade costs nothing: the machine code of a push through it is that of a push written
//! by hand, but for the names of registers.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn a_push_through_the_facade_is_a_push_by_hand() {
    let assembly = assembly_of_example();
    let by_facade = fast_path(&assembly, "push_by_corelane");
    let by_hand = fast_path(&assembly, "push_by_hand");
    assert!(by_hand.len() > 8, "found no push in the assembly: {by_hand:?}");
    assert_eq!(by_facade, by_hand);
}

/// Compiles `examples/zero_cost.rs`, optimised, and returns its assembly.
fn assembly_of_example() -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("zero_cost");
    let status = Command::new(env!("CARGO"))
        .args(["rustc", "--quiet", "--release", "--features", "literature"])
        .args(["--example", "zero_cost", "--target-dir"])
        .arg(&target)
        // The crates that other examples use: this one has nothing of them.
        .args(["--config", r#"profile.release.package."*".opt-level=0"#])
        .args(["--", "--emit", "asm", "-C", "codegen-units=1", "-C", "lto=off"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        // Flags of the outer build, such as a sanitizer's, are not what users compile with.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the example does not compile");
    std::fs::read_to_string(newest_assembly(&target)).expect("the assembly is text")
}

fn newest_assembly(target: &Path) -> PathBuf {
    let examples = std::fs::read_dir(target.join("release/examples")).expect("the build made it");
    let files = examples.map(|entry| entry.expect("a file").path());
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "s"))
        .max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok())
        .expect("rustc wrote assembly")
}

/// Instructions of `function` up to its first return, with registers and labels numbered in order
/// of appearance.
fn fast_path(assembly: &str, function: &str) -> Vec<String> {
    let mut names = HashMap::new();
    assembly
        .lines()
        .skip_while(|line| *line != format!("{function}:"))
        .skip(1)
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty() && !line.starts_with('.'))
        .take_while(|line| *line != "retq")
        .map(|line| renamed(line, &mut names))
        .collect()
}

fn renamed(line: &str, names: &mut HashMap<String, usize>) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "%.$_".contains(c);
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(['%', '.']) {
        let end = rest[start..].find(|c| !is_name(c)).map_or(rest.len(), |len| start + len);
        let next = names.len();
        let number = *names.entry(rest[start..end].to_owned()).or_insert(next);
        out += &format!("{}<{number}>", &rest[..start]);
        rest = &rest[end..];
    }
    out + rest
}
