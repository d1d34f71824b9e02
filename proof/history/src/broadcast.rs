//! Broadcasts: each consumer gets each item, or is told how many items it has missed.

use std::ops::RangeInclusive;

use super::History;
use super::log::{Log, Span, Value, Word};
use super::witness::{Call, Operation, Violation, Witness};

/// The pushes of all threads.
struct Pushes {
    /// Those of each thread.
    of: Vec<Vec<Span>>,
    /// The times of all calls, sorted.
    called: Vec<u64>,
    /// The times of all answers, sorted.
    answered: Vec<u64>,
}

impl Pushes {
    fn new(logs: &[Log]) -> Self {
        let of_thread = |log: &Log| {
            let pushes = log.operations().flat_map(|(span, word)| match word {
                Word::Pushes(n) => vec![span; n as usize],
                _ => Vec::new(),
            });
            pushes.collect()
        };
        let of: Vec<Vec<Span>> = logs.iter().map(of_thread).collect();
        let all = || of.iter().flatten();
        let mut called: Vec<_> = all().map(|push| push.invoked).collect();
        let mut answered: Vec<_> = all().map(|push| push.answered).collect();
        called.sort();
        answered.sort();
        Self { of, called, answered }
    }

    fn get(&self, value: Value) -> Option<Span> {
        self.of.get(value.producer)?.get(value.sequence as usize).copied()
    }

    /// How many pushes were answered before this call, at least.
    fn answered_before(&self, time: u64) -> usize {
        self.answered.partition_point(|&answered| answered < time)
    }

    /// How many pushes were called before this answer, at most.
    fn called_by(&self, time: u64) -> usize {
        self.called.partition_point(|&called| called <= time)
    }

    /// How many pushes precede the one of this value, which is there.
    fn preceding(&self, value: Value, push: Span) -> RangeInclusive<usize> {
        let (own, older) = (&self.of[value.producer], value.sequence as usize);
        // The thread's own pushes are known from their order, and not from the clock.
        let own_answered = own.partition_point(|other| other.answered < push.invoked);
        let own_called = own.partition_point(|other| other.invoked <= push.answered);
        let least = self.answered_before(push.invoked) - own_answered + older;
        let most = self.called_by(push.answered) - own_called + older;
        least..=most
    }

    fn show(&self, value: Value) -> Option<Operation> {
        let span = self.get(value)?;
        Some(Operation { thread: value.producer, call: Call::Push(value), span })
    }
}

/// An item of the one order, and the first pop that found it there.
#[derive(Clone, Copy)]
struct Found {
    value: Value,
    push: Span,
    pop: Operation,
}

/// How far a consumer is in the order.
struct Progress<'a> {
    pushes: &'a Pushes,
    capacity: usize,
    order: &'a mut Vec<Option<Found>>,
    /// Items that the consumer has got and missed.
    position: usize,
}

/// Checks the history of a broadcast that keeps the last `capacity` items.
///
/// The [crate](super) says what this proves.
pub(super) fn check(history: &History, capacity: usize) -> Result<(), Witness> {
    let pushes = Pushes::new(&history.logs);
    let mut order = Vec::new();
    for (thread, log) in history.logs.iter().enumerate() {
        let mut progress = Progress { pushes: &pushes, capacity, order: &mut order, position: 0 };
        let mut last = None;
        for (span, word) in log.operations() {
            let call = match word {
                Word::Pop(number) => Call::Pop(Value::of(number)),
                Word::Missed(n) => Call::Missed(n),
                Word::Empty => Call::Empty,
                _ => continue,
            };
            let operation = Operation { thread, call, span };
            progress.step(operation)?;
            last = Some(operation);
        }
        let all = pushes.called.len();
        if let Some(last) = last.filter(|_| history.drained && progress.position != all) {
            return Err(Witness { violation: Violation::Lost, operations: vec![last] });
        }
    }
    in_order(&pushes, order.into_iter().flatten())
}

impl Progress<'_> {
    fn step(&mut self, operation: Operation) -> Result<(), Witness> {
        let span = operation.span;
        match operation.call {
            Call::Pop(value) => return self.pop(value, operation),
            Call::Missed(n) => {
                self.position += n as usize;
                // The oldest item that is left comes next.
                let left = |pushed: usize| pushed.saturating_sub(self.capacity);
                let least = left(self.pushes.answered_before(span.invoked));
                let most = left(self.pushes.called_by(span.answered));
                return self.counts(least..=most, operation);
            }
            _ if self.pushes.answered_before(span.invoked) <= self.position => return Ok(()),
            _ => {}
        }
        Err(Witness { violation: Violation::FalseEmpty, operations: vec![operation] })
    }

    fn counts(&self, possible: RangeInclusive<usize>, told: Operation) -> Result<(), Witness> {
        if possible.contains(&self.position) {
            return Ok(());
        }
        let (position, (least, most)) = (self.position, possible.into_inner());
        let violation = Violation::Miscounted { position, least, most };
        Err(Witness { violation, operations: vec![told] })
    }

    fn pop(&mut self, value: Value, pop: Operation) -> Result<(), Witness> {
        let fails = |violation, others: &[Operation]| {
            let push = self.pushes.show(value);
            let operations = push.into_iter().chain(others.iter().copied()).chain([pop]).collect();
            Err(Witness { violation, operations })
        };
        let Some(push) = self.pushes.get(value) else { return fails(Violation::Fresh, &[]) };
        if pop.span.answered < push.invoked {
            return fails(Violation::Early, &[]);
        }
        let there = self.order.get(self.position).copied().flatten();
        if let Some(there) = there.filter(|there| there.value != value) {
            return fails(Violation::Disagreement, &[there.pop]);
        }
        self.counts(self.pushes.preceding(value, push), pop)?;
        let pushed = self.pushes.answered_before(pop.span.invoked);
        let newer = pushed.saturating_sub(self.position + 1);
        if newer >= self.capacity {
            return fails(Violation::Outlived { capacity: self.capacity, newer }, &[]);
        }
        if there.is_none() {
            self.order.resize(self.order.len().max(self.position + 1), None);
            self.order[self.position] = Some(Found { value, push, pop });
        }
        self.position += 1;
        Ok(())
    }
}

/// Whether the order of all items that were got is one of their pushes.
fn in_order(pushes: &Pushes, order: impl Iterator<Item = Found>) -> Result<(), Witness> {
    let mut last_of: Vec<Option<Found>> = vec![None; pushes.of.len()];
    // Of the items so far, the one whose push was called last.
    let mut newest: Option<Found> = None;
    for found in order {
        let is_older = |other: &Found| found.push.answered < other.push.invoked;
        let last = &mut last_of[found.value.producer];
        let behind = last.filter(|last| last.value.sequence >= found.value.sequence);
        if let Some(other) = behind.or(newest.filter(is_older)) {
            let is_same = other.value == found.value;
            let violation = if is_same { Violation::Repeated } else { Violation::Order };
            let shown = [pushes.show(found.value), pushes.show(other.value)].into_iter().flatten();
            let operations = shown.chain([other.pop, found.pop]).collect();
            return Err(Witness { violation, operations });
        }
        *last = Some(found);
        if newest.is_none_or(|newest| newest.push.invoked < found.push.invoked) {
            newest = Some(found);
        }
    }
    Ok(())
}
