//! The cells of `lane bench ipc`.

use corelane_report::{Failure, name};

use super::pause::Pause;
use super::{IpcArgs, IpcKernel, IpcSetting, Linked, MOST_BYTES, entries};
use crate::catalogue::any_ids;
use crate::cores;
use crate::kinds::Test;
use crate::params::{Length, Params};
use crate::plan::{Cell, Kernel, Plan};
use crate::suite::wait::Strategy;
use crate::threads::Wait;

impl IpcArgs {
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let all = entries();
        if all.is_empty() {
            return Err(Failure::Usage("lane bench ipc needs Linux".into()));
        }
        let cores = cores::pair(self.cores)?;
        let cores = vec![cores.producer, cores.consumer];
        let queues = any_ids(all, &self.queues)?;
        let chosen =
            self.run.choose(all, &queues, |one| one.entry.is_peer() || !one.entry.is_literature());
        // A process that spins would wait for a process that doesn't run.
        let is_shared = cores[0] == cores[1];
        let can = |strategy: &&Strategy| !(is_shared && **strategy == Strategy::Spin);
        let mut cells = Vec::new();
        for &test in &self.test {
            for setting in self.settings(test) {
                for one in &chosen {
                    for &strategy in self.strategy.iter().filter(can) {
                        let setting = IpcSetting { strategy, ..setting.clone() };
                        let kernel = one.kernel.iter().find(|kernel| kernel.fits(test, &setting));
                        cells.extend(kernel.map(|kernel| self.cell(one, kernel, test, setting)));
                    }
                }
            }
        }
        Plan::new(cells, cores, &self.run, &queues, Vec::new())
    }

    /// The settings of a test, in the order of a round.
    fn settings(&self, test: Test) -> Vec<IpcSetting> {
        let of = |threads, pause_ns, rate| {
            self.record.iter().map(move |&record_bytes| IpcSetting {
                record_bytes,
                strategy: Strategy::Adaptive,
                threads,
                pause_ns,
                rate,
            })
        };
        let none = Pause::default();
        match test {
            Test::Cpu => {
                self.rate.iter().flat_map(|rate| of(1, none, Some(rate.0 as u64))).collect()
            }
            Test::PingPong => {
                let pauses = |&threads| self.pause.iter().flat_map(move |&p| of(threads, p, None));
                self.threads.iter().flat_map(pauses).collect()
            }
            _ => of(1, none, None).collect(),
        }
    }

    fn cell(
        &self,
        one: &'static Linked,
        kernel: &'static IpcKernel,
        test: Test,
        setting: IpcSetting,
    ) -> Cell {
        let items = self.items.filter(|_| test != Test::Cpu);
        let usual_ms = match test {
            Test::Cpu => 100,
            Test::Kill => 500,
            _ => 40,
        };
        let length = Length::of(items, self.duration, usual_ms);
        let capacity = self.capacity.0.min(MOST_BYTES / setting.record_bytes);
        let params = Params { capacity, wait: Wait::Within, setting: setting.clone().into() };
        let id = one.entry.info.id;
        let kernel = Kernel::of(move |trial| {
            kernel
                .measure(id, test, trial, &setting)
                .map_err(|fault| format!("{fault}, in {} between processes", name(&test)))
        });
        Cell { entry: &one.entry, test, params, length, kernel }
    }
}
