//! The texts of `lane bench steal`.

use corelane_report::name;

use super::{Column, RATIO_PEER};
use crate::kinds::Test;
use crate::params::{PoolSetting, StealSetting};
use crate::results::CellResult;

/// The title of a chart, and of one of its tables.
pub(super) fn titles(result: &CellResult, setting: &StealSetting) -> (String, Option<String>) {
    let what = match result.test {
        Test::Owner => "owner, which puts until the queue is full and gets until it is empty",
        Test::HungryThief => "hungry-thief, an owner that puts 16 items and gets them",
        Test::Pool => "pool, threads with a queue each that steal from each other",
        _ => "stolen, an owner from which a thief takes a share",
    };
    let title = format!("{what}, {}, capacity {}", name(&setting.order), result.params.capacity);
    let beside = match (setting.pool, setting.stolen_percent, setting.thieves) {
        (Some(PoolSetting { threads, balancing_percent, policy }), ..) => {
            format!(
                "{threads} threads, balancing factor {balancing_percent} %, policy {}",
                name(&policy)
            )
        }
        (None, Some(percent), _) => format!("{percent} % stolen"),
        (None, None, 0) => "no thief".into(),
        (None, None, _) => "a thief that takes what it finds".into(),
    };
    (title, (result.test != Test::Owner).then_some(beside))
}

const STOLEN: Column = ("stolen", |s, _| Some(format!("{:.1} %", 100.0 * s.stolen?)));

pub(super) fn columns(test: Test) -> (&'static str, &'static [Column]) {
    (test.unit(), if test == Test::Owner { &[RATIO_PEER] } else { &[RATIO_PEER, STOLEN] })
}

pub(super) const LEGEND: &str = "Nanoseconds of the owner for each item that it puts, and gets unless it is stolen, or of a thread of a pool for each that it gets or steals; less is better. \
    × peer: of the best peer, which may be a collection of one thread: vec, vecdeque.";

pub(super) const READING: &str =
    "The owner and its thief have a core each. A thief that finds nothing tries again at once.";
