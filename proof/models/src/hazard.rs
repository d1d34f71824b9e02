//! Hazard pointers without a queue: with fewer steps, so that more executions are tried than in the
//! models of queues.

use std::sync::Arc;

use corelane_loom::hazard::{Costs, Domain, Guarded, Hazard};
use corelane_loom::memory::{AtomicPtr, Ordering, UnsafeCell, fence};

use crate::explore::{both, explore};
use crate::queue::Of;
use crate::{Exploration, Model};

type Node = UnsafeCell<u64>;

/// One source, and the domain of its nodes.
struct Cell {
    domain: Domain<Node>,
    source: AtomicPtr<Guarded<Node>>,
}

// SAFETY: loom checks each access to a node.
unsafe impl Send for Cell {}
// SAFETY: as above.
unsafe impl Sync for Cell {}

fn node(number: u64) -> *mut Guarded<Node> {
    Box::into_raw(Guarded::new(UnsafeCell::new(number)).expect("there is memory"))
}

fn read(hazard: &Hazard<Node>) -> u64 {
    // SAFETY: loom checks the access.
    hazard.get().with(|number| unsafe { *number })
}

impl Cell {
    fn new(number: u64) -> Arc<Self> {
        Arc::new(Self {
            domain: Domain::new(Costs { overhead: 0, steps: 8, at_drop: true }),
            source: AtomicPtr::new(node(number)),
        })
    }

    fn hazard(&self) -> Hazard<Node> {
        // SAFETY: the models keep the cell. `replace` retires a node only when `source` no longer
        // points to it.
        unsafe { Hazard::new(&self.domain, &self.source) }.expect("there is memory")
    }

    /// Replaces the node by another node.
    fn replace(&self, number: u64) {
        let new = node(number);
        let mut old = self.source.load(Ordering::Relaxed);
        while let Err(found) =
            self.source.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed)
        {
            old = found;
        }
        // SAFETY: the source points to another node.
        unsafe { self.domain.retire(old) };
        self.domain.reclaim(1);
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        // SAFETY: the last node is from a box.
        drop(unsafe { Box::from_raw(self.source.load(Ordering::Relaxed)) });
    }
}

pub(crate) fn models(of: Of) -> Vec<Model> {
    vec![
        of.model("node_replaced_while_protected", replaced_while_protected),
        of.model("node_replaced_after_use", replaced_after_use),
        of.model("node_replaced_when_a_handle_goes", replaced_when_a_handle_goes),
        of.model("node_replaced_when_a_handle_comes", replaced_when_a_handle_comes),
        of.model("node_replaced_when_handles_come_and_go", replaced_when_handles_come_and_go),
        of.model("nodes_replaced_by_two", replaced_by_two),
        of.model("node_at_a_used_address", at_a_used_address),
    ]
}

/// A thread protects a node while another thread replaces it.
fn replaced_while_protected() -> Exploration {
    explore(|| {
        let cell = Cell::new(0);
        let mut hazard = cell.hazard();
        cell.replace(1);
        let other = cell.clone();
        let (hazard, ()) = both(
            move || {
                hazard.protect(&other.source);
                assert!([1, 2].contains(&read(&hazard)));
                hazard
            },
            || cell.replace(2),
        );
        drop(hazard);
    })
}

/// A thread reads a node for the last time and protects the next node.
fn replaced_after_use() -> Exploration {
    explore(|| {
        let cell = Cell::new(0);
        let mut hazard = cell.hazard();
        cell.replace(1);
        let other = cell.clone();
        let (hazard, ()) = both(
            move || {
                assert_eq!(read(&hazard), 0, "it is protected");
                hazard.protect(&other.source);
                hazard
            },
            || cell.replace(2),
        );
        drop(hazard);
    })
}

/// A thread reads a node for the last time and drops its hazard, which is the newest, the oldest,
/// or neither.
fn replaced_when_a_handle_goes() -> Exploration {
    let mut all = goes(0, 0);
    all.add(goes(0, 1));
    all.add(goes(1, 0));
    all
}

fn goes(older: usize, newer: usize) -> Exploration {
    explore(move || {
        let cell = Cell::new(0);
        let hazards = |n| (0..n).map(|_| cell.hazard()).collect::<Vec<_>>();
        let older = hazards(older);
        let hazard = cell.hazard();
        let newer = hazards(newer);
        let first = hazard.node();
        both(move || assert_eq!(read(&hazard), 0), || cell.replace(1));
        // No thread reads the node any more.
        assert!(older.iter().chain(&newer).all(|hazard| hazard.node() == first));
    })
}

/// A thread makes a hazard while another thread replaces the node.
fn replaced_when_a_handle_comes() -> Exploration {
    explore(|| {
        let cell = Cell::new(0);
        let other = cell.clone();
        let (hazard, ()) = both(
            move || {
                let hazard = other.hazard();
                assert!([0, 1].contains(&read(&hazard)));
                hazard
            },
            || cell.replace(1),
        );
        drop(hazard);
    })
}

/// A thread makes a hazard, drops an older hazard, and makes another hazard in its record.
fn replaced_when_handles_come_and_go() -> Exploration {
    explore(|| {
        let cell = Cell::new(0);
        let idle = cell.hazard();
        let other = cell.clone();
        let (hazards, ()) = both(
            move || {
                let first = other.hazard();
                drop(idle);
                (first, other.hazard())
            },
            || cell.replace(1),
        );
        assert!([0, 1].contains(&read(&hazards.0)) && [0, 1].contains(&read(&hazards.1)));
    })
}

/// Two threads replace the node, and scan the nodes that both have retired.
fn replaced_by_two() -> Exploration {
    explore(|| {
        let cell = Cell::new(0);
        let hazard = cell.hazard();
        let other = cell.clone();
        both(move || other.replace(1), || cell.replace(2));
        assert_eq!(read(&hazard), 0, "it is protected");
    })
}

/// A node is freed and another node is made at the same address, while a thread protects this
/// address.
fn at_a_used_address() -> Exploration {
    explore(|| {
        let cell = Cell::new(0);
        let mut hazard = cell.hazard();
        let (used, between) = (node(1), node(2));
        cell.source.store(used, Ordering::Relaxed);
        let other = cell.clone();
        let first = hazard.node();
        let (hazard, ()) = both(
            move || {
                hazard.protect(&other.source);
                assert!((1..=3).contains(&read(&hazard)));
                hazard
            },
            || {
                cell.source.store(between, Ordering::Release);
                fence(Ordering::SeqCst);
                if cell.domain.hazards().all(|hazard| hazard != used) {
                    // SAFETY: no thread uses the node.
                    unsafe { (**used).with_mut(|number| *number = 3) };
                    cell.source.store(used, Ordering::Release);
                }
            },
        );
        drop(hazard);
        let last = cell.source.load(Ordering::Relaxed);
        // SAFETY: all nodes are from boxes, and the cell frees the last one.
        [first, used, between].into_iter().filter(|node| *node != last).for_each(|node| unsafe {
            drop(Box::from_raw(node));
        });
    })
}
