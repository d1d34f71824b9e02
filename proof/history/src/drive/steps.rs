//! A thread's calls: single calls, iterators, chunks and slices, each noted.

use corelane::{Consumer, Producer, SingleConsumer, SingleProducer, TryPopError, TryPushError};
use corelane_harness::Item;

use super::plan::{Plan, Way};
use super::record::Recorder;
use super::side::{End, Part, Side};
use crate::Value;

/// Pushes up to `n` items, the first of which has this number, and notes the pushes. Returns how
/// many it pushed, and whether the consumers are gone.
pub(super) type PushBatch<Tx> = fn(&mut Tx, &mut Recorder, Way, u64, usize) -> (usize, bool);

/// Pops up to `n` items and notes the pops. Returns how many it popped, and why not more.
pub(super) type PopBatch<Rx> =
    fn(&mut Rx, &mut Recorder, Way, usize) -> (usize, Option<TryPopError>);

/// Pushes the planned items.
pub(super) fn send<T: Item, Tx: Producer<Item = T>>(
    mut tx: Tx,
    mut side: Side,
    push_batch: PushBatch<Tx>,
) -> Part {
    side.meet();
    let end = push_all(&mut tx, &mut side, push_batch);
    side.leave(tx, end);
    // Items that the queue had held back are visible now.
    side.recorder.flushed();
    side.finish(end)
}

fn push_all<T: Item, Tx: Producer<Item = T>>(
    tx: &mut Tx,
    side: &mut Side,
    push_batch: PushBatch<Tx>,
) -> End {
    let mut next = 0;
    while next < side.pushes {
        let n = side.next_step().min(side.pushes - next);
        let first = Value { producer: side.thread, sequence: next as u64 }.number();
        let (moved, closed) = match side.plan.way {
            Way::Single => push_singly(tx, &mut side.recorder, first, n),
            way => push_batch(tx, &mut side.recorder, way, first, n),
        };
        next += moved;
        if closed || tx.is_closed() {
            return side.told_closed();
        }
        if !side.goes_on(moved) {
            return End::Stuck;
        }
        if side.rng.below(16) == 0 {
            tx.flush();
            side.recorder.flushed();
        }
    }
    End::AllPushed
}

/// Notes why a push failed. Returns whether the consumer is gone.
fn note_no_room<T>(recorder: &mut Recorder, error: &TryPushError<T>) -> bool {
    if !matches!(error, TryPushError::Busy(_)) {
        recorder.full();
    }
    matches!(error, TryPushError::Closed(_))
}

/// Pushes the item with this number. The error says whether the consumers are gone.
fn push_one<T: Item>(
    tx: &mut impl Producer<Item = T>,
    recorder: &mut Recorder,
    number: u64,
) -> Result<(), bool> {
    match tx.try_push(T::of(number)) {
        Ok(()) => recorder.pushed(1),
        Err(error) => return Err(note_no_room(recorder, &error)),
    }
    Ok(())
}

/// Pushes `n` items one by one. Returns how many it pushed, and whether the consumers are gone.
fn push_singly<T: Item>(
    tx: &mut impl Producer<Item = T>,
    recorder: &mut Recorder,
    first: u64,
    n: usize,
) -> (usize, bool) {
    for moved in 0..n {
        let outcome = push_one(tx, recorder, first + moved as u64);
        recorder.done();
        if let Err(closed) = outcome {
            return (moved, closed);
        }
    }
    (n, false)
}

/// Notes that the first `moved` of `n` items were pushed by a batch call that does not say why it
/// ended. Another push says why.
fn push_rest<T: Item>(
    tx: &mut impl Producer<Item = T>,
    recorder: &mut Recorder,
    (first, n): (u64, usize),
    moved: usize,
) -> (usize, bool) {
    recorder.pushed(moved);
    if moved == n {
        return (moved, false);
    }
    match push_one(tx, recorder, first + moved as u64) {
        Ok(()) => (moved + 1, false),
        Err(closed) => (moved, closed),
    }
}

/// As [`push_singly`], by batch calls that only single producers have.
pub(super) fn push_lent<T: Item>(
    tx: &mut impl SingleProducer<Item = T>,
    recorder: &mut Recorder,
    way: Way,
    first: u64,
    n: usize,
) -> (usize, bool) {
    let items = (first..).take(n).map(T::of);
    let outcome = if way == Way::Iterators {
        let moved = tx.push_iter(items);
        push_rest(tx, recorder, (first, n), moved)
    } else {
        match tx.write_chunk_uninit(n) {
            Ok(chunk) => {
                let moved = chunk.fill_from_iter(items);
                recorder.pushed(moved);
                (moved, false)
            }
            Err(error) => (0, note_no_room(recorder, &error)),
        }
    };
    recorder.done();
    outcome
}

