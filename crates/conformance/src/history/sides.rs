//! The two sides of a queue, each in a thread of its own, that carry out a plan and note what they do.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use corelane::{SingleConsumer, SingleProducer, TryPopError, TryPushError};

use super::log::{Log, Word};
use super::plan::{Pace, Plan, Way};
use super::witness::{Call, Operation, Violation, Witness};
use super::{Clock, History, Recorder, Rules, Value, check};
use crate::Item;
use crate::rng::Rng;
use crate::threads::{Cores, Patience, both};

/// What the other side may know of one, besides what the queue says.
///
/// Each on lines of its own: nobody is to wait for such a line between a last push and the end.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Presence {
    came: AtomicBool,
    left: AtomicBool,
    /// How often it slept because nothing could be done.
    naps: AtomicU32,
}

/// What is shared by the sides of all queues of a round.
#[derive(Debug)]
struct Round {
    /// The producer and the consumer of each queue.
    presences: Vec<[Presence; 2]>,
    /// The last queue that is worth the time: something went wrong in it.
    last: AtomicUsize,
}

/// Why a side stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The producer pushed all that was planned.
    AllPushed,
    /// The consumer got more items than were planned.
    TooMany,
    /// The other side was gone, and the queue said so.
    Closed,
    /// The queue said so, but the other side was still at work.
    FalseClosed,
    /// Nothing moved any more, though the other side was at work or done with it.
    Stuck,
}

/// A side between two steps.
#[derive(Debug)]
struct Side<'a> {
    plan: &'a Plan,
    round: &'a Round,
    /// The queue's number in the round.
    number: usize,
    me: &'a Presence,
    other: &'a Presence,
    /// Items to be pushed.
    pushes: usize,
    recorder: Recorder,
    rng: Rng,
    /// The pace that slows this side down.
    slow: Pace,
    patience: Patience,
    /// How often the other side had slept when this side began to.
    other_naps: u32,
}

/// What a side leaves behind.
#[derive(Debug)]
struct Part {
    log: Log,
    end: End,
}

impl<'a> Side<'a> {
    /// Sleeps in a row after which a side believes that nothing will change.
    const HOPELESS: u32 = 1000;

    /// Both sides of the queue with this number.
    fn pair(plan: &'a Plan, round: &'a Round, number: usize, clock: Clock) -> [Self; 2] {
        let [sender, receiver] = &round.presences[number];
        let seed = (plan.seed << 16 | number as u64) << 2;
        let pushes = match plan.is_short() {
            true => Rng::new(seed | 2).below(plan.pushes + 1),
            false => plan.pushes,
        };
        let side = |me, other, slow, seed| Side {
            plan,
            round,
            number,
            me,
            other,
            pushes,
            // And room for two steps more: a consumer that finds less got more than was planned.
            recorder: Recorder::new(clock, pushes + 2 * Plan::STEP, plan.period),
            rng: Rng::new(seed),
            slow,
            patience: Patience::default(),
            other_naps: 0,
        };
        [
            side(sender, receiver, Pace::SlowProducer, seed),
            side(receiver, sender, Pace::SlowConsumer, seed | 1),
        ]
    }

    /// Comes to the queue. `false` if that is not wanted any more.
    fn begin(&mut self) -> bool {
        self.me.came.store(true, Ordering::Relaxed);
        self.recorder.resume();
        !self.is_left_out()
    }

    /// Waits until the other side has come, so that it sees the end from near.
    fn meet(&mut self) {
        let met = || self.other.came.load(Ordering::Relaxed) || self.is_left_out();
        Patience::until(|| met().then_some(()));
    }

    fn is_left_out(&self) -> bool {
        self.number > self.round.last.load(Ordering::Relaxed)
    }

    /// Rests as planned, and says for how many items the next step is.
    fn next_step(&mut self) -> usize {
        let spins = self.plan.rest(&mut self.rng, self.slow == self.plan.pace);
        if spins > 0 {
            (0..spins).for_each(|_| std::hint::spin_loop());
            self.recorder.resume();
        }
        1 + self.rng.below(self.plan.step())
    }

    /// After a step that moved `moved` items: waits if that was none. `false` if it's no use.
    fn goes_on(&mut self, moved: usize) -> bool {
        if moved > 0 {
            self.patience = Patience::default();
            return true;
        }
        self.patience.wait();
        if self.plan.period == 1 {
            self.recorder.resume();
        }
        match self.patience.naps() {
            0 => true,
            naps => !self.is_hopeless(naps),
        }
    }

    /// Whether this side has slept so often in vain, and not only because the other one was not let run.
    fn is_hopeless(&mut self, naps: u32) -> bool {
        self.me.naps.fetch_add(1, Ordering::Relaxed);
        let others = self.other.naps.load(Ordering::Relaxed);
        if naps == 1 {
            self.other_naps = others;
        }
        if naps < Self::HOPELESS {
            return false;
        }
        self.patience = Patience::default();
        let has_left = self.other.left.load(Ordering::Relaxed);
        has_left || others - self.other_naps >= Self::HOPELESS / 2
    }

