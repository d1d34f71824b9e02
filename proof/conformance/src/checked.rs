//! A queue that knows its expected contents.

use std::fmt::Debug;
use std::mem::replace;

use corelane::{
    Config, Consumer, Info, Producer, SingleConsumer, SingleProducer, TooFew, TryPopError,
    TryPushError, WriteChunk,
};

use crate::inside::Inside;
use crate::{Item, Subject};

/// A queue that one thread uses. It knows the right answer of every call.
///
/// The items are numbered in the order in which they are pushed. Every call compares the queue's
/// answer with the right answer, and panics if they differ.
#[derive(Debug)]
pub struct Checked<P, C> {
    /// The sending side.
    pub tx: P,
    /// The receiving side.
    pub rx: C,
    pushed: u64,
    popped: u64,
    /// The items of a relaxed queue.
    inside: Option<Inside>,
    /// See [`surely_lent`].
    surely_lent: usize,
    /// Items that a ring holds, for lists of rings.
    ring: usize,
    info: Info,
}

/// A bounded queue lends as many slots as are asked for whenever as many are free; an unbounded
/// queue 1, as the rest of a group may be a single slot.
pub(crate) const fn surely_lent(info: Info) -> usize {
    if info.bounded { usize::MAX } else { 1 }
}

impl<P, C: Consumer> Checked<P, C> {
    /// A new queue.
    pub fn open(subject: &Subject<P, C>, config: Config) -> Self {
        let (tx, rx) = subject.open(config);
        let ring = config.capacity.saturating_add(64);
        let info = subject.info;
        let inside = info.relaxed.then(|| Inside::new(rx.relaxation()));
        Self { tx, rx, pushed: 0, popped: 0, inside, surely_lent: surely_lent(info), ring, info }
    }
}

/// Notes that `item` was popped, and checks that it is the next one, or one of the next ones of a
/// relaxed queue.
fn note_popped<T: Item>(item: &T, popped: &mut u64, inside: Option<&mut Inside>) {
    match inside {
        Some(inside) => inside.pop(item),
        None => assert!(item.is(*popped), "item {popped} is another one"),
    }
    *popped += 1;
}

impl<T: Item, P: Producer<Item = T>, C: Consumer<Item = T>> Checked<P, C> {
    /// Items in the queue.
    pub fn len(&self) -> usize {
        (self.pushed - self.popped) as usize
    }

    /// Whether the queue has no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items that surely fit: the queue's capacity.
    pub fn capacity(&self) -> usize {
        self.tx.capacity()
    }

    /// Most items that can be in the queue.
    pub fn slots(&self) -> usize {
        self.tx.slots()
    }

    /// Fewest items of a queue that says full.
    pub fn fewest_if_full(&self) -> usize {
        if self.info.relaxed { self.capacity() } else { self.slots() }
    }

    /// Fewest slots that must be free to the producer now.
    fn promised(&self) -> usize {
        self.capacity().saturating_sub(self.len())
    }

    /// Notes that `n` items were pushed.
    fn note_pushed(&mut self, n: usize) {
        self.tx.flush();
        if let Some(inside) = &mut self.inside {
            (self.pushed..).take(n).for_each(|number| inside.push(number));
        }
        self.pushed += n as u64;
        assert!(self.len() <= self.slots(), "{} items of {}", self.len(), self.slots());
    }

    /// The items to be pushed next.
    fn coming(&self) -> impl Iterator<Item = T> + use<T, P, C> {
        (self.pushed..).map(T::of)
    }

    /// Compares the counts of both handles with what must be the case.
    pub fn count(&mut self) {
        let len = self.len();
        let [more, more_sent] = match self.info.algorithm() {
            "lprq" | "lcrq" | "lcrq-pool" => [10, 10],
            "uspsc" => [0, 2 * self.ring],
            _ if self.info.bounded => [0, self.slots() - self.capacity()],
            _ => [0, 0],
        };
        let counted = self.rx.len();
        assert!((len..=len + more).contains(&counted), "{counted} items, not {len}");
        assert_eq!(self.rx.is_empty(), len == 0);
        let sent = self.tx.len();
        assert!((len..=len + more_sent).contains(&sent), "{sent} items sent, not {len}");
        assert_eq!(self.tx.is_empty(), sent == 0);
    }

