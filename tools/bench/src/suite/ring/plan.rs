//! The cells of `lane bench ring`.

use corelane_report::{Failure, Positive};

use super::{RingArgs, RingSetting};
use crate::catalogue::any_ids;
use crate::cores;
use crate::kinds::{TeamSize, Test};
use crate::params::{Length, Params};
use crate::plan::{Kernel, Plan, row};
use crate::queues::{self, Subject};
use crate::threads::Wait;

impl RingArgs {
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let cores = cores::several(&self.cores)?;
        let named = any_ids(queues::all(), &self.queues)?;
        let queues = self.run.choose(queues::all(), &named, Subject::is_spsc);
        if let Some(queue) = queues.iter().find(|queue| queue.entry.info.overwrites) {
            let id = queue.entry.info.id;
            return Err(Failure::Usage(format!(
                "{id} loses messages, and a ring waits for all of them: choose other queues"
            )));
        }
        let (in_flight, Positive(capacity)) = (self.in_flight.0 as u64, self.capacity);
        let mut cells = Vec::new();
        // In the order of a round: for each number of threads, all queues.
        for threads in self.threads.iter().map(|threads| usize::from(*threads)) {
            let wait = self.wait.on(cores::are_shared(threads, &cores));
            // Long enough for all threads of a core to run.
            let usual_ms = if matches!(wait, Wait::Yield | Wait::PauseYield) { 100 } else { 30 };
            let length = Length::of(self.items, self.duration, usual_ms);
            let setting = RingSetting { threads, in_flight };
            let params = Params { capacity, wait, setting: setting.clone().into() };
            let queues = queues.iter().copied();
            cells.extend(row(queues, Test::Round, params, length, |one| kernel(one, &setting)));
        }
        Plan::new(cells, cores, &self.run, &named, Vec::new())
    }
}

fn kernel(queue: &'static Subject, setting: &RingSetting) -> Kernel {
    let (setting, kernels) = (setting.clone(), &queue.kernel);
    Kernel::of(move |trial| {
        let (sample, threads) = ((kernels.ring)(trial, &setting), setting.threads);
        match sample.wrong {
            0 => Ok(sample),
            wrong => Err(format!(
                "{wrong} messages came out of order or changed in a ring of {threads} threads"
            )),
        }
    })
    .and_probe(|params| (kernels.probe)(params.config(), TeamSize::ONE))
}
