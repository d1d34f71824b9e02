//! A task that never waits lets others run.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

/// Steps of a task until it has to let others run.
const STEPS: u32 = 128;

thread_local! {
    /// Steps that are left. `None` outside of this executor's tasks, where no worker resets it.
    static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
}

/// A task begins to run.
pub(crate) fn refill() {
    LEFT.set(Some(STEPS));
}

/// The steps that are left. They are restored when the call that blocks the calling task is done.
pub(crate) fn left() -> Option<u32> {
    LEFT.get()
}

pub(crate) fn restore(left: Option<u32>) {
    LEFT.set(left);
}

/// Takes a step. Returns whether there was one.
fn take() -> bool {
    let left = LEFT.get();
    LEFT.set(left.map(|left| left.saturating_sub(1)));
    left != Some(0)
}

/// Lets the other tasks of this worker run before the calling task goes on.
pub async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A step of a task that may never have to wait, such as a task that reads from a socket which
/// always has more bytes: after 128 steps without a pause the other tasks of this worker run.
///
/// ```
/// # async fn work() {}
/// # async fn example() {
/// loop {
///     work().await; // may be ready each time
///     corelane_executor::step().await;
/// }
/// # }
/// ```
pub async fn step() {
    if !take() {
        yield_now().await;
    }
}

/// A step of a future that waits for something else. Pending: the task lets others run.
#[cfg(unix)]
pub(crate) fn poll_step(context: &mut std::task::Context<'_>) -> Poll<()> {
    if take() {
        return Poll::Ready(());
    }
    context.waker().wake_by_ref();
    Poll::Pending
}
