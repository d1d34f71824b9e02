use core::fmt;

use super::mode::{Cursors, Refused, Wanted, distance};
use super::{Consumer, Mode, Producer};
use crate::memory::{AtomicU64, Ordering};
use crate::queue::{Info, Sides, TryPopError, TryPushError};
use crate::region::Run;

/// One thread of a side at a time, and others are told busy: DPDK's *head/tail sync*.
///
/// A call never waits. Since nobody else takes what a consumer looks at, it can look first and take then:
/// [`Consumer::peek`]. And a producer can take slots first, and make the items then, as many as it turns out to have:
/// [`Producer::claim`].
///
/// DPDK's threads wait where these are told busy; and its word has both positions, where this has one and whether
/// somebody is in the middle.
#[derive(Debug)]
#[repr(transparent)]
pub struct HeadTail {
    word: AtomicU64,
}

/// Whether somebody is in the middle; the bits above are the position that the side has come to.
const TAKEN: u64 = 1;

impl Cursors for HeadTail {
    const INFO: Info = Info {
        id: "ring-hts",
        name: "ring of one thread a side at a time",
        paper: "Wang 2024, §2.2; DPDK's HTS mode",
        sides: Sides::ManyToMany,
        guarantee: "deadlock-free FIFO",
        choose: "to look at items before they are taken, several consumers notwithstanding; to compare",
        avoid: "many threads push or pop at once",
        ..Info::RING
    };

    fn new(first: u64, _: usize) -> Self {
        Self { word: AtomicU64::new(first << 1) }
    }

    #[inline]
    fn take(&self, wanted: Wanted, end: impl Fn() -> u64) -> Result<Run, Refused> {
        loop {
            // Acquire pairs with the store in `finish`: what was there for the thread before is there for this one,
            // or an older `end` would be behind the position.
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
            // Acquire as above, once more: a peek that took nothing leaves the same word, of another store.
            let taken = word | TAKEN;
            if self.word.compare_exchange(word, taken, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return Ok(run);
            }
        }
    }

    #[inline]
    fn finish(&self, run: Run) {
        // Release pairs with the loads in `take` and `tail`: what was done with the slots is visible.
        self.word.store(run.end() << 1, Ordering::Release);
    }

    #[inline]
    fn tail(&self) -> u64 {
        // Acquire ↔ Release in `finish`, also through the exchange of a thread in the middle: the slots are done with.
        self.word.load(Ordering::Acquire) >> 1
    }

    #[inline]
    fn rests_at(&self, position: u64) -> bool {
        // Relaxed: as in `InOrder`.
        let word = self.word.load(Ordering::Relaxed);
        word & TAKEN == 0 && distance(position, word >> 1) == 0
    }

    fn done(&self) -> Option<u64> {
        // Relaxed: dropping the handles has ordered what they did before this.
        let word = self.word.load(Ordering::Relaxed);
        (word & TAKEN == 0).then_some(word >> 1)
    }
}

impl<T, C: Mode> Producer<T, HeadTail, C> {
    /// Takes up to `n` free slots, for items to come; none, if `n` is 0. Until the answer is dropped other producers are
    /// told busy.
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
    /// Also if a panic drops the answer, what was pushed is shown. Pushing into it doesn't tell that consumers are gone.
    ///
    /// # Errors
    ///
    /// As [`try_push`](crate::Producer::try_push): full or closed if not one slot is free, and busy while another
    /// producer is in the middle of a call.
    pub fn claim(&mut self, n: usize) -> Result<Claimed<'_, T, C>, TryPushError<()>> {
        let run = match n {
            0 => return Ok(Claimed { producer: self, run: None }),
            _ => self.allocate(Wanted::UpTo(n as u64)),
        };
        let run = run.map_err(|refused| self.refusal(refused, ()))?;
        Ok(Claimed { producer: self, run: Some((run, 0)) })
    }
}

/// Free slots of a queue, which nobody else can take: see [`Producer::claim`].
///
/// When it is dropped what was pushed is shown, all at once, and the other slots are free again. If it is forgotten all
/// producers are told busy for ever, and what is in the queue when its handles are gone is never dropped.
#[must_use = "dropped at once it has kept others away for nothing"]
pub struct Claimed<'a, T, C: Mode> {
    producer: &'a mut Producer<T, HeadTail, C>,
    /// All of them, and how many have been filled. Nothing if none were asked for.
    run: Option<(Run, u64)>,
}

impl<T, C: Mode> Claimed<'_, T, C> {
    /// Number of slots that are still free.
    pub fn free(&self) -> usize {
        self.run.map_or(0, |(run, filled)| (run.n - filled) as usize)
    }

    /// Whether none is.
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
        // SAFETY: the slot's last item has been taken, and it was allocated to this thread alone.
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
    /// Looks at up to `n` of the oldest items; at none, if `n` is 0. Until the answer is dropped other consumers are
    /// told busy.
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
    /// As [`try_pop`](crate::Consumer::try_pop): empty or closed if not one item is there, and busy while another
    /// consumer is in the middle of a call.
    pub fn peek(&mut self, n: usize) -> Result<Peeked<'_, T, P>, TryPopError> {
        let run = match n {
            0 => return Ok(Peeked { consumer: self, run: None }),
            _ => self.reserve(Wanted::UpTo(n as u64))?,
        };
        Ok(Peeked { consumer: self, run: Some((run, 0)) })
    }
}

/// The oldest items of a queue, which nobody else can take: see [`Consumer::peek`].
///
/// As an iterator it pops them. When it is dropped the others stay where they are. If it is forgotten all consumers
/// are told busy for ever, and what is left in the queue is never dropped.
#[must_use = "dropped at once it has kept others away for nothing"]
pub struct Peeked<'a, T, P: Mode> {
    consumer: &'a mut Consumer<T, P, HeadTail>,
    /// All of them, and how many have been popped. Nothing if none were asked for.
    run: Option<(Run, u64)>,
}

impl<T, P: Mode> Peeked<'_, T, P> {
    /// Those that have not been popped.
    fn rest(&self) -> Run {
        let (run, popped) = self.run.unwrap_or((Run { position: 0, n: 0 }, 0));
        Run { position: run.slot(popped as usize), n: run.n - popped }
    }

    /// Number of items that can be popped.
    pub fn len(&self) -> usize {
        self.rest().n as usize
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// These items. The second slice is empty unless the run goes over the end of the ring, and always in
    /// [mirrored](crate::Memory::Mirrored) memory.
    pub fn as_slices(&self) -> (&[T], &[T]) {
        let rest = self.rest();
        // SAFETY: the items are there, and reserved to this thread until the drop; the slices borrow `self`.
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
        // SAFETY: the item is there, reserved to this thread, and not read before.
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
