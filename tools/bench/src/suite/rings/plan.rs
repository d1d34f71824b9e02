//! The cells of `lane bench rings`.

use corelane_report::Failure;

use super::{RingsArgs, RingsSetting, entries};
use crate::catalogue::any_ids;
use crate::cores;
use crate::kinds::Test;
use crate::params::{Length, Params};
use crate::plan::{Kernel, Plan, row};

/// The thread that submits, the kernel, and the thread that takes completions.
const THREADS: usize = 3;

impl RingsArgs {
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let cores = cores::several(&self.cores)?;
        let named = any_ids(entries(), &self.queues)?;
        let queues = self.run.choose(entries(), &named, |_| true);
        check_entries(&self.entries)?;
        let wait = self.wait.on(cores::are_shared(THREADS, &cores));
        let length = Length::of(self.items, self.duration, 30);
        let mut cells = Vec::new();
        for batch in self.batch.iter().map(|batch| usize::from(*batch)) {
            for capacity in self.entries.iter().map(|entries| *entries as usize) {
                let setting = RingsSetting { batch };
                let params = Params { capacity, wait, setting: setting.into() };
                let queues = queues.iter().copied();
                cells.extend(row(queues, Test::Submission, params, length, |one| {
                    Kernel::of(move |trial| (one.kernel)(trial, batch))
                }));
            }
        }
        Plan::new(cells, cores, &self.run, &named, Vec::new())
    }
}

/// Refuses rings of other sizes than io_uring has.
///
/// # Errors
///
/// If a number is no power of two.
pub fn check_entries(entries: &[u32]) -> Result<(), Failure> {
    match entries.iter().find(|entries| !entries.is_power_of_two()) {
        Some(entries) => Err(Failure::Usage(format!(
            "io_uring has rings of a power of two, and not of {entries}: choose other --entries, such as {}",
            entries.next_power_of_two()
        ))),
        None => Ok(()),
    }
}