/// As [`push_singly`], by slices, as any producer can.
pub(super) fn push_slice<T: Item + Copy>(
    tx: &mut impl Producer<Item = T>,
    recorder: &mut Recorder,
    _: Way,
    first: u64,
    n: usize,
) -> (usize, bool) {
    let items: Vec<T> = (first..).take(n).map(T::of).collect();
    let moved = tx.push_slice(&items);
    let outcome = push_rest(tx, recorder, (first, n), moved);
    recorder.done();
    outcome
}

/// Pops until the queue is closed.
pub(super) fn receive<T: Item + Into<u64>, Rx: Consumer<Item = T>>(
    mut rx: Rx,
    mut side: Side,
    pop_batch: PopBatch<Rx>,
) -> Part {
    let end = pop_all(&mut rx, &mut side, pop_batch);
    side.leave(rx, end);
    side.finish(end)
}

fn pop_all<T: Item + Into<u64>, Rx: Consumer<Item = T>>(
    rx: &mut Rx,
    side: &mut Side,
    pop_batch: PopBatch<Rx>,
) -> End {
    // Operations that move no item don't use this room.
    while side.recorder.has_room(2 * Plan::STEP) {
        let n = side.next_step();
        let (moved, end) = match side.plan.way {
            Way::Single => pop_singly(rx, &mut side.recorder, n),
            way => pop_batch(rx, &mut side.recorder, way, n),
        };
        if end == Some(TryPopError::Closed) {
            return side.told_closed();
        }
        if !side.goes_on(moved) {
            return End::Stuck;
        }
    }
    End::TooMany
}

/// The number that an item was made from.
fn number<T: Item + Into<u64>>(item: T) -> u64 {
    item.into().wrapping_sub(T::of(0).into())
}

/// Notes the item of a pop, or why it failed.
fn note_pop<T: Item + Into<u64>>(
    recorder: &mut Recorder,
    popped: Result<T, TryPopError>,
) -> Result<(), TryPopError> {
    match popped {
        Ok(item) => recorder.popped(number(item)),
        Err(TryPopError::Busy) => return Err(TryPopError::Busy),
        Err(end) => {
            recorder.empty();
            return Err(end);
        }
    }
    Ok(())
}

/// Pops up to `n` items one by one. Returns how many it popped, and why not more.
fn pop_singly<T: Item + Into<u64>>(
    rx: &mut impl Consumer<Item = T>,
    recorder: &mut Recorder,
    n: usize,
) -> (usize, Option<TryPopError>) {
    for moved in 0..n {
        let outcome = note_pop(recorder, rx.try_pop());
        recorder.done();
        if let Err(end) = outcome {
            return (moved, Some(end));
        }
    }
    (n, None)
}

/// Called after a batch call that has popped, and noted, the first `moved` of `n` items, and does
/// not say why it ended. Another pop says why.
fn pop_rest<T: Item + Into<u64>>(
    rx: &mut impl Consumer<Item = T>,
    recorder: &mut Recorder,
    n: usize,
    moved: usize,
) -> (usize, Option<TryPopError>) {
    if moved == n {
        return (moved, None);
    }
    match note_pop(recorder, rx.try_pop()) {
        Ok(()) => (moved + 1, None),
        Err(end) => (moved, Some(end)),
    }
}

/// As [`pop_singly`], by batch calls that only single consumers have.
pub(super) fn pop_lent<T: Item + Into<u64>>(
    rx: &mut impl SingleConsumer<Item = T>,
    recorder: &mut Recorder,
    way: Way,
    n: usize,
) -> (usize, Option<TryPopError>) {
    let mut moved = 0;
    let mut note = |item: T| {
        recorder.popped(number(item));
        moved += 1;
    };
    let outcome = if way == Way::Iterators {
        rx.pop_iter().take(n).for_each(&mut note);
        pop_rest(rx, recorder, n, moved)
    } else {
        match rx.read_chunk(n) {
            Ok(chunk) => {
                chunk.into_iter().for_each(&mut note);
                (moved, None)
            }
            Err(end) => (0, note_pop::<T>(recorder, Err(end)).err()),
        }
    };
    recorder.done();
    outcome
}

/// As [`pop_singly`], by slices, as any consumer can.
pub(super) fn pop_slice<T: Item + Into<u64> + Copy>(
    rx: &mut impl Consumer<Item = T>,
    recorder: &mut Recorder,
    _: Way,
    n: usize,
) -> (usize, Option<TryPopError>) {
    let mut items = vec![T::of(0); n];
    let moved = rx.pop_slice(&mut items);
    items[..moved].iter().for_each(|item| recorder.popped(number(*item)));
    let outcome = pop_rest(rx, recorder, n, moved);
    recorder.done();
    outcome
}
