//! Bad input gets one clear message that names the mend, and exit code 2.

use std::fs;

use crate::common::{assert_refused, bench, lane, lane_in};

#[test]
fn an_unknown_queue_is_told_the_nearest() {
    assert_refused(&bench(&["bqueu"]), &["bqueu", "'bqueue'"]);
}

#[test]
fn an_unknown_test_is_told_all_tests() {
    assert_refused(&bench(&["--test", "sream"]), &["stream", "rtt", "open-loop"]);
}

#[test]
fn an_unknown_command_is_told_the_nearest() {
    assert_refused(&lane(&["lisst"]), &["'list'"]);
}

#[test]
fn numbers_must_be_positive() {
    for flag in ["--capacity", "--batch", "--rounds"] {
        let with = |value| lane(&["bench", "spsc", flag, value]);
        assert_refused(&with("0"), &[flag, "choose 1 or more"]);
        assert_refused(&with("many"), &[flag, "whole number"]);
    }
    assert_refused(&bench(&["--items", "0"]), &["--items"]);
    assert_refused(&bench(&["--duration", "0s"]), &["--duration", "30ms"]);
    assert_refused(&bench(&["--duration", "30"]), &["--duration", "unit"]);
}

#[test]
fn a_batch_must_fit_the_queue() {
    let output = bench(&["--capacity", "64", "--batch", "1,65"]);
    assert_refused(&output, &["65", "--capacity 64", "choose 1 to 64"]);
}

#[test]
fn a_capacity_no_queue_can_have_is_refused() {
    let most = usize::MAX.to_string();
    assert_refused(&bench(&["lq", "--capacity", &most]), &["lq", "choose 1 to"]);
}

#[test]
fn cores_must_exist() {
    assert_refused(&bench(&["--cores", "0,9999"]), &["no core 9999", "choose from 0"]);
    assert_refused(&bench(&["--cores", "0"]), &["--cores", "0,1"]);
}

#[test]
fn a_rate_must_be_positive() {
    for rate in ["0", "-1", "inf", "NaN", "fast"] {
        let rate = format!("--rate={rate}");
        assert_refused(&bench(&["--test", "open-loop", &rate]), &["--rate", "above 0"]);
    }
}

#[test]
fn far_must_be_above_something() {
    for time in ["0", "-1", "inf", "NaN"] {
        assert_refused(&bench(&[&format!("--far-above={time}")]), &["--far-above", "above 0"]);
    }
}

#[test]
fn queues_that_a_test_does_not_measure_are_told_so() {
    let output = lane(&["bench", "mpmc", "lprq", "--test", "overwrite"]);
    assert_refused(&output, &["nothing to measure", "choose other queues, or another --test"]);
}

#[test]
fn a_rate_at_which_nothing_is_due_is_refused() {
    let output = bench(&["--test", "open-loop", "--rate", "0.000001", "--duration", "1ms"]);
    assert_refused(&output, &["raise --rate or --duration"]);
}

#[test]
fn a_schedule_needs_its_test() {
    assert_refused(&bench(&["--rate", "5"]), &["--test open-loop"]);
}

#[test]
fn a_trace_must_be_a_capture() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let header =
        [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    let half_a_packet = [header.as_slice(), &[1, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0]].concat();
    let files: [(&str, &[u8], &str); 5] = [
        ("empty", b"", "no pcap"),
        ("text", b"This is no capture, but it is long enough to be one.", "no pcap"),
        ("short", &header[..10], "too short"),
        ("silent", &header, "no packets"),
        ("cut", &half_a_packet, "truncated"),
    ];
    for (name, contents, reason) in files {
        let path = directory.path().join(name);
        fs::write(&path, contents).expect("a file can be written");
        let path = path.to_str().expect("a path of text");
        assert_refused(&bench(&["--test", "open-loop", "--trace", path]), &[path, reason]);
    }
    let missing = directory.path().join("missing");
    let missing = missing.to_str().expect("a path of text");
    assert_refused(
        &bench(&["--test", "open-loop", "--trace", missing]),
        &[missing, "No such file"],
    );
}

#[test]
fn outputs_must_be_writable() {
    for flag in ["--json", "--html"] {
        let output = bench(&[flag, "/no/such/directory/file"]);
        assert_refused(&output, &["/no/such/directory/file", "choose another path"]);
    }
}

#[test]
fn the_quick_run_needs_a_place_for_its_report() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(directory.path().join("corelane-report.html")).expect("a directory");
    assert_refused(&lane_in(directory.path(), &[]), &["corelane-report.html"]);
}

#[test]
fn loads_and_regimes_exclude_each_other() {
    assert_refused(&bench(&["--regime", "fp", "--load-p", "5"]), &["cannot be used with"]);
    assert_refused(&bench(&["--grid", "--load-p", "5"]), &["cannot be used with"]);
}
