//! Items that leave too late.

use super::order::{Largest, witness};
use super::table::{Id, Table};
use super::witness::{Violation, Witness};

/// An item that more than `k` others overtook.
///
/// The pairs of items are those of [`overtaking`](super::order::overtaking), and so are the four
/// passes. Here they are counted for the item that is overtaken.
pub(super) fn passed_over(table: &Table, k: usize) -> Option<Witness> {
    // For the plain queue one item is too many, and `overtaking` has found it. With as many as
    // there are, none is.
    if k == 0 || k >= table.pushes.len() {
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

/// The larger, the earlier the item surely left. `None` if it may still be in the queue.
fn earliness(table: &Table, id: Id) -> Option<u64> {
    table.pop(id).map(|pop| !pop.span.answered)
}

/// Whether more than k of these items, which were pushed after `id`, surely left before it.
fn left_before(table: &Table, id: Id, younger: &Largest) -> bool {
    younger.all_exceed(!table.stays_until(id))
}

/// One thread pushed both items; the pops are apart in time.
fn pushed_in_turn(table: &Table, k: usize, thread: usize) -> Option<Witness> {
    let mut first = Largest::new(k);
    for id in table.pushes_of(thread).rev() {
        let id = id as Id;
        if left_before(table, id, &first) {
            return Some(overtaken(table, id, &first));
        }
        if let Some(key) = earliness(table, id) {
            first.add(key, id);
        }
    }
    None
}

/// One thread popped both items; the pushes are apart in time.
fn popped_in_turn(table: &Table, k: usize, thread: usize) -> Option<Witness> {
    let mut latest = Largest::new(k);
    for pop in &table.pops[table.pops_of(thread)] {
        let push = table.push(pop.id);
        if latest.all_exceed(push.answered) {
            return Some(overtaken(table, pop.id, &latest));
        }
        latest.add(push.invoked, pop.id);
    }
    None
}

/// One thread pushed both items, one thread popped both.
fn both_in_turn(table: &Table, k: usize, thread: usize) -> Option<Witness> {
    let mut last = vec![Largest::new(k); table.threads()];
    for pop in &table.pops[table.pops_of(thread)] {
        let last = &mut last[table.producer(pop.id)];
        if last.all_exceed(u64::from(pop.id)) {
            return Some(overtaken(table, pop.id, last));
        }
        last.add(u64::from(pop.id), pop.id);
    }
    None
}

/// Pushes and pops are apart in time.
fn apart(table: &Table, k: usize) -> Option<Witness> {
    if table.only_producer().is_some() {
        // `pushed_in_turn` has compared the pushes of a single thread.
        return None;
    }
    let mut first = Largest::new(k);
    let invoked = table.sorted_by(|id| table.push(id).invoked);
    let mut after = invoked.into_iter().rev().peekable();
    for id in table.sorted_by(|id| table.push(id).answered).into_iter().rev() {
        let answered = table.push(id).answered;
        while let Some(younger) = after.next_if(|&other| table.push(other).invoked > answered) {
            if let Some(key) = earliness(table, younger) {
                first.add(key, younger);
            }
        }
        if left_before(table, id, &first) {
            return Some(overtaken(table, id, &first));
        }
    }
    None
}

fn overtaken(table: &Table, id: Id, by: &Largest) -> Witness {
    witness(table, Violation::Late, [id].into_iter().chain(by.ids()))
}
