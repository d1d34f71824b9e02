//! Goes from packet to packet.

use std::fmt;
use std::io::Read;

use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{PcapError, create_reader};

use crate::CaptureError;
use crate::clock::Clocks;
use crate::filled::Filled;

/// Start size of the read buffer. It grows up to [`LARGEST_RECORD`].
const BUFFER: usize = 1 << 16;
/// A record that claims to be longer than this is taken for damage.
const LARGEST_RECORD: usize = 1 << 24;

/// What a capture says about a packet, besides its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// As [`Packet::at_ns`](crate::Packet::at_ns). `None` if the packet has no time.
    pub at_ns: Option<u64>,
    /// Decimal places of the seconds, as far as the capture tells them: 9 at most.
    pub digits: u8,
    /// The packet's length on the wire. The capture may hold less.
    pub bytes: u32,
    /// The number of the link type, as pcap files have it: 1 is Ethernet.
    pub link: u32,
}

/// Reads a capture packet by packet.
pub struct Reader<'a> {
    blocks: Box<dyn PcapReaderIterator + Send + 'a>,
    clocks: Clocks,
    capacity: usize,
    /// Packets with a time so far, for errors.
    packets: usize,
}

impl<'a> Reader<'a> {
    /// Reads the header of a file.
    ///
    /// # Errors
    ///
    /// If `source` is no capture.
    pub fn new(source: impl Read + Send + 'a) -> Result<Self, CaptureError> {
        let blocks = create_reader(BUFFER, Filled(source)).map_err(|error| header(&error))?;
        Ok(Self { blocks, clocks: Clocks::default(), capacity: BUFFER, packets: 0 })
    }

    /// The next packet. Its bytes replace those in `bytes`. `None` at the end.
    ///
    /// # Errors
    ///
    /// If the capture is cut or damaged. The packets before are good.
    pub fn read(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Record>, CaptureError> {
        loop {
            let (packets, damaged) =
                (self.packets, CaptureError::Damaged { packets: self.packets });
            if self.clocks.is_impossible(self.blocks.data()) {
                return Err(damaged);
            }
            match self.blocks.next() {
                Ok((consumed, block)) => {
                    let record = self.clocks.packet(&block)?.map(|(record, data)| {
                        bytes.clear();
                        bytes.extend_from_slice(data);
                        record
                    });
                    self.blocks.consume(consumed);
                    if let Some(record) = record {
                        self.packets += usize::from(record.at_ns.is_some());
                        return Ok(Some(record));
                    }
                }
                Err(PcapError::Eof) => return Ok(None),
                Err(PcapError::Incomplete(_)) => self.refill()?,
                Err(PcapError::BufferTooSmall) if self.capacity < LARGEST_RECORD => {
                    self.capacity *= 2;
                    self.blocks.grow(self.capacity);
                    self.refill()?;
                }
                Err(PcapError::UnexpectedEof) => return Err(CaptureError::Truncated { packets }),
                Err(_) => return Err(damaged),
            }
        }
    }

    /// Reads until the buffer is full or the capture ends.
    fn refill(&mut self) -> Result<(), CaptureError> {
        self.blocks.refill().map_err(|_| CaptureError::Unreadable)
    }
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("packets", &self.packets).finish_non_exhaustive()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// All packets, with their bytes.
    fn packets(file: &[u8]) -> Vec<(Record, Vec<u8>)> {
        let (mut reader, mut bytes) = (Reader::new(file).expect("a capture"), Vec::new());
        let next =
            || reader.read(&mut bytes).expect("no damage").map(|found| (found, bytes.clone()));
        std::iter::from_fn(next).collect()
    }

    fn big(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn a_file_of_nanoseconds_has_bytes_and_a_link_type() {
        // Behind the link type's number, 0x5000_0000 says that check sequences have 4 bytes.
        let header = big(&[0xa1b2_3c4d, 0x0002_0004, 0, 0, 65_535, 0x5000_0071]);
        let file = [header, big(&[1, 2, 3, 60]), b"abc".to_vec(), big(&[1, 3, 0, 0])].concat();
        let record = |at_ns, bytes| Record { at_ns: Some(at_ns), digits: 9, bytes, link: 113 };
        let expected =
            [(record(1_000_000_002, 60), b"abc".to_vec()), (record(1_000_000_003, 0), vec![])];
        assert_eq!(packets(&file), expected);
    }

    #[test]
    fn interfaces_have_link_types_and_simple_packets_have_no_time() {
        let section = big(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 0x0001_0000, !0, !0, 28]);
        // Ethernet with microseconds, raw IP with milliseconds.
        let ethernet = big(&[1, 20, 0x0001_0000, 65_535, 20]);
        let raw = big(&[1, 32, 101 << 16, 65_535, 0x0009_0001, 0x0300_0000, 0, 32]);
        let enhanced = big(&[6, 36, 1, 0, 1500, 2, 60, 0x6162_0000, 36]);
        let simple = big(&[3, 20, 3, 0x6364_6500, 20]);
        let expected = [
            (
                Record { at_ns: Some(1_500_000_000), digits: 3, bytes: 60, link: 101 },
                b"ab".to_vec(),
            ),
            (Record { at_ns: None, digits: 6, bytes: 3, link: 1 }, b"cde".to_vec()),
        ];
        assert_eq!(packets(&[section, ethernet, raw, enhanced, simple].concat()), expected);
    }
}
