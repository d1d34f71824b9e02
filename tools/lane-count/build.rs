//! Tells the program which compiler has built it.

use std::process::Command;

fn main() {
    let rustc = std::env::var_os("RUSTC").expect("cargo names the compiler");
    let output = Command::new(rustc).arg("--version").output().expect("the compiler runs");
    println!("cargo:rustc-env=COMPILER={}", String::from_utf8_lossy(&output.stdout).trim());
    println!("cargo:rerun-if-changed=build.rs");
}
