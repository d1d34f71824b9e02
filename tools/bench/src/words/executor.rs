//! The texts of `lane bench executor`.

use super::{Column, RATIO_PEER};
use crate::kinds::Test;
use crate::params::ExecutorSetting;
use crate::results::CellResult;

/// The title of a chart, and of one of its tables.
pub(super) fn titles(result: &CellResult, setting: &ExecutorSetting) -> (String, Option<String>) {
    let what = match result.test {
        Test::SpawnJoin => "spawn-join, 256 empty tasks that are spawned and awaited",
        Test::PingPong => "ping-pong, two tasks that wake each other",
        Test::Yield => "yield, 256 tasks that let each other run",
        Test::FanOut => "fan-out, 256 empty tasks that nobody awaits",
        _ => "chain, 1000 tasks of which each spawns the next",
    };
    (what.into(), Some(format!("{} workers", setting.workers)))
}

pub(super) fn columns(test: Test) -> (&'static str, &'static [Column]) {
    (test.unit(), &[RATIO_PEER])
}

pub(super) const LEGEND: &str = "Nanoseconds for each task, round trip, or yield, of all workers together; less is better. × peer: of the best peer.";

pub(super) const READING: &str =
    "The workers are not pinned. The first task runs on a worker, too.";
