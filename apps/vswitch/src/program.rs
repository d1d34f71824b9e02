//! The command line.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand, ValueEnum};
use corelane::channel;
use corelane::shm::Listener;
use corelane::workload::Recorder;
use corelane_report::{Choice, Failure, Positive, Sink, duration, interrupt, parse, print};
use serde::Serialize;
use vswitch::capture::Capture;
use vswitch::device::{Device, DeviceName, DevicePort, Kind};
use vswitch::port::{AnyPort, RingPort};
use vswitch::process::{self, Part, ProcessPort};
use vswitch::ring::Ring;
use vswitch::switching::{Attach, PortReport, Running, run};
use vswitch_core::{Options, Overflow};

/// A learning Ethernet switch in user space, between network devices, captures and processes.
///
/// Ctrl-C ends it, and what each port has carried is printed; the exit code is then 130.
#[derive(Debug, Parser)]
#[command(name = "vswitch", version, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    /// A TAP device, which is made if there is none; NAME@NAMESPACE in another network namespace.
    #[arg(long, value_name = "NAME")]
    tap: Vec<DeviceName>,

    /// An interface, of which all packets are taken: the kernel should have no address there.
    #[arg(long, value_name = "NAME")]
    interface: Vec<DeviceName>,

    /// A capture (pcap or pcapng) whose packets are sent, and a file for the packets that come:
    /// IN.pcap or IN.pcap:OUT.pcap. Without devices and --listen, the switch ends with the last
    /// packet.
    #[arg(long, value_name = "IN[:OUT]")]
    capture: Vec<String>,

    /// A name at which other processes get ports: see `vswitch client`.
    #[arg(long, value_name = "NAME")]
    listen: Option<String>,

    /// The rings, their capacity and the batch that `lane tune --save FILE` has chosen; options that
    /// are given win [default: rings and capacity that it has chosen for this program's own workload].
    #[arg(long, value_name = "FILE")]
    tuned: Option<PathBuf>,

    /// Save how the ring of the first capture is used, for `lane tune`.
    #[arg(long, value_name = "FILE", requires = "capture")]
    workload: Option<PathBuf>,

    /// The rings between the switch and its ports, by name (lane list has all) [default: as tuned].
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,

    /// Packets that each ring must hold [default: as tuned].
    #[arg(long, value_name = "N")]
    capacity: Option<Positive>,

    /// Most packets that the switch pulls from a port in one go [default: 32, or as in --tuned].
    #[arg(long, value_name = "N")]
    batch: Option<Positive>,

    /// What happens to a packet if the receiving port has no room.
    #[arg(long, value_enum, default_value = "drop")]
    overflow: OnOverflow,

    /// With --overflow wait: how long a port may take nothing until packets for it are dropped.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "100ms")]
    patience: Duration,

    /// How long an address is known after its last packet.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "300s")]
    age: Duration,

    /// Send captures at the times of their packets, and not as fast as possible.
    #[arg(long)]
    real_time: bool,

    /// Read and write each device in two threads of its own, with rings to the switch: for more
    /// cores, if the switch's is busy.
    #[arg(long)]
    device_threads: bool,

    /// Let the kernel compute checksums and split long packets, also if all ports are devices.
    #[arg(long)]
    no_offload: bool,

    /// Never sleep: the switch's core is always busy.
    #[arg(long)]
    spin: bool,

    /// End after this time.
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    length: Option<Duration>,

    /// Print what each port has carried, once a second.
    #[arg(long)]
    live: bool,

    /// Write what each port has carried to this file as JSON; - is standard output.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A client in another process, which answers requests and sends some: to try a switch, and to
    /// measure it.
    Client(ClientArgs),
}

#[derive(Debug, clap::Args)]
struct ClientArgs {
    /// The name at which the switch listens.
    name: String,

    /// Which client this is.
    #[arg(long, value_name = "N", default_value = "0")]
    number: u32,

    /// How many clients there are, each with a number of its own from 0 on.
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(2..=1024))]
    clients: u32,

    /// Requests in one go.
    #[arg(long, value_name = "N", default_value = "8")]
    batch: Positive,

    /// Send packets as fast as possible, and answer nothing.
    #[arg(long)]
    flood: bool,

    /// How long it runs.
    #[arg(long = "for", value_name = "TIME", value_parser = duration, default_value = "5s")]
    length: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnOverflow {
    /// It is dropped and counted.
    Drop,
    /// It waits, and so do later packets of the same sender.
    Wait,
}

/// What is written as JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    schema: u32,
    seconds: f64,
    ports: &'a [PortReport],
}

pub(crate) fn main() -> ExitCode {
    parse::<Cli>().and_then(|cli| carry_out(&cli)).unwrap_or_else(Failure::report)
}

fn carry_out(cli: &Cli) -> Result<ExitCode, Failure> {
    interrupt::listen();
    match &cli.command {
        Some(Command::Client(args)) => client(args),
        None => switch(cli),
    }
}

/// Packets that the switch pulls from a port in one go.
const BATCH: usize = 32;
/// What `lane tune` has chosen for the workload of this program.
const TUNED: &str = include_str!("../tuned.json");

