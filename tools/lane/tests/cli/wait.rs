//! `lane bench wait`: shapes of results, never times.

use serde_json::{Value, json};

use crate::common::{
    assert_has, assert_report, json_of, number, output, printed, results, stderr, text,
};
use crate::runs::interrupted;

/// `lane bench wait` with `args`, with no round that is mixed.
fn wait(args: &str) -> String {
    format!("bench wait --rounds 1 --far-above 1e12 {args}")
}

/// Streams and round trips with few enough items for a debug build on a busy machine.
fn few(args: &str) -> String {
    wait(&format!("--items 200 {args}"))
}

/// Tests with a schedule, for a moment.
fn short(args: &str) -> String {
    wait(&format!("--duration 5ms --rate 5000 {args}"))
}

/// The parameter `key` of each result.
fn params<'a>(json: &'a Value, key: &str) -> Vec<&'a Value> {
    results(json).iter().map(|result| &result["params"][key]).collect()
}

#[test]
fn processes_compute_beside() {
    let args = "channel --test ping-pong --placement apart --capacity 0,16 --busy 0,2";
    let json = json_of(&few(args));
    let beside = json!({ "busy": 2, "nice": 0 });
    let busy: Vec<_> =
        results(&json).iter().filter(|result| result["params"]["busy"] == 2).collect();
    busy.iter().for_each(|result| assert_has(&result["params"], beside.clone()));
    assert_eq!((busy.len(), results(&json).len()), (4, 8));
    assert!(printed(&few(args)).contains("beside 2 processes"));
}

#[test]
fn a_rendezvous_needs_a_channel_that_has_one() {
    let refused = output(&wait("leased --test stream --capacity 0"));
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("it has no rendezvous"), "{}", stderr(&refused));
}

#[test]
fn streams_have_the_documented_shape() {
    let args = "bbq --test stream --threads 2x3 --placement apart --strategy adaptive,yield";
    let json = json_of(&few(args));
    let round = &json["rounds"][0];
    assert!(number(&round["line_rtt_ns"]) > 0.0);
    if cfg!(target_os = "linux") {
        let floors = ["futex_rtt_ns", "futex_rtt_one_core_ns"];
        assert!(floors.iter().all(|floor| number(&round[floor]) > 0.0), "{round}");
    }
    assert_eq!(params(&json, "strategy"), ["adaptive", "yield"]);
    for result in results(&json) {
        let what = json!({ "suite": "wait", "test": "stream", "queue": "bbq", "unit": "ns/item" });
        assert_has(result, what);
        let params = &result["params"];
        assert_has(params, json!({ "producers": 2, "consumers": 3, "capacity": 4096 }));
        assert_has(params, json!({ "placement": "apart", "mode": "blocking", "runtime": "none" }));
        assert_has(params, json!({ "handles": "exclusive" }));
        assert!(params.get("sleeps").is_none() && params.get("wait").is_none(), "{params}");
        let near = &result["groups"]["near"];
        for key in ["p25", "median", "p75", "items_per_s", "run"] {
            assert!(number(&near[key]) > 0.0, "{key}");
        }
        for side in ["producers", "consumers"] {
            assert!((0.0..=1.0).contains(&number(&near["fairness"][side])), "{side}");
        }
        if cfg!(target_os = "linux") {
            let used = ["cpu_ns_per_item", "sleeps_per_item"].map(|key| number(&near[key]));
            assert!(used.iter().all(|used| *used >= 0.0), "{near}");
        }
    }
}

#[test]
fn every_queue_and_peer_passes_every_test() {
    let moved = "--test stream,ping-pong --threads 1x1,2x2,4x1 --placement mixed";
    let moved = json_of(&few(&format!("{moved} --strategy adaptive,spin,yield")));
    let scheduled = json_of(&short("--test open-loop,cpu,idle,fan-in --strategy adaptive"));
    let of = |queue: &str, test: &str| {
        let all = results(&moved).iter().chain(results(&scheduled));
        all.filter(|result| result["queue"] == queue && result["test"] == test).count()
    };
    assert!(of("linering", "stream") >= 2 && of("bbq", "stream") >= 6);
    assert_eq!((of("linering", "fan-in"), of("bbq", "fan-in"), of("lprq", "stream")), (0, 1, 0));
    let usage = usize::from(cfg!(target_os = "linux"));
    let peers = ["crossbeam-channel", "kanal", "flume", "crossfire", "std-channel"];
    for peer in peers {
        let tests = ["stream", "ping-pong", "open-loop", "cpu", "idle", "fan-in"];
        // Round trips are busy and asleep. Answers go back, so both sides must allow as many
        // threads.
        let [streams, trips] = if peer == "std-channel" { [2, 2] } else { [3, 6] };
        let counts = tests.map(|test| of(peer, test));
        assert_eq!(counts, [streams, trips, 1, usage, usage, 1], "{peer}");
    }
    let values = results(&moved).iter().chain(results(&scheduled));
    let mut values = values.map(|result| number(&result["groups"]["near"]["median"]));
    assert!(values.all(|value| value >= 0.0));
}

