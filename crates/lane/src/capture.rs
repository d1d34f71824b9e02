//! Times and lengths of the packets of a pcap or pcapng file. Link types don't matter.

use std::fs::File;
use std::path::Path;

use pcap_parser::{Block, PcapBlockOwned, PcapError, create_reader};

use crate::schedule::Arrival;

/// Start size of the read buffer. It grows up to [`LARGEST_RECORD`].
const BUFFER: usize = 1 << 16;
/// A record that claims to be longer than this is taken for damage.
const LARGEST_RECORD: usize = 1 << 24;

/// All packets of the capture, or one line that says what is wrong with it.
pub(crate) fn read(path: &Path) -> Result<Vec<Arrival>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut reader = create_reader(BUFFER, file).map_err(|error| explain(&error))?;
    let (mut packets, mut units) = (Vec::new(), Units::default());
    loop {
        match reader.next() {
            Ok((consumed, block)) => {
                packets.extend(units.arrival(&block)?);
                reader.consume(consumed);
            }
            Err(PcapError::Eof) => break,
            Err(PcapError::Incomplete(_)) => reader.refill().map_err(|error| explain(&error))?,
            Err(PcapError::BufferTooSmall) => {
                let larger = reader.data().len().max(BUFFER) * 2;
                if larger > LARGEST_RECORD || !reader.grow(larger) {
                    return Err(damaged(packets.len()));
                }
                reader.refill().map_err(|error| explain(&error))?;
            }
            Err(PcapError::UnexpectedEof) => {
                return Err(format!("it is truncated after {} packets", packets.len()));
            }
            Err(_) => return Err(damaged(packets.len())),
        }
    }
    if packets.is_empty() { Err("it holds no packets".into()) } else { Ok(packets) }
}

fn damaged(packets: usize) -> String {
    format!("it is damaged after {packets} packets")
}

fn explain<I>(error: &PcapError<I>) -> String {
    match error {
        PcapError::HeaderNotRecognized | PcapError::Eof => "it is no pcap or pcapng file".into(),
        PcapError::Incomplete(_) => "it is too short for a pcap or pcapng file".into(),
        PcapError::ReadError => "it can't be read".into(),
        _ => "its header is damaged".into(),
    }
}

/// How the timestamps of a file are to be read.
#[derive(Debug, Default)]
struct Units {
    /// Nanoseconds per fraction, in a legacy file.
    legacy: u64,
    /// Ticks per second of each interface, in a pcapng section.
    interfaces: Vec<u64>,
}

impl Units {
    /// The packet in `block`, if it is one.
    fn arrival(&mut self, block: &PcapBlockOwned<'_>) -> Result<Option<Arrival>, String> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.legacy = if header.is_nanosecond_precision() { 1 } else { 1000 };
                Ok(None)
            }
            PcapBlockOwned::Legacy(packet) => {
                let fraction = u64::from(packet.ts_usec) * self.legacy;
                let at_ns = u64::from(packet.ts_sec) * 1_000_000_000 + fraction;
                Ok(Some(Arrival { at_ns, bytes: packet.origlen }))
            }
            PcapBlockOwned::NG(block) => self.next_generation(block),
        }
    }

    fn next_generation(&mut self, block: &Block<'_>) -> Result<Option<Arrival>, String> {
        match block {
            Block::SectionHeader(_) => self.interfaces.clear(),
            Block::InterfaceDescription(interface) => {
                let resolution = interface.ts_resolution().filter(|&ticks| ticks > 0);
                self.interfaces.push(resolution.ok_or("an interface has an invalid clock")?);
            }
            Block::EnhancedPacket(packet) => {
                let interface = self.interfaces.get(packet.if_id as usize);
                let &per_second = interface.ok_or("a packet names an unknown interface")?;
                let ticks = u128::from(packet.ts_high) << 32 | u128::from(packet.ts_low);
                let at_ns = (ticks * 1_000_000_000 / u128::from(per_second)) as u64;
                return Ok(Some(Arrival { at_ns, bytes: packet.origlen }));
            }
            // Simple packets carry no time; all other blocks carry no packet.
            _ => {}
        }
        Ok(None)
    }
}
