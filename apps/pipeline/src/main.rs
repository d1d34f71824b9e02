//! `pipeline` finds flows and their applications in packets.

mod cli;
mod live;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use corelane_report::{Failure, Sink, interrupt, parse, print, unknown};
use pipeline::{
    Captures, Named, Queues, Replay, Report, Settings, Source, Watched, csv, document, json, run,
};

use cli::{Cli, Speed};

fn main() -> ExitCode {
    parse().and_then(|cli: Cli| carry_out(&cli)).unwrap_or_else(Failure::report)
}

fn carry_out(cli: &Cli) -> Result<ExitCode, Failure> {
    let (queues, choice) = (Named::all(), cli.choice()?);
    let name = cli.queue.as_ref().unwrap_or(&choice.queue);
    let queue = queues.iter().find(|queue| queue.id == name);
    let queue = queue.ok_or_else(|| unknown(name, queues.iter().map(|queue| queue.id)))?;
    let stages = Stages { queue: *queue, settings: cli.settings(&choice)?, cli };
    let mut outputs = Outputs::open(cli)?;
    if let Some(name) = &cli.interface {
        let report = listen(name, &stages)?;
        outputs.publish(&report)?;
        // There is no other end than Ctrl-C.
        return Ok(ExitCode::SUCCESS);
    }
    let captures = Captures::open(&cli.files, interrupt::requested).map_err(Failure::Usage)?;
    interrupt::listen();
    let (report, captures) = match cli.speed {
        Speed::Max => {
            let mut captures = captures;
            (stages.run(&mut captures)?, captures)
        }
        Speed::Times(speed) => {
            let mut replay = Replay::new(captures, speed, interrupt::requested);
            (stages.run(&mut replay)?, replay.into_source())
        }
    };
    captures.faults().iter().for_each(|fault| eprintln!("note: {fault}"));
    outputs.publish(&report)?;
    Ok(interrupt::exit_code(0))
}

/// The stages, and what is between them.
struct Stages<'a> {
    queue: Named,
    settings: Settings,
    cli: &'a Cli,
}

impl Stages<'_> {
    /// Sends the packets through the stages.
    fn run(&self, source: &mut impl Source) -> Result<Report, Failure> {
        let Some(path) = &self.cli.workload else { return self.through(&self.queue, source) };
        let mut file = Sink::open(path)?;
        let watched = Watched::new(self.queue);
        let report = self.through(&watched, source)?;
        let mut workload = Vec::new();
        if let Some(recorder) = watched.workload() {
            recorder.write(&mut workload).map_err(|error| Failure::Run(error.to_string()))?;
        }
        file.replace(&String::from_utf8_lossy(&workload))?;
        Ok(report)
    }

    fn through(&self, queues: &impl Queues, source: &mut impl Source) -> Result<Report, Failure> {
        let mut live = live::Live::new(self.cli.live);
        let report = run(queues, source, &self.settings, |progress| live.show(progress));
        live.end();
        report.map_err(|error| {
            let (id, capacity) = (self.queue.id, self.settings.capacity);
            Failure::Usage(format!("{id} can't have --capacity {capacity}: {error}"))
        })
    }
}

#[cfg(target_os = "linux")]
fn listen(name: &str, stages: &Stages<'_>) -> Result<Report, Failure> {
    let open = pipeline::Interface::open(name, interrupt::requested);
    let mut interface = open.map_err(Failure::Usage)?;
    interrupt::listen();
    let report = stages.run(&mut interface)?;
    interface.fault().iter().for_each(|fault| eprintln!("note: {name}: {fault}"));
    Ok(report)
}

#[cfg(not(target_os = "linux"))]
fn listen(_: &str, _: &Stages<'_>) -> Result<Report, Failure> {
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
