//! `lane bench executor`: the options, checked and expanded into single cells.

use std::time::Duration;

use corelane_report::{Failure, Positive};

use crate::catalogue::{Entry, ids_among};
use crate::cores;
use crate::executor;
use crate::kinds::{Computation, Test};
use crate::options::ExecutorArgs;
use crate::pair::Wait;
use crate::params::{ExecutorSetting, Length, Params, Setting};
use crate::plan::{Plan, row};

/// Most workers.
const MOST: usize = 256;

/// Longest task.
const LONGEST: Duration = Duration::from_secs(1);

impl Plan {
    /// `lane bench executor`.
    ///
    /// # Errors
    ///
    /// If the options can't be carried out.
    pub fn executor(args: &ExecutorArgs) -> Result<Self, Failure> {
        let all = executor::entries();
        let cores = cores::pair(None)?;
        let cores = vec![cores.producer, cores.consumer];
        let executors = ids_among(all, &args.executors, |_| true, |_: &Entry| String::new())?;
        let entries = args.run.choose_among(all, &executors, |_| true);
        if let Some(Positive(workers)) = args.workers.iter().find(|workers| workers.0 > MOST) {
            return Err(Failure::Usage(format!(
                "{workers} workers are too many: choose fewer --workers, up to {MOST}"
            )));
        }
        if args.task.iter().any(|&task| task > LONGEST) {
            return Err(Failure::Usage("choose a shorter --task, up to 1s".into()));
        }
        let mut cells = Vec::new();
        for &test in &args.test {
            let usual_ms = match test {
                #[cfg(all(feature = "http", target_os = "linux"))]
                Test::Http => args.usual_ms_of_http()?,
                _ => 30,
            };
            let length = Length::of(args.items, args.duration, usual_ms);
            for setting in args.settings(test) {
                let fits = |entry: &&'static Entry| {
                    entry.executor.is_some_and(|kernel| kernel.fits(&setting))
                };
                let fitting: Vec<_> = entries.iter().copied().filter(fits).collect();
                let setting = Setting::Executor(setting);
                let params = Params { capacity: 0, wait: Wait::Within, setting };
                cells.extend(row(fitting, test, params, length));
            }
        }
        Self::new(cells, cores, &args.run, &executors, Vec::new())
    }
}

impl ExecutorArgs {
    /// Milliseconds of a measurement of `http`, if nothing else is asked for.
    #[cfg(all(feature = "http", target_os = "linux"))]
    fn usual_ms_of_http(&self) -> Result<u64, Failure> {
        if self.load == crate::kinds::HttpLoad::Own {
            return Ok(300);
        }
        executor::http::wrk::probe().map_err(Failure::Usage)?;
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
                    load: Some(self.load).filter(|&load| load != crate::kinds::HttpLoad::Own),
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
