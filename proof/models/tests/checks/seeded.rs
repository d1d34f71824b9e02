//! The models find bugs, and fail for no other reason.

use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use corelane_loom::{Config, lamport};
use corelane_models::{VACUOUS, all, canary, seeded};

/// A queue that publishes with a relaxed store is detected. So the models check loom's memory and
/// not the machine's, on which such a store would do no harm.
#[test]
fn vacuous_model() {
    for model in canary() {
        assert!(catch_unwind(|| model.run()).is_err(), "{model}: not found");
    }
}

/// Counts the executions of a model of a queue of this package, `corelane_loom` or `corelane`.
macro_rules! executions {
    ($package:ident) => {{
        use $package::{Config, lamport};

        let executions = Arc::new(AtomicUsize::new(0));
        let counter = executions.clone();
        loom::model(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            let (mut tx, mut rx) = lamport::queue_with::<u8>(Config::new(1)).unwrap();
            let producer = loom::thread::spawn(move || tx.try_push(7).unwrap());
            while rx.try_pop().is_err() {
                loom::thread::yield_now();
            }
            producer.join().unwrap();
        });
        executions.load(Ordering::Relaxed)
    }};
}

/// The same model on the machine's atomics, which loom doesn't see: the check that every model
/// passes tells the two apart.
#[test]
fn vacuous_model_on_real_atomics() {
    let (sound, broken) = (executions!(corelane_loom), executions!(corelane));
    assert!(broken <= VACUOUS && VACUOUS < sound, "{broken} and {sound} executions");
}

#[test]
fn every_seeded_bug_is_found() {
    for bug in seeded() {
        (bug.sound)();
        assert!(catch_unwind(bug.broken).is_err(), "{bug}: not found");
    }
}

#[test]
fn every_queue_has_a_seeded_bug() {
    let bugs: BTreeSet<_> = seeded().iter().map(|bug| bug.queue).collect();
    let queues: BTreeSet<_> = all().iter().map(|model| model.queue).collect();
    // The bug of `cnq` is that of its other tubes, too. Slipping only changes when the consumer looks.
    let without: Vec<_> = queues.difference(&bugs).collect();
    assert_eq!(without, [&"cnq-bbq", &"cnq-ring", &"cnq-scq", &"ffq-slip"]);
}

/// A thread's own loads must not hide executions, as they do with loom's bare atomics.
#[test]
fn loads_hide_no_executions() {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let outcomes = seen.clone();
    loom::model(move || {
        let (mut tx, mut rx) = lamport::queue_with::<u8>(Config::new(1)).unwrap();
        let producer = loom::thread::spawn(move || {
            tx.try_push(7).unwrap();
            tx
        });
        let popped = rx.try_pop().ok();
        outcomes.lock().unwrap().insert(popped);
        producer.join().unwrap();
    });
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([None, Some(7)]));
}
