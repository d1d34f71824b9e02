//! Reads the timestamps of a capture.

use pcap_parser::{Block, EnhancedPacketBlock, InterfaceDescriptionBlock, PcapBlockOwned};

use crate::{CaptureError, Packet};

const NS_PER_S: u64 = 1_000_000_000;
/// A block's kind, and its length at both ends.
const SHORTEST_BLOCK: u32 = 12;

/// The clocks of a file.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    /// Nanoseconds per fraction, in a legacy file.
    legacy: u64,
    /// Whether the pcapng section is big-endian, if there is one.
    big_endian: Option<bool>,
    /// The clock of each interface of the pcapng section.
    interfaces: Vec<Clock>,
}

/// The clock of one interface.
#[derive(Debug)]
struct Clock {
    /// Ticks per second: a power of 10 or of 2, at most 2^127.
    per_second: u128,
    /// Seconds between 1970 and its first tick.
    offset_s: i64,
}

impl Clocks {
    /// The packet in `block`, if the block is a packet.
    pub(crate) fn packet(
        &mut self,
        block: &PcapBlockOwned<'_>,
    ) -> Result<Option<Packet>, CaptureError> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.legacy = if header.is_nanosecond_precision() { 1 } else { 1000 };
                Ok(None)
            }
            PcapBlockOwned::Legacy(packet) => {
                let fraction = u64::from(packet.ts_usec) * self.legacy;
                let at_ns = u64::from(packet.ts_sec) * NS_PER_S + fraction;
                Ok(Some(Packet { at_ns, bytes: packet.origlen }))
            }
            PcapBlockOwned::NG(block) => self.next_generation(block),
        }
    }

    /// Whether a pcapng block that begins like this claims to be shorter than its own frame.
    ///
    /// Must be checked before the parser sees the block: the parser would subtract the frame first
    /// and check later.
    pub(crate) fn is_impossible(&self, block: &[u8]) -> bool {
        let len = block.get(4..).and_then(|rest| rest.first_chunk());
        let (Some(big_endian), Some(&len)) = (self.big_endian, len) else { return false };
        let len = if big_endian { u32::from_be_bytes(len) } else { u32::from_le_bytes(len) };
        len < SHORTEST_BLOCK
    }

    fn next_generation(&mut self, block: &Block<'_>) -> Result<Option<Packet>, CaptureError> {
        match block {
            Block::SectionHeader(section) => {
                self.big_endian = Some(section.big_endian());
                self.interfaces.clear();
            }
            Block::InterfaceDescription(interface) => {
                self.interfaces.push(Clock::of(interface, self.big_endian == Some(true))?);
            }
            Block::EnhancedPacket(packet) => {
                let clock = self.interfaces.get(packet.if_id as usize);
                let at_ns = clock.ok_or(CaptureError::UnknownInterface)?.at_ns(packet);
                return Ok(Some(Packet { at_ns, bytes: packet.origlen }));
            }
            // Simple packets carry no time; all other blocks carry no packet.
            _ => {}
        }
        Ok(None)
    }
}

impl Clock {
    fn of(interface: &InterfaceDescriptionBlock<'_>, big: bool) -> Result<Self, CaptureError> {
        let exponent = u32::from(interface.if_tsresol & 0x7f);
        // The highest bit says whether it is a power of 2. The parser itself refuses powers of 2.
        let per_second = match interface.if_tsresol & 0x80 {
            0 => 10_u128.checked_pow(exponent),
            _ => 1_u128.checked_shl(exponent),
        };
        // The parser reads this option as little-endian in every file.
        let offset = interface.if_tsoffset;
        Ok(Self {
            per_second: per_second.ok_or(CaptureError::InvalidClock)?,
            offset_s: if big { offset.swap_bytes() } else { offset },
        })
    }

    fn at_ns(&self, packet: &EnhancedPacketBlock<'_>) -> u64 {
        let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
        // Less than 2^94. At most 2^93 is added.
        let since_first = u128::from(ticks) * u128::from(NS_PER_S) / self.per_second;
        let at_ns = since_first as i128 + i128::from(self.offset_s) * i128::from(NS_PER_S);
        at_ns.clamp(0, u64::MAX.into()) as u64
    }
}