fn switch(cli: &Cli) -> Result<ExitCode, Failure> {
    let tuned = match &cli.tuned {
        Some(path) => Choice::read(path)?,
        // The batch is for all ports together.
        None => Choice { batch: BATCH, ..Choice::parse(TUNED).map_err(Failure::Run)? },
    };
    let ring = Ring::find(cli.queue.as_ref().unwrap_or(&tuned.queue))?;
    let capacity = cli.capacity.map_or(tuned.capacity, |capacity| capacity.0);
    let batch = cli.batch.map_or(tuned.batch, |batch| batch.0);
    let mut workload = cli.workload.as_deref().map(Sink::open).transpose()?;
    let recorder = Recorder::new();
    let (attach, attached) = channel::unbounded();
    let mut threads = Vec::new();
    let has_devices = !cli.tap.is_empty() || !cli.interface.is_empty();
    let offload = has_devices && cli.capture.is_empty() && cli.listen.is_none() && !cli.no_offload;
    let taps = cli.tap.iter().map(|name| (name, Kind::Tap));
    for (name, kind) in taps.chain(cli.interface.iter().map(|name| (name, Kind::Interface))) {
        let device = Device::open(name, kind, offload)?;
        let port: AnyPort = match cli.device_threads {
            false => Box::new(DevicePort::from(device)),
            true => {
                let (port, client) = RingPort::pair(ring, capacity)?;
                let no_thread =
                    |error| Failure::Run(format!("the system gives no thread: {error}"));
                device.start(client).map_err(no_thread)?;
                Box::new(port)
            }
        };
        let _ = attach.send(Attach { name: name.to_string(), port });
    }
    let left = Arc::new(AtomicUsize::new(cli.capture.len()));
    let captures = cli.capture.iter().map(|text| {
        let (from, to) = text.split_once(':').map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
        let capture = Capture::open(from.as_ref(), to.map(AsRef::as_ref), cli.real_time)?;
        Ok((from, capture))
    });
    for (name, capture) in captures.collect::<Result<Vec<_>, Failure>>()? {
        let is_watched = workload.is_some() && threads.is_empty();
        let (port, client) = match is_watched {
            true => RingPort::watched(ring, capacity, &recorder)?,
            false => RingPort::pair(ring, capacity)?,
        };
        threads.extend(capture.start(client, left.clone()));
        let _ = attach.send(Attach { name: name.into(), port: Box::new(port) });
    }
    if let Some(name) = &cli.listen {
        let listener = Listener::bind(name).map_err(|error| Failure::Usage(error.to_string()))?;
        let attach = attach.clone();
        thread::spawn(move || ProcessPort::serve(&listener, capacity, &attach));
    } else if !has_devices && cli.capture.is_empty() {
        return Err(Failure::Usage(
            "a switch needs ports: give --tap, --interface, --capture or --listen".into(),
        ));
    }
    let begin = Instant::now();
    let overflow = match cli.overflow {
        OnOverflow::Drop => Overflow::Drop,
        OnOverflow::Wait => Overflow::Wait { patience: cli.patience.as_millis() as u64 },
    };
    let age = cli.age.as_millis() as u64;
    let running = Running {
        options: Options { overflow, age, ..Options::of(batch) },
        spins: cli.spin,
        until: cli.length.map(|length| begin + length),
        sources: (!has_devices && cli.listen.is_none()).then_some(left),
    };
    let ports = run(&running, &attached, |ports| {
        if cli.live {
            eprintln!("{}", table(ports));
        }
    })?;
    // The ports are gone, so the threads of captures end.
    let ends = threads.into_iter().map(|thread| thread.join().expect("it does not panic"));
    let ends: Vec<_> = ends.collect();
    if let Some(sink) = &mut workload {
        let mut text = Vec::new();
        recorder.write(&mut text).map_err(|error| Failure::Run(error.to_string()))?;
        sink.replace(&String::from_utf8_lossy(&text))?;
    }
    publish(cli, begin.elapsed(), &ports)?;
    ends.into_iter().collect::<Result<(), Failure>>()?;
    Ok(interrupt::exit_code(0))
}

fn publish(cli: &Cli, time: Duration, ports: &[PortReport]) -> Result<(), Failure> {
    let report = Report { schema: 1, seconds: time.as_secs_f64(), ports };
    let json = || serde_json::to_string_pretty(&report).expect("numbers and names") + "\n";
    match &cli.json {
        Some(path) if path.as_os_str() == "-" => return print(&json()),
        Some(path) => fs::write(path, json())
            .map_err(|error| Failure::Run(format!("can't write {}: {error}", path.display())))?,
        None => {}
    }
    print(&(table(ports) + "\n"))
}

fn table(ports: &[PortReport]) -> String {
    let width = ports.iter().map(|port| port.name.chars().count()).max().unwrap_or(0).max(4);
    let mut lines = vec![format!(
        "{:width$} {:>12} {:>15} {:>12} {:>15} {:>10} {:>10}",
        "port", "sent", "bytes", "received", "bytes", "dropped", "flooded"
    )];
    for port in ports {
        let PortReport { name, sent, sent_bytes, received, received_bytes, .. } = port;
        let PortReport { dropped, flooded, attached, .. } = port;
        let gone = if *attached { "" } else { "  gone" };
        lines.push(format!(
            "{name:width$} {sent:>12} {sent_bytes:>15} {received:>12} {received_bytes:>15} {dropped:>10} \
             {flooded:>10}{gone}"
        ));
    }
    lines.join("\n")
}

fn client(args: &ClientArgs) -> Result<ExitCode, Failure> {
    if args.number >= args.clients {
        let last = args.clients - 1;
        return Err(Failure::Usage(format!("choose --number from 0 to {last}, or more --clients")));
    }
    let lanes = process::connect(&args.name).map_err(|error| Failure::Usage(error.to_string()))?;
    let until = Instant::now() + args.length;
    let &ClientArgs { number, clients, batch, flood: floods, .. } = args;
    let part = Part { number, clients, batch: batch.0, floods };
    let is_over = || Instant::now() >= until || interrupt::requested();
    let tally = process::play(lanes, part, is_over);
    print(&format!(
        "client {}: {} packets sent, {} received, {} lost, {} out of order\n",
        args.number, tally.sent, tally.received, tally.lost, tally.reordered
    ))?;
    Ok(interrupt::exit_code(0))
}
