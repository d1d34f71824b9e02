//! Schedules: which thread or store buffer takes the next step.

use crate::chance::Chance;

/// How threads and store buffers take turns.
///
/// By time, a run is typical of the machine. The other schedules look for bugs: they delay threads,
/// and stores on their way to the cache, without limit. A *step* is one access of a thread to a
/// line, one pause, one piece of work, or one store that leaves its buffer. A thread also takes one
/// step to start, and one step to continue when its buffer has room or is empty. There is a choice
/// before each step.
///
/// Clocks advance, but their times only give an order. Every store is buffered if the machine has a
/// store buffer, even if its line is in the cache. Patience is counted in steps: a run is given up
/// after 100,000 steps without a write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// The earliest goes first; chance decides between agents of the same time.
    #[default]
    Time,
    /// A random thread or store buffer takes each step; all are equally likely.
    Random,
    /// Probabilistic concurrency testing: Burckhardt, Kothari, Musuvathi, Nagarakatte, *A
    /// Randomized Scheduler with Probabilistic Guarantees of Finding Bugs*, ASPLOS 2010.
    ///
    /// Threads and store buffers have random priorities. The one with the highest priority that can
    /// continue takes the step. At `depth - 1` random steps the thread or store buffer that takes
    /// the step drops below all others. A bug that needs `depth` steps in a certain order shows
    /// with a probability of at least 1/(n k^(depth - 1)), for n threads and store buffers and k
    /// steps.
    ///
    /// A thread that [pauses](crate::pause) also drops below all others, as in the paper's
    /// descendants Coyote and Shuttle: it may wait for one of them. So does a thread or store
    /// buffer that takes a step when a thousand steps have passed without a write. The bound holds
    /// for programs without pauses and such waits, in which the last to drop may be the lowest.
    Priorities {
        /// How many steps must be in a certain order for the bugs to be found; at least 1.
        depth: u32,
        /// About how many steps a run has, such as [`Report::steps`](crate::Report::steps) of
        /// another.
        steps: u64,
    },
    /// As [`Random`](Self::Random), but from some step on the thread of this core continues only
    /// when all others have ended. If others wait for it, they take steps without a write, until
    /// the run is given up.
    Stopped {
        /// Its core.
        core: usize,
        /// The number of the step from which on the thread is stopped, counted from 1.
        step: u64,
    },
}

/// Steps without a write after which a thread is taken to be spinning.
const SPINNING: u64 = 1000;
/// Steps without a write after which a run is given up.
const PATIENCE: u64 = 100_000;
/// Most steps of a run. Threads that need more write in vain: each undoes what another has done.
const MOST_STEPS: u64 = 5_000_000;

/// A thread or store buffer, which takes steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Agent {
    /// The thread of this core.
    Thread(usize),
    /// The store buffer of this core, whose oldest store arrives or is sent.
    Buffer(usize),
}

impl Agent {
    /// The agent's core.
    pub(crate) fn core(self) -> usize {
        match self {
            Self::Thread(core) | Self::Buffer(core) => core,
        }
    }

    /// A number that no other agent has.
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Thread(core) => 2 * core,
            Self::Buffer(core) => 2 * core + 1,
        }
    }

    /// The agent with this number.
    pub(crate) fn from_index(index: usize) -> Self {
        match index % 2 {
            0 => Self::Thread(index / 2),
            _ => Self::Buffer(index / 2),
        }
    }
}

/// Turns that don't depend on time.
#[derive(Debug)]
pub(crate) struct Turns {
    ready: Vec<Agent>,
    chance: Chance,
    /// The priorities, if not chance alone decides.
    priorities: Option<Priorities>,
    /// The thread that is stopped until all others have ended, and from which step on.
    stopped: Option<(Agent, u64)>,
    steps: u64,
    last_write: u64,
}

