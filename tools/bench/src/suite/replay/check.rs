//! A check of all candidates.

use std::sync::Arc;

use core_affinity::CoreId;

use super::plan::{Candidate, candidates, cell, setting};
use super::workload::{Step, Workload};
use crate::params::{Length, Trial};
use crate::suite::wait::Strategy;

/// Calls of two items of 24 bytes, with some nanoseconds between them.
fn workload(producers: usize, consumers: usize) -> Arc<Workload> {
    let steps = vec![Step { own_ns: 40, asleep_ns: 0, items: 2, bytes: 24 }; 3];
    Arc::new(Workload {
        name: "test".into(),
        capacity: 16,
        has_times: false,
        producers: vec![steps.clone(); producers],
        consumers: vec![steps; consumers],
    })
}

/// For a test of the catalogue: each candidate moves all items, in each way to wait.
pub fn each_candidate_moves_all_items_in_each_way() {
    let cores = &[CoreId { id: 0 }];
    for workload in [workload(1, 1), workload(2, 3)] {
        let fitting = |one: &Candidate| one.can_have(workload.size());
        for one in candidates().into_iter().filter(fitting) {
            for strategy in one.strategies().iter().filter(|way| **way != Strategy::Spin) {
                for batch in [1, 5].into_iter().filter(|n| *n == 1 || one.is_queue()) {
                    let setting = setting(&workload, batch, *strategy);
                    let cell = cell(one, &workload, 16, setting, Length::Items(400));
                    let trial =
                        Trial { params: &cell.params, length: cell.length, cores, schedule: &[] };
                    let told = cell.kernel.measure(&trial);
                    let id = cell.entry.info.id;
                    let latency = told.unwrap_or_else(|told| panic!("{id}: {told}")).latency;
                    assert!(latency.is_some_and(|all| all.len() >= 400), "{id}");
                }
            }
        }
    }
}
