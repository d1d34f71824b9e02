//! The cells of `lane bench steal`.

use corelane_report::{Failure, Positive};

use super::{Order, PoolSetting, StealArgs, StealSetting, Stealing, entries};
use crate::catalogue::any_ids;
use crate::cores;
use crate::kinds::Test;
use crate::params::{Length, Params};
use crate::plan::{Kernel, Plan, row};
use crate::threads::Wait;

/// Most items of a queue.
const MOST: usize = 1 << 24;

impl StealArgs {
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let cores = cores::several(&self.cores)?;
        let queues = any_ids(entries(), &self.queues)?;
        let chosen = self.run.choose(entries(), &queues, |_| true);
        let Positive(capacity) = self.capacity;
        let queues_at_once = match self.test.contains(&Test::Pool) {
            true => self.threads.iter().copied().max().map_or(1, usize::from),
            false => 1,
        };
        if capacity > MOST / queues_at_once {
            return Err(Failure::Usage(format!(
                "{queues_at_once} queues at once are filled with {capacity} items each: choose a smaller --capacity, up to {}",
                MOST / queues_at_once
            )));
        }
        let length = Length::of(self.items, self.duration, 30);
        let mut cells = Vec::new();
        for &test in &self.test {
            for setting in self.settings(test) {
                let fits = |one: &&Stealing| one.kernel.fits(&setting);
                let fitting: Vec<_> = chosen.iter().copied().filter(fits).collect();
                let params =
                    Params { capacity, wait: Wait::Within, setting: setting.clone().into() };
                cells.extend(row(fitting, test, params, length, |one| {
                    let setting = setting.clone();
                    Kernel::of(move |trial| one.kernel.measure(test, trial, &setting))
                }));
            }
        }
        Plan::new(cells, cores, &self.run, &queues, Vec::new())
    }

    /// The settings of a test, in the order of a round.
    fn settings(&self, test: Test) -> Vec<StealSetting> {
        let of = |thieves, stolen_percent| {
            let setting = move |&order| StealSetting { order, thieves, stolen_percent, pool: None };
            self.order.iter().map(setting)
        };
        let pool = |pool: PoolSetting| {
            of(pool.threads - 1, None)
                .map(move |setting| StealSetting { pool: Some(pool), ..setting })
        };
        match test {
            Test::Owner => of(0, None).collect(),
            // Without a thief, too, to compare.
            Test::HungryThief => of(0, None).chain(of(1, None)).collect(),
            Test::Pool => self.pools().into_iter().flat_map(pool).collect(),
            _ => self.stolen.iter().flat_map(|&n| of(usize::from(n > 0), Some(n))).collect(),
        }
    }

    fn pools(&self) -> Vec<PoolSetting> {
        let mut pools = Vec::new();
        for &threads in &self.threads {
            for &balancing_percent in &self.balancing {
                // Without attempts to steal there is nothing to choose.
                let policies = if balancing_percent == 0 { 1 } else { self.policy.len() };
                for &policy in &self.policy[..policies] {
                    pools.push(PoolSetting { threads: threads.into(), balancing_percent, policy });
                }
            }
        }
        pools
    }
}

impl Order {
    /// Both orders.
    pub const ALL: [Self; 2] = [Self::Lifo, Self::Fifo];
}
