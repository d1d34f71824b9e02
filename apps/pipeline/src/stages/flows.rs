//! The stage of flows.

use std::time::Instant;

use corelane::{Consumer, Producer, wait};
use hdrhistogram::Histogram;

use super::Settings;
use super::progress::{Counters, count};
use crate::flow::Shards;
use crate::packet::Parcel;
use crate::report::FlowRecord;

/// A thread that adds packets to their flows.
pub(super) struct Flows<'a, C, P, F> {
    pub(super) from_parse: wait::Consumer<C>,
    pub(super) to_merge: wait::Producer<F>,
    pub(super) to_input: P,
    pub(super) settings: &'a Settings,
    pub(super) counters: &'a Counters,
}

/// Larger packets are not used again, so that a few of them don't take memory for ever.
const LARGEST_SPARE: usize = 1 << 14;

impl<C, P, F> Flows<'_, C, P, F>
where
    C: Consumer<Item = Parcel>,
    P: Producer<Item = Parcel>,
    F: Producer<Item = Box<FlowRecord>>,
{
    /// Returns how long packets took, if they had a time to be here.
    pub(super) fn run(mut self) -> Option<Histogram<u64>> {
        let &Settings { threads, parse_only, .. } = self.settings;
        let mut shards = (!parse_only).then(|| Shards::of_one_in(threads));
        let (mut latency, mut batch, mut over) = (None, Vec::new(), Vec::new());
        loop {
            let is_end = self.from_parse.pop_many(&mut batch, self.settings.batch) == 0;
            count(&self.counters.classified, batch.len() as u64);
            for packet in batch.drain(..) {
                if let Some(shards) = &mut shards {
                    shards.take(&packet, &mut over);
                }
                note(&mut latency, packet.due);
                if packet.bytes.capacity() <= LARGEST_SPARE {
                    // Without room for it the packet is dropped.
                    let _ = self.to_input.try_push(packet);
                }
            }
            self.to_input.flush();
            if is_end && let Some(shards) = &mut shards {
                shards.finish(&mut over);
            }
            if !over.is_empty() {
                // The merging thread ends before this one only if it panics, which ends all.
                let _ = self.to_merge.push_all(over.drain(..).map(Box::new));
                self.to_merge.flush();
            }
            if is_end {
                return latency;
            }
        }
    }
}

/// Records how long a packet took, if it was due at a time.
pub(super) fn note(latency: &mut Option<Histogram<u64>>, due: Option<Instant>) {
    let Some(due) = due else { return };
    let ns = due.elapsed().as_nanos().try_into().unwrap_or(u64::MAX);
    latency.get_or_insert_with(histogram).record(ns).expect("it grows");
}

fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three digits are possible")
}

/// The sum of two histograms.
pub(super) fn added(
    one: Option<Histogram<u64>>,
    other: Option<Histogram<u64>>,
) -> Option<Histogram<u64>> {
    let (Some(mut sum), Some(other)) = (one.clone(), &other) else { return one.or(other) };
    sum.add(other).expect("it grows");
    Some(sum)
}
