//! What a benchmark needs of a queue, ours or a peer's.

use corelane::Sides;

/// What a queue should be like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    /// Items that must fit.
    pub(crate) capacity: usize,
    /// Where the slots live. Peers choose for themselves.
    pub(crate) memory: corelane::Memory,
}

/// What any queue can carry.
pub(crate) trait Word: Copy + Send + Sync + 'static {}

impl<T: Copy + Send + Sync + 'static> Word for T {}

/// A queue with its item type, which can be opened.
pub(crate) trait Link: 'static {
    /// Whom it is between.
    const SIDES: Sides = Sides::OneToOne;
    /// Whether it is ever full.
    const BOUNDED: bool = true;
    /// Whether a push overwrites what was not popped in time.
    const OVERWRITES: bool = false;
    /// Whether threads wait for those of their side that began before them, running or not.
    const TAKES_TURNS: bool = false;

    /// What it carries.
    type Item: Word;
    /// Its sending side.
    type Tx: Tx<Item = Self::Item>;
    /// Its receiving side.
    type Rx: Rx<Item = Self::Item>;

    /// A new queue, or why there can be none.
    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String>;

    /// One more sending side, if there may be several.
    fn another_tx(_tx: &Self::Tx) -> Option<Self::Tx> {
        None
    }

    /// One more receiving side, if there may be several.
    fn another_rx(_rx: &Self::Rx) -> Option<Self::Rx> {
        None
    }
}

/// The sending side.
pub(crate) trait Tx: Send {
    /// What it sends.
    type Item: Copy;

    /// Sends `item`, or says that the queue is full.
    fn try_push(&mut self, item: Self::Item) -> bool;

    /// Sends as many leading `items` as fit and returns how many that were.
    #[inline(always)]
    fn push_batch(&mut self, items: &[Self::Item]) -> usize {
        items.iter().take_while(|item| self.try_push(**item)).count()
    }

    /// Makes all that was sent visible, where that isn't so anyway.
    #[inline(always)]
    fn flush(&mut self) {}
}

/// The receiving side.
pub(crate) trait Rx: Send {
    /// What it receives.
    type Item: Copy;

    /// The next item, if there is one.
    fn try_pop(&mut self) -> Option<Self::Item>;

    /// Items that this handle found overwritten.
    fn lost(&self) -> u64 {
        0
    }

    /// Fills the front of `into` and returns how many items that were.
    #[inline(always)]
    fn pop_batch(&mut self, into: &mut [Self::Item]) -> usize {
        let mut popped = 0;
        while popped < into.len() {
            let Some(item) = self.try_pop() else { break };
            into[popped] = item;
            popped += 1;
        }
        popped
    }
}
