//! The two sides of a queue, each handle in a thread of its own, that carry out a plan and note what they
//! do.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use corelane::{Consumer, Producer, SingleConsumer, SingleProducer, TryPopError, TryPushError};

use super::log::{Log, Word};
use super::plan::{Pace, Plan, Way};
use super::witness::{Call, Operation, Violation, Witness};
use super::{Clock, History, Recorder, Rules, Value, check};
use crate::Item;
use crate::rng::Rng;
use crate::threads::{Cores, Patience, Task, all};

/// What the others may know of a thread, besides what the queue says.
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

/// What is shared by the threads at all queues of a round.
#[derive(Debug)]
struct Round {
    /// All threads at each queue, producers first.
    presences: Vec<Vec<Presence>>,
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

/// A thread at a queue, between two steps.
#[derive(Debug)]
struct Side<'a> {
    plan: &'a Plan,
    round: &'a Round,
    /// The queue's number in the round.
    number: usize,
    /// The thread's number. Producers come first.
    thread: usize,
    /// Items to be pushed: a producer's own, or all that consumers may get.
    pushes: usize,
    recorder: Recorder,
    rng: Rng,
    /// The pace that slows this side down.
    slow: Pace,
    patience: Patience,
    /// How often all had slept when this thread began to.
    naps: Vec<u32>,
}

/// What a thread leaves behind.
#[derive(Debug)]
struct Part {
    log: Log,
    end: End,
}

/// Moves up to `n` items, the first of which is the one with this number, and notes it. Says how many it
/// were, and whether the consumers are gone.
type PushBatch<Tx> = fn(&mut Tx, &mut Recorder, Way, u64, usize) -> (usize, bool);

/// Pops up to `n` items and notes it. Says how many it were, and why not more.
type PopBatch<Rx> = fn(&mut Rx, &mut Recorder, Way, usize) -> (usize, Option<TryPopError>);

impl<'a> Side<'a> {
    /// Sleeps in a row after which a side believes that nothing will change.
    const HOPELESS: u32 = 1000;

    /// All threads at the queue with this number.
    fn all(plan: &'a Plan, round: &'a Round, number: usize, clock: Clock) -> Vec<Self> {
        let seed = (plan.seed << 16 | number as u64) << 2;
        // Of the threads of a side, each draws numbers of its own.
        let seed_of = |mate: usize, bit: u64| seed | bit | (mate as u64) << 60;
        let planned = |mate| match plan.is_short() {
            true => Rng::new(seed_of(mate, 2)).below(plan.pushes + 1),
            false => plan.pushes,
        };
        let all_pushes = (0..plan.producers).map(planned).sum();
        let side = |thread, pushes, slow, seed| Side {
            plan,
            round,
            number,
            thread,
            pushes,
            // And room for two steps more: a consumer that finds less got more than was planned.
            recorder: Recorder::new(clock, pushes + 2 * Plan::STEP, plan.period),
            rng: Rng::new(seed),
            slow,
            patience: Patience::default(),
            naps: Vec::new(),
        };
        let producers = (0..plan.producers)
            .map(|mate| side(mate, planned(mate), Pace::SlowProducer, seed_of(mate, 0)));
        let consumers = (0..plan.consumers).map(|mate| {
            side(plan.producers + mate, all_pushes, Pace::SlowConsumer, seed_of(mate, 1))
        });
        producers.chain(consumers).collect()
    }

