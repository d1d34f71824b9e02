//! The cells of `lane bench switch`.

use std::collections::BTreeSet;

use corelane_report::{Failure, Positive};

use super::{SwitchArgs, SwitchSetting, measure};
use crate::catalogue::any_ids;
use crate::cores;
use crate::kinds::{TeamSize, Test};
use crate::params::{Length, Params};
use crate::plan::{Kernel, Plan, check_batches, row};
use crate::queues::{self, Subject};

impl SwitchArgs {
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let cores = cores::several(&self.cores)?;
        let named = any_ids(queues::all(), &self.queues)?;
        let is_usual = |one: &Subject| one.kernel.wire.is_some() && one.entry.info.bounded;
        let queues = self.run.choose(queues::all(), &named, is_usual);
        if let Some(queue) = queues.iter().find(|queue| !is_usual(queue)) {
            return Err(Failure::Usage(format!(
                "{} is no bounded queue between one producer and one consumer, and a port has two of them: \
                 choose other queues",
                queue.entry.info.id
            )));
        }
        check_batches(&self.batch, self.capacity.0)?;
        let ids: BTreeSet<_> = cores.iter().map(|core| core.id).collect();
        let wait = self.wait.on(ids.len() < 2 || ids.len() < cores.len());
        let length = Length::of(self.items, self.duration, 30);
        let (Positive(capacity), Positive(switch_batch)) = (self.capacity, self.switch_batch);
        let mut cells = Vec::new();
        for test in self.test.iter().copied().map(Test::from) {
            for Positive(batch) in self.batch.iter().copied() {
                for clients in self.clients.iter().map(|clients| u32::from(*clients)) {
                    let setting = SwitchSetting { clients, batch, switch_batch };
                    let params = Params { capacity, wait, setting: setting.into() };
                    let queues = queues.iter().copied();
                    let kernel = |one| kernel(one, test, setting);
                    cells.extend(row(queues, test, params, length, kernel));
                }
            }
        }
        Plan::new(cells, cores, &self.run, &named, Vec::new())
    }
}

fn kernel(queue: &'static Subject, test: Test, setting: SwitchSetting) -> Option<Kernel> {
    let (kernels, wire) = (&queue.kernel, queue.kernel.wire?);
    let kernel = Kernel::of(move |trial| measure::measure(trial, wire, test, setting));
    Some(kernel.and_probe(|params| (kernels.probe)(params.config(), TeamSize::ONE)))
}
