//! A history, indexed by item.

use super::Rules;
use super::log::{Log, Span, Value, Word};
use super::overwriting;
use super::witness::{Call, Operation, Violation, Witness};

/// Index of an item among the items of all producers.
pub(super) type Id = u32;

/// A pop that returned an item.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pop {
    pub(super) id: Id,
    pub(super) span: Span,
}

/// A full or empty answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) thread: usize,
    pub(super) span: Span,
    /// After a full answer, the thread's next push, an index into `pushes`. After an empty answer,
    /// its next pop, an index into `pops`.
    pub(super) next: usize,
    /// The thread's first push that is not surely visible.
    pub(super) hidden: usize,
}

/// All operations, by kind. The operations of one thread are in program order.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) pushes: Vec<Span>,
    /// The time when each item is surely visible. Empty if items are visible when their pushes
    /// answer.
    visible: Vec<u64>,
    /// For each item that no consumer popped: the time from which it may have been overwritten.
    /// Empty if the queue doesn't overwrite.
    overwritten: Vec<u64>,
    /// The index of each thread's first push, and the end.
    first_push: Vec<usize>,
    pub(super) pops: Vec<Pop>,
    /// The index of each thread's first pop, and the end.
    first_pop: Vec<usize>,
    /// Each item's pop, an index into `pops`.
    popped_by: Vec<u32>,
    pub(super) empties: Vec<Answer>,
    pub(super) fulls: Vec<Answer>,
    pub(super) pending_pops: usize,
    /// The call of the first pending pop.
    pending_since: u64,
}

impl Table {
    /// No pop returned the item.
    const NEVER: u32 = u32::MAX;

    /// Sorts the operations of all threads. Fails if a pop returned a value that was never pushed,
    /// or was popped before.
    pub(super) fn new(logs: &[Log], rules: &Rules) -> Result<Self, Witness> {
        let mut table = Self { pending_since: Span::PENDING, ..Self::default() };
        for (thread, log) in logs.iter().enumerate() {
            table.first_push.push(table.pushes.len());
            table.add_pushes(thread, log, rules.delayed);
        }
        table.first_push.push(table.pushes.len());
        assert!(table.pushes.len() < Self::NEVER as usize, "the history is too long");
        table.popped_by = vec![Self::NEVER; table.pushes.len()];
        for (thread, log) in logs.iter().enumerate() {
            table.first_pop.push(table.pops.len());
            table.add_pops(thread, log)?;
        }
        table.first_pop.push(table.pops.len());
        if let Some(kept) = rules.kept {
            table.overwritten = overwriting::since(&table, kept, rules.voids);
        }
        Ok(table)
    }

    fn add_pushes(&mut self, thread: usize, log: &Log, delayed: bool) {
        let mut hidden = self.pushes.len();
        for (span, word) in log.operations() {
            match word {
                Word::Pushes(n) => self.pushes.extend((0..n).map(|_| span)),
                Word::Flush if delayed => {
                    hidden = self.pushes.len();
                    self.visible.resize(hidden, span.answered);
                }
                Word::Full => {
                    let next = self.pushes.len();
                    let hidden = if delayed { hidden } else { next };
                    self.fulls.push(Answer { thread, span, next, hidden });
                }
                _ => {}
            }
        }
        if delayed {
            self.visible.resize(self.pushes.len(), Span::PENDING);
        }
    }

