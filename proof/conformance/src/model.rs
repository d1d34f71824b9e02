//! A queue beside its model, for random sequences of calls.

use std::collections::VecDeque;
use std::fmt;
use std::mem::forget;

use corelane::{Info, SingleConsumer, SingleProducer, TryPopError, TryPushError};

use crate::Item;
use crate::checked::surely_lent;

/// A call of one of the two handles.
///
/// Numbers are the numbers of items or slots asked for. A call of a handle that is gone does
/// nothing.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "named after the calls")]
pub enum Call {
    TryPush,
    PushSlice(usize),
    /// The iterator says its length only if `sized`.
    PushIter {
        items: usize,
        sized: bool,
    },
    WriteChunk(usize, Written),
    FreeSlots(usize),
    IsFull,
    Flush,
    DropProducer,
    TryPop,
    PopSlice(usize),
    PopIter(usize),
    ReadChunk(usize, Read),
    Available(usize),
    Len,
    IsEmpty,
    DropConsumer,
    /// Both handles' `capacity` and `is_closed`.
    Look,
}

/// The end of a chunk of slots.
#[derive(Debug, Clone, Copy)]
pub enum Written {
    /// It is dropped, which has the same effect as forgetting it.
    Dropped,
    /// At most so many slots are written and committed.
    Committed(usize),
    /// It is filled from an iterator of so many items, perhaps more than it has slots.
    Filled(usize),
}

/// The end of a chunk of items.
#[derive(Debug, Clone, Copy)]
pub enum Read {
    /// It is dropped, which has the same effect as forgetting it.
    Dropped,
    /// At most so many items are committed.
    Committed(usize),
    /// All items are committed.
    AllCommitted,
    /// At most so many items are taken by value, then the iterator is dropped with the other items.
    Taken(usize),
    /// At most so many items are taken by value, then the iterator is forgotten.
    TakenAndForgotten(usize),
}

/// The calls that only queues of `Copy` items have.
pub struct Slices<P: SingleProducer, C: SingleConsumer> {
    push: fn(&mut P, &[P::Item]) -> usize,
    pop: fn(&mut C, &mut [C::Item]) -> usize,
}

impl<T: Copy, P: SingleProducer<Item = T>, C: SingleConsumer<Item = T>> Slices<P, C> {
    /// The queue's own.
    pub fn of_queue() -> Self {
        Self { push: P::push_slice, pop: C::pop_slice }
    }
}

/// A queue that one thread uses, and its expected contents.
///
/// Unlike [`Checked`](crate::Checked), it flushes only when told to, and either handle may be
/// dropped. Each call panics if the queue's answer is wrong.
pub struct Model<P: SingleProducer, C: SingleConsumer> {
    tx: Option<P>,
    rx: Option<C>,
    slices: Option<Slices<P, C>>,
    /// Whether an item may stay invisible until a flush.
    delayed: bool,
    /// Whether the queue is never full, and allocates no memory for items that no consumer will
    /// pop.
    grows: bool,
    /// The queue lends a chunk of up to this many slots whenever as many are free.
    surely_lent: usize,
    capacity: usize,
    /// Most items that can be in the queue.
    slots: usize,
    /// Number of the next item to be made.
    next: u64,
    /// Numbers of the items in the queue, the oldest first.
    items: VecDeque<u64>,
    /// How many of these items are surely visible.
    visible: usize,
    /// How many of these items have been in a chunk. A consumer may have copied them. Then its drop
    /// drops them, and frees their slots.
    lent: usize,
    /// Slots that the queue has promised to the producer.
    granted: usize,
}

impl<P: SingleProducer, C: SingleConsumer> fmt::Debug for Slices<P, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slices").finish_non_exhaustive()
    }
}

impl<P: SingleProducer, C: SingleConsumer> fmt::Debug for Model<P, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("items", &self.items).finish_non_exhaustive()
    }
}

