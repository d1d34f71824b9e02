//! Histories of every queue.

use std::any::type_name;
use std::time::Duration;

use corelane::Queue;
use corelane::ring::{HeadTail, InOrder, RelaxedTail, Ring};
use corelane_harness::{Any, Single};
use corelane_history::{HistorySubject, Plan, Summary, all_subjects};

use crate::scaled;

/// Checks this number of operations.
fn checked(subject: &HistorySubject, operations: u64) -> Summary {
    let mut go_on = |summary: &Summary| summary.operations < operations;
    let summary = subject.run(Duration::MAX, &mut go_on);
    println!(
        "{:>12} {:>9} operations, {:>8} empty, {:>8} full, {:>4} histories, \
         {:>3} with full and empty at once, {:>7} overwritten, {:.2} s",
        subject.id,
        summary.operations,
        summary.empties,
        summary.fulls,
        summary.histories,
        summary.contradictory,
        summary.unpopped,
        summary.seconds
    );
    summary
}

/// Histories of every queue have no violation. With `CORELANE_STRESS=50` each queue has 10⁷
/// operations.
#[test]
fn every_queue_is_linearizable() {
    let mut findings = String::new();
    for subject in all_subjects() {
        let summary = checked(&subject, scaled(200_000));
        // A queue that overwrites is never full.
        let both_ends = summary.empties > 0 && (summary.fulls > 0 || summary.unpopped > 0);
        assert!(both_ends || summary.operations < 200_000, "both ends are met");
        if let Some(finding) = summary.violation {
            findings.push_str(&format!("{}: {finding}\n", subject.id));
        }
    }
    assert!(findings.is_empty(), "{findings}");
}

/// Rings whose sides are in different modes.
#[test]
fn rings_of_mixed_modes_are_linearizable() {
    fn check<Q: Queue<u64> + 'static>() {
        let operations = scaled(200_000);
        let mut go_on = |summary: &Summary| summary.operations < operations;
        let subject = HistorySubject::shared(Any::<u64>::of::<Q>());
        let summary = subject.run(Duration::MAX, &mut go_on);
        assert!(summary.empties > 0 && summary.fulls > 0, "both ends are met");
        let finding = summary.violation.map(|finding| finding.to_string());
        assert_eq!(finding, None, "{}", type_name::<Q>());
    }
    check::<Ring<InOrder, RelaxedTail>>();
    check::<Ring<InOrder, HeadTail>>();
    check::<Ring<RelaxedTail, InOrder>>();
    check::<Ring<RelaxedTail, HeadTail>>();
    check::<Ring<HeadTail, InOrder>>();
    check::<Ring<HeadTail, RelaxedTail>>();
}

/// The end is part of every history, so that items that are lost there are detected.
#[test]
fn every_history_is_drained() {
    use corelane::{Config, lamport::Lq, line_ring::LineRing};
    use corelane_history::record;

    for round in 0..60 {
        // A slow producer gives many empty answers, and the log has room for few.
        let plan = Plan { queues: 1, pushes: 300, ..Plan::of_round(round) };
        let config = Config::new(plan.capacity);
        for queue in [Single::<u64>::of::<Lq>(), Single::of::<LineRing>()] {
            let (tx, rx) = queue.open(config);
            assert!(record(&plan, tx, rx).history.drained, "{}, {plan:?}", queue.info.id);
        }
    }
}

/// A finding's text suffices to repeat its round.
#[test]
fn a_round_can_be_repeated() {
    use corelane_history::{Finding, Violation, Witness};

    let plan = (0..).map(Plan::of_round).find(|plan| plan.queues > 1).unwrap();
    let summary = all_subjects()[0].run_round(&plan);
    assert!(summary.violation.is_none());
    assert_eq!(summary.histories, plan.queues as u64);
    let witness = Witness { violation: Violation::Lost, operations: vec![] };
    let text = Finding { plan, witness: witness.clone() }.to_string();
    assert!(text.contains(&format!("in Plan::of_round({}), ", plan.seed)), "{text}");
    let other = Plan { pushes: 77, ..plan };
    let text = Finding { plan: other, witness }.to_string();
    assert!(text.contains("in Plan {"), "{text}");
}

/// The time for checking a history, of 10⁷ operations with `CORELANE_STRESS=50`.
#[test]
fn long_history() {
    use corelane::{Config, lamport::Lq};
    use corelane_history::{Pace, Rules, Way, check, record};

    let plan = Plan {
        capacity: 1000,
        queues: 1,
        pushes: scaled(100_000) as usize,
        period: 4,
        way: Way::Single,
        pace: Pace::Even,
        one_core: false,
        ..Plan::of_round(0)
    };
    let (tx, rx) = Single::<u64>::of::<Lq>().open(Config::new(plan.capacity));
    let (slots, capacity) = (Some(tx.slots()), tx.capacity());
    let rules = Rules { slots, capacity, ..Rules::default() };
    let recording = std::time::Instant::now();
    let history = record(&plan, tx, rx).history;
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
