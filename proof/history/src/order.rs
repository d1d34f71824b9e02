//! First in first out, or nearly.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::table::{Id, Table};
use super::witness::{Violation, Witness};

/// The largest k + 1 keys so far, with their items.
#[derive(Debug, Clone)]
pub(super) struct Largest {
    k: usize,
    heap: BinaryHeap<Reverse<(u64, Id)>>,
}

impl Largest {
    pub(super) fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::with_capacity(1) }
    }

    #[inline]
    pub(super) fn add(&mut self, key: u64, id: Id) {
        if self.heap.len() <= self.k {
            self.heap.push(Reverse((key, id)));
        } else if let Some(mut least) = self.heap.peek_mut()
            && least.0.0 < key
        {
            least.0 = (key, id);
        }
    }

    /// The items of these keys.
    pub(super) fn ids(&self) -> impl Iterator<Item = Id> {
        self.heap.iter().map(|Reverse((_, id))| *id)
    }

    /// Whether more than k keys are larger than `limit`.
    #[inline]
    pub(super) fn all_exceed(&self, limit: u64) -> bool {
        self.heap.len() > self.k && self.heap.peek().is_some_and(|least| least.0.0 > limit)
    }
}

/// An item that overtook more than `k` others.
///
/// Item a is *overtaken* by b if a's push precedes b's push, and b's pop precedes a's pop or a has
/// none. One operation precedes another if it answers before the other is called, or if one thread
/// calls both, in this order. There are four combinations. Each is counted in a pass of its own.
pub(super) fn overtaking(table: &Table, k: usize) -> Option<Witness> {
    if k >= table.pushes.len() {
        return None;
    }
    (0..table.threads())
        .find_map(|thread| {
            pushed_in_turn(table, k, thread)
                .or_else(|| popped_in_turn(table, k, thread))
                .or_else(|| both_in_turn(table, k, thread))
        })
        .or_else(|| apart(table, k))
}

/// One thread pushed both items; the pops are apart in time.
fn pushed_in_turn(table: &Table, k: usize, thread: usize) -> Option<Witness> {
    let mut longest = Largest::new(k);
    for id in table.pushes_of(thread) {
        let id = id as Id;
        if table.pop(id).is_some_and(|pop| longest.all_exceed(pop.span.answered)) {
            return Some(overtook(table, &longest, id));
        }
        longest.add(table.stays_until(id), id);
    }
    None
}

/// One thread popped both items; the pushes are apart in time.
fn popped_in_turn(table: &Table, k: usize, thread: usize) -> Option<Witness> {
    let mut earliest = Largest::new(k);
    for pop in table.pops[table.pops_of(thread)].iter().rev() {
        let push = table.push(pop.id);
        if earliest.all_exceed(!push.invoked) {
            return Some(overtook(table, &earliest, pop.id));
        }
        earliest.add(!push.answered, pop.id);
    }
    None
}

/// One thread pushed both items, one thread popped both.
fn both_in_turn(table: &Table, k: usize, thread: usize) -> Option<Witness> {
    let mut first = vec![Largest::new(k); table.threads()];
    for pop in table.pops[table.pops_of(thread)].iter().rev() {
        let first = &mut first[table.producer(pop.id)];
        if first.all_exceed(!u64::from(pop.id)) {
            return Some(overtook(table, first, pop.id));
        }
        first.add(!u64::from(pop.id), pop.id);
    }
    None
}

/// Pushes and pops are apart in time.
fn apart(table: &Table, k: usize) -> Option<Witness> {
    if table.only_producer().is_some() {
        // `pushed_in_turn` has compared the pushes of a single thread.
        return None;
    }
    let mut longest = Largest::new(k);
    let answered = table.sorted_by(|id| table.push(id).answered);
    let mut before = answered.into_iter().peekable();
    for id in table.sorted_by(|id| table.push(id).invoked) {
        let called = table.push(id).invoked;
        while let Some(older) = before.next_if(|&id| table.push(id).answered < called) {
            longest.add(table.stays_until(older), older);
        }
        if table.pop(id).is_some_and(|pop| longest.all_exceed(pop.span.answered)) {
            return Some(overtook(table, &longest, id));
        }
    }
    None
}

fn overtook(table: &Table, overtaken: &Largest, by: Id) -> Witness {
    witness(table, Violation::Order, overtaken.ids().chain([by]))
}

/// All operations of these items.
pub(super) fn witness(
    table: &Table,
    violation: Violation,
    ids: impl Iterator<Item = Id>,
) -> Witness {
    Witness { violation, operations: ids.flat_map(|id| table.show(id)).collect() }
}
