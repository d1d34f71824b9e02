//! Queues that overwrite: which items may be gone, and which must be.

use super::log::Span;
use super::table::{Id, Table};
use super::witness::{Violation, Witness};

/// For each item that no consumer popped: the time from which it may have been overwritten, when
/// `kept` pushes have been called that may be newer. [`PENDING`](Span::PENDING) for all other
/// items.
///
/// With `voids` an item may be lost from the beginning, if a push of another thread was unfinished
/// while the item was pushed, and `kept` pushes were called meanwhile.
pub(super) fn since(table: &Table, kept: usize, voids: bool) -> Vec<u64> {
    let (mut called, mut answered): (Vec<u64>, Vec<u64>) =
        table.pushes.iter().map(|push| (push.invoked, push.answered)).unzip();
    called.sort();
    answered.sort();
    let consumers = consumers(table);
    let one = |id: Id| {
        if table.pop(id).is_some() {
            return Span::PENDING;
        }
        let own = &table.pushes[table.pushes_of(table.producer(id))];
        let before = |time| move |&other: &u64| other < time;
        if voids && meets_unfinished(table, id, |from, to| count(&called, from, to) >= kept) {
            return table.push(id).invoked;
        }
        // The thread's own older pushes are known from the order of its calls, other threads'
        // pushes from the clock.
        let begun = table.push(id).invoked;
        let own_older = id as usize - table.pushes_of(table.producer(id)).start;
        let own_answered = own.partition_point(|push| push.answered < begun);
        let older = own_older + answered.partition_point(before(begun)) - own_answered;
        let since = called.get(older + kept).copied().unwrap_or(Span::PENDING);
        let in_hand = |answers: &Vec<u64>| match answers.partition_point(before(since)) {
            0 => 0,
            n => answers[n - 1],
        };
        match since {
            Span::PENDING => since,
            _ => consumers.iter().map(in_hand).fold(since, u64::min),
        }
    };
    table.ids().map(one).collect()
}

/// How many of these times are `from` to `to`.
fn count(times: &[u64], from: u64, to: u64) -> usize {
    times.partition_point(|&time| time <= to) - times.partition_point(|&time| time < from)
}

/// Whether a push of another thread overlaps the push of `id`, and `is_a_lap` holds from the
/// beginning of the former to the end of the latter.
fn meets_unfinished(table: &Table, id: Id, is_a_lap: impl Fn(u64, u64) -> bool) -> bool {
    let own = table.push(id);
    (0..table.threads()).filter(|thread| *thread != table.producer(id)).any(|thread| {
        let pushes = &table.pushes[table.pushes_of(thread)];
        let first = pushes.get(pushes.partition_point(|push| push.answered < own.invoked));
        first.is_some_and(|push| {
            push.invoked <= own.answered && is_a_lap(push.invoked, own.answered)
        })
    })
}

/// The answers' times of each consumer, if there are several consumers.
fn consumers(table: &Table) -> Vec<Vec<u64>> {
    let popped = |thread| table.pops[table.pops_of(thread)].iter().map(|pop| pop.span.answered);
    let mut consumers: Vec<Vec<u64>> =
        (0..table.threads()).map(|thread| popped(thread).collect()).collect();
    for empty in &table.empties {
        consumers[empty.thread].push(empty.span.answered);
    }
    // A thread that has pushed no item may be a consumer whose pops were all busy.
    let may_pop =
        |thread: usize| !consumers[thread].is_empty() || table.pushes_of(thread).is_empty();
    let threads: Vec<_> = (0..table.threads()).filter(|&thread| may_pop(thread)).collect();
    if threads.len() < 2 {
        // With a single consumer, no other consumer can miss the item that it was taking.
        return Vec::new();
    }
    let mut taken = |thread: usize| std::mem::take(&mut consumers[thread]);
    let mut consumers: Vec<_> = threads.into_iter().map(&mut taken).collect();
    consumers.iter_mut().for_each(|answers| answers.sort());
    consumers
}

/// An empty answer, between one producer and one consumer, although the newest item has not been
/// popped.
///
/// An item that overwrites another is in the queue in its place. So the queue is empty only when
/// the `kept` newest items have been popped: between the push of the last popped item and the next
/// push. With `kept` 0 no item must have been popped.
pub(super) fn false_empty(table: &Table, kept: usize) -> Option<Witness> {
    if kept == 0 || !table.is_single() || table.pending_pops > 0 || !consumers(table).is_empty() {
        return None;
    }
    let pushes = table.pushes_of(table.only_producer()?);
    table.empties.iter().find_map(|empty| {
        let popped = empty.next.checked_sub(1).map(|last| table.pops[last].id as usize);
        let newest = popped.map_or(pushes.start, |last| last + 1);
        let oldest = newest.saturating_sub(kept).max(pushes.start);
        let must_be_popped = (oldest..newest).map(|id| id as Id);
        let next = pushes.contains(&newest).then_some(newest as Id);
        let there = next.filter(|&id| table.push(id).answered < empty.span.invoked);
        let is_left = |id: &Id| table.pop(*id).is_none();
        let there = there.or_else(|| must_be_popped.clone().find(is_left))?;
        let operations = table.show_stay(there).chain([empty.show_empty()]).collect();
        Some(Witness { violation: Violation::FalseEmpty, operations })
    })
}

/// An item that was popped after `capacity` newer items had surely been pushed.
pub(super) fn outlived(table: &Table, capacity: usize) -> Option<Witness> {
    table.pops.iter().find_map(|pop| {
        let newer = (0..table.threads()).map(|thread| newer(table, pop.id, thread)).sum();
        (newer >= capacity).then(|| Witness {
            violation: Violation::Outlived { capacity, newer },
            operations: table.show(pop.id).collect(),
        })
    })
}

/// The number of items that this thread had finished pushing after the push of `id`, and before
/// the call of the pop of `id`.
fn newer(table: &Table, id: Id, thread: usize) -> usize {
    let pushes = table.pushes_of(thread);
    let of_thread = &table.pushes[pushes.clone()];
    let popped = table.stays_until(id);
    let answered = of_thread.partition_point(|push| push.answered < popped);
    let older = match pushes.contains(&(id as usize)) {
        true => id as usize + 1 - pushes.start,
        false => of_thread.partition_point(|push| push.invoked <= table.push(id).answered),
    };
    answered.saturating_sub(older)
}
