//! Runs every model of every queue, each as a test of its own. With `--nocapture` it prints each model's number of
//! executions. If `CORELANE_EXPLORED` names a file, it appends what was explored, for `lane verify --explored`.

use std::env;
use std::fs::File;
use std::io::Write;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use corelane_models::{LOOM_KEEPS_VALUES, Model, VACUOUS};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    // Without hyphens, as in the names of conformance tests: so one filter finds a queue's tests in all packages.
    let plain = |name: String| name.replace('-', "_");
    let mut arguments = Arguments::from_args();
    arguments.filter = arguments.filter.map(plain);
    let verbose = arguments.nocapture;
    let explored = env::var_os("CORELANE_EXPLORED").map(|path| {
        let file = File::options().create(true).append(true).open(path);
        Arc::new(Mutex::new(file.expect("CORELANE_EXPLORED names a file that can be written")))
    });
    let trial = |model: Model| {
        let explored = explored.clone();
        Trial::test(plain(model.to_string()), move || check(&model, verbose, explored.as_deref()))
    };
    let models = corelane_models::all().into_iter().chain(corelane_models::mixed());
    let trials = models.map(trial).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn check(model: &Model, verbose: bool, explored: Option<&Mutex<File>>) -> Result<(), Failed> {
    let start = Instant::now();
    let exploration = model.run();
    if verbose {
        println!("{model}: {exploration}, {:.2?}", start.elapsed());
    }
    if exploration.executions <= VACUOUS {
        return Err("hardly an execution: loom does not see what the threads do".into());
    }
    if exploration.most_values > LOOM_KEEPS_VALUES {
        let values = exploration.most_values;
        return Err(format!("{values} values of a variable are more than loom remembers").into());
    }
    if let Some(file) = explored {
        let line = serde_json::to_string(&(model.to_string(), exploration))?;
        writeln!(file.lock().expect("no write panics"), "{line}")?;
    }
    Ok(())
}
