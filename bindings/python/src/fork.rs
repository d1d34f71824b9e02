//! Forked children. A child has copies of its parent's handles, and of the descriptors that have
//! the parent's seats. The copies must go: the parent's seat would stay taken when the parent dies,
//! and a drop of a handle would close the parent's side.

use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use pyo3::prelude::*;

use crate::sides::renew;

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

/// The lock may go from the call that takes it to its caller: that is the same thread.
struct Noting(MutexGuard<'static, Vec<Weak<dyn Forks>>>);

// SAFETY: it stays in its thread: `detach` calls its closure there.
unsafe impl Send for Noting {}

/// Notes sides for children.
pub(crate) fn note(sides: Weak<impl Forks + 'static>) {
    // During a fork the forking thread has the lock, and may need the interpreter.
    let mut lanes = match LANES.try_lock() {
        Some(lanes) => lanes,
        None => Python::attach(|py| py.detach(|| Noting(LANES.lock()))).0,
    };
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

/// No side is noted during a fork.
#[pyfunction]
pub(crate) fn before_fork(py: Python<'_>) {
    // Another thread that notes one may have to run first.
    py.detach(|| std::mem::forget(LANES.lock()));
}

#[pyfunction]
pub(crate) fn after_fork_in_parent() {
    // SAFETY: `before_fork` has locked it, in this thread.
    unsafe { LANES.force_unlock() };
}

#[pyfunction]
pub(crate) fn after_fork_in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    // `before_fork` has locked it.
    renew(&LANES);
    let lanes: Vec<_> = LANES.lock().iter().filter_map(Weak::upgrade).collect();
    lanes.iter().for_each(|sides| sides.forget());
}
