//! `lane simulate`: that what they say is what the simulator says, every time.

use std::fs;
use std::process::{Command, Output};

use clap::Parser;
use corelane_bench::{MpmcArgs, Plan, run};
use serde_json::Value;

/// The program with `args`.
fn simulate(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lane-simulate"))
        .args(args)
        .output()
        .expect("it can be started")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[track_caller]
fn assert_success(output: &Output) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}\n{message}", output.status);
}

/// Checks that it refused, with exit code 2 and a message that contains all of `words`.
#[track_caller]
fn assert_refused(output: &Output, words: &[&str]) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.starts_with("error: ") && !message.contains("panicked"), "{message}");
    for word in words {
        assert!(message.contains(word), "no {word:?} in: {message}");
    }
}

/// Runs `lane` with `args` and a file for its results, and returns these.
fn results(args: &[&str], flag: &str) -> String {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("results");
    let path = path.to_str().expect("a path of text");
    assert_success(&simulate(&[args, &[flag, path]].concat()));
    fs::read_to_string(path).expect("the file was written")
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&results(args, "--json")).expect("it is JSON")
}

#[test]
fn lamports_queue_misses_three_times_on_three_lines() {
    let output = simulate(&["--annotate", "lq"]);
    assert_success(&output);
    let text = stdout(&output);
    assert!(text.contains("3.00 misses per item of the producer, 3.00 of the consumer"), "{text}");
    for source in ["header().read.load(Ordering::Acquire)", "slots().write(write, item)"] {
        let line = text.lines().find(|line| line.contains(source)).expect("a line of the source");
        assert!(line.trim_start().starts_with("1.00"), "{line}");
    }
}

#[test]
fn sides_and_lines_add_up() {
    let json = json(&["spsc", "lq", "bqueue", "--regime", "fp", "--items", "2000"]);
    assert_eq!(json["schema"], 1);
    assert_eq!(json["cells"].as_array().map(Vec::len), Some(2));
    for cell in json["cells"].as_array().expect("a list") {
        for side in ["producer", "consumer"] {
            let side = &cell[side];
            let number = |of: &Value, name: &str| of[name].as_f64().expect("a number");
            let lines = side["lines"].as_array().expect("a list");
            for name in ["misses", "read_misses", "write_misses", "upgrades", "stall_ns"] {
                let sum: f64 = lines.iter().map(|line| number(line, name)).sum();
                assert!((sum - number(side, name)).abs() < 1e-6, "{name} of {side}");
            }
            assert_eq!(side["items"], 2000);
        }
    }
}

#[test]
fn a_run_depends_on_the_seed_and_nothing_else() {
    let run = |seed: &str| {
        // With so many cores, some are due at the same time.
        let mut json = json(&["ffq", "--items", "500", "--cores", "6", "--seed", seed]);
        json["cells"].take()
    };
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
}

#[test]
fn the_page_has_maps_or_sources() {
    let page = results(&["spsc", "lq", "--items", "300", "--grid"], "--html");
    assert_eq!(page.matches("<svg").count(), 2, "the producer's map and the consumer's");
    let page = results(&["spsc", "lq", "--items", "300"], "--html");
    assert!(page.contains("misses per item") && page.contains("lamport/mod.rs"));
    assert!(!page.contains("src=\"http"), "the page needs no network");
}

#[test]
fn pipelines_grow_core_by_core() {
    let args = "spsc lq bqueue --items 300 --capacity 64 --sweep cores=1..4";
    let sweep: Vec<_> = args.split(' ').collect();
    let json = json(&sweep);
    let cells = json["cells"].as_array().expect("a list");
    let cores = |cell: &Value| cell["cores"].as_array().map(Vec::len);
    let numbers: Vec<_> = cells.iter().filter_map(cores).collect();
    assert_eq!(numbers, [1, 1, 2, 2, 3, 3, 4, 4]);
    for cell in cells {
        assert_eq!(cell["forwarders"].is_object(), cores(cell) > Some(2), "{cell}");
        assert_eq!(cell["producer"]["misses"] == 0.0, cores(cell) == Some(1), "{cell}");
    }
    let page = results(&sweep, "--html");
    assert_eq!(page.matches("<svg").count(), 2, "times, and misses");

    let row = ["spsc", "lq", "--items", "200", "--cores", "3"];
    let output = simulate(&row);
    assert!(stdout(&output).contains("F misses"), "{}", stdout(&output));
    assert!(results(&row, "--html").contains("F misses"));
}

