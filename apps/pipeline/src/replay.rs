//! A replay at the capture's times.

use std::thread;
use std::time::{Duration, Instant};

use crate::packet::Parcel;
use crate::source::{Source, Spares};

/// Longer gaps between packets are shortened to this.
pub const LONGEST_GAP: Duration = Duration::from_secs(1);
/// The last part of a wait, in which the thread yields: a sleep may last longer than asked for.
const AWAKE: Duration = Duration::from_micros(300);
/// A sleep at once, so that the end isn't missed.
const NAP: Duration = Duration::from_millis(100);

/// Hands packets on at their times. A packet that the next stage delays doesn't delay those behind
/// it: each has the time at which it was due.
#[derive(Debug)]
pub struct Replay<S> {
    source: S,
    speed: f64,
    stops: fn() -> bool,
    /// The next packet, whose time has not come.
    ahead: Option<Parcel>,
    /// When the last packet was due, and when it was captured.
    last: Option<(Instant, u64)>,
}

impl<S: Source> Replay<S> {
    /// Replays `source`, `speed` times as fast as it was captured.
    pub fn new(source: S, speed: f64, stops: fn() -> bool) -> Self {
        Self { source, speed, stops, ahead: None, last: None }
    }

    /// The source, when the replay is over.
    pub fn into_source(self) -> S {
        self.source
    }

    /// When the next packet is due.
    fn look(&mut self, spares: &mut impl Spares) -> Option<Instant> {
        if self.ahead.is_none() {
            let mut packet = self.source.next_packet(spares)?;
            let due = match self.last {
                None => Instant::now(),
                Some((last, captured_ns)) => {
                    // A capture whose clock was set back has no gap there.
                    let gap = Duration::from_nanos(packet.at_ns.saturating_sub(captured_ns));
                    last + gap.min(LONGEST_GAP).div_f64(self.speed)
                }
            };
            self.last = Some((due, packet.at_ns));
            packet.due = Some(due);
            self.ahead = Some(packet);
        }
        self.ahead.as_ref()?.due
    }
}

impl<S: Source> Source for Replay<S> {
    fn next_packet(&mut self, spares: &mut impl Spares) -> Option<Parcel> {
        let due = self.look(spares)?;
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return self.ahead.take();
            }
            if (self.stops)() {
                return None;
            }
            match left.checked_sub(AWAKE) {
                Some(time) => thread::sleep(time.min(NAP)),
                None => thread::yield_now(),
            }
        }
    }

    fn is_ready(&mut self) -> bool {
        self.look(&mut ()).is_none_or(|due| due <= Instant::now())
    }
}
