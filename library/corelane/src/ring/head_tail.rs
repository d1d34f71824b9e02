use core::fmt;

use super::mode::{Cursors, Refused, Wanted, distance};
use super::{Consumer, Mode, Producer};
use crate::memory::{AtomicU64, Ordering};
use crate::queue::{Info, Sides, TryPopError, TryPushError};
use crate::region::Run;

/// One thread of a side at a time. The calls of other threads say busy. DPDK calls this *head/tail
/// sync*.
///
/// A call never waits. A consumer can look at items before it pops any, because no other consumer
/// can take these items: [`Consumer::peek`]. A producer can take slots before its items exist, and
/// fill only some of these slots: [`Producer::claim`].
///
/// Where a call here says busy, DPDK's thread waits. DPDK's word has both positions. The word here
/// has one position, and whether a thread is in the middle of a call.
///
#[doc = advice!(literature ring_hts)]
#[derive(Debug)]
#[repr(transparent)]
pub struct HeadTail {
    word: AtomicU64,
}

/// Whether a thread is in the middle of a call; the bits above are the side's position.
const TAKEN: u64 = 1;

impl Cursors for HeadTail {
    const INFO: Info = Info {
        id: "ring-hts",
        name: "ring of one thread a side at a time",
        paper: "Wang 2024, §2.2; DPDK's HTS mode",
        sides: Sides::ManyToMany,
        guarantee: "deadlock-free FIFO",
        choose: advice!(choose ring_hts),
        avoid: advice!(avoid ring_hts),
        ..Info::RING
    };

    fn new(first: u64, _: usize) -> Self {
        Self { word: AtomicU64::new(first << 1) }
    }

    #[inline]
    fn take(&self, wanted: Wanted, end: impl Fn() -> u64) -> Result<Run, Refused> {
        loop {
            // Acquire ↔ Release in `finish`: the other side's tail that the thread before had read.
            // An older `end` would be behind the position.
            let word = self.word.load(Ordering::Acquire);
            if word & TAKEN != 0 {
                return Err(Refused::Busy);
            }
            let position = word >> 1;
            let there = distance(position, end());
            let run = Run { position, n: wanted.of(there) };
            if run.n == 0 {
                return Err(Refused::Short(Run { position, n: there }));
            }
            // Acquire as above, once more: a peek without pops leaves the same word, by another
            // store.
            let taken = word | TAKEN;
            if self.word.compare_exchange(word, taken, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return Ok(run);
            }
        }
    }

    #[inline]
    fn finish(&self, run: Run) {
        // Release ↔ Acquire in `take` and `tail`: all accesses to the slots.
        self.word.store(run.end() << 1, Ordering::Release);
    }

    #[inline]
    fn tail(&self) -> u64 {
        // Acquire ↔ Release in `finish`, also through the exchange of an unfinished call: all
        // accesses to the slots.
        self.word.load(Ordering::Acquire) >> 1
    }

    #[inline]
    fn rests_at(&self, position: u64) -> bool {
        // Relaxed: as in `InOrder`.
        let word = self.word.load(Ordering::Relaxed);
        word & TAKEN == 0 && distance(position, word >> 1) == 0
    }

    fn done(&self) -> Option<u64> {
        // Relaxed: the drop of the handles orders all their accesses before this.
        let word = self.word.load(Ordering::Relaxed);
        (word & TAKEN == 0).then_some(word >> 1)
    }
}

impl<T, C: Mode> Producer<T, HeadTail, C> {
    /// Takes up to `n` free slots, to be filled later; none if `n` is 0. Until the claim is
    /// dropped, pushes of other producers say busy.
    ///
    /// ```
    /// use corelane::ring::{self, HeadTail, InOrder};
    ///
    /// let (mut tx, mut rx) = ring::queue_in_modes::<_, HeadTail, InOrder>(4)?;
    /// let mut lines = "three\nlines\nof text".lines();
    /// let mut claimed = tx.claim(4).expect("all slots are free");
    /// while !claimed.is_full() {
    ///     let Some(line) = lines.next() else { break };
    ///     claimed.push(line).expect("there is a slot");
    /// }
    /// assert!(rx.try_pop().is_err(), "nothing is shown yet");
    /// drop(claimed);
    /// assert_eq!(rx.pop_iter().collect::<Vec<_>>(), ["three", "lines", "of text"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A claim that is dropped by a panic publishes its items too. A push into a claim doesn't say
    /// that consumers are gone.
    ///
    /// # Errors
    ///
    /// As [`try_push`](crate::Producer::try_push): full or closed if no slot is free, and busy
    /// while another producer is in the middle of a call.
    pub fn claim(&mut self, n: usize) -> Result<Claimed<'_, T, C>, TryPushError<()>> {
        let run = match n {
            0 => return Ok(Claimed { producer: self, run: None }),
            _ => self.allocate(Wanted::UpTo(n as u64)),
        };
        let run = run.map_err(|refused| self.refusal(refused, ()))?;
        Ok(Claimed { producer: self, run: Some((run, 0)) })
    }
}

/// Free slots of a queue that no other producer can take: see [`Producer::claim`].
///
/// The drop of a claim publishes all its items at once, and makes the other slots free again. If a
/// claim is forgotten, all pushes say busy for ever. The items that are in the queue when its
/// handles are gone are then never dropped.
#[must_use = "dropped at once it has kept others away for nothing"]
pub struct Claimed<'a, T, C: Mode> {
    producer: &'a mut Producer<T, HeadTail, C>,
    /// All slots, and how many of them have been filled. `None` if none were asked for.
    run: Option<(Run, u64)>,
}

