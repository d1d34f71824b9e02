//! Runs every model of every queue, each as a test of its own. With `--nocapture` it tells how many
//! executions each has.

use std::env;
use std::process::{Command, ExitCode};
use std::time::Instant;

use corelane_models::{LOOM_KEEPS_VALUES, Model, VACUOUS};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    // loom maps and unmaps two stacks for every execution, and threads of one process get into each
    // other's way with that: two of them are slower than one. Processes don't.
    let check = match arguments.test_threads {
        Some(1) => check_here,
        _ => check_in_a_process,
    };
    let verbose = arguments.nocapture;
    let trial = |model: Model| Trial::test(model.to_string(), move || check(model, verbose));
    let models = corelane_models::all().into_iter().chain(corelane_models::mixed());
    let trials = models.map(trial).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Calls this program for one model.
fn check_in_a_process(model: Model, verbose: bool) -> Result<(), Failed> {
    let mut command = Command::new(env::current_exe()?);
    command.args([&model.to_string(), "--exact", "--test-threads=1"]);
    if verbose {
        command.arg("--nocapture");
    }
    let output = command.output()?;
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    if verbose {
        said.lines()
            .filter(|line| line.contains(" executions"))
            .for_each(|line| println!("{line}"));
    }
    if output.status.success() { Ok(()) } else { Err(said.into_owned().into()) }
}

fn check_here(model: Model, verbose: bool) -> Result<(), Failed> {
    let start = Instant::now();
    let run = (model.run)();
    if verbose {
        println!("{model}: {run}, {:.2?}", start.elapsed());
    }
    if run.executions <= VACUOUS {
        return Err("hardly an execution: loom does not see what the threads do".into());
    }
    if run.most_values > LOOM_KEEPS_VALUES {
        let values = run.most_values;
        return Err(format!("{values} values of a variable are more than loom remembers").into());
    }
    Ok(())
}
