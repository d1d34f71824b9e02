//! One value that receivers watch.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use corelane::channel::task::watch::error::SendError;
use corelane::channel::task::watch::{Receiver, Sender, channel};

use crate::polled::{Polled, lets_others_run, now};

/// How a scenario finds out whether the value has changed: `None` if a call would wait.
type Changed = fn(&mut Receiver<u64>) -> Option<bool>;

fn by_future(rx: &mut Receiver<u64>) -> Option<bool> {
    now(rx.changed()).map(|changed| changed.is_ok())
}

fn blocking(rx: &mut Receiver<u64>) -> Option<bool> {
    match rx.has_changed() {
        Ok(false) => None,
        _ => Some(rx.blocking_changed().is_ok()),
    }
}

/// Plays a scenario. `a` is the first receiver, the value is 0.
///
/// `>1` sends 1, `>!` fails to; `+b` subscribes, `*ab` clones `a`, `-b` drops; `X` drops the sender,
/// `@2`: there are two receivers. `a=1` borrows 1, `a:1` does so and has seen it; `a?` has not seen
/// the value, `a.` has, `a!` says that the senders are gone. `a+` is told of a change, `a_` waits
/// for it, `ax` finds the end. `am` marks the value as changed, `au` as unchanged.
fn play(changed: Changed, scenario: &str) {
    let (tx, rx) = channel(0);
    let mut tx = Some(tx);
    let mut receivers = BTreeMap::from([('a', rx)]);
    let number = |text: &str| text.parse::<u64>().unwrap();
    for step in scenario.split_whitespace() {
        let (name, rest) = (step.chars().next().unwrap(), &step[1..]);
        let open = || tx.as_ref().unwrap();
        match (name, rest) {
            ('>', "!") => assert_eq!(open().send(9), Err(SendError(9))),
            ('>', value) => {
                assert_eq!(open().send(number(value)), Ok(()));
                assert_eq!((*open().borrow(), open().is_closed()), (number(value), false));
            }
            ('@', n) => assert_eq!(open().receiver_count() as u64, number(n)),
            ('X', _) => tx = None,
            ('-', of) => drop(receivers.remove(&of.chars().next().unwrap())),
            ('+', new) => drop(receivers.insert(new.chars().next().unwrap(), open().subscribe())),
            ('*', names) => {
                let clone = receivers[&names.chars().next().unwrap()].clone();
                receivers.insert(names.chars().nth(1).unwrap(), clone);
            }
            (name, what) => {
                let rx = receivers.get_mut(&name).unwrap();
                let is_as_told = match what {
                    "?" => rx.has_changed() == Ok(true),
                    "." => rx.has_changed() == Ok(false),
                    "!" => rx.has_changed().is_err() && rx.is_closed(),
                    "+" => changed(rx) == Some(true),
                    "_" => changed(rx).is_none(),
                    "x" => changed(rx) == Some(false),
                    "m" => {
                        rx.mark_changed();
                        rx.borrow().has_changed()
                    }
                    "u" => {
                        rx.mark_unchanged();
                        !rx.borrow().has_changed()
                    }
                    _ if what.starts_with('=') => *rx.borrow() == number(&what[1..]),
                    _ => *rx.borrow_and_update() == number(&what[1..]),
                };
                assert!(is_as_told, "{step} in {scenario}");
            }
        }
    }
}

#[test]
fn scenarios() {
    let scenarios = [
        "a_ a=0 >1 a+ a=1 a_ >2 a+ a=2 X ax a=2",
        "am am a+ a=0 a_",
        "*ab am a? a+ a. b. b_",
        "am a=0 a? a:0 a. a_",
        ">1 a? a:1 am a? a:1 a.",
        "am a? au a. a_ >1 a? au a. a:1",
        "*ab a_ b_ >1 a+ a=1 >2 a+ b+ a=2 b=2 >3 a+ b+ a_ b_",
        "X ax a=0",
        ">1 a+ a=1 >2 X a+ a=2 ax a=2",
        ">1 >2 >3 a+ a_ a=3",
        "-a >! @0 +b @1 >1 b+ b=1",
        ">1 +b b. b_ a? a:1 >2 b+ a+",
        ">1 *ab b? a:1 b? b:1 b.",
        "a. >1 a? a+ a_ a. >2 a? a:2 a_ a. X a:2 ax a!",
        ">1 X a! a+ ax",
        ">1 X am a! a+ ax a=1",
    ];
    for scenario in scenarios {
        [by_future as Changed, blocking].into_iter().for_each(|changed| play(changed, scenario));
    }
}

