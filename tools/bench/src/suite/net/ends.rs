//! The processes at both ends: what they are told, and what they say.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use corelane_report::interrupt;
use serde::{Deserialize, Serialize};

use super::NET_END;
use super::place::Place;
use crate::suite::wait::Usage;

/// The longest time in which an end must have started, or be done after the measured time.
const PATIENCE: Duration = Duration::from_secs(40);
/// How often is looked for Ctrl-C.
const LOOK: Duration = Duration::from_millis(20);

/// Which of both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Sender,
    Receiver,
}

/// What an end is, as its command line says it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct End {
    pub(super) queue: String,
    pub(super) record_bytes: usize,
    /// Where the receiver, or the server, listens.
    pub(super) address: String,
    pub(super) task: Task,
}

/// What an end does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Task {
    /// Becomes a server.
    Serve { config: PathBuf },
    /// Sends as much as it can.
    Send { warm_up: Duration, time: Duration, items: Option<u64> },
    /// Sends on a schedule.
    SendOnTime { per_s: f64, time: Duration },
    /// Receives until the sender ends, and measures after the warm-up.
    Receive { warm_up: Duration, may_lose: bool },
    /// The same, with the latency of each item.
    ReceiveOnTime { warm_up: Duration },
    /// Sends numbers, from this one on, until its input ends.
    SendUntilStopped { first: u64 },
    /// Receives until the lane ends, and says each number.
    ReceiveAll,
}

/// What an end says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Said {
    /// It listens.
    Ready,
    Sent(Sent),
    Received(Received),
    /// This number and all before it are safe.
    Acknowledged(u64),
    Taken(u64),
    /// All that was sent, up to this number, is safe.
    Finished(u64),
    /// Items of which the sender doesn't know whether they are safe.
    Unfinished(u64),
    /// The lane has ended.
    Ended,
    Failed(String),
}

/// What a sender has done.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Sent {
    /// All items.
    pub(super) items: u64,
    /// After the warm-up.
    pub(super) measured: Part,
}

/// What a receiver has done.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Received {
    pub(super) items: u64,
    pub(super) measured: Part,
    /// Nanoseconds, and how many items had as many.
    pub(super) latencies: Vec<(u64, u64)>,
}

/// What was measured.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) items: u64,
    ns: f64,
    cpu_ns: f64,
    sleeps: f64,
}

impl Part {
    pub(super) fn ns_of_item(self) -> f64 {
        self.ns / (self.items as f64).max(1.0)
    }

    pub(super) fn usage_of_item(self) -> Usage {
        let items = (self.items as f64).max(1.0);
        Usage { cpu_ns: self.cpu_ns / items, sleeps: self.sleeps / items }
    }
}

/// The beginning of a measured part, in an end.
pub(super) struct Begin {
    items: u64,
    usage: Usage,
    time: Instant,
}

impl Begin {
    /// It begins after this number of items.
    pub(super) fn after(items: u64) -> Self {
        Self { items, usage: usage(), time: Instant::now() }
    }

    /// It ends after this number of items.
    pub(super) fn until(&self, items: u64) -> Part {
        let ns = self.time.elapsed().as_nanos() as f64;
        let used = usage() - self.usage;
        Part { items: items - self.items, ns, cpu_ns: used.cpu_ns, sleeps: used.sleeps }
    }
}

fn usage() -> Usage {
    Usage::of_all_threads().unwrap_or_default()
}

/// Says something to the process that measures. If that is gone, this one ends.
pub(super) fn say(said: &Said) {
    let mut line = serde_json::to_string(said).expect("it can be written");
    line.push('\n');
    let mut out = std::io::stdout().lock();
    if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Waits until the process that measures needs this one no more.
pub(super) fn wait_for_end_of_input() {
    let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
}

/// An end, as the process that measures sees it. Its drop kills it.
pub(super) struct Process {
    side: Side,
    child: Child,
    said: Receiver<Said>,
}

impl Process {
    pub(super) fn start(place: &Place, side: Side, end: &End) -> Result<Self, String> {
        let text = |error: std::io::Error| format!("an end doesn't start: {error}");
        let what = serde_json::to_string(end).map_err(|error| error.to_string())?;
        let mut command = place.command(side).map_err(text)?;
        let command = command.arg(NET_END).arg(what).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(text)?;
        let out = BufReader::new(child.stdout.take().expect("it is piped"));
        let (tx, said) = channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                // The last line of a killed process may be a part.
                let Ok(said) = serde_json::from_str(&line) else { break };
                let _ = tx.send(said);
            }
        });
        Ok(Self { side, child, said })
    }

    /// Waits until it listens.
    pub(super) fn is_ready(&mut self) -> Result<(), String> {
        match self.next(PATIENCE)? {
            Said::Ready => Ok(()),
            said => Err(format!("the {} says {said:?}", self.words())),
        }
    }

    /// What a receiver has done, which it says within about this time.
    pub(super) fn received(&mut self, within: Duration) -> Result<Received, String> {
        match self.next(within + PATIENCE)? {
            Said::Received(received) => Ok(received),
            said => Err(format!("the {} says {said:?}", self.words())),
        }
    }

    /// What a sender has done.
    pub(super) fn sent(&mut self) -> Result<Sent, String> {
        match self.next(PATIENCE)? {
            Said::Sent(sent) => Ok(sent),
            said => Err(format!("the {} says {said:?}", self.words())),
        }
    }

    fn next(&mut self, within: Duration) -> Result<Said, String> {
        let until = Instant::now() + within;
        loop {
            match self.said.recv_timeout(LOOK) {
                Ok(Said::Failed(why)) => return Err(format!("the {} says: {why}", self.words())),
                Ok(said) => return Ok(said),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("the {} has ended too early", self.words()));
                }
                Err(RecvTimeoutError::Timeout) if interrupt::requested() => {
                    return Err("interrupted".into());
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= until => {
                    return Err(format!("the {} says nothing", self.words()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// What it has said since it was asked last.
    pub(super) fn news(&self) -> impl Iterator<Item = Said> + '_ {
        self.said.try_iter()
    }

    /// Ends its input, which stops it.
    pub(super) fn stop(&mut self) {
        self.child.stdin = None;
    }

    /// Kills it.
    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// What it has said since it was asked last, until its end.
    pub(super) fn rest(&self) -> impl Iterator<Item = Said> + '_ {
        self.said.iter()
    }

    fn words(&self) -> &'static str {
        match self.side {
            Side::Sender => "sender",
            Side::Receiver => "receiver",
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
