//! `lane bench ipc`: the options, checked and expanded into single cells.

use corelane_report::Failure;

use crate::catalogue::{Entry, ids_among};
use crate::cores;
use crate::ipc;
use crate::kinds::{Strategy, Test};
use crate::options::IpcArgs;
use crate::pair::Wait;
use crate::params::{IpcSetting, Length, Params, Setting};
use crate::plan::{Cell, Plan};

impl Plan {
    /// `lane bench ipc`.
    ///
    /// # Errors
    ///
    /// If the options can't be carried out.
    pub fn ipc(args: &IpcArgs) -> Result<Self, Failure> {
        let all = ipc::entries();
        if all.is_empty() {
            return Err(Failure::Usage("lane bench ipc needs Linux".into()));
        }
        let cores = cores::pair(args.cores)?;
        let cores = vec![cores.producer, cores.consumer];
        let queues = ids_among(all, &args.queues, |_| true, |_: &Entry| String::new())?;
        let entries = args.run.choose_among(all, &queues, |_| true);
        let is_shared = cores[0] == cores[1];
        let mut cells = Vec::new();
        for &test in &args.test {
            for setting in args.settings(test) {
                for &entry in &entries {
                    let strategies = args.strategy.iter().filter(|strategy| {
                        // It would wait for a process that doesn't run.
                        !(is_shared && **strategy == Strategy::Spin)
                    });
                    for &strategy in strategies {
                        let setting = IpcSetting { strategy, ..setting.clone() };
                        if entry.ipc.iter().any(|kernel| kernel.fits(test, &setting)) {
                            cells.push(args.cell(entry, test, setting));
                        }
                    }
                }
            }
        }
        Self::new(cells, cores, &args.run, &queues, Vec::new())
    }
}

impl IpcArgs {
    /// The settings of a test, in the order of a round.
    fn settings(&self, test: Test) -> Vec<IpcSetting> {
        let setting = |record_bytes, threads, rate| IpcSetting {
            record_bytes,
            strategy: Strategy::Adaptive,
            threads,
            rate,
        };
        let of =
            |threads, rate| self.record.iter().map(move |&bytes| setting(bytes, threads, rate));
        match test {
            Test::Cpu => self.rate.iter().flat_map(|rate| of(1, Some(rate.0 as u64))).collect(),
            Test::PingPong => self.threads.iter().flat_map(|n| of(n.0, None)).collect(),
            _ => of(1, None).collect(),
        }
    }

    fn cell(&self, entry: &'static Entry, test: Test, setting: IpcSetting) -> Cell {
        let items = self.items.filter(|_| test != Test::Cpu);
        let usual_ms = match test {
            Test::Cpu => 100,
            Test::Kill => 500,
            _ => 40,
        };
        let length = Length::of(items, self.duration, usual_ms);
        let capacity = self.capacity.0.min(ipc::MOST_BYTES / setting.record_bytes);
        let setting = Setting::Ipc(setting);
        let params = Params { capacity, wait: Wait::Within, setting };
        Cell { entry, test, params, length }
    }
}
