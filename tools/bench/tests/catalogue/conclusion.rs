//! What `lane` says without a command.

use corelane_bench::Results;
use serde_json::{Value, json};

/// Results of queues in which each group has so many rounds.
fn results(rounds: [usize; 2]) -> Results {
    let queues = ["linering", "bqueue", "bqueue-any", "biffq", "iffq", "uspsc"];
    let peers = ["rtrb", "ringbuf", "crossbeam-channel", "concurrent-queue", "kanal", "flume"];
    let tests = [("stream", 8, "loop", 1), ("stream", 8, "field", 1), ("stream", 64, "field", 1)];
    let tests = tests.into_iter().chain([("stream", 8, "loop", 32), ("rtt", 8, "loop", 1)]);
    let groups = |median: f64| {
        let of = |n: usize| json!({ "n": n, "p25": median, "median": median, "p75": median });
        let mut groups = json!({});
        for (name, n) in ["near", "far"].into_iter().zip(rounds).filter(|(_, n)| *n > 0) {
            groups[name] = of(n);
        }
        groups
    };
    let cell = |(test, bytes, handles, batch): (&str, u64, &str, u64),
                number: usize,
                queue: &str| {
        // The third is the best with large items in fields.
        let is_best = bytes == 64 && number == 2;
        json!({
            "suite": "spsc", "test": test, "queue": queue, "peer": peers.contains(&queue),
            "unit": "ns/item", "groups": groups(if is_best { 8.0 } else { 10.0 + 2.0 * number as f64 }),
            "params": {
                "item_bytes": bytes, "handles": handles, "capacity": 4096, "batch": batch, "payload": "u64",
                "regime": "free", "load_p_ns": 0, "load_c_ns": 0, "memory": "heap", "wait": "spin",
            },
        })
    };
    let all = || queues.into_iter().chain(peers).enumerate();
    let cells = tests.flat_map(|test| all().map(move |(number, queue)| cell(test, number, queue)));
    let round = |group: &str, number: usize| {
        let flag = if group == "near" { 100.0 } else { 300.0 };
        // The floor of every third round is far away.
        let block = if number.is_multiple_of(3) { 0.5 } else { 1.0 };
        json!({ "line_rtt_ns": flag, "block_handoff_ns_per_u64": block, "line_stream_ns_per_u64": block,
                "group": group })
    };
    let near = (0..rounds[0]).map(|number| round("near", number));
    let all_rounds: Vec<Value> = near.chain((0..rounds[1]).map(|n| round("far", n))).collect();
    let file = json!({
        "schema": 1, "command": "lane", "unix_time": 0, "interrupted": true, "mixed_rounds": 0,
        "machine": { "cpu": "A processor with a name of more than fifty characters or so", "cpus": 128,
                     "virtual_machine": true, "arch": "", "os": "", "cores": [0, 1], "same_core": false,
                     "optimised": true },
        "rounds": all_rounds, "results": cells.collect::<Vec<_>>(),
    });
    serde_json::from_value(file).expect("it has the shape of a file")
}

#[test]
fn the_conclusion_fits_a_screen_and_always_recommends() {
    for (rounds, words) in [
        ([9, 9], "far 10.0 (rtrb 22.0) and 10.0 (rtrb 22.0)"),
        ([0, 9], "best peer 22.0 (rtrb)"),
        ([9, 4], "Far: not ranked, since a rank needs 5 rounds and this run had 4 rounds."),
        ([1, 0], "it is the default for items one by one"),
    ] {
        let [_, alone] = results(rounds).quick_documents();
        let text = alone.to_text();
        // A line for what was written, and at most four on stderr.
        assert!(text.lines().count() + 5 <= 40, "{}:\n{text}", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(!text.contains('\x1b') && !text.contains('…'), "{text}");
        let words_in_a_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words_in_a_line.contains(words), "no {words:?} in:\n{text}");
        assert_eq!(text.matches(" take `spsc::queue` (linering)").count(), 3, "{text}");
        assert_eq!(text.matches("corelane::spsc::queue::<u64>(4096)?;").count(), 1, "{text}");
    }
}

#[test]
fn only_groups_with_enough_rounds_have_a_picture() {
    let has_picture = |rounds| {
        let [_, alone] = results(rounds).quick_documents();
        alone.to_text().matches('█').next().is_some()
    };
    assert_eq!([[5, 0], [0, 5], [4, 4]].map(has_picture), [true, true, false]);
}

#[test]
fn where_another_queue_is_faster_is_said_and_the_page_says_the_same() {
    let [page, alone] = results([0, 9]).quick_documents();
    let but = "but bqueue-any is 1.2× as fast with items of 64 bytes in a field";
    let html = page.to_html();
    let alone = alone.to_text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(alone.contains(but) && html.contains(but), "{alone}");
    let titles = [
        "linering takes 10.0 ns/item, and the best peer, rtrb, 22.0",
        "Between far cores linering",
    ];
    assert!(titles.iter().all(|title| html.contains(title)));
}
