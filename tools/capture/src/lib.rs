//! The packets of a pcap or pcapng capture.
//!
//! [`read`] has the times and lengths of all packets, to be replayed. A [`Reader`] goes from packet
//! to packet, and also has their bytes and link types. In pcapng files, enhanced and simple packets
//! are read. Simple packets carry no time, so [`read`] skips them.
//!
//! No file makes these calls panic. [`read`] takes memory in proportion to the bytes that it has
//! read, and a [`Reader`] never more than a few times the longest record.
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

pub use crate::error::CaptureError;
pub use crate::reader::{Reader, Record};

mod clock;
mod error;
mod filled;
mod reader;

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
    let (mut reader, mut packets, mut bytes) = (Reader::new(source)?, Vec::new(), Vec::new());
    while let Some(record) = reader.read(&mut bytes)? {
        packets.extend(record.at_ns.map(|at_ns| Packet { at_ns, bytes: record.bytes }));
    }
    if packets.is_empty() { Err(CaptureError::NoPackets) } else { Ok(packets) }
}
