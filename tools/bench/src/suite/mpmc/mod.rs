//! `lane bench mpmc`: producers and consumers that work at the same time, each on its core: the
//! microbenchmarks of paper 3, §2.6.2.
//!
//! A measurement lasts a fixed time, and every thread counts its items. With a fixed number of
//! items, fewer and fewer threads would be at work at the end, and fairness could not be measured,
//! because all producers would push the same number. The items that are in the queue when the time
//! is over are popped and checked, but not counted.

pub(crate) mod account;
mod args;
mod effort;
mod floors;
mod full_empty;
pub(crate) mod parts;
mod plan;
pub(crate) mod probe;
mod setting;
mod thread;

use core_affinity::CoreId;
use corelane::{Built, Config, Consumer, Producer, Queue};
use hdrhistogram::Histogram;

use self::account::check;
pub use self::args::MpmcArgs;
use self::effort::{Effort, MayWait, Member, NoEffort, Spins};
use self::floors::FLOORS;
use self::parts::Common;
use self::probe::{Calls, Probe, Silent, Stays, typical};
pub use self::setting::Workload;
pub(crate) use self::setting::{MpmcSetting, Operation};
use self::thread::{Receiver, Sender, ThreadReport, Worker};
use crate::clock::Clock;
use crate::cores;
use crate::kinds::{Placement, TeamSize, Test};
use crate::params::Trial;
use crate::payload::Payload;
use crate::sample::{Sample, merged};
use crate::threads::{self, Task};

/// All measurements of one queue. The error says what the queue did wrong.
pub(crate) type MpmcKernel = fn(Test, &Trial<'_>, &MpmcSetting) -> Result<Sample, String>;

/// Measures a queue that carries numbers as `N` and boxes as `B`.
///
/// Handles are in boxes where a call costs little beside what is measured: the loops are compiled
/// once for all queues.
pub(crate) fn measure<N: Payload, B: Payload, Q: Queue<N> + Queue<B> + 'static>(
    test: Test,
    trial: &Trial<'_>,
    team: &MpmcSetting,
) -> Result<Sample, String> {
    let (number, boxed) = (<Q as Queue<N>>::boxed, <Q as Queue<B>>::boxed);
    let report = match (test, team.workload) {
        (Test::FullEmpty, _) => return full_empty::measure::<N, Q>(trial, team.operation),
        (Test::DataLatency, Workload::Complex) => run::<_, _, Spins, Stays>(boxed, trial, team),
        (Test::DataLatency, _) => run::<_, _, MayWait, Stays>(number, trial, team),
        (Test::OpLatency, Workload::Complex) => run::<_, _, Spins, Calls>(boxed, trial, team),
        (Test::OpLatency, _) => run::<_, _, MayWait, Calls>(<Q as Queue<N>>::with, trial, team),
        (Test::Throughput, Workload::Complex) => run::<_, _, Spins, Silent>(boxed, trial, team),
        // Throughput isn't planned with `profiling`, whose rates are fixed.
        _ => run::<_, _, NoEffort, Silent>(<Q as Queue<N>>::with, trial, team),
    };
    Ok(sample(test, team.workload, &report?))
}

/// The reports of the producers, and of the consumers.
type TeamReport = [Vec<ThreadReport>; 2];

/// Ticks of the measured part, from the first thread that passed the gate to the first thread that
/// saw that the time was over.
///
/// The other running threads see it within [`Effort::CHUNK`] items. A thread without a core sees it
/// when it runs again, some time slices later, and does at most as many items more. Until the last
/// thread's end there would be time in which nobody counts items. The last end is right for a fixed
/// number of items, which are all counted.
fn ticks(team: &TeamReport) -> u64 {
    let from = team.iter().flatten().map(|report| report.from).min().unwrap_or(0);
    let to = team.iter().flatten().map(|report| report.to).min().unwrap_or(0);
    to.saturating_sub(from).max(1)
}

/// The result of a measurement of `test` under `workload`.
fn sample(test: Test, workload: Workload, team: &TeamReport) -> Sample {
    let [producers, consumers] = team;
    let sum =
        |side: &[ThreadReport], of: fn(&ThreadReport) -> u64| side.iter().map(of).sum::<u64>();
    let (pushed, popped) =
        (sum(producers, |thread| thread.items), sum(consumers, |thread| thread.items));
    let refused = sum(producers, |thread| thread.refused);
    let lost = (workload == Workload::Profiling)
        .then(|| refused as f64 / (refused + pushed).max(1) as f64);
    let ns = Clock::get().ns(ticks(team));
    let fairness = Some([fairness(producers), fairness(consumers)]);
    let (pushes, pops) = (notes(producers), notes(consumers));
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
        // If no item was popped, an item takes at least this time.
        _ => {
            let items = popped.max(1) as f64;
            let failed =
                sum(producers, |thread| thread.failed) + sum(consumers, |thread| thread.failed);
            let run = items / sum(consumers, |thread| thread.runs).max(1) as f64;
            let run = (producers.len() > 1).then_some(run);
            Sample { fairness, failed: Some(failed as f64 / items), run, ..Sample::of(ns / items) }
        }
    }
}

