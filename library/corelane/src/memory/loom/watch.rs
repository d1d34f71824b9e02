//! An observer of a model's run: it sees every atomic access, and may change the ordering.

use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;

use super::Ordering;

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Reads; also the part of a compare-and-swap that failed.
    Load,
    /// Writes.
    Store,
    /// Reads and writes in one step.
    Rmw,
    /// Compares, and swaps if equal.
    Cas,
    /// Orders other accesses.
    Fence,
}

/// An atomic access in the source.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// What the access does.
    pub op: Op,
    /// The ordering that the source asks for.
    pub ordering: Ordering,
    /// Its place in the source.
    pub location: &'static Location<'static>,
    /// Address of the variable; 0 for a fence.
    pub variable: usize,
}

/// An observer.
pub trait Watch {
    /// The ordering with which the access is done. A fence with `Relaxed` is no fence.
    fn ordering(&self, access: &Access) -> Ordering;

    /// A compare-and-swap of the variable at this address has written.
    fn swapped(&self, variable: usize);

    /// Whether the weak compare-and-swap at this place fails though the values are equal.
    fn fails_spuriously(&self, at: &'static Location<'static>) -> bool;
}

thread_local! {
    /// One observer suffices: loom runs all threads of an execution as coroutines of one thread.
    static WATCH: RefCell<Option<Rc<dyn Watch>>> = const { RefCell::new(None) };
}

/// Runs `f` with the observer `watch`, on this thread only.
pub fn watched<R>(watch: Rc<dyn Watch>, f: impl FnOnce() -> R) -> R {
    /// Restores the earlier observer, even when `f` panics.
    struct Restore(Option<Rc<dyn Watch>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            WATCH.set(self.0.take());
        }
    }
    let _restore = Restore(WATCH.replace(Some(watch)));
    f()
}

fn watch() -> Option<Rc<dyn Watch>> {
    WATCH.with_borrow(Clone::clone)
}

/// The ordering to be used where the source says `ordering`.
#[track_caller]
pub(super) fn ordering<V>(op: Op, variable: Option<&V>, ordering: Ordering) -> Ordering {
    assert!(
        op == Op::Fence || ordering != Ordering::SeqCst,
        "loom takes SeqCst accesses for AcqRel ones: use fence(SeqCst)"
    );
    let variable = variable.map_or(0, |variable| std::ptr::from_ref(variable).addr());
    let access = Access { op, ordering, location: Location::caller(), variable };
    watch().map_or(ordering, |watch| watch.ordering(&access))
}

/// A compare-and-swap of `variable` has written.
pub(super) fn swapped<V>(variable: &V) {
    if let Some(watch) = watch() {
        watch.swapped(std::ptr::from_ref(variable).addr());
    }
}

/// Whether the weak compare-and-swap of the caller is to fail.
#[track_caller]
pub(super) fn fails_spuriously() -> bool {
    let at = Location::caller();
    watch().is_some_and(|watch| watch.fails_spuriously(at))
}
