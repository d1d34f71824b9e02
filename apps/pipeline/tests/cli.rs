//! The command line: outputs, and one clear line for bad input.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use serde_json::Value;
use tempfile::TempDir;

/// A capture of two packets of Ethernet, half a second apart: a question of DNS, and rubbish.
fn capture() -> Vec<u8> {
    const QUESTION: &[u8] = b"\
        \x02\x02\x02\x02\x02\x02\x01\x01\x01\x01\x01\x01\x08\x00\
        \x45\x00\x00\x35\0\0\0\0\x40\x11\x66\xb6\x0a\0\0\x01\x0a\0\0\x02\
        \x9c\x40\x00\x35\x00\x21\0\0\
        \x00\x07\x01\0\0\x01\0\0\0\0\0\0\x01a\x05a,\"b\xff\0\0\x01\0\x01";
    let mut file = Vec::new();
    let mut words = |words: &[u32], bytes: &[u8]| {
        file.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        file.extend(bytes);
    };
    // The header of a file with microseconds.
    words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1], &[]);
    let len = QUESTION.len() as u32;
    words(&[1_700_000_000, 250_000, len, len], QUESTION);
    words(&[1_700_000_000, 750_000, 3, 3], b"???");
    file
}

/// A folder with a capture, and the capture's path.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("two.pcap");
    fs::write(&path, capture()).expect("a new file");
    (folder, path)
}

fn pipeline(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pipeline"));
    command.args(args).stdin(Stdio::null());
    command
}

fn output(args: &[&str]) -> Output {
    pipeline(args).output().expect("it starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it is text")
}

fn path(path: &Path) -> &str {
    path.to_str().expect("it is text")
}

#[test]
fn flows_are_written_for_programs() {
    let (folder, file) = folder();
    let csv = folder.path().join("flows.csv");
    let output = output(&[path(&file), "--json", "-", "--csv", path(&csv)]);
    assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
    let json: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(
        (&json["schema"], &json["packets"], &json["bytes"]),
        (&1.into(), &2.into(), &70.into())
    );
    assert_eq!((&json["dropped"], &json["malformed"]), (&0.into(), &1.into()));
    assert_eq!(
        json["protocols"]["dns"],
        serde_json::json!({"flows": 1, "packets": 1, "bytes": 67})
    );
    let flow = serde_json::json!({
        "src": "10.0.0.1", "src_port": 40_000, "dst": "10.0.0.2", "dst_port": 53, "transport": "udp",
        "packets": 1, "bytes": 67, "app": "dns", "host": "a.a,\"b\\255",
        "first": "2023-11-14T22:13:20.250000Z", "last": "2023-11-14T22:13:20.250000Z",
    });
    assert_eq!(json["flows"], serde_json::json!([flow]));
    let lines = fs::read_to_string(csv).expect("it was written");
    let row = "10.0.0.1,40000,10.0.0.2,53,udp,1,67,2023-11-14T22:13:20.250000Z,\
               2023-11-14T22:13:20.250000Z,dns,\"a.a,\"\"b\\255\",";
    assert_eq!(lines.lines().nth(1), Some(row));
}

#[test]
fn a_table_is_for_people() {
    let (_folder, file) = folder();
    let printed = output(&[path(&file), "--queue", "bqueue", "--capacity", "8", "--wait", "sleep"]);
    let printed = text(&printed.stdout).to_string();
    for word in ["2 packets", "1 malformed", "dns", "10.0.0.1:40000 → 10.0.0.2:53"] {
        assert!(printed.contains(word), "no {word} in {printed}");
    }
}

#[test]
fn a_workload_is_saved_and_a_choice_is_read() {
    let (folder, file) = folder();
    let [workload, tuned] = ["workload", "tuned.json"].map(|name| folder.path().join(name));
    output(&[path(&file), "--workload", path(&workload)]);
    let saved = fs::read_to_string(&workload).expect("it was written");
    assert!(
        saved.starts_with("corelane workload 1\n") && saved.contains("\nconsumer\n"),
        "{saved}"
    );
    let choice = serde_json::json!({
        "ours": { "queue": "no-queue", "capacity": 8, "batch": 4, "wait": "yield" }
    });
    fs::write(&tuned, choice.to_string()).expect("a new file");
    let args = [path(&file), "--tuned", path(&tuned)];
    let refused = pipeline(&args).output().expect("it starts");
    assert!(text(&refused.stderr).contains("no-queue"), "the choice counts: {refused:?}");
    output(&[&args[..], &["--queue", "llq"]].concat());
}

