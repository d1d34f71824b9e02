//! `lane simulate`: it prints the simulator's results, the same in every run.

#[path = "../../lane/tests/cli/common.rs"]
#[allow(dead_code, reason = "other programs need other parts")]
mod common;

use std::fs;

use clap::Parser;
use corelane_bench::{BenchArgs, MpmcArgs, run};
use serde_json::Value;

use common::{assert_refused, json_of, list, number, printed, text, written};

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_lane-simulate");

#[test]
fn lamports_queue_misses_three_times_on_three_lines() {
    let text = printed("--annotate lq");
    assert!(text.contains("3.00 misses per item of the producer, 3.00 of the consumer"), "{text}");
    for source in ["header().read.load(Ordering::Acquire)", "slots().write(write, item)"] {
        let line = text.lines().find(|line| line.contains(source)).expect("a line of the source");
        assert!(line.trim_start().starts_with("1.00"), "{line}");
    }
}

#[test]
fn sides_and_lines_add_up() {
    let json = json_of("spsc lq bqueue --regime fp --items 2000");
    assert_eq!(json["schema"], 1);
    assert_eq!(list(&json, "cells").len(), 2);
    for cell in list(&json, "cells") {
        for side in [&cell["producer"], &cell["consumer"]] {
            for name in ["misses", "read_misses", "write_misses", "upgrades", "stall_ns"] {
                let sum: f64 = list(side, "lines").iter().map(|line| number(&line[name])).sum();
                assert!((sum - number(&side[name])).abs() < 1e-6, "{name} of {side}");
            }
            assert_eq!(side["items"], 2000);
        }
    }
}

#[test]
fn one_producer_and_one_consumer_are_the_default() {
    let cells = |args: &str| json_of(&format!("{args} --items 500"))["cells"].take();
    assert_eq!(cells("line_ring --regime fp"), cells("spsc linering --regime fp"));
}

