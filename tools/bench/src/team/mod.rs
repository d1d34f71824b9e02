//! Producers and consumers that work at the same time, each on its core: the microbenchmarks of paper 3, §2.6.2.
//!
//! A measurement lasts a fixed time, and every thread counts what it did in it. The alternative, a fixed
//! number of items, would end with fewer and fewer threads at work, and could say nothing of fairness,
//! because all producers would push the same. What is in the queue when the time is over is popped and
//! checked, but doesn't count.

mod account;
mod common;
mod effort;
mod full_empty;
mod probe;
mod receive;
mod send;

use std::thread;

use core_affinity::CoreId;
use corelane::{Config, Consumer, Producer, Queue};
use hdrhistogram::Histogram;

use self::account::Fault;
use self::common::{Common, TeamReport, ThreadReport};
use self::effort::{Effort, NoEffort, Spins, Timetable, Who};
use self::probe::{Calls, Probe, Silent, Stays, typical};
use crate::clock::Clock;
use crate::goods::Goods;
use crate::kinds::{Operation, TeamSize, Test, Workload};
use crate::pair;
use crate::params::{TeamSetting, Trial};
use crate::sample::{Fairness, Sample, merged};

/// The kernels of one queue.
#[derive(Debug)]
pub(crate) struct TeamKernels {
    simple_throughput: Threads,
    simple: Latencies,
    complex_throughput: Threads,
    complex: Latencies,
    profiling: Latencies,
    full: Alone,
    empty: Alone,
}

