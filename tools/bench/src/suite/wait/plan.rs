//! The cells of `lane bench wait`.

use core_affinity::CoreId;
use corelane_report::{Failure, name};

use super::{
    Beside, ChannelKernel, Channels, MEETING, Mode, Runtime, Strategy, WaitArgs, WaitSetting,
    entries, has_usage, to_all,
};
use crate::catalogue::{any_ids, called};
use crate::cores;
use crate::kinds::{Placement, TeamSize, Test, check_sizes, possible_sizes, usual_sizes};
use crate::params::{Length, Params};
use crate::plan::{Cell, Kernel, Plan};
use crate::schedule;
use crate::threads::Wait;

/// Items per second of `open-loop`, and of `cpu`, unless given.
const RATES: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Items per second of all lanes of `fan-in`, unless given.
const LANES_RATE: u64 = 10_000;
/// The lanes of `fan-in`.
const LANES: usize = 64;
/// Bounded queues that are measured if they are named.
const ON_REQUEST: [&str; 8] = [
    "ring",
    "scq",
    "channel-many",
    "channel-select",
    "crossbeam-select",
    "task-mpsc",
    "task-mpsc-permits",
    "tokio-mpsc-permits",
];

impl WaitArgs {
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let (all, cores) = (entries(), cores::several(&self.cores)?);
        if let Some(name) = self.queues.iter().find(|name| called(name, all).is_empty()) {
            let ids: Vec<_> = all.iter().map(|one| one.entry.info.id).collect();
            return Err(Failure::Usage(format!(
                "{name} has no calls that wait, or isn't measured with them; choose from {}",
                ids.join(", ")
            )));
        }
        let mut args = Self { queues: any_ids(all, &self.queues)?, ..self.clone() };
        let mut notes = args.leave_out(&cores);
        let args = &args;
        let is_on_request = |id| ON_REQUEST.contains(&id) || to_all::IDS.contains(&id);
        let is_usual = |one: &Channels| one.entry.is_bounded() && !is_on_request(one.entry.info.id);
        let is_asked = |one: &Channels| is_usual(one) || !args.queues.is_empty();
        let chosen = args.run.choose(all, &args.queues, is_asked);
        let held_up = chosen.iter().filter(|one| one.entry.info.takes_turns);
        notes.extend(held_up.map(|one| {
            let id = one.entry.info.id;
            format!(
                "{id} left out with more threads than cores, where its threads hold each other up"
            )
        }));
        let queues: Vec<_> =
            chosen.iter().map(|one| (one.entry.info.id, one.entry.info.sides)).collect();
        let sizes = match args.threads.is_empty() {
            true => possible_sizes(usual_sizes(), &queues),
            false => args.threads.clone(),
        };
        if args.test.iter().any(|test| matches!(test, Test::Stream | Test::PingPong)) {
            notes.extend(check_sizes(&sizes, &args.queues, &queues)?);
        }
        args.beside().flatten().try_for_each(Beside::check).map_err(Failure::Usage)?;
        let mut cells = Vec::new();
        for &test in &args.test {
            for setting in args.settings(test, &sizes, &cores) {
                args.check_rate(test, &setting)?;
                for &capacity in &args.capacity {
                    cells.extend(row(args, &chosen, test, &setting, capacity, &cores));
                }
            }
        }
        Plan::new(cells, cores, &args.run, &args.queues, notes)
    }
}

/// The conditions of a measurement: all parameters but how calls wait.
#[derive(Clone, PartialEq)]
struct Condition {
    size: TeamSize,
    placement: Placement,
    runtime: Runtime,
    sleeps: Option<bool>,
    rate: Option<u64>,
    beside: Option<Beside>,
}