#[test]
fn a_run_depends_on_the_seed_and_nothing_else() {
    // With six cores, some agents are due at the same time.
    let run = |seed| json_of(&format!("ffq --items 500 --cores 6 --seed {seed}"))["cells"].take();
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn the_page_has_maps_or_sources() {
    let page = written("spsc lq --items 300 --grid", "--html");
    assert_eq!(page.matches("<svg").count(), 2, "the producer's map and the consumer's");
    let page = written("spsc lq --items 300", "--html");
    assert!(page.contains("misses per item") && page.contains("lamport/mod.rs"));
    assert!(!page.contains("src=\"http"), "the page needs no network");
}

#[test]
fn pipelines_grow_core_by_core() {
    let sweep = "spsc lq bqueue --items 300 --capacity 64 --sweep cores=1..4";
    let json = json_of(sweep);
    let cores = |cell| list(cell, "cores").len();
    let numbers: Vec<_> = list(&json, "cells").iter().map(cores).collect();
    assert_eq!(numbers, [1, 1, 2, 2, 3, 3, 4, 4]);
    for cell in list(&json, "cells") {
        assert_eq!(cell["forwarders"].is_object(), cores(cell) > 2, "{cell}");
        assert_eq!(cell["producer"]["misses"] == 0.0, cores(cell) == 1, "{cell}");
    }
    assert_eq!(written(sweep, "--html").matches("<svg").count(), 2, "times, and misses");
    let row = "spsc lq --items 200 --cores 3";
    assert!(printed(row).contains("F misses") && written(row, "--html").contains("F misses"));
}

#[test]
fn a_calibration_is_a_machine() {
    let cores = corelane_bench::cores(None).expect("cores");
    let calibration = corelane_bench::Calibration::measure(cores);
    let file = serde_json::to_string_pretty(&calibration).expect("plain data");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("machine.json");
    fs::write(&path, &file).expect("a file can be written");
    let simulate = format!("spsc lq --items 300 --machine {}", text(&path));
    assert!(printed(&simulate).contains("cores 0 and 1"));
    fs::write(&path, file.replace("\"pause_ns\": ", "\"pause_ns\": -")).expect("as above");
    assert_refused(&simulate, &["impossible", "lane calibrate --json"]);
}

#[test]
fn predictions_stand_beside_measurements() {
    let json = json_of("lq --validate --rounds 1");
    assert_eq!(json["schema"], 1);
    assert!(json["median_abs_error"].is_f64() || json["median_abs_error"].is_null());
    for cell in list(&json, "cells") {
        assert_eq!(cell["queue"], "lq");
        assert!(
            number(&cell["measured_ns"]) > 0.0 && number(&cell["predicted_ns"]) > 0.0,
            "{cell}"
        );
    }
}

#[test]
fn impossible_simulations_are_refused() {
    let cases: [(&str, &[&str]); 47] = [
        ("spsc lqq", &["nearest are lq,"]),
        ("spsc --pair 0,9", &["cores 0 to 7", "--pair"]),
        ("spsc --pair 1,1", &["two different"]),
        ("spsc --cores 9", &["i7 has 8 cores"]),
        ("spsc --cores 0", &["choose 1 or more"]),
        ("spsc --cores 3 --regime turns", &["two threads"]),
        ("spsc --sweep cores=1..96", &["i7 has 8 cores"]),
        ("spsc --sweep capacity=1..2", &["cores=1..96"]),
        ("spsc --sweep cores=1..4 --grid", &["--grid"]),
        ("spsc --machine vax", &["vax", "xeon40", "calibrated"]),
        ("spsc --machine Cargo.toml", &["no calibration", "lane calibrate"]),
        ("spsc --capacity 0", &["choose 1 or more"]),
        ("spsc --capacity 18446744073709551615", &["--capacity"]),
        ("spsc --rounds 3", &["--validate"]),
        ("spsc --json /no/such/place", &["can't write"]),
        ("mpmc bbqq", &["nearest are bbq,"]),
        ("mpmc --threads 0x1", &["2x4", "each from 1 on"]),
        ("mpmc --threads 64x64", &["arm-96t has 96 cores", "need 128"]),
        ("mpmc lq --threads 2x1", &["lq is between one producer, one"]),
        ("mpmc --workload profiling", &["simple, complex"]),
        ("mpmc --sweep --cores 97", &["--cores from 2 to 96"]),
        ("mpmc --sweep --cores 1", &["--cores from 2 to 96"]),
        ("mpmc --cores 4", &["--sweep"]),
        ("mpmc --sweep --threads 2x2", &["cannot be used with"]),
        ("mpmc --machine vax", &["vax", "arm-96t"]),
        ("mpmc --capacity 18446744073709551615", &["--capacity"]),
        ("mpmc --json /no/such/place", &["can't write"]),
        ("switch bbq", &["bbq is between"]),
        ("switch --clients 39", &["xeon40 has cores for 2 to 38 clients"]),
        ("switch --capacity 18446744073709551615", &["--capacity"]),
        ("rings lq", &["bbq-spsc"]),
        ("rings --entries 48", &["power of two", "64"]),
        ("rings --batch 33", &["1..=32"]),
        ("rings --machine vax", &["vax", "x86-88t"]),
        ("steal bwos", &["bwos is no queue", "bwos-lifo, bwos-fifo"]),
        ("steal lq", &["thieves steal"]),
        ("steal --machine x86-88t,vax", &["vax", "arm-96t"]),
        ("steal --stolen 101", &["0..=100"]),
        ("steal --balancing 200", &["0..=100"]),
        ("steal --policy best", &["rand, seq, last, numa"]),
        ("steal --thieves 0", &["choose 1 or more"]),
        ("steal --machine i7 --thieves 4", &["i7 has 3 cores at --distance same-l3"]),
        (
            "steal --machine x86-88t --distance same-socket",
            &["has 0 cores at --distance same-socket"],
        ),
        ("steal --test pool --threads 1", &["2 or more --threads"]),
        ("steal --machine i7 --threads 8", &["no 8 cores for a pool"]),
        ("steal --capacity 18446744073709551615", &["--capacity"]),
        ("steal --json /no/such/place", &["can't write"]),
    ];
    for (args, words) in cases {
        assert_refused(args, words);
    }
}

#[test]
fn a_switch_has_a_row_for_each_queue_and_stands_beside_the_paper() {
    let queues = "lq llq blq ffq iffq biffq linering";
    let json = json_of(&format!("switch {queues} --clients 2,5 --duration 20us"));
    let cells = list(&json, "cells");
    assert_eq!(cells.len(), 7 * 2 * 2 * 2);
    for cell in cells {
        assert!(number(&cell["packets_per_s"]) > 1e6, "{cell}");
        assert!(number(&cell["switch_misses_per_packet"]) > 1.0, "{cell}");
    }
    assert_eq!(list(&json, "comparisons").len(), 7);
    // A response needs a request, so nothing is dropped.
    let exchanges = cells.iter().filter(|cell| cell["test"] == "request-response");
    exchanges.for_each(|cell| assert_eq!(number(&cell["dropped"]), 0.0, "{cell}"));
}

#[test]
fn rings_of_io_uring_stand_beside_queues_and_the_thesis() {
    let run = "rings --entries 32,64 --items 2000";
    let json = json_of(run);
    assert_eq!(list(&json, "cells").len(), 5 * 2 * 2);
    for cell in list(&json, "cells") {
        assert!(number(&cell["ns_per_request"]) > 0.0, "{cell}");
        // The kernel reads each request from another core, and the request has a line of its own.
        assert!(number(&cell["misses_per_request"]["kernel"]) >= 0.9, "{cell}");
    }
    let comparisons = list(&json, "comparisons");
    let papers: Vec<_> =
        comparisons.iter().map(|comparison| number(&comparison["paper"])).collect();
    assert_eq!(papers, [6.7, 20.9]);
    assert_eq!(json_of(run)["cells"], json["cells"], "a run depends on the seed and nothing else");
    assert!(written(&format!("{run} --batch 1"), "--html").contains("Beside the thesis"));
}

#[test]
fn teams_have_a_row_for_each_queue_that_allows_them() {
    let args = "mpmc bbq bbq-mpsc lq --capacity 64 --items 300 --workload simple,complex";
    let json = json_of(args);
    let cells = list(&json, "cells");
    let shapes = |queue: &str| {
        let cells = cells.iter().filter(|cell| cell["queue"] == queue);
        let cells = cells.filter(|cell| cell["workload"] == "simple");
        cells.map(|cell| format!("{}x{}", cell["producers"], cell["consumers"])).collect::<Vec<_>>()
    };
    assert_eq!(shapes("bbq"), ["1x1", "2x2", "4x4", "4x1", "1x4"]);
    assert_eq!(shapes("bbq-mpsc"), ["1x1", "4x1"]);
    assert_eq!(shapes("lq"), ["1x1"]);
    for cell in cells {
        let sides = || list(cell, "sides").iter();
        let misses: f64 = sides().map(|side| number(&side["misses"])).sum();
        assert!((misses - number(&cell["misses_per_item"])).abs() < 1e-9, "{cell}");
        assert!(number(&cell["items_per_s"]) > 0.0, "{cell}");
        assert!(sides().all(|side| (0.0..=1.0).contains(&number(&side["fairness"]))), "{cell}");
    }
}

#[test]
fn a_sweep_of_teams_ranks_the_queues_that_the_paper_ranks() {
    let args = "mpmc faaq bbq scq ring --sweep --machine i7 --capacity 64 --items 300";
    let json = json_of(args);
    let rankings = list(&json, "rankings");
    assert_eq!(rankings.len(), 3, "three kinds of threads");
    for (ranking, is_one) in rankings.iter().zip([
        |p, c| p > 1 && c == 1,
        |p, c| p == 1 && c > 1,
        |p, c| p > 1 && p == c,
    ]) {
        for point in list(ranking, "points") {
            let speed = |queue: &Value| {
                let cell = list(&json, "cells").iter().find(|cell| {
                    let [p, c] =
                        ["producers", "consumers"].map(|side| cell[side].as_u64().unwrap());
                    let is_here = is_one(p, c) && Some(p.max(c)) == point["threads"].as_u64();
                    is_here && cell["queue"] == *queue && cell["workload"] == "simple"
                });
                number(&cell.expect("a cell")["items_per_s"])
            };
            let queues = list(point, "queues");
            assert_eq!(queues.len(), 4);
            assert!(queues.is_sorted_by(|a, b| speed(a) >= speed(b)), "{ranking}");
        }
    }
    assert!(written(args, "--html").contains("Fig. 3.7"));
    assert!(printed(args).contains("faaq > scq > bbq > ring"));
}

#[test]
fn a_sweep_of_teams_uses_all_cores_and_stands_beside_the_paper() {
    let args = "mpmc bbq lq --sweep --machine i7 --capacity 64 --items 300";
    let json = json_of(args);
    let most = |side| list(&json, "cells").iter().filter_map(|cell| cell[side].as_u64()).max();
    assert_eq!([most("producers"), most("consumers")], [Some(7), Some(7)]);
    let comparisons = list(&json, "comparisons");
    assert_eq!(comparisons.len(), 6, "three kinds of threads, two workloads");
    let point = &comparisons[0]["points"][0];
    assert!(point["other"] == "lq" && number(&point["misses"]) > 1.0, "{point}");
    let page = written(args, "--html");
    assert_eq!(page.matches("<svg").count(), 12, "times, misses; either side, both; two workloads");
    assert!(page.contains("Nothing here was measured"));
    assert!(printed(args).contains("All of it is simulated"));
}

/// So few items that a run takes no time.
const FEW: &str = "--capacity 256 --items 1024";

#[test]
fn owners_and_thieves_have_a_row_for_each_share() {
    let json = json_of(&format!(
        "steal bwos-lifo bwos-fifo abp tokio-ring bbq-spmc --test stolen --stolen 0,10 \
         --distance same-l3,other-socket {FEW}"
    ));
    assert_eq!(json["schema"], 1);
    let cells = list(&json, "cells");
    assert_eq!(cells.len(), 2 * 5 * 2 * 2, "machines, queues, shares, distances");
    for cell in cells {
        let sides = list(cell, "sides");
        let has_thief = cell["stolen_percent"] == 10;
        assert_eq!(cell["thieves"], u64::from(has_thief));
        assert_eq!(sides.len(), if has_thief { 2 } else { 1 }, "{cell}");
        assert_eq!(number(&cell["stolen"]) > 0.0, has_thief, "{cell}");
        assert_eq!(number(&sides[0]["misses"]) > 0.005, has_thief, "{cell}");
        let ops: f64 = sides.iter().map(|side| number(&side["ops_per_s"])).sum();
        assert!((ops / number(&cell["ops_per_s"]) - 1.0).abs() < 1e-9, "{cell}");
        for side in sides {
            let sum: f64 = list(side, "lines").iter().map(|line| number(&line["misses"])).sum();
            assert!((sum - number(&side["misses"])).abs() < 1e-6, "{side}");
        }
    }
}

#[test]
fn pools_have_a_row_for_each_policy_and_balancing_factor() {
    let args = format!(
        "steal bwos-fifo --machine arm-96t --test pool --balancing 0,50 --policy rand,seq,last,numa,best-of-two,best-of-many,rand-prob,numa-prob --runs 3 {FEW}"
    );
    let json = json_of(&args);
    assert_eq!(list(&json, "cells").len(), 2 * 8);
    for cell in list(&json, "cells") {
        assert_eq!(cell["cores"], serde_json::json!([0, 1, 4, 5, 48, 49, 52, 53]));
        let runs = list(cell, "all_runs_ops_per_s");
        assert!(runs.len() == 3 && runs[1] == cell["ops_per_s"], "{cell}");
        assert_eq!(number(&cell["stolen"]) > 0.0, cell["balancing_percent"] == 50, "{cell}");
    }
    assert!(printed(&args).contains("range"));
}

#[test]
fn stealing_stands_beside_the_paper() {
    let args = format!(
        "steal bwos-lifo bwos-fifo bbq-spmc --machine i7 --threads 4 --stolen 0,10,20 --balancing 0,50 {FEW}"
    );
    let json = json_of(&args);
    let paper = |comparison: &Value| number(&comparison["paper"]);
    let papers: Vec<_> = list(&json, "comparisons").iter().map(paper).collect();
    assert_eq!(papers, [8.9, 11.2, 0.53, 9.35, 2.21, 1.73], "without queues that are not there");
    let ratio = number(&json["comparisons"][0]["simulated"]["i7"]);
    let rate = |queue: &str| {
        let is_it = |cell: &&Value| cell["queue"] == queue && cell["stolen_percent"] == 0;
        number(&list(&json, "cells").iter().find(is_it).expect("a cell")["ops_per_s"])
    };
    assert!((ratio * rate("bbq-spmc") / rate("bwos-fifo") - 1.0).abs() < 1e-9, "{ratio}");
    let page = written(&args, "--html");
    assert_eq!(page.matches("<svg").count(), 4, "throughput, misses; two tests");
    assert!(page.contains("Nothing here was measured") && page.contains("steal/bwos/lifo.rs"));
    assert!(printed(&args).contains("All of it is simulated"));
}

/// The options of the measurement beside the simulation.
#[derive(Parser)]
struct Bench {
    #[command(flatten)]
    args: MpmcArgs,
}

#[test]
fn measurements_are_shown_beside_a_sweep() {
    let bench =
        "bench bbq --no-peers --test throughput --threads 1x1,2x2 --rounds 1 --duration 1ms";
    let args = Bench::parse_from(bench.split(' ')).args;
    let plan = BenchArgs::Mpmc(Box::new(args)).plan().expect("it can be measured");
    let plan = std::sync::Arc::new(plan);
    let json = serde_json::to_string(&run(&plan).expect("a right queue")).expect("plain data");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("measured.json");
    let sweep = "mpmc bbq --sweep --machine i7 --capacity 64 --items 300 --beside";
    let beside = format!("{sweep} {}", text(&path));
    fs::write(&path, json).expect("a file can be written");
    let text = printed(&beside);
    assert!(text.contains("bbq, measured ") && text.contains("All else is simulated"), "{text}");
    assert!(written(&beside, "--html").contains("In the charts these are crosses"));
    fs::write(&path, "{}").expect("a file can be written");
    assert_refused(&beside, &["is not what `lane bench mpmc --json FILE` writes"]);
    assert_refused(&format!("{sweep} /no/such/file"), &["/no/such/file"]);
}
