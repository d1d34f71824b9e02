//! Packets through the stages, or through the same work in one thread.

use std::time::Instant;

use corelane::wait;
use pipeline::{Settings, parse_inline, run, run_inline};

use super::PipelineSetting;
use super::links::{Links, Maker};
use super::traffic::{Laps, Traffic};
use crate::params::Trial;
use crate::sample::Sample;
use crate::suite::wait::{Strategy, Usage, between};

/// Nanoseconds per packet through all stages, or without a queue through the same work in one
/// thread.
pub(super) fn measure(
    trial: &Trial<'_>,
    maker: Option<Maker>,
    traffic: &Traffic,
    setting: &PipelineSetting,
) -> Result<Sample, String> {
    let (before, begin) = (Usage::of_all_threads(), Instant::now());
    let mut laps = Laps::new(traffic, trial.length, setting.rate);
    let report = match (maker, setting.parse_only) {
        (Some(maker), _) => {
            let settings = settings(trial.params.capacity, setting);
            run(&Links(maker), &mut laps, &settings, |_| {}).expect("tried before the first round")
        }
        (None, true) => parse_inline(&mut laps),
        (None, false) => run_inline(&mut laps),
    };
    let ns = begin.elapsed().as_nanos() as f64;
    traffic.check(&report, setting.parse_only)?;
    let used = between(before, Usage::of_all_threads());
    let packets = report.packets as f64;
    // With a schedule the value is the median latency.
    let latency = report.latency_ns;
    let median = latency.as_ref().map(|latency| latency.value_at_quantile(0.5) as f64);
    let sample = Sample { latency, ..Sample::of(median.unwrap_or(ns / packets)) };
    Ok(sample.with_usage(used, packets))
}

fn settings(capacity: usize, setting: &PipelineSetting) -> Settings {
    let &PipelineSetting { threads, batch, strategy, parse_only, .. } = setting;
    let wait = match strategy {
        Strategy::Spin => wait::Strategy::Spin,
        Strategy::Yield => wait::Strategy::Yield,
        other => other.of_handles().unwrap_or_default(),
    };
    Settings { batch, capacity, threads, wait, parse_only, ..Settings::default() }
}
