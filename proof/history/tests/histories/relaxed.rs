//! Relaxed queues with a bug that the monitor must find.

use std::time::Duration;

use corelane_harness::loose::{Bug, subject};
use corelane_history::{Finding, HistorySubject, Plan, Summary, Violation};

use crate::scaled;

/// Rounds with this bug until a violation is found, `rounds` at most.
fn checked(bug: Bug, rounds: u64) -> Summary {
    let subject = HistorySubject::shared(subject::<u64>(bug));
    let mut round = 0;
    subject.run(Duration::MAX, &mut |_| {
        round += 1;
        round < rounds
    })
}

/// Checks that the monitor finds the bug as the right violation.
fn found(bug: Bug, is_right: fn(&Violation) -> bool) {
    let Finding { plan, witness } = checked(bug, 2_000).violation.expect("the bug shows");
    println!("{bug:?} with k of {:?}: {witness}\n", plan.relaxation);
    assert!(is_right(&witness.violation), "{witness}");
}

#[test]
fn nothing_is_found_without_a_bug() {
    let summary = checked(Bug::Nothing, scaled(60));
    let finding = summary.violation.map(|finding| finding.to_string());
    assert_eq!(finding, None);
    assert!(summary.empties > 0 && summary.fulls > 0, "both ends are met");
}

/// Of a pop that goes one item too far, and of an item that is passed over once too often, each k
/// that plans ask for is found.
#[test]
fn one_beyond_k() {
    for bug in [Bug::TooFar, Bug::TooLate] {
        for k in [1, 2, 7, 32] {
            let subject = HistorySubject::shared(subject::<u64>(bug));
            let is_about_k = |plan: &Plan| plan.relaxation == Some(k) && plan.capacity > 2 * k;
            let plans = (0..).map(|round| subject.plan(round)).filter(is_about_k).take(200);
            let found = plans.map(|plan| subject.run_round(&plan)).find_map(|run| run.violation);
            // With a k of 1 no item is passed over.
            if (bug, k) == (Bug::TooLate, 1) {
                assert_eq!(found, None);
                continue;
            }
            let witness = found.unwrap_or_else(|| panic!("{bug:?} with k {k} isn't found")).witness;
            println!("{bug:?}, {k}: {witness}\n");
            let right = if bug == Bug::TooFar { Violation::Order } else { Violation::Late };
            assert_eq!(witness.violation, right, "{witness}");
        }
    }
}

/// A lost item is detected when all consumers have been told closed, or earlier by later items.
#[test]
fn lost() {
    let is_right =
        |found: &Violation| matches!(found, Violation::Lost | Violation::Order | Violation::Late);
    found(Bug::Loses, is_right);
}

#[test]
fn falsely_empty() {
    found(Bug::EmptyTooEarly, |found| matches!(found, Violation::FalseEmpty));
}
