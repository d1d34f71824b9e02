//! The cells of `lane bench relaxed`.

use core_affinity::CoreId;
use corelane::{CapacityError, Config};
use corelane_report::{Failure, Positive, name};

use super::{RelaxedArgs, RelaxedSetting};
use crate::catalogue::{Entry, ids_among};
use crate::cores;
use crate::kinds::{
    Placement, TeamSize, Test, allows, between, check_sizes, possible_sizes, usual_sizes,
};
use crate::params::{Length, Params, Trial};
use crate::plan::{Cell, Kernel, Plan};
use crate::queues::{self, Subject};

/// What is measured without being named: the relaxed queues, those that are first in, first out and
/// that a program would take otherwise, and the tube of `cnq`.
const USUAL: [&str; 16] = [
    "cnq",
    "cnq-bbq",
    "cnq-scq",
    "d-cbo",
    "radq",
    "multi-fifo",
    "block-fifo",
    "bsq",
    "usq",
    "lldq",
    "leased",
    "faaq",
    "kanal",
    "thingbuf",
    "crossbeam-array",
    "concurrent-queue",
];

impl RelaxedArgs {
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let named = ids_among(queues::all(), &self.queues, is_possible, misfit)?;
        let cores = cores::several(&self.cores)?;
        let is_usual = |one: &Subject| USUAL.contains(&one.entry.info.id);
        let chosen = self.run.choose(queues::all(), &named, is_usual);
        let sides = chosen.iter().map(|one| (one.entry.info.id, one.entry.info.sides));
        let sides: Vec<_> = sides.collect();
        let sizes = match self.threads.is_empty() {
            true => possible_sizes(usual_sizes(), &sides),
            false => self.threads.clone(),
        };
        let mut notes = check_sizes(&sizes, &named, &sides)?;
        if self.placement.contains(&Placement::Free) && !cores::are_all(&cores) {
            notes.push(cores::NOT_FREE.into());
        }
        let cells = self.cells(&chosen, &self.teams(&sizes, &cores), &cores);
        Plan::new(cells, cores, &self.run, &named, notes)
    }

    /// The numbers of threads in each placement in which other threads share cores.
    fn teams(&self, sizes: &[TeamSize], cores: &[CoreId]) -> Vec<(TeamSize, Placement)> {
        // Threads that aren't pinned run on all cores.
        let are_all = cores::are_all(cores);
        let can = |placement: &&Placement| are_all || **placement != Placement::Free;
        let mut teams = Vec::new();
        for &placement in self.placement.iter().filter(can) {
            for &size in sizes {
                let team = (size, cores::simplest(size, placement, cores));
                if !teams.contains(&team) {
                    teams.push(team);
                }
            }
        }
        teams
    }

    /// All cells in the order of a round: for each test and team, all queues with each k.
    fn cells(
        &self,
        queues: &[&'static Subject],
        teams: &[(TeamSize, Placement)],
        cores: &[CoreId],
    ) -> Vec<Cell> {
        let Positive(capacity) = self.capacity;
        let queues = queues.iter().map(|&queue| (queue, self.relaxations(queue)));
        let queues: Vec<_> = queues.collect();
        let mut cells = Vec::new();
        for &test in &self.test {
            for &(size, placement) in teams {
                let wait = self.wait.on(cores::are_shared(size.threads(), cores));
                let per_core = size.threads().div_ceil(cores.len()) as u64;
                let length = Length::of(self.items, self.duration, (10 * per_core).max(40));
                let can = |(queue, _): &&(&Subject, _)| allows(queue.entry.info.sides, size);
                for (queue, relaxations) in queues.iter().filter(can) {
                    for &(asked, k) in relaxations {
                        let setting = RelaxedSetting { size, placement, k, asked };
                        let (entry, kernel) = (&queue.entry, kernel(queue, test, &setting));
                        let params = Params { capacity, wait, setting: setting.into() };
                        cells.push(Cell { entry, test, params, length, kernel });
                    }
                }
            }
        }
        cells
    }

    /// The different ks of a queue: what it is asked for, if it can be told one, and what it tells
    /// then, if it has a bound.
    fn relaxations(&self, queue: &Subject) -> Vec<(Option<usize>, Option<usize>)> {
        let config = Config::new(self.capacity.0);
        let tell = |config| (queue.kernel.relaxation)(config);
        let bound = |told: Result<usize, _>| told.ok().filter(|k| *k < usize::MAX);
        let told = tell(config.relaxation(1));
        if !queue.entry.info.relaxed || matches!(told, Err(CapacityError::Unused { .. })) {
            return vec![(None, bound(tell(config)))];
        }
        let mut all = Vec::new();
        for &Positive(asked) in &self.relaxation {
            let k = bound(tell(config.relaxation(asked)));
            if all.iter().all(|(_, other)| *other != k) {
                all.push((Some(asked), k));
            }
        }
        all
    }
}

fn kernel(queue: &'static Subject, test: Test, setting: &RelaxedSetting) -> Kernel {
    let (kernels, setting) = (&queue.kernel, setting.clone());
    let (probe, size) = (kernels.probe, setting.size);
    let measure = move |trial: &Trial<'_>| match test {
        Test::Throughput | Test::DataLatency => (kernels.mpmc)(test, trial, &setting.team()),
        _ => (kernels.relaxed)(test, trial, &setting),
    };
    Kernel::of(move |trial| {
        measure(trial).map_err(|fault| format!("{fault}, in {} with {size} threads", name(&test)))
    })
    .and_probe(move |params| probe(params.config(), size))
}

/// Whether a queue is between several threads and loses no items.
fn is_possible(queue: &Subject) -> bool {
    let info = &queue.entry.info;
    (info.sides.allow(2, 1) || info.sides.allow(1, 2)) && !info.overwrites
}

fn misfit(entry: &Entry) -> String {
    let id = entry.info.id;
    match entry.info.overwrites {
        true => format!("{id} loses items: use `lane bench mpmc {id} --test overwrite`"),
        false => {
            format!("{id} is between {}: use `lane bench spsc {id}`", between(entry.info.sides))
        }
    }
}
