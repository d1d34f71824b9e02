//! Which executor, and which of its workers, the calling thread belongs to.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};
use std::task::Waker;

use corelane::steal::pool::{Local, Work};

use crate::home::Runnable;
use crate::lane::Lane;
use crate::spawned::Seat;

/// What the calling thread does.
#[derive(Clone, Copy)]
enum Place {
    /// It is no worker, or its task blocks it.
    Elsewhere,
    /// It is a worker that runs no task: it handles the system's events, which wake tasks.
    Between,
    /// It is a worker that runs a task.
    AtWork(AtWork),
}

#[derive(Clone, Copy)]
pub(crate) struct AtWork {
    local: NonNull<Local<Runnable>>,
    lane: NonNull<Lane>,
}

/// A worker between its tasks, and the tasks that were woken meanwhile.
struct Woken {
    lane: Arc<Lane>,
    tasks: Vec<Runnable>,
    /// Has the worker polled again.
    waker: Waker,
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::Elsewhere) };
    static WOKEN: RefCell<Option<Woken>> = const { RefCell::new(None) };
    /// The executors of which this thread is in `block_on`.
    static ENTERED: RefCell<Vec<Arc<Lane>>> = const { RefCell::new(Vec::new()) };
}

/// Restores what was before, also when a task panics.
struct Restore(Place);

impl Drop for Restore {
    fn drop(&mut self) {
        PLACE.set(self.0);
    }
}

/// Those of all workers, and that of all other threads. It is set when the workers have been started.
pub(crate) type Lanes = OnceLock<Arc<[Arc<Lane>]>>;

/// Runs a worker on the calling thread, and handles the system's events when it has nothing to do.
pub(crate) fn drive(mut work: Work<'_, Runnable>, lanes: &Lanes) {
    let _before = Restore(PLACE.replace(Place::Between));
    let lane = |work: &Work<'_, Runnable>| lanes.get().map(|lanes| &lanes[work.worker()]);
    async_io::block_on(poll_fn(|context| {
        if let Some(lane) = lane(&work) {
            take_woken(lane, context.waker()).into_iter().for_each(|task| work.push(task));
        }
        work.poll(context)
    }));
    let Some(lane) = lane(&work) else { return };
    // A task that has ended its own executor may wait now.
    lanes.get().into_iter().flat_map(|lanes| lanes.iter()).for_each(|lane| lane.tasks().wake_all());
    // Nobody runs these: they are cancelled, which may wake others.
    loop {
        let tasks = take_woken(lane, Waker::noop());
        if tasks.is_empty() {
            break;
        }
        drop(tasks);
    }
    WOKEN.set(None);
}

/// Takes the tasks that were woken between polls. From now on `waker` is woken for further ones.
fn take_woken(lane: &Arc<Lane>, waker: &Waker) -> Vec<Runnable> {
    WOKEN.with_borrow_mut(|woken| match woken {
        Some(woken) => {
            if !woken.waker.will_wake(waker) {
                woken.waker = waker.clone();
            }
            std::mem::take(&mut woken.tasks)
        }
        None => {
            let (lane, waker) = (Arc::clone(lane), waker.clone());
            *woken = Some(Woken { lane, tasks: Vec::new(), waker });
            Vec::new()
        }
    })
}

/// Runs a task on its worker: what the task wakes and spawns meanwhile goes to this worker.
pub(crate) fn run(local: &mut Local<Runnable>, lane: &Arc<Lane>, runnable: Runnable) {
    // Not from a reference to the lane: its count lies before it.
    let lane = NonNull::new(Arc::as_ptr(lane).cast_mut()).expect("no null pointer");
    let at_work = AtWork { local: local.into(), lane };
    let _before = Restore(PLACE.replace(Place::AtWork(at_work)));
    crate::budget::refill();
    runnable.run();
}

/// The calling thread's worker, if it is one of this lane's executor.
pub(crate) fn of(lane: &Lane) -> Option<Worker> {
    match PLACE.try_with(Cell::get) {
        Ok(Place::AtWork(at_work)) => {
            // SAFETY: `run` has set it, and takes it back before it returns. Until then the lane is alive.
            let own = unsafe { at_work.lane.as_ref() };
            own.is_of_same_executor(lane).then_some(Worker::AtWork(at_work))
        }
        Ok(Place::Between) => WOKEN.with_borrow(|woken| {
            let is_same = woken.as_ref()?.lane.is_of_same_executor(lane);
            is_same.then_some(Worker::Between)
        }),
        Ok(Place::Elsewhere) | Err(_) => None,
    }
}

/// The calling thread's worker.
pub(crate) enum Worker {
    AtWork(AtWork),
    Between,
}

impl Worker {
    pub(crate) fn push(self, runnable: Runnable) {
        let Self::AtWork(at_work) = self else { return push_woken(runnable) };
        // SAFETY: as in `of`. `run` has the only reference to the worker and doesn't use it meanwhile, and pushing runs no code of others.
        let is_hidden = unsafe { (*at_work.local.as_ptr()).push_last(runnable) };
        if is_hidden {
            // SAFETY: as in `of`.
            unsafe { at_work.lane.as_ref() }.watch().arm();
        }
    }
}

fn push_woken(runnable: Runnable) {
    let first = WOKEN.with_borrow_mut(|woken| {
        let woken = woken.as_mut().expect("it is there while the place is `Between`");
        woken.tasks.push(runnable);
        (woken.tasks.len() == 1).then(|| woken.waker.clone())
    });
    if let Some(waker) = first {
        waker.wake();
    }
}

/// The lane of the calling thread's executor.
pub(crate) fn lane() -> Option<Arc<Lane>> {
    match PLACE.get() {
        // SAFETY: as in `of`. Lanes are made by `Arc::new`, and this thread's worker has a reference.
        Place::AtWork(AtWork { lane, .. }) => unsafe {
            Arc::increment_strong_count(lane.as_ptr());
            Some(Arc::from_raw(lane.as_ptr()))
        },
        Place::Between => WOKEN.with_borrow(|woken| Some(Arc::clone(&woken.as_ref()?.lane))),
        Place::Elsewhere => ENTERED.with_borrow(|entered| entered.last().cloned()),
    }
}

/// Until it is dropped, the calling thread belongs to an executor, and is no worker: a worker that blocks runs no tasks.
pub(crate) struct Entered {
    _before: Restore,
}

pub(crate) fn enter(lane: &Arc<Lane>) -> Entered {
    ENTERED.with_borrow_mut(|entered| entered.push(Arc::clone(lane)));
    Entered { _before: Restore(PLACE.replace(Place::Elsewhere)) }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let left = ENTERED.with_borrow_mut(Vec::pop);
        drop(left);
    }
}
