//! The command line of both programs.

use clap::Parser;

/// The options. Bad ones get one line on standard error, and exit code 2.
pub fn options<P: Parser>() -> P {
    P::try_parse().unwrap_or_else(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        let text = error.to_string();
        let line = text.split("\n\n").next().unwrap_or_default();
        eprintln!("{}", line.split_whitespace().collect::<Vec<_>>().join(" "));
        std::process::exit(2)
    })
}
