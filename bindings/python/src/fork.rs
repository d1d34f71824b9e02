//! Forked children. A child has copies of its parent's handles, and of the descriptors that have
//! the parent's seats. The copies must go: the parent's seat would stay taken when the parent dies,
//! and a drop of a handle would close the parent's side.

use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use pyo3::prelude::*;

/// How many forks are between this process and the one that loaded the module.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// The sides of a lane that a process has.
pub(crate) trait Forks: Send + Sync {
    /// In a forked child: these sides are its parent's.
    fn forget(&self);

    /// Gives the sides back.
    fn close(&self);
}

/// Those of all lanes of this process.
static LANES: Mutex<Vec<Weak<dyn Forks>>> = Mutex::new(Vec::new());

/// The generation of this process.
pub(crate) fn generation() -> u64 {
    // Relaxed: it changes only while the process has one thread.
    GENERATION.load(Ordering::Relaxed)
}

/// Notes a lane for children.
pub(crate) fn note(sides: Weak<impl Forks + 'static>) {
    let mut lanes = LANES.lock();
    // So the list stays about as long as there are lanes.
    if lanes.len() == lanes.capacity() {
        lanes.retain(|lane| lane.strong_count() > 0);
    }
    lanes.push(sides);
}

/// The process takes a side of a lane. The first time, it sees to it that the sides are given back
/// when the process ends: a child of `multiprocessing` ends without the end of its objects.
pub(crate) fn takes_a_side(py: Python<'_>) -> PyResult<()> {
    static SEEN: AtomicU64 = AtomicU64::new(u64::MAX);
    // Relaxed: the worst is one more registration.
    if SEEN.swap(generation(), Ordering::Relaxed) != generation() {
        py.import("corelane._exit")?.call_method0("register")?;
    }
    Ok(())
}

/// Gives all sides of this process back.
#[pyfunction]
pub(crate) fn close_all() {
    let lanes: Vec<_> = LANES.lock().iter().filter_map(Weak::upgrade).collect();
    lanes.iter().for_each(|sides| sides.close());
}

/// No lane is noted during a fork.
#[pyfunction]
pub(crate) fn before_fork() {
    std::mem::forget(LANES.lock());
}

#[pyfunction]
pub(crate) fn after_fork_in_parent() {
    // SAFETY: `before_fork` has locked it, in this thread.
    unsafe { LANES.force_unlock() };
}

#[pyfunction]
pub(crate) fn after_fork_in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    // SAFETY: as above: the child's only thread is a copy of the one that has locked it.
    unsafe { LANES.force_unlock() };
    let lanes = LANES.lock();
    lanes.iter().filter_map(Weak::upgrade).for_each(|sides| sides.forget());
}
