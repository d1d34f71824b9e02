//! Bad histories of a broadcast, and beside each a good one with a small difference.

use corelane_history::{Rules, Violation, check};

use crate::made::{Do, Made, history, item, made};

/// The violation in a drained history of a broadcast that keeps two items.
fn found(operations: &[Made]) -> Option<Violation> {
    let rules = Rules { capacity: 2, broadcasts: true, ..Rules::default() };
    let witness = check(&history(operations, true), &rules).err()?;
    println!("{witness}\n");
    Some(witness.violation)
}

/// Each does one thing after the other, from this time on, in one unit of time each.
fn thread<const N: usize>(thread: usize, begin: u64, all: [Do; N]) -> Vec<Made> {
    let times = (begin..).step_by(2);
    all.into_iter().zip(times).map(|(does, time)| made(thread, does, time, time + 1)).collect()
}

fn pop(producer: usize, sequence: u64) -> Do {
    Do::Pop(item(producer, sequence))
}

/// Four pushes from 0 to 7, and what two consumers do then.
fn after_four<const N: usize, const M: usize>(one: [Do; N], other: [Do; M]) -> Option<Violation> {
    let pushes = thread(0, 0, [Do::Push; 4]);
    found(&[pushes, thread(1, 10, one), thread(2, 10, other)].concat())
}

/// What a consumer does after the four pushes.
fn good() -> [Do; 4] {
    [Do::Missed(2), pop(0, 2), pop(0, 3), Do::Empty]
}

#[test]
fn missed_items_are_counted() {
    assert_eq!(after_four(good(), good()), None);
    let miscounted = |violation| matches!(violation, Some(Violation::Miscounted { .. }));
    // Too many, and too few.
    assert!(miscounted(after_four([Do::Missed(3), pop(0, 3)], good())));
    assert!(miscounted(after_four([Do::Missed(1), pop(0, 2), pop(0, 3)], good())));
    // Or none, with a gap.
    assert!(miscounted(after_four([pop(0, 2), pop(0, 3)], good())));
    // They were still there.
    let early = |end| {
        [made(1, Do::Missed(2), 2, end), made(1, pop(0, 2), 7, 9), made(1, pop(0, 3), 10, 12)]
    };
    let pushes = thread(0, 0, [Do::Push; 4]);
    assert!(miscounted(found(&[&pushes[..], &early(5)].concat())));
    assert_eq!(found(&[&pushes[..], &early(6)].concat()), None);
}

#[test]
fn nothing_is_lost_doubled_or_invented() {
    assert_eq!(after_four([Do::Missed(2), pop(0, 2)], good()), Some(Violation::Lost));
    let doubled = [Do::Missed(2), pop(0, 2), pop(0, 2), pop(0, 3)];
    assert!(after_four(doubled, good()).is_some());
    assert_eq!(after_four([Do::Missed(2), pop(0, 9)], good()), Some(Violation::Fresh));
    let early = [made(1, pop(0, 0), 0, 1), made(0, Do::Push, 2, 3)];
    assert_eq!(found(&early), Some(Violation::Early));
    let late = [made(1, pop(0, 0), 0, 2), made(0, Do::Push, 2, 3)];
    assert_eq!(found(&late), None);
}

#[test]
fn an_overwritten_item_is_not_received() {
    let [one, two] = [0, 1].map(|n| pop(0, n));
    let outlived = after_four([one, two, pop(0, 2), pop(0, 3)], good());
    assert_eq!(outlived, Some(Violation::Outlived { capacity: 2, newer: 3 }));
}

#[test]
fn an_answer_is_not_falsely_empty() {
    let falsely = [Do::Missed(2), Do::Empty, pop(0, 2), pop(0, 3)];
    assert_eq!(after_four(falsely, good()), Some(Violation::FalseEmpty));
}

/// Two producers whose pushes overlap may come in any order, which is the same for all.
#[test]
fn consumers_agree() {
    let pushes = [made(0, Do::Push, 0, 5), made(1, Do::Push, 0, 5)];
    let of = |number, all: [usize; 2]| thread(number, 10, all.map(|producer| pop(producer, 0)));
    let both = |one, other| found(&[&pushes[..], &of(2, one), &of(3, other)].concat());
    assert_eq!(both([0, 1], [0, 1]), None);
    assert_eq!(both([1, 0], [1, 0]), None);
    assert_eq!(both([0, 1], [1, 0]), Some(Violation::Disagreement));
}

/// A push that answered before another was called comes first, whatever comes between.
#[test]
fn order_is_that_of_pushes() {
    let swapped = |begin| {
        let apart = [made(0, Do::Push, 0, 2), made(1, Do::Push, begin, 5)];
        let beside = [2, 3].map(|thread| made(thread, Do::Push, 0, 5));
        // The last ones come early, since only two are kept.
        let pops = [made(4, pop(2, 0), 1, 3), made(4, pop(1, 0), 3, 5), made(4, pop(0, 0), 5, 6)];
        found(&[&apart[..], &beside, &pops, &[made(4, pop(3, 0), 7, 8)]].concat())
    };
    assert_eq!(swapped(3), Some(Violation::Order));
    assert_eq!(swapped(2), None);
}

/// The same where the items before were missed: their number says enough.
#[test]
fn a_place_is_possible() {
    let missed = |answered| {
        let pushes = [&thread(0, 0, [Do::Push; 3])[..], &[made(1, Do::Push, 0, answered)]].concat();
        found(&[pushes, thread(2, 10, [Do::Missed(2), pop(1, 0), pop(0, 2)])].concat())
    };
    assert_eq!(missed(9), None);
    assert!(matches!(missed(1), Some(Violation::Miscounted { .. })));
}