#[test]
fn a_calibration_is_a_machine() {
    let cores = corelane_bench::cores(None).expect("cores");
    let calibration = corelane_bench::Calibration::measure(cores);
    let file = serde_json::to_string_pretty(&calibration).expect("plain data");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("machine.json");
    fs::write(&path, &file).expect("a file can be written");
    let machine = path.to_str().expect("a path of text");
    let output = simulate(&["spsc", "lq", "--machine", machine, "--items", "300"]);
    assert_success(&output);
    assert!(stdout(&output).contains("cores 0 and 1"));

    fs::write(&path, file.replace("\"pause_ns\": ", "\"pause_ns\": -")).expect("as above");
    let output = simulate(&["spsc", "--machine", machine]);
    assert_refused(&output, &["impossible", "lane calibrate --json"]);
}

#[test]
fn predictions_stand_beside_measurements() {
    let json = json(&["lq", "--validate", "--rounds", "1"]);
    assert_eq!(json["schema"], 1);
    assert!(json["median_abs_error"].is_f64() || json["median_abs_error"].is_null());
    for cell in json["cells"].as_array().expect("a list") {
        assert_eq!(cell["queue"], "lq");
        assert!(cell["measured_ns"].as_f64() > Some(0.0), "{cell}");
        assert!(cell["predicted_ns"].as_f64() > Some(0.0), "{cell}");
    }
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let simulate = |args: &[&str]| simulate(&[&["spsc"], args].concat());
    assert_refused(&simulate(&["lqq"]), &["'lq'"]);
    assert_refused(&simulate(&["--pair", "0,9"]), &["cores 0 to 7", "--pair"]);
    assert_refused(&simulate(&["--pair", "1,1"]), &["two different"]);
    assert_refused(&simulate(&["--cores", "9"]), &["i7 has 8 cores"]);
    assert_refused(&simulate(&["--cores", "0"]), &["choose 1 or more"]);
    assert_refused(&simulate(&["--cores", "3", "--regime", "turns"]), &["two threads"]);
    assert_refused(&simulate(&["--sweep", "cores=1..96"]), &["i7 has 8 cores"]);
    assert_refused(&simulate(&["--sweep", "capacity=1..2"]), &["cores=1..96"]);
    assert_refused(&simulate(&["--sweep", "cores=1..4", "--grid"]), &["--grid"]);
    assert_refused(&simulate(&["--machine", "vax"]), &["vax", "xeon40", "calibrated"]);
    assert_refused(&simulate(&["--machine", "Cargo.toml"]), &["no calibration", "lane calibrate"]);
    assert_refused(&simulate(&["--capacity", "0"]), &["choose 1 or more"]);
    assert_refused(&simulate(&["--capacity", "18446744073709551615"]), &["--capacity"]);
    assert_refused(&simulate(&["--rounds", "3"]), &["--validate"]);
    assert_refused(&simulate(&["--json", "/no/such/place"]), &["can't write"]);
}

#[test]
fn teams_have_a_row_for_each_queue_that_allows_them() {
    let args = "mpmc --capacity 64 --items 300 --workload simple,complex";
    let args: Vec<_> = args.split(' ').chain(["bbq", "bbq-mpsc", "lq"]).collect();
    let json = json(&args);
    let cells = json["cells"].as_array().expect("a list");
    let shapes = |queue: &str| {
        let cells = cells.iter().filter(|cell| cell["queue"] == queue);
        let cells = cells.filter(|cell| cell["workload"] == "simple");
        cells.map(|cell| format!("{}x{}", cell["producers"], cell["consumers"])).collect::<Vec<_>>()
    };
    assert_eq!(shapes("bbq"), ["1x1", "2x2", "4x4", "4x1", "1x4"]);
    assert_eq!(shapes("bbq-mpsc"), ["1x1", "4x1"]);
    assert_eq!(shapes("lq"), ["1x1"]);
    for cell in cells {
        let sides = cell["sides"].as_array().expect("a list");
        let misses: f64 = sides.iter().filter_map(|side| side["misses"].as_f64()).sum();
        assert!(
            (misses - cell["misses_per_item"].as_f64().expect("a number")).abs() < 1e-9,
            "{cell}"
        );
        assert!(cell["items_per_s"].as_f64() > Some(0.0), "{cell}");
        let fair =
            sides.iter().all(|side| (0.0..=1.0).contains(&side["fairness"].as_f64().unwrap()));
        assert!(fair, "{cell}");
    }
}

#[test]
fn a_sweep_of_teams_ranks_the_queues_that_the_paper_ranks() {
    let args = "mpmc bbq scq ring --sweep --machine i7 --capacity 64 --items 300";
    let args: Vec<_> = args.split(' ').collect();
    let json = json(&args);
    let cells = json["cells"].as_array().expect("a list");
    let rankings = json["rankings"].as_array().expect("a list");
    assert_eq!(rankings.len(), 3, "three kinds of threads");
    for (ranking, is_one) in rankings.iter().zip([
        |p, c| p > 1 && c == 1,
        |p, c| p == 1 && c > 1,
        |p, c| p > 1 && p == c,
    ]) {
        for point in ranking["points"].as_array().expect("a list") {
            let speed = |queue: &Value| {
                let cell = cells.iter().find(|cell| {
                    let [p, c] =
                        ["producers", "consumers"].map(|side| cell[side].as_u64().unwrap());
                    let is_here = is_one(p, c) && Some(p.max(c)) == point["threads"].as_u64();
                    is_here && cell["queue"] == *queue && cell["workload"] == "simple"
                });
                cell.expect("a cell")["items_per_s"].as_f64().expect("a number")
            };
            let queues = point["queues"].as_array().expect("a list");
            assert_eq!(queues.len(), 3);
            assert!(queues.is_sorted_by(|a, b| speed(a) >= speed(b)), "{ranking}");
        }
    }
    assert!(results(&args, "--html").contains("Fig. 3.7"));
    let output = simulate(&args);
    assert!(stdout(&output).contains("scq > bbq > ring"), "{}", stdout(&output));
}

