//! One run of one model, in a process of its own.
//!
//! A queue with a weakened ordering may do anything: free memory twice, panic in a destructor, loop
//! for ever. None of that may touch the next run.

use std::io::{self, Read, Write};
use std::panic::{PanicHookInfo, catch_unwind, set_hook};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use corelane_models::{Model, Run, Weakening, all, big, canary, seeded};
use serde::{Deserialize, Serialize};

/// After this long a run is taken for endless.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Job {
    /// A model by its name, as the sources are or with one ordering weaker.
    Model { name: String, weakening: Option<Weakening> },
    /// The broken copy of this queue's mechanism.
    Seeded { queue: String },
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// No execution went wrong.
    Passed(Run),
    /// One did.
    Failed { why: String },
}

/// Runs `job` in a process of its own.
pub(crate) fn run(job: &Job) -> io::Result<Answer> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["verify", "--worker"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let stdin = child.stdin.take().expect("it is piped");
    serde_json::to_writer(stdin, job)?;
    let output = child.wait_with_output()?;
    // The first line counts: what follows a failure is its consequence.
    let answer = output.stdout.split(|&byte| byte == b'\n').next().unwrap_or_default();
    Ok(serde_json::from_slice(answer).unwrap_or_else(|_| Answer::Failed {
        why: format!("the process that ran it ended with {}", output.status),
    }))
}

/// Does what [`run`] asks for.
pub(crate) fn serve() -> ExitCode {
    let mut job = String::new();
    let job =
        io::stdin().read_to_string(&mut job).ok().and_then(|_| serde_json::from_str(&job).ok());
    let Some(job) = job else {
        eprintln!("error: --worker is for lane's own use");
        return ExitCode::from(2);
    };
    set_hook(Box::new(|panic| fail(first_line(&message(panic)))));
    thread::spawn(|| {
        thread::sleep(LIMIT);
        fail("it does not end");
        std::process::exit(1);
    });
    match catch_unwind(|| carry_out(&job)) {
        Ok(run) => {
            answer(&Answer::Passed(run));
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

fn carry_out(job: &Job) -> Run {
    match job {
        Job::Model { name, weakening: None } => (find(name).run)(),
        Job::Model { name, weakening: Some(weakening) } => find(name).run_weakened(weakening),
        Job::Seeded { queue } => {
            let bug = seeded().into_iter().find(|bug| bug.queue == queue);
            (bug.expect("the queue has a seeded bug").broken)()
        }
    }
}

fn find(name: &str) -> Model {
    let models = [all(), canary(), big()].into_iter().flatten();
    models.into_iter().find(|model| model.to_string() == name).expect("the model is known")
}

fn fail(why: &str) {
    answer(&Answer::Failed { why: why.to_owned() });
}

/// Writes one line. Nobody reads it if the parent is gone.
fn answer(answer: &Answer) {
    let line = serde_json::to_string(answer).expect("an answer is plain data");
    let _ = writeln!(io::stdout().lock(), "{line}");
}

fn message(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref().cloned()).unwrap_or_else(|| "it panicked".into())
}

/// What loom says in its first line; the others have places in its own sources.
fn first_line(message: &str) -> &str {
    message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or(message)
}
