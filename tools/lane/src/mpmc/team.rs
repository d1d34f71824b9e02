//! Producers and consumers that work at the same time, each on its core.
//!
//! A measurement lasts a fixed time, and every thread counts what it did in it. The alternative, a fixed
//! number of items, would end with fewer and fewer threads at work, and could say nothing of fairness,
//! because all producers would push the same. What is in the queue when the time is over is popped and
//! checked, but doesn't count.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use core_affinity::CoreId;
use hdrhistogram::Histogram;

use super::account::{Account, Fault, Tally};
use super::effort::{Effort, Who};
use super::goods::Goods;
use super::kernels::Run;
use super::params::Params;
use super::placement::Placement;
use super::probe::Probe;
use super::{receive, send};
use crate::cell::Length;
use crate::link::Link;
use crate::pair::{self, Gate, Wait};

/// Longest warm-up.
const WARM_UP: Duration = Duration::from_millis(5);
/// Items of a warm-up of which there are not to be many.
const WARM_UP_ITEMS: u64 = 1000;
/// How long the time-keeper waits at most for the first item to be popped, when the time is over.
const FIRST_ITEM: Duration = Duration::from_secs(10);

/// The warm-up, or what is measured. On a line of its own: all threads read it again and again.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Part {
    over: AtomicBool,
    /// Whether something was popped.
    begun: AtomicBool,
    length: Length,
    /// Items after which the first consumer that has popped them ends the part.
    share: u64,
}

impl Part {
    fn of(length: Length, consumers: usize) -> Self {
        let share = match length {
            Length::Time(_) => u64::MAX,
            Length::Items(items) => items.div_ceil(consumers.max(1) as u64),
        };
        // Without consumers nothing is popped.
        Self { over: AtomicBool::new(false), begun: AtomicBool::new(consumers == 0), length, share }
    }

    /// Whether threads are to stop.
    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// A consumer has popped so many items.
    #[inline(always)]
    pub(super) fn popped(&self, items: u64) {
        if !self.begun.load(Ordering::Relaxed) {
            self.begun.store(true, Ordering::Relaxed);
        }
        if items >= self.share {
            self.over.store(true, Ordering::Relaxed);
        }
    }

    /// Ends the part when its time is over, and something was popped: nobody could say how long nothing
    /// takes.
    fn keep_time(&self) {
        let Length::Time(length) = self.length else { return };
        thread::sleep(length);
        let nap = Duration::from_micros(200);
        let mut naps = FIRST_ITEM.as_micros() / nap.as_micros();
        while !self.begun.load(Ordering::Relaxed) && naps > 0 {
            thread::sleep(nap);
            naps -= 1;
        }
        self.over.store(true, Ordering::Relaxed);
    }
}

/// What the threads of a measurement share.
#[derive(Debug)]
pub(super) struct Common {
    /// All threads, and the time-keeper.
    pub(super) gate: Gate,
    pub(super) warm_up: Part,
    pub(super) measured: Part,
    pub(super) account: Account,
    pub(super) batch: usize,
    pub(super) wait: Wait,
}

impl Common {
    fn of(params: &Params, length: Length) -> Self {
        let warm_up = match length {
            Length::Time(time) => Length::Time((time / 4).min(WARM_UP)),
            Length::Items(items) => Length::Items(items.min(WARM_UP_ITEMS)),
        };
        Self {
            gate: Gate::of(params.producers + params.consumers + 1),
            warm_up: Part::of(warm_up, params.consumers),
            measured: Part::of(length, params.consumers),
            account: Account::of(params.producers),
            batch: params.batch,
            wait: params.wait,
        }
    }

    /// What the thread does that started the others: it has no core of its own, so it mostly sleeps.
    fn keep_time(&self) {
        for part in [&self.warm_up, &self.measured] {
            self.gate.meet(Wait::Yield);
            part.keep_time();
        }
        self.gate.meet(Wait::Yield);
    }
}

/// What a thread did.
#[derive(Debug)]
pub(super) struct Report {
    /// Items of the measured part.
    pub(super) items: u64,
    /// Items of the measured part that found no room and were not tried again.
    pub(super) lost: u64,
    /// All items that this thread found overwritten, those of the warm-up included.
    pub(super) overwritten: u64,
    /// When the measured part began and ended for this thread, in ticks.
    pub(super) from: u64,
    /// See `from`.
    pub(super) to: u64,
    /// All items, those of the warm-up included.
    pub(super) tally: Tally,
    /// Items out of order.
    pub(super) unordered: u64,
    /// What the probe noted.
    pub(super) notes: Option<Histogram<u64>>,
}

