//! What a lane of many senders costs its receiver: many MACHINES SENDERS. The machines are nodes of
//! another process here, each with its part of the senders.

use std::error::Error;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use corelane_net::Node;

mod arguments;

/// Items of each sender.
const ITEMS: u64 = 1000;

fn main() -> ExitCode {
    let usage = "many MACHINES SENDERS, both from 1 on";
    arguments::run(usage, |arguments| match arguments {
        [machines, senders] => Some(receive(number(machines)?, number(senders)?)),
        ["send", address, machines, senders] => {
            Some(send(address, number(machines)?, number(senders)?))
        }
        _ => None,
    })
}

/// A number from 1 on.
fn number(argument: &str) -> Option<u64> {
    argument.parse().ok().filter(|&number| number > 0)
}

/// What this process has used.
#[derive(Clone, Copy)]
struct Usage {
    kib: u64,
    threads: u64,
    ticks: u64,
}

impl Usage {
    fn now() -> Result<Self, Box<dyn Error>> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let number = |key: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let stat = std::fs::read_to_string("/proc/self/stat")?;
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks = fields.skip(11).take(2).flat_map(str::parse::<u64>).sum();
        let (kib, threads) = (number("VmRSS:"), number("Threads:"));
        Ok(Self { kib: kib.ok_or("no VmRSS")?, threads: threads.ok_or("no Threads")?, ticks })
    }

    fn print(self, what: &str, before: Self, per: u64) {
        println!(
            "{what:30} {:8} KiB {:6} threads {:8.1} ms of processor time",
            self.kib.saturating_sub(before.kib) / per,
            self.threads.saturating_sub(before.threads),
            (self.ticks - before.ticks) as f64 * 10.0 / per as f64
        );
    }
}

fn receive(machines: u64, senders: u64) -> Result<(), Box<dyn Error>> {
    let node = Node::listen("127.0.0.1:0")?;
    let rx = node.lane::<u64>("many").receiver_of_several()?;
    let alone = Usage::now()?;
    let mut child = Command::new(std::env::current_exe()?)
        .args(["send", node.address(), &machines.to_string(), &senders.to_string()])
        .stdin(Stdio::piped())
        .spawn()?;
    // Each sender says that it is there.
    for _ in 0..senders {
        rx.recv_timeout(Duration::from_secs(120))?;
    }
    let there = Usage::now()?;
    there.print("a machine, with its senders", alone, machines);
    there.print("a sender", alone, senders);
    std::thread::sleep(Duration::from_secs(10));
    let idle = Usage::now()?;
    idle.print("a second without items", there, 10);
    drop(child.stdin.take()); // the senders begin
    let begin = Instant::now();
    let mut sum = 0;
    for _ in 0..senders * ITEMS {
        sum += rx.recv_timeout(Duration::from_secs(60))?;
    }
    assert_eq!(sum, senders * ITEMS * (ITEMS + 1) / 2);
    Usage::now()?.print("1000 items of each", idle, 1);
    let ns = begin.elapsed().as_nanos() as u64 / (senders * ITEMS);
    println!("{ns} ns an item, {} senders", senders);
    child.wait()?;
    Ok(())
}

fn send(address: &str, machines: u64, senders: u64) -> Result<(), Box<dyn Error>> {
    let before = Usage::now()?;
    let mut nodes = Vec::new();
    for _ in 0..machines {
        nodes.push(Node::connect(address)?);
    }
    let connected = Usage::now()?;
    connected.print("a machine, at its own side", before, machines);
    let mut lanes = Vec::new();
    for n in 0..senders {
        let node = &nodes[(n % machines) as usize];
        lanes.push(node.lane::<u64>("many").window(256).sender()?);
    }
    for lane in &lanes {
        lane.send(0)?;
    }
    std::io::stdin().read_line(&mut String::new())?;
    Usage::now()?.print("a sender, at its own side", connected, senders);
    for n in 1..=ITEMS {
        for lane in &lanes {
            lane.send(n)?;
        }
    }
    for lane in lanes {
        lane.finish(Duration::from_secs(60))?;
    }
    Ok(())
}
