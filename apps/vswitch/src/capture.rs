//! Ports that are captures: packets come from one file, and go into another one.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use corelane_report::Failure;
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter};
use pcap_file::pcapng::{Block, PcapNgReader};
use vswitch_core::{Buffers, Frame};

use crate::port::RingClient;
use crate::ring::{Receiving, Sending};

/// Longest packet of a capture that is forwarded.
const LONGEST: usize = 65_600;
/// Packets that are written together.
const BATCH: usize = 64;

/// Reads a capture, and writes one.
#[derive(Debug)]
pub struct Capture {
    /// Packets in their order, with the time since the first one.
    reader: Reader,
    writer: Option<BufWriter<File>>,
    /// Whether packets are sent at their own times.
    real_time: bool,
}

/// The file that is read.
enum Reader {
    Pcap(PcapReader<BufReader<File>>),
    PcapNg(PcapNgReader<BufReader<File>>),
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reader")
    }
}

impl Reader {
    fn open(path: &Path) -> Result<Self, Failure> {
        let file = || File::open(path).map(BufReader::new);
        let shown = path.display();
        let cant = |error: io::Error| Failure::Usage(format!("can't read {shown}: {error}"));
        if let Ok(reader) = PcapReader::new(file().map_err(cant)?) {
            return match reader.header().datalink {
                DataLink::ETHERNET => Ok(Self::Pcap(reader)),
                other => Err(Failure::Usage(format!(
                    "{shown} has packets of link type {other:?}, and a switch takes Ethernet; choose another \
                     capture"
                ))),
            };
        }
        PcapNgReader::new(file().map_err(cant)?).map(Self::PcapNg).map_err(|_| {
            Failure::Usage(format!("{shown} is no capture; give a pcap or pcapng file"))
        })
    }

    /// The next packet with its time, as a frame. Damage ends the capture.
    fn next(&mut self, buffers: &mut Buffers) -> Option<(Duration, Frame)> {
        loop {
            let (time, data) = match self {
                Self::Pcap(reader) => {
                    let packet = reader.next_packet()?.ok()?;
                    (packet.timestamp, packet.data)
                }
                Self::PcapNg(reader) => match reader.next_block()?.ok()? {
                    Block::EnhancedPacket(packet) => (packet.timestamp, packet.data),
                    Block::SimplePacket(packet) => (Duration::ZERO, packet.data),
                    _ => continue,
                },
            };
            let mut frame = buffers.take();
            if let Some(room) = frame.bytes_mut().and_then(|bytes| bytes.get_mut(..data.len())) {
                room.copy_from_slice(&data);
                frame.set_len(data.len());
                return Some((time, frame));
            }
        }
    }
}

impl Capture {
    /// Opens both files.
    ///
    /// # Errors
    ///
    /// If the first is no capture of Ethernet packets, or the other can't be made.
    pub fn open(from: &Path, to: Option<&Path>, real_time: bool) -> Result<Self, Failure> {
        let reader = Reader::open(from)?;
        let cant = |path: &Path, error: io::Error| {
            Failure::Usage(format!("can't write {}: {error}; choose another path", path.display()))
        };
        let writer = to.map(|path| File::create(path).map_err(|error| cant(path, error)));
        Ok(Self { reader, writer: writer.transpose()?.map(BufWriter::new), real_time })
    }

    /// Starts the threads of the port. The first ends with the capture, the second one with the
    /// port. The count goes down by one at the end of the capture.
    pub fn start(
        self,
        RingClient { tx, rx }: RingClient,
        left: Arc<AtomicUsize>,
    ) -> [JoinHandle<io::Result<()>>; 2] {
        let Self { reader, writer, real_time } = self;
        [
            thread::spawn(move || {
                send(reader, tx, real_time, &left);
                Ok(())
            }),
            thread::spawn(move || write(rx, writer)),
        ]
    }
}

fn send(mut reader: Reader, mut tx: Sending, real_time: bool, left: &AtomicUsize) {
    let mut buffers = Buffers::new(LONGEST);
    let (begin, mut first) = (Instant::now(), None);
    while let Some((time, frame)) = reader.next(&mut buffers) {
        if real_time {
            let due = begin + time.saturating_sub(*first.get_or_insert(time));
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        if tx.push(frame).is_err() {
            return;
        }
    }
    left.fetch_sub(1, Ordering::Release);
    // The port stays, since packets for it may come: as long as the switch has it.
    while !corelane::Producer::is_closed(&tx) {
        thread::sleep(Duration::from_millis(20));
    }
}

fn write(mut rx: Receiving, to: Option<BufWriter<File>>) -> io::Result<()> {
    let header = PcapHeader { datalink: DataLink::ETHERNET, ..PcapHeader::default() };
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
