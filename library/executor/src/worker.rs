//! The executor, and the worker, to which the calling thread belongs.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::iter;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};
use std::task::Waker;

use corelane::steal::pool::{Local, Work};

use crate::home::Runnable;
use crate::local::Here;
use crate::spawned::Seat;
use crate::spawner::Spawner;

/// The state of the calling thread.
#[derive(Clone, Copy)]
enum Place {
    /// It belongs to no executor.
    Elsewhere,
    /// It is in `block_on`, or ends an executor.
    Entered(NonNull<Frame>),
    /// It is a worker that runs no task: it handles the system's events, which wake tasks.
    Between(NonNull<RefCell<Option<Woken>>>),
    /// It is a worker that runs a task.
    AtWork(AtWork),
    /// It was a worker, and ends because its executor has ended.
    Ended,
}

#[derive(Clone, Copy)]
pub(crate) struct AtWork {
    local: NonNull<Local<Runnable>>,
    spawner: NonNull<Spawner>,
}

/// A worker between its tasks, and the tasks that were woken meanwhile.
pub(crate) struct Woken {
    spawner: Arc<Spawner>,
    tasks: Vec<Runnable>,
    /// Has the worker polled again.
    waker: Waker,
}

/// A thread in `block_on`, or one that ends an executor.
pub(crate) struct Frame {
    spawner: Arc<Spawner>,
    /// The tasks of this thread. `None` if it is not in `block_on`.
    here: Option<Arc<Here>>,
    before: Place,
}

thread_local! {
    /// It points to the stack of the thread. So it needs no destructor, and works also while the
    /// thread ends.
    static PLACE: Cell<Place> = const { Cell::new(Place::Elsewhere) };
}

/// Restores the earlier state, also when a task panics.
struct Restore(Place);

impl Drop for Restore {
    fn drop(&mut self) {
        PLACE.set(self.0);
    }
}

/// The spawners of all workers, and that of all other threads. It is set when the workers have been
/// started.
pub(crate) type Spawners = OnceLock<Arc<[Arc<Spawner>]>>;

/// Runs a worker on the calling thread, and handles the system's events while it has no task.
pub(crate) fn drive(mut work: Work<'_, Runnable>, spawners: &Spawners) {
    let woken = RefCell::new(None);
    let _end = Restore(Place::Ended);
    PLACE.set(Place::Between(NonNull::from(&woken)));
    let spawner =
        |work: &Work<'_, Runnable>| spawners.get().map(|spawners| &spawners[work.worker()]);
    async_io::block_on(poll_fn(|context| {
        if let Some(spawner) = spawner(&work) {
            let tasks = take_woken(&woken, spawner, context.waker());
            tasks.into_iter().for_each(|task| work.push(task));
        }
        work.poll(context)
    }));
    let Some(spawner) = spawner(&work) else { return };
    // A task that has ended its own executor may wait now.
    spawners
        .get()
        .into_iter()
        .flat_map(|spawners| spawners.iter())
        .for_each(|spawner| spawner.tasks().wake_all());
    // No worker runs these: they are cancelled, which may wake others.
    loop {
        let tasks = take_woken(&woken, spawner, Waker::noop());
        if tasks.is_empty() {
            break;
        }
        drop(tasks);
    }
}

/// Takes the tasks that were woken between polls. From now on `waker` is woken for further ones.
fn take_woken(
    woken: &RefCell<Option<Woken>>,
    spawner: &Arc<Spawner>,
    waker: &Waker,
) -> Vec<Runnable> {
    match &mut *woken.borrow_mut() {
        Some(woken) => {
            if !woken.waker.will_wake(waker) {
                woken.waker = waker.clone();
            }
            std::mem::take(&mut woken.tasks)
        }
        none => {
            let (spawner, waker) = (Arc::clone(spawner), waker.clone());
            *none = Some(Woken { spawner, tasks: Vec::new(), waker });
            Vec::new()
        }
    }
}

/// Runs a task on its worker: the tasks that it wakes and spawns meanwhile go to this worker.
pub(crate) fn run(local: &mut Local<Runnable>, spawner: &Arc<Spawner>, runnable: Runnable) {
    // Not from a reference to the spawner: its count lies before it.
    let spawner = NonNull::new(Arc::as_ptr(spawner).cast_mut()).expect("no null pointer");
    let at_work = AtWork { local: local.into(), spawner };
    let _before = Restore(PLACE.replace(Place::AtWork(at_work)));
    crate::budget::refill();
    runnable.run();
}

