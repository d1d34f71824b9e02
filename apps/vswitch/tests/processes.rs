//! Clients in other processes, some of which are killed.

#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use corelane::shm::{RecordConsumer, RecordProducer};

/// Kills, if the environment variable `VSWITCH_KILLS` gives no other number.
const KILLS: u32 = 20;
/// Longest time of what should come soon.
const SOON: Duration = Duration::from_secs(20);

fn vswitch(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vswitch"));
    command.args(args.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn client(name: &str, number: u32, clients: u32, time: &str) -> Child {
    let args = format!("client {name} --number {number} --clients {clients} --for {time}");
    vswitch(&args).spawn().expect("it can be started")
}

/// A switch that listens, and the lanes of the first port.
fn listening(name: &str, patience: &str) -> (Child, (RecordProducer, RecordConsumer)) {
    let switch =
        vswitch(&format!("--listen {name} --overflow wait --patience {patience} --json -")).spawn();
    let begin = Instant::now();
    loop {
        if let Ok(lanes) = vswitch::process::connect(name) {
            return (switch.expect("it can be started"), lanes);
        }
        assert!(begin.elapsed() < SOON, "the switch does not listen");
        thread::sleep(Duration::from_millis(5));
    }
}

fn interrupted(switch: Child) -> Output {
    let kill = Command::new("kill").args(["-INT", &switch.id().to_string()]).status();
    assert!(kill.expect("kill can be started").success());
    switch.wait_with_output().expect("it ends")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Descriptors of a process.
fn descriptors(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count)
}

/// The same, when their number has stopped changing.
fn settled(process: u32) -> usize {
    loop {
        let before = descriptors(process);
        thread::sleep(Duration::from_millis(200));
        if descriptors(process) == before {
            return before;
        }
    }
}

/// The memory of a process, in KiB.
fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    line.trim_end_matches("kB").trim().parse().expect("a number")
}

#[test]
fn killed_clients_stop_nobody_and_leave_nothing() {
    let kills = std::env::var("VSWITCH_KILLS").ok().and_then(|text| text.parse().ok());
    let kills: u32 = kills.unwrap_or(KILLS);
    let name = format!("vswitch-kill-{}", std::process::id());
    // A steady client that gets no core for a while is not stuck.
    let (switch, lanes) = listening(&name, "30s");
    let with_a_port = settled(switch.id());
    drop(lanes);
    wait_until(|| descriptors(switch.id()) < with_a_port);
    let without = settled(switch.id());
    let of_a_port = with_a_port - without;
    let steady = [0, 1].map(|number| client(&name, number, 2, "600s"));
    let mut most = 0;
    for kill in 0..kills {
        // It sends to the other two, which know nothing of it.
        let mut victim = client(&name, 2, 3, "600s --flood");
        thread::sleep(Duration::from_millis(5 + u64::from(kill * 7 % 40)));
        victim.kill().expect("it runs");
        victim.wait().expect("it ends");
        most = most.max(resident(switch.id()));
    }
    wait_until(|| descriptors(switch.id()) <= without + 2 * of_a_port);
    assert!(most < 60_000, "{most} KiB");
    for client in steady {
        let output = interrupted(client);
        let text = text(&output);
        let sent = text.split_whitespace().nth(2).and_then(|word| word.parse::<u64>().ok());
        assert!(sent > Some(100), "{text}");
        assert!(text.contains(" 0 lost, 0 out of order"), "{text}");
    }
    wait_until(|| descriptors(switch.id()) <= without);
    let report = interrupted(switch);
    let json: serde_json::Value = serde_json::from_slice(&report.stdout).expect("it is JSON");
    let ports = json["ports"].as_array().expect("ports");
    // A process that starts slowly is killed before it has a port.
    assert!(ports.len() > 2 && ports.iter().all(|port| port["attached"] == false), "{ports:?}");
}

/// Waits for a state that comes soon.
#[track_caller]
fn wait_until(is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < SOON, "it has not come");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_client_that_takes_nothing_stops_nobody() {
    let name = format!("vswitch-idle-{}", std::process::id());
    let (switch, (mut tx, rx)) = listening(&name, "100ms");
    // The switch learns where client 9 is: here, where nothing is taken.
    let packet = |to: u32, from: u32| {
        let mut bytes = [0; 60];
        bytes[0..6].copy_from_slice(&vswitch_core::Mac::local(to).to_bytes());
        bytes[6..12].copy_from_slice(&vswitch_core::Mac::local(from).to_bytes());
        bytes
    };
    tx.push(&packet(9, 9)).expect("there is room");
    let (mut other, _unused) = vswitch::process::connect(&name).expect("it listens");
    for _ in 0..20_000 {
        other.push(&packet(9, 8)).expect("the switch goes on");
    }
    let clients = [0, 1].map(|number| client(&name, number, 2, "2s"));
    for client in clients {
        let text = text(&client.wait_with_output().expect("it ends"));
        let received = text.split_whitespace().nth(5).and_then(|word| word.parse::<u64>().ok());
        assert!(received > Some(100) && text.contains(" 0 lost"), "{text}");
    }
    drop(rx);
    interrupted(switch);
}

#[test]
fn bad_input_gets_one_line() {
    let cases = [
        ("--queue linerin --listen x", "linering"),
        ("--tuned Cargo.toml --listen x", "lane tune"),
        ("--capacity 0 --listen x", "choose 1 or more"),
        ("--tap a/b", "NAME@NAMESPACE"),
        ("--capture Cargo.toml", "no capture"),
        ("--capture /no/such.pcap", "can't read"),
        ("--interface no-such-one", "interface"),
        ("client nobody-listens-here", "start the process"),
        ("client x --number 5", "--number"),
        ("--live", "a switch needs ports"),
        ("--tap vs-none@no-such-space", "namespace"),
    ];
    for (args, word) in cases {
        let output = vswitch(args).output().expect("it can be started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args}: {said}");
        assert_eq!(said.lines().count(), 1, "{args}: {said}");
        assert!(said.contains(word) || said.contains("CAP_NET"), "{args}: {said}");
    }
}

/// A capture of packets, each with its number.
fn capture(path: &std::path::Path, from: u8, to: u8, packets: u32) {
    use pcap_file::pcap::{PcapPacket, PcapWriter};
    let mut writer =
        PcapWriter::new(fs::File::create(path).expect("a new file")).expect("a header");
    for number in 0..packets {
        let mut bytes = [0; 64];
        bytes[5] = to;
        bytes[11] = from;
        bytes[0] = 2;
        bytes[6] = 2;
        bytes[20..24].copy_from_slice(&number.to_be_bytes());
        let time = Duration::from_micros(number.into());
        writer.write_packet(&PcapPacket::new(time, 64, &bytes)).expect("it is written");
    }
}

#[test]
fn captures_go_through_whole_and_in_order() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| directory.path().join(name);
    capture(&path("a.pcap"), 1, 2, 5000);
    capture(&path("b.pcap"), 2, 1, 3000);
    let of = |name: &str| {
        format!("--capture {}:{}", path(name).display(), path(&format!("to-{name}")).display())
    };
    let (ports, workload) = ([of("a.pcap"), of("b.pcap")].join(" "), path("workload"));
    let waits = "--overflow wait --patience 10s --json -";
    let args = format!("{ports} {waits} --workload {}", workload.display());
    let output = vswitch(&args).output().expect("it can be started");
    assert!(output.status.success(), "{}", text(&output));
    let saved = fs::read_to_string(workload).expect("it was written");
    assert!(saved.starts_with("corelane workload 1\n") && saved.contains("\nconsumer\n"));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let received = |port: usize| json["ports"][port]["received"].as_u64();
    assert_eq!([received(0), received(1)], [Some(3000), Some(5000)]);
    for (name, packets) in [("to-a.pcap", 3000), ("to-b.pcap", 5000)] {
        let file = fs::File::open(path(name)).expect("it was written");
        let mut reader = pcap_file::pcap::PcapReader::new(file).expect("a capture");
        for number in 0..packets {
            let packet = reader.next_packet().expect("a packet").expect("a whole packet");
            assert_eq!(packet.data[20..24], u32::to_be_bytes(number), "{name}");
        }
        assert!(reader.next_packet().is_none());
    }
}