#[test]
fn a_capture_may_come_through_a_pipe() {
    let (_folder, file) = folder();
    let mut command = pipeline(&["-", "--json", "-"]);
    let file = fs::File::open(file).expect("it is here");
    let output = command.stdin(file).output().expect("it starts");
    let json: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(json["packets"], 2);
}

#[test]
fn a_replay_takes_the_capture_s_time_and_has_latencies() {
    let (_folder, file) = folder();
    let begin = Instant::now();
    let output = output(&[path(&file), "--speed", "5x", "--live", "--json", "-"]);
    assert!(begin.elapsed().as_millis() >= 100);
    let json: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert!(json["latency_ns"]["50"].as_u64().is_some_and(|ns| ns > 100), "{json}");
}

#[test]
fn a_capture_that_is_cut_is_read_up_to_there() {
    let (folder, file) = folder();
    let cut = folder.path().join("cut.pcap");
    let whole = capture();
    fs::write(&cut, &whole[..whole.len() - 1]).expect("a new file");
    let output = output(&[path(&cut), path(&file), "--json", "-"]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(json["packets"], 3);
    assert!(text(&output.stderr).contains("cut.pcap: it is truncated after 1 packets"));
}

#[test]
fn bad_input_gets_one_line_that_says_what_to_change() {
    let (folder, file) = folder();
    let (empty, packed) = (folder.path().join("empty"), folder.path().join("packed"));
    fs::write(&empty, "").expect("a new file");
    fs::write(&packed, [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).expect("a new file");
    let file = path(&file);
    let missing = path(folder.path()).to_string() + "/missing";
    let cases: [(&[&str], &[&str]); 20] = [
        (&[], &["FILE"]),
        (&["-"], &["read -", "no pcap"]),
        (&[&missing], &["missing", "No such file"]),
        (&[path(&empty)], &["empty", "no pcap"]),
        (&[path(&packed)], &["packed", "gunzip"]),
        (&[file, path(&empty)], &["empty", "no pcap"]),
        (&[file, "--tuned", file], &["two.pcap", "lane tune"]),
        (&[file, "--queue", "linerng"], &["linerng", "nearest are linering", "lane list"]),
        (&[file, "--queue", "seqring"], &["seqring", "lane list"]),
        (&[file, "--capacity", "0"], &["--capacity", "choose 1 or more"]),
        (&[file, "--capacity", "99999999999999999"], &["linering", "--capacity"]),
        (&[file, "--batch", "0"], &["--batch", "choose 1 or more"]),
        (&[file, "--capacity", "16", "--batch", "17"], &["--batch 17", "choose 1 to 16"]),
        (&[file, "--threads", "0"], &["--threads", "choose 1 to 64"]),
        (&[file, "--threads", "65"], &["--threads", "choose 1 to 64"]),
        (&[file, "--wait", "doze"], &["--wait", "adaptive, spin, yield, sleep"]),
        (&[file, "--speed", "fast"], &["--speed", "choose max, real"]),
        (&[file, "--json", "/no/such/folder/file"], &["choose another path"]),
        (&[file, "--json", "-", "--csv", "-"], &["--json", "--csv", "file"]),
        (&["--interface", "no-such0"], &["no-such0", "ip link"]),
    ];
    for (args, words) in cases {
        let output = output(args);
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{args:?}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{args:?}: {said}");
        assert_eq!(text(&output.stdout), "");
    }
}

/// With `--live`, a line each second gives the counts so far: the interface is open.
#[cfg(target_os = "linux")]
#[test]
fn an_interface_is_read_until_ctrl_c() {
    use std::io::{BufRead, BufReader};
    use std::net::UdpSocket;

    let mut command = pipeline(&["--interface", "lo", "--live", "--json", "-"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("it is a pipe")).lines();
    let mut line = || lines.next().expect("a line comes each second").expect("it is text");
    let first = line();
    if !first.contains(" packets (") {
        println!("skipped: {first}");
        child.wait().expect("it has ended");
        return;
    }
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
    let port = socket.local_addr().expect("it is bound").port();
    socket.send_to(b"M-SEARCH * HTTP/1.1\r\n", "127.0.0.1:9").expect("it is local");
    while line().starts_with("0 packets") {}
    let id = child.id().to_string();
    Command::new("kill").args(["-INT", &id]).status().expect("it is there");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    let json: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let flows = json["flows"].as_array().expect("a list");
    // Others may use the loopback, too.
    let flow = flows.iter().find(|flow| flow["src_port"] == port).expect("it was seen");
    assert_eq!((&flow["app"], &flow["packets"]), (&"ssdp".into(), &1.into()));
}
