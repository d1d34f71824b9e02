//! Measurements compiled for one queue.

use core_affinity::CoreId;

use super::account::Fault;
use super::effort::{Effort, Free, Spins, Timetable};
use super::full_empty;
use super::goods::Goods;
use super::params::{Operation, Params, Sample};
use super::probe::{Calls, Silent, Stays};
use super::team::{self, Reports};
use crate::cell::Length;
use crate::cli::{MpmcTest, Workload};
use crate::link::Link;

/// What a kernel gets besides its queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'a> {
    /// What to measure.
    pub(super) params: &'a Params,
    /// How long.
    pub(super) length: Length,
    /// Where.
    pub(super) cores: &'a [CoreId],
}

type Threads = fn(&Run<'_>) -> Result<Reports, Fault>;
type Alone = fn(&Run<'_>) -> Result<Sample, Fault>;

/// The kernels of one queue.
#[derive(Debug)]
pub(crate) struct Kernels {
    probe: fn(&Params) -> Result<(), String>,
    simple_throughput: Threads,
    simple: Latencies,
    complex_throughput: Threads,
    complex: Latencies,
    profiling: Latencies,
    full: Alone,
    empty: Alone,
}

/// The kernels of one queue and one workload that note times.
#[derive(Debug)]
struct Latencies {
    data: Threads,
    op: Threads,
}

impl Latencies {
    fn of<L: Link<Item: Goods>, E: Effort>() -> Self {
        Self { data: team::run::<L, E, Stays>, op: team::run::<L, E, Calls> }
    }
}

impl Kernels {
    /// Those of a queue that carries numbers as `N` and boxes as `B`.
    pub(crate) fn of<N: Link<Item: Goods>, B: Link<Item: Goods>>() -> Self {
        Self {
            probe: |params| team::handles::<N>(params).map(drop),
            simple_throughput: team::run::<N, Free, Silent>,
            simple: Latencies::of::<N, Free>(),
            complex_throughput: team::run::<B, Spins, Silent>,
            complex: Latencies::of::<B, Spins>(),
            profiling: Latencies::of::<N, Timetable>(),
            full: full_empty::full::<N>,
            empty: full_empty::empty::<N>,
        }
    }

    /// Opens the queue and closes it again; the error says what is wrong with the set-up.
    pub(super) fn probe(&self, params: &Params) -> Result<(), String> {
        (self.probe)(params)
    }

    /// Runs `test` once.
    pub(super) fn measure(&self, test: MpmcTest, run: &Run<'_>) -> Result<Sample, Fault> {
        let workload = run.params.workload;
        let latencies = match workload {
            Workload::Simple => &self.simple,
            Workload::Complex => &self.complex,
            Workload::Profiling => &self.profiling,
        };
        let threads = match (test, run.params.operation, workload) {
            (MpmcTest::FullEmpty, Some(Operation::Push), _) => return (self.full)(run),
            (MpmcTest::FullEmpty, ..) => return (self.empty)(run),
            (MpmcTest::Throughput, _, Workload::Complex) => self.complex_throughput,
            (MpmcTest::Overwrite, ..) => self.simple_throughput,
            // Not planned with `profiling`, whose rates are fixed.
            (MpmcTest::Throughput, ..) => self.simple_throughput,
            (MpmcTest::DataLatency, ..) => latencies.data,
            (MpmcTest::OpLatency, ..) => latencies.op,
        };
        Ok(Sample::of(test, workload, threads(run)?))
    }
}