impl<T: Item, P: SingleProducer<Item = T>, C: SingleConsumer<Item = T>> Model<P, C> {
    /// The two handles of a new queue, which promises what `info` says.
    ///
    /// Without `slices`, calls of slices become calls of iterators.
    pub fn new((tx, rx): (P, C), info: Info, slices: Option<Slices<P, C>>) -> Self {
        let (capacity, slots) = (tx.capacity(), tx.slots());
        Self {
            tx: Some(tx),
            rx: Some(rx),
            slices,
            delayed: info.delayed,
            grows: !info.bounded,
            surely_lent: surely_lent(info),
            capacity,
            slots,
            next: 0,
            items: VecDeque::new(),
            visible: 0,
            lent: 0,
            granted: slots,
        }
    }

    /// Makes a call and checks its effect.
    pub fn call(&mut self, call: Call) {
        match call {
            Call::Look => self.look(),
            Call::DropProducer => self.drop_producer(),
            Call::DropConsumer => self.rx = None,
            call => {
                self.call_producer(call);
                self.call_consumer(call);
            }
        }
        let filled = self.filled();
        assert!(filled <= self.slots, "{filled} items of {}", self.slots);
    }

    fn call_producer(&mut self, call: Call) {
        // Taken out of the model for as long as the call lasts.
        let Some(mut tx) = self.tx.take() else { return };
        match call {
            Call::TryPush => self.try_push(&mut tx),
            Call::PushSlice(n) => self.push_slice(&mut tx, n),
            Call::PushIter { items, sized } => self.push_iter(&mut tx, items, sized),
            Call::WriteChunk(n, end) => self.write_chunk(&mut tx, n, end),
            Call::FreeSlots(n) => self.grant(tx.free_slots(n), n),
            Call::IsFull => {
                let free = usize::from(!tx.is_full());
                self.grant(free, 1);
            }
            Call::Flush => {
                tx.flush();
                self.visible = self.items.len();
            }
            _ => {}
        }
        self.tx = Some(tx);
    }

    fn call_consumer(&mut self, call: Call) {
        let Some(mut rx) = self.rx.take() else { return };
        match call {
            Call::TryPop => self.try_pop(&mut rx),
            Call::PopSlice(n) => self.pop_slice(&mut rx, n),
            Call::PopIter(n) => self.pop_iter(&mut rx, n),
            Call::ReadChunk(n, end) => self.read_chunk(&mut rx, n, end),
            Call::Available(n) => self.show(rx.available(n), n),
            Call::Len => self.show(rx.len(), usize::MAX),
            Call::IsEmpty => {
                let there = usize::from(!rx.is_empty());
                self.show(there, 1);
            }
            _ => {}
        }
        self.rx = Some(rx);
    }

    fn look(&self) {
        if let Some(tx) = &self.tx {
            assert_eq!(tx.capacity(), self.capacity);
            assert_eq!(tx.is_closed(), self.rx.is_none());
        }
        if let Some(rx) = &self.rx {
            assert_eq!(rx.capacity(), self.capacity);
            assert_eq!(rx.is_closed(), self.tx.is_none());
        }
    }

    /// The drop of a producer publishes all its items.
    fn drop_producer(&mut self) {
        self.tx = None;
        self.visible = self.items.len();
    }

    /// Slots that are not surely free.
    fn filled(&self) -> usize {
        let dropped = if self.rx.is_none() { self.lent } else { 0 };
        self.items.len() - dropped
    }

    /// Fewest slots that must be free to the producer now.
    fn free(&self) -> usize {
        if self.grows && self.rx.is_none() {
            return 0;
        }
        self.granted.max(self.capacity.saturating_sub(self.items.len()))
    }

    /// Checks the number of `wanted` slots that are said to be free. From now on as many must be
    /// free.
    fn grant(&mut self, free: usize, wanted: usize) {
        let certain = if self.grows { self.free().min(1) } else { self.free() };
        assert!(free >= wanted.min(certain), "false full: {free} free, {:?}", self.items);
        assert!(free <= wanted.min(self.slots - self.filled()), "{free} free");
        self.granted = self.granted.max(free);
    }