impl<T, C: Mode> Claimed<'_, T, C> {
    /// Number of slots that are still free.
    pub fn free(&self) -> usize {
        self.run.map_or(0, |(run, filled)| (run.n - filled) as usize)
    }

    /// Whether no slot is free.
    pub fn is_full(&self) -> bool {
        self.free() == 0
    }

    /// Puts `item` into the next slot.
    ///
    /// # Errors
    ///
    /// The item, if all slots are filled.
    pub fn push(&mut self, item: T) -> Result<(), T> {
        let Some((run, filled)) = self.run.as_mut().filter(|(run, filled)| *filled < run.n) else {
            return Err(item);
        };
        // SAFETY: the slot's last item has been taken, and the slot is allocated to this thread
        // alone.
        unsafe { self.producer.end.slots().write(run.slot(*filled as usize), item) };
        *filled += 1;
        Ok(())
    }
}

impl<T, C: Mode> Drop for Claimed<'_, T, C> {
    fn drop(&mut self) {
        if let Some((run, filled)) = self.run {
            self.producer.end.header().producers.finish(Run { n: filled, ..run });
        }
    }
}

impl<T, C: Mode> fmt::Debug for Claimed<'_, T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claimed").field("free", &self.free()).finish_non_exhaustive()
    }
}

impl<T, P: Mode> Consumer<T, P, HeadTail> {
    /// Looks at up to `n` of the oldest items; at none if `n` is 0. Until the answer is dropped,
    /// pops of other consumers say busy.
    ///
    /// ```
    /// use corelane::ring::{self, HeadTail, InOrder};
    ///
    /// let (mut tx, mut rx) = ring::queue_in_modes::<_, InOrder, HeadTail>(8)?;
    /// tx.push_slice(&[3, 5, 8, 1]);
    /// let mut peeked = rx.peek(3)?;
    /// assert_eq!(peeked.as_slices().0, [3, 5, 8]);
    /// // Takes those that are odd, up to the first that isn't.
    /// let mut odd = Vec::new();
    /// while peeked.as_slices().0.first().is_some_and(|item| item % 2 == 1) {
    ///     odd.extend(peeked.next());
    /// }
    /// drop(peeked);
    /// assert_eq!((odd, rx.try_pop()), (vec![3, 5], Ok(8)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`try_pop`](crate::Consumer::try_pop): empty or closed if there is no item, and busy
    /// while another consumer is in the middle of a call.
    pub fn peek(&mut self, n: usize) -> Result<Peeked<'_, T, P>, TryPopError> {
        let run = match n {
            0 => return Ok(Peeked { consumer: self, run: None }),
            _ => self.reserve(Wanted::UpTo(n as u64))?,
        };
        Ok(Peeked { consumer: self, run: Some((run, 0)) })
    }
}

/// The oldest items of a queue, which no other consumer can take: see [`Consumer::peek`].
///
/// This is an iterator that pops the items. When it is dropped, the items that were not popped stay
/// in the queue. If it is forgotten, all pops say busy for ever, and the items left in the queue
/// are never dropped.
#[must_use = "dropped at once it has kept others away for nothing"]
pub struct Peeked<'a, T, P: Mode> {
    consumer: &'a mut Consumer<T, P, HeadTail>,
    /// All items, and how many of them have been popped. `None` if none were asked for.
    run: Option<(Run, u64)>,
}

impl<T, P: Mode> Peeked<'_, T, P> {
    /// The items that have not been popped.
    fn rest(&self) -> Run {
        let (run, popped) = self.run.unwrap_or((Run { position: 0, n: 0 }, 0));
        Run { position: run.slot(popped as usize), n: run.n - popped }
    }

    /// Number of items that can be popped.
    pub fn len(&self) -> usize {
        self.rest().n as usize
    }

    /// Whether no item is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// These items. The second slice is empty unless the run crosses the end of the ring. It is
    /// always empty in [mirrored](crate::Memory::Mirrored) memory.
    pub fn as_slices(&self) -> (&[T], &[T]) {
        let rest = self.rest();
        // SAFETY: the slots hold items, and are reserved to this thread until the drop; the slices
        // borrow `self`.
        unsafe { self.consumer.end.items(rest.position, rest.n as usize) }
    }
}

impl<T, P: Mode> Iterator for Peeked<'_, T, P> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let (run, popped) = self.run.as_mut()?;
        if *popped == run.n {
            return None;
        }
        let position = run.slot(*popped as usize);
        *popped += 1;
        // SAFETY: the slot holds an item, reserved to this thread, and not read before.
        Some(unsafe { self.consumer.end.slots().read(position) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl<T, P: Mode> ExactSizeIterator for Peeked<'_, T, P> {}

impl<T, P: Mode> Drop for Peeked<'_, T, P> {
    fn drop(&mut self) {
        if let Some((run, popped)) = self.run {
            self.consumer.end.header().consumers.finish(Run { n: popped, ..run });
        }
    }
}

impl<T, P: Mode> fmt::Debug for Peeked<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peeked").field("len", &self.len()).finish_non_exhaustive()
    }
}
