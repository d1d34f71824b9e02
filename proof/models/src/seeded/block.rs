//! A ring of blocks that count their own items.

use corelane_loom::memory::AtomicU64;
use corelane_loom::memory::Ordering::{Acquire, Release};

use super::handles::{Mechanism, Place};
use crate::item::Ticket;

/// Blocks, of one slot each.
const N: usize = 2;

struct Block {
    place: Place,
    committed: AtomicU64,
    consumed: AtomicU64,
}

/// `bbq-spsc`. Broken: the consumer gives a block back before it has taken the item out.
pub(crate) struct Blocks<const BROKEN: bool>([Block; N]);

impl<const BROKEN: bool> Blocks<BROKEN> {
    fn block(&self, position: u64) -> &Block {
        &self.0[position as usize % N]
    }
}

impl<const BROKEN: bool> Mechanism for Blocks<BROKEN> {
    const CAPACITY: usize = N;
    type Tx = u64;
    type Rx = u64;

    fn new() -> Self {
        Self([0, 1].map(|block: u64| {
            let at = || AtomicU64::new((block + 1).wrapping_sub(N as u64));
            Block { place: Place::empty(), committed: at(), consumed: at() }
        }))
    }

    fn push(&self, write: &mut u64, item: Ticket) -> Result<(), Ticket> {
        let (block, end) = (self.block(*write), *write + 1);
        if block.consumed.load(Acquire) != end.wrapping_sub(N as u64) {
            return Err(item);
        }
        block.place.put(item);
        *write = end;
        block.committed.store(end, Release);
        Ok(())
    }

    fn pop(&self, read: &mut u64) -> Option<Ticket> {
        let block = self.block(*read);
        // The count may be of an earlier lap.
        if block.committed.load(Acquire).wrapping_sub(*read) as i64 <= 0 {
            return None;
        }
        *read += 1;
        if BROKEN {
            block.consumed.store(*read, Release);
        }
        let item = block.place.take();
        block.consumed.store(*read, Release);
        Some(item)
    }
}
