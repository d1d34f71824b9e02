//! Runs every model of every queue, each as a test of its own. With `--nocapture` it tells how many
//! executions each has.

use std::process::ExitCode;
use std::time::Instant;

use corelane_models::{LOOM_KEEPS_VALUES, Model, VACUOUS};
use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // loom maps and unmaps two stacks for every execution, and threads of one process get into each
    // other's way with that: two of them are slower than one.
    arguments.test_threads.get_or_insert(1);
    let verbose = arguments.nocapture;
    let trial = |model: Model| Trial::test(model.to_string(), move || check(model, verbose));
    let models = corelane_models::all().into_iter().chain(corelane_models::mixed());
    let trials = models.map(trial).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn check(model: Model, verbose: bool) -> Result<(), libtest_mimic::Failed> {
    let start = Instant::now();
    let run = (model.run)();
    if verbose {
        print!("{run}, {:.2?} ", start.elapsed());
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
