//! Reads the timestamps of a capture.

use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{
    Block, EnhancedPacketBlock, InterfaceDescriptionBlock, Linktype, PcapBlockOwned,
};

use crate::{CaptureError, Record};

const NS_PER_S: u64 = 1_000_000_000;
/// A block's kind, and its length at both ends.
const SHORTEST_BLOCK: u32 = 12;

/// The clocks of a file.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    /// Nanoseconds per fraction, in a legacy file.
    legacy: u64,
    /// Link type of a legacy file.
    link: u32,
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
    /// Decimal places of its seconds.
    digits: u8,
    /// Link type of the interface.
    link: u32,
}

/// A packet and its bytes.
type Found<'a> = Option<(Record, &'a [u8])>;

impl Clocks {
    /// The packet in `block`, if the block is a packet.
    pub(crate) fn packet<'a>(
        &mut self,
        block: &'a PcapBlockOwned<'_>,
    ) -> Result<Found<'a>, CaptureError> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.legacy = if header.is_nanosecond_precision() { 1 } else { 1000 };
                self.link = link_type(header.network);
                Ok(None)
            }
            PcapBlockOwned::Legacy(packet) => {
                let fraction = u64::from(packet.ts_usec) * self.legacy;
                let at_ns = u64::from(packet.ts_sec) * NS_PER_S + fraction;
                let digits = if self.legacy == 1 { 9 } else { 6 };
                let (bytes, link) = (packet.origlen, self.link);
                Ok(Some((Record { at_ns: Some(at_ns), digits, bytes, link }, packet.data)))
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

    fn next_generation<'a>(&mut self, block: &'a Block<'_>) -> Result<Found<'a>, CaptureError> {
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
                let clock = clock.ok_or(CaptureError::UnknownInterface)?;
                let (at_ns, bytes) = (Some(clock.at_ns(packet)), packet.origlen);
                let record = Record { at_ns, digits: clock.digits, bytes, link: clock.link };
                return Ok(Some((record, packet.packet_data())));
            }
            // It carries no time. It came through the first interface, and means nothing without.
            Block::SimplePacket(packet) => {
                return Ok(self.interfaces.first().map(|clock| {
                    let Clock { digits, link, .. } = *clock;
                    let record = Record { at_ns: None, digits, bytes: packet.origlen, link };
                    (record, packet.packet_data())
                }));
            }
            // All other blocks carry no packet.
            _ => {}
        }
        Ok(None)
    }
}

impl Clock {
    fn of(interface: &InterfaceDescriptionBlock<'_>, big: bool) -> Result<Self, CaptureError> {
        let exponent = u32::from(interface.if_tsresol & 0x7f);
        // The highest bit says whether it is a power of 2. The parser itself refuses powers of 2.
        let (per_second, digits) = match interface.if_tsresol & 0x80 {
            0 => (10_u128.checked_pow(exponent), exponent.min(9) as u8),
            _ => (1_u128.checked_shl(exponent), 9),
        };
        // The parser reads this option as little-endian in every file.
        let offset = interface.if_tsoffset;
        Ok(Self {
            per_second: per_second.ok_or(CaptureError::InvalidClock)?,
            offset_s: if big { offset.swap_bytes() } else { offset },
            digits,
            link: link_type(interface.linktype),
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

/// The number of a link type. The upper bits of a legacy file's field say how long the check
/// sequences of frames are.
fn link_type(link: Linktype) -> u32 {
    link.0 as u32 & 0xffff
}
