use super::mode::{Cursors, Refused, Wanted, distance};
use crate::memory::{AtomicU64, Ordering, pause};
use crate::queue::{Info, Sides};
use crate::region::Run;

/// Threads of a side are done in the order in which they began, and wait for that.
#[derive(Debug)]
#[repr(C)]
pub struct InOrder {
    /// Behind all slots that have been taken.
    head: AtomicU64,
    /// Behind all slots that are done with.
    tail: AtomicU64,
}

impl Cursors for InOrder {
    const INFO: Info = Info {
        id: "ring",
        name: "plain ring with heads and tails",
        paper: "Wang 2024, §2.2, Fig. 2.1",
        sides: Sides::ManyToMany,
        guarantee: "deadlock-free FIFO",
        choose: "to compare: the ring that many systems have; every slot counts",
        avoid: "threads may be stopped in the middle, or there are many",
        takes_turns: true,
        ..Info::RING
    };
    fn new(first: u64, _: usize) -> Self {
        Self { head: AtomicU64::new(first), tail: AtomicU64::new(first) }
    }

    #[inline]
    fn take(&self, wanted: Wanted, end: impl Fn() -> u64) -> Result<Run, Refused> {
        // Acquire ↔ Release of the exchange: a thread that sees slots taken sees that they were there to be taken. An
        // older `end` would be behind `head`, or hide what another thread of this side knows to be there.
        let mut position = self.head.load(Ordering::Acquire);
        loop {
            let there = distance(position, end());
            let run = Run { position, n: wanted.of(there) };
            if run.n == 0 {
                return Err(Refused::Short(Run { position, n: there }));
            }
            // Release and acquire pair with the load above. Not if `position` is outdated, however many slots
            // there seem to be.
            match self.head.compare_exchange(
                position,
                run.end(),
                Ordering::Release,
                Ordering::Acquire,
            ) {
                Ok(_) => return Ok(run),
                Err(found) => position = found,
            }
        }
    }

    #[inline]
    fn finish(&self, run: Run) {
        // Acquire pairs with the store of the thread before: with these slots its own are shown as well.
        while self.tail.load(Ordering::Acquire) != run.position {
            pause(1);
        }
        // Release pairs with the load above and that in `tail`: what was done with the slots is visible.
        self.tail.store(run.end(), Ordering::Release);
    }

    #[inline]
    fn tail(&self) -> u64 {
        // Acquire pairs with the store in `finish`: the slots are done with.
        self.tail.load(Ordering::Acquire)
    }

    #[inline]
    fn rests_at(&self, position: u64) -> bool {
        // Relaxed: any other value says no. And where a thread knows of a call, by itself or by another's word, it
        // sees that call's `head` or a later one here.
        let is_at = |cursor: &AtomicU64| distance(position, cursor.load(Ordering::Relaxed)) == 0;
        is_at(&self.tail) && is_at(&self.head)
    }

    fn done(&self) -> Option<u64> {
        // Relaxed: dropping the handles has ordered what they did before this.
        Some(self.tail.load(Ordering::Relaxed))
    }
}