#[test]
fn a_sweep_of_teams_uses_all_cores_and_stands_beside_the_paper() {
    let args = "mpmc bbq lq --sweep --machine i7 --capacity 64 --items 300";
    let args: Vec<_> = args.split(' ').collect();
    let json = json(&args);
    let numbers = |side: &str| {
        let cells = json["cells"].as_array().expect("a list").iter();
        cells.filter_map(|cell| cell[side].as_u64()).max()
    };
    assert_eq!([numbers("producers"), numbers("consumers")], [Some(7), Some(7)]);
    let comparisons = json["comparisons"].as_array().expect("a list");
    assert_eq!(comparisons.len(), 6, "three kinds of threads, two workloads");
    assert_eq!(comparisons[0]["points"][0]["other"], "lq");
    assert!(comparisons[0]["points"][0]["misses"].as_f64() > Some(1.0), "{}", comparisons[0]);
    let page = results(&args, "--html");
    assert_eq!(page.matches("<svg").count(), 12, "times, misses; either side, both; two workloads");
    assert!(page.contains("Nothing here was measured"));
    let output = simulate(&args);
    assert!(stdout(&output).contains("All of it is simulated"), "{}", stdout(&output));
}

/// What is measured to stand beside.
#[derive(Parser)]
struct Bench {
    #[command(flatten)]
    args: MpmcArgs,
}

#[test]
fn what_was_measured_stands_beside_a_sweep() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [measured, other] = ["measured.json", "other.json"].map(|name| directory.path().join(name));
    let [measured, other] = [&measured, &other].map(|path| path.to_str().expect("a path of text"));
    let bench =
        "bench bbq --no-peers --test throughput --threads 1x1,2x2 --rounds 1 --duration 1ms";
    let plan = Plan::mpmc(&Bench::parse_from(bench.split(' ')).args).expect("it can be measured");
    let json = serde_json::to_string(&run(&plan).expect("a right queue")).expect("plain data");
    fs::write(measured, json).expect("a file can be written");
    let sweep = "mpmc bbq --sweep --machine i7 --capacity 64 --items 300 --beside";
    let sweep = |file| [&sweep.split(' ').collect::<Vec<_>>()[..], &[file]].concat();
    let text = stdout(&simulate(&sweep(measured)));
    assert!(text.contains("bbq, measured ") && text.contains("All else is simulated"), "{text}");
    assert!(results(&sweep(measured), "--html").contains("In the charts these are crosses"));
    fs::write(other, "{}").expect("a file");
    assert_refused(&simulate(&sweep(other)), &["is not what `lane bench mpmc --json FILE` writes"]);
    assert_refused(&simulate(&sweep("/no/such/file")), &["/no/such/file"]);
}

#[test]
fn what_a_team_cannot_be_is_refused() {
    let simulate = |args: &[&str]| simulate(&[&["mpmc"], args].concat());
    assert_refused(&simulate(&["bbqq"]), &["'bbq'"]);
    assert_refused(&simulate(&["--threads", "0x1"]), &["2x4", "each from 1 on"]);
    assert_refused(&simulate(&["--threads", "64x64"]), &["arm-96t has 96 cores", "need 128"]);
    assert_refused(&simulate(&["lq", "--threads", "2x1"]), &["lq is between one producer, one"]);
    assert_refused(&simulate(&["--workload", "profiling"]), &["simple, complex"]);
    assert_refused(&simulate(&["--sweep", "--cores", "97"]), &["--cores from 2 to 96"]);
    assert_refused(&simulate(&["--sweep", "--cores", "1"]), &["--cores from 2 to 96"]);
    assert_refused(&simulate(&["--cores", "4"]), &["--sweep"]);
    assert_refused(&simulate(&["--sweep", "--threads", "2x2"]), &["cannot be used with"]);
    assert_refused(&simulate(&["--machine", "vax"]), &["vax", "arm-96t"]);
    assert_refused(&simulate(&["--capacity", "18446744073709551615"]), &["--capacity"]);
    assert_refused(&simulate(&["--json", "/no/such/place"]), &["can't write"]);
}
