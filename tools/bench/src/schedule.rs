//! The send times of items in an open-loop test.

use std::time::Duration;

use corelane_capture::Packet;

/// Longer gaps in a capture are shortened to this: the queue is empty in them anyway.
const LONGEST_GAP: Duration = Duration::from_millis(10);

/// Fixed, so that all runs have the same gaps and can be compared.
const SEED: u64 = 0x1a9e;

/// One item of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The send time, counted from the start.
    pub at_ns: u64,
    /// The item's length.
    pub bytes: u32,
}

/// Items at random, independent times, `rate` per second on average, for `length`.
pub(crate) fn poisson(rate: f64, length: Duration) -> Vec<Arrival> {
    arrivals(rate, length).collect()
}

/// Whether [`poisson`] has no items.
pub(crate) fn is_empty(rate: f64, length: Duration) -> bool {
    arrivals(rate, length).next().is_none()
}

pub(crate) fn arrivals(rate: f64, length: Duration) -> impl Iterator<Item = Arrival> {
    let (mut state, mut at) = (SEED, 0.0);
    let times = std::iter::repeat_with(move || {
        // Exponentially distributed gaps.
        at -= uniform(&mut state).ln() * 1e9 / rate;
        Arrival { at_ns: at as u64, bytes: 0 }
    });
    times.take_while(move |arrival| arrival.at_ns < length.as_nanos() as u64)
}

/// The next number of a random sequence, above 0 and up to 1.
pub(crate) fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (((mixed ^ (mixed >> 31)) >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// The packets of a capture, `speedup` times as fast, as far as they fit into `length`.
///
/// The first packet is sent at once. Send times never decrease, even if the capture's times do.
pub(crate) fn replay(packets: &[Packet], speedup: f64, length: Duration) -> Vec<Arrival> {
    let mut at = 0;
    let mut last = packets.first().map_or(0, |packet| packet.at_ns);
    let times = packets.iter().map(|packet| {
        at += packet.at_ns.saturating_sub(last).min(LONGEST_GAP.as_nanos() as u64);
        last = packet.at_ns;
        Arrival { at_ns: (at as f64 / speedup) as u64, bytes: packet.bytes }
    });
    times.take_while(|arrival| arrival.at_ns < length.as_nanos() as u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_keeps_its_rate() {
        let items = poisson(1e6, Duration::from_secs(1)).len();
        assert!((990_000..1_010_000).contains(&items), "{items} items");
    }

    #[test]
    fn replay_starts_at_once_shortens_silence_and_ends_after_its_length() {
        let gap = 10_000_000;
        let later = 60_000_000_000;
        for (captured, speedup, millis, due) in [
            (&[1_000_000, 1_000_500, 1_002_000][..], 2.0, 1000, &[0, 250, 1000][..]),
            // The third packet's time is earlier than the second's.
            (&[0, later, later - 1000, later - 999], 1.0, 1000, &[0, gap, gap, gap + 1]),
            (&[0, 1_000_000, 3_000_000], 1.0, 2, &[0, 1_000_000]),
        ] {
            let packets: Vec<_> =
                captured.iter().map(|&at_ns| Packet { at_ns, bytes: 60 }).collect();
            let due: Vec<_> = due.iter().map(|&at_ns| Arrival { at_ns, bytes: 60 }).collect();
            assert_eq!(replay(&packets, speedup, Duration::from_millis(millis)), due);
        }
    }
}
