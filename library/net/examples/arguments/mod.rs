//! The arguments of an example, and how it ends.

use std::error::Error;
use std::process::ExitCode;

/// Runs an example with its arguments. `None` says that they are wrong.
pub fn run(
    usage: &str,
    example: impl FnOnce(&[&str]) -> Option<Result<(), Box<dyn Error>>>,
) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match example(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        None => {
            eprintln!("usage: {usage}");
            ExitCode::from(2)
        }
    }
}
