//! Threads for calls that block, of all executors together.

use std::collections::VecDeque;
use std::io::Result;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{mem, process, thread};

use corelane::channel::oneshot::oneshot;

use crate::join::{JoinHandle, NoTask};
use crate::panics::{Outcome, quietly};

/// The most threads.
const MOST: usize = 500;
/// A thread that has no call for this time ends.
const IDLE: Duration = Duration::from_secs(10);

type Call = Box<dyn FnOnce() + Send>;

struct Threads {
    /// Calls that no thread has begun. `None` if there are no threads.
    calls: VecDeque<Call>,
    count: usize,
    /// Threads that take a call next.
    idle: usize,
    /// The process whose threads they are. A forked process has none.
    process: u32,
}

static THREADS: Mutex<Threads> =
    Mutex::new(Threads { calls: VecDeque::new(), count: 0, idle: 0, process: 0 });
static CALLED: Condvar = Condvar::new();

fn threads() -> MutexGuard<'static, Threads> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Threads {
    /// Gets a thread for one more call. If the system refuses a thread, another thread makes the
    /// call later.
    fn prepare(&mut self) -> Result<()> {
        if self.process != process::id() {
            // These are calls of the parent process, which makes them.
            mem::forget(mem::take(&mut self.calls));
            (self.count, self.idle, self.process) = (0, 0, process::id());
        }
        if self.calls.len() < self.idle || self.count == MOST {
            return Ok(());
        }
        match thread::Builder::new().name("blocking".into()).spawn(run) {
            Ok(_) => (self.count, self.idle) = (self.count + 1, self.idle + 1),
            Err(refused) if self.count == 0 => return Err(refused),
            Err(_) => {}
        }
        Ok(())
    }
}

/// Makes calls until there are none for a while.
fn run() {
    let mut threads = threads();
    loop {
        let waited = CALLED.wait_timeout_while(threads, IDLE, |threads| threads.calls.is_empty());
        threads = waited.unwrap_or_else(PoisonError::into_inner).0;
        threads.idle -= 1;
        if threads.calls.is_empty() {
            threads.count -= 1;
            return;
        }
        while let Some(call) = threads.calls.pop_front() {
            drop(threads);
            call();
            threads = self::threads();
        }
        threads.idle += 1;
    }
}

fn push(call: Call) -> Result<()> {
    let mut threads = threads();
    if let Err(refused) = threads.prepare() {
        drop(threads);
        quietly(|| drop(call));
        return Err(refused);
    }
    threads.calls.push_back(call);
    drop(threads);
    CALLED.notify_one();
    Ok(())
}

/// Runs a call that blocks on a thread of its own, of which there are up to 500, for all executors
/// together. If the system refuses a thread, the call waits for another thread. A cancel doesn't
/// stop a call that has begun.
///
/// # Errors
///
/// The handle's output is [`JoinError::NoThread`](crate::JoinError::NoThread) if the system refuses
/// a thread, and there is no other.
///
/// # Panics
///
/// If the thread belongs to no executor.
pub fn spawn_blocking<T: Send + 'static>(
    call: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let (answer, answered) = oneshot();
    let call = move || {
        quietly(|| {
            // Unless it was cancelled.
            if !answer.is_closed() {
                drop(answer.send(Outcome::new(catch_unwind(AssertUnwindSafe(call)))));
            }
        })
    };
    match push(Box::new(call)) {
        Ok(()) => crate::spawn(async {
            let outcome = answered.await.expect("the thread answers");
            outcome.into_result().unwrap_or_else(|panic| resume_unwind(panic))
        }),
        Err(_) => JoinHandle::without_task(NoTask::NoThread),
    }
}
