//! Random captures: valid captures are read back exactly, all others are refused without a panic.

mod write;

use std::io::Read;

use corelane_capture::{CaptureError, Packet, read};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use write::{Capture, Interface, Legacy, LegacyRecord, Record, Section};

/// Failures are saved beside this file, and tried first in the next run.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    let persistence = FileFailurePersistence::WithSource("proptest-regressions");
    ProptestConfig {
        // The cases are cheap, so more than the default. The default configuration has read
        // `PROPTEST_CASES`.
        cases: std::env::var_os("PROPTEST_CASES").map_or(2000, |_| usual.cases),
        failure_persistence: Some(Box::new(persistence)),
        ..usual
    }
}

/// Bytes of a packet that the capture holds: few, mostly, or more than the reader's first buffer.
fn kept() -> impl Strategy<Value = usize> {
    prop_oneof![30 => 0..100_usize, 3 => 0..70_000_usize, 1 => 0..300_000_usize]
}

fn legacy() -> impl Strategy<Value = Legacy> {
    let record = (any::<u32>(), any::<u32>(), any::<u32>(), kept());
    let record = record.prop_map(|(seconds, fraction, bytes, kept)| LegacyRecord {
        seconds,
        fraction,
        bytes,
        kept,
    });
    (any::<bool>(), any::<bool>(), vec(record, 0..20)).prop_map(|(big, nanos, records)| Legacy {
        big,
        nanos,
        records,
    })
}

/// Every resolution that exists, more often the usual ones.
fn resolution() -> impl Strategy<Value = Option<u8>> {
    let any_of_2 = (0..=127_u8).prop_map(|exponent| 0x80 | exponent);
    prop_oneof![
        Just(None),
        Just(Some(6)),
        Just(Some(9)),
        (0..=38_u8).prop_map(Some),
        any_of_2.prop_map(Some),
    ]
}

fn interface() -> impl Strategy<Value = Interface> {
    let offset = prop_oneof![2 => Just(None), 1 => (-5..5_i64).prop_map(Some), 1 => any::<i64>().prop_map(Some)];
    (resolution(), offset).prop_map(|(resolution, offset_s)| Interface { resolution, offset_s })
}

fn record() -> impl Strategy<Value = Record> {
    let packet = (any::<prop::sample::Index>(), any::<u64>(), any::<u32>(), kept(), any::<bool>());
    let packet = packet.prop_map(|(interface, ticks, bytes, kept, comment)| Record::Packet {
        interface,
        ticks,
        bytes,
        kept,
        comment,
    });
    let simple = (any::<u32>(), kept()).prop_map(|(bytes, kept)| Record::Simple { bytes, kept });
    let other = (11..0x7fff_u32, kept()).prop_map(|(kind, kept)| Record::Other { kind, kept });
    prop_oneof![8 => packet, 1 => simple, 1 => other]
}

fn section() -> impl Strategy<Value = Section> {
    (any::<bool>(), vec(interface(), 1..4), vec(record(), 0..20))
        .prop_map(|(big, interfaces, records)| Section { big, interfaces, records })
}

/// A capture in either format.
fn capture() -> impl Strategy<Value = Capture> {
    let sections = vec(section(), 1..3).prop_map(Capture::Sections);
    prop_oneof![legacy().prop_map(Capture::Legacy), sections]
}

/// A change to a capture.
#[derive(Debug, Clone)]
enum Damage {
    Overwrite(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Truncate(prop::sample::Index),
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let at = |index: &prop::sample::Index| index.index(bytes.len().max(1)).min(bytes.len());
        match self {
            Self::Overwrite(index, byte) => {
                let at = at(index);
                bytes.iter_mut().skip(at).take(1).for_each(|old| *old = *byte);
            }
            Self::Insert(index, more) => {
                let at = at(index);
                bytes.splice(at..at, more.iter().copied());
            }
            Self::Remove(index, n) => {
                let at = at(index);
                bytes.drain(at..bytes.len().min(at + n));
            }
            Self::Truncate(index) => {
                let at = at(index);
                bytes.truncate(at);
            }
        }
    }
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    let byte = prop_oneof![any::<u8>(), Just(0), Just(0xff), Just(0x80)];
    prop_oneof![
        6 => (at(), byte).prop_map(|(at, byte)| Damage::Overwrite(at, byte)),
        1 => (at(), vec(any::<u8>(), 1..9)).prop_map(|(at, more)| Damage::Insert(at, more)),
        1 => (at(), 1..9_usize).prop_map(|(at, n)| Damage::Remove(at, n)),
        1 => at().prop_map(Damage::Truncate),
    ]
}

