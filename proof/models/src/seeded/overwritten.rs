//! A slot that is written again while it may be read.

use corelane_loom::memory::Ordering::{Acquire, Relaxed, Release};
use corelane_loom::memory::{AtomicU64, fence};
use loom::sync::Arc;

use crate::Exploration;
use crate::explore::{both, explore};

/// `bbq-drop-old`. Broken: the item is used without a look at whether the slot was entered again.
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
