//! A bad history for each pattern, and beside it a good history with a small difference.

use corelane_history::{Rules, Span, Violation, check};

use crate::made::{Do, Made, history, item, made};

/// The monitor's violation, and the witness's number of operations.
fn found(operations: &[Made], rules: Rules, drained: bool) -> Option<(Violation, usize)> {
    let witness = check(&history(operations, drained), &rules).err()?;
    println!("{witness}\n");
    Some((witness.violation, witness.operations.len()))
}

fn push(thread: usize, invoked: u64, answered: u64) -> Made {
    made(thread, Do::Push, invoked, answered)
}

/// A pop by thread 9, the only consumer of most histories.
fn pop(producer: usize, sequence: u64, invoked: u64, answered: u64) -> Made {
    made(9, Do::Pop(item(producer, sequence)), invoked, answered)
}

fn empty(invoked: u64, answered: u64) -> Made {
    made(9, Do::Empty, invoked, answered)
}

fn full(invoked: u64, answered: u64) -> Made {
    made(0, Do::Full, invoked, answered)
}

const FIFO: Rules = Rules {
    slots: None,
    capacity: 0,
    delayed: false,
    k: 0,
    relaxed: false,
    kept: None,
    voids: false,
    drops_first: false,
    broadcasts: false,
};
const TWO: Rules = Rules { slots: Some(2), capacity: 2, ..FIFO };
const DELAYED: Rules = Rules { delayed: true, ..FIFO };

#[test]
fn fresh() {
    let bad = [push(0, 0, 1), pop(0, 1, 2, 3)];
    assert_eq!(found(&bad, FIFO, false), Some((Violation::Fresh, 1)));
    let nobody = [push(0, 0, 1), pop(77, 0, 2, 3)];
    assert_eq!(found(&nobody, FIFO, false), Some((Violation::Fresh, 1)));
    let good = [push(0, 0, 1), pop(0, 0, 2, 3)];
    assert_eq!(found(&good, FIFO, true), None);
}

#[test]
fn repeated() {
    let bad = [push(0, 0, 1), pop(0, 0, 2, 3), pop(0, 0, 4, 5)];
    assert_eq!(found(&bad, FIFO, false), Some((Violation::Repeated, 2)));
    let good = [push(0, 0, 1), push(0, 1, 2), pop(0, 0, 2, 3), pop(0, 1, 4, 5)];
    assert_eq!(found(&good, FIFO, true), None);
}

#[test]
fn early() {
    let bad = [pop(0, 0, 0, 4), push(0, 5, 6)];
    assert_eq!(found(&bad, FIFO, false), Some((Violation::Early, 2)));
    let good = [pop(0, 0, 0, 5), push(0, 5, 6)];
    assert_eq!(found(&good, FIFO, true), None);
}

#[test]
fn lost() {
    let bad = [push(0, 0, 1), push(0, 2, 3), pop(0, 0, 4, 5)];
    assert_eq!(found(&bad, FIFO, true), Some((Violation::Lost, 2)));
    assert_eq!(found(&bad, FIFO, false), None, "it may still be there");
    let pending = [push(0, 0, 1), push(0, 2, Span::PENDING), pop(0, 0, 4, 5)];
    assert_eq!(found(&pending, FIFO, true), None);
    let taken = made(8, Do::PopPending, 3, Span::PENDING);
    assert_eq!(found(&[bad[0], bad[1], bad[2], taken], FIFO, true), None);
}

#[test]
fn order() {
    let second = |invoked, answered| made(8, Do::Pop(item(1, 0)), invoked, answered);
    let bad = [push(0, 0, 1), push(1, 2, 3), second(4, 5), pop(0, 0, 6, 7)];
    assert_eq!(found(&bad, FIFO, false), Some((Violation::Order, 4)));
    let pushes_overlap = [push(0, 0, 2), push(1, 2, 3), second(4, 5), pop(0, 0, 6, 7)];
    assert_eq!(found(&pushes_overlap, FIFO, true), None);
    let pops_overlap = [push(0, 0, 1), push(1, 2, 3), second(4, 6), pop(0, 0, 6, 7)];
    assert_eq!(found(&pops_overlap, FIFO, true), None);
    let never = [push(0, 0, 1), push(1, 2, 3), second(4, 5)];
    assert_eq!(found(&never, FIFO, false), Some((Violation::Order, 3)));
    let pending = [never[0], never[1], never[2], made(9, Do::PopPending, 5, Span::PENDING)];
    assert_eq!(found(&pending, FIFO, false), None);
    let too_late = [never[0], never[1], never[2], made(9, Do::PopPending, 6, Span::PENDING)];
    assert_eq!(found(&too_late, FIFO, false), Some((Violation::Order, 3)));
}