impl Turns {
    /// The turns of a schedule; `None` if time decides.
    pub(crate) fn new(schedule: Schedule, cores: usize, mut chance: Chance) -> Option<Self> {
        let (mut priorities, mut stopped) = (None, None);
        match schedule {
            Schedule::Time => return None,
            Schedule::Random => {}
            Schedule::Priorities { depth, steps } => {
                priorities = Some(Priorities::new(2 * cores, depth, steps, &mut chance));
            }
            Schedule::Stopped { core, step } => stopped = Some((Agent::Thread(core), step)),
        }
        Some(Self { ready: Vec::new(), chance, priorities, stopped, steps: 0, last_write: 0 })
    }

    /// Lets an agent take a step when its turn comes.
    pub(crate) fn add(&mut self, agent: Agent) {
        self.ready.push(agent);
    }

    /// The agent whose turn it is.
    pub(crate) fn next(&mut self) -> Option<Agent> {
        if self.ready.is_empty() {
            return None;
        }
        self.steps += 1;
        let index = match &self.priorities {
            None => {
                let choices = self.put_stopped_last();
                self.chance.below(choices as u64) as usize
            }
            Some(priorities) => priorities.highest(&self.ready),
        };
        let agent = self.ready.swap_remove(index);
        let is_spinning = self.idle() > SPINNING;
        if let Some(priorities) = &mut self.priorities
            && (priorities.changes_at(self.steps) || is_spinning)
        {
            priorities.drop_below_all(agent);
        }
        Some(agent)
    }

    /// The number of agents to choose from, from the first on.
    fn put_stopped_last(&mut self) -> usize {
        let all = self.ready.len();
        let is_stopped = |agent: &Agent| {
            self.stopped.is_some_and(|(stopped, step)| stopped == *agent && step <= self.steps)
        };
        match self.ready.iter().position(is_stopped) {
            Some(index) if all > 1 => {
                self.ready.swap(index, all - 1);
                all - 1
            }
            _ => all,
        }
    }

    /// A thread waits, perhaps for another thread.
    pub(crate) fn pause(&mut self, core: usize) {
        if let Some(priorities) = &mut self.priorities {
            priorities.drop_below_all(Agent::Thread(core));
        }
    }

    /// Something was written.
    pub(crate) fn written(&mut self) {
        self.last_write = self.steps;
    }

    /// Whether the run is to be given up.
    pub(crate) fn is_stuck(&self) -> bool {
        self.idle() > PATIENCE || self.steps > MOST_STEPS
    }

    fn idle(&self) -> u64 {
        self.steps - self.last_write
    }

    /// Number of steps taken.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }
}

/// The order of agents.
#[derive(Debug)]
struct Priorities {
    /// The priorities by the agents' indices. The highest goes first.
    of: Vec<i64>,
    lowest: i64,
    /// The steps at which an agent drops, the last first.
    changes: Vec<u64>,
}

impl Priorities {
    fn new(agents: usize, depth: u32, steps: u64, chance: &mut Chance) -> Self {
        let mut of: Vec<_> = (0..agents as i64).collect();
        for last in (1..agents).rev() {
            of.swap(last, chance.below(last as u64 + 1) as usize);
        }
        let mut changes: Vec<_> = (1..depth).map(|_| 1 + chance.below(steps)).collect();
        changes.sort_unstable_by(|a, b| b.cmp(a));
        Self { of, lowest: 0, changes }
    }

    /// Index of the agent with the highest priority.
    fn highest(&self, ready: &[Agent]) -> usize {
        let priority = |&index: &usize| self.of[ready[index].index()];
        (0..ready.len()).max_by_key(priority).unwrap_or(0)
    }

    /// Whether an agent drops now.
    fn changes_at(&mut self, step: u64) -> bool {
        let before = self.changes.len();
        while self.changes.pop_if(|change| *change == step).is_some() {}
        self.changes.len() < before
    }

    fn drop_below_all(&mut self, agent: Agent) {
        self.lowest -= 1;
        self.of[agent.index()] = self.lowest;
    }
}
