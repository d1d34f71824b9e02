//! False empties.

use super::log::Span;
use super::table::{Answer, Id, Table};
use super::witness::{Violation, Witness};

/// A time in which the queue is surely not empty, without its ends.
#[derive(Debug, Clone, Copy)]
struct Island {
    start: u64,
    end: u64,
}

/// An empty answer during whose call the queue can never have been empty. If `relaxed`: an empty
/// answer during whose whole call one item was in the queue.
pub(super) fn false_empty(table: &Table, relaxed: bool) -> Option<Witness> {
    if table.empties.is_empty() {
        return None;
    }
    let by_visible = table.sorted_by(|id| table.visible(id));
    let islands = islands(table, &by_visible, relaxed);
    let later = earliest_popped_later(table);
    table.empties.iter().find_map(|empty| {
        let reach = reach(&islands, empty.span.invoked);
        let in_turn = empty.next < table.pops_of(empty.thread).end && later[empty.next] < reach;
        (in_turn || reach > empty.span.answered).then(|| witness(table, &by_visible, empty))
    })
}

/// The times in which an item is surely there: from the time when it is visible to the call of its
/// pop. Their union; or, if `relaxed`, those that no earlier item's time contains.
fn islands(table: &Table, by_visible: &[Id], relaxed: bool) -> Vec<Island> {
    let mut islands: Vec<Island> = Vec::new();
    for &id in by_visible {
        let (start, end) = (table.visible(id), table.stays_until(id));
        match islands.last_mut() {
            _ if end <= start => {}
            Some(last) if end <= last.end => {}
            // This item is already there when the last one leaves.
            Some(last) if start < last.end && !relaxed => last.end = end,
            _ => islands.push(Island { start, end }),
        }
    }
    islands
}

/// The first moment from `time` on when the queue can be empty.
fn reach(islands: &[Island], time: u64) -> u64 {
    let before = islands.partition_point(|island| island.start < time);
    islands[..before].last().map_or(time, |island| island.end.max(time))
}

/// For each pop: the time when the first item becomes visible that its thread pops by this pop or a
/// later one.
fn earliest_popped_later(table: &Table) -> Vec<u64> {
    let mut later = vec![Span::PENDING; table.pops.len()];
    for thread in 0..table.threads() {
        let mut earliest = Span::PENDING;
        for index in table.pops_of(thread).rev() {
            earliest = earliest.min(table.visible(table.pops[index].id));
            later[index] = earliest;
        }
    }
    later
}

/// The fewest items whose times together cover the call.
fn witness(table: &Table, by_visible: &[Id], empty: &Answer) -> Witness {
    let mut operations = vec![empty.show_empty()];
    // Items that the thread popped after it had said empty.
    let later = empty.next..table.pops_of(empty.thread).end;
    let popped_later = |id| table.pop_index(id).is_some_and(|index| later.contains(&index));
    let mut covered = empty.span.invoked;
    let mut ids = by_visible.iter().copied().peekable();
    let mut longest: Option<Id> = None;
    while covered <= empty.span.answered {
        while let Some(id) = ids.next_if(|&id| table.visible(id) < covered) {
            if popped_later(id) {
                operations.extend(table.show_stay(id));
                return Witness { violation: Violation::FalseEmpty, operations };
            }
            longest = longest.into_iter().chain([id]).max_by_key(|&id| table.stays_until(id));
        }
        let Some(id) = longest.filter(|&id| table.stays_until(id) > covered) else { break };
        covered = table.stays_until(id);
        operations.extend(table.show_stay(id));
    }
    Witness { violation: Violation::FalseEmpty, operations }
}