    /// What it means that the queue says that the other side is gone.
    ///
    /// Relaxed: that answer promises to show what the other side did before, and this was part of it.
    fn told_closed(&self) -> End {
        match self.other.left.load(Ordering::Relaxed) {
            true => End::Closed,
            false => End::FalseClosed,
        }
    }

    /// Drops the handle.
    fn leave<H>(&mut self, handle: H, end: End) {
        if matches!(end, End::FalseClosed | End::Stuck) {
            self.round.last.fetch_min(self.number, Ordering::Relaxed);
        }
        self.me.left.store(true, Ordering::Relaxed);
        drop(handle);
    }

    /// What was noted is all.
    fn finish(self, end: End) -> Part {
        Part { log: self.recorder.finish(), end }
    }
}

/// Pushes the planned items.
fn send<T: Item>(mut tx: impl SingleProducer<Item = T>, mut side: Side) -> Part {
    side.meet();
    let end = push_all(&mut tx, &mut side);
    side.leave(tx, end);
    // What it kept back is visible now.
    side.recorder.flushed();
    side.finish(end)
}

fn push_all<T: Item>(tx: &mut impl SingleProducer<Item = T>, side: &mut Side) -> End {
    let mut next = 0;
    while next < side.pushes {
        let n = side.next_step().min(side.pushes - next);
        let (moved, closed) = match side.plan.way {
            Way::Single => push_singly(tx, &mut side.recorder, next, n),
            way => push_batch(tx, &mut side.recorder, way, next, n),
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

/// Notes why a push failed. Says whether the consumer is gone.
fn note_no_room<T>(recorder: &mut Recorder, error: &TryPushError<T>) -> bool {
    if !matches!(error, TryPushError::Busy(_)) {
        recorder.full();
    }
    matches!(error, TryPushError::Closed(_))
}

/// Pushes `n` items one by one. Says how many it were, and whether the consumer is gone.
fn push_singly<T: Item>(
    tx: &mut impl SingleProducer<Item = T>,
    recorder: &mut Recorder,
    next: usize,
    n: usize,
) -> (usize, bool) {
    for moved in 0..n {
        match tx.try_push(T::of((next + moved) as u64)) {
            Ok(()) => recorder.pushed(1),
            Err(error) => {
                let closed = note_no_room(recorder, &error);
                recorder.done();
                return (moved, closed);
            }
        }
        recorder.done();
    }
    (n, false)
}

/// As [`push_singly`], at once.
fn push_batch<T: Item>(
    tx: &mut impl SingleProducer<Item = T>,
    recorder: &mut Recorder,
    way: Way,
    next: usize,
    n: usize,
) -> (usize, bool) {
    let items = (next..next + n).map(|number| T::of(number as u64));
    let (mut moved, mut closed) = (0, false);
    if way == Way::Iterators {
        moved = tx.push_iter(items);
        recorder.pushed(moved);
        if moved < n {
            // The method does not say why it ended. This does.
            match tx.try_push(T::of((next + moved) as u64)) {
                Ok(()) => {
                    recorder.pushed(1);
                    moved += 1;
                }
                Err(error) => closed = note_no_room(recorder, &error),
            }
        }
    } else {
        match tx.write_chunk_uninit(n) {
            Ok(chunk) => {
                moved = chunk.fill_from_iter(items);
                recorder.pushed(moved);
            }
            Err(error) => closed = note_no_room(recorder, &error),
        }
    }
    recorder.done();
    (moved, closed)
}

/// Pops until the queue is closed.
fn receive<T: Item + Into<u64>>(mut rx: impl SingleConsumer<Item = T>, mut side: Side) -> Part {
    let end = pop_all(&mut rx, &mut side);
    side.leave(rx, end);
    side.finish(end)
}

fn pop_all<T: Item + Into<u64>>(rx: &mut impl SingleConsumer<Item = T>, side: &mut Side) -> End {
    // What moves nothing leaves this room alone.
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

/// Notes what a pop gave, or why it failed.
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

/// Pops up to `n` items one by one. Says how many it were, and why not more.
fn pop_singly<T: Item + Into<u64>>(
    rx: &mut impl SingleConsumer<Item = T>,
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

/// As [`pop_singly`], at once.
fn pop_batch<T: Item + Into<u64>>(
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
    let mut outcome = Ok(());
    if way == Way::Iterators {
        rx.pop_iter().take(n).for_each(&mut note);
        if moved < n {
            // The iterator does not say why it ended. This does.
            outcome = note_pop(recorder, rx.try_pop());
            moved += usize::from(outcome.is_ok());
        }
    } else {
        match rx.read_chunk(n) {
            Ok(chunk) => chunk.into_iter().for_each(&mut note),
            Err(end) => outcome = note_pop::<T>(recorder, Err(end)),
        }
    }
    recorder.done();
    (moved, outcome.err())
}

/// A history, and whether it came to its planned end.
#[derive(Debug)]
pub struct Recording {
    /// What the threads have noted.
    pub history: History,
    /// Why it ended early, if it did, though no operation was wrong.
    pub failure: Option<Witness>,
}

impl Recording {
    fn new(planned: usize, sent: Part, received: Part) -> Self {
        let ends = [sent.end, received.end];
        let drained = received.end == End::Closed;
        let history = History { logs: vec![sent.log, received.log], drained };
        let failure = failure(&history, planned, ends);
        Self { history, failure }
    }

    /// Checks the history and its end.
    ///
    /// # Errors
    ///
    /// A [`Witness`], if no queue with these `rules` can have the history, or if it ended early.
    pub fn check(&self, rules: &Rules) -> Result<(), Witness> {
        let found = check(&self.history, rules);
        let stale = |witness: &Witness| matches!(witness.violation, Violation::FullAndEmpty { .. });
        match &self.failure {
            // Operations that can't be together say more, but two outdated answers don't.
            Some(failure) if found.as_ref().err().is_none_or(stale) => Err(failure.clone()),
            _ => found,
        }
    }
}

/// What is wrong with the ends of both sides.
fn failure(history: &History, planned: usize, ends: [End; 2]) -> Option<Witness> {
    let counts = history.counts();
    let (pushed, popped) = (counts.pushes as usize, counts.pops as usize);
    let violation = if let Some(thread) = ends.iter().position(|&end| end == End::FalseClosed) {
        Violation::FalseClosed { thread, planned, pushed, popped }
    } else if ends.contains(&End::Stuck) {
        Violation::Stuck { planned, pushed, popped }
    } else {
        return None;
    };
    let logs = history.logs.iter().enumerate();
    let operations = logs.filter_map(|(thread, log)| last_operation(thread, log)).collect();
    Some(Witness { violation, operations })
}

/// The last thing that a thread did.
fn last_operation(thread: usize, log: &Log) -> Option<Operation> {
    let mut pushed = 0;
    let mut last = None;
    for (span, word) in log.operations() {
        let call = match word {
            Word::Pushes(n) => {
                pushed += n;
                Call::Push(Value { producer: thread, sequence: pushed - 1 })
            }
            Word::Pop(number) => Call::Pop(Value::of(number)),
            Word::Empty => Call::Empty,
            Word::Full => Call::Full,
            _ => continue,
        };
        last = Some(Operation { thread, call, span });
    }
    last
}

/// Lets two threads carry out `plan` on one queue, and returns what they noted.
///
/// A side that fails again and again gives up, so there is a history of a queue that is stuck, too.
pub fn record<T: Item + Into<u64>>(
    plan: &Plan,
    tx: impl SingleProducer<Item = T> + Send,
    rx: impl SingleConsumer<Item = T> + Send,
) -> Recording {
    let recordings = record_all(plan, [(tx, rx)]);
    recordings.into_iter().next().expect("one for each queue")
}

/// Lets two threads carry out `plan` on each of these queues, and returns what they noted.
///
/// They go from one queue to the next together, so each is closed while its consumer looks at it. The
/// queues after one that is stuck, or said closed when it was not, are left out.
pub fn record_all<T: Item + Into<u64>, Tx, Rx>(
    plan: &Plan,
    queues: impl IntoIterator<Item = (Tx, Rx)>,
) -> Vec<Recording>
where
    Tx: SingleProducer<Item = T> + Send,
    Rx: SingleConsumer<Item = T> + Send,
{
    let clock = Clock::start();
    let queues: Vec<_> = queues.into_iter().collect();
    let presences = queues.iter().map(|_| Default::default()).collect();
    let round = Round { presences, last: AtomicUsize::new(usize::MAX) };
    let mut planned = Vec::new();
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    for (number, (tx, rx)) in queues.into_iter().enumerate() {
        let [sender, receiver] = Side::pair(plan, &round, number, clock);
        planned.push(sender.pushes);
        senders.push((tx, sender));
        receivers.push((rx, receiver));
    }
    let cores = if plan.one_core { Cores::One } else { Cores::Two };
    let (sent, received) =
        both(cores, || one_by_one(senders, send), || one_by_one(receivers, receive));
    let parts = planned.into_iter().zip(sent).zip(received);
    parts.map(|((planned, sent), received)| Recording::new(planned, sent, received)).collect()
}

/// One side's part in all queues.
fn one_by_one<'a, H>(sides: Vec<(H, Side<'a>)>, play: fn(H, Side<'a>) -> Part) -> Vec<Part> {
    let mut parts = Vec::with_capacity(sides.len());
    for (handle, mut side) in sides {
        if !side.begin() {
            break;
        }
        parts.push(play(handle, side));
    }
    parts
}
