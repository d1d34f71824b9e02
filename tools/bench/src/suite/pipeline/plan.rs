//! The cells of `lane bench pipeline`.

use std::sync::{Arc, LazyLock};

use corelane::{Config, Info};
use corelane_report::{Failure, Positive};

use super::links::Maker;
use super::traffic::Traffic;
use super::{PipelineArgs, PipelineSetting, measure};
use crate::catalogue::{Entry, Measured, any_ids};
use crate::cores;
use crate::kinds::Test;
use crate::params::{Length, Params};
use crate::plan::{Cell, Kernel, Plan, check_batches, row};
use crate::queues::{self, Subject};
use crate::suite::wait::Strategy;
use crate::threads::Wait;

/// The same work in one thread without queues.
static INLINE: LazyLock<Measured<()>> = LazyLock::new(|| {
    let info = Info { id: "inline", name: "inline", ..Info::RING };
    Entry { is_floor: true, ..Entry::ours(info, "") }.with(())
});

/// Not meant for one producer and one consumer, but the paper's queues are compared with a lock.
const LOCKED: &str = "locked";

impl PipelineArgs {
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let named = any_ids(queues::all(), &self.queues)?;
        let can = |one: &Subject| one.kernel.boxes.is_some() && one.entry.info.bounded;
        let is_usual = |one: &Subject| can(one) && (one.is_spsc() || one.entry.info.id == LOCKED);
        let queues = self.run.choose(queues::all(), &named, is_usual);
        if let Some(queue) = queues.iter().find(|queue| !can(queue)) {
            return Err(Failure::Usage(format!(
                "{} is no bounded queue that keeps all items in order, which stages need: choose other queues",
                queue.entry.info.id
            )));
        }
        check_batches(&self.batch, self.capacity.0)?;
        let traffic = match &self.trace {
            Some(path) => Traffic::of_file(path).map_err(Failure::Usage)?,
            None => Traffic::built(),
        };
        let (traffic, length) = (Arc::new(traffic), Length::of(self.items, self.duration, 50));
        let cells = self
            .tables()
            .flat_map(|(test, setting)| self.table(&queues, test, &setting, length, &traffic));
        let cores = cores::pair(None)?;
        Plan::new(
            cells.collect(),
            vec![cores.producer, cores.consumer],
            &self.run,
            &named,
            Vec::new(),
        )
    }

    /// The tests and parameters of all tables. The strategy is that of `inline`.
    fn tables(&self) -> impl Iterator<Item = (Test, PipelineSetting)> {
        let threads = || self.threads.iter().map(|&threads| usize::from(threads));
        let sizes = move |test: Test| {
            threads().flat_map(move |threads| {
                self.batch.iter().map(move |&Positive(batch)| (test, threads, batch))
            })
        };
        self.test.iter().flat_map(move |&test| sizes(test)).map(|(test, threads, batch)| {
            let rate = (test == Test::OpenLoop).then_some(self.rate.get());
            let file = self.trace.as_deref().and_then(|path| path.file_name());
            let trace = file.map(|file| file.to_string_lossy().into_owned());
            let (strategy, parse_only) = (Strategy::Adaptive, self.parse_only);
            (test, PipelineSetting { threads, batch, strategy, parse_only, trace, rate })
        })
    }

    /// The cells of a table: `inline`, and all queues with each way to wait.
    fn table(
        &self,
        queues: &[&'static Subject],
        test: Test,
        setting: &PipelineSetting,
        length: Length,
        traffic: &Arc<Traffic>,
    ) -> Vec<Cell> {
        let params = |setting: PipelineSetting| Params {
            capacity: self.capacity.0,
            wait: Wait::Within,
            setting: setting.into(),
        };
        let kernel =
            |maker, setting: &PipelineSetting| kernel(maker, setting.clone(), Arc::clone(traffic));
        let inline =
            row([&*INLINE], test, params(setting.clone()), length, |_| kernel(None, setting));
        let mut cells: Vec<_> = inline.collect();
        for &strategy in &self.wait {
            let setting = PipelineSetting { strategy, ..setting.clone() };
            let queues = queues.iter().copied();
            let of = |one: &'static Subject| Some(kernel(Some(one.kernel.boxes?), &setting));
            cells.extend(row(queues, test, params(setting.clone()), length, of));
        }
        cells
    }
}

fn kernel(maker: Option<Maker>, setting: PipelineSetting, traffic: Arc<Traffic>) -> Kernel {
    let probe = move |config: Config| match maker.map(|maker| maker(config)) {
        Some(Err(error)) => Err(error.to_string()),
        _ => Ok(()),
    };
    Kernel::of(move |trial| measure::measure(trial, maker, &traffic, &setting))
        .and_probe(move |params| probe(params.config()))
}