type Threads = fn(&Trial<'_>, &TeamSetting) -> Result<TeamReport, Fault>;
type Alone = fn(&Trial<'_>) -> Result<Sample, Fault>;

/// The kernels of one queue and one workload that note times.
#[derive(Debug)]
struct Latencies {
    data: Threads,
    op: Threads,
}

impl Latencies {
    fn of<T: Goods, Q: Queue<T>, E: Effort>() -> Self {
        Self { data: run::<T, Q, E, Stays>, op: run::<T, Q, E, Calls> }
    }
}

impl TeamKernels {
    /// Those of a queue that carries numbers as `N` and boxes as `B`.
    pub(crate) fn of<N: Goods, B: Goods, Q: Queue<N> + Queue<B>>() -> Self {
        Self {
            simple_throughput: run::<N, Q, NoEffort, Silent>,
            simple: Latencies::of::<N, Q, NoEffort>(),
            complex_throughput: run::<B, Q, Spins, Silent>,
            complex: Latencies::of::<B, Q, Spins>(),
            profiling: Latencies::of::<N, Q, Timetable>(),
            full: full_empty::full::<N, Q>,
            empty: full_empty::empty::<N, Q>,
        }
    }

    pub(crate) fn measure(
        &self,
        test: Test,
        trial: &Trial<'_>,
        team: &TeamSetting,
    ) -> Result<Sample, Fault> {
        let latencies = match team.workload {
            Workload::Simple => &self.simple,
            Workload::Complex => &self.complex,
            Workload::Profiling => &self.profiling,
        };
        let threads = match (test, team.workload) {
            (Test::FullEmpty, _) if team.operation == Some(Operation::Push) => {
                return (self.full)(trial);
            }
            (Test::FullEmpty, _) => return (self.empty)(trial),
            (Test::DataLatency, _) => latencies.data,
            (Test::OpLatency, _) => latencies.op,
            (Test::Throughput, Workload::Complex) => self.complex_throughput,
            // Throughput isn't planned with `profiling`, whose rates are fixed.
            _ => self.simple_throughput,
        };
        Ok(sample(test, team.workload, threads(trial, team)?))
    }
}

/// What threads did in a measurement of `test` under `workload`.
fn sample(test: Test, workload: Workload, team: TeamReport) -> Sample {
    let sum =
        |side: &[ThreadReport], of: fn(&ThreadReport) -> u64| side.iter().map(of).sum::<u64>();
    let pushed = sum(&team.producers, |thread| thread.items);
    let popped = sum(&team.consumers, |thread| thread.items);
    let refused = sum(&team.producers, |thread| thread.lost);
    let lost = (workload == Workload::Profiling)
        .then(|| refused as f64 / (refused + pushed).max(1) as f64);
    let ns = Clock::get().ns(team.ticks());
    let (producers, consumers) = (fairness(&team.producers), fairness(&team.consumers));
    let fairness = Some(Fairness { producers, consumers });
    let (pushes, pops) = (notes(&team.producers), notes(&team.consumers));
    match test {
        Test::DataLatency => {
            let value = pops.as_ref().map_or(f64::NAN, |stays| stays.mean());
            Sample { lost, latency: pops, ..Sample::of(value) }
        }
        Test::OpLatency => {
            let of = |times: &Option<_>| times.as_ref().map_or(f64::NAN, typical);
            let value = of(&pushes) + of(&pops);
            Sample { lost, pushes, pops, ..Sample::of(value) }
        }
        Test::Overwrite => {
            let share = popped as f64 / pushed.max(1) as f64;
            let lost = (popped > 0).then(|| 1.0 - share.min(1.0));
            Sample { fairness, lost, ..Sample::of(ns / pushed.max(1) as f64) }
        }
        // If nobody got an item, one takes at least as long.
        _ => Sample { fairness, ..Sample::of(ns / popped.max(1) as f64) },
    }
}

fn fairness(side: &[ThreadReport]) -> f64 {
    let items = || side.iter().map(|thread| thread.items);
    let (slowest, fastest) = (items().min().unwrap_or(0), items().max().unwrap_or(0));
    if fastest == 0 { 1.0 } else { slowest as f64 / fastest as f64 }
}

fn notes(side: &[ThreadReport]) -> Option<Histogram<u64>> {
    merged(side.iter().filter_map(|thread| thread.notes.as_ref()))
}

/// A thread that is to be started, with its core.
type TeamTask<'a> = (CoreId, Box<dyn FnOnce() -> ThreadReport + Send + 'a>);

fn run<T, Q, E, P>(trial: &Trial<'_>, team: &TeamSetting) -> Result<TeamReport, Fault>
where
    T: Goods,
    Q: Queue<T>,
    E: Effort,
    P: Probe,
{
    let send = send::work::<Q::Producer, E, P>;
    run_with::<T, Q>(trial, team, send, receive::work::<Q::Consumer, E, P>)
}

/// The same, with what a thread of either side does: compiled once for a queue, and not for each measurement.
fn run_with<T: Goods, Q: Queue<T>>(
    trial: &Trial<'_>,
    team: &TeamSetting,
    send: fn(Q::Producer, Who, &Common) -> ThreadReport,
    receive: fn(Q::Consumer, Who, &Common) -> ThreadReport,
) -> Result<TeamReport, Fault> {
    let TeamSize { producers, consumers } = team.size;
    let wait = trial.params.wait;
    let common = &Common::of(trial.params, team, trial.length);
    let core = |seat: &usize| trial.cores[seat % trial.cores.len()];
    let [producer_seats, consumer_seats] = seats(producers, consumers);
    let (senders, mut receivers) =
        handles::<T, Q>(trial.params.config(), team.size).expect("tried before the first round");
    let idle = if consumers == 0 { receivers.pop() } else { None };
    let who = |produces, number| Who { produces, number, wait };
    let mut tasks: Vec<TeamTask<'_>> = Vec::new();
    for ((number, tx), seat) in (0..).zip(senders).zip(&producer_seats) {
        let who = who(true, number);
        tasks.push((core(seat), Box::new(move || send(tx, who, common))));
    }
    for ((number, rx), seat) in (0..).zip(receivers).zip(&consumer_seats) {
        let who = who(false, number);
        tasks.push((core(seat), Box::new(move || receive(rx, who, common))));
    }
    let mut producers = start(tasks, common);
    let mut consumers = producers.split_off(team.size.producers);
    consumers.extend(idle.map(|rx| receive::leftovers(rx, common)));
    TeamReport { producers, consumers }.check()
}

/// The cores of so many producers, and of so many consumers, by number in the order in which they are used (paper 3
/// §2.6.2): a side of one thread has the first, and the others follow; otherwise producers and consumers take turns, and
/// the surplus of one side comes at the end. With more threads than cores it goes round.
pub fn seats(producers: usize, consumers: usize) -> [Vec<usize>; 2] {
    if producers == 1 {
        return [vec![0], (1..=consumers).collect()];
    }
    if consumers == 1 {
        return [(1..=producers).collect(), vec![0]];
    }
    let pairs = producers.min(consumers);
    let seat = |side: usize, number: usize| {
        if number < pairs { 2 * number + side } else { pairs + number }
    };
    [
        (0..producers).map(|number| seat(0, number)).collect(),
        (0..consumers).map(|number| seat(1, number)).collect(),
    ]
}

/// The handles of both sides.
type Handles<T, Q> = (Vec<<Q as Queue<T>>::Producer>, Vec<<Q as Queue<T>>::Consumer>);

/// Handles for all threads; one of a side that has none.
pub(crate) fn handles<T, Q: Queue<T>>(
    config: Config,
    size: TeamSize,
) -> Result<Handles<T, Q>, String> {
    let (tx, rx) = Q::with(config).map_err(|error| error.to_string())?;
    let missing = || "not for so many threads".to_owned();
    let senders: Option<Vec<_>> = (1..size.producers).map(|_| tx.try_clone()).collect();
    let receivers: Option<Vec<_>> = (1..size.consumers).map(|_| rx.try_clone()).collect();
    let (mut senders, mut receivers) =
        (senders.ok_or_else(missing)?, receivers.ok_or_else(missing)?);
    senders.push(tx);
    receivers.push(rx);
    Ok((senders, receivers))
}

/// Starts all threads, keeps the time, and returns what they report.
fn start(tasks: Vec<TeamTask<'_>>, common: &Common) -> Vec<ThreadReport> {
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

    use corelane::{Built, Info, Sides, TryPopError, TryPushError};

    use super::*;
    use crate::pair::Wait;
    use crate::params::{Length, Params, Setting};

    /// What a queue does wrong.
    const RIGHT: u8 = 0;
    const DOUBLES: u8 = 1;
    const LOSES: u8 = 2;
    const REVERSES: u8 = 3;

    /// A queue behind a lock, which does something wrong every tenth time.
    struct Wrong<const HOW: u8>;

    struct Handle<const HOW: u8>(Arc<Mutex<(VecDeque<u64>, u64)>>, usize);

    impl<const HOW: u8> Handle<HOW> {
        fn another(&self) -> Option<Self> {
            Some(Self(Arc::clone(&self.0), self.1))
        }
    }

    impl<const HOW: u8> Queue<u64> for Wrong<HOW> {
        const INFO: Info = Info { sides: Sides::ManyToMany, ..Info::RING };
        type Producer = Handle<HOW>;
        type Consumer = Handle<HOW>;

        fn with(config: Config) -> Built<Handle<HOW>, Handle<HOW>> {
            let shared = Arc::default();
            Ok((Handle(Arc::clone(&shared), config.capacity), Handle(shared, config.capacity)))
        }
    }

    impl<const HOW: u8> Producer for Handle<HOW> {
        type Item = u64;

        fn try_push(&mut self, item: u64) -> Result<(), TryPushError<u64>> {
            let (queue, pushes) = &mut *self.0.lock().expect("no panic");
            if queue.len() >= self.1 {
                return Err(TryPushError::Full(item));
            }
            *pushes += 1;
            match HOW {
                DOUBLES if *pushes % 10 == 0 => queue.extend([item, item]),
                LOSES if *pushes % 10 == 0 => {}
                REVERSES if *pushes % 10 == 0 => queue.push_front(item),
                _ => queue.push_back(item),
            }
            Ok(())
        }

        fn capacity(&self) -> usize {
            self.1
        }

        fn is_closed(&self) -> bool {
            false
        }

        fn try_clone(&self) -> Option<Self> {
            self.another()
        }
    }

    impl<const HOW: u8> Consumer for Handle<HOW> {
        type Item = u64;

        fn try_pop(&mut self) -> Result<u64, TryPopError> {
            self.0.lock().expect("no panic").0.pop_front().ok_or(TryPopError::Empty)
        }

        fn capacity(&self) -> usize {
            self.1
        }

        fn is_closed(&self) -> bool {
            false
        }

        fn try_clone(&self) -> Option<Self> {
            self.another()
        }
    }

    #[test]
    fn threads_take_cores_in_the_order_of_seats() {
        assert_eq!(seats(3, 1), [vec![1, 2, 3], vec![0]]);
        assert_eq!(seats(4, 2), [vec![0, 2, 4, 5], vec![1, 3]]);
        assert_eq!(seats(1, 4), [vec![0], vec![1, 2, 3, 4]]);
    }

    fn run_on<Q: Queue<u64>, E: Effort, P: Probe>(batch: usize) -> Result<TeamReport, Fault> {
        let size = TeamSize { producers: 2, consumers: 2 };
        let team = TeamSetting { size, batch, workload: Workload::Simple, operation: None };
        let setting = Setting::Team(team.clone());
        let params = Params { capacity: 16, wait: Wait::Yield, setting };
        let (length, cores) = (Length::Items(500), &[CoreId { id: 0 }]);
        run::<u64, Q, E, P>(&Trial { params: &params, length, cores, schedule: &[] }, &team)
    }

    #[test]
    fn a_right_queue_passes() {
        for batch in [1, 8] {
            let reports = run_on::<Wrong<RIGHT>, NoEffort, Silent>(batch).expect("it is right");
            let items = |side: &[ThreadReport]| side.iter().map(|report| report.items).sum::<u64>();
            assert!(items(&reports.consumers) >= 250, "a consumer has had its share");
            assert!(reports.ticks() > 0);
        }
        let stays = run_on::<Wrong<RIGHT>, Spins, Stays>(1).expect("it is right");
        let noted =
            |side: &[ThreadReport]| side.iter().filter_map(|r| Some(r.notes.as_ref()?.len())).sum();
        let (pushes, pops): (u64, u64) = (noted(&stays.producers), noted(&stays.consumers));
        assert!(pushes == 0 && pops > 0);
        let calls = run_on::<Wrong<RIGHT>, NoEffort, Calls>(1).expect("it is right");
        let (pushes, pops): (u64, u64) = (noted(&calls.producers), noted(&calls.consumers));
        assert!(pushes > 0 && pops > 0);
    }

    #[test]
    fn a_wrong_queue_is_found_out() {
        let doubles = run_on::<Wrong<DOUBLES>, NoEffort, Silent>(1).expect_err("it doubles");
        assert!(matches!(doubles, Fault::Count { pushed, popped } if pushed < popped));
        let reverses = run_on::<Wrong<REVERSES>, NoEffort, Silent>(1).expect_err("it reverses");
        assert!(matches!(reverses, Fault::Unordered(_)));
        let loses = run_on::<Wrong<LOSES>, NoEffort, Silent>(8).expect_err("it loses");
        assert!(matches!(loses, Fault::Count { pushed, popped } if pushed > popped));
    }
}