/// The calling thread's worker, if it is one of this spawner's executor.
pub(crate) fn of(spawner: &Spawner) -> Option<Worker> {
    match PLACE.get() {
        Place::AtWork(at_work) => {
            // SAFETY: `run` has set it, and takes it back before it returns. Until then the spawner is
            // alive.
            let own = unsafe { at_work.spawner.as_ref() };
            own.is_of_same_executor(spawner).then_some(Worker::AtWork(at_work))
        }
        Place::Between(woken) => {
            // SAFETY: `drive` has set it, and takes it back before it returns.
            let is_same =
                unsafe { woken.as_ref() }.borrow().as_ref()?.spawner.is_of_same_executor(spawner);
            is_same.then_some(Worker::Between(woken))
        }
        Place::Elsewhere | Place::Entered(_) | Place::Ended => None,
    }
}

/// The calling thread's worker.
pub(crate) enum Worker {
    AtWork(AtWork),
    Between(NonNull<RefCell<Option<Woken>>>),
}

impl Worker {
    pub(crate) fn push(self, runnable: Runnable) {
        let at_work = match self {
            Self::AtWork(at_work) => at_work,
            // SAFETY: as in `of`.
            Self::Between(woken) => return push_woken(unsafe { woken.as_ref() }, runnable),
        };
        // SAFETY: as in `of`. `run` has the only reference to the worker and doesn't use it
        // meanwhile, and pushing runs no code of others.
        let is_hidden = unsafe { (*at_work.local.as_ptr()).push_last(runnable) };
        if is_hidden {
            // SAFETY: as in `of`.
            unsafe { at_work.spawner.as_ref() }.watch().arm();
        }
    }
}

fn push_woken(woken: &RefCell<Option<Woken>>, runnable: Runnable) {
    let first = {
        let woken = &mut *woken.borrow_mut();
        let woken = woken.as_mut().expect("`of` has seen it");
        woken.tasks.push(runnable);
        (woken.tasks.len() == 1).then(|| woken.waker.clone())
    };
    if let Some(waker) = first {
        waker.wake();
    }
}

/// The spawner of the calling thread's executor.
pub(crate) fn spawner() -> Option<Arc<Spawner>> {
    match PLACE.get() {
        // SAFETY: as in `of`. Spawners are made by `Arc::new`, and this thread's worker has a
        // reference.
        Place::AtWork(AtWork { spawner, .. }) => unsafe {
            Arc::increment_strong_count(spawner.as_ptr());
            Some(Arc::from_raw(spawner.as_ptr()))
        },
        Place::Between(woken) => {
            // SAFETY: as in `of`.
            let woken = unsafe { woken.as_ref() }.borrow();
            woken.as_ref().map(|woken| Arc::clone(&woken.spawner))
        }
        // SAFETY: as in `frames`.
        Place::Entered(frame) => Some(Arc::clone(&unsafe { frame.as_ref() }.spawner)),
        Place::Elsewhere | Place::Ended => None,
    }
}

/// Whether the calling thread was a worker, and ends.
pub(crate) fn has_ended() -> bool {
    matches!(PLACE.get(), Place::Ended)
}

/// Calls `call`. Meanwhile the calling thread belongs to an executor, and is no worker: a worker
/// that blocks runs no tasks.
pub(crate) fn enter<R>(
    spawner: &Arc<Spawner>,
    here: Option<&Arc<Here>>,
    call: impl FnOnce() -> R,
) -> R {
    let frame = Frame { spawner: Arc::clone(spawner), here: here.cloned(), before: PLACE.get() };
    let _before = Restore(frame.before);
    PLACE.set(Place::Entered(NonNull::from(&frame)));
    call()
}

/// The calls of `block_on` in which the calling thread is, the innermost first.
fn frames<'a>() -> impl Iterator<Item = &'a Frame> {
    let frame = |place| match place {
        // SAFETY: `enter` has set it, and takes it back before it returns. Callers don't keep it.
        Place::Entered(frame) => Some(unsafe { frame.as_ref() }),
        _ => None,
    };
    iter::successors(frame(PLACE.get()), move |inner: &&Frame| frame(inner.before))
}

/// The tasks of the calling thread, if it is in `block_on`.
pub(crate) fn here() -> Option<Arc<Here>> {
    frames().find_map(|frame| frame.here.clone())
}

/// Runs tasks of the calling thread, at most a few of each `block_on` that the thread is in.
/// Returns whether there were any.
pub(crate) fn run_here() -> bool {
    let mut ran = false;
    for Frame { spawner, here, .. } in frames() {
        if let Some(here) = here
            && here.has_some()
        {
            ran |= enter(spawner, Some(here), || here.run_some());
        }
    }
    ran
}

/// Whether the calling thread is a worker of this spawner's executor, and not in its `block_on` yet.
pub(crate) fn is_at_work(spawner: &Spawner) -> bool {
    let mut place = PLACE.get();
    for frame in frames() {
        if frame.here.is_some() && frame.spawner.is_of_same_executor(spawner) {
            return false;
        }
        place = frame.before;
    }
    // SAFETY: as in `of`.
    matches!(place, Place::AtWork(at_work) if unsafe { at_work.spawner.as_ref() }.is_of_same_executor(spawner))
}
