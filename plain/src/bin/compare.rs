//! Each queue's loop in `lane` beside the same loop in `plain`, in Cargo's plain release profile
//! and with one codegen unit. Prints a Markdown table.

#[path = "../cli.rs"]
mod cli;

use std::collections::BTreeMap;
use std::fs::read_to_string;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;
use clap::builder::PossibleValuesParser;
use serde_json::Value;

/// The name of a kind of measurement in `plain`, and how `lane bench` measures the same.
type Case = (&'static str, &'static str);

const CASES: [Case; 11] = [
    ("loop", "spsc --test stream --item 8 --handles loop --wait spin --items 2097152"),
    ("field", "spsc --test stream --item 8 --handles field --wait spin --items 2097152"),
    ("several", "mpmc --test throughput --threads 2x2 --placement mixed --duration 40ms"),
    ("blocking", "wait --test stream --threads 2x2 --placement mixed --duration 40ms"),
    ("blocking-2x1", "wait --test stream --threads 2x1 --placement mixed --duration 40ms"),
    ("tasks", "wait --mode async --runtime tokio --test stream --threads 2x2 --placement free"),
    ("tasks-2x1", "wait --mode async --runtime tokio --test stream --threads 2x1 --placement free"),
    ("processes-rtt", "ipc --test rtt --record 64 --strategy adaptive,spin"),
    ("processes-stream", "ipc --test stream --record 64 --strategy adaptive,spin"),
    ("spawn-join", "executor --test spawn-join --workers 2 --duration 30ms"),
    ("ping-pong", "executor --test ping-pong --workers 2 --duration 30ms"),
];

/// Compares each loop in `lane` with the same loop in a program of its own.
#[derive(Parser)]
struct Options {
    /// How often all three programs run in turns.
    #[arg(long, value_name = "N", default_value = "9")]
    rounds: NonZeroUsize,
    /// Kinds of measurements; all without it.
    #[arg(long, value_name = "LIST", value_delimiter = ',',
          value_parser = PossibleValuesParser::new(CASES.map(|case| case.0)))]
    case: Vec<String>,
    /// Build the three programs, and measure nothing.
    #[arg(long)]
    build: bool,
}

