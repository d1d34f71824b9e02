//! `lane bench net`: lanes between machines, beside TCP, Zenoh, NATS and gRPC.
//!
//! Each measurement starts two processes, the ends. They are this program with the command
//! [`NET_END`], which calls [`be_net_end`]. They say on their output what they have done.
//!
//! To add a lane or a peer: implement [`Way`](engines::Way) in `engines/`, and add a line to
//! [`engines::entries`].

mod args;
mod ends;
mod engines;
mod faults;
mod latency;
mod load;
mod place;
mod plan;
mod record;
mod setting;
mod stream;

use std::sync::Arc;

use corelane_report::{Failure, interrupt};
use rustix::process::{Signal, set_parent_process_death_signal};

pub use self::args::NetArgs;
use self::ends::{End, Process, Side, Task};
use self::engines::Measurable;
use self::engines::server::Server;
use self::place::Place;
pub(crate) use self::setting::{Faults, NetSetting, Offered};
use crate::kinds::Test;
use crate::params::Length;
use crate::sample::Sample;

/// The command that makes the program an end of a measurement.
pub const NET_END: &str = "net-end";

/// A measurement, in the process that starts the ends.
#[derive(Clone)]
struct Cell {
    one: &'static Measurable,
    setting: NetSetting,
    place: Arc<Place>,
    length: Length,
    /// Items per second of `latency`, if they are given.
    load: Option<f64>,
    /// Runs of `faults`, and what they are.
    runs: faults::Runs,
}

impl Cell {
    /// Runs `test` once. The error says what went wrong.
    fn measure(&self, test: Test) -> Result<Sample, String> {
        let sample = match test {
            Test::Stream => self.stream(self.length),
            Test::Latency => self.latency(),
            _ => self.faults(),
        };
        // Ctrl-C has ended both ends, too.
        if interrupt::requested() { Ok(Sample::default()) } else { sample }
    }

    fn queue(&self) -> &'static str {
        self.one.entry.info.id
    }

    /// The server, if it needs one.
    fn server(&self, address: &str) -> Result<Option<Server>, String> {
        self.one.kernel.has_server.then(|| Server::start(&self.place, address)).transpose()
    }

    /// What an end is told.
    fn end(&self, address: &str, task: Task) -> End {
        End {
            queue: self.queue().into(),
            record_bytes: self.setting.record_bytes,
            address: address.into(),
            task,
        }
    }

    /// Starts the receiver, and then the sender, of a measurement.
    fn start(&self, receives: Task, sends: Task) -> Result<Ends, String> {
        let address = self.place.address()?;
        let server = self.server(&address)?;
        let mut receiver =
            Process::start(&self.place, Side::Receiver, &self.end(&address, receives))?;
        receiver.is_ready()?;
        let sender = Process::start(&self.place, Side::Sender, &self.end(&address, sends))?;
        Ok(Ends { sender, receiver, _server: server })
    }
}

/// Both ends of a measurement. Their drop ends them, and the server last.
struct Ends {
    sender: Process,
    receiver: Process,
    _server: Option<Server>,
}

/// Does the part of an end of a measurement, as `what` says.
///
/// # Errors
///
/// If it was not started by a measurement.
pub fn be_net_end(what: &str) -> Result<(), Failure> {
    let end: End = serde_json::from_str(what)
        .map_err(|_| Failure::Usage(format!("{NET_END} is started by `lane bench net` only")))?;
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    if let Task::Serve { config } = &end.task {
        return Err(Failure::Run(engines::server::become_one(config)));
    }
    if let Err(why) = run(&end) {
        ends::say(&ends::Said::Failed(why));
    }
    ends::wait_for_end_of_input();
    Ok(())
}

fn run(end: &End) -> Result<(), String> {
    let one = engines::entries().iter().find(|one| one.entry.info.id == end.queue);
    let kernel = &one.ok_or_else(|| format!("there is no {}", end.queue))?.kernel;
    match end.task {
        Task::SendUntilStopped { .. } | Task::ReceiveAll => match kernel.faults {
            Some(faults) => faults(end),
            None => Err(format!("{} has no faults", end.queue)),
        },
        _ => (kernel.run)(end),
    }
}
