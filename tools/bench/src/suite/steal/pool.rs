//! Threads that have a queue each, and steal from each other.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use corelane::steal::pool::{Policy, Victims, domains};

use super::{Deque, Thief, WRONG, sum_of};
use crate::params::{Length, Trial};
use crate::sample::Sample;
use crate::suite::steal::PoolSetting;
use crate::suite::steal::StealPolicy;
use crate::threads::{self, Task};

/// Nanoseconds of a thread for each item that it gets or steals. In each round a thread puts until
/// its queue is full, gets until it is empty, and then attempts to steal `balancing_percent` of the
/// capacity from the others (paper 3 §4.6.2.3). An attempt goes round all queues, as in corelane's
/// pool.
pub(super) fn measure<D: Deque>(trial: &Trial<'_>, pool: PoolSetting) -> Result<Sample, String> {
    let capacity = trial.params.capacity as u64;
    let (policy, is_near_first, samples) = pool.policy.options();
    let cores: Vec<_> = trial.cores.iter().cycle().take(pool.threads).copied().collect();
    let domains = match is_near_first {
        true => domains(cores.iter().map(|core| core.id)),
        false => Vec::new(),
    };
    let deques: Vec<D> = cores.iter().map(|_| D::new(trial.params.capacity)).collect();
    let thief_of = |deque: &D| deque.thief().expect("collections of one thread are left out");
    let thieves: Vec<Vec<_>> =
        cores.iter().map(|_| deques.iter().map(thief_of).collect()).collect();
    let (start, is_over) = (Barrier::new(pool.threads), AtomicBool::new(false));
    let worker = |(number, (deque, thieves)): (usize, (D, Vec<D::Thief>))| {
        let worker = Worker {
            deque,
            thieves,
            victims: Victims::new(policy, number, pool.threads, &domains),
            samples,
            capacity,
            attempts: capacity * u64::from(pool.balancing_percent) / 100,
            ns_per_item: 0.0,
            put: 0,
            taken: 0,
            stolen: 0,
            sum: 0,
        };
        let (length, start, is_over) = (trial.length, &start, &is_over);
        let work = move || {
            start.wait();
            match number {
                0 => worker.measured(length, is_over),
                _ => worker.beside(is_over),
            }
        };
        (Some(cores[number]), Box::new(work) as Box<dyn FnOnce() -> Worker<D> + Send>)
    };
    let all = deques.into_iter().zip(thieves).enumerate();
    let tasks: Vec<Task<'_, Worker<D>>> = all.map(worker).collect();
    let mut workers = threads::all(tasks, &|| ());
    // What is left is got by nobody else.
    workers.iter_mut().for_each(|worker| worker.get_all());
    let sum = |of: fn(&Worker<D>) -> u64| workers.iter().map(of).fold(0, u64::wrapping_add);
    let is_each_once = sum(|worker| worker.sum) == sum(|worker| sum_of(worker.put));
    if !is_each_once || sum(|worker| worker.taken) != sum(|worker| worker.put) {
        return Err(WRONG.into());
    }
    let stolen = sum(|worker| worker.stolen) as f64 / sum(|worker| worker.put) as f64;
    Ok(Sample { stolen: Some(stolen), ..Sample::of(workers[0].ns_per_item) })
}

impl StealPolicy {
    /// As the pool's options: also whether queues of near cores come first, and whether thieves
    /// sample.
    fn options(self) -> (Policy, bool, bool) {
        match self {
            Self::Rand => (Policy::Random, false, false),
            Self::Seq => (Policy::Sequential, false, false),
            Self::Last => (Policy::Last, false, false),
            Self::BestOfTwo => (Policy::BestOfTwo, false, false),
            Self::BestOfMany => (Policy::BestOfMany, false, false),
            Self::Numa => (Policy::Random, true, false),
            Self::RandProb => (Policy::Random, false, true),
            Self::NumaProb => (Policy::Random, true, true),
        }
    }
}

struct Worker<D: Deque> {
    deque: D,
    /// Of all queues, its own included.
    thieves: Vec<D::Thief>,
    victims: Victims,
    /// Whether it steals from random blocks.
    samples: bool,
    capacity: u64,
    /// In each round.
    attempts: u64,
    /// Of the measured one.
    ns_per_item: f64,
    put: u64,
    /// Got or stolen.
    taken: u64,
    stolen: u64,
    /// Of the items that it has taken.
    sum: u64,
}

impl<D: Deque> Worker<D> {
    /// The one whose time is measured.
    fn measured(mut self, length: Length, is_over: &AtomicBool) -> Self {
        for part in length.parts() {
            let (begin, before) = (Instant::now(), self.taken);
            while !part.is_over(self.taken - before, begin) {
                self.round(self.capacity, || part.is_over(0, begin));
            }
            let items = self.taken - before;
            self.ns_per_item = begin.elapsed().as_nanos() as f64 / items.max(1) as f64;
        }
        is_over.store(true, Ordering::Relaxed);
        self
    }

    /// Another one. It begins with half a round, so that not all do the same at once.
    fn beside(mut self, is_over: &AtomicBool) -> Self {
        let mut room = self.capacity / 2;
        while !is_over.load(Ordering::Relaxed) {
            self.round(room, || is_over.load(Ordering::Relaxed));
            room = self.capacity;
        }
        self
    }

    fn round(&mut self, room: u64, is_over: impl Fn() -> bool) {
        for _ in 0..room {
            if !self.deque.put(self.put + 1) {
                break;
            }
            self.put += 1;
        }
        self.get_all();
        for attempt in 0..self.attempts {
            if attempt % 64 == 0 && is_over() {
                break;
            }
            if let Some(item) = self.steal() {
                self.take(item);
                self.stolen += 1;
            }
        }
    }

    fn steal(&mut self) -> Option<u64> {
        let (thieves, samples) = (&self.thieves, self.samples);
        let random = if samples { self.victims.random() } else { 0 };
        let len = |victim: usize| thieves[victim].len();
        self.victims.find(len, |victim| {
            let thief = &thieves[victim];
            if samples { thief.steal_sampled(random) } else { thief.steal() }
        })
    }

    fn get_all(&mut self) {
        while let Some(item) = self.deque.get() {
            self.take(item);
        }
    }

    fn take(&mut self, item: u64) {
        self.taken += 1;
        self.sum = self.sum.wrapping_add(black_box(item));
    }
}
