//! What a watcher notes and changes while a model runs.

use std::panic::catch_unwind;
use std::sync::Arc;

use corelane_loom::memory::{AtomicBool, AtomicU64, Ordering::*, UnsafeCell, fence};
use corelane_models::{Exploration, Items, Model, Op, Strength, Weakening, both, explore};
use loom::thread;

/// Every weakening of a program by one step, and whether the program then fails.
fn weakenings(run: fn() -> Exploration) -> Vec<(Op, Strength, bool)> {
    let model = Model::new("none", Items::Any, "weakened", run);
    let mut found = Vec::new();
    for site in run().sites {
        for &to in site.ordering.weaker(site.op) {
            let weakening = Weakening { site: site.clone(), to };
            let harm = catch_unwind(|| model.run_weakened(&weakening)).is_err();
            found.push((site.op, to, harm));
        }
    }
    found.sort_by_key(|&(op, to, _)| (op, to));
    found
}

/// A cell that loom watches.
struct Shared(UnsafeCell<u64>);

// SAFETY: loom checks that accesses are ordered.
unsafe impl Sync for Shared {}
// SAFETY: the contents are a number.
unsafe impl Send for Shared {}

#[test]
fn needed_and_needless_orderings_are_told_apart() {
    let found = weakenings(|| {
        explore(|| {
            let shared =
                Arc::new((Shared(UnsafeCell::new(0)), AtomicBool::new(false), AtomicU64::new(0)));
            let other = shared.clone();
            let writer = thread::spawn(move || {
                let (cell, ready, needless) = &*other;
                cell.0.with_mut(|_| ());
                ready.store(true, Release);
                needless.fetch_add(1, AcqRel);
            });
            let (cell, ready, _) = &*shared;
            if ready.load(Acquire) {
                cell.0.with(|_| ());
            }
            writer.join().unwrap();
        })
    });
    let expected = [
        (Op::Load, Strength::Relaxed, true),
        (Op::Store, Strength::Relaxed, true),
        (Op::Rmw, Strength::Acquire, false),
        (Op::Rmw, Strength::Release, false),
    ];
    assert_eq!(found, expected);
}

/// Two threads that each set a flag and read the other's flag: one of them must read a set flag.
#[test]
fn fences_are_weakened() {
    let found = weakenings(|| {
        explore(|| {
            let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
            let side = |flags: &[AtomicBool; 2], mine: usize| {
                flags[mine].store(true, Relaxed);
                fence(SeqCst);
                flags[1 - mine].load(Relaxed)
            };
            let other = flags.clone();
            let thread = thread::spawn(move || side(&other, 0));
            let (a, b) = (side(&flags, 1), thread.join().unwrap());
            assert!(a || b, "neither has seen the other");
        })
    });
    assert_eq!(found, [(Op::Fence, Strength::AcqRel, true)]);
}

#[test]
fn sequentially_consistent_accesses_are_refused() {
    let load = || explore(|| assert_eq!(AtomicU64::new(1).load(SeqCst), 1));
    assert!(catch_unwind(load).is_err());
}

/// Adds one, if the compare-and-swap succeeds at the first attempt or else at a later one.
fn increment(counter: &AtomicU64, again: bool) {
    let mut seen = counter.load(Relaxed);
    while let Err(now) = counter.compare_exchange_weak(seen, seen + 1, Relaxed, Relaxed) {
        if !again {
            return;
        }
        seen = now;
    }
}

fn increments_alone(again: bool) -> Exploration {
    explore(move || {
        let counter = AtomicU64::new(0);
        increment(&counter, again);
        increment(&counter, again);
        assert_eq!(counter.load(Relaxed), 2);
    })
}

/// In a single thread, loom's own compare-and-swap would never fail.
#[test]
fn a_weak_compare_and_swap_fails_without_cause() {
    assert_eq!(increments_alone(true).spurious_failures, 1);
    assert!(catch_unwind(|| increments_alone(false)).is_err());
}

/// Which thread is first must not decide which of them fails.
#[test]
fn a_weak_compare_and_swap_fails_in_each_thread() {
    let run = || {
        explore(|| {
            let numbers = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
            let other = numbers.clone();
            let careless = thread::spawn(move || increment(&other[1], false));
            increment(&numbers[0], true);
            careless.join().unwrap();
            assert_eq!(numbers[1].load(Relaxed), 1);
        })
    };
    assert!(catch_unwind(run).is_err());
}

/// A place that is only reached after a failure at another place.
#[test]
fn a_weak_compare_and_swap_after_another_fails_too() {
    let run = || {
        explore(|| {
            let number = AtomicU64::new(0);
            if number.compare_exchange_weak(0, 1, Relaxed, Relaxed).is_err() {
                number.compare_exchange_weak(0, 1, Relaxed, Relaxed).unwrap();
            }
        })
    };
    assert!(catch_unwind(run).is_err());
}

#[test]
fn values_are_counted_while_there_are_two_threads() {
    let run = |is_read: bool| {
        explore(move || {
            let number = Arc::new(AtomicU64::new(0));
            let store = |values| {
                move |number: &AtomicU64| {
                    (0..values).for_each(|value| number.store(value, Relaxed));
                }
            };
            store(9)(&number);
            let other = number.clone();
            let store_and_read = || {
                store(1)(&number);
                if is_read {
                    number.load(Relaxed);
                }
            };
            both(move || store(2)(&other), store_and_read);
            store(9)(&number);
            number.load(Relaxed);
        })
    };
    // A variable that is read while there is only one thread has one value.
    assert_eq!((run(true).most_values, run(false).most_values), (4, 1));
}