/// Kind, length (if not the right one) and contents of a block, of all kinds that have a name.
fn block() -> impl Strategy<Value = (u32, Option<u32>, Vec<u8>)> {
    let special = vec![0x0a0d_0d0a, 0xbad, 0x4000_0bad, 0x8000_0001];
    let kind = prop_oneof![0..13_u32, prop::sample::select(special)];
    let len = prop::option::of(prop_oneof![0..16_u32, 16..64_u32, any::<u32>()]);
    (kind, len, vec(prop_oneof![any::<u8>(), Just(0)], 0..64))
}

/// A pipe that returns at most so many bytes at a time.
struct Dribble<'a>(&'a [u8], usize);

impl Read for Dribble<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = into.len().min(self.1);
        self.0.read(&mut into[..n])
    }
}

/// The expected result of reading a capture of these packets.
fn expected(packets: &[Packet]) -> Result<Vec<Packet>, CaptureError> {
    if packets.is_empty() { Err(CaptureError::NoPackets) } else { Ok(packets.to_vec()) }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn valid_captures_are_read_back(capture in capture()) {
        let capture = capture.write();
        prop_assert_eq!(read(capture.bytes.as_slice()), expected(&capture.packets));
    }

    #[test]
    fn pipes_are_read_like_files(capture in capture(), most in 1..2000_usize) {
        let capture = capture.write();
        prop_assert_eq!(read(Dribble(&capture.bytes, most)), expected(&capture.packets));
    }

    /// Exactly the packets that were recorded before a capture was cut off are counted.
    #[test]
    fn truncation_is_told(capture in capture(), at in any::<prop::sample::Index>()) {
        let capture = capture.write();
        let at = at.index(capture.bytes.len());
        match read(&capture.bytes[..at]) {
            Ok(packets) => prop_assert!(capture.packets.starts_with(&packets)),
            Err(CaptureError::Truncated { packets }) => {
                prop_assert!(packets <= capture.packets.len());
            }
            Err(CaptureError::NoCapture | CaptureError::TooShort) => prop_assert!(at < 28),
            Err(error) => prop_assert_eq!(error, CaptureError::NoPackets),
        }
    }

    #[test]
    fn damaged_captures_do_no_harm(capture in capture(), damage in vec(damage(), 1..20)) {
        let mut bytes = capture.write().bytes;
        damage.iter().for_each(|damage| damage.apply(&mut bytes));
        let _ = read(bytes.as_slice());
    }

    #[test]
    fn arbitrary_blocks_do_no_harm(big in any::<bool>(), blocks in vec(block(), 1..10)) {
        let empty = Section { big, interfaces: Vec::new(), records: Vec::new() };
        let mut bytes = Capture::Sections(vec![empty]).write().bytes;
        for (kind, len, body) in blocks {
            for n in [kind, len.unwrap_or(body.len() as u32 + 12)] {
                bytes.extend(if big { n.to_be_bytes() } else { n.to_le_bytes() });
            }
            bytes.extend(body);
        }
        let _ = read(bytes.as_slice());
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in vec(any::<u8>(), 0..500)) {
        let _ = read(bytes.as_slice());
    }
}

/// A source that fails is distinguished from a source that ends.
#[test]
fn a_failing_source_is_told() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let record = LegacyRecord { seconds: 1, fraction: 2, bytes: 3, kept: 3 };
    let file = Legacy { big: false, nanos: false, records: vec![record] };
    let start = Capture::Legacy(file).write().bytes;
    assert_eq!(read(start.as_slice().chain(Broken)), Err(CaptureError::Unreadable));
    assert_eq!(read(Broken), Err(CaptureError::Unreadable));
}
