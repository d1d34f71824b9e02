//! Items that are lost or doubled between the threads of a team are detected.

use coherence::{Machine, Time};
use corelane_history::Span;
use corelane_simulate::account::{Phase, TeamAccount, number};
use corelane_simulate::{Failure, Team};

fn account(producers: usize, warm_up: u64, items: u64) -> TeamAccount {
    let team = Team { producers, warm_up, items, ..Team::new(Machine::i7()) };
    TeamAccount::new(&Team { longest: Time::ns(1000), ..team }, false)
}

/// The result of a run in which two producers push two items each, and one consumer pops these.
fn settle(popped: &[(usize, u64)]) -> Result<(u64, Time), Failure> {
    let account = account(2, 1, 2);
    let mut last = [None; 2];
    for (at, (producer, item)) in (0..).zip(popped) {
        account.popped(number(*producer, *item), Span::at(at), &mut last);
        account.phase(Time::ns(10 * at));
    }
    for producer in [0, 1] {
        account.pushed(producer, 2);
    }
    account.settle()
}

#[test]
fn time_runs_from_the_last_item_of_the_warm_up_to_the_last_that_counts() {
    assert_eq!(settle(&[(0, 0), (1, 0), (1, 1), (0, 1)]), Ok((2, Time::ns(20))));
}

#[test]
fn lost_and_doubled_items_are_noticed() {
    let times = |producer, item, times| Err(Failure::Times { producer, item, times });
    assert_eq!(settle(&[(0, 0), (1, 0), (1, 1)]), times(0, 1, 0));
    assert_eq!(settle(&[(0, 0), (0, 1), (1, 1)]), times(1, 0, 0));
    assert_eq!(settle(&[(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]), times(1, 2, 1));
    assert_eq!(settle(&[(0, 0), (7, 1), (1, 0), (1, 1)]), times(7, 1, 1));
    let order = |producer, item, after| Err(Failure::Order { producer, item, after });
    assert_eq!(settle(&[(0, 0), (0, 1), (1, 1), (1, 0)]), order(1, 0, 1));
    assert_eq!(settle(&[(0, 0), (0, 0), (0, 1), (1, 0), (1, 1)]), order(0, 0, 0));
}

#[test]
fn an_item_that_two_consumers_get_is_noticed() {
    let account = account(1, 1, 1);
    account.popped(number(0, 0), Span::at(0), &mut [None]);
    account.popped(number(0, 0), Span::at(0), &mut [None]);
    account.pushed(0, 1);
    assert_eq!(account.settle(), Err(Failure::Times { producer: 0, item: 0, times: 2 }));
}

#[test]
fn overwritten_items_must_be_counted() {
    let account = |lost| {
        let account =
            TeamAccount::new(&Team { items: 2, warm_up: 1, ..Team::new(Machine::i7()) }, true);
        for ns in 0..4 {
            account.pushes_one(number(0, ns), Span::at(ns));
            account.phase(Time::ns(ns));
        }
        account.popped(number(0, 2), Span::at(0), &mut [None]);
        account.pushed(0, 4);
        account.lost(lost);
        account.settle()
    };
    assert_eq!(account(3), Ok((2, Time::ns(2))));
    assert_eq!(account(2), Err(Failure::Lost { missing: 3, told: 2 }));
}

#[test]
fn a_slow_run_ends_in_time() {
    let account = account(1, 100, 100);
    let phase = |ns| account.phase(Time::ns(ns));
    assert_eq!([phase(500), phase(501)], [Phase::WarmUp, Phase::Counted]);
    account.popped(number(0, 0), Span::at(0), &mut [None]);
    assert_eq!([phase(1000), phase(1001), phase(10)], [Phase::Counted, Phase::Over, Phase::Over]);
    account.pushed(0, 1);
    assert_eq!(account.settle(), Ok((1, Time::ns(500))));
}

#[test]
fn a_run_without_popped_items_has_no_result() {
    let account = account(1, 1, 1);
    for ns in [600, 1001] {
        account.phase(Time::ns(ns));
    }
    assert_eq!(account.settle(), Err(Failure::Starved { time: Time::ns(1000) }));
}
