//! Flows: the packets between two ends, in both directions.

mod head;
mod table;

pub(crate) use head::{Head, LONGEST as LONGEST_HEAD};
pub(crate) use table::{IDLE_NS, SHARDS, Shards};

use etherparse::IpNumber;

use crate::app::{self, App, Datagrams, Match, UNKNOWN};
use crate::packet::{Endpoint, Packet, Tcp};
use crate::report::FlowRecord;

/// Payloads of a flow that are looked at before its application counts as unknown.
const MOST_LOOKS: u32 = 16;
/// The same, if the bytes so far are of no protocol that is known.
const MOST_VAIN_LOOKS: u32 = 8;

/// A flow that may have more packets.
#[derive(Debug)]
pub(crate) struct Flow {
    /// The initiator, and the other end.
    ends: [Endpoint; 2],
    protocol: u8,
    /// The number of its first packet.
    number: u64,
    packets: u64,
    bytes: u64,
    first_ns: u64,
    last_ns: u64,
    digits: u8,
    /// The number of the byte behind the SYN, in each direction.
    begins: [Option<u32>; 2],
    has_ended: bool,
    app: Progress,
}

/// How far the search for the application is.
#[derive(Debug)]
enum Progress {
    /// No payload has come yet.
    Fresh,
    Open(Box<Evidence>),
    Done(Option<Box<App>>),
}

/// What is kept while the application isn't known.
#[derive(Debug, Default)]
struct Evidence {
    heads: [Head; 2],
    /// Where the streams begin, as far as it is known.
    begins: [Option<u32>; 2],
    datagrams: Datagrams,
    looks: u32,
    /// The application if no more bytes come.
    tentative: Option<&'static str>,
}

impl Flow {
    /// The flow of its first packet. A stream's initiator sends a SYN, or gets a SYN with an
    /// acknowledgment. Otherwise it is the sender of the first packet.
    pub(crate) fn new(packet: &Packet) -> Self {
        let (from, to) = packet.way();
        let is_answer = packet.segment.tcp.is_some_and(|tcp| tcp.syn && tcp.ack);
        Self {
            ends: if is_answer { [to, from] } else { [from, to] },
            protocol: packet.segment.key.protocol,
            number: packet.number,
            packets: 0,
            bytes: 0,
            first_ns: packet.segment.first_ns,
            last_ns: packet.at_ns,
            digits: packet.digits,
            begins: [None; 2],
            has_ended: false,
            app: Progress::Fresh,
        }
    }

    /// Whether `packet` begins another flow between the same ends: after a long pause, or by a SYN
    /// with a new number.
    pub(crate) fn is_over(&self, packet: &Packet) -> bool {
        // The same number again is the same SYN, sent again, even after a refusal.
        let begins_anew = |tcp: Tcp| {
            let before = self.begins[self.direction(packet)];
            let is_new = before.map_or(self.has_ended, |number| number != tcp.begin());
            tcp.syn && !tcp.ack && is_new
        };
        self.is_idle(packet.at_ns) || packet.segment.tcp.is_some_and(begins_anew)
    }

    /// Whether the pause up to now ends the flow.
    pub(crate) fn is_idle(&self, now_ns: u64) -> bool {
        now_ns.abs_diff(self.last_ns) > IDLE_NS
    }

    fn direction(&self, packet: &Packet) -> usize {
        usize::from(packet.way().0 != self.ends[0])
    }

    /// Whether a packet comes from the end that didn't begin.
    pub(crate) fn is_answer(&self, packet: &Packet) -> bool {
        self.packets > 0 && self.direction(packet) == 1
    }

    /// Counts a packet, and looks at what it carries.
    pub(crate) fn take(&mut self, packet: &Packet) {
        self.packets += packet.segment.packets;
        self.bytes += packet.segment.bytes;
        self.first_ns = self.first_ns.min(packet.segment.first_ns);
        self.last_ns = self.last_ns.max(packet.at_ns);
        self.digits = self.digits.max(packet.digits);
        let direction = self.direction(packet);
        if let Some(tcp) = packet.segment.tcp {
            self.has_ended |= tcp.ends;
            if tcp.syn {
                self.begins[direction] = Some(tcp.begin());
            }
        }
        let carries_app =
            matches!(IpNumber(self.protocol), IpNumber::TCP | IpNumber::UDP | IpNumber::UDP_LITE);
        let is_done = matches!(self.app, Progress::Done(_));
        if !carries_app || is_done || packet.payload().is_empty() {
            return;
        }
        let mut evidence = match std::mem::replace(&mut self.app, Progress::Done(None)) {
            Progress::Open(evidence) => evidence,
            _ => Box::default(),
        };
        let (from, to) = packet.way();
        let found = match packet.segment.tcp {
            Some(tcp) => evidence.stream(packet.payload(), tcp, self.begins, direction, self.ends),
            None => evidence.datagrams.next(packet.payload(), [from, to]),
        };
        self.app = evidence.concluded(found);
    }

