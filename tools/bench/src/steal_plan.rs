//! `lane bench steal`: the options, checked and expanded into single cells.

use corelane_report::{Failure, Positive};

use crate::catalogue::{Entry, ids_among};
use crate::cores;
use crate::kinds::{Order, Test};
use crate::options::StealArgs;
use crate::pair::Wait;
use crate::params::{Length, Params, PoolSetting, Setting, StealSetting};
use crate::plan::{Plan, row};
use crate::steal;

/// Most items of a queue.
const MOST: usize = 1 << 24;

impl Plan {
    /// `lane bench steal`.
    ///
    /// # Errors
    ///
    /// If the options can't be carried out.
    pub fn steal(args: &StealArgs) -> Result<Self, Failure> {
        let all = steal::entries();
        let cores = cores::several(&args.cores)?;
        let queues = ids_among(all, &args.queues, |_| true, |_: &Entry| String::new())?;
        let entries = args.run.choose_among(all, &queues, |_| true);
        let Positive(capacity) = args.capacity;
        let queues_at_once = match args.test.contains(&Test::Pool) {
            true => args.threads.iter().copied().max().map_or(1, usize::from),
            false => 1,
        };
        if capacity > MOST / queues_at_once {
            return Err(Failure::Usage(format!(
                "{queues_at_once} queues at once are filled with {capacity} items each: choose a smaller --capacity, up to {}",
                MOST / queues_at_once
            )));
        }
        let length = Length::of(args.items, args.duration, 30);
        let mut cells = Vec::new();
        for &test in &args.test {
            for setting in args.settings(test) {
                let fits = |entry: &&'static Entry| {
                    entry.steal.is_some_and(|kernel| kernel.fits(&setting))
                };
                let fitting: Vec<_> = entries.iter().copied().filter(fits).collect();
                let setting = Setting::Steal(setting.clone());
                let params = Params { capacity, wait: Wait::Within, setting };
                cells.extend(row(fitting, test, params, length));
            }
        }
        Self::new(cells, cores, &args.run, &queues, Vec::new())
    }
}

impl StealArgs {
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