/// Operations of one thread with the same interval are in program order.
#[test]
fn order_in_a_batch() {
    let batch = [push(0, 0, 9), push(0, 0, 9)];
    let bad = [batch[0], batch[1], pop(0, 1, 5, 20), pop(0, 0, 5, 20)];
    assert_eq!(found(&bad, FIFO, false), Some((Violation::Order, 4)));
    let good = [batch[0], batch[1], pop(0, 0, 5, 20), pop(0, 1, 5, 20)];
    assert_eq!(found(&good, FIFO, true), None);
}

#[test]
fn out_of_order_by_k() {
    let pushes = [push(0, 0, 1), push(0, 2, 3), push(0, 4, 5)];
    let last_first = [pop(0, 2, 6, 7), pop(0, 0, 8, 9), pop(0, 1, 10, 11)];
    let operations = [pushes, last_first].concat();
    let relaxed = |k| found(&operations, Rules { k, ..FIFO }, true);
    assert_eq!(relaxed(0), Some((Violation::Order, 4)));
    assert_eq!(relaxed(1), Some((Violation::Order, 6)), "it overtook two");
    assert_eq!(relaxed(2), None);
}

/// An item that is popped after all others, each of which overtakes only this one.
#[test]
fn too_late_by_k() {
    let pushes = [push(0, 0, 1), push(0, 2, 3), push(0, 4, 5), push(0, 6, 7)];
    let relaxed = |pops: &[Made], k| {
        let operations = [&pushes[..], pops].concat();
        found(&operations, Rules { k, ..FIFO }, false)
    };
    let first_last = [pop(0, 1, 8, 9), pop(0, 2, 10, 11), pop(0, 3, 12, 13), pop(0, 0, 14, 15)];
    assert_eq!(relaxed(&first_last, 1), Some((Violation::Late, 6)), "two of three are shown");
    assert_eq!(relaxed(&first_last, 2), Some((Violation::Late, 8)));
    assert_eq!(relaxed(&first_last, 3), None);
    assert_eq!(relaxed(&first_last[..3], 2), Some((Violation::Late, 7)), "it is never popped");
    assert_eq!(relaxed(&first_last[..2], 2), None);
}

/// The same with a producer for each item, and with a consumer for each.
#[test]
fn too_late_by_k_for_several() {
    let pushes = |answered| (0..4).map(move |n| push(n, 10 * n as u64, 10 * n as u64 + answered));
    let pops = |answered| {
        let pop = move |(place, n): (u64, usize)| {
            let begin = 100 + 10 * place;
            made(10 + n, Do::Pop(item(n, 0)), begin, begin + answered)
        };
        (0..).zip([1, 2, 3, 0]).map(pop)
    };
    let relaxed = |pushed, popped, k| {
        let operations: Vec<_> = pushes(pushed).chain(pops(popped)).collect();
        found(&operations, Rules { k, ..FIFO }, true)
    };
    assert_eq!(relaxed(9, 9, 2), Some((Violation::Late, 8)));
    assert_eq!(relaxed(9, 9, 3), None);
    assert_eq!(relaxed(10, 9, 2), None, "the second push may have been the first");
    assert_eq!(relaxed(9, 10, 2), None, "the last but one pop may have been the last");
}