impl WaitArgs {
    /// Removes what can't be measured here. Returns notes on it.
    fn leave_out(&mut self, cores: &[CoreId]) -> Vec<String> {
        let mut notes = Vec::new();
        // Threads that aren't pinned run on all cores.
        if !cores::are_all(cores) {
            if self.placement.contains(&Placement::Free) {
                notes.push(cores::NOT_FREE.into());
            }
            if self.mode.contains(&Mode::Async) {
                notes.push("tasks left out: they would run on other cores, too".into());
            }
            self.placement.retain(|placement| *placement != Placement::Free);
            self.mode.retain(|mode| *mode != Mode::Async);
        }
        let is_of_usage = |test: &Test| matches!(test, Test::Cpu | Test::Idle);
        if !has_usage() && self.test.iter().any(is_of_usage) {
            self.test.retain(|test| !is_of_usage(test));
            notes.push("cpu and idle left out: the system doesn't tell a thread's time".into());
        }
        if self.queues.is_empty() {
            notes.push(
                "ring, scq, selects and queues that are never full are left out: name those that you want to see"
                    .into(),
            );
        }
        notes
    }

    /// The conditions of a test, in the order of a round.
    fn settings(&self, test: Test, sizes: &[TeamSize], cores: &[CoreId]) -> Vec<Condition> {
        let one = TeamSize { producers: 1, consumers: 1 };
        let alone = [one];
        let sizes = match test {
            Test::Stream => sizes,
            Test::PingPong if !self.threads.is_empty() => sizes,
            Test::FanIn => &[TeamSize { producers: LANES, consumers: 1 }],
            _ => &alone,
        };
        let mut all = Vec::new();
        for (runtime, placement) in self.places(test) {
            // In tasks, one asks and one answers.
            let is_alone = test == Test::PingPong && runtime != Runtime::None;
            for &size in if is_alone { &alone } else { sizes } {
                // The sender of all lanes is one thread.
                let threads = if test == Test::FanIn { one } else { size };
                let placement = cores::simplest(threads, placement, cores);
                for &sleeps in sleeps(test, runtime) {
                    for rate in self.rates(test) {
                        for beside in self.beside() {
                            let condition =
                                Condition { size, placement, runtime, sleeps, rate, beside };
                            if !all.contains(&condition) {
                                all.push(condition);
                            }
                        }
                    }
                }
            }
        }
        all
    }

    /// Where a test runs: on threads in each placement, and in tasks.
    fn places(&self, test: Test) -> Vec<(Runtime, Placement)> {
        let (mut places, mut tasks) = (Vec::new(), &self.runtime[..]);
        if self.mode.contains(&Mode::Blocking) {
            places
                .extend(self.placements(test).iter().map(|placement| (Runtime::None, *placement)));
        }
        let is_possible = matches!(test, Test::Stream | Test::PingPong);
        if !self.mode.contains(&Mode::Async) || !is_possible {
            tasks = &[];
        }
        places.extend(tasks.iter().map(|runtime| (*runtime, Placement::Free)));
        places
    }

    /// Only calls of threads that share cores with others depend on the placement.
    fn placements(&self, test: Test) -> &[Placement] {
        match test {
            Test::Stream | Test::PingPong => &self.placement,
            _ => self.placement.get(..1).unwrap_or_default(),
        }
    }

    /// What computes beside.
    fn beside(&self) -> impl Iterator<Item = Option<Beside>> {
        self.busy.iter().flat_map(|&processes| {
            let beside = move |&nice| Some(Beside { processes: processes.into(), nice });
            self.nice.iter().map(move |nice| beside(nice).filter(|_| processes > 0))
        })
    }

    fn rates(&self, test: Test) -> Vec<Option<u64>> {
        let given = |usual: &[u64]| -> Vec<Option<u64>> {
            let given: Vec<_> = self.rate.iter().map(|rate| rate.0 as u64).collect();
            let rates = if given.is_empty() { usual } else { &given[..] };
            rates.iter().copied().map(Some).collect()
        };
        match test {
            Test::OpenLoop => given(&RATES),
            Test::Cpu => given(&RATES[..3]),
            Test::FanIn => given(&[LANES_RATE]),
            _ => vec![None],
        }
    }

