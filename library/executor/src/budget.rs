//! A task that never waits lets others run.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

/// Steps of a task until it has to let others run.
const STEPS: u32 = 128;

thread_local! {
    static LEFT: Cell<u32> = const { Cell::new(STEPS) };
}

/// A task begins to run.
pub(crate) fn refill() {
    LEFT.set(STEPS);
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

/// A step of a task that may never have to wait, such as one that reads from a socket which always has more: after 128 steps without a pause the other tasks of this
/// worker run.
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
    let left = LEFT.get();
    match left.checked_sub(1) {
        Some(left) => LEFT.set(left),
        None => yield_now().await,
    }
}

/// A step of a future that waits for something else. Pending: the task lets others run.
#[cfg(unix)]
pub(crate) fn poll_step(context: &mut std::task::Context<'_>) -> Poll<()> {
    match LEFT.get().checked_sub(1) {
        Some(left) => {
            LEFT.set(left);
            Poll::Ready(())
        }
        None => {
            // Also where no worker does that.
            refill();
            context.waker().wake_by_ref();
            Poll::Pending
        }
    }
}
