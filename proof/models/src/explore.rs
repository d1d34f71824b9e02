//! Running a model, and the steps that models are made of.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use corelane_loom::memory::watched;
use corelane_loom::{Config, Consumer, Producer, TryPopError, TryPushError};
use loom::hint::spin_loop;
use loom::model::Builder;

use crate::Exploration;
use crate::found::{self, Run};
use crate::item::{Cargo, Ledger};
use crate::queue::New;
use crate::thread::spawn;
use crate::watcher::{Watcher, begin_execution, count_values};

/// The program that runs in every execution. loom calls it through a pointer, so that loom's part
/// is compiled once for all models.
type Program = Arc<dyn Fn() + Send + Sync>;

/// Which executions of a model are run: all, if there are fewer than `all`. Otherwise the
/// executions with a bounded number of preemptions. `preemptions` lists bounds, each with a number
/// of executions: the first bound counts under which there are fewer executions than this number.
struct Bounds {
    all: usize,
    preemptions: &'static [(usize, usize)],
}

/// Bounds of ordinary models, which take a second or so.
const BOUNDS: Bounds =
    Bounds { all: 3_000, preemptions: &[(3, 8_000), (2, 40_000), (1, usize::MAX)] };

/// Bounds of big models, which take minutes.
const BIG_BOUNDS: Bounds =
    Bounds { all: 200_000, preemptions: &[(5, 500_000), (4, 1_000_000), (3, usize::MAX)] };

/// Bounds of models with three threads, which have many executions.
const SHARED_BOUNDS: Bounds = Bounds { all: 3_000, preemptions: &[(2, 20_000), (1, usize::MAX)] };

/// Bounds of a model that needs two preemptions, however many executions there are.
const TWICE: Bounds = Bounds { all: 0, preemptions: &[(2, usize::MAX)] };

/// Bounds of a model that needs four.
const FOUR_TIMES: Bounds = Bounds { all: 0, preemptions: &[(4, usize::MAX)] };

/// An execution with as many steps is taken for an endless loop.
const ENDLESS: usize = 5_000;

/// Runs `model` in all its executions, or in those with few preemptions if there are too many: see
/// `Bounds`.
///
/// Then runs `model` once more for each weak compare-and-swap of each thread. In this run the
/// compare-and-swap fails spuriously when the thread first executes it.
pub fn explore(model: impl Fn() + Send + Sync + 'static) -> Exploration {
    explore_up_to(&BOUNDS, Arc::new(model))
}

/// As [`explore`], for three threads.
pub(crate) fn explore_shared(model: impl Fn() + Send + Sync + 'static) -> Exploration {
    explore_up_to(&SHARED_BOUNDS, Arc::new(model))
}

/// As [`explore`], of all executions in which threads are interrupted at most twice.
pub(crate) fn explore_twice_preempted(model: impl Fn() + Send + Sync + 'static) -> Exploration {
    explore_up_to(&TWICE, Arc::new(model))
}

/// As [`explore`], of all executions in which threads are interrupted at most four times.
pub(crate) fn explore_four_times_preempted(
    model: impl Fn() + Send + Sync + 'static,
) -> Exploration {
    explore_up_to(&FOUR_TIMES, Arc::new(model))
}

/// As [`explore`], with the bounds of big models.
pub(crate) fn explore_big(model: impl Fn() + Send + Sync + 'static) -> Exploration {
    explore_up_to(&BIG_BOUNDS, Arc::new(model))
}

fn explore_up_to(bounds: &Bounds, model: Program) -> Exploration {
    let watcher = Rc::new(Watcher::new(BTreeSet::new()));
    let mut run = explore_watched(bounds, model.clone(), watcher.clone());
    let mut known = watcher.weak_cas();
    let mut to_fail: Vec<_> = known.iter().map(|cas| BTreeSet::from([cas.clone()])).collect();
    while let Some(failing) = to_fail.pop() {
        let watcher = Rc::new(Watcher::new(failing.clone()));
        run.add(explore_watched(bounds, model.clone(), watcher.clone()));
        run.spurious_failures += 1;
        // After a spurious failure a thread may reach compare-and-swaps that it doesn't reach
        // otherwise.
        for new in watcher.weak_cas() {
            if known.insert(new.clone()) {
                to_fail.push(failing.iter().cloned().chain([new]).collect());
            }
        }
    }
    run
}

fn explore_watched(bounds: &Bounds, model: Program, watcher: Rc<Watcher>) -> Exploration {
    let explore = |preemptions, most| {
        let explore = || explore_within(preemptions, most, model.clone());
        let executions = watched(watcher.clone(), explore)?;
        Some(Exploration {
            executions,
            preemptions,
            runs: vec![Run { preemptions, executions }],
            sites: watcher.sites(),
            spurious_failures: 0,
            most_values: watcher.most_values(),
            weakened: watcher.has_weakened(),
        })
    };
    if let Some(Run { preemptions, executions }) = found::next() {
        // The limit ends a run that has more executions than before.
        match explore(preemptions, executions + 2) {
            Some(run) if run.executions == executions => return run,
            _ => found::is_old(),
        }
    }
    let mut bounded = bounds.preemptions.iter();
    let (first, most) = bounded.next().expect("there are bounds");
    match explore(Some(*first), *most) {
        // Without a bound there are more executions. So that is tried only if there are few with
        // the bound.
        Some(few) if few.executions < bounds.all => explore(None, bounds.all).unwrap_or(few),
        Some(many) => many,
        None => bounded
            .find_map(|(preemptions, most)| explore(Some(*preemptions), *most))
            .expect("the last bound has no limit"),
    }
}