    /// All threads at this queue.
    fn presences(&self) -> &'a [Presence] {
        &self.round.presences[self.number]
    }

    fn me(&self) -> &'a Presence {
        &self.presences()[self.thread]
    }

    /// The threads of the other side.
    fn peers(&self) -> &'a [Presence] {
        let (producers, consumers) = self.presences().split_at(self.plan.producers);
        if self.thread < producers.len() { consumers } else { producers }
    }

    /// Comes to the queue. `false` if that is not wanted any more.
    fn begin(&mut self) -> bool {
        self.me().came.store(true, Ordering::Relaxed);
        self.recorder.resume();
        !self.is_left_out()
    }

    /// Waits until all have come, so that they see the end from near.
    fn meet(&mut self) {
        let came = |other: &Presence| other.came.load(Ordering::Relaxed);
        let met = || self.presences().iter().all(came) || self.is_left_out();
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

    /// Whether this thread has slept so often in vain, and not only because others were not let run.
    fn is_hopeless(&mut self, naps: u32) -> bool {
        self.me().naps.fetch_add(1, Ordering::Relaxed);
        let slept = |other: &Presence| other.naps.load(Ordering::Relaxed);
        if naps == 1 {
            self.naps = self.presences().iter().map(slept).collect();
        }
        if naps < Self::HOPELESS {
            return false;
        }
        self.patience = Patience::default();
        self.presences().iter().zip(&self.naps).all(|(other, before)| {
            let has_left = other.left.load(Ordering::Relaxed);
            has_left || slept(other) - before >= Self::HOPELESS / 2
        })
    }

    /// What it means that the queue says that the other side is gone.
    ///
    /// Relaxed: that answer promises to show what the other side did before, and this was part of it.
    fn told_closed(&self) -> End {
        match self.peers().iter().all(|peer| peer.left.load(Ordering::Relaxed)) {
            true => End::Closed,
            false => End::FalseClosed,
        }
    }

    /// Drops the handle.
    fn leave<H>(&mut self, handle: H, end: End) {
        if matches!(end, End::FalseClosed | End::Stuck) {
            self.round.last.fetch_min(self.number, Ordering::Relaxed);
        }
        self.me().left.store(true, Ordering::Relaxed);
        drop(handle);
    }

    /// What was noted is all.
    fn finish(self, end: End) -> Part {
        Part { log: self.recorder.finish(), end }
    }
}