#[test]
fn a_ping_pong_is_measured_busy_and_asleep() {
    let json = json_of(&few("leased --test ping-pong --placement apart --strategy adaptive"));
    assert_eq!(params(&json, "sleeps"), [false, true]);
    let [busy, asleep] = &results(&json)[..] else { panic!("two results") };
    assert!(busy["groups"]["near"].get("latency_ns").is_none());
    let latency = &asleep["groups"]["near"]["latency_ns"];
    assert_eq!(latency["items"], 200);
    assert!(number(&latency["p50"]) <= number(&latency["p99"]));
}

#[test]
fn schedules_have_rates_and_percentiles() {
    let tests = "bbq --test open-loop,cpu,fan-in --strategy adaptive --placement free";
    let json = json_of(&wait(&format!("{tests} --duration 10ms --rate 3000,9000")));
    for result in results(&json) {
        let latency = &result["groups"]["near"]["latency_ns"];
        assert!(number(&latency["items"]) > 5.0 && latency["p99.9"].is_u64(), "{result}");
        let is_of_many = result["test"] == "fan-in";
        assert_eq!(result["params"]["producers"], if is_of_many { 64 } else { 1 });
    }
    let rates = params(&json, "rate");
    assert!(rates.chunks(2).all(|pair| pair == [3000, 9000]) && rates.len() >= 4, "{rates:?}");
}

#[test]
fn tasks_have_runtimes_and_peers_of_their_own() {
    let json = json_of(&few("--mode async --threads 1x1,2x1 --test stream,ping-pong,cpu"));
    assert!(params(&json, "mode").iter().all(|mode| *mode == "async"));
    let of = |queue: &str, test: &str, runtime: &str| {
        let is_here = |result: &&Value| {
            result["queue"] == queue
                && result["test"] == test
                && result["params"]["runtime"] == runtime
        };
        results(&json).iter().filter(is_here).count()
    };
    let peers = ["kanal", "flume", "crossfire", "async-channel", "tokio-mpsc", "thingbuf-mpsc"];
    for queue in peers.into_iter().chain(["bbq", "leased"]) {
        let counts = ["stream", "ping-pong"]
            .map(|test| ["tokio", "tokio-current"].map(|runtime| of(queue, test, runtime)));
        assert_eq!(counts, [[2, 2], [2, 1]], "{queue}");
    }
    assert_eq!((of("linering", "stream", "tokio"), of("std-channel", "stream", "tokio")), (1, 0));
    let one =
        json_of(&few("bbq --mode blocking,async --runtime tokio --test stream --threads 1x1"));
    assert_eq!(params(&one, "runtime").last().expect("results"), &"tokio");
    assert!(results(&one).len() > 2);
}

#[test]
fn queues_that_are_never_full_must_be_named() {
    let json = json_of(&few("lprq --test stream --threads 1x1 --strategy adaptive"));
    assert!(results(&json).iter().all(|result| result["queue"] == "lprq"));
}

#[test]
fn threads_that_share_a_core_never_spin() {
    let args = "linering --test stream,ping-pong --threads 1x1 --cores 0";
    let args = few(&format!("{args} --strategy adaptive,spin,yield"));
    let json = json_of(&args);
    assert_eq!(json["machine"]["same_core"], true);
    assert_eq!(params(&json, "strategy"), ["adaptive", "yield"].repeat(3));
    assert!(params(&json, "placement").iter().all(|placement| *placement == "apart"));
    let notes = stderr(&output(&args));
    assert!(notes.contains("placement free left out"), "{notes}");
}

#[test]
fn strategies_share_a_table_which_can_be_shown_again() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("results.json");
    let args =
        "bbq --test stream,ping-pong --threads 1x1,2x2 --strategy adaptive,yield --placement free";
    let shown = printed(&few(&format!("{args} --json {}", text(&path))));
    assert_eq!(shown.matches("placed free, 1x1").count(), 1, "{shown}");
    let again = printed(&format!("report {}", text(&path)));
    for words in ["bbq yield", "ping-pong, all threads sleep before", "threads that wait"] {
        assert!(shown.contains(words) && again.contains(words), "no {words} in {shown}\n{again}");
    }
}

#[test]
fn tiny_queues_work() {
    let tests = "--test stream,ping-pong --threads 2x2,1x1 --placement mixed";
    printed(&few(&format!("bbq leased linering {tests} --capacity 1")));
}

#[test]
fn the_report_has_a_chart_with_all_rates() {
    let words = ["bbq", "3000 items/s", "9000 items/s", "futex_rtt"];
    let words = if cfg!(target_os = "linux") { &words[..] } else { &words[..3] };
    assert_report(&wait("bbq --test open-loop --duration 5ms --rate 3000,9000"), words);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_measured_results() {
    interrupted("bench wait bbq --test stream --threads 2x2");
}