/// Runs a model's executions, and returns how many there are, if that is fewer than `most`.
fn explore_within(preemptions: Option<usize>, most: usize, model: Program) -> Option<usize> {
    let executions = Arc::new(AtomicUsize::new(0));
    let counter = executions.clone();
    let mut builder = Builder::new();
    builder.max_branches = ENDLESS;
    builder.preemption_bound = preemptions;
    builder.checkpoint_interval = most;
    builder.max_permutations = Some(most);
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        begin_execution();
        #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
        debug_assert!(crate::stacks::in_use() > 0, "loom's stacks come from the pool");
        let ledger = Ledger::open();
        model();
        ledger.close();
    });
    // loom counts from 1, and stops before the first execution beyond the limit.
    let executions = executions.load(Ordering::Relaxed);
    (executions < most - 1).then_some(executions)
}

/// Runs the two sides of a queue in two threads, then calls `finish` with the results of both.
pub(crate) fn explore_sides<P: 'static, C: 'static, A: 'static, B>(
    new: New<P, C>,
    config: Config,
    produce: impl Fn(P) -> A + Copy + Send + Sync + 'static,
    consume: impl Fn(C) -> B + Send + Sync + 'static,
    finish: impl Fn(A, B) + Send + Sync + 'static,
) -> Exploration {
    explore(move || {
        let (tx, rx) = new(config);
        let (produced, consumed) = both(move || produce(tx), || consume(rx));
        finish(produced, consumed);
    })
}

/// Runs `produce` in a thread of its own, and `consume` at the same time.
pub fn both<P: 'static, C>(
    produce: impl FnOnce() -> P + 'static,
    consume: impl FnOnce() -> C,
) -> (P, C) {
    count_values(true);
    let producer = spawn(produce);
    let consumed = consume();
    let produced = producer.join();
    count_values(false);
    (produced, consumed)
}

/// The `finish` of [`explore_sides`] for models that have nothing to finish.
pub(crate) fn done<P, C>(_: P, _: C) {}

/// A queue of `slots` slots, in groups of one, whose counters are about to wrap.
pub(crate) fn tiny(slots: usize) -> Config {
    grouped(slots, 1)
}

/// A queue of `slots` slots, in groups of `size`. In a group, all slots but one may be empty and
/// not given back yet.
pub(crate) fn grouped(slots: usize, size: usize) -> Config {
    let capacity = slots.saturating_sub(size - 1).max(1);
    Config::new(capacity).grouped(size).first(u64::MAX - 1)
}

/// Pushes item `number` if there is room. Returns whether there was.
pub(crate) fn push<P: Producer<Item: Cargo>>(tx: &mut P, number: u64) -> bool {
    match tx.try_push(Cargo::of(number)) {
        Ok(()) => true,
        Err(TryPushError::Full(item) | TryPushError::Busy(item)) => {
            assert_eq!(item.number(), number, "the item comes back");
            false
        }
        Err(error) => panic!("pushing item {number}: {error}"),
    }
}

/// Pushes item `number`, for which there is room.
pub(crate) fn push_now<P: Producer<Item: Cargo>>(tx: &mut P, number: u64) {
    assert!(push(tx, number), "there is room for item {number}");
}

/// Pushes items `numbers`, each as soon as there is room.
pub(crate) fn push_all<P: Producer<Item: Cargo>>(tx: &mut P, numbers: Range<u64>) {
    for number in numbers {
        while !push(tx, number) {
            spin_loop();
        }
    }
}

/// Pops an item if one is there, drops it, and returns its number.
pub(crate) fn pop<C: Consumer<Item: Cargo>>(rx: &mut C) -> Option<u64> {
    match rx.try_pop() {
        Ok(item) => Some(item.number()),
        Err(_) => None,
    }
}

/// Pops items `numbers`, each as soon as it is there.
pub(crate) fn pop_all<C: Consumer<Item: Cargo>>(rx: &mut C, numbers: Range<u64>) {
    for number in numbers {
        let popped = loop {
            match rx.try_pop() {
                Ok(item) => break item.number(),
                Err(TryPopError::Closed) => panic!("closed before item {number} was popped"),
                Err(_) => spin_loop(),
            }
        };
        assert_eq!(popped, number, "first in, first out");
    }
}

/// Pops until the queue is closed, and checks that this gives exactly the items `numbers`.
pub(crate) fn pop_until_closed<C: Consumer<Item: Cargo>>(rx: &mut C, numbers: Range<u64>) {
    let mut expected = numbers.start;
    loop {
        match rx.try_pop() {
            Ok(item) => {
                assert_eq!(item.number(), expected, "first in, first out");
                expected += 1;
            }
            Err(TryPopError::Closed) => break,
            Err(_) => spin_loop(),
        }
    }
    assert_eq!(expected, numbers.end, "closed before all items were popped");
}
