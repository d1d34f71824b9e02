//! Recordings: the notes of the threads at a queue, and whether they reached the planned end.

use std::sync::atomic::AtomicUsize;

use corelane::{
    BoxedConsumer, BoxedProducer, BoxedSingleConsumer, BoxedSingleProducer, Consumer, Producer,
};
use corelane_harness::Item;
use corelane_harness::threads::{Cores, Task, all};

use super::plan::Plan;
use super::record::Clock;
use super::side::{End, Part, Presence, Round, Side};
use super::steps::{
    PopBatch, PushBatch, pop_lent, pop_slice, push_lent, push_slice, receive, send,
};
use crate::log::{Log, Word};
use crate::witness::{Call, Operation, Violation, Witness};
use crate::{History, Rules, Value, check};

/// A history, and whether it reached its planned end.
#[derive(Debug)]
pub struct Recording {
    /// The notes of all threads.
    pub history: History,
    /// Why the history ended early, if it did.
    pub failure: Option<Witness>,
}

impl Recording {
    /// The results of the threads at one queue. The first are producers.
    fn new(planned: usize, producers: usize, parts: Vec<Part>) -> Self {
        let (ends, logs): (Vec<_>, _) = parts.into_iter().map(|part| (part.end, part.log)).unzip();
        // A consumer may have been told closed while another was taking the last item.
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
            // A contradiction between operations says more than an early end, except two answers
            // that are out of date.
            Some(failure) if found.as_ref().err().is_none_or(stale) => Err(failure.clone()),
            _ => found,
        }
    }
}

/// The violation in the ends of all threads.
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

/// A thread's last operation.
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
            Word::Missed(n) => Call::Missed(n),
            Word::Empty => Call::Empty,
            Word::Full => Call::Full,
            _ => continue,
        };
        last = Some(Operation { thread, call, span });
    }
    last
}

/// Lets two threads carry out `plan` on one queue, and returns their notes.
///
/// A side that fails again and again gives up, so even a stuck queue has a history.
pub fn record<T: Item + Into<u64>>(
    plan: &Plan,
    tx: BoxedSingleProducer<T>,
    rx: BoxedSingleConsumer<T>,
) -> Recording {
    let recordings = record_all(plan, [(tx, rx)]);
    recordings.into_iter().next().expect("one for each queue")
}

/// Lets two threads carry out `plan` on each of these queues, and returns their notes.
///
/// The threads go from one queue to the next together, so each queue is closed while its consumer
/// uses it. After a queue that is stuck, or said closed too early, the other queues are left out.
pub fn record_all<T: Item + Into<u64>>(
    plan: &Plan,
    queues: impl IntoIterator<Item = (BoxedSingleProducer<T>, BoxedSingleConsumer<T>)>,
) -> Vec<Recording> {
    let queues = queues.into_iter().map(|(tx, rx)| (vec![tx], vec![rx])).collect();
    play(plan, queues, (push_lent, pop_lent))
}

/// As [`record_all`], for queues that have as many handles as planned.
pub fn record_several<T: Item + Into<u64> + Copy>(
    plan: &Plan,
    queues: impl IntoIterator<Item = (Vec<BoxedProducer<T>>, Vec<BoxedConsumer<T>>)>,
) -> Vec<Recording> {
    play(plan, queues.into_iter().collect(), (push_slice, pop_slice))
}

/// Lets a thread for each handle of a queue carry out `plan`.
pub(super) fn play<T: Item + Into<u64>, Tx, Rx>(
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
