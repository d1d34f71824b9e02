//! The packets of a pipeline: again and again those of a capture, or those that are built here.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use pipeline::{Captures, Packet, Parcel, Report, Source, Spares, Total, run_inline};

use super::frames::frames;
use crate::params::Length;

/// Pause between two laps. It ends all flows, so that each lap has the same ones.
const PAUSE_NS: u64 = 2 * 3600 * 1_000_000_000;

/// The packets of a lap.
#[derive(Debug)]
pub(super) struct Traffic {
    packets: Vec<Packet>,
    /// Time of a lap by the packets' clock, with a pause.
    lap_ns: u64,
    /// What each lap has.
    protocols: BTreeMap<&'static str, Total>,
    /// Packets of a lap that contradict themselves.
    malformed: u64,
}

impl Traffic {
    /// The packets of a capture. The error is one line.
    pub(super) fn of_file(path: &Path) -> Result<Self, String> {
        let mut captures = Captures::open(&[path], corelane_report::interrupt::requested)?;
        let packets = std::iter::from_fn(|| captures.next_packet(&mut ()));
        let packets: Vec<_> = packets.map(|packet| *packet).collect();
        match packets.is_empty() {
            true => Err(format!("{} holds no packets; choose another --trace", path.display())),
            false => Ok(Self::of(packets)),
        }
    }

    /// Packets of web and name servers.
    pub(super) fn built() -> Self {
        Self::of(frames())
    }

    fn of(packets: Vec<Packet>) -> Self {
        let times = packets.iter().map(|packet| packet.at_ns);
        let span = times.clone().max().unwrap_or(0) - times.min().unwrap_or(0);
        let report =
            run_inline(&mut packets.iter().cloned().map(Box::new).collect::<Vec<_>>().into_iter());
        let Report { protocols, malformed, .. } = report;
        Self { packets, lap_ns: span + PAUSE_NS, protocols, malformed }
    }

    /// Whether `report` has what this number of packets has. The error says what it lacks.
    pub(super) fn check(&self, report: &Report, is_parsed_only: bool) -> Result<(), String> {
        let (all, lap) = (report.packets, self.packets.len() as u64);
        let laps = all / lap;
        if all % lap != 0 || report.dropped != 0 || report.malformed != laps * self.malformed {
            return Err(format!(
                "of {all} packets {} were dropped and {} are malformed",
                report.dropped, report.malformed
            ));
        }
        if is_parsed_only {
            return Ok(());
        }
        let times = |total: &Total| [total.flows, total.packets, total.bytes].map(|n| n * laps);
        for (name, total) in &self.protocols {
            let found = report.protocols.get(name).copied().unwrap_or_default();
            if [found.flows, found.packets, found.bytes] != times(total) {
                return Err(format!("{name} has {found:?} after {laps} times {total:?}"));
            }
        }
        Ok(())
    }
}

/// A source that ends after a lap, when the time is over.
#[derive(Debug)]
pub(super) struct Laps<'a> {
    traffic: &'a Traffic,
    length: Length,
    begin: Instant,
    /// The next packet of the lap, and packets so far.
    next: usize,
    sent: u64,
    laps: u64,
    /// From one packet to the next, if packets come on a schedule.
    gap: Option<Duration>,
}

impl<'a> Laps<'a> {
    pub(super) fn new(traffic: &'a Traffic, length: Length, rate: Option<u64>) -> Self {
        let gap = rate.map(|rate| Duration::from_secs(1).div_f64(rate as f64));
        Self { traffic, length, begin: Instant::now(), next: 0, sent: 0, laps: 0, gap }
    }

    /// When the next packet is due, if there is a schedule.
    fn due(&self) -> Option<Instant> {
        Some(self.begin + self.gap?.mul_f64(self.sent as f64))
    }
}

impl Source for Laps<'_> {
    fn next_packet(&mut self, spares: &mut impl Spares) -> Option<Parcel> {
        if self.next == self.traffic.packets.len() {
            if self.length.is_over(self.sent, self.begin) {
                return None;
            }
            (self.next, self.laps) = (0, self.laps + 1);
        }
        let mut packet = spares.take().unwrap_or_default();
        packet.copy_from(&self.traffic.packets[self.next]);
        packet.at_ns += self.laps * self.traffic.lap_ns;
        packet.due = self.due();
        while packet.due.is_some_and(|due| Instant::now() < due) {
            thread::yield_now();
        }
        (self.next, self.sent) = (self.next + 1, self.sent + 1);
        Some(packet)
    }

    fn is_ready(&mut self) -> bool {
        self.due().is_none_or(|due| due <= Instant::now())
    }
}
