//! Channels with the names and shapes of those of Tokio: a task awaits a call, and a thread takes
//! the one that begins with `blocking_`. They need no runtime.

pub mod broadcast;
pub mod watch;

use core::task::{Context, Poll, ready};

use crate::wait::bell::{Bell, Look, Wait};
use crate::wait::budget::count_step;
use crate::wait::thread::Habit;

/// Blocks the thread until a look finds something.
fn block<R>(habit: &mut Habit, bell: &Bell, look: impl FnMut() -> Look<R>) -> R {
    habit.wait(bell, None, look).expect("it waits without a limit")
}

/// Polls a wait of a task.
#[inline]
fn poll_task<R>(
    wait: &mut Wait<'_>,
    context: &mut Context<'_>,
    mut look: impl FnMut() -> Look<R>,
) -> Poll<R> {
    if wait.is_awake() {
        ready!(wait.poll_step(context.waker()));
        if let Look::Done(found) = look() {
            count_step(true);
            return Poll::Ready(found);
        }
    }
    poll_waiting(wait, context, look)
}

/// As [`poll_task`], after a first look in vain.
#[cold]
#[inline(never)]
fn poll_waiting<R>(
    wait: &mut Wait<'_>,
    context: &mut Context<'_>,
    look: impl FnMut() -> Look<R>,
) -> Poll<R> {
    wait.poll_task(context.waker(), look)
}
