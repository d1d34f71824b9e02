//! Errors in captures.

use std::error::Error;
use std::fmt;

/// An error in a capture. Its text is one line about "it", the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaptureError {
    /// It does not begin like a capture.
    NoCapture,
    /// It ends in the middle of its header.
    TooShort,
    /// Its header contradicts itself.
    DamagedHeader,
    /// The source of the bytes failed.
    Unreadable,
    /// It ends in the middle of a record.
    Truncated {
        /// Whole packets with a time before it.
        packets: usize,
    },
    /// A record contradicts itself or is longer than any packet.
    Damaged {
        /// Packets with a time before.
        packets: usize,
    },
    /// An interface counts time in units that don't exist.
    InvalidClock,
    /// A packet came through an interface that isn't described.
    UnknownInterface,
    /// It is whole, but holds no packet with a time.
    NoPackets,
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::NoCapture => "it is no pcap or pcapng file",
            Self::TooShort => "it is too short for a pcap or pcapng file",
            Self::DamagedHeader => "its header is damaged",
            Self::Unreadable => "it can't be read",
            Self::Truncated { packets } => {
                return write!(f, "it is truncated after {packets} packets");
            }
            Self::Damaged { packets } => return write!(f, "it is damaged after {packets} packets"),
            Self::InvalidClock => "an interface has an invalid clock",
            Self::UnknownInterface => "a packet names an unknown interface",
            Self::NoPackets => "it holds no packets",
        };
        f.write_str(text)
    }
}

impl Error for CaptureError {}
