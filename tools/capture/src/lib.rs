//! Times and lengths of the packets of a pcap or pcapng capture, to be replayed.
//!
//! Link types and contents don't matter. In pcapng files, enhanced packets are read. Simple packets
//! carry no time and are skipped, as is every block that is no packet.
//!
//! No file makes [`read`] panic, and the memory that it takes is proportional to the bytes that it
//! has read.
//!
//! ```
//! // A header for microseconds, and a packet of 60 bytes at 1.5 s of which none is kept.
//! let capture = [
//!     [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 1].as_slice(),
//!     &[1, 500_000, 0, 60],
//! ];
//! let bytes: Vec<u8> = capture.concat().into_iter().flat_map(u32::to_le_bytes).collect();
//! let packets = corelane_capture::read(bytes.as_slice())?;
//! assert_eq!(packets, [corelane_capture::Packet { at_ns: 1_500_000_000, bytes: 60 }]);
//! # Ok::<(), corelane_capture::CaptureError>(())
//! ```

use std::io::Read;

use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{PcapError, create_reader};

use crate::clock::Clocks;
pub use crate::error::CaptureError;
use crate::filled::Filled;

mod clock;
mod error;
mod filled;

/// Start size of the read buffer. It grows up to [`LARGEST_RECORD`].
const BUFFER: usize = 1 << 16;
/// A record that claims to be longer than this is taken for damage.
const LARGEST_RECORD: usize = 1 << 24;

/// A packet of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// When the packet was captured, counted from 1970. Times that don't fit into 64 bits are moved
    /// to the nearest one that does.
    pub at_ns: u64,
    /// The packet's length on the wire. The capture may hold less.
    pub bytes: u32,
}

/// All packets of a capture, in the order of the file. There is at least one.
///
/// # Errors
///
/// One line that says what is wrong with the capture.
pub fn read(source: impl Read + Send) -> Result<Vec<Packet>, CaptureError> {
    let mut reader = create_reader(BUFFER, Filled(source)).map_err(|error| header(&error))?;
    let (mut packets, mut clocks, mut capacity) = (Vec::new(), Clocks::default(), BUFFER);
    loop {
        if clocks.is_impossible(reader.data()) {
            return Err(CaptureError::Damaged { packets: packets.len() });
        }
        match reader.next() {
            Ok((consumed, block)) => {
                packets.extend(clocks.packet(&block)?);
                reader.consume(consumed);
            }
            Err(PcapError::Eof) => break,
            Err(PcapError::Incomplete(_)) => refill(&mut *reader)?,
            Err(PcapError::BufferTooSmall) if capacity < LARGEST_RECORD => {
                capacity *= 2;
                reader.grow(capacity);
                refill(&mut *reader)?;
            }
            Err(PcapError::UnexpectedEof) => {
                return Err(CaptureError::Truncated { packets: packets.len() });
            }
            Err(_) => return Err(CaptureError::Damaged { packets: packets.len() }),
        }
    }
    if packets.is_empty() { Err(CaptureError::NoPackets) } else { Ok(packets) }
}

/// Reads until the buffer is full or the capture ends.
fn refill(reader: &mut dyn PcapReaderIterator) -> Result<(), CaptureError> {
    reader.refill().map_err(|_| CaptureError::Unreadable)
}

/// The meaning of an error at the very beginning.
fn header<I>(error: &PcapError<I>) -> CaptureError {
    match error {
        PcapError::HeaderNotRecognized | PcapError::Eof => CaptureError::NoCapture,
        PcapError::Incomplete(_) => CaptureError::TooShort,
        PcapError::ReadError => CaptureError::Unreadable,
        _ => CaptureError::DamagedHeader,
    }
}
