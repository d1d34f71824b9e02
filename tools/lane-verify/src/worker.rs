//! One run of one model, in a process of its own.
//!
//! A queue with a weakened ordering may do anything: free memory twice, panic in a destructor, loop
//! for ever. This must not affect the next run.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::panic::{PanicHookInfo, UnwindSafe, catch_unwind, set_hook};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use corelane_models::{Exploration, Model, Weakening, all, big, canary, seeded};
use serde::{Deserialize, Serialize};

/// A part of loom's message when a run does not repeat itself, which has nothing to do with
/// orderings.
const REPLAY_DIFFERS: &str = "fully deterministic";
/// After this time a run is taken for endless.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// The run of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Errand {
    /// A model by its name, as the sources are or with one ordering weaker.
    Model { name: String, weakening: Option<Weakening> },
    /// The broken copy of this queue's mechanism.
    Seeded { queue: String },
}

/// The outcome of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// No execution failed.
    Passed(Exploration),
    /// An execution failed.
    Failed { why: String },
    /// The run gave no answer: it was ended from outside, or took too long.
    Undecided { why: String },
}

pub(crate) fn run(errand: &Errand) -> io::Result<Answer> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--worker");
    // loom also takes limits from the environment.
    let is_looms = |(name, _): &(OsString, _)| name.to_string_lossy().starts_with("LOOM_");
    std::env::vars_os().filter(is_looms).for_each(|(name, _)| _ = command.env_remove(name));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    // Open until the end: when it is closed, the child knows that no process waits for it any more.
    let mut stdin = child.stdin.take().expect("it is piped");
    // If the child has ended already, its exit status gives the answer.
    let _ = writeln!(stdin, "{}", serde_json::to_string(errand)?);
    let output = child.wait_with_output()?;
    // The first line counts: later failures are consequences of the first.
    let answer = output.stdout.split(|&byte| byte == b'\n').next().unwrap_or_default();
    Ok(serde_json::from_slice(answer).unwrap_or_else(|_| silent_end(output.status)))
}

/// The answer of a process that ended without output.
fn silent_end(status: ExitStatus) -> Answer {
    let why = format!("the process that ran it ended with {status}");
    match is_crash(status) {
        true => Answer::Failed { why },
        false => Answer::Undecided { why },
    }
}

#[cfg(unix)]
fn is_crash(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;

    // The same numbers on all systems: illegal instruction, abort, arithmetic, segment; and the bus
    // error of Linux and of other systems.
    status.signal().is_some_and(|signal| [4, 6, 7, 8, 10, 11].contains(&signal))
}

#[cfg(not(unix))]
fn is_crash(status: ExitStatus) -> bool {
    // Exceptions have negative codes.
    status.code().is_some_and(|code| code < 0)
}

pub(crate) fn serve() -> ExitCode {
    let mut errand = String::new();
    let errand =
        io::stdin().read_line(&mut errand).ok().and_then(|_| serde_json::from_str(&errand).ok());
    let Some(errand) = errand else {
        eprintln!("error: --worker is for lane-verify's own use");
        return ExitCode::from(2);
    };
    thread::spawn(|| {
        let _ = io::stdin().read_to_string(&mut String::new());
        std::process::exit(1);
    });
    thread::spawn(|| {
        thread::sleep(LIMIT);
        answer(&Answer::Undecided { why: "it does not end".into() });
        std::process::exit(1);
    });
    let work = work(&errand);
    set_hook(Box::new(|panic| fail(first_line(&message(panic)))));
    match catch_unwind(work) {
        Ok(run) => {
            answer(&Answer::Passed(run));
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

/// The function to be run. From here on only the model can panic.
fn work(errand: &Errand) -> Box<dyn FnOnce() -> Exploration + UnwindSafe> {
    match errand.clone() {
        Errand::Model { name, weakening: None } => {
            let model = find(&name);
            Box::new(move || model.run())
        }
        Errand::Model { name, weakening: Some(weakening) } => {
            let model = find(&name);
            Box::new(move || model.run_weakened(&weakening))
        }
        Errand::Seeded { queue } => {
            let bug = seeded().into_iter().find(|bug| bug.queue == queue);
            Box::new(bug.expect("the queue has a seeded bug").broken)
        }
    }
}

fn find(name: &str) -> Model {
    let models = [all(), canary(), big()].into_iter().flatten();
    models.into_iter().find(|model| model.to_string() == name).expect("the model is known")
}

fn fail(why: &str) {
    let why = why.to_owned();
    answer(&match why.contains(REPLAY_DIFFERS) {
        true => Answer::Undecided { why },
        false => Answer::Failed { why },
    });
}

/// Writes one line. If the parent is gone, an error is ignored.
fn answer(answer: &Answer) {
    let line = serde_json::to_string(answer).expect("an answer is plain data");
    let _ = writeln!(io::stdout().lock(), "{line}");
}

fn message(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref().cloned()).unwrap_or_else(|| "it panicked".into())
}

/// The first line of loom's message; the other lines have places in loom's own sources.
fn first_line(message: &str) -> &str {
    message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or(message)
}