fn fairness(side: &[ThreadReport]) -> f64 {
    evenness(side.iter().map(|thread| thread.items))
}

/// The smallest number divided by the largest.
pub(crate) fn evenness(items: impl Iterator<Item = u64> + Clone) -> f64 {
    let (slowest, fastest) = (items.clone().min().unwrap_or(0), items.max().unwrap_or(0));
    if fastest == 0 { 1.0 } else { slowest as f64 / fastest as f64 }
}

fn notes(side: &[ThreadReport]) -> Option<Histogram<u64>> {
    merged(side.iter().filter_map(|thread| thread.notes.as_ref()))
}

fn run<T, R, E, P>(
    open: Open<T, R>,
    trial: &Trial<'_>,
    team: &MpmcSetting,
) -> Result<TeamReport, String>
where
    T: Producer<Item: Payload> + Send,
    R: Consumer<Item = T::Item> + Send,
    E: Effort,
    P: Probe,
{
    let send = thread::run::<Sender<T>, E, P>;
    run_with(open, trial, team, send, thread::run::<Receiver<R>, E, P>)
}

/// The same, with the work of a thread of either side as functions: compiled once for a queue, and
/// not for each measurement.
fn run_with<T, R>(
    open: Open<T, R>,
    trial: &Trial<'_>,
    team: &MpmcSetting,
    send: fn(Sender<T>, Member, &Common) -> ThreadReport,
    receive: fn(Receiver<R>, Member, &Common) -> ThreadReport,
) -> Result<TeamReport, String>
where
    T: Producer<Item: Payload> + Send,
    R: Consumer<Item = T::Item> + Send,
{
    let common = &Common::of(team, trial.length);
    let (senders, mut receivers) =
        handles(open, trial.params.config(), team.size).expect("tried before the first round");
    let idle = if team.size.consumers == 0 { receivers.pop() } else { None };
    let (mut crew, mut tasks) = (crew(trial, team), Vec::<Task<'_, ThreadReport>>::new());
    for (tx, (core, member)) in senders.into_iter().zip(&mut crew) {
        tasks.push((core, Box::new(move || send(Sender::of(tx, member.number), member, common))));
    }
    for (rx, (core, member)) in receivers.into_iter().zip(&mut crew) {
        tasks.push((core, Box::new(move || receive(Receiver::of(rx), member, common))));
    }
    let sides = start(tasks, team, common);
    let counts = |side: &Vec<ThreadReport>| side.iter().map(|thread| thread.counts).collect();
    let [pushed, mut popped]: [Vec<_>; 2] = sides.each_ref().map(counts);
    // Without consumers all items that were not overwritten are left.
    popped.extend(idle.map(|rx| Receiver::of(rx).settle(common).counts()));
    check(&pushed, &popped)?;
    Ok(sides)
}

/// The threads of both sides with their cores, producers first.
fn crew(
    trial: &Trial<'_>,
    team: &MpmcSetting,
) -> impl Iterator<Item = (Option<CoreId>, Member)> + use<> {
    let (producers, wait) = (team.size.producers, trial.params.wait);
    let workload = team.workload;
    let placement = team.placement.unwrap_or(Placement::Apart);
    let seats = cores::seats(team.size, placement, trial.cores).into_iter().enumerate();
    seats.map(move |(seat, core)| {
        let produces = seat < producers;
        let number = if produces { seat } else { seat - producers } as u8;
        (core, Member { produces, number, wait, has_timetable: workload == Workload::Profiling })
    })
}

fn start(tasks: Vec<Task<'_, ThreadReport>>, team: &MpmcSetting, common: &Common) -> TeamReport {
    let mut reports = threads::all(tasks, &|| common.keep_time());
    let consumers = reports.split_off(team.size.producers);
    [reports, consumers]
}

/// Makes the handles of a queue.
type Open<T, R> = fn(Config) -> Built<T, R>;

/// Handles for all threads; one handle for a side without threads.
pub(crate) fn handles<T: Producer, R: Consumer>(
    open: Open<T, R>,
    config: Config,
    size: TeamSize,
) -> Result<(Vec<T>, Vec<R>), String> {
    let (tx, rx) = open(config).map_err(|error| error.to_string())?;
    let senders: Option<Vec<_>> = (1..size.producers).map(|_| tx.try_clone()).collect();
    let receivers: Option<Vec<_>> = (1..size.consumers).map(|_| rx.try_clone()).collect();
    let (mut senders, mut receivers) = senders.zip(receivers).ok_or("not for so many threads")?;
    senders.push(tx);
    receivers.push(rx);
    Ok((senders, receivers))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::params::{Length, Params};
    use crate::peers::{consumer, producer, queue};
    use crate::suite::Setting;
    use crate::threads::Wait;

    /// A queue behind a lock.
    struct Locked<T> {
        items: Mutex<VecDeque<T>>,
        capacity: usize,
        push: fn(&mut VecDeque<T>, T),
    }

    type Shared<T> = Arc<Locked<T>>;

    fn locked<T>(capacity: usize, push: fn(&mut VecDeque<T>, T)) -> (Shared<T>, Shared<T>) {
        let shared = Arc::new(Locked { items: Mutex::default(), capacity, push });
        (Arc::clone(&shared), shared)
    }

    producer!(LockedTx(Shared<T>) with clone: |tx, item| {
        let mut items = tx.items.lock().expect("no panic");
        let has_room = items.len() < tx.capacity;
        if has_room {
            (tx.push)(&mut items, item);
        }
        has_room
    });
    consumer!(LockedRx(Shared<T>) with clone: |rx| rx.items.lock().expect("no panic").pop_front());

    queue!(Right: LockedTx, LockedRx, |n| locked(n, VecDeque::push_back); id: "right");
    queue!(Doubles: LockedTx, LockedRx, |n| locked(n, |items, item| match items.len() {
        5 => items.extend([item, item]),
        _ => items.push_back(item),
    }); id: "doubles");
    queue!(Loses: LockedTx, LockedRx, |n| locked(n, |items, item| match items.len() {
        5 => drop(items.pop_back()),
        _ => items.push_back(item),
    }); id: "loses");
    queue!(Reverses: LockedTx, LockedRx, |n| locked(n, |items, item| match items.len() {
        5 => items.push_front(item),
        _ => items.push_back(item),
    }); id: "reverses");

    fn run_on<Q: Queue<u64>, E: Effort, P: Probe>(batch: usize) -> Result<TeamReport, String> {
        let size = TeamSize { producers: 2, consumers: 2 };
        let (placement, workload) = (Some(Placement::Mixed), Workload::Simple);
        let team = MpmcSetting { size, placement, batch, workload, operation: None };
        let setting = Setting::Mpmc(team.clone());
        let params = Params { capacity: 16, wait: Wait::Yield, setting };
        let (length, cores) = (Length::Items(500), &[CoreId { id: 0 }]);
        run::<_, _, E, P>(Q::with, &Trial { params: &params, length, cores, schedule: &[] }, &team)
    }

    #[test]
    fn a_right_queue_passes() {
        for batch in [1, 8] {
            let reports = run_on::<Right, NoEffort, Silent>(batch).expect("it is right");
            let items: u64 = reports[1].iter().map(|report| report.items).sum();
            assert!(items >= 250, "a consumer has had its share");
        }
        let noted = |report: Result<TeamReport, String>| {
            let sides = report.expect("it is right");
            sides.map(|side| notes(&side).is_some_and(|notes| !notes.is_empty()))
        };
        assert_eq!(noted(run_on::<Right, Spins, Stays>(1)), [false, true]);
        assert_eq!(noted(run_on::<Right, NoEffort, Calls>(1)), [true, true]);
    }

    #[test]
    fn a_wrong_queue_is_detected() {
        let fault = |report: Result<TeamReport, String>| report.err().expect("it is wrong");
        let late = fault(run_on::<Reverses, NoEffort, Silent>(1));
        assert!(late.ends_with("later ones of the same producer"), "{late}");
        for (fault, is_more) in [
            (fault(run_on::<Doubles, NoEffort, Silent>(1)), true),
            (fault(run_on::<Loses, NoEffort, Silent>(8)), false),
        ] {
            let numbers: Vec<u64> = fault.split(' ').filter_map(|word| word.parse().ok()).collect();
            assert!(numbers.len() == 2 && (numbers[0] < numbers[1]) == is_more, "{fault}");
        }
    }
}