    fn length(&self, test: Test, threads_per_core: usize, is_beside: bool) -> Length {
        let items = self.items.filter(|_| matches!(test, Test::Stream | Test::PingPong));
        let usual_ms = match test {
            // A hundred time slices.
            _ if is_beside => 300,
            // Some three time slices of 3 ms for each thread of a core.
            Test::Stream => (10 * threads_per_core as u64).max(40),
            Test::PingPong => 40,
            _ => 100,
        };
        Length::of(items, self.duration, usual_ms)
    }

    /// Refuses a schedule without items.
    fn check_rate(&self, test: Test, condition: &Condition) -> Result<(), Failure> {
        let (Some(rate), Length::Time(time)) =
            (condition.rate, self.length(test, 1, condition.beside.is_some()))
        else {
            return Ok(());
        };
        match schedule::is_empty(rate as f64, time) {
            true => Err(Failure::Usage(format!(
                "no item is due in this time at {rate} a second; raise --rate or --duration"
            ))),
            false => Ok(()),
        }
    }
}

/// Whether both sides of a ping-pong sleep. The tasks of a single thread never do.
fn sleeps(test: Test, runtime: Runtime) -> &'static [Option<bool>] {
    match (test, runtime) {
        (Test::PingPong, Runtime::TokioCurrent) => &[Some(false)],
        (Test::PingPong, _) => &[Some(false), Some(true)],
        _ => &[None],
    }
}

/// The cells of one condition: one for each way of each queue.
fn row(
    args: &WaitArgs,
    channels: &[&'static Channels],
    test: Test,
    condition: &Condition,
    capacity: usize,
    cores: &[CoreId],
) -> Vec<Cell> {
    let &Condition { size, placement, runtime, sleeps, rate, beside } = condition;
    let threads = if test == Test::FanIn { 2 } else { size.threads() };
    let is_shared = cores::are_shared(threads, cores);
    let TeamSize { producers, consumers } = size;
    // Answers go the other way.
    let can = |one: &&&'static Channels| {
        let info = &one.entry.info;
        // Threads that hold each other up take seconds for what others do in milliseconds.
        !(is_shared && info.takes_turns)
            && info.sides.allow(producers, consumers)
            && (test != Test::PingPong || info.sides.allow(consumers, producers))
    };
    // A thread that never yields would wait for threads that don't run.
    let is_wanted = |channel: &&ChannelKernel| {
        let strategy = channel.way.strategy;
        channel.way.runtime == runtime
            && args.strategy.contains(&strategy)
            && !((is_shared || beside.is_some()) && strategy == Strategy::Spin)
    };
    let cell = |one: &'static Channels, channel: &'static ChannelKernel| {
        let way = channel.way;
        let setting = WaitSetting { size, placement, way, sleeps, rate, beside };
        let kernel = kernel(one.entry.info.id, channel, test, &setting);
        let params = Params { capacity, wait: Wait::Within, setting: setting.into() };
        let length = args.length(test, threads.div_ceil(cores.len()), beside.is_some());
        Cell { entry: &one.entry, test, params, length, kernel }
    };
    let mut cells = Vec::new();
    for one in channels.iter().filter(can) {
        cells.extend(one.kernel.iter().filter(is_wanted).map(|channel| cell(one, channel)));
    }
    cells
}

fn kernel(
    id: &'static str,
    channel: &'static ChannelKernel,
    test: Test,
    setting: &WaitSetting,
) -> Kernel {
    let (setting, size) = (setting.clone(), setting.size);
    Kernel::of(move |trial| {
        channel
            .measure(test, trial, &setting)
            .map_err(|fault| format!("{fault}, in {} with {size} threads", name(&test)))
    })
    .and_probe(move |params| match params.capacity {
        0 if !MEETING.contains(&id) => Err("it has no rendezvous, which is a capacity of 0".into()),
        capacity => channel.probe(capacity, size),
    })
}
