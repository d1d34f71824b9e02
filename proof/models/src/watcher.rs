//! What is noted and changed while a model runs.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::panic::Location;

use corelane_loom::memory::{Access, Op, Ordering, Watch};

use crate::Weakening;
use crate::site::Site;

type Place = &'static Location<'static>;

/// A weak compare-and-swap of one thread, which loom names by a number.
///
/// It is the thread that counts how often it was there: what depends on others, loom must know.
pub(crate) type WeakCas = (Place, String);

thread_local! {
    /// What the next runs of this thread have weakened.
    static WEAKENING: RefCell<Option<Weakening>> = const { RefCell::new(None) };

    /// The execution that is going on.
    static EXECUTION: RefCell<Execution> = RefCell::default();
}

/// What is known of one execution.
#[derive(Debug, Default)]
struct Execution {
    /// The weak compare-and-swaps that have failed without cause.
    failed: BTreeSet<WeakCas>,
    /// Whether values are counted.
    counts: bool,
    /// How many values each variable has had since, with the one that it had.
    values: HashMap<usize, usize>,
}

/// Forgets the last execution.
pub(crate) fn begin_execution() {
    EXECUTION.take();
}

/// Whether to count the values of variables from now on: while there is one thread, it can't read others
/// than the last, so loom may forget them.
pub(crate) fn count_values(counts: bool) {
    EXECUTION.with_borrow_mut(|execution| {
        execution.counts = counts;
        execution.values.clear();
    });
}

/// Runs `f` with a weaker ordering at one site.
pub(crate) fn with_weakening<R>(weakening: &Weakening, f: impl FnOnce() -> R) -> R {
    /// Also when `f` panics, as it should.
    struct Strengthen;
    impl Drop for Strengthen {
        fn drop(&mut self) {
            WEAKENING.take();
        }
    }
    WEAKENING.replace(Some(weakening.clone()));
    let _strengthen = Strengthen;
    f()
}

/// Looks on while loom runs the executions of a model.
#[derive(Debug)]
pub(crate) struct Watcher {
    weakening: Option<Weakening>,
    /// Whether anything has been weakened.
    weakened: Cell<bool>,
    /// The weak compare-and-swaps that fail when their thread first comes by in an execution.
    failing: BTreeSet<WeakCas>,
    accesses: RefCell<HashSet<(Place, Op, Ordering)>>,
    weak_cas: RefCell<BTreeSet<WeakCas>>,
    most_values: Cell<usize>,
}

impl Watcher {
    pub(crate) fn new(failing: BTreeSet<WeakCas>) -> Self {
        Self {
            weakening: WEAKENING.with_borrow(Clone::clone),
            weakened: Cell::default(),
            failing,
            accesses: RefCell::default(),
            weak_cas: RefCell::default(),
            most_values: Cell::default(),
        }
    }

    /// All atomic accesses, with the orderings that the source asks for.
    pub(crate) fn sites(&self) -> BTreeSet<Site> {
        self.accesses.borrow().iter().map(|&(at, op, order)| Site::new(at, op, order)).collect()
    }

    /// The weak compare-and-swaps that could fail without cause.
    pub(crate) fn weak_cas(&self) -> BTreeSet<WeakCas> {
        self.weak_cas.borrow().clone()
    }

    /// Most values that a variable had had when it was read, in an execution, while there were two threads.
    pub(crate) fn most_values(&self) -> usize {
        self.most_values.get()
    }

    /// Whether the access to be weakened was done.
    pub(crate) fn has_weakened(&self) -> bool {
        self.weakened.get()
    }

    /// The variable has another value.
    fn count_value(&self, variable: usize) {
        EXECUTION.with_borrow_mut(|execution| {
            if execution.counts {
                *execution.values.entry(variable).or_insert(1) += 1;
            }
        });
    }

    /// The variable is read, which may give any of its values. What reads and writes in one step gets the last.
    fn read(&self, variable: usize) {
        let values = EXECUTION.with_borrow(|execution| execution.values.get(&variable).copied());
        self.most_values.set(self.most_values.get().max(values.unwrap_or(1)));
    }
}

impl Watch for Watcher {
    fn ordering(&self, access: &Access) -> Ordering {
        match access.op {
            Op::Load => self.read(access.variable),
            Op::Store | Op::Rmw => self.count_value(access.variable),
            Op::Cas | Op::Fence => {}
        }
        self.accesses.borrow_mut().insert((access.location, access.op, access.ordering));
        match &self.weakening {
            Some(Weakening { site, to }) if site.is_at(access) => {
                self.weakened.set(true);
                (*to).into()
            }
            _ => access.ordering,
        }
    }

    fn swapped(&self, variable: usize) {
        self.count_value(variable);
    }

    fn fails_spuriously(&self, at: Place) -> bool {
        let here = (at, format!("{:?}", loom::thread::current().id()));
        let fails = self.failing.contains(&here)
            && EXECUTION.with_borrow_mut(|execution| execution.failed.insert(here.clone()));
        self.weak_cas.borrow_mut().insert(here);
        fails
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::sync::Arc;

    use corelane_loom::memory::{AtomicBool, AtomicU64, Ordering::*, UnsafeCell, fence};
    use loom::thread;

    use super::{Weakening, with_weakening};
    use crate::explore::{both, explore};
    use crate::{Op, Run, Strength};

    /// Every weakening of a program by one step, and whether it does harm.
    fn weakenings(model: fn() -> Run) -> Vec<(Op, Strength, bool)> {
        let mut found = Vec::new();
        for site in model().sites {
            for &to in site.ordering.weaker(site.op) {
                let weakening = Weakening { site: site.clone(), to };
                let harm = catch_unwind(|| with_weakening(&weakening, model)).is_err();
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
    // SAFETY: it is a number.
    unsafe impl Send for Shared {}

    #[test]
    fn needed_and_needless_orderings_are_told_apart() {
        let found = weakenings(|| {
            explore(|| {
                let shared = Arc::new((
                    Shared(UnsafeCell::new(0)),
                    AtomicBool::new(false),
                    AtomicU64::new(0),
                ));
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

    /// Two threads that each set a flag and look at the other's: one of them must see it.
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

    fn increments_alone(again: bool) -> Run {
        explore(move || {
            let counter = AtomicU64::new(0);
            increment(&counter, again);
            increment(&counter, again);
            assert_eq!(counter.load(Relaxed), 2);
        })
    }

    /// With nobody else there, a compare-and-swap of loom's own would never fail.
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

    /// A place that is only reached after a failure elsewhere.
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
        // Read when there is one thread only, it has one value.
        assert_eq!((run(true).most_values, run(false).most_values), (4, 1));
    }
}
