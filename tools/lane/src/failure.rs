//! How `lane` fails: one line on stderr and an exit code.

use std::io;
use std::process::ExitCode;

/// Why `lane` stops.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command can't be carried out as given; the text names the mend.
    Usage(String),
    /// Something went wrong underway.
    Run(String),
    /// Whoever read our output has seen enough.
    PipeClosed,
}

impl Failure {
    /// Tells the user, and says what to tell the shell.
    pub(crate) fn report(self) -> ExitCode {
        let (text, code) = match self {
            Self::Usage(text) => (text, 2),
            Self::Run(text) => (text, 1),
            Self::PipeClosed => return ExitCode::SUCCESS,
        };
        eprintln!("error: {text}");
        ExitCode::from(code)
    }
}

impl From<io::Error> for Failure {
    /// An error of writing to stdout.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::PipeClosed,
            _ => Self::Run(format!("can't write the output: {error}")),
        }
    }
}
