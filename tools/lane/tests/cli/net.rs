//! `lane bench net`: shapes of results, never times. Most tests need the feature `net`.

use crate::common::assert_refused;

#[cfg(not(all(feature = "net", target_os = "linux")))]
#[test]
fn it_says_how_it_is_built() {
    assert_refused(
        "bench net",
        &["needs", if cfg!(target_os = "linux") { "--features net" } else { "Linux" }],
    );
}

#[test]
fn bad_options_are_refused() {
    for (args, text) in [
        ("--test rtt", "stream, latency, faults"),
        ("--record-bytes 9", "choose from 8, 64, 256, 1024"),
        ("--load 0", "above 0"),
        ("--runs 0", "choose 1 or more"),
        ("--between planets", "loopback, namespaces"),
        ("--rate fast", "such as 100mbit"),
        ("--items 0", "--items"),
    ] {
        assert_refused(&format!("bench net {args}"), &[text]);
    }
}

#[cfg(all(feature = "net", target_os = "linux"))]
mod measured {
    use serde_json::{Value, json};

    use crate::common::{assert_has, assert_refused, assert_report, json_of, number, results};

    /// `lane bench net` with `args`, with no round that is mixed.
    fn net(args: &str) -> String {
        format!("bench net --rounds 1 --far-above 1e12 {args}")
    }

    fn of<'a>(json: &'a Value, queue: &str) -> &'a Value {
        results(json).iter().find(|result| result["queue"] == queue).expect("it was measured")
    }

    #[test]
    fn items_stream_between_processes_in_all_ways_without_a_server() {
        let lanes = "ordered latest tcp-each zenoh grpc --test stream --items 5000";
        for bytes in [8, 65536] {
            let json = json_of(&net(&format!("{lanes} --record-bytes {bytes}")));
            // And plain TCP, which is their floor.
            assert_eq!(results(&json).len(), 6);
            for result in results(&json) {
                assert_has(result, json!({ "suite": "net", "test": "stream" }));
                assert_has(
                    &result["params"],
                    json!({ "record_bytes": bytes, "between": "loopback" }),
                );
                let near = &result["groups"]["near"];
                assert!(number(&near["median"]) > 0.0, "{result}");
                assert!(number(&near["cpu_ns"]["producers"]) >= 0.0, "{result}");
            }
            let ordered = &of(&json, "ordered")["params"];
            assert_has(ordered, json!({ "guarantee": "ordered", "engine": "zenoh" }));
        }
    }

    #[test]
    fn latencies_have_the_same_load() {
        let json = json_of(&net(
            "ordered zenoh --test latency --load 2000 --duration 200ms --record-bytes 64",
        ));
        for result in results(&json) {
            let near = &result["groups"]["near"];
            assert_has(&near["offered"], json!({ "per_s": 2000.0, "of": "given" }));
            let latency = &near["latency_ns"];
            assert!(
                number(&latency["items"]) > 100.0 && number(&latency["p99"]) > 0.0,
                "{latency}"
            );
        }
        let json = json_of(&net("latest --test latency --duration 100ms --record-bytes 4096"));
        assert_has(
            &of(&json, "latest")["groups"]["near"]["offered"],
            json!({ "of": "half-of-tcp" }),
        );
    }

    #[test]
    fn faults_lose_nothing() {
        let json = json_of(&net("ordered latest --test faults --runs 2"));
        for result in [of(&json, "ordered"), of(&json, "latest")] {
            let faults = &result["groups"]["near"]["faults"];
            assert_has(
                faults,
                json!({ "runs": 2, "lost": 0, "doubled": 0, "reordered": 0, "hung": 0 }),
            );
            assert!(number(&faults["faults"]) > 0.0, "{faults}");
        }
    }

    #[test]
    fn the_report_names_lanes_and_sizes() {
        let words = ["ordered", "tcp (floor)", "64 bytes", "ns/item", "loopback"];
        assert_report(&net("ordered --test stream --items 2000 --record-bytes 64"), &words);
    }

    #[test]
    fn unknown_lanes_are_refused() {
        assert_refused("bench net odered", &["odered", "ordered"]);
    }
}