#[test]
fn lost_behind_an_unfinished_push() {
    let rules = |voids| Rules { slots: Some(3), kept: Some(3), voids, ..FIFO };
    let passed_over = |begun| {
        let others = [push(0, 2, 3), push(0, 4, 5), push(0, 6, 7)];
        [&others[..], &[push(1, begun, 20), pop(0, 0, 8, 9), pop(0, 2, 10, 11)]].concat()
    };
    assert_eq!(
        found(&passed_over(0), rules(true), false),
        None,
        "an earlier unfinished push has its slot"
    );
    assert_eq!(found(&passed_over(0), rules(false), false), Some((Violation::Order, 3)));
    assert_eq!(found(&passed_over(3), rules(true), false), Some((Violation::Order, 3)));
}

/// Three items, each pushed before the previous one is popped.
fn relay(last: u64) -> [Made; 7] {
    [
        push(0, 0, 1),
        push(1, 2, 3),
        push(2, 6, last),
        made(8, Do::Pop(item(0, 0)), 4, 20),
        made(7, Do::Pop(item(1, 0)), 8, 20),
        made(6, Do::Pop(item(2, 0)), 12, 20),
        empty(2, 11),
    ]
}

#[test]
fn false_empty() {
    assert_eq!(found(&relay(7), FIFO, true), Some((Violation::FalseEmpty, 7)));
    assert_eq!(found(&relay(8), FIFO, true), None, "there is a gap at 8");
    let alone = [push(0, 0, 1), empty(2, 3), pop(0, 0, 3, 4)];
    assert_eq!(found(&alone, FIFO, true), Some((Violation::FalseEmpty, 3)));
    let concurrent = [push(0, 0, 2), empty(2, 3), pop(0, 0, 3, 4)];
    assert_eq!(found(&concurrent, FIFO, true), None);
}

/// A relaxed queue may say empty if each item comes or leaves during the call.
#[test]
fn false_empty_of_a_relaxed_queue() {
    let relaxed = Rules { relaxed: true, ..FIFO };
    assert_eq!(found(&relay(7), relaxed, true), None);
    let alone = |called| [push(0, 0, 1), empty(2, 4), pop(0, 0, called, 9)];
    assert_eq!(found(&alone(5), relaxed, true), Some((Violation::FalseEmpty, 3)));
    let by_other = |called| [push(0, 0, 1), empty(2, 4), made(8, Do::Pop(item(0, 0)), called, 9)];
    assert_eq!(found(&by_other(5), relaxed, true), Some((Violation::FalseEmpty, 3)));
    assert_eq!(found(&by_other(4), relaxed, true), None);
    // Another item that comes earlier and leaves earlier changes nothing.
    let two = [&[push(1, 0, 1), made(7, Do::Pop(item(1, 0)), 2, 3)][..], &by_other(5)].concat();
    assert_eq!(found(&two, relaxed, true), Some((Violation::FalseEmpty, 3)));
}

/// A relaxed queue may say full while other calls are unfinished, but never holds too many items.
#[test]
fn false_full_of_a_relaxed_queue() {
    let relaxed = Rules { relaxed: true, ..TWO };
    let full_at_one = [push(0, 0, 1), full(2, 3), pop(0, 0, 4, 5)];
    assert_eq!(found(&full_at_one, relaxed, true), None);
    let three = [push(0, 0, 1), push(0, 2, 3), push(0, 4, 5)];
    let overfull = found(&three, relaxed, false).map(|(violation, _)| violation);
    assert!(matches!(overfull, Some(Violation::Overfull { items: 3, .. })), "{overfull:?}");
}

/// The same thread pops the item after its empty answer, in the same interval.
#[test]
fn false_empty_in_a_batch() {
    let bad = [push(0, 0, 1), empty(2, 9), pop(0, 0, 2, 9)];
    assert_eq!(found(&bad, FIFO, true), Some((Violation::FalseEmpty, 3)));
    let good = [push(0, 0, 1), pop(0, 0, 2, 9), empty(2, 9)];
    assert_eq!(found(&good, FIFO, true), None);
}

#[test]
fn false_empty_of_a_delayed_item() {
    let flush = |invoked| made(0, Do::Flush, invoked, invoked + 1);
    let bad = [push(0, 0, 1), flush(2), empty(4, 5), pop(0, 0, 6, 7)];
    assert_eq!(found(&bad, DELAYED, true), Some((Violation::FalseEmpty, 3)));
    let good = [push(0, 0, 1), empty(4, 5), flush(6), pop(0, 0, 8, 9)];
    assert_eq!(found(&good, DELAYED, true), None);
    assert_eq!(found(&good, FIFO, true), Some((Violation::FalseEmpty, 3)));
}

