//! Slots that are overwritten while they are read, or while an earlier write is unfinished.

use corelane_loom::memory::Ordering::{AcqRel, Acquire, Relaxed, Release};
use corelane_loom::memory::{AtomicU64, fence};
use loom::sync::Arc;

use crate::Exploration;
use crate::explore::{both, explore};

/// `bbq-drop-old`. Broken: the consumer uses the item without checking whether the slot's block was
/// entered again.
#[derive(Debug)]
struct Overwritten<const BROKEN: bool> {
    words: [AtomicU64; 2],
    entered: AtomicU64,
}

impl<const BROKEN: bool> Overwritten<BROKEN> {
    fn write(&self, lap: u64) {
        self.entered.store(lap, Relaxed);
        fence(Release);
        self.words.iter().for_each(|word| word.store(lap, Relaxed));
    }

    fn read(&self, lap: u64) -> Option<[u64; 2]> {
        let item = [0, 1].map(|i| self.words[i].load(Relaxed));
        fence(Acquire);
        (BROKEN || self.entered.load(Relaxed) == lap).then_some(item)
    }
}

/// The slot holds an item, which is overwritten while it is read.
pub(super) fn overwritten_while_read<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let words = [AtomicU64::new(0), AtomicU64::new(0)];
        let slot = Arc::new(Overwritten::<BROKEN> { words, entered: AtomicU64::new(0) });
        let written = slot.clone();
        let ((), read) = both(move || written.write(1), || slot.read(0));
        assert!(matches!(read, None | Some([0, 0])), "an item of two laps: {read:?}");
    })
}

/// `seqring`. Broken: a producer writes to a slot whose producer of an earlier lap has not
/// finished.
#[derive(Debug)]
struct Claimed<const BROKEN: bool> {
    stamp: AtomicU64,
    words: [AtomicU64; 2],
}

/// The marks of a stamp, below its lap.
const DONE: u64 = 1;
const VOID: u64 = 2;

impl<const BROKEN: bool> Claimed<BROKEN> {
    fn put(&self, lap: u64) {
        let mut seen = self.stamp.load(Relaxed);
        while seen < lap {
            let is_free = BROKEN || seen & DONE != 0;
            let claimed = if is_free { lap } else { lap | VOID };
            match self.stamp.compare_exchange(seen, claimed, AcqRel, Relaxed) {
                Ok(_) if is_free => {
                    self.words.iter().for_each(|word| word.store(lap, Relaxed));
                    self.stamp.fetch_or(DONE, Release);
                    return;
                }
                Ok(_) => return,
                Err(found) => seen = found,
            }
        }
    }
}

/// Two producers write to a slot, one a lap behind the other.
pub(super) fn two_laps_in_a_slot<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let zero = || AtomicU64::new(0);
        let words = [zero(), zero()];
        let slot = Arc::new(Claimed::<BROKEN> { stamp: AtomicU64::new(DONE), words });
        let other = slot.clone();
        both(move || other.put(4), || slot.put(8));
        let words = [0, 1].map(|i| slot.words[i].load(Relaxed));
        let is_whole = slot.stamp.load(Relaxed) != 8 | DONE || words == [8, 8];
        assert!(is_whole, "an item of two laps: {words:?}");
    })
}
