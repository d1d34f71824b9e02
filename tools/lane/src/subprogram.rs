//! Commands that are programs of their own, found as cargo finds its subcommands.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use corelane_report::Failure;

/// Runs the program `name` with `args`. In a checkout cargo builds it, so that it is never older
/// than the sources. Otherwise it is the program beside this one, or on the path.
///
/// # Errors
///
/// If the program is not found.
pub(crate) fn start(name: &str, args: &[OsString]) -> Result<ExitCode, Failure> {
    let here = env::current_exe().unwrap_or_default();
    let beside = here.with_file_name(format!("{name}{}", env::consts::EXE_SUFFIX));
    let mut candidates = Vec::new();
    if let Some(manifest) = checkout(&here, name) {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["run", "--release", "--quiet", "--package", name, "--manifest-path"]);
        cargo.arg(manifest).arg("--");
        candidates.push(cargo);
    }
    candidates.extend([Command::new(beside), Command::new(name)]);
    for mut command in candidates {
        match become_it(command.args(args)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::Run(format!("can't start {name}: {error}"))),
            Ok(code) => return Ok(code),
        }
    }
    Err(Failure::Usage(format!(
        "{name} is neither beside lane nor on the path; build it with `cargo build --release -p {name}`, or \
         `cargo install --path tools/{name}`"
    )))
}

/// The manifest of the workspace in which this program was built, if the workspace has the program
/// `name`.
fn checkout(here: &Path, name: &str) -> Option<PathBuf> {
    let has_it = |root: &&Path| root.join("tools").join(name).join("Cargo.toml").is_file();
    here.ancestors().find(has_it).map(|root| root.join("Cargo.toml"))
}

/// Replaces this program by the other one, so that signals and the exit code are the other's.
#[cfg(unix)]
fn become_it(command: &mut Command) -> io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;

    Err(command.exec())
}

/// Runs the other program and waits for its end. Ctrl-C reaches both programs.
#[cfg(not(unix))]
fn become_it(command: &mut Command) -> io::Result<ExitCode> {
    corelane_report::interrupt::listen();
    let status = command.status()?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
