//! The decision whether a queue can have a history.

use super::log::{Log, Span, Word};
use super::table::{Id, Table};
use super::witness::{Operation, Violation, Witness};
use super::{broadcast, empty, full, late, order, overwriting};

/// The notes of all threads.
#[derive(Debug)]
pub struct History {
    /// One log for each thread. Values name a producer by its index here.
    pub logs: Vec<Log>,
    /// Whether the last pop of each consumer said that the queue is closed.
    pub drained: bool,
}

/// The number of operations of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pushes of an item.
    pub pushes: u64,
    /// Pops that returned an item.
    pub pops: u64,
    /// Pops that found the queue empty.
    pub empties: u64,
    /// Pushes that found the queue full.
    pub fulls: u64,
    /// Items that consumers of a broadcast have missed.
    pub missed: u64,
}

impl History {
    /// Counts the operations.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for (_, word) in self.logs.iter().flat_map(Log::operations) {
            match word {
                Word::Pushes(n) => counts.pushes += n,
                Word::Pop(_) => counts.pops += 1,
                Word::Empty => counts.empties += 1,
                Word::Full => counts.fulls += 1,
                Word::Missed(n) => counts.missed += n,
                _ => {}
            }
        }
        counts
    }
}

/// The queue's guarantees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rules {
    /// Most items that can be in the queue, if it is bounded.
    pub slots: Option<usize>,
    /// Items that must fit: while the queue has fewer items, a push doesn't say full.
    pub capacity: usize,
    /// Whether an item may be invisible until a flush.
    pub delayed: bool,
    /// How many older items a pop may leave in the queue, and how many younger items may leave
    /// before an item: 0 for first in first out.
    pub k: usize,
    /// Whether answers are relaxed, too: empty if no item was inside for the whole call, full
    /// whenever another call is unfinished.
    pub relaxed: bool,
    /// Number of newest items that are not overwritten, at least one, if the queue overwrites the
    /// oldest to make room.
    pub kept: Option<usize>,
    /// Whether an item may also be lost if the push `kept` pushes earlier, which has the same slot,
    /// is unfinished.
    pub voids: bool,
    /// Whether a push that overwrites first drops the oldest item, and then adds its own. In between
    /// one item less is kept.
    pub drops_first: bool,
    /// Whether each consumer gets each item, or is told that it has missed it when `capacity` items
    /// are newer.
    pub broadcasts: bool,
}

/// Checks a history.
///
/// The [module](super) says what this proves.
///
/// # Errors
///
/// A [`Witness`], if no queue with these `rules` can have the history.
///
/// # Panics
///
/// If there are 2³² pushes or more.
pub fn check(history: &History, rules: &Rules) -> Result<(), Witness> {
    if rules.broadcasts {
        return broadcast::check(history, rules.capacity);
    }
    let table = Table::new(&history.logs, rules)?;
    let found = early(&table)
        .or_else(|| lost(&table, history.drained))
        .or_else(|| order::overtaking(&table, rules.k))
        .or_else(|| late::passed_over(&table, rules.k))
        .or_else(|| empty::false_empty(&table, rules.relaxed))
        .or_else(|| bounds(&table, rules));
    found.map_or(Ok(()), Err)
}

fn bounds(table: &Table, rules: &Rules) -> Option<Witness> {
    let slots = rules.slots?;
    if let Some(kept) = rules.kept {
        return overwriting::outlived(table, slots)
            .or_else(|| overwriting::false_empty(table, kept - usize::from(rules.drops_first)));
    }
    let overfull = full::overfull(table, slots);
    if rules.relaxed {
        // The notes don't tell whether another call was unfinished: they lack busy answers.
        return overfull;
    }
    overfull
        .or_else(|| full::false_full(table, rules.capacity))
        .or_else(|| full::full_and_empty(table, rules.capacity))
}

/// An item that was popped before it was pushed.
fn early(table: &Table) -> Option<Witness> {
    let pop = table.pops.iter().find(|pop| pop.span.answered < table.push(pop.id).invoked)?;
    Some(of_item(table, Violation::Early, pop.id))
}

/// An item that is missing although the queue was drained.
fn lost(table: &Table, drained: bool) -> Option<Witness> {
    if !drained {
        return None;
    }
    let there = |&id: &Id| {
        let is_there = table.pop(id).is_none() && table.overwritten_since(id) == Span::PENDING;
        is_there && table.push(id).answered != Span::PENDING
    };
    // Each pending pop may have taken one of these items.
    let lost = table.ids().filter(there).nth(table.pending_pops)?;
    Some(Witness { violation: Violation::Lost, operations: around(table, lost) })
}

/// An item's push, and the pops of the items that the same thread pushed before and after it.
fn around(table: &Table, id: Id) -> Vec<Operation> {
    let pushes = table.pushes_of(table.producer(id));
    let pop = |id: usize| table.show_pop(id as Id);
    let before = (pushes.start..id as usize).rev().find_map(pop);
    let after = (id as usize + 1..pushes.end).find_map(pop);
    before.into_iter().chain([table.show_push(id)]).chain(after).collect()
}

fn of_item(table: &Table, violation: Violation, id: Id) -> Witness {
    let operations: Vec<Operation> = table.show(id).collect();
    Witness { violation, operations }
}
