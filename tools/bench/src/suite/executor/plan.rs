//! The cells of `lane bench executor`.

use std::time::Duration;

use corelane_report::{Failure, Positive};

use super::{Computation, ExecutorArgs, ExecutorSetting, Measurable, entries};
use crate::catalogue::any_ids;
use crate::cores;
use crate::kinds::Test;
use crate::params::{Length, Params};
use crate::plan::{Kernel, Plan, row};
use crate::threads::Wait;

/// Most workers.
const MOST: usize = 256;

/// Longest task.
const LONGEST: Duration = Duration::from_secs(1);

impl ExecutorArgs {
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let cores = cores::pair(None)?;
        let cores = vec![cores.producer, cores.consumer];
        let executors = any_ids(entries(), &self.executors)?;
        let chosen = self.run.choose(entries(), &executors, |_| true);
        if let Some(Positive(workers)) = self.workers.iter().find(|workers| workers.0 > MOST) {
            return Err(Failure::Usage(format!(
                "{workers} workers are too many: choose fewer --workers, up to {MOST}"
            )));
        }
        if self.task.iter().any(|&task| task > LONGEST) {
            return Err(Failure::Usage("choose a shorter --task, up to 1s".into()));
        }
        let mut cells = Vec::new();
        for &test in &self.test {
            let usual_ms = match test {
                #[cfg(all(feature = "http", target_os = "linux"))]
                Test::Http => self.usual_ms_of_http()?,
                _ => 30,
            };
            let length = Length::of(self.items, self.duration, usual_ms);
            for setting in self.settings(test) {
                let fits = |one: &&Measurable| one.kernel.fits(&setting);
                let fitting: Vec<_> = chosen.iter().copied().filter(fits).collect();
                let params =
                    Params { capacity: 0, wait: Wait::Within, setting: setting.clone().into() };
                cells.extend(row(fitting, test, params, length, |one| {
                    let setting = setting.clone();
                    Kernel::of(move |trial| one.kernel.measure(test, trial, &setting))
                }));
            }
        }
        Plan::new(cells, cores, &self.run, &executors, Vec::new())
    }

    /// Milliseconds of a measurement of `http`, if nothing else is asked for.
    #[cfg(all(feature = "http", target_os = "linux"))]
    fn usual_ms_of_http(&self) -> Result<u64, Failure> {
        if self.load == super::HttpLoad::Own {
            return Ok(300);
        }
        super::http::wrk::probe().map_err(Failure::Usage)?;
        let is_whole = |time: Duration| time.subsec_nanos() == 0;
        match self.items.is_none() && self.duration.is_none_or(is_whole) {
            true => Ok(2000),
            false => Err(Failure::Usage(
                "wrk measures whole seconds: choose --duration 2s, and no --items".into(),
            )),
        }
    }

    /// The settings of a test, in the order of a round.
    fn settings(&self, test: Test) -> Vec<ExecutorSetting> {
        let of = |of: ExecutorSetting| {
            let with = move |&Positive(workers)| ExecutorSetting { workers, ..of.clone() };
            self.workers.iter().map(with)
        };
        let none = ExecutorSetting::default;
        match test {
            #[cfg(all(feature = "http", target_os = "linux"))]
            Test::Http => {
                let with = |&Positive(n)| ExecutorSetting {
                    connections: Some(n),
                    load: Some(self.load).filter(|&load| load != super::HttpLoad::Own),
                    ..none()
                };
                self.connections.iter().map(with).flat_map(of).collect()
            }
            Test::ForkJoin => {
                let both = [Computation::Fibonacci, Computation::Sum];
                let with = |computation| ExecutorSetting { computation, ..none() };
                both.map(|of| with(Some(of))).into_iter().flat_map(of).collect()
            }
            Test::Grain => {
                let ns = |task: &Duration| Some(task.as_nanos() as u64);
                let with = |task| ExecutorSetting { task_ns: ns(task), ..none() };
                self.task.iter().map(with).flat_map(of).collect()
            }
            _ => of(none()).collect(),
        }
    }
}
