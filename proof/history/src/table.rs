//! A history by item, as the checks need it.

use super::Rules;
use super::log::{Log, Span, Value, Word};
use super::overwriting;
use super::witness::{Call, Operation, Violation, Witness};

/// Index of an item that is counted through all producers.
pub(super) type Id = u32;

/// A pop that gave an item.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pop {
    pub(super) id: Id,
    pub(super) span: Span,
}

/// An answer that moved nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) thread: usize,
    pub(super) span: Span,
    /// The thread's next push after a full, an index into `pushes`; its next pop after an empty, an
    /// index into `pops`.
    pub(super) next: usize,
    /// The thread's first push that is not surely visible.
    pub(super) hidden: usize,
}

/// All operations, sorted by kind. Those of one thread are in its program order.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) pushes: Vec<Span>,
    /// When each item is surely visible. Empty if that is when its push answers.
    visible: Vec<u64>,
    /// Since when each item that nobody popped may have been overwritten. Empty if none ever is.
    overwritten: Vec<u64>,
    /// Each thread's first push, and the end.
    first_push: Vec<usize>,
    pub(super) pops: Vec<Pop>,
    /// Each thread's first pop, and the end.
    first_pop: Vec<usize>,
    /// Each item's pop, an index into `pops`.
    popped_by: Vec<u32>,
    pub(super) empties: Vec<Answer>,
    pub(super) fulls: Vec<Answer>,
    pub(super) pending_pops: usize,
    /// When the first of the pops that have not returned was called.
    pending_since: u64,
}

impl Table {
    /// No pop gave the item.
    const NEVER: u32 = u32::MAX;

    /// Sorts the operations of all threads. Fails if a pop gave what can't be.
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

    /// The only thread for which there is something in its range, if there is one.
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

    /// The pop that gave an item, an index into `pops`.
    pub(super) fn pop_index(&self, id: Id) -> Option<usize> {
        let index = self.popped_by[id as usize];
        (index != Self::NEVER).then_some(index as usize)
    }

    /// The pop that gave an item.
    pub(super) fn pop(&self, id: Id) -> Option<&Pop> {
        self.pop_index(id).map(|index| &self.pops[index])
    }

    /// The thread that made a pop.
    fn consumer(&self, index: usize) -> usize {
        self.first_pop.partition_point(|&first| first <= index) - 1
    }

    /// When the push of an item began and ended.
    pub(super) fn push(&self, id: Id) -> Span {
        self.pushes[id as usize]
    }

    /// From when on an item is surely visible, until it is popped.
    pub(super) fn visible(&self, id: Id) -> u64 {
        match self.visible.get(id as usize) {
            Some(&flushed) => flushed,
            None => self.push(id).answered,
        }
    }

    /// Until when an item is surely in the queue, once it is.
    pub(super) fn stays_until(&self, id: Id) -> u64 {
        match self.pop(id) {
            Some(pop) => pop.span.invoked,
            // A pop that has not returned may have taken any item that no other pop gave.
            None => self.pending_since.min(self.overwritten_since(id)),
        }
    }

    /// Since when an item that nobody popped may have been overwritten. [`PENDING`](Span::PENDING) if it can't
    /// have been.
    pub(super) fn overwritten_since(&self, id: Id) -> u64 {
        self.overwritten.get(id as usize).copied().unwrap_or(Span::PENDING)
    }

    /// All items, sorted by some time of theirs.
    ///
    /// The sort is stable because such sorts find runs that are sorted: each producer's is.
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

    /// When an item was there to be seen, for a witness.
    pub(super) fn show_stay(&self, id: Id) -> impl Iterator<Item = Operation> {
        let push = self.show_push(id);
        let span = Span { answered: self.visible(id), ..push.span };
        let delayed = !self.visible.is_empty();
        let shown = Operation { call: Call::Show(self.value(id)), span, ..push };
        std::iter::once(if delayed { shown } else { push }).chain(self.show_pop(id))
    }

    /// What is known of an item, for a witness.
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
