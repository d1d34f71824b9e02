//! The load of wrk, a program of its own.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::process::{self, Command};
use std::time::Duration;

use hdrhistogram::Histogram;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::params::Length;
use crate::sample::histogram;

/// What wrk has sent.
pub(super) struct Sent {
    pub(super) requests: u64,
    pub(super) time: Duration,
    pub(super) latency: Histogram<u64>,
}

/// Latencies that wrk tells, from the least to the longest.
const LATENCIES: u64 = 10_000;

/// Has wrk write a line of numbers, in microseconds.
fn script() -> String {
    format!(
        "done = function(summary, latency)
            local errors = summary.errors
            io.write(string.format('SENT %d %d %d', summary.requests, summary.duration,
                errors.connect + errors.read + errors.write + errors.status + errors.timeout))
            for part = 1, {LATENCIES} do
                io.write(string.format(' %d', latency:percentile((part - 0.5) * 100 / {LATENCIES})))
            end
        end"
    )
}

/// Whether wrk is there.
pub(crate) fn probe() -> Result<(), String> {
    // It ends with 1 after it has told its version.
    Command::new("wrk").arg("--version").output().map(drop).map_err(|error| {
        format!("wrk does not start ({error}): install it (Debian: apt-get install wrk), or leave --load out")
    })
}

/// Sends requests for some seconds.
pub(super) fn run(address: SocketAddr, connections: usize, length: Length) -> Result<Sent, String> {
    let Length::Time(time) = length else { unreachable!("the plan has a time for wrk") };
    // wrk opens the script more than once.
    let fault = |error: std::io::Error| format!("{error}, while starting wrk");
    let memory =
        memfd_create("script", MemfdFlags::CLOEXEC).map_err(|error| fault(error.into()))?;
    let mut file = File::from(memory);
    file.write_all(script().as_bytes()).map_err(fault)?;
    let output = Command::new("wrk")
        // Otherwise it leaves latencies of more than 2 seconds out.
        .args(["--threads", "1", "--timeout", "60s", "--connections", &connections.to_string()])
        .args(["--duration", &format!("{}s", time.as_secs().max(1))])
        .args(["--script", &format!("/proc/{}/fd/{}", process::id(), file.as_raw_fd())])
        .arg(format!("http://{address}/"))
        .output()
        .map_err(fault)?;
    parse(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
        let told = String::from_utf8_lossy(&output.stderr);
        format!(
            "wrk had errors ({}); are there enough descriptors (ulimit -n)? {told}",
            output.status
        )
    })
}

/// What the script has written. `None` if there were errors.
fn parse(output: &str) -> Option<Sent> {
    let (_, line) = output.split_once("SENT ")?;
    let mut numbers = line.split_whitespace().map_while(|number| number.parse::<u64>().ok());
    let (requests, time, errors) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let mut latency = histogram();
    numbers.for_each(|us| latency.saturating_record(1000 * us));
    let is_whole = requests > 0 && errors == 0 && latency.len() == LATENCIES;
    is_whole.then_some(Sent { requests, time: Duration::from_micros(time), latency })
}
