//! Channels for tasks, with the names and the shapes of `tokio::sync`.
//!
//! A program moves with its `use` lines: `use corelane::channel::task::mpsc` instead of
//! `use tokio::sync::mpsc`. `send` and `recv` are futures, which need nothing of their runtime.
//! Threads take the calls that begin with `blocking_`. Unlike those of Tokio, they don't panic in a
//! task: they block the thread of its runtime.
//!
//! | | |
//! |---|---|
//! | [`mpsc`] | many senders, one receiver. Room can be reserved before a message is made |
//! | [`oneshot`] | one message, such as an answer |
//! | [`broadcast`] | each receiver gets each message, or is told how many it has missed |
//! | [`watch`] | receivers see the latest value |

pub mod broadcast;
pub mod mpsc;
pub mod oneshot;
pub mod watch;

use core::future::{Future, poll_fn};
use core::task::{Context, Poll, ready};

use crate::wait::bell::{Bell, Look, Wait};
use crate::wait::budget::count_step;
use crate::wait::thread::Habit;

/// Blocks the thread until a look finds something.
fn block<R>(habit: &mut Habit, bell: &Bell, look: impl FnMut() -> Look<R>) -> R {
    habit.wait(bell, None, look).expect("it waits without a limit")
}

/// Looks, and waits at the bell while the wait is not over.
pub(super) fn wait_at<R>(
    bell: &Bell,
    mut look: impl FnMut() -> Look<R>,
) -> impl Future<Output = R> {
    let mut wait = Wait::at(bell);
    poll_fn(move |context| poll_task(&mut wait, context, &mut look))
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
