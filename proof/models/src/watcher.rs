//! What a watcher notes and changes while a model runs.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::Location;

use corelane_loom::memory::{Access, Op, Ordering, Watch};
use rustc_hash::FxHashMap;

use crate::Weakening;
use crate::site::Site;

type Place = &'static Location<'static>;

/// A weak compare-and-swap of one thread, which loom names by a number.
///
/// Each thread counts its own visits. A count of all threads would be shared state, of which loom
/// would have to know.
pub(crate) type WeakCas = (Place, String);

thread_local! {
    /// The ordering that is weakened in the next runs of this thread.
    static WEAKENING: RefCell<Option<Weakening>> = const { RefCell::new(None) };

    /// The current execution.
    static EXECUTION: RefCell<Execution> = RefCell::default();
}

/// The state of one execution.
#[derive(Debug, Default)]
struct Execution {
    /// The weak compare-and-swaps that have failed spuriously.
    failed: BTreeSet<WeakCas>,
    /// Whether values are counted.
    counts: bool,
    /// How many values each variable has had since, including the first one.
    values: FxHashMap<usize, usize>,
}

/// Forgets the last execution.
pub(crate) fn begin_execution() {
    EXECUTION.take();
}

/// Whether to count the values of variables from now on. While there is one thread, it reads only
/// the last value, so loom may forget the others.
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

/// Watches the executions of a model that loom runs.
#[derive(Debug)]
pub(crate) struct Watcher {
    weakening: Option<Weakening>,
    /// Whether anything has been weakened.
    weakened: Cell<bool>,
    /// The weak compare-and-swaps that fail when their thread first reaches them in an execution.
    failing: BTreeSet<WeakCas>,
    /// By the place's address, which is faster to compare than its file's name. Some places have
    /// several addresses.
    accesses: RefCell<FxHashMap<(*const Location<'static>, Op, Ordering), Place>>,
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
        let accesses = self.accesses.borrow();
        accesses.iter().map(|(&(_, op, order), at)| Site::new(at, op, order)).collect()
    }

    /// The weak compare-and-swaps that could fail spuriously.
    pub(crate) fn weak_cas(&self) -> BTreeSet<WeakCas> {
        self.weak_cas.borrow().clone()
    }

    /// The largest number of values that a variable had had when a thread read it, in one
    /// execution, while there were two threads.
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

    /// The variable is read, which may give any of its values. A read-modify-write gets the last
    /// value.
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
        let key = (std::ptr::from_ref(access.location), access.op, access.ordering);
        self.accesses.borrow_mut().entry(key).or_insert(access.location);
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
