//! A daemon that keeps the log of programs on other machines, also what they wrote just before they
//! crashed: log_daemon keep ADDRESS, and on the other machines log_daemon forward ADDRESS.
//!
//! There, programs write their lines into shared memory, as with the library's example of this name. So
//! a line outlives its program. A thread forwards the lines, and waits while the network is broken.

use std::error::Error;
use std::io::Write as _;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

use corelane::shm::{Lane, Listener, RecordConsumer};
use corelane_net::{Node, channel};

mod arguments;

/// Longest line in bytes.
const LONGEST: usize = 1000;

fn main() -> ExitCode {
    let usage = "log_daemon keep ADDRESS, or log_daemon forward ADDRESS";
    arguments::run(usage, |arguments| match arguments {
        ["keep", address] => Some(keep(address)),
        ["forward", address] => Some(forward(address)),
        ["crash", name] => Some(crash(name)),
        _ => None,
    })
}

/// Prints the lines of all machines.
fn keep(address: &str) -> Result<(), Box<dyn Error>> {
    let node = Node::listen(address)?;
    let lines =
        node.records::<Vec<u8>>("log").gives_up_after(Duration::MAX).receiver_of_several()?;
    for line in lines.iter() {
        println!("{}", String::from_utf8_lossy(&line));
    }
    Ok(lines.ended()?)
}

/// Forwards the lines of this machine's programs: here of three that crash.
fn forward(address: &str) -> Result<(), Box<dyn Error>> {
    let node = Node::connect(address)?;
    let log = node.records("log").sender()?;
    let name = format!("log {}", std::process::id());
    let listener = Listener::bind(&name)?;
    for _ in 0..3 {
        let mut program = Command::new(std::env::current_exe()?).args(["crash", &name]).spawn()?;
        let lane = Lane::<[u8]>::create(1 << 16)?;
        let lines = lane.consumer()?;
        listener.hand_out(&lane)?;
        let log = log.clone();
        thread::spawn(move || forward_lines(lines, &log));
        program.wait()?;
    }
    Ok(log.finish(Duration::from_secs(60))?)
}

fn forward_lines(mut lines: RecordConsumer, log: &channel::Sender<Vec<u8>>) {
    // A program may crash before it has its side: then no line and no end ever comes.
    let mut patience = Duration::from_secs(5);
    while let Ok(line) = lines.pop_timeout(patience) {
        if log.send(line.to_vec()).is_err() {
            return;
        }
        patience = Duration::MAX;
    }
}

/// A program that writes some lines, and crashes.
fn crash(name: &str) -> Result<(), Box<dyn Error>> {
    let mut log = Lane::<[u8]>::connect(name)?.producer()?;
    for n in 1..=5 {
        let mut line = log.claim(LONGEST)?;
        write!(line, "line {n} of process {}", std::process::id())?;
        line.commit_written();
    }
    std::process::abort()
}