/// Pushes the planned items.
fn send<T: Item, Tx: Producer<Item = T>>(
    mut tx: Tx,
    mut side: Side,
    push_batch: PushBatch<Tx>,
) -> Part {
    side.meet();
    let end = push_all(&mut tx, &mut side, push_batch);
    side.leave(tx, end);
    // What it kept back is visible now.
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

/// Notes why a push failed. Says whether the consumer is gone.
fn note_no_room<T>(recorder: &mut Recorder, error: &TryPushError<T>) -> bool {
    if !matches!(error, TryPushError::Busy(_)) {
        recorder.full();
    }
    matches!(error, TryPushError::Closed(_))
}

/// Pushes the item with this number. Fails with whether the consumers are gone.
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

/// Pushes `n` items one by one. Says how many it were, and whether the consumers are gone.
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

/// Notes that the first `moved` of `n` items were pushed at once, by a method that does not say why it
/// ended. One push more does.
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

/// As [`push_singly`], at once, as only a single producer can.
fn push_lent<T: Item>(
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
fn push_slice<T: Item + Copy>(
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
fn receive<T: Item + Into<u64>, Rx: Consumer<Item = T>>(
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

/// What is left to do when the first `moved` of `n` items were popped at once and noted, by a method that
/// does not say why it ended. One pop more does.
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

/// As [`pop_singly`], at once, as only a single consumer can.
fn pop_lent<T: Item + Into<u64>>(
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
fn pop_slice<T: Item + Into<u64> + Copy>(
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

/// A history, and whether it came to its planned end.
#[derive(Debug)]
pub struct Recording {
    /// What the threads have noted.
    pub history: History,
    /// Why it ended early, if it did, though no operation was wrong.
    pub failure: Option<Witness>,
}

impl Recording {
    /// What is left of the threads at one queue, of which the first are producers.
    fn new(planned: usize, producers: usize, parts: Vec<Part>) -> Self {
        let (ends, logs): (Vec<_>, _) = parts.into_iter().map(|part| (part.end, part.log)).unzip();
        // One that was told so may have been told while another had the last item in its hands.
        let drained = ends[producers..].iter().all(|&end| end == End::Closed);
        let history = History { logs, drained };
        let failure = failure(&history, planned, &ends);
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

/// What is wrong with the ends of all threads.
fn failure(history: &History, planned: usize, ends: &[End]) -> Option<Witness> {
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
    let queues = queues.into_iter().map(|(tx, rx)| (vec![tx], vec![rx])).collect();
    play(plan, queues, (push_lent, pop_lent))
}

/// As [`record_all`], for queues that have as many handles as planned.
pub fn record_several<T: Item + Into<u64> + Copy, Tx, Rx>(
    plan: &Plan,
    queues: impl IntoIterator<Item = (Vec<Tx>, Vec<Rx>)>,
) -> Vec<Recording>
where
    Tx: Producer<Item = T> + Send,
    Rx: Consumer<Item = T> + Send,
{
    play(plan, queues.into_iter().collect(), (push_slice, pop_slice))
}

/// Lets a thread for each handle of a queue carry out `plan`.
fn play<T: Item + Into<u64>, Tx, Rx>(
    plan: &Plan,
    queues: Vec<(Vec<Tx>, Vec<Rx>)>,
    (push_batch, pop_batch): (PushBatch<Tx>, PopBatch<Rx>),
) -> Vec<Recording>
where
    Tx: Producer<Item = T> + Send,
    Rx: Consumer<Item = T> + Send,
{
    let clock = Clock::start();
    let threads = plan.producers + plan.consumers;
    let presences = queues.iter().map(|_| (0..threads).map(|_| Presence::default()).collect());
    let round = Round { presences: presences.collect(), last: AtomicUsize::new(usize::MAX) };
    let mut planned = Vec::new();
    let mut senders: Vec<Vec<_>> = (0..plan.producers).map(|_| Vec::new()).collect();
    let mut receivers: Vec<Vec<_>> = (0..plan.consumers).map(|_| Vec::new()).collect();
    for (number, (txs, rxs)) in queues.into_iter().enumerate() {
        assert_eq!((txs.len(), rxs.len()), (plan.producers, plan.consumers), "as planned");
        let mut sides = Side::all(plan, &round, number, clock);
        let at_consumers = sides.split_off(plan.producers);
        planned.push(sides.iter().map(|side| side.pushes).sum());
        senders.iter_mut().zip(txs.into_iter().zip(sides)).for_each(|(all, one)| all.push(one));
        receivers
            .iter_mut()
            .zip(rxs.into_iter().zip(at_consumers))
            .for_each(|(all, one)| all.push(one));
    }
    let mut tasks: Vec<Task<Vec<Part>>> = Vec::new();
    for parts in senders {
        tasks.push(Box::new(move || one_by_one(parts, |tx, side| send(tx, side, push_batch))));
    }
    for parts in receivers {
        tasks.push(Box::new(move || one_by_one(parts, |rx, side| receive(rx, side, pop_batch))));
    }
    let cores = if plan.one_core { Cores::One } else { Cores::Two };
    let mut parts: Vec<_> = all(cores, tasks).into_iter().map(Vec::into_iter).collect();
    let mut of_each = || parts.iter_mut().map(Iterator::next).collect::<Option<Vec<Part>>>();
    planned
        .into_iter()
        .map_while(|planned| Some(Recording::new(planned, plan.producers, of_each()?)))
        .collect()
}

/// A thread's part in all queues.
fn one_by_one<'a, H>(sides: Vec<(H, Side<'a>)>, play: impl Fn(H, Side<'a>) -> Part) -> Vec<Part> {
    let mut parts = Vec::with_capacity(sides.len());
    for (handle, mut side) in sides {
        if !side.begin() {
            break;
        }
        parts.push(play(handle, side));
    }
    parts
}
