//! The flow table, in parts.
//!
//! Each part has its own bounds and its own flows, always the same ones, and a thread has whole
//! parts. So which flows are given up doesn't depend on the number of threads. A part's clock is the
//! capture's.

use hashlink::{LinkedHashMap, LinkedHashSet};

use super::Flow;
use crate::packet::{Key, Packet};
use crate::report::FlowRecord;

/// Parts of the table: threads, at most.
pub(crate) const SHARDS: usize = 64;
/// Flows of a part of which only one end has sent something.
pub(crate) const MOST_ONE_WAY: usize = 1024;
/// Flows of a part of which both ends have.
pub(crate) const MOST_TWO_WAY: usize = 2048;
/// Bytes that a part keeps to find applications.
pub(crate) const MOST_BUFFERED: usize = 1 << 20;
/// A flow is over after such a pause.
pub(crate) const IDLE_NS: u64 = 3600 * 1_000_000_000;

/// The parts of one thread: each `threads`-th of all.
#[derive(Debug)]
pub(crate) struct Shards {
    threads: usize,
    parts: Vec<Part>,
}

impl Shards {
    /// The parts of one of `threads` threads.
    pub(crate) fn of_one_in(threads: usize) -> Self {
        let parts = SHARDS.div_ceil(threads);
        Self { threads, parts: std::iter::repeat_with(Part::default).take(parts).collect() }
    }

    /// Which of `threads` threads has the flow of `packet`.
    pub(crate) fn thread_of(packet: &Packet, threads: usize) -> usize {
        packet.segment.shard % threads
    }

    /// Adds a packet to its flow. Appends the flows that are over to `out`.
    pub(crate) fn take(&mut self, packet: &Packet, out: &mut Vec<FlowRecord>) {
        self.parts[packet.segment.shard / self.threads].take(packet, out);
    }

    /// Ends all flows.
    pub(crate) fn finish(&mut self, out: &mut Vec<FlowRecord>) {
        self.parts.iter_mut().for_each(|part| part.finish(out));
    }

    /// Flows, and bytes that are kept to find applications.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        let flows = self.parts.iter().map(|part| part.one_way.len() + part.two_way.len());
        (flows.sum(), self.parts.iter().map(|part| part.buffered).sum())
    }
}

/// A part. The flow that had a packet last is the last in its map.
#[derive(Debug, Default)]
struct Part {
    /// Apart from the others, so that a flood of packets from invented addresses, which get
    /// no answer, ends no other flow.
    one_way: LinkedHashMap<Key, Flow>,
    two_way: LinkedHashMap<Key, Flow>,
    /// Flows that keep bytes, in the order in which they began to.
    buffering: LinkedHashSet<Key>,
    buffered: usize,
}

impl Part {
    fn take(&mut self, packet: &Packet, out: &mut Vec<FlowRecord>) {
        self.expire(packet.at_ns, out);
        let key = packet.segment.key;
        if self.find(&key).is_none_or(|flow| flow.is_over(packet)) {
            self.end(&key, out);
            if self.one_way.len() == MOST_ONE_WAY {
                self.end_oldest(|part| &mut part.one_way, out);
            }
            self.one_way.insert(key, Flow::new(packet));
        }
        let Some(flow) = self.find(&key) else { return };
        let (before, is_answer) = (flow.buffered(), flow.is_answer(packet));
        flow.take(packet);
        let after = flow.buffered();
        if is_answer {
            self.answered(key, out);
        }
        if (before, after) != (0, 0) {
            self.buffers(key, before, after);
        }
    }

    fn find(&mut self, key: &Key) -> Option<&mut Flow> {
        match self.two_way.to_back(key) {
            None => self.one_way.to_back(key),
            found => found,
        }
    }

    /// Moves a flow to those of which both ends have sent something, if it isn't there.
    fn answered(&mut self, key: Key, out: &mut Vec<FlowRecord>) {
        let Some(flow) = self.one_way.remove(&key) else { return };
        if self.two_way.len() == MOST_TWO_WAY {
            self.end_oldest(|part| &mut part.two_way, out);
        }
        self.two_way.insert(key, flow);
    }

    /// Accounts for what a flow keeps. Beyond the bound, the flows that have kept bytes for the
    /// longest time keep none.
    fn buffers(&mut self, key: Key, before: usize, after: usize) {
        self.buffered = self.buffered - before + after;
        match after {
            0 => drop(self.buffering.remove(&key)),
            _ if before == 0 => drop(self.buffering.insert(key)),
            _ => {}
        }
        while self.buffered > MOST_BUFFERED {
            let Some(oldest) = self.buffering.pop_front() else { return };
            let maps = [&mut self.two_way, &mut self.one_way];
            if let Some(flow) = maps.into_iter().find_map(|map| map.get_mut(&oldest)) {
                self.buffered -= flow.buffered();
                flow.give_up();
            }
        }
    }

    fn end(&mut self, key: &Key, out: &mut Vec<FlowRecord>) {
        if let Some(flow) = self.two_way.remove(key).or_else(|| self.one_way.remove(key)) {
            self.ended(key, flow, out);
        }
    }

    fn end_oldest(
        &mut self,
        of: impl Fn(&mut Self) -> &mut LinkedHashMap<Key, Flow>,
        out: &mut Vec<FlowRecord>,
    ) {
        if let Some((key, flow)) = of(self).pop_front() {
            self.ended(&key, flow, out);
        }
    }

    fn ended(&mut self, key: &Key, flow: Flow, out: &mut Vec<FlowRecord>) {
        if flow.buffered() > 0 {
            self.buffered -= flow.buffered();
            self.buffering.remove(key);
        }
        out.push(flow.record());
    }

    /// Ends the flows that have been idle for too long.
    fn expire(&mut self, now_ns: u64, out: &mut Vec<FlowRecord>) {
        let is_idle = |(_, flow): (&Key, &Flow)| flow.is_idle(now_ns);
        while self.one_way.front().is_some_and(is_idle) {
            self.end_oldest(|part| &mut part.one_way, out);
        }
        while self.two_way.front().is_some_and(is_idle) {
            self.end_oldest(|part| &mut part.two_way, out);
        }
    }

    fn finish(&mut self, out: &mut Vec<FlowRecord>) {
        while !self.one_way.is_empty() {
            self.end_oldest(|part| &mut part.one_way, out);
        }
        while !self.two_way.is_empty() {
            self.end_oldest(|part| &mut part.two_way, out);
        }
    }
}