    /// Checks the number of `wanted` items that are said to be there. From now on as many must be
    /// visible.
    fn show(&mut self, there: usize, wanted: usize) {
        assert!(there >= wanted.min(self.visible), "false empty: {there}, {:?}", self.items);
        assert!(there <= wanted.min(self.items.len()), "{there} of {:?}", self.items);
        self.visible = self.visible.max(there);
    }

    /// The next `n` items.
    fn coming(&self, n: usize) -> impl Iterator<Item = T> + use<T, P, C> {
        (self.next..).take(n).map(T::of)
    }

    /// Notes that `made` items were made, and the first `n` of them were pushed.
    fn pushed(&mut self, n: usize, made: usize) {
        self.items.extend((self.next..).take(n));
        self.next += made as u64;
        self.granted = self.granted.saturating_sub(n);
        if !self.delayed {
            self.visible = self.items.len();
        }
    }

    /// Checks an error of a push, in a queue whose consumer may be gone.
    fn no_room<I>(&self, error: &TryPushError<I>) {
        match self.rx {
            Some(_) => assert!(matches!(error, TryPushError::Full(_)), "{error} instead of full"),
            None => assert!(matches!(error, TryPushError::Closed(_)), "{error} instead of closed"),
        }
        assert_eq!(self.free(), 0, "false full: {:?}", self.items);
    }

    /// Checks that this is the next item to be popped.
    fn popped(&mut self, item: &T) {
        let number = self.items.pop_front().expect("no more come out than went in");
        assert!(item.is(number), "item {number} is another one");
        self.visible = self.visible.saturating_sub(1);
        self.lent = self.lent.saturating_sub(1);
    }

    /// Checks an error of a pop.
    fn no_item(&self, error: TryPopError) {
        let closed = self.tx.is_none();
        assert_eq!(error, if closed { TryPopError::Closed } else { TryPopError::Empty });
        assert_eq!(self.visible, 0, "false empty: {:?}", self.items);
    }

    fn try_push(&mut self, tx: &mut P) {
        match tx.try_push(T::of(self.next)) {
            Ok(()) => return self.pushed(1, 1),
            Err(error) => {
                self.no_room(&error);
                assert!(error.into_inner().is(self.next), "another item is given back");
            }
        }
        self.pushed(0, 1);
    }

    fn push_slice(&mut self, tx: &mut P, n: usize) {
        let Some(Slices { push, .. }) = self.slices else { return self.push_iter(tx, n, true) };
        let items: Vec<T> = self.coming(n).collect();
        let done = push(tx, &items);
        self.pushed_of(done, n);
    }

    fn push_iter(&mut self, tx: &mut P, n: usize, sized: bool) {
        let mut taken = 0;
        let mut items = self.coming(n).inspect(|_| taken += 1);
        let done = match sized {
            true => tx.push_iter(items),
            false => tx.push_iter(std::iter::from_fn(|| items.next())),
        };
        assert_eq!(taken, done, "every item taken from the iterator is pushed");
        self.pushed_of(done, n);
    }

    /// Notes that `done` of `n` items were pushed: fewer than `n` only if the queue is full then.
    fn pushed_of(&mut self, done: usize, n: usize) {
        assert!(done <= n);
        self.pushed(done, done);
        assert!(done == n || self.free() == 0, "false full after {done} of {n} items");
    }