/// What all threads did.
#[derive(Debug)]
pub(super) struct Reports {
    pub(super) producers: Vec<Report>,
    pub(super) consumers: Vec<Report>,
}

impl Reports {
    /// Ticks of the measured part, from the first thread that went through the gate to the first that
    /// saw that the time was over. All others that were running saw it within a moment, and those that
    /// weren't did nothing more.
    pub(super) fn ticks(&self) -> u64 {
        let all = || self.producers.iter().chain(&self.consumers);
        let from = all().map(|report| report.from).min().unwrap_or(0);
        let to = all().map(|report| report.to).min().unwrap_or(0);
        to.saturating_sub(from).max(1)
    }

    fn check(self) -> Result<Self, Fault> {
        let tally = |side: &[Report]| Tally::total(side.iter().map(|report| report.tally));
        let unordered = self.consumers.iter().map(|report| report.unordered).sum();
        let overwritten = self.consumers.iter().map(|report| report.overwritten).sum();
        Fault::find(tally(&self.producers), tally(&self.consumers), overwritten, unordered)?;
        Ok(self)
    }
}

/// A thread that is to be started, with its core.
type Task<'a> = (CoreId, Box<dyn FnOnce() -> Report + Send + 'a>);

/// All threads of a measurement on a new queue.
pub(super) fn run<L, E, P>(run: &Run<'_>) -> Result<Reports, Fault>
where
    L: Link<Item: Goods>,
    E: Effort,
    P: Probe,
{
    run_with::<L>(run, send::work::<L::Tx, E, P>, receive::work::<L::Rx, E, P>)
}

/// The same, with what a thread of either side does: compiled once for a queue, and not for each measurement.
fn run_with<L: Link<Item: Goods>>(
    run: &Run<'_>,
    send: fn(L::Tx, Who, &Common) -> Report,
    receive: fn(L::Rx, Who, &Common) -> Report,
) -> Result<Reports, Fault> {
    let params = run.params;
    let common = &Common::of(params, run.length);
    let places = Placement::of(params.producers, params.consumers, run.cores);
    let (senders, mut receivers) = handles::<L>(params).expect("tried before the first round");
    let idle = if params.consumers == 0 { receivers.pop() } else { None };
    let who = |produces, number| Who { produces, number, wait: params.wait };
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for ((number, tx), core) in (0..).zip(senders).zip(places.producers) {
        let who = who(true, number);
        tasks.push((core, Box::new(move || send(tx, who, common))));
    }
    for ((number, rx), core) in (0..).zip(receivers).zip(places.consumers) {
        let who = who(false, number);
        tasks.push((core, Box::new(move || receive(rx, who, common))));
    }
    let mut producers = start(tasks, common);
    let mut consumers = producers.split_off(params.producers);
    consumers.extend(idle.map(|rx| receive::leftovers(rx, common)));
    Reports { producers, consumers }.check()
}

/// The handles of both sides.
type Handles<L> = (Vec<<L as Link>::Tx>, Vec<<L as Link>::Rx>);

/// Handles for all threads.
pub(super) fn handles<L: Link>(params: &Params) -> Result<Handles<L>, String> {
    let (tx, rx) = L::open(&params.setup())?;
    let missing = || "not for so many threads".to_owned();
    let senders: Option<Vec<_>> = (1..params.producers).map(|_| L::another_tx(&tx)).collect();
    let receivers: Option<Vec<_>> = (1..params.consumers).map(|_| L::another_rx(&rx)).collect();
    let (mut senders, mut receivers) =
        (senders.ok_or_else(missing)?, receivers.ok_or_else(missing)?);
    senders.push(tx);
    receivers.push(rx);
    Ok((senders, receivers))
}

/// Starts all threads, keeps the time, and returns what they report.
fn start(tasks: Vec<Task<'_>>, common: &Common) -> Vec<Report> {
    thread::scope(|scope| {
        let tasks = tasks.into_iter();
        let threads: Vec<_> =
            tasks.map(|(core, task)| scope.spawn(move || pair::pinned(core, task))).collect();
        common.keep_time();
        threads.into_iter().map(pair::joined).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use corelane::Sides;

    use super::super::effort::{Free, Spins};
    use super::super::probe::{Calls, Silent, Stays};
    use super::*;
    use crate::cli::Workload;
    use crate::link::{Rx, Setup, Tx};

    /// What a queue does wrong.
    const RIGHT: u8 = 0;
    const DOUBLES: u8 = 1;
    const LOSES: u8 = 2;
    const REVERSES: u8 = 3;

    /// A queue behind a lock, which does something wrong every tenth time.
    struct Locked<const WRONG: u8>;

    struct Handle<const WRONG: u8>(Arc<Mutex<(VecDeque<u64>, u64)>>, usize);

    impl<const WRONG: u8> Link for Locked<WRONG> {
        const SIDES: Sides = Sides::ManyToMany;
        type Item = u64;
        type Tx = Handle<WRONG>;
        type Rx = Handle<WRONG>;

        fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
            let shared = Arc::default();
            Ok((Handle(Arc::clone(&shared), setup.capacity), Handle(shared, setup.capacity)))
        }

        fn another_tx(tx: &Self::Tx) -> Option<Self::Tx> {
            Some(Handle(tx.0.clone(), tx.1))
        }

        fn another_rx(rx: &Self::Rx) -> Option<Self::Rx> {
            Some(Handle(rx.0.clone(), rx.1))
        }
    }

    impl<const WRONG: u8> Tx for Handle<WRONG> {
        type Item = u64;

        fn try_push(&mut self, item: u64) -> bool {
            let (queue, pushes) = &mut *self.0.lock().expect("no panic");
            if queue.len() >= self.1 {
                return false;
            }
            *pushes += 1;
            match WRONG {
                DOUBLES if *pushes % 10 == 0 => queue.extend([item, item]),
                LOSES if *pushes % 10 == 0 => {}
                REVERSES if *pushes % 10 == 0 => queue.push_front(item),
                _ => queue.push_back(item),
            }
            true
        }
    }

    impl<const WRONG: u8> Rx for Handle<WRONG> {
        type Item = u64;

        fn try_pop(&mut self) -> Option<u64> {
            self.0.lock().expect("no panic").0.pop_front()
        }
    }

    fn run_on<L: Link<Item: Goods>, E: Effort, P: Probe>(batch: usize) -> Result<Reports, Fault> {
        let params = Params {
            producers: 2,
            consumers: 2,
            capacity: 16,
            batch,
            workload: Workload::Simple,
            wait: Wait::Yield,
            operation: None,
        };
        let length = Length::Items(500);
        run::<L, E, P>(&Run { params: &params, length, cores: &[CoreId { id: 0 }] })
    }

    #[test]
    fn a_right_queue_passes() {
        for batch in [1, 8] {
            let reports = run_on::<Locked<RIGHT>, Free, Silent>(batch).expect("it is right");
            let items = |side: &[Report]| side.iter().map(|report| report.items).sum::<u64>();
            assert!(items(&reports.consumers) >= 250, "a consumer has had its share");
            assert!(reports.ticks() > 0);
        }
        let stays = run_on::<Locked<RIGHT>, Spins, Stays>(1).expect("it is right");
        let noted =
            |side: &[Report]| side.iter().filter_map(|r| Some(r.notes.as_ref()?.len())).sum();
        let (pushes, pops): (u64, u64) = (noted(&stays.producers), noted(&stays.consumers));
        assert!(pushes == 0 && pops > 0);
        let calls = run_on::<Locked<RIGHT>, Free, Calls>(1).expect("it is right");
        let (pushes, pops): (u64, u64) = (noted(&calls.producers), noted(&calls.consumers));
        assert!(pushes > 0 && pops > 0);
    }

    #[test]
    fn a_wrong_queue_is_found_out() {
        let doubles = run_on::<Locked<DOUBLES>, Free, Silent>(1).expect_err("it doubles");
        assert!(matches!(doubles, Fault::Count { pushed, popped } if pushed < popped));
        let reverses = run_on::<Locked<REVERSES>, Free, Silent>(1).expect_err("it reverses");
        assert!(matches!(reverses, Fault::Unordered(_)));
        let loses = run_on::<Locked<LOSES>, Free, Silent>(8).expect_err("it loses");
        assert!(matches!(loses, Fault::Count { pushed, popped } if pushed > popped));
    }
}
