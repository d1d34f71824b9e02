//! How a producer gets along with others.

use crate::memory::limit;

/// Pushes without a meeting after which a producer spreads over fewer lanes.
const CALM: u32 = 32;
/// Meetings after which a slow producer tries once to fill a capsule alone.
const CROWDED: u32 = 16;
/// Most capsules that a producer fills alone before it shares again.
const MOST_ALONE: u32 = limit(8, 1) as u32;

/// How a producer gets along with others that it meets: they push into the same capsule at the same
/// moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meetings {
    /// The logarithm of the number of lanes over which producers spread.
    pub(super) spread: u32,
    /// Pushes since the last meeting.
    calm: u32,
    /// Meetings, although producers are spread over all lanes.
    crowded: u32,
    /// Capsules that the producer fills alone after such a meeting. 0 if it was too slow to fill one.
    patience: u32,
    /// Capsules that it still fills alone.
    pub(super) own: u32,
}

impl Meetings {
    pub(super) const NONE: Self = Self { spread: 0, calm: 0, crowded: 0, patience: 1, own: 0 };

    /// The producer has met another one. There are lanes for a spread of `most`.
    pub(super) fn meet(&mut self, most: u32) {
        self.calm = 0;
        if self.spread < most {
            self.spread += 1;
            return;
        }
        self.crowded = (self.crowded + 1) % CROWDED;
        if self.crowded == 0 {
            self.patience = self.patience.max(1);
        }
        self.own = self.patience;
    }

    /// The producer has pushed into a shared capsule.
    #[inline]
    pub(super) fn pass(&mut self) {
        self.calm += 1;
        if self.calm == CALM {
            self.spread = self.spread.saturating_sub(1);
            self.calm = 0;
        }
    }

    /// The producer has filled a capsule alone, or another one has closed it before.
    pub(super) fn end_alone(&mut self, is_filled: bool) {
        match is_filled {
            true => self.patience = (2 * self.patience).min(MOST_ALONE),
            false => (self.patience, self.own) = (0, 0),
        }
    }

    /// Whether the producer fills the next capsule alone: one of those that it has left.
    pub(super) fn take_own(&mut self) -> bool {
        let takes = self.own > 0;
        self.own -= u32::from(takes);
        takes
    }
}
