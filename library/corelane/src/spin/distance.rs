//! Keeping a distance: a consumer that follows a stream too closely costs both sides a cache miss
//! for each look.

use crate::memory::pause;

/// How long a consumer waits before it looks again at slots that the producer is writing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Distance {
    /// Position at which the consumer last caught up.
    mark: u64,
    /// Pauses to be made.
    pauses: u32,
    /// Long waits in a row that didn't help.
    in_vain: u16,
    /// Catch-ups that are not waited for, since items come in bursts.
    rest: u16,
}

impl Distance {
    /// Most pauses in one look: about as long as a far line needs for a round trip.
    const MOST: u32 = 16;
    /// Most pauses behind a fast stream. After 16 pauses the producer has only just got its line
    /// back: the consumer would catch up again at once.
    const MOST_IF_FAST: u32 = 4 * Self::MOST;
    /// With so many calls between two catch-ups a stream is fast.
    pub(crate) const FAST: u64 = 32;
    /// After so many long waits in a row that didn't help, the items come in bursts.
    const BURSTS: u16 = 4;
    /// Catch-ups that are then not waited for. Their number doubles with each further wait in vain.
    const REST: u16 = 16;
    /// The most of them: a stream may begin later.
    const LONGEST_REST: u16 = 1024;
    /// With so many calls between two catch-ups, items come as a stream. In a dialogue there are
    /// one or two for each message.
    const STREAM: u64 = 3;

    /// The distance of a new consumer.
    pub(crate) fn new(position: u64) -> Self {
        Self { mark: position, pauses: 0, in_vain: 0, rest: 0 }
    }

    /// Called when the consumer has caught up with the producer at `position`, in a call that takes
    /// at most `each` items. The wait depends on the number of such calls since the last catch-up.
    /// With fewer than `STREAM` calls it is half as long as the last wait, with `far_behind` calls
    /// or more as long, and otherwise longer. Returns whether the consumer has waited.
    #[inline]
    pub(crate) fn caught_up(self, position: u64, each: u64, far_behind: u64) -> (Self, bool) {
        self.caught_up_with(position, each, far_behind, u64::MAX)
    }

    /// The same, with longer waits if the calls are `fast` or more.
    #[inline]
    pub(crate) fn caught_up_with(
        mut self,
        position: u64,
        each: u64,
        far_behind: u64,
        fast: u64,
    ) -> (Self, bool) {
        let run = position.wrapping_sub(self.mark) / each;
        self.mark = position;
        if run < Self::STREAM && self.pauses == 0 {
            return (self, false);
        }
        if run < Self::STREAM {
            self.pauses /= 2;
        } else if self.rest > 0 {
            self.rest -= 1;
            return (self, false);
        } else if run < far_behind {
            let is_fast = run >= fast && self.in_vain < Self::BURSTS;
            let most = if is_fast { Self::MOST_IF_FAST } else { Self::MOST };
            self.pauses = (2 * self.pauses + 1).min(most);
        }
        pause(self.pauses);
        (self, self.pauses > 0)
    }

    /// Called after the look that follows a wait. When several long waits in a row didn't help, the
    /// items come in bursts: the next catch-ups are not waited for. A thread that looks at many
    /// queues by turns gets bursts, and a wait would keep all other queues waiting.
    #[inline]
    pub(crate) fn looked_again(mut self, has_found: bool) -> Self {
        if self.pauses >= Self::MOST {
            self.in_vain = if has_found { 0 } else { self.in_vain.saturating_add(1) };
            if let Some(more) = self.in_vain.checked_sub(Self::BURSTS) {
                self.pauses = 0;
                self.rest = (Self::REST << more.min(6)).min(Self::LONGEST_REST);
            }
        }
        self
    }

    /// How long it waits.
    #[cfg(test)]
    pub(crate) fn pauses(&self) -> u32 {
        self.pauses
    }
}

#[cfg(test)]
mod tests {
    use super::Distance;

    #[test]
    fn bursts_are_not_waited_for() {
        let (mut distance, mut waits) = (Distance::new(0), 0);
        for burst in 1..10_000 {
            let (next, waited) = distance.caught_up_with(64 * burst, 1, u64::MAX, Distance::FAST);
            distance = if waited { next.looked_again(false) } else { next };
            assert!(burst < 10 || distance.pauses() < Distance::MOST, "{burst}: {distance:?}");
            waits += u32::from(waited);
        }
        assert!((10..200).contains(&waits), "{waits}");
        // A stream is waited for soon.
        for burst in 10_000..20_000 {
            let (next, waited) = distance.caught_up_with(64 * burst, 1, u64::MAX, Distance::FAST);
            distance = if waited { next.looked_again(true) } else { next };
        }
        assert_eq!(distance.pauses(), Distance::MOST_IF_FAST);
    }
}
