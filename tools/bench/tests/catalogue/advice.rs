//! The recommendation.

use corelane_bench::Results;
use corelane_report::Block;
use serde_json::{Value, json};

fn params(condition: &str) -> Value {
    match condition.split_once(' ') {
        Some((bytes, handles)) => json!({
            "item_bytes": bytes.parse::<usize>().expect("a number"), "handles": handles, "capacity": 8, "batch": 1,
            "payload": "u64", "regime": "free", "load_p_ns": 0, "load_c_ns": 0, "memory": "heap", "wait": "spin",
        }),
        None => json!({
            "producers": 2, "consumers": 2, "placement": condition, "capacity": 8, "batch": 1, "workload": "simple",
            "wait": "pause-yield",
        }),
    }
}

/// The recommendation for medians of queues in conditions, with quartiles 1 below and 1 above.
fn advice(medians: &[(&str, &str, f64)]) -> Vec<String> {
    let result = |&(queue, condition, median): &(&str, &str, f64)| {
        let is_pair = condition.contains(' ');
        let test = if is_pair { "stream" } else { "throughput" };
        let is_peer = ["kanal", "rtrb"].contains(&queue);
        json!({
            "suite": if is_pair { "spsc" } else { "mpmc" }, "test": test, "queue": queue, "unit": "ns/item",
            "peer": is_peer, "floor": queue == "counter", "params": params(condition),
            "groups": { "near": { "n": 5, "p25": median - 1.0, "median": median, "p75": median + 1.0 } },
        })
    };
    let results = json!({
        "schema": 1, "command": "", "unix_time": 0, "interrupted": false, "mixed_rounds": 0,
        "machine": { "cpu": "", "cpus": 2, "virtual_machine": false, "arch": "", "os": "", "cores": [0, 1],
                     "same_core": false, "optimised": true },
        "rounds": [{ "line_rtt_ns": 100.0, "block_handoff_ns_per_u64": 1.0, "group": "near" }],
        "results": medians.iter().map(result).collect::<Vec<_>>(),
    });
    let results: Results = serde_json::from_value(results).expect("they have the shape of a file");
    match &results.document().summary[1] {
        Block::List(points) => points.clone(),
        _ => panic!("no list"),
    }
}

#[test]
fn a_queue_must_be_among_the_best_in_all_placements() {
    let mut medians = vec![
        ("counter", "apart", 1.0),
        ("scq", "apart", 10.0),
        ("bbq", "apart", 11.0),
        ("kanal", "apart", 12.0),
        ("bbq", "mixed", 20.0),
        ("scq", "mixed", 30.0),
        ("kanal", "mixed", 40.0),
    ];
    let line = "for 2x2 threads take bbq (20.0 ns/item mixed, 2.0× as fast as the best peer, \
     kanal at 40.0)";
    assert_eq!(advice(&medians), [line]);
    medians.push(("scq", "free", 10.0));
    medians.push(("bbq", "free", 13.0));
    medians.push(("kanal", "free", 5.0));
    let line = "for 2x2 threads none is best everywhere: scq apart (10.0); bbq mixed (20.0); scq \
     free (10.0)";
    let faster = "but a peer is faster: kanal is 2.0× as fast as scq free (5.00 against 10.0)";
    assert_eq!(advice(&medians), [line, faster]);
}

#[test]
fn a_queue_must_be_among_the_best_with_all_items_and_handles() {
    let medians = [
        ("bbq-spsc", "8 loop", 10.0),
        ("linering", "8 loop", 11.0),
        ("rtrb", "8 loop", 9.5),
        ("linering", "64 field", 20.0),
        ("bbq-spsc", "64 field", 30.0),
        ("rtrb", "64 field", 15.0),
    ];
    let line = "to stream items one by one take linering (ns/item, the best peer in brackets): \
                8 bytes, loop: 11.0 (rtrb 9.50); 64 bytes, field: 20.0 (rtrb 15.0)";
    let faster = "but a peer is faster: rtrb is 1.3× as fast as linering with 64 bytes, field \
     (15.0 against 20.0)";
    assert_eq!(advice(&medians), [line, faster]);
    let line = "to stream items one by one take bbq-spsc (10.0 ns/item, level with the best \
     peer, rtrb at 9.50, 10× the block_handoff floor of 1.00)";
    let only = |queue: &str| medians.into_iter().find(|row| row.0 == queue);
    assert_eq!(advice(&[only("bbq-spsc"), only("rtrb")].map(Option::unwrap)), [line]);
}
