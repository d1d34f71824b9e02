//! Histories of every queue.

use std::time::Duration;

use corelane_conformance::history::{HistorySubject, Summary, all_subjects};

use crate::scaled;

fn check_clean(subject: &HistorySubject, operations: u64) -> Summary {
    let mut go_on = |summary: &Summary| summary.operations < operations;
    let summary = (subject.run)(Duration::MAX, &mut go_on);
    let HistorySubject { id, packed, .. } = subject;
    println!(
        "{id:>8}{} {:>9} operations, {:>8} empty, {:>8} full, {:>4} histories, \
         {:>3} with full and empty at once, {:.2} s",
        if *packed { " packed" } else { "       " },
        summary.operations,
        summary.empties,
        summary.fulls,
        summary.histories,
        summary.contradictory,
        summary.seconds
    );
    if let Some(finding) = &summary.violation {
        panic!("{id}: {finding}");
    }
    summary
}

/// Some histories of every queue are a queue's. `CORELANE_STRESS=50` makes them 10⁷ operations each.
#[test]
fn every_queue_is_linearizable() {
    for subject in all_subjects() {
        let summary = check_clean(&subject, scaled(200_000));
        let both_ends = summary.empties > 0 && summary.fulls > 0;
        assert!(both_ends || summary.operations < 200_000, "both ends are met");
    }
}

/// The time that 10⁷ operations take to check: `CORELANE_STRESS=50` makes the history that long.
#[test]
fn long_history() {
    use corelane::{Config, spsc::lamport};
    use corelane_conformance::history::{Pace, Plan, Rules, Way, check, record};

    let plan = Plan {
        capacity: 1000,
        pushes: scaled(100_000) as usize,
        period: 4,
        way: Way::Single,
        pace: Pace::Even,
        one_core: false,
        ..Plan::of_round(0)
    };
    let (tx, rx) = lamport::channel_with::<u64>(Config::new(plan.capacity)).unwrap();
    let rules = Rules { capacity: Some(corelane::Producer::capacity(&tx)), ..Rules::default() };
    let recording = std::time::Instant::now();
    let history = record(&plan, tx, rx);
    let recorded = recording.elapsed();
    let checking = std::time::Instant::now();
    let outcome = check(&history, &rules);
    println!(
        "{:?}: recorded in {recorded:?}, checked in {:?}",
        history.counts(),
        checking.elapsed()
    );
    assert_eq!(outcome, Ok(()));
}