    /// Bytes that are kept to find the application.
    pub(crate) fn buffered(&self) -> usize {
        match &self.app {
            Progress::Open(evidence) => evidence.memory(),
            _ => 0,
        }
    }

    /// Gives up the search for the application.
    pub(crate) fn give_up(&mut self) {
        if let Progress::Open(evidence) = &self.app {
            self.app = Progress::Done(evidence.best());
        }
    }

    /// What is to be said about the flow when it is over.
    pub(crate) fn record(mut self) -> FlowRecord {
        self.give_up();
        let app = match self.app {
            Progress::Done(Some(app)) => Some(*app),
            _ => None,
        };
        let name = app::of_protocol(self.protocol).unwrap_or(UNKNOWN);
        let app = app.unwrap_or(App { name, host: String::new(), method: String::new() });
        FlowRecord {
            number: self.number,
            ends: self.ends,
            protocol: self.protocol,
            packets: self.packets,
            bytes: self.bytes,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            digits: self.digits,
            app: app.name,
            host: app.host,
            method: app.method,
        }
    }
}

impl Evidence {
    /// Adds a segment of a stream, and looks at what there is now.
    fn stream(
        &mut self,
        payload: &[u8],
        tcp: Tcp,
        begins: [Option<u32>; 2],
        direction: usize,
        ends: [Endpoint; 2],
    ) -> Match {
        let sequence = tcp.begin();
        self.learn(begins[direction], sequence, direction);
        let begin = *self.begins[direction].get_or_insert(sequence);
        let offset = sequence.wrapping_sub(begin) as i32;
        let head = &mut self.heads[direction];
        // What lies before the begin was sent already.
        let (offset, new) = match usize::try_from(offset) {
            Ok(offset) => (offset, payload),
            Err(_) => {
                let old = offset.unsigned_abs() as usize;
                (0, payload.get(old..).unwrap_or_default())
            }
        };
        // Mostly the first segment tells, and nothing needs to be copied.
        let is_whole = head.is_empty() && offset == 0;
        if !is_whole {
            head.insert(offset, new);
        }
        let mut views = [self.heads[0].bytes(), self.heads[1].bytes()];
        if is_whole {
            views[direction] = new;
        }
        let found = app::of_stream(views, ends);
        if is_whole && !matches!(found, Match::Is(_)) {
            self.heads[direction].insert(0, new);
        }
        // Without a SYN a stream is seen from somewhere in it, so each segment may begin something.
        if found == Match::No && begins[direction].is_none() {
            (self.heads[direction], self.begins[direction]) = (Head::default(), None);
        }
        found
    }

    /// Sets where a stream begins, by its SYN, or by an earlier segment than those before.
    fn learn(&mut self, begin: Option<u32>, sequence: u32, direction: usize) {
        let Some(known) = self.begins[direction] else {
            self.begins[direction] = begin;
            return;
        };
        let earlier = begin.unwrap_or(sequence);
        let by = known.wrapping_sub(earlier) as usize;
        if (1..=LONGEST_HEAD).contains(&by) {
            self.heads[direction].shift(by);
            self.begins[direction] = Some(earlier);
        }
    }

    /// What follows from `found`, the answer to the last payload.
    fn concluded(mut self: Box<Self>, found: Match) -> Progress {
        self.looks += 1;
        let most = match found {
            Match::Is(app) => return Progress::Done(Some(Box::new(app))),
            Match::More(name) => {
                self.tentative = name.or(self.tentative);
                MOST_LOOKS
            }
            Match::No => MOST_VAIN_LOOKS,
        };
        let is_full = self.heads.iter().any(Head::is_full);
        if self.looks >= most || is_full {
            Progress::Done(self.best())
        } else {
            Progress::Open(self)
        }
    }

    fn best(&self) -> Option<Box<App>> {
        let named = |name| App { name, host: String::new(), method: String::new() };
        self.tentative.map(|name| Box::new(named(name)))
    }

    fn memory(&self) -> usize {
        let heads = self.heads.iter().map(Head::memory).sum::<usize>();
        size_of::<Self>() + heads + self.datagrams.memory()
    }
}

#[cfg(test)]
mod tests;
