//! HTTP: hyper, served by an executor, and loaded over the loopback by a thread of this process, or
//! by wrk.

mod load;
mod servers;
pub(crate) mod wrk;

use std::net::TcpListener;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::params::Length;
use crate::sample::{Sample, histogram};
use crate::suite::executor::ExecutorSetting;
use crate::suite::executor::HttpLoad;
use load::Load;

/// Nanoseconds for each request.
pub(super) fn measure(
    executor: &str,
    length: Length,
    setting: &ExecutorSetting,
    connections: usize,
) -> Result<Sample, String> {
    let fault = |error: std::io::Error| {
        format!("{error}, while serving HTTP; are there enough descriptors (ulimit -n)?")
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(fault)?;
    let address = listener.local_addr().map_err(fault)?;
    let server = servers::serve(executor, listener, setting.workers).map_err(fault)?;
    if setting.load == Some(HttpLoad::Wrk) {
        let before = cpu_of_server();
        let sent = wrk::run(address, connections, length)?;
        let per_request = |time: Duration| time.as_nanos() as f64 / sent.requests as f64;
        return Ok(Sample {
            cpu_ns: Some(per_request(cpu_of_server() - before)),
            latency: Some(sent.latency),
            ..Sample::of(per_request(sent.time))
        });
    }
    let mut load = Load::new(address, connections).map_err(fault)?;
    let mut sample = Sample::default();
    for part in length.parts() {
        let (begin, before) = (Instant::now(), cpu_of_server());
        let mut latency = histogram();
        let requests =
            load.run(|requests| part.is_over(requests, begin), &mut latency).map_err(fault)?;
        let per_request = |time: Duration| time.as_nanos() as f64 / requests as f64;
        sample = Sample {
            cpu_ns: Some(per_request(cpu_of_server() - before)),
            latency: Some(latency),
            ..Sample::of(per_request(begin.elapsed()))
        };
    }
    // Connections first: then no server waits for a request.
    drop(load);
    drop(server);
    Ok(sample)
}

/// The processor time of all threads but the calling one, which makes the load.
fn cpu_of_server() -> Duration {
    let time = |clock| {
        let time = clock_gettime(clock);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    time(ClockId::ProcessCPUTime).saturating_sub(time(ClockId::ThreadCPUTime))
}