#[test]
fn handles_are_counted() {
    let tx = Sender::<u8>::default();
    let other = tx.clone();
    assert_eq!((tx.sender_count(), tx.receiver_count(), tx.is_closed()), (2, 0, true));
    let rx = tx.subscribe();
    assert_eq!((other.receiver_count(), *rx.borrow(), tx.is_closed()), (1, 0, false));
    assert!(tx.same_channel(&other) && rx.same_channel(&rx.clone()));
    assert!(!tx.same_channel(&Sender::new(0)) && !rx.same_channel(&channel(0).1));
    drop(other);
    assert!(tx.sender_count() == 1 && !rx.is_closed());
    drop(tx);
    assert!(rx.is_closed());
    assert_eq!(SendError(1).to_string(), "channel closed");
    assert_eq!(rx.has_changed().unwrap_err().to_string(), "channel closed");
}

#[test]
fn a_value_is_changed_in_place() {
    let (tx, mut rx) = channel(vec![1]);
    tx.send_modify(|all| all.push(2));
    assert!(rx.borrow_and_update().has_changed() && !rx.borrow_and_update().has_changed());
    assert!(!tx.send_if_modified(|all| {
        all.push(3);
        false
    }));
    assert!(!rx.has_changed().unwrap() && *rx.borrow() == [1, 2, 3]);
    assert_eq!(tx.send_replace(vec![]), [1, 2, 3]);
    assert!(rx.has_changed().unwrap() && !tx.borrow().has_changed());
    drop(rx);
    assert_eq!(tx.send(vec![4]), Err(SendError(vec![4])));
    assert_eq!(tx.send_replace(vec![5]), [], "it needs no receiver");
    assert_eq!(*tx.borrow(), [5]);
}

#[test]
fn a_change_that_panics_tells_nobody_and_the_channel_goes_on() {
    let (tx, mut rx) = channel(1);
    let mut other = rx.clone();
    let mut changed = Polled::new(other.changed());
    assert!(changed.sleeps());
    let change = || {
        tx.send_modify(|value| {
            *value = 2;
            panic!("after a half");
        });
    };
    assert!(catch_unwind(AssertUnwindSafe(change)).is_err());
    assert!(!changed.is_woken() && changed.sleeps() && !rx.has_changed().unwrap());
    assert_eq!(*rx.borrow(), 2);
    tx.send(3).unwrap();
    assert!(changed.is_woken() && changed.poll() == Poll::Ready(Ok(())));
    let looks = || drop(rx.blocking_wait_for(|_| panic!("by a look")));
    assert!(catch_unwind(AssertUnwindSafe(looks)).is_err());
    tx.send(4).unwrap();
    assert_eq!(*rx.borrow(), 4);
}

#[test]
fn waits_for_a_value() {
    let (tx, mut rx) = channel(1);
    assert!(*now(rx.wait_for(|value| *value == 1)).unwrap().unwrap() == 1, "it is there");
    let mut wait = Polled::new(rx.wait_for(|value| *value > 2));
    assert!(wait.sleeps());
    tx.send(2).unwrap();
    assert!(wait.is_woken() && wait.sleeps());
    tx.send(3).unwrap();
    let Poll::Ready(Ok(found)) = wait.poll() else { panic!("it is accepted") };
    assert!(*found == 3 && found.has_changed());
    drop((found, wait));
    assert!(!rx.has_changed().unwrap(), "it counts as seen");
    tx.send(4).unwrap();
    drop(tx);
    assert!(now(rx.clone().wait_for(|value| *value == 4)).unwrap().is_ok(), "also the last one");
    assert!(now(rx.wait_for(|value| *value == 5)).unwrap().is_err());
    assert!(rx.blocking_wait_for(|value| *value == 5).is_err());
    assert!(rx.blocking_wait_for(|value| *value == 4).is_ok());
}

