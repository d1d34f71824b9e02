//! Any number of tasks that borrow.

use core::fmt;
use core::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::Fork;
use super::job::{self, Task};
use super::latch::Countdown;
use crate::memory::Mutex;
use crate::steal::pool::PanicPayload;
use crate::steal::pool::panics::keep_first;
use crate::unwind::quietly;

/// Spawns tasks that may borrow whatever outlives the [scope](Fork::scope).
pub struct Scope<'a, 'env> {
    fork: &'a Fork,
    shared: &'a Shared,
    /// The lifetime is not shorter: tasks must not borrow values that live only inside the scope.
    env: PhantomData<fn(&'env ()) -> &'env ()>,
}

/// The state that the tasks of a scope share, on the stack of the thread that waits for them.
struct Shared {
    /// The tasks, and the scope's own call.
    left: Countdown,
    /// The payload of the first panic.
    panic: Mutex<Option<PanicPayload>>,
}

/// Where a task finds its scope.
#[derive(Clone, Copy)]
struct Shares(*const Shared);

// SAFETY: what tasks share is `Sync`.
unsafe impl Send for Shares {}

impl Fork {
    /// Calls `spawns`, which may spawn any number of tasks, and waits until they are all done.
    ///
    /// ```
    /// use corelane::steal::fork_join::{Options, Pool};
    ///
    /// let pool = Pool::new(Options::new(2))?;
    /// let mut squares = [0; 8];
    /// pool.run(|fork| {
    ///     fork.scope(|scope| {
    ///         for (n, square) in squares.iter_mut().enumerate() {
    ///             scope.spawn(move |_| *square = n * n);
    ///         }
    ///     });
    /// });
    /// assert_eq!(squares[7], 49);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If `spawns` or a task panics, after all are done.
    pub fn scope<'env, R>(&self, spawns: impl FnOnce(&Scope<'_, 'env>) -> R) -> R {
        let shared = Shared { left: Countdown::default(), panic: Mutex::new(None) };
        let scope = Scope { fork: self, shared: &shared, env: PhantomData };
        let output = catch_unwind(AssertUnwindSafe(|| spawns(&scope)));
        // SAFETY: the scope was there first.
        unsafe { Countdown::count_out(&raw const shared.left) };
        self.help_until_set(shared.left.latch());
        let panic = shared.panic.lock().take();
        match (output, panic) {
            (Err(own), of_task) => {
                quietly(|| drop(of_task));
                resume_unwind(own)
            }
            (Ok(_), Some(of_task)) => resume_unwind(of_task),
            (Ok(output), None) => output,
        }
    }
}

impl<'env> Scope<'_, 'env> {
    /// Spawns a task. It is on the heap.
    pub fn spawn(&self, task: impl FnOnce(&Scope<'_, 'env>) + Send + 'env) {
        self.shared.left.count_in();
        let shares = Shares(self.shared);
        let task: Task = job::on_heap(move |fork: &Fork| {
            let Shares(shared) = { shares };
            // SAFETY: the scope waits until this task is counted out.
            unsafe {
                let scope = Scope { fork, shared: &*shared, env: PhantomData };
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| task(&scope))) {
                    keep_first(&scope.shared.panic, panic);
                }
                Countdown::count_out(&raw const (*shared).left);
            }
        });
        self.fork.give(task);
    }

    /// The worker that runs the calling task, to [join](Fork::join) and for further scopes.
    pub fn fork(&self) -> &Fork {
        self.fork
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("worker", &self.fork.worker()).finish_non_exhaustive()
    }
}
