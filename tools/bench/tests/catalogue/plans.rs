//! How long a run takes.

use std::time::Duration;

use clap::Parser;
use corelane_bench::BenchArgs;

/// A command line with the options of a suite.
#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    suite: BenchArgs,
}

#[test]
fn default_plans_end_within_three_minutes_and_have_five_rounds() {
    // If all threads share a core, measurements are longest.
    for line in ["spsc", "mpmc", "mpmc --cores 0", "ring", "wait", "relaxed"] {
        let line = Line::parse_from(["lane"].into_iter().chain(line.split(' ')));
        let plan = line.suite.plan().expect("the options can be carried out");
        let (time, round) = (plan.time(), plan.round_time());
        // The last round may exceed the limit.
        let longest = time.mul_f64(1.2);
        assert!(longest < Duration::from_secs(180), "{}: {longest:?}", plan.summary());
        assert!(time >= 5 * round, "{}: a round takes {round:?}", plan.summary());
    }
}
