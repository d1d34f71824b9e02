//! Runs every model of every queue, each as a test of its own. With `--nocapture` it prints each
//! model's number of executions. If `CORELANE_EXPLORED` names a file, it appends what was explored,
//! for `lane verify --explored`. If `CORELANE_FOUND` names a file, it searches for the bounds of
//! all models, and writes those that can be used again.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use corelane_models::{LOOM_KEEPS_VALUES, Model, VACUOUS};
use libtest_mimic::{Arguments, Failed, Trial};

/// Where the results go besides.
#[derive(Default)]
struct Kept {
    explored: Option<Mutex<File>>,
    /// The lines of a file of bounds.
    found: Option<Mutex<BTreeSet<String>>>,
    is_verbose: bool,
}

fn main() -> ExitCode {
    // Without hyphens, as in the names of conformance tests: so one filter finds a queue's tests in
    // all packages.
    let plain = |name: String| name.replace('-', "_");
    let mut arguments = Arguments::from_args();
    arguments.filter = arguments.filter.map(plain);
    let explored = env::var_os("CORELANE_EXPLORED").map(|path| {
        let file = File::options().create(true).append(true).open(path);
        Mutex::new(file.expect("CORELANE_EXPLORED names a file that can be written"))
    });
    let found = env::var_os("CORELANE_FOUND");
    let kept = Arc::new(Kept {
        explored,
        found: found.is_some().then(Mutex::default),
        is_verbose: arguments.nocapture,
    });
    let trial = |model: Model| {
        let kept = Arc::clone(&kept);
        Trial::test(plain(model.to_string()), move || check(&model, &kept))
    };
    let models = corelane_models::all().into_iter().chain(corelane_models::mixed());
    let trials = models.map(trial).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let (Some(path), Some(lines)) = (found, &kept.found) {
        let lines: Vec<_> = lines.lock().expect("no panic").iter().cloned().collect();
        fs::write(path, lines.join("\n") + "\n")
            .expect("CORELANE_FOUND names a file that can be written");
    }
    conclusion.exit_code()
}

fn check(model: &Model, kept: &Kept) -> Result<(), Failed> {
    let start = Instant::now();
    let exploration = if kept.found.is_some() { model.run_within(&[]) } else { model.run() };
    if kept.is_verbose {
        println!("{model}: {exploration}, {:.2?}", start.elapsed());
    }
    if exploration.executions <= VACUOUS {
        return Err("hardly an execution: loom does not see what the threads do".into());
    }
    if exploration.most_values > LOOM_KEEPS_VALUES {
        let values = exploration.most_values;
        return Err(format!("{values} values of a variable are more than loom remembers").into());
    }
    if let Some(file) = &kept.explored {
        let line = serde_json::to_string(&(model.to_string(), &exploration))?;
        writeln!(file.lock().expect("no write panics"), "{line}")?;
    }
    if let Some(lines) = &kept.found {
        // A search may also reach accesses under the bounds that it gives up.
        if model.run_within(&exploration.runs) == exploration {
            let runs: Vec<_> = exploration.runs.iter().map(ToString::to_string).collect();
            lines.lock().expect("no panic").insert(format!("{model} {}", runs.join(" ")));
        }
    }
    Ok(())
}