#[test]
fn all_that_wait_are_woken() {
    let (tx, mut rx) = channel(0);
    let mut other = rx.clone();
    let (mut a, mut b) = (Polled::new(rx.changed()), Polled::new(other.changed()));
    assert!(a.sleeps() && b.sleeps());
    tx.send(1).unwrap();
    assert!(a.is_woken() && b.is_woken());
    assert_eq!((a.poll(), b.poll()), (Poll::Ready(Ok(())), Poll::Ready(Ok(()))));
    drop((a, b));
    let (mut a, second) = (Polled::new(rx.changed()), tx.clone());
    assert!(a.sleeps());
    drop(tx);
    assert!(!a.is_woken());
    drop(second);
    assert!(a.is_woken() && matches!(a.poll(), Poll::Ready(Err(_))));
}

#[test]
fn closed_waits_for_the_last_receiver() {
    let (tx, rx) = channel(0);
    let other = rx.clone();
    let mut closed = Polled::new(tx.closed());
    assert!(closed.sleeps());
    drop(rx);
    assert!(!closed.is_woken());
    drop(other);
    assert!(closed.is_woken() && closed.poll().is_ready());
}

#[test]
fn the_last_sender_may_go_while_its_thread_looks() {
    let (tx, rx) = channel(1);
    let value = rx.borrow();
    drop(tx);
    assert_eq!((*value, rx.is_closed()), (1, true));
}

#[test]
fn a_task_that_is_always_ready_lets_others_run() {
    let (tx, mut rx) = channel(0);
    assert!(lets_others_run(async || {
        tx.send(1).unwrap();
        rx.changed().await.unwrap();
    }));
    assert!(lets_others_run(async || drop(rx.wait_for(|value| *value == 1).await.unwrap())));
    drop(tx);
    assert!(lets_others_run(async || assert!(rx.changed().await.is_err())));
    assert!(lets_others_run(async || assert!(rx.wait_for(|_| false).await.is_err())));
    let (tx, _) = channel(0);
    assert!(lets_others_run(async || tx.closed().await));
}

/// A receiver sees values in order, and the last one, whatever it sleeps through.
fn sees_them_in_order(last: u64, seen: u64, newest: u64) -> bool {
    assert!(seen <= newest && newest <= last);
    newest < last
}

#[test]
fn every_receiver_sees_the_last_value() {
    const LAST: u64 = 5000;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    for round in 0..4 {
        let (tx, rx) = channel(0);
        let tasks = [rx.clone(), rx.clone()].map(|mut rx| {
            runtime.spawn(async move {
                let mut seen = 0;
                while sees_them_in_order(LAST, seen, *rx.borrow_and_update()) {
                    seen = *rx.borrow();
                    rx.changed().await.unwrap();
                }
                assert!(rx.wait_for(|value| *value == LAST).await.is_ok());
            })
        });
        thread::scope(|s| {
            for mut rx in [rx.clone(), rx.clone()] {
                s.spawn(move || {
                    let mut seen = 0;
                    while sees_them_in_order(LAST, seen, *rx.borrow_and_update()) {
                        seen = *rx.borrow();
                        rx.blocking_changed().unwrap();
                    }
                    assert!(rx.blocking_changed().is_err(), "the sender is gone");
                });
            }
            for _ in 0..2 {
                let tx = tx.clone();
                s.spawn(move || {
                    for n in 0..LAST / 2 {
                        tx.send_modify(|value| *value += 1);
                        if round > 1 && n % 64 == 0 {
                            thread::sleep(Duration::from_micros(n % 7));
                        }
                    }
                });
            }
            drop(tx);
        });
        tasks.into_iter().for_each(|task| runtime.block_on(task).unwrap());
        assert_eq!(*rx.borrow(), LAST);
    }
}

/// What a sender does before it sends is there for a receiver that is told, without a look.
#[test]
fn a_change_shows_what_came_before_it() {
    for _ in 0..500 {
        let (tx, mut rx) = channel(());
        let before = Arc::new(AtomicBool::new(false));
        let sent = before.clone();
        let sender = thread::spawn(move || {
            sent.store(true, Ordering::Relaxed);
            tx.send(()).unwrap();
        });
        rx.blocking_changed().unwrap();
        assert!(before.load(Ordering::Relaxed));
        sender.join().unwrap();
    }
}
