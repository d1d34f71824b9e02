//! Measurements compiled for one queue.

use core_affinity::CoreId;

use super::account::Fault;
use super::effort::{Effort, Free, Spins, Timetable};
use super::full_empty;
use super::goods::Goods;
use super::params::{Operation, Params, Sample};
use super::probe::{Calls, Probe, Silent, Stays};
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
    simple: Tests,
    complex: Tests,
    profiling: Tests,
    full: Alone,
    empty: Alone,
}

/// The kernels of one queue and one workload.
#[derive(Debug)]
struct Tests {
    throughput: Threads,
    data_latency: Threads,
    op_latency: Threads,
}

impl Tests {
    fn of<L: Link<Item: Goods>, E: Effort>() -> Self {
        Self {
            throughput: kernel::<L, E, Silent>,
            data_latency: kernel::<L, E, Stays>,
            op_latency: kernel::<L, E, Calls>,
        }
    }
}

fn kernel<L: Link<Item: Goods>, E: Effort, P: Probe>(run: &Run<'_>) -> Result<Reports, Fault> {
    team::run::<L, E, P>(run)
}

impl Kernels {
    /// Those of a queue that carries numbers as `N` and boxes as `B`.
    pub(crate) fn of<N: Link<Item: Goods>, B: Link<Item: Goods>>() -> Self {
        Self {
            probe: |params| team::handles::<N>(params).map(drop),
            simple: Tests::of::<N, Free>(),
            complex: Tests::of::<B, Spins>(),
            profiling: Tests::of::<N, Timetable>(),
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
        let tests = match workload {
            Workload::Simple => &self.simple,
            Workload::Complex => &self.complex,
            Workload::Profiling => &self.profiling,
        };
        let threads = match (test, run.params.operation) {
            (MpmcTest::FullEmpty, Some(Operation::Push)) => return (self.full)(run),
            (MpmcTest::FullEmpty, _) => return (self.empty)(run),
            (MpmcTest::Throughput, _) => tests.throughput,
            (MpmcTest::DataLatency, _) => tests.data_latency,
            (MpmcTest::OpLatency, _) => tests.op_latency,
        };
        Ok(Sample::of(test, workload, threads(run)?))
    }
}