    fn add_pops(&mut self, thread: usize, log: &Log) -> Result<(), Witness> {
        for (span, word) in log.operations() {
            let next = self.pops.len();
            match word {
                Word::Pop(number) => self.add_pop(thread, span, Value::of(number))?,
                Word::Empty => self.empties.push(Answer { thread, span, next, hidden: 0 }),
                Word::PopPending => {
                    self.pending_pops += 1;
                    self.pending_since = self.pending_since.min(span.invoked);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add_pop(&mut self, thread: usize, span: Span, value: Value) -> Result<(), Witness> {
        let pop = Operation { thread, call: Call::Pop(value), span };
        let Some(id) = self.id(value) else {
            return Err(Witness { violation: Violation::Fresh, operations: vec![pop] });
        };
        if let Some(earlier) = self.show_pop(id) {
            return Err(Witness { violation: Violation::Repeated, operations: vec![earlier, pop] });
        }
        self.popped_by[id as usize] = self.pops.len() as u32;
        self.pops.push(Pop { id, span });
        Ok(())
    }

    fn id(&self, value: Value) -> Option<Id> {
        let end = *self.first_push.get(value.producer + 1)?;
        let id = self.first_push[value.producer].checked_add(value.sequence as usize)?;
        (id < end).then_some(id as Id)
    }

    /// All items.
    pub(super) fn ids(&self) -> std::ops::Range<Id> {
        0..self.pushes.len() as Id
    }

    /// Pushes by this thread.
    pub(super) fn pushes_of(&self, thread: usize) -> std::ops::Range<usize> {
        self.first_push[thread]..self.first_push[thread + 1]
    }

    /// Pops by this thread.
    pub(super) fn pops_of(&self, thread: usize) -> std::ops::Range<usize> {
        self.first_pop[thread]..self.first_pop[thread + 1]
    }

    /// Threads in the history.
    pub(super) fn threads(&self) -> usize {
        self.first_push.len() - 1
    }

    /// The only thread whose range is not empty, if there is only one.
    fn only(&self, range: impl Fn(usize) -> std::ops::Range<usize>) -> Option<usize> {
        let mut busy = (0..self.threads()).filter(|&thread| !range(thread).is_empty());
        busy.next().filter(|_| busy.next().is_none())
    }

    /// The only producer, if there is one.
    pub(super) fn only_producer(&self) -> Option<usize> {
        self.only(|thread| self.pushes_of(thread))
    }

    /// Whether there is one producer and one consumer, each of which only pushes or only pops.
    pub(super) fn is_single(&self) -> bool {
        let first_empty = self.empties.first().map(|empty| empty.thread);
        let consumer = self.only(|thread| self.pops_of(thread));
        let consumer = if self.pops.is_empty() { first_empty } else { consumer };
        self.only_producer().is_some_and(|producer| {
            consumer.is_some_and(|consumer| {
                producer != consumer
                    && self.empties.iter().all(|empty| empty.thread == consumer)
                    && self.fulls.iter().all(|full| full.thread == producer)
            })
        })
    }

    /// The thread that pushed an item.
    pub(super) fn producer(&self, id: Id) -> usize {
        self.first_push.partition_point(|&first| first <= id as usize) - 1
    }

    /// The pop that returned an item, an index into `pops`.
    pub(super) fn pop_index(&self, id: Id) -> Option<usize> {
        let index = self.popped_by[id as usize];
        (index != Self::NEVER).then_some(index as usize)
    }

    /// The pop that returned an item.
    pub(super) fn pop(&self, id: Id) -> Option<&Pop> {
        self.pop_index(id).map(|index| &self.pops[index])
    }

    /// The thread that made a pop.
    fn consumer(&self, index: usize) -> usize {
        self.first_pop.partition_point(|&first| first <= index) - 1
    }

    /// The interval of an item's push.
    pub(super) fn push(&self, id: Id) -> Span {
        self.pushes[id as usize]
    }

    /// The time from which an item is surely visible, until it is popped.
    pub(super) fn visible(&self, id: Id) -> u64 {
        match self.visible.get(id as usize) {
            Some(&flushed) => flushed,
            None => self.push(id).answered,
        }
    }

    /// The time until which a visible item is surely in the queue.
    pub(super) fn stays_until(&self, id: Id) -> u64 {
        match self.pop(id) {
            Some(pop) => pop.span.invoked,
            // A pending pop may have taken any item that no other pop returned.
            None => self.pending_since.min(self.overwritten_since(id)),
        }
    }

    /// The time from which an item that no consumer popped may have been overwritten.
    /// [`PENDING`](Span::PENDING) if it can't have been.
    pub(super) fn overwritten_since(&self, id: Id) -> u64 {
        self.overwritten.get(id as usize).copied().unwrap_or(Span::PENDING)
    }

    /// All items, sorted by one of their times.
    ///
    /// The sort is stable, because stable sorts find sorted runs: each producer's items are one.
    pub(super) fn sorted_by(&self, time: impl Fn(Id) -> u64) -> Vec<Id> {
        let mut ids: Vec<Id> = self.ids().collect();
        ids.sort_by_key(|&id| time(id));
        ids
    }

    /// The item's identity.
    pub(super) fn value(&self, id: Id) -> Value {
        let producer = self.producer(id);
        Value { producer, sequence: (id as usize - self.first_push[producer]) as u64 }
    }

    /// An item's push, for a witness.
    pub(super) fn show_push(&self, id: Id) -> Operation {
        let thread = self.producer(id);
        Operation { thread, call: Call::Push(self.value(id)), span: self.push(id) }
    }

    /// An item's pop, for a witness.
    pub(super) fn show_pop(&self, id: Id) -> Option<Operation> {
        let index = self.pop_index(id)?;
        let (thread, span) = (self.consumer(index), self.pops[index].span);
        Some(Operation { thread, call: Call::Pop(self.value(id)), span })
    }

    /// The operations between which an item was visible, for a witness.
    pub(super) fn show_stay(&self, id: Id) -> impl Iterator<Item = Operation> {
        let push = self.show_push(id);
        let span = Span { answered: self.visible(id), ..push.span };
        let delayed = !self.visible.is_empty();
        let shown = Operation { call: Call::Show(self.value(id)), span, ..push };
        std::iter::once(if delayed { shown } else { push }).chain(self.show_pop(id))
    }

    /// All operations of an item, for a witness.
    pub(super) fn show(&self, id: Id) -> impl Iterator<Item = Operation> {
        std::iter::once(self.show_push(id)).chain(self.show_pop(id))
    }
}

impl Answer {
    /// An empty answer, for a witness.
    pub(super) fn show_empty(&self) -> Operation {
        Operation { thread: self.thread, call: Call::Empty, span: self.span }
    }

    /// A full answer, for a witness.
    pub(super) fn show_full(&self) -> Operation {
        Operation { thread: self.thread, call: Call::Full, span: self.span }
    }
}
