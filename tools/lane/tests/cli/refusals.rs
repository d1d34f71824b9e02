//! Bad input gets one clear line that says what to change, and exit code 2.

use std::fs;

use crate::common::{assert_refused, check_refusal, command, text};

#[test]
fn bad_words_and_numbers_are_refused() {
    let most = format!("spsc lq --capacity {}", usize::MAX);
    let most_mpmc = format!("mpmc bbq --capacity {}", usize::MAX);
    let cases: [(&str, &[&str]); 61] = [
        ("spsc bqueu", &["called bqueu", "bqueue, bqueue-any", "lane list"]),
        ("spsc lq bbq", &["bbq is between several", "use `lane bench mpmc bbq`"]),
        ("spsc --test sream", &["stream", "rtt", "open-loop"]),
        ("spsc --capacity 0", &["--capacity", "choose 1 or more"]),
        ("spsc --capacity many", &["--capacity", "whole number"]),
        ("spsc --batch 0", &["--batch", "choose 1 or more"]),
        ("spsc --batch many", &["--batch", "whole number"]),
        ("spsc --rounds 0", &["--rounds", "choose 1 or more"]),
        ("spsc --rounds many", &["--rounds", "whole number"]),
        ("spsc --items 0", &["--items"]),
        ("spsc --duration 0s", &["--duration", "30ms"]),
        ("spsc --duration 30", &["--duration", "unit"]),
        ("spsc --capacity 64 --batch 1,65", &["65", "--capacity 64", "choose 1 to 64"]),
        ("spsc --capacity 64,16 --batch 32", &["--capacity 16", "choose 1 to 16"]),
        ("spsc --item 8,7", &["--item", "7", "8, 16, 24, 64, 256, 1024"]),
        ("spsc --handles foo", &["--handles", "foo", "loop, field"]),
        ("spsc --test rtt --item 64", &["nothing to measure", "only streams"]),
        ("spsc bqueue --item 64", &["nothing to measure", "more than 8 bytes: bqueue"]),
        (&most, &["lq", "choose a smaller capacity"]),
        ("spsc --cores 0,9999", &["no core 9999", "choose from 0"]),
        ("spsc --cores 0", &["--cores", "0,1"]),
        ("spsc --rate 5", &["--test open-loop"]),
        ("spsc --test open-loop --rate 0.000001 --duration 1ms", &["raise --rate or --duration"]),
        ("spsc --json /no/such/directory/file", &["such/directory", "choose another path"]),
        ("spsc --html /no/such/directory/file", &["such/directory", "choose another path"]),
        ("spsc --regime fp --load-p 5", &["cannot be used with"]),
        ("spsc --grid --load-p 5", &["cannot be used with"]),
        ("mpmc bbqq", &["bbqq", "nearest are bbq,"]),
        ("mpmc --test stream", &["throughput", "full-empty"]),
        ("mpmc --placement apart,beside", &["beside", "apart, mixed, free"]),
        ("mpmc --wait sleep", &["sleep", "pause-yield"]),
        ("mpmc --cores 0,9999", &["no core 9999", "choose from 0"]),
        ("mpmc --batch 65 --capacity 64", &["65", "choose 1 to 64"]),
        ("mpmc --workload profiling", &["--test data-latency or op-latency"]),
        (&most_mpmc, &["bbq", "choose a smaller capacity"]),
        ("mpmc --json /no/such/directory/file", &["choose another path"]),
        (
            "mpmc lprq --test overwrite",
            &["nothing to measure", "choose other queues, another --test"],
        ),
        ("mpmc bbq-drop-old --test throughput", &["bbq-drop-old", "--test overwrite"]),
        ("mpmc bbq-mpsc --threads 2x1,2x2", &["2x2", "bbq-mpsc is between several producers, one"]),
        ("mpmc lq --threads 2x1", &["2x1", "lq"]),
        ("ring uspc", &["uspc", "uspsc"]),
        ("ring --threads 1", &["--threads", "1"]),
        ("ring --threads 65", &["--threads", "65"]),
        ("ring --threads 0", &["--threads", "0"]),
        ("ring --threads x", &["--threads", "x"]),
        ("ring --in-flight 0", &["--in-flight", "choose 1 or more"]),
        ("ring --cores 9999", &["no core 9999"]),
        ("wait lq", &["lq", "no calls that wait", "linering, bbq"]),
        ("wait --test rtt", &["rtt", "stream, ping-pong, open-loop"]),
        ("wait --strategy doze", &["doze", "adaptive, "]),
        ("wait --rate 0", &["--rate", "choose 1 or more"]),
        ("wait --test cpu --rate 1 --duration 1ms", &["at 1 a second", "--rate or --duration"]),
        ("wait linering --test stream --threads 2x2", &["2x2", "one producer, one consumer"]),
        ("wait linering --test fan-in", &["nothing to measure"]),
        ("wait std-channel --strategy yield", &["nothing to measure"]),
        ("wait --runtime none", &["none", "tokio, tokio-current"]),
        ("wait --mode async --test idle", &["nothing to measure"]),
        ("wait --placement free --cores 0,0", &["nothing to measure", "placement free left out"]),
        ("wait --cores 9999", &["no core 9999"]),
        ("wait --json /no/such/directory/file", &["choose another path"]),
        ("ring bbq-drop-old", &["bbq-drop-old loses messages", "choose other"]),
    ];
    for (args, words) in cases {
        assert_refused(&format!("bench {args}"), words);
    }
    assert_refused("lisst", &["`lane` takes one of list, bench"]);
    for args in ["bench lq", "bench --test stream"] {
        assert_refused(args, &["`lane bench` takes one of spsc, ", " first"]);
    }
    assert_refused("bench spsc --tests rtt", &["nearest is --test"]);
    assert_refused("bench ring --burst 3", &["`lane bench ring --help` has all"]);
    assert_refused("calibrate --cores 0,999", &["no core 999"]);
    for wrong in ["0", "-1", "inf", "NaN", "fast"] {
        let above_0 = |option| format!("bench spsc --test open-loop {option}={wrong}");
        assert_refused(&above_0("--rate"), &["--rate", "above 0"]);
        assert_refused(&above_0("--far-above"), &["--far-above", "above 0"]);
    }
    for wrong in ["0x1", "1x1x1", "999x999", "2", "axb"] {
        let args = format!("bench mpmc --threads {wrong}");
        assert_refused(&args, &["--threads", wrong, "such as 2x4", "1 to 64"]);
    }
}

#[test]
fn a_trace_must_be_a_capture() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let header =
        [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    let half_a_packet = [header.as_slice(), &[1, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0]].concat();
    let files: [(&str, Option<&[u8]>, &str); 6] = [
        ("empty", Some(b""), "no pcap"),
        ("text", Some(b"This is no capture, but it is long enough to be one."), "no pcap"),
        ("short", Some(&header[..10]), "too short"),
        ("silent", Some(&header), "no packets"),
        ("cut", Some(&half_a_packet), "truncated"),
        ("missing", None, "No such file"),
    ];
    for (name, contents, reason) in files {
        let path = directory.path().join(name);
        contents.iter().for_each(|contents| fs::write(&path, contents).expect("a new file"));
        let args = format!("bench spsc --test open-loop --trace {}", text(&path));
        assert_refused(&args, &[text(&path), reason]);
    }
}

#[test]
fn the_quick_run_needs_a_place_for_its_report() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(directory.path().join("corelane-report.html")).expect("a directory");
    let output = command("").current_dir(directory.path()).output().expect("lane can be started");
    check_refusal(&output, &["corelane-report.html"]);
}