#[test]
fn overfull() {
    let bad = [push(0, 0, 1), push(0, 2, 3), push(0, 4, 5), pop(0, 0, 6, 7)];
    let [first, last] = [0, 2].map(|sequence| item(0, sequence));
    let violation = Violation::Overfull { capacity: 2, items: 3, first, last };
    assert_eq!(found(&bad, TWO, false), Some((violation, 3)));
    let good = [push(0, 0, 1), push(0, 2, 3), push(0, 4, 5), pop(0, 0, 5, 7)];
    assert_eq!(found(&good, TWO, false), None);
}

#[test]
fn false_full() {
    let bad = [push(0, 0, 1), push(0, 2, 3), pop(0, 0, 4, 5), full(6, 7)];
    let violation = Violation::FalseFull { most: 1, least: 2 };
    assert_eq!(found(&bad, TWO, false), Some((violation, 1)));
    assert_eq!(found(&bad, Rules { capacity: 1, ..TWO }, false), None);
    let good = [push(0, 0, 1), push(0, 2, 3), pop(0, 0, 4, 6), full(6, 7)];
    assert_eq!(found(&good, TWO, false), None);
    let other = [bad[0], bad[1], bad[2], bad[3], push(1, 7, 8)];
    assert_eq!(found(&other, TWO, false), None, "another producer may have filled the queue");
}

#[test]
fn full_and_empty() {
    let moved = [push(0, 0, 1), push(0, 2, 3), pop(0, 0, 4, 9)];
    let with = |end: &[Made]| found(&[&moved, end].concat(), TWO, false);
    let violation = Violation::FullAndEmpty { pushed: 2, popped: 1, least: 2 };
    // Each answer alone is possible: the first pop may be late, or the second push.
    let overlap = [push(0, 0, 10), push(0, 0, 10), full(0, 10), pop(0, 0, 0, 10), empty(0, 10)];
    assert_eq!(found(&overlap, TWO, false), Some((violation, 2)));
    assert_eq!(found(&overlap[..4], TWO, false), None);
    assert_eq!(with(&[full(4, 9)]), None);
    assert_eq!(with(&[full(4, 9), pop(0, 1, 9, 10), empty(10, 11)]), None);
}

#[test]
fn overfull_is_told_in_one_sentence() {
    let bad: Vec<Made> = (0..1000).map(|n| push(0, 2 * n, 2 * n + 1)).collect();
    let witness = check(&history(&bad, false), &TWO).unwrap_err();
    let text = "overfull: 1000 items in the queue at once, from 0:0 to 0:999, when the push of the \
                latter had answered; 2 fit\n  \
                thread 0  push 0:0         from        0 to        1 ns\n  \
                thread 0  push 0:999       from     1998 to     1999 ns";
    assert_eq!(witness.to_string(), text);
}

#[test]
fn a_lost_item_is_shown_between_its_neighbours() {
    let pushes = [push(0, 0, 1), push(0, 2, 3), push(0, 4, 5), push(0, 6, 7)];
    let pops = [pop(0, 0, 8, 9), pop(0, 3, 10, 11)];
    let witness = check(&history(&[&pushes[..], &pops].concat(), true), &FIFO).unwrap_err();
    let shown: Vec<String> = witness.operations.iter().map(|op| op.call.to_string()).collect();
    assert_eq!(shown, ["pop  0:0", "push 0:1", "pop  0:3"]);
}

#[test]
fn a_witness_can_be_read() {
    let bad = [push(0, 1_000, 1_010), empty(1_020, 1_035), pop(0, 0, 1_040, 1_050)];
    let witness = check(&history(&bad, true), &FIFO).unwrap_err();
    let text = "false empty: at every moment of the call some item was in the queue\n  \
                thread 9  pop  empty       from       20 to       35 ns\n  \
                thread 0  push 0:0         from        0 to       10 ns\n  \
                thread 9  pop  0:0         from       40 to       50 ns";
    assert_eq!(witness.to_string(), text);
}
