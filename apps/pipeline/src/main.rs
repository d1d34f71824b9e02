//! `pipeline` finds flows and their applications in packets.

mod cli;
mod live;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use corelane_report::{Failure, Sink, interrupt, parse, print, unknown};
use pipeline::{Captures, Named, Replay, Report, Source, csv, document, json, run};

use cli::{Cli, Speed};

fn main() -> ExitCode {
    parse().and_then(|cli: Cli| carry_out(&cli)).unwrap_or_else(Failure::report)
}

fn carry_out(cli: &Cli) -> Result<ExitCode, Failure> {
    let queues = Named::all();
    let queue = queues.iter().find(|queue| queue.id == cli.queue);
    let queue = queue.ok_or_else(|| unknown(&cli.queue, queues.iter().map(|queue| queue.id)))?;
    let mut outputs = Outputs::open(cli)?;
    if let Some(name) = &cli.interface {
        let report = listen(name, queue, cli)?;
        outputs.publish(&report)?;
        // There is no other end than Ctrl-C.
        return Ok(ExitCode::SUCCESS);
    }
    let captures = Captures::open(&cli.files, interrupt::requested).map_err(Failure::Usage)?;
    interrupt::listen();
    let (report, captures) = match cli.speed {
        Speed::Max => {
            let mut captures = captures;
            (through(&mut captures, queue, cli)?, captures)
        }
        Speed::Times(speed) => {
            let mut replay = Replay::new(captures, speed, interrupt::requested);
            (through(&mut replay, queue, cli)?, replay.into_source())
        }
    };
    captures.faults().iter().for_each(|fault| eprintln!("note: {fault}"));
    outputs.publish(&report)?;
    Ok(interrupt::exit_code(0))
}

/// Sends the packets through the stages.
fn through(source: &mut impl Source, queue: &Named, cli: &Cli) -> Result<Report, Failure> {
    let settings = cli.settings()?;
    let mut live = live::Live::new(cli.live);
    let report = run(queue, source, &settings, |progress| live.show(progress));
    live.end();
    report.map_err(|error| {
        let capacity = cli.capacity.0;
        Failure::Usage(format!("{} can't have --capacity {capacity}: {error}", queue.id))
    })
}

#[cfg(target_os = "linux")]
fn listen(name: &str, queue: &Named, cli: &Cli) -> Result<Report, Failure> {
    let open = pipeline::Interface::open(name, interrupt::requested);
    let mut interface = open.map_err(Failure::Usage)?;
    interrupt::listen();
    let report = through(&mut interface, queue, cli)?;
    interface.fault().iter().for_each(|fault| eprintln!("note: {name}: {fault}"));
    Ok(report)
}

#[cfg(not(target_os = "linux"))]
fn listen(_: &str, _: &Named, _: &Cli) -> Result<Report, Failure> {
    Err(Failure::Usage("--interface needs Linux; capture into a file and give its name".into()))
}

/// Where the report goes.
struct Outputs {
    json: Option<Sink>,
    csv: Option<Sink>,
    /// Whether one of them is standard output.
    is_standard: bool,
}

impl Outputs {
    /// Opens the files before any packet is read.
    fn open(cli: &Cli) -> Result<Self, Failure> {
        let is_standard = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
        let (first, second) = (is_standard(&cli.json), is_standard(&cli.csv));
        if first && second {
            let text = "--json and --csv can't both be standard output; give one of them a file";
            return Err(Failure::Usage(text.into()));
        }
        let open = |path: &Option<PathBuf>| path.as_deref().map(Sink::open).transpose();
        Ok(Self { json: open(&cli.json)?, csv: open(&cli.csv)?, is_standard: first || second })
    }

    /// Writes the files, and a table to the terminal unless that is one of them.
    fn publish(&mut self, report: &Report) -> Result<(), Failure> {
        if let Some(sink) = &mut self.json {
            sink.replace(&json(report))?;
        }
        if let Some(sink) = &mut self.csv {
            sink.replace(&csv(report))?;
        }
        if self.is_standard { Ok(()) } else { print(&document(report).to_text()) }
    }
}
