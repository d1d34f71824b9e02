//! Ctrl-C, SIGTERM or SIGHUP: the first signal ends the run and keeps the results, the second ends
//! the program.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The exit code that a shell reports after Ctrl-C. It is used for all these signals.
const EXIT_CODE: u8 = 130;

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Installs the handler.
pub fn listen() {
    let handler = || {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(EXIT_CODE));
        }
        eprintln!("\nending with what there is; Ctrl-C again to quit without");
    };
    // Without a handler Ctrl-C ends the program at once. It can still measure.
    let _ = ctrlc::set_handler(handler);
}

/// Whether the run should end.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Whether the run should end, if that becomes known within `time`.
pub fn requested_within(time: Duration) -> bool {
    let begin = Instant::now();
    while !requested() && begin.elapsed() < time {
        std::thread::sleep(Duration::from_millis(5));
    }
    requested()
}

/// `otherwise`, unless Ctrl-C ended the run.
pub fn exit_code(otherwise: u8) -> ExitCode {
    ExitCode::from(if requested() { EXIT_CODE } else { otherwise })
}