    /// Pushes the next item, unless the producer's `is_full` says that there may be no room.
    /// Returns whether it was pushed.
    pub fn push_if_not_full(&mut self) -> bool {
        if !self.tx.is_full() {
            assert!(self.push(), "full, though it said that there was room");
            return true;
        }
        assert!(self.len() >= self.capacity() || !self.push(), "room, though it said full");
        false
    }

    /// Pushes the next item. `false` if the queue is full.
    pub fn push(&mut self) -> bool {
        match self.tx.try_push(T::of(self.pushed)) {
            Ok(()) => self.note_pushed(1),
            Err(TryPushError::Full(item)) => {
                assert!(item.is(self.pushed), "another item was given back");
                assert_eq!(self.promised(), 0, "false full with {} items", self.len());
                return false;
            }
            Err(other) => panic!("{other} instead of full"),
        }
        true
    }

    /// Pops the next item. `false` if the queue is empty.
    pub fn pop(&mut self) -> bool {
        match self.rx.try_pop() {
            Ok(item) => note_popped(&item, &mut self.popped, self.inside.as_mut()),
            Err(error) => {
                assert_eq!(error, TryPopError::Empty);
                assert_eq!(self.len(), 0, "false empty");
                return false;
            }
        }
        true
    }

    /// Pushes until the queue is full, and returns the number of items.
    pub fn fill(&mut self) -> usize {
        (0..).take_while(|_| self.push()).count()
    }

    /// Pops until the queue is empty, and returns the number of items.
    pub fn drain(&mut self) -> usize {
        (0..).take_while(|_| self.pop()).count()
    }

    /// Advances both sides by `n` items, one at a time.
    pub fn turn(&mut self, n: usize) {
        for _ in 0..n {
            assert!(self.push() && self.pop());
        }
    }

    /// Pops up to `n` items through the iterator, and returns the number of items.
    pub fn pop_iter(&mut self, n: usize) -> usize {
        let expected = n.min(self.len());
        let mut done = 0;
        for item in self.rx.pop_iter().take(n) {
            note_popped(&item, &mut self.popped, self.inside.as_mut());
            done += 1;
        }
        assert_eq!(done, expected);
        done
    }
}

impl<T: Item, P: SingleProducer<Item = T>, C: SingleConsumer<Item = T>> Checked<P, C> {
    /// Asks for a chunk of `n` slots, writes all of them and commits at most `k`. Returns the
    /// number of committed slots.
    pub fn write_chunk(&mut self, n: usize, k: usize) -> usize {
        let (promised, free) = (self.promised(), self.tx.free_slots(n));
        let coming = self.coming();
        let mut chunk = match self.tx.write_chunk_uninit(n) {
            Ok(chunk) => chunk,
            Err(error) => {
                assert!(matches!(error, TryPushError::Full(())), "{error} instead of full");
                assert!(n > 0 && promised == 0, "false full for a chunk");
                return 0;
            }
        };
        let len = chunk.len();
        assert!(len <= n && len <= free, "a chunk of {len} for {n}, {free} free");
        assert!(len >= n.min(free).min(self.surely_lent), "a chunk of {len} for {n}, {free} free");
        assert_eq!(chunk.is_empty(), len == 0);
        let (first, second) = chunk.as_mut_slices();
        assert_eq!(first.len() + second.len(), len);
        for (slot, item) in first.iter_mut().chain(second).zip(coming) {
            slot.write(item);
        }
        let k = k.min(len);
        // SAFETY: all slots of the chunk are written.
        unsafe { chunk.commit(k) };
        self.note_pushed(k);
        k
    }

