//! Writes captures by the formats' descriptions, and returns the packets that must be read from
//! them.

use corelane_capture::Packet;
use proptest::sample::Index;

const NS_PER_S: u128 = 1_000_000_000;

/// A file, and the packets it holds.
pub struct Written {
    pub bytes: Vec<u8>,
    pub packets: Vec<Packet>,
}

/// Numbers in the byte order of a file.
struct Bytes {
    big: bool,
    all: Vec<u8>,
}

impl Bytes {
    fn u16(&mut self, n: u16) {
        self.all.extend(if self.big { n.to_be_bytes() } else { n.to_le_bytes() });
    }

    fn u32(&mut self, n: u32) {
        self.all.extend(if self.big { n.to_be_bytes() } else { n.to_le_bytes() });
    }

    fn u64(&mut self, n: u64) {
        self.all.extend(if self.big { n.to_be_bytes() } else { n.to_le_bytes() });
    }

    /// `n` bytes of a packet.
    fn data(&mut self, n: usize) {
        self.all.resize(self.all.len() + n, 0x5a);
    }

    /// Fills up to a multiple of four bytes.
    fn pad(&mut self) {
        self.all.resize(self.all.len().next_multiple_of(4), 0);
    }

    /// An option with its value, which is already in the file's byte order.
    fn option(&mut self, code: u16, value: &[u8]) {
        self.u16(code);
        self.u16(value.len() as u16);
        self.all.extend(value);
        self.pad();
    }
}

/// A capture to be written.
#[derive(Debug, Clone)]
pub enum Capture {
    Legacy(Legacy),
    Sections(Vec<Section>),
}

impl Capture {
    /// The file.
    pub fn write(&self) -> Written {
        let mut written = Written { bytes: Vec::new(), packets: Vec::new() };
        match self {
            Self::Legacy(legacy) => legacy.write(&mut written),
            Self::Sections(sections) => {
                sections.iter().for_each(|section| section.write(&mut written));
            }
        }
        written
    }
}

/// A pcap file.
#[derive(Debug, Clone)]
pub struct Legacy {
    pub big: bool,
    pub nanos: bool,
    pub records: Vec<LegacyRecord>,
}

/// A packet of a pcap file.
#[derive(Debug, Clone)]
pub struct LegacyRecord {
    pub seconds: u32,
    pub fraction: u32,
    pub bytes: u32,
    pub kept: usize,
}

impl Legacy {
    fn write(&self, written: &mut Written) {
        let mut to = Bytes { big: self.big, all: Vec::new() };
        to.u32(if self.nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 });
        to.u16(2);
        to.u16(4);
        // Time zone, accuracy, longest packet, link type.
        [0, 0, 1 << 18, 1].into_iter().for_each(|n| to.u32(n));
        let ns_per_fraction = if self.nanos { 1 } else { 1000 };
        for &LegacyRecord { seconds, fraction, bytes, kept } in &self.records {
            [seconds, fraction, kept as u32, bytes].into_iter().for_each(|n| to.u32(n));
            to.data(kept);
            let at_ns =
                u64::from(seconds) * NS_PER_S as u64 + u64::from(fraction) * ns_per_fraction;
            written.packets.push(Packet { at_ns, bytes });
        }
        written.bytes = to.all;
    }
}

/// An interface of a pcapng section.
#[derive(Debug, Clone)]
pub struct Interface {
    pub resolution: Option<u8>,
    pub offset_s: Option<i64>,
}

impl Interface {
    fn write(&self, section: &mut Bytes) {
        block(section, 1, |to| {
            // Link type, reserved, longest packet.
            to.u16(1);
            to.u16(0);
            to.u32(0);
            if let Some(resolution) = self.resolution {
                to.option(9, &[resolution]);
            }
            if let Some(offset) = self.offset_s {
                let big = to.big;
                to.option(14, &if big { offset.to_be_bytes() } else { offset.to_le_bytes() });
            }
            to.option(0, &[]);
        });
    }

    /// The time after `ticks` ticks.
    fn at_ns(&self, ticks: u64) -> u64 {
        let resolution = self.resolution.unwrap_or(6);
        let (ticks, exponent) = (u128::from(ticks), u32::from(resolution & 0x7f));
        let since_first = match (resolution & 0x80, exponent) {
            (0, ..=9) => ticks * 10_u128.pow(9 - exponent),
            (0, _) => ticks / 10_u128.pow(exponent - 9),
            _ => (ticks * NS_PER_S) >> exponent,
        };
        let offset_s = self.offset_s.unwrap_or(0);
        let offset_ns = u128::from(offset_s.unsigned_abs()) * NS_PER_S;
        let at_ns = match offset_s {
            ..0 => since_first.saturating_sub(offset_ns),
            _ => since_first + offset_ns,
        };
        at_ns.try_into().unwrap_or(u64::MAX)
    }
}

/// A block of a pcapng section.
#[derive(Debug, Clone)]
pub enum Record {
    Packet { interface: Index, ticks: u64, bytes: u32, kept: usize, comment: bool },
    Simple { bytes: u32, kept: usize },
    Other { kind: u32, kept: usize },
}

impl Record {
    /// Writes the block. Returns its packet, if it has one.
    fn write(&self, section: &mut Bytes, interfaces: &[Interface]) -> Option<Packet> {
        match *self {
            Self::Packet { interface, ticks, bytes, kept, comment } => {
                let id = interface.index(interfaces.len());
                block(section, 6, |to| {
                    let time = [(ticks >> 32) as u32, ticks as u32];
                    to.u32(id as u32);
                    time.into_iter().for_each(|n| to.u32(n));
                    to.u32(kept as u32);
                    to.u32(bytes);
                    to.data(kept);
                    to.pad();
                    if comment {
                        to.option(1, b"a comment");
                        to.option(0, &[]);
                    }
                });
                return Some(Packet { at_ns: interfaces[id].at_ns(ticks), bytes });
            }
            Self::Simple { bytes, kept } => block(section, 3, |to| {
                to.u32(bytes);
                to.data(kept);
                to.pad();
            }),
            Self::Other { kind, kept } => block(section, kind, |to| {
                to.data(kept);
                to.pad();
            }),
        }
        None
    }
}

/// A section of a pcapng file.
#[derive(Debug, Clone)]
pub struct Section {
    pub big: bool,
    pub interfaces: Vec<Interface>,
    pub records: Vec<Record>,
}

impl Section {
    /// Adds the section to a file.
    fn write(&self, written: &mut Written) {
        let mut to = Bytes { big: self.big, all: Vec::new() };
        block(&mut to, 0x0a0d_0d0a, |to| {
            to.u32(0x1a2b_3c4d);
            to.u16(1);
            to.u16(0);
            // Unknown length.
            to.u64(u64::MAX);
        });
        self.interfaces.iter().for_each(|interface| interface.write(&mut to));
        let packets =
            self.records.iter().filter_map(|record| record.write(&mut to, &self.interfaces));
        written.packets.extend(packets);
        written.bytes.extend(to.all);
    }
}

/// A block, with its length at both ends.
fn block(section: &mut Bytes, kind: u32, body: impl FnOnce(&mut Bytes)) {
    let mut inner = Bytes { big: section.big, all: Vec::new() };
    body(&mut inner);
    let len = inner.all.len() as u32 + 12;
    section.u32(kind);
    section.u32(len);
    section.all.extend(inner.all);
    section.u32(len);
}