fn main() -> ExitCode {
    let options: Options = cli::options();
    match compare(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The directory of this workspace.
fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn compare(options: &Options) -> Result<(), String> {
    build()?;
    if options.build {
        return Ok(());
    }
    same_versions();
    let rounds = options.rounds.get();
    println!("{HEADING}");
    for case in CASES.iter().filter(|case| is_chosen(options, case)) {
        let queues = queues(case.0)?;
        let mut turns = Vec::new();
        for round in 1..=rounds {
            eprintln!("{}: round {round} of {rounds}", case.0);
            turns.push([
                of_lane(case.1, &queues)?,
                of_plain("release", case.0)?,
                of_plain("one-unit", case.0)?,
            ]);
        }
        queues.iter().for_each(|queue| print_row(case.0, queue, &turns));
    }
    Ok(())
}

fn is_chosen(options: &Options, case: &Case) -> bool {
    options.case.is_empty() || options.case.iter().any(|id| id == case.0)
}

/// Nanoseconds of each queue in one run of a program.
type Values = BTreeMap<String, f64>;

const HEADING: &str =
    "| suite | queue | `lane` | plain | one unit | `lane` ÷ better | quartiles | better ÷ itself |
|---|---|--:|--:|--:|--:|--:|--:|";

/// Medians over rounds. The ratio is that of `lane` to the faster of the other two, in each round.
/// The last column has the quartiles of this faster program, divided by its median: how much its
/// own runs differ.
fn print_row(case: &str, queue: &str, turns: &[[Values; 3]]) {
    let of = |program: usize| turns.iter().filter_map(move |turn| turn[program].get(queue));
    let medians = [0, 1, 2].map(|program| quartiles(of(program).copied())[1]);
    let better = if medians[1] <= medians[2] { 1 } else { 2 };
    let ratio = |turn: &[Values; 3]| Some(turn[0].get(queue)? / turn[better].get(queue)?);
    let [low, median, high] = quartiles(turns.iter().filter_map(ratio));
    let [least, own, most] = quartiles(of(better).copied());
    let [least, most] = [least / own, most / own];
    let [lane, plain, one] = medians.map(short);
    println!(
        "| {case} | {queue} | {lane} | {plain} | {one} | {median:.2} | {low:.2}–{high:.2} | {least:.2}–{most:.2} |"
    );
}

fn quartiles(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    // A program without this queue has no value.
    [1, 2, 3].map(|quarter| {
        values.get(quarter * values.len().saturating_sub(1) / 4).copied().unwrap_or(f64::NAN)
    })
}

/// Three digits.
fn short(value: f64) -> String {
    match value {
        _ if value < 10.0 => format!("{value:.2}"),
        _ if value < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Builds what is missing or old.
fn build() -> Result<(), String> {
    let main = here().join("../Cargo.toml");
    let own = here().join("Cargo.toml");
    for (manifest, arguments) in [
        (&main, &["--release", "--bin", "lane"][..]),
        (&own, &["--release", "--bin", "plain"]),
        (&own, &["--profile", "one-unit", "--bin", "plain"]),
    ] {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let built = Command::new(cargo)
            .args(["build", "--quiet", "--manifest-path"])
            .arg(manifest)
            .args(arguments)
            .stdout(Stdio::null())
            .status();
        match built {
            Ok(status) if status.success() => {}
            _ => return Err(format!("cargo build {} failed", arguments.join(" "))),
        }
    }
    Ok(())
}

/// Says which crates have another version in `lane` than here.
fn same_versions() {
    let versions = |path: &str| -> BTreeMap<String, String> {
        let text = read_to_string(here().join(path)).unwrap_or_default();
        let packages = text.split("[[package]]").skip(1);
        let value = |package: &str, key: &str| {
            let line = package.lines().find(|line| line.starts_with(key))?;
            Some(line.split('"').nth(1)?.to_owned())
        };
        packages
            .filter_map(|package| Some((value(package, "name")?, value(package, "version")?)))
            .collect()
    };
    let (of_lane, own) = (versions("../Cargo.lock"), versions("Cargo.lock"));
    for (name, version) in own {
        if let Some(other) = of_lane.get(&name).filter(|other| **other != version) {
            eprintln!("note: {name} is {other} in lane, and {version} in plain");
        }
    }
}

/// What a program prints.
fn printed(command: &mut Command) -> Result<String, String> {
    let output = command.stderr(Stdio::null()).output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{command:?} failed: {}", output.status)),
    }
}

fn plain(profile: &str, case: &str) -> Command {
    let mut command = Command::new(here().join("target").join(profile).join("plain"));
    command.args(["1", "--bare", "--case", case]);
    command
}

/// The queues of a case, by the ids that they have in `lane`.
fn queues(case: &str) -> Result<Vec<String>, String> {
    let list = printed(plain("release", case).arg("--list"))?;
    let is_of_case = |line: &&str| line.starts_with(&format!("{case}\t"));
    let lines = list.lines().filter(is_of_case);
    Ok(lines.filter_map(|line| Some(line.split('\t').nth(1)?.to_owned())).collect())
}

fn of_plain(profile: &str, case: &str) -> Result<Values, String> {
    let text = printed(&mut plain(profile, case))?;
    let value = |line: &str| {
        let mut fields = line.split('\t').skip_while(|field| *field == case);
        Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
    };
    Ok(text
        .lines()
        .filter(|line| line.starts_with(&format!("{case}\t")))
        .filter_map(value)
        .collect())
}

fn of_lane(arguments: &str, queues: &[String]) -> Result<Values, String> {
    let (suite, options) = arguments.split_once(' ').expect("a suite and its options");
    let mut lane = Command::new(here().join("../target/release/lane"));
    lane.args(["bench", suite]).args(queues).args(options.split(' '));
    // Near or far makes no difference here: the rounds of all three programs alternate.
    let text = printed(lane.args(["--rounds", "1", "--far-above", "1e12", "--json", "-"]))?;
    let json: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let results = json["results"].as_array().ok_or("lane has no results")?;
    let value = |result: &Value| {
        let median = result["groups"]["near"]["median"].as_f64()?;
        Some((result["queue"].as_str()?.to_owned(), median))
    };
    Ok(results.iter().rev().filter(|result| result["floor"] != true).filter_map(value).collect())
}