    /// Asks for a chunk of `n` items, checks all of them and commits at most `k`. Returns the
    /// number of committed items.
    pub fn read_chunk(&mut self, n: usize, k: usize) -> usize {
        let expected = n.min(self.len());
        let chunk = match self.rx.read_chunk(n) {
            Ok(chunk) => chunk,
            Err(error) => {
                assert_eq!(error, TryPopError::Empty);
                assert!(n > 0 && expected == 0, "false empty for a chunk");
                return 0;
            }
        };
        let len = chunk.len();
        assert!(len <= expected, "a chunk of {len} for {n}, {expected} items there");
        assert!(
            len >= expected.min(self.surely_lent),
            "a chunk of {len} for {n}, {expected} there"
        );
        assert_eq!(chunk.is_empty(), len == 0);
        let (first, second) = chunk.as_slices();
        assert_eq!(first.len() + second.len(), len);
        for (item, number) in first.iter().chain(second).zip(self.popped..) {
            assert!(item.is(number), "item {number} of a chunk is another one");
        }
        let k = k.min(len);
        chunk.commit(k);
        self.popped += k as u64;
        k
    }

    /// Pops a chunk of exactly `n` items.
    ///
    /// # Errors
    ///
    /// If there is no such chunk: the length of the longest chunk there is.
    pub fn read_chunk_exact(&mut self, n: usize) -> Result<(), usize> {
        let expected = n.min(self.len());
        let chunk = match self.rx.read_chunk_exact(n) {
            Ok(chunk) => chunk,
            Err(TooFew { len, closed, .. }) => {
                assert!(!closed && len < n && len <= expected, "{len} of {n}, {expected} there");
                assert!(len >= expected.min(self.surely_lent), "{len} of {n}, {expected} there");
                return Err(len);
            }
        };
        assert!(chunk.len() == n && n == expected, "a chunk of {} for {n}", chunk.len());
        let (first, second) = chunk.as_slices();
        for (item, number) in first.iter().chain(second).zip(self.popped..) {
            assert!(item.is(number), "item {number} of a chunk is another one");
        }
        chunk.commit_all();
        self.popped += n as u64;
        Ok(())
    }

    /// Takes a chunk of `n` items by value, but only the first `k` of them: the others are dropped.
    /// Returns how many items have left the queue.
    pub fn take_chunk(&mut self, n: usize, k: usize) -> usize {
        let Ok(chunk) = self.rx.read_chunk(n) else { return 0 };
        let len = chunk.len();
        let mut items = chunk.into_iter();
        assert_eq!(items.len(), len);
        for (item, number) in items.by_ref().take(k).zip(self.popped..) {
            assert!(item.is(number), "item {number} of a chunk is another one");
        }
        assert_eq!(items.len(), len.saturating_sub(k));
        drop(items);
        self.popped += len as u64;
        len
    }

    /// Pushes up to `n` items from an iterator, which says its length only if `sized`. Returns the
    /// number of pushed items.
    pub fn push_iter(&mut self, n: usize, sized: bool) -> usize {
        let mut taken = 0;
        let mut items = self.coming().take(n).inspect(|_| taken += 1);
        let done = match sized {
            true => self.tx.push_iter(items),
            false => self.tx.push_iter(std::iter::from_fn(|| items.next())),
        };
        assert_eq!(taken, done, "every item taken from the iterator is pushed");
        self.note_pushed(done);
        assert!(done == n || self.promised() == 0, "false full after {done} of {n} items");
        done
    }

    /// Compares all observers with the expected contents.
    pub fn observe(&mut self) {
        let len = self.len();
        assert_eq!(self.rx.capacity(), self.capacity());
        assert_eq!(self.rx.len(), len);
        assert_eq!(self.rx.is_empty(), len == 0);
        for wanted in [0, 1, 2, len, len + 1, usize::MAX] {
            assert_eq!(self.rx.available(wanted), wanted.min(len));
        }
        let free = self.tx.free_slots(usize::MAX);
        // A queue that lends the items of one group counts only these.
        let most = if self.surely_lent > 1 { usize::MAX } else { 1 };
        assert!(free >= self.promised().min(most), "false full: {free} free, {len} items");
        assert!(free <= self.slots() - len, "{free} free, {len} items");
        for wanted in [0, 1, 2, free, free + 1, usize::MAX] {
            let counted = self.tx.free_slots(wanted);
            // If as many slots are wanted as another group has, that group's slots are counted.
            let grows = self.surely_lent == 1 && counted <= wanted.min(self.slots() - len);
            assert!(counted == wanted.min(free) || grows && counted >= wanted.min(free));
        }
        assert_eq!(self.tx.is_full(), free == 0);
    }
}