    fn write_chunk(&mut self, tx: &mut P, n: usize, end: Written) {
        let (items, free) = (self.coming(usize::MAX), self.free());
        let mut chunk = match tx.write_chunk_uninit(n) {
            Ok(chunk) => chunk,
            Err(error) => {
                assert!(n > 0, "{error} for a chunk of nothing");
                return self.no_room(&error);
            }
        };
        let len = chunk.len();
        assert!(len <= n.min(self.slots - self.filled()), "a chunk of {len} for {n}");
        assert!(len >= n.min(free).min(self.surely_lent), "a chunk of {len} for {n}");
        assert_eq!(chunk.is_empty(), len == 0);
        let done = match end {
            Written::Dropped => 0,
            Written::Committed(k) => {
                let k = k.min(len);
                let (first, second) = chunk.as_mut_slices();
                assert_eq!(first.len() + second.len(), len);
                for (slot, item) in first.iter_mut().chain(second).take(k).zip(items) {
                    slot.write(item);
                }
                // SAFETY: the first `k` slots are written.
                unsafe { chunk.commit(k) };
                k
            }
            Written::Filled(k) => {
                let done = chunk.fill_from_iter(items.take(k));
                assert_eq!(done, k.min(len));
                done
            }
        };
        self.pushed(done, done);
    }

    fn try_pop(&mut self, rx: &mut C) {
        match rx.try_pop() {
            Ok(item) => self.popped(&item),
            Err(error) => self.no_item(error),
        }
    }

    fn pop_slice(&mut self, rx: &mut C, n: usize) {
        let Some(Slices { pop, .. }) = self.slices else { return self.pop_iter(rx, n) };
        // A number that is never pushed: the slice's rest behind the popped items must not change.
        let mut items: Vec<T> = (0..n).map(|_| T::of(u64::MAX - 1)).collect();
        let done = pop(rx, &mut items);
        assert!(items[done..].iter().all(|item| item.is(u64::MAX - 1)));
        self.popped_of(items.into_iter().take(done), n);
    }

    fn pop_iter(&mut self, rx: &mut C, n: usize) {
        self.popped_of(rx.pop_iter().take(n), n);
    }

    /// Checks the popped items: `n`, or fewer only if the queue is empty then.
    fn popped_of(&mut self, items: impl Iterator<Item = T>, n: usize) {
        let done = items.map(|item| self.popped(&item)).count();
        assert!(done == n || self.visible == 0, "false empty after {done} of {n} items");
    }

    fn read_chunk(&mut self, rx: &mut C, n: usize, end: Read) {
        let chunk = match rx.read_chunk(n) {
            Ok(chunk) => chunk,
            Err(error) => {
                assert!(n > 0, "{error} for a chunk of nothing");
                return self.no_item(error);
            }
        };
        let len = chunk.len();
        self.show(len, n.min(len.max(self.surely_lent)));
        self.lent = self.lent.max(len);
        assert_eq!(chunk.is_empty(), len == 0);
        let (first, second) = chunk.as_slices();
        assert_eq!(first.len() + second.len(), len);
        for (item, &number) in first.iter().chain(second).zip(&self.items) {
            assert!(item.is(number), "item {number} of a chunk is another one");
        }
        let gone = match end {
            Read::Dropped => 0,
            Read::Committed(k) => {
                chunk.commit(k.min(len));
                k.min(len)
            }
            Read::AllCommitted => {
                chunk.commit_all();
                len
            }
            Read::Taken(k) => {
                let mut taken = chunk.into_iter();
                self.taken(&mut taken, k);
                taken.len()
            }
            Read::TakenAndForgotten(k) => {
                let mut taken = chunk.into_iter();
                self.taken(&mut taken, k);
                forget(taken);
                0
            }
        };
        self.items.drain(..gone);
        self.visible -= gone;
        self.lent -= gone;
    }

    /// Takes up to `k` items of a chunk, and checks them.
    fn taken(&mut self, chunk: &mut impl ExactSizeIterator<Item = T>, k: usize) {
        let len = chunk.len();
        let done = chunk.by_ref().take(k).map(|item| self.popped(&item)).count();
        assert_eq!((done, chunk.len()), (k.min(len), len - k.min(len)));
    }
}
