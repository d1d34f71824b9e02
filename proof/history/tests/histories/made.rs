//! Histories made by hand, and a search for an order of their operations.

use std::ops::RangeInclusive;

use corelane_history::{History, Log, Rules, Span, Value};

/// A made operation. A pop names its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Do {
    Push,
    Pop(Value),
    Empty,
    Full,
    Flush,
    PopPending,
    /// Only consumers of a broadcast.
    Missed(u64),
}

/// An operation: its thread, kind, call and answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Made {
    pub thread: usize,
    pub does: Do,
    pub span: Span,
}

pub fn made(thread: usize, does: Do, invoked: u64, answered: u64) -> Made {
    Made { thread, does, span: Span { invoked, answered } }
}

/// Item number `sequence` of `producer`.
pub fn item(producer: usize, sequence: u64) -> Value {
    Value { producer, sequence }
}

/// The history of these operations, which are in order for each thread.
pub fn history(operations: &[Made], drained: bool) -> History {
    let threads = operations.iter().map(|op| op.thread + 1).max().unwrap_or(0);
    History { logs: (0..threads).map(|thread| log(operations, thread)).collect(), drained }
}

fn log(operations: &[Made], thread: usize) -> Log {
    // Each operation may take two stamps.
    let mut log = Log::with_room(3 * operations.len());
    let mut open: Option<Span> = None;
    for op in operations.iter().filter(|op| op.thread == thread) {
        if open != Some(op.span) {
            open.into_iter().for_each(|span| log.stamp(span.answered));
            log.stamp(op.span.invoked);
            open = Some(op.span);
        }
        match op.does {
            Do::Push => log.pushes(1),
            Do::Pop(value) => log.pop(value.number()),
            Do::Empty => log.empty(),
            Do::Full => log.full(),
            Do::Flush => log.flush(),
            Do::PopPending => log.pop_pending(),
            Do::Missed(n) => log.missed(n),
        }
    }
    open.into_iter()
        .filter(|span| span.answered != Span::PENDING)
        .for_each(|span| log.stamp(span.answered));
    log
}

/// An item in the queue of the search.
#[derive(Debug, Clone, Copy)]
struct Held {
    value: Value,
    shown: bool,
    /// Whether its push has answered, so that the item must be there.
    certain: bool,
    /// How many younger items have been popped.
    passed: usize,
}

/// Whether a queue can execute the operations in some order, each within its interval.
///
/// The search of Wing and Gong: tries as the first operation each one that no other precedes; then
/// the same for the rest. It has no optimizations, so that it is easy to check.
pub fn exists(operations: &[Made], rules: &Rules, drained: bool) -> bool {
    search(operations, rules, drained, &mut vec![false; operations.len()], &[])
}

fn search(ops: &[Made], rules: &Rules, drained: bool, done: &mut [bool], queue: &[Held]) -> bool {
    let over = |i: usize| done[i] || ops[i].span.answered == Span::PENDING;
    if (0..ops.len()).all(over) && !(drained && queue.iter().any(|held| held.certain)) {
        return true;
    }
    for next in 0..ops.len() {
        if done[next] || (0..ops.len()).any(|i| !done[i] && precedes(ops, i, next)) {
            continue;
        }
        done[next] = true;
        for queue in after(ops, next, rules, queue) {
            if search(ops, rules, drained, done, &queue) {
                return true;
            }
        }
        done[next] = false;
    }
    false
}

fn precedes(ops: &[Made], a: usize, b: usize) -> bool {
    ops[a].span.answered < ops[b].span.invoked || (ops[a].thread == ops[b].thread && a < b)
}

/// The states that an operation can lead to.
fn after(ops: &[Made], index: usize, rules: &Rules, queue: &[Held]) -> Vec<Vec<Held>> {
    let op = ops[index];
    let slots = rules.slots.unwrap_or(usize::MAX);
    let mut queue = queue.to_vec();
    let only_if = |holds: bool, queue| if holds { vec![queue] } else { vec![] };
    match op.does {
        Do::Push => {
            let mine = |op: &&Made| op.thread == ops[index].thread && op.does == Do::Push;
            let sequence = ops[..index].iter().filter(mine).count() as u64;
            let certain = op.span.answered != Span::PENDING;
            let value = item(op.thread, sequence);
            queue.push(Held { value, shown: !rules.delayed, certain, passed: 0 });
            match rules.kept {
                Some(kept) => overwritten(&queue, kept.min(queue.len())..=slots),
                None => only_if(queue.len() <= slots, queue),
            }
        }
        Do::Pop(value) => {
            let place = queue.iter().position(|held| held.value == value);
            place.and_then(|place| without(&queue, place, rules.k)).into_iter().collect()
        }
        Do::Empty => only_if(!queue.iter().any(|held| held.shown), queue),
        Do::Full => only_if(queue.len() >= rules.capacity, queue),
        Do::Flush => {
            let mine = queue.iter_mut().filter(|held| held.value.producer == op.thread);
            mine.for_each(|held| held.shown = true);
            vec![queue]
        }
        Do::PopPending => {
            (0..queue.len()).filter_map(|place| without(&queue, place, rules.k)).collect()
        }
        Do::Missed(_) => vec![],
    }
}

/// The queue after a pop of the item at this place, if no item is passed over more than `k` times
/// and the pop passes over no more than `k` items.
fn without(queue: &[Held], place: usize, k: usize) -> Option<Vec<Held>> {
    let mut queue = queue.to_vec();
    queue[..place].iter_mut().for_each(|held| held.passed += 1);
    let is_allowed = place <= k && queue[..place].iter().all(|held| held.passed <= k);
    queue.remove(place);
    is_allowed.then_some(queue)
}

/// The possible contents of a queue after it has overwritten items, if it keeps a number of items
/// in the range `left`.
fn overwritten(queue: &[Held], left: RangeInclusive<usize>) -> Vec<Vec<Held>> {
    let drops = 0..=queue.len();
    let is_allowed = |drops: &usize| left.contains(&(queue.len() - drops));
    drops.filter(is_allowed).map(|drops| queue[drops..].to_vec()).collect()
}
