use super::mode::{Cursors, Refused, Wanted, distance};
use crate::memory::{AtomicU64, Ordering, pause};
use crate::queue::{Info, Sides};
use crate::region::Run;

/// Threads of a side finish in the order in which they began: a later thread waits for all earlier
/// ones.
#[derive(Debug)]
#[repr(C)]
pub struct InOrder {
    /// Behind all slots that have been taken.
    head: AtomicU64,
    /// Behind all slots that have been filled, or emptied.
    tail: AtomicU64,
}

impl Cursors for InOrder {
    const INFO: Info = Info {
        id: "ring",
        name: "plain ring with heads and tails",
        paper: "Wang 2024, §2.2, Fig. 2.1",
        sides: Sides::ManyToMany,
        guarantee: "deadlock-free FIFO",
        choose: advice!(choose ring),
        avoid: advice!(avoid ring),
        takes_turns: true,
        ..Info::RING
    };
    fn new(first: u64, _: usize) -> Self {
        Self { head: AtomicU64::new(first), tail: AtomicU64::new(first) }
    }

    #[inline]
    fn take(&self, wanted: Wanted, end: impl Fn() -> u64) -> Result<Run, Refused> {
        // Acquire ↔ Release of the exchange: the other side's tail that allowed earlier threads to
        // take slots. An older `end` would be behind `head`, or hide slots that another thread of
        // this side knows.
        let mut position = self.head.load(Ordering::Acquire);
        loop {
            let there = distance(position, end());
            let run = Run { position, n: wanted.of(there) };
            if run.n == 0 {
                return Err(Refused::Short(Run { position, n: there }));
            }
            // Release and Acquire ↔ the load above. Fails if `position` is outdated, for any number
            // of slots that seem to be there.
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
        // Acquire ↔ Release below, of the thread before: its accesses, since this thread's store
        // publishes its slots as well.
        while self.tail.load(Ordering::Acquire) != run.position {
            pause(1);
        }
        // Release ↔ Acquire above and in `tail`: all accesses to the slots.
        self.tail.store(run.end(), Ordering::Release);
    }

    #[inline]
    fn tail(&self) -> u64 {
        // Acquire ↔ Release in `finish`: all accesses to the slots.
        self.tail.load(Ordering::Acquire)
    }

    #[inline]
    fn rests_at(&self, position: u64) -> bool {
        // Relaxed: any other value means no. A thread that knows of a call sees that call's `head`
        // here, or a later one.
        let is_at = |cursor: &AtomicU64| distance(position, cursor.load(Ordering::Relaxed)) == 0;
        is_at(&self.tail) && is_at(&self.head)
    }

    fn done(&self) -> Option<u64> {
        // Relaxed: the drop of the handles orders all their accesses before this.
        Some(self.tail.load(Ordering::Relaxed))
    }
}
