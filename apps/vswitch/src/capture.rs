//! Ports that are captures: packets come from one file, and go into another one.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use corelane::workload::Probe;
use corelane_capture::{Reader, Record};
use corelane_report::Failure;
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use vswitch_core::Frame;

use crate::port::RingClient;
use crate::ring::{Receiving, Sending};

/// Longest packet of a capture that is forwarded.
const LONGEST: usize = 65_600;
/// Packets that are written together.
const BATCH: usize = 64;
/// The number of Ethernet's link type.
const ETHERNET: u32 = 1;
/// How long a thread sleeps until it looks again whether the port is closed.
const NAP: Duration = Duration::from_millis(20);

/// Reads a capture, and writes one.
#[derive(Debug)]
pub struct Capture {
    source: Source,
    writer: Option<BufWriter<File>>,
    /// Whether packets are sent at their own times.
    real_time: bool,
}

/// The file that is read.
#[derive(Debug)]
struct Source {
    path: PathBuf,
    reader: Reader<'static>,
}

impl Source {
    fn open(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let file = File::open(path)
            .map_err(|error| Failure::Usage(format!("can't read {shown}: {error}")))?;
        let reader = Reader::new(file)
            .map_err(|error| Failure::Usage(format!("{shown} is no capture: {error}")))?;
        Ok(Self { path: path.into(), reader })
    }

    /// The next packet with its time. Its bytes replace those in `bytes`.
    fn next(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Duration>, Failure> {
        let shown = self.path.display();
        match self.reader.read(bytes) {
            Ok(Some(Record { at_ns, link: ETHERNET, .. })) => {
                Ok(Some(Duration::from_nanos(at_ns.unwrap_or_default())))
            }
            Ok(Some(Record { link, .. })) => Err(Failure::Run(format!(
                "{shown} has packets of link type {link}, and a switch takes Ethernet; choose another capture"
            ))),
            Ok(None) => Ok(None),
            Err(error) => Err(Failure::Run(format!("{shown}: {error}"))),
        }
    }
}

impl Capture {
    /// Opens both files.
    ///
    /// # Errors
    ///
    /// If the first is no capture, or the other can't be made. Packets of other link types than
    /// Ethernet are an error when they are read.
    pub fn open(from: &Path, to: Option<&Path>, real_time: bool) -> Result<Self, Failure> {
        let source = Source::open(from)?;
        let cant = |path: &Path, why: String| {
            Failure::Usage(format!("can't write {}: {why}; choose another path", path.display()))
        };
        if let Some(to) = to.filter(|to| fs::canonicalize(to).ok() == fs::canonicalize(from).ok()) {
            return Err(cant(to, "it is the capture that is read".into()));
        }
        let writer =
            to.map(|path| File::create(path).map_err(|error| cant(path, error.to_string())));
        Ok(Self { source, writer: writer.transpose()?.map(BufWriter::new), real_time })
    }

    /// Starts the threads of the port, which end with the port. The count goes down by one at the
    /// end of the capture.
    pub fn start(
        self,
        RingClient { mut tx, rx, mut probe }: RingClient,
        left: Arc<AtomicUsize>,
    ) -> [JoinHandle<Result<(), Failure>>; 2] {
        let Self { mut source, writer, real_time } = self;
        [
            thread::spawn(move || {
                let read = send(&mut source, &mut tx, &mut probe, real_time);
                tx.flush();
                // Release ↔ Acquire in the switch's thread: it sees all packets.
                left.fetch_sub(1, Ordering::Release);
                // The port stays, since packets for it may come: as long as the switch has it.
                while !tx.is_closed() {
                    thread::sleep(NAP);
                }
                read
            }),
            thread::spawn(move || {
                write(rx, writer)
                    .map_err(|error| Failure::Run(format!("can't write a capture: {error}")))
            }),
        ]
    }
}

fn send(
    source: &mut Source,
    tx: &mut Sending,
    probe: &mut Option<Probe>,
    real_time: bool,
) -> Result<(), Failure> {
    let (begin, mut first, mut bytes) = (Instant::now(), None, Vec::new());
    while let Some(time) = source.next(&mut bytes)? {
        if bytes.len() > LONGEST {
            continue;
        }
        if real_time {
            let due = begin + time.saturating_sub(*first.get_or_insert(time));
            tx.flush();
            while Instant::now() < due && !tx.is_closed() {
                thread::sleep(NAP.min(due.saturating_duration_since(Instant::now())));
            }
        }
        let frame = Frame::of(&bytes);
        let sent = match probe {
            Some(probe) => probe.call(1, || tx.push(frame)),
            None => tx.push(frame),
        };
        if sent.is_err() {
            break;
        }
    }
    Ok(())
}

fn write(mut rx: Receiving, to: Option<BufWriter<File>>) -> io::Result<()> {
    let snaplen = LONGEST as u32;
    let header = PcapHeader { datalink: DataLink::ETHERNET, snaplen, ..PcapHeader::default() };
    let cant = |error| io::Error::other(format!("{error}"));
    let mut writer =
        to.map(|file| PcapWriter::with_header(file, header)).transpose().map_err(cant)?;
    let mut frames = Vec::new();
    while rx.pop_many(&mut frames, BATCH) > 0 {
        for frame in frames.drain(..) {
            let Some(writer) = &mut writer else { continue };
            let bytes = frame.ethernet();
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            writer.write_packet(&PcapPacket::new(now, bytes.len() as u32, bytes)).map_err(cant)?;
        }
    }
    writer.map_or(Ok(()), |writer| writer.into_writer().flush())
}