/// Writes `items` into the front of a chunk that must hold default items.
fn write_over_defaults<T, P>(chunk: &mut WriteChunk<'_, P>, items: impl Iterator<Item = T>)
where
    T: Copy + Default + PartialEq + Debug,
    P: SingleProducer<Item = T>,
{
    let len = chunk.len();
    let (first, second) = chunk.as_mut_slices();
    assert_eq!(first.len() + second.len(), len);
    for (slot, item) in first.iter_mut().chain(second).zip(items) {
        assert_eq!(replace(slot, item), T::default());
    }
}

impl<T, P: SingleProducer<Item = T>, C: Consumer<Item = T>> Checked<P, C>
where
    T: Item + Copy + Default + PartialEq + Debug,
{
    /// As [`write_chunk`](Self::write_chunk), with slots that hold default items.
    pub fn write_over_defaults(&mut self, n: usize, k: usize) -> usize {
        let (promised, free) = (self.promised(), self.tx.free_slots(n));
        let coming = self.coming();
        let Ok(mut chunk) = self.tx.write_chunk(n) else {
            assert!(n > 0 && promised == 0, "false full for a chunk");
            return 0;
        };
        let len = chunk.len();
        assert!(len <= n && len <= free, "a chunk of {len} for {n}, {free} free");
        assert!(len >= n.min(free).min(self.surely_lent), "a chunk of {len} for {n}, {free} free");
        assert_eq!(chunk.is_empty(), len == 0);
        write_over_defaults(&mut chunk, coming);
        let k = k.min(len);
        chunk.commit(k);
        self.note_pushed(k);
        k
    }

    /// Pushes a chunk of exactly `n` items.
    ///
    /// # Errors
    ///
    /// If there is no room for such a chunk: the length of the longest chunk that has room.
    pub fn write_chunk_exact(&mut self, n: usize) -> Result<(), usize> {
        let (free, coming) = (self.tx.free_slots(n), self.coming());
        let mut chunk = match self.tx.write_chunk_exact(n) {
            Ok(chunk) => chunk,
            Err(TooFew { len, closed, .. }) => {
                assert!(!closed && len < n && len <= free, "{len} of {n}, {free} free");
                assert!(len >= free.min(self.surely_lent), "{len} of {n}, {free} free");
                return Err(len);
            }
        };
        assert!(chunk.len() == n && n == free, "a chunk of {} for {n}", chunk.len());
        write_over_defaults(&mut chunk, coming);
        chunk.commit_all();
        self.note_pushed(n);
        Ok(())
    }
}

impl<T: Item + Copy, P: Producer<Item = T>, C: Consumer<Item = T>> Checked<P, C> {
    /// Pushes up to `n` items from a slice, and returns the number of pushed items.
    pub fn push_slice(&mut self, n: usize) -> usize {
        let items: Vec<T> = self.coming().take(n).collect();
        let done = self.tx.push_slice(&items);
        assert!(done <= n);
        self.note_pushed(done);
        assert!(done == n || self.promised() == 0, "false full after {done} of {n} items");
        done
    }

    /// Pops up to `n` items into a slice, and returns the number of popped items.
    pub fn pop_slice(&mut self, n: usize) -> usize {
        // A number that is never pushed: the slice's rest behind the popped items must not change.
        let mut items = vec![T::of(u64::MAX - 1); n];
        let done = self.rx.pop_slice(&mut items);
        assert_eq!(done, n.min(self.len()));
        for item in &items[..done] {
            note_popped(item, &mut self.popped, self.inside.as_mut());
        }
        assert!(items[done..].iter().all(|item| item.is(u64::MAX - 1)));
        done
    }
}
