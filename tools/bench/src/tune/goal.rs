//! What counts, and which of several results is best.

use clap::ValueEnum;
use serde::Serialize;

use crate::sample::Summary;

/// What counts among the settings that keep up with the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// The time of an item, then processor time.
    Throughput,
    /// The latency of 99 of 100 items, then processor time.
    Latency,
    /// Processor time of all threads, then latency.
    Cpu,
}

/// What is measured of a setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Values {
    /// Nanoseconds of the run for an item.
    pub(super) time: f64,
    pub(super) p50: f64,
    pub(super) p99: f64,
    /// Processor time of all threads for an item; 0 if the system doesn't tell it.
    pub(super) cpu: f64,
}

impl From<&Summary> for Values {
    fn from(summary: &Summary) -> Self {
        let latency = |of: fn(&crate::sample::Latency) -> u64| {
            summary.latency_ns.as_ref().map_or(0.0, |latency| of(latency) as f64)
        };
        Self {
            time: summary.value.median,
            p50: latency(|latency| latency.p50),
            p99: latency(|latency| latency.p99),
            cpu: summary.cpu_ns_per_item.unwrap_or_default(),
        }
    }
}

/// A value that counts, and how much more than the least is as good: differences below that come
/// and go from run to run.
type Criterion = (fn(&Values) -> f64, f64);

const TIME: fn(&Values) -> f64 = |measured| measured.time;
const CPU: fn(&Values) -> f64 = |measured| measured.cpu;
const P99: fn(&Values) -> f64 = |measured| measured.p99;

impl Goal {
    pub(super) const ALL: [Self; 3] = [Self::Throughput, Self::Latency, Self::Cpu];

    /// What counts first, second and third.
    fn criteria(self) -> [Criterion; 3] {
        match self {
            Self::Throughput => [(TIME, 1.03), (CPU, 1.05), (P99, 1.0)],
            Self::Latency => [(TIME, 1.1), (P99, 1.15), (CPU, 1.0)],
            Self::Cpu => [(TIME, 1.1), (CPU, 1.05), (P99, 1.0)],
        }
    }

    /// The best of several, by their places.
    pub(super) fn best(self, all: &[Values]) -> Option<usize> {
        let mut left: Vec<_> = (0..all.len()).collect();
        for (value, tolerance) in self.criteria() {
            let least = left.iter().map(|at| value(&all[*at])).fold(f64::INFINITY, f64::min);
            left.retain(|at| value(&all[*at]) <= least * tolerance);
        }
        left.first().copied()
    }

    /// Whether `a` is about as good as `b` in what counts first and second: up to `most` times the
    /// value.
    pub(super) fn is_level(self, a: &Values, b: &Values, most: f64) -> bool {
        let mut criteria = self.criteria().into_iter().take(2);
        criteria.all(|(value, tolerance)| value(a) <= value(b) * tolerance.max(most))
    }

    /// All of them, the best first.
    pub(super) fn ranked(self, all: &[Values]) -> Vec<usize> {
        let mut left: Vec<_> = (0..all.len()).collect();
        let mut ranked = Vec::new();
        loop {
            let measured: Vec<_> = left.iter().map(|at| all[*at]).collect();
            let Some(best) = self.best(&measured) else { return ranked };
            ranked.push(left.remove(best));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_up_is_chosen_by_the_goal() {
        let measured = |time, p99, cpu| Values { time, p50: p99 / 2.0, p99, cpu };
        let spins = measured(100.0, 200.0, 200.0);
        let sleeps = measured(101.0, 9000.0, 90.0);
        let slow = measured(150.0, 150.0, 50.0);
        let all = [slow, spins, sleeps];
        let best = |goal: Goal| goal.best(&all).map(|at| all[at]);
        assert_eq!(best(Goal::Throughput), Some(sleeps), "as fast, with less processor time");
        assert_eq!(best(Goal::Latency), Some(spins));
        assert_eq!(best(Goal::Cpu), Some(sleeps), "the slow one doesn't keep up");
        assert_eq!(Goal::Latency.ranked(&all), [1, 2, 0]);
        assert_eq!(Goal::Latency.best(&[]), None);
        let other = measured(104.0, 900.0, 94.0);
        assert!(
            Goal::Throughput.is_level(&other, &sleeps, 1.05)
                && !Goal::Throughput.is_level(&spins, &sleeps, 1.05)
        );
    }
}
