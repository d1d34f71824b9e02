//! Which thread or store buffer takes the next step, where that isn't simply the earliest.

use crate::chance::Chance;

/// How threads and store buffers take turns.
///
/// By time, a run is one that the machine could well have. The others look for bugs: they hold up
/// threads, and stores on their way to the cache, for as long as it takes. A *step* is one access of a
/// thread to a line, one pause, one piece of work, or one store that leaves its buffer; a thread also
/// takes one to start, and one to go on when its buffer has room or is empty. There is a choice before
/// each.
///
/// Clocks go on, but what they show then is only an order. Every store is buffered if the machine has
/// a store buffer, also if its line is at hand. Patience is counted in steps: a run is given up when
/// nothing was written for 100,000 of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// The earliest first; chance decides between those of the same time.
    #[default]
    Time,
    /// Each step is that of a thread or store buffer chosen at random; all are equally likely.
    Random,
    /// Probabilistic concurrency testing: Burckhardt, Kothari, Musuvathi, Nagarakatte, *A Randomized
    /// Scheduler with Probabilistic Guarantees of Finding Bugs*, ASPLOS 2010.
    ///
    /// Threads and store buffers have random priorities, and the highest that can goes on. At
    /// `depth - 1` random steps the thread or store buffer that takes the step drops below all others. A bug that
    /// needs `depth` steps in a certain order shows with a probability of at least
    /// 1/(n k^(depth - 1)), for n threads and store buffers and k steps.
    ///
    /// A thread that [pauses](crate::pause) drops below all others too, as in the paper's
    /// descendants Coyote and Shuttle: what it waits for may be theirs to do. So does a thread or store
    /// buffer that takes a step when a thousand steps have passed without a write. The bound is for
    /// programs that do neither, and in which the last to drop may be the lowest.
    Priorities {
        /// How many steps must be in a certain order for the bugs that are looked for; at least 1.
        depth: u32,
        /// About how many steps a run has, such as [`Report::steps`](crate::Report::steps) of another.
        steps: u64,
    },
    /// As [`Random`](Self::Random), but from some step on the thread of this core goes on only when there is nothing
    /// else to do: when all others have ended. If they wait for it they take steps without a write, until the run is
    /// given up.
    Stopped {
        /// Its core.
        core: usize,
        /// The number of the first step that it doesn't take, from 1 on.
        step: u64,
    },
}

/// Steps without a write after which a thread is taken to be spinning.
const SPINNING: u64 = 1000;
/// Steps without a write after which there's no hope.
const PATIENCE: u64 = 100_000;

/// A thread or store buffer: it can take a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Agent {
    /// The thread of this core, which goes on.
    Thread(usize),
    /// The store buffer of this core, whose oldest store is in, or is to be sent.
    Buffer(usize),
}

impl Agent {
    /// The core that it belongs to.
    pub(crate) fn core(self) -> usize {
        match self {
            Self::Thread(core) | Self::Buffer(core) => core,
        }
    }

    /// A number of its own.
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Thread(core) => 2 * core,
            Self::Buffer(core) => 2 * core + 1,
        }
    }

    /// The one with that number.
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
    /// If chance alone doesn't decide.
    priorities: Option<Priorities>,
    /// A thread that waits for all others to end, and from which step on.
    stopped: Option<(Agent, u64)>,
    steps: u64,
    last_write: u64,
}

impl Turns {
    /// The turns of a schedule, unless it goes by time.
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

    /// Of how many there is a choice, from the first on.
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

    /// A thread waits, perhaps for another one.
    pub(crate) fn pause(&mut self, core: usize) {
        if let Some(priorities) = &mut self.priorities {
            priorities.drop_below_all(Agent::Thread(core));
        }
    }

    /// Something was written.
    pub(crate) fn written(&mut self) {
        self.last_write = self.steps;
    }

    /// Whether nothing will be written any more.
    pub(crate) fn is_stuck(&self) -> bool {
        self.idle() > PATIENCE
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
    /// By the index of the agent; the highest goes first.
    of: Vec<i64>,
    lowest: i64,
    /// The steps at which one drops, the last first.
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

    /// Index of the one to go first.
    fn highest(&self, ready: &[Agent]) -> usize {
        let priority = |&index: &usize| self.of[ready[index].index()];
        (0..ready.len()).max_by_key(priority).unwrap_or(0)
    }

    /// Whether one is to drop now.
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
