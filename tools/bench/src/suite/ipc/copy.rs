//! What one copy of a record costs, in one process: no queue that copies can be faster.

use std::hint::black_box;

use corelane::{Info, Sides};

use super::{IpcKernel, Linked, RECORD_BYTES, Starter, repeat};
use crate::catalogue::Entry;
use crate::kinds::Test;
use crate::sample::Sample;
use crate::suite::wait::Strategy;

/// Copies between two looks at the clock.
const CHUNK: u64 = 64;

/// Nanoseconds of a copy into a ring as large as that of a queue.
fn measure(starter: &Starter<'_>) -> Result<Sample, String> {
    let words = starter.setting.record_bytes / 8;
    let capacity = starter.trial.params.capacity;
    let length = starter.trial.length;
    let (copies, ns, usage) = starter.here(move || {
        let (record, mut ring) = (vec![1_u64; words], vec![0_u64; words * capacity]);
        let mut slot = 0;
        repeat(length, CHUNK, || {
            let at = slot * words;
            ring[at..at + words].copy_from_slice(black_box(&record));
            black_box(&mut ring[at]);
            slot = (slot + 1) % capacity;
            Ok(())
        })
    })?;
    let sample = Sample::of(ns / copies.max(1) as f64);
    Ok(sample.with_usage(usage, copies as f64))
}

pub(super) fn entry() -> Linked {
    let kernel = |record_bytes| IpcKernel {
        record_bytes,
        strategies: &[Strategy::Spin],
        tests: &[Test::Stream],
        measure,
        peer: |_| Err("it is alone".into()),
    };
    let name = "memcpy in one process";
    let info = Info { id: "memcpy", name, sides: Sides::OneToOne, ..Info::RING };
    Entry::ours(info, "plain data").with(RECORD_BYTES.map(kernel).into())
}
