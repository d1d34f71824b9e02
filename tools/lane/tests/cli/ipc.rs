//! `lane bench ipc`: shapes of results, never times.
#![cfg(target_os = "linux")]

use serde_json::json;

use crate::common::{assert_has, assert_refused, assert_report, json_of, number, results};

/// `lane bench ipc` with `args`, with no round that is mixed.
fn ipc(args: &str) -> String {
    format!("bench ipc --rounds 1 --far-above 1e12 {args}")
}

#[test]
fn records_go_between_processes_in_all_ways() {
    let json = json_of(&ipc("--test rtt,stream --record 8,1024 --items 300"));
    // Three kinds of lanes in three ways, four ways of other crates, and three of the system.
    // Broadcasts have no streams, and copies only these. Not every system has message queues.
    let are_there = results(&json).iter().filter(|result| result["queue"] != "mq").count();
    assert_eq!(are_there, 2 * 2 * (3 * 3 + 4 + 3) + 2 * 3 + 2);
    for result in results(&json) {
        assert_has(result, json!({ "suite": "ipc" }));
        assert_has(&result["params"], json!({ "threads": 1, "capacity": 4096 }));
        let near = &result["groups"]["near"];
        assert!(number(&near["median"]) > 0.0 && number(&near["cpu_ns_per_item"]) >= 0.0, "{near}");
    }
}

#[test]
fn processor_time_is_that_of_both_processes() {
    let json = json_of(&ipc("linering pipe --test cpu --record 64 --duration 600ms --rate 2000"));
    for result in results(&json) {
        assert_has(&result["params"], json!({ "rate": 2000, "record_bytes": 64 }));
        assert!(number(&result["groups"]["near"]["cpu_ns"]["consumers"]) > 0.0, "{result}");
    }
}

#[test]
fn killed_processes_lose_nothing() {
    let json = json_of(&ipc("linering recordring lanes --test kill --items 20 --capacity 30"));
    assert_eq!(results(&json).len(), 3);
    for result in results(&json) {
        let near = &result["groups"]["near"];
        let none = json!({ "kills": 20, "lost": 0, "doubled": 0, "hung": 0, "left_behind": 0 });
        assert_has(near, none);
        assert!(number(&near["reopen_ms_p99"]) > 0.0);
    }
}

#[test]
fn threads_of_both_processes_answer_each_other() {
    let args = "lanes pipe unix-socket unix-seqpacket shaq mq --test ping-pong --record 8 \
                --threads 3,2x2 --pause 0,1us..2us --items 200 --strategy adaptive,sleep,spin";
    let json = json_of(&ipc(args));
    let are_there = results(&json).iter().filter(|result| result["queue"] != "mq").count();
    assert_eq!(are_there, 2 * 2 * (3 + 4));
    for result in results(&json) {
        let params = &result["params"];
        assert!(params["threads"] == 3 || params["threads"] == 2, "{params}");
        assert!(params["pause_ns"].is_null() || params["pause_ns"] == json!([1000, 2000]));
        let near = &result["groups"]["near"];
        assert!(number(&near["median"]) > 0.0 && number(&near["latency_ns"]["p50"]) > 0.0);
        assert!(number(&near["cpu_ns"]["producers"]) > 0.0, "{near}");
        assert!(number(&near["sleeps_per_item"]) >= 0.0, "{near}");
    }
}

#[test]
fn queues_of_the_literature_are_measured_if_they_are_named() {
    let args = "ring msq elcrq --test ping-pong --record 8 --threads 2 --items 200 \
                --strategy adaptive,sleep,spin-then-sleep,spin";
    let json = json_of(&ipc(args));
    assert_eq!(results(&json).len(), 2 * 4 + 2);
    for result in results(&json) {
        let near = &result["groups"]["near"];
        assert!(number(&near["median"]) > 0.0 && number(&near["latency_ns"]["p99"]) > 0.0);
    }
}

#[test]
fn the_report_has_a_chart() {
    let words = ["linering spin", "pipe", "8 bytes", "futex_rtt"];
    assert_report(&ipc("linering pipe --test rtt --record 8 --items 100"), &words);
    let words = ["2x2 threads, pauses of 1 to 2 us", "trips/s", "of the core", "p99 ns"];
    let args = "lanes pipe --test ping-pong --record 8 --threads 2 --pause 1us..2us --items 100";
    assert_report(&ipc(args), &words);
}

#[test]
fn bad_input_is_refused() {
    let cases: [(&str, &[&str]); 12] = [
        ("ipc linring", &["linring", "linering"]),
        ("ipc --record 9", &["--record", "choose from 8, 64, 1024"]),
        ("ipc --test open-loop", &["rtt, stream, cpu, ping-pong, kill"]),
        ("ipc --strategy yield", &["adaptive, sleep, spin"]),
        ("ipc --capacity 0", &["--capacity", "choose 1 or more"]),
        ("ipc pipe --test kill", &["nothing to measure"]),
        ("ipc mq --record 16384", &["nothing to measure"]),
        ("ipc lanes --test ping-pong --record 64", &["nothing to measure"]),
        ("ipc --threads 2x4", &["--threads", "give 4 or 4x4, from 1 to 64"]),
        ("ipc --threads 65", &["--threads", "give 4 or 4x4, from 1 to 64"]),
        ("ipc --pause 20us..1us", &["--pause", "such as 1us..20us"]),
        ("ipc --cores 0,9999", &["no core 9999"]),
    ];
    for (args, words) in cases {
        assert_refused(&format!("bench {args}"), words);
    }
    assert_refused("ipc-peer nonsense", &["started by `lane bench ipc` only"]);
}
