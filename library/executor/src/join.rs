//! The result of a task.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::{fmt, mem};

use async_task::{FallibleTask, Task};

use crate::home::Home;
use crate::panics::Outcome;

/// A task's result, to be awaited. If the handle is dropped, the task continues.
#[must_use = "a task goes on without its handle; `drop` says that this is meant"]
pub struct JoinHandle<T> {
    /// The reason, if there is no task.
    task: Result<FallibleTask<Outcome<T>, Home>, NoTask>,
}

/// Why there is no task. Unlike a [`JoinError`] it can be shared.
#[derive(Clone, Copy)]
pub(crate) enum NoTask {
    Cancelled,
    NoThread,
}

impl<T> JoinHandle<T> {
    pub(crate) fn new(task: Task<Outcome<T>, Home>) -> Self {
        Self { task: Ok(task.fallible()) }
    }

    /// The handle of a task that was never spawned.
    pub(crate) fn without_task(why: NoTask) -> Self {
        Self { task: Err(why) }
    }

    /// Cancels the task, and waits until it has stopped: afterwards it doesn't run, and its future
    /// is dropped. Returns its output if it was done before. A call of
    /// [`spawn_blocking`](crate::spawn_blocking) that has begun continues. The returned future must
    /// be polled.
    ///
    /// # Errors
    ///
    /// As when the handle is awaited.
    pub async fn cancel(mut self) -> Result<T, JoinError> {
        done(self.take()?.cancel().await)
    }

    /// Whether the task is done.
    pub fn is_finished(&self) -> bool {
        self.task.as_ref().map_or(true, FallibleTask::is_finished)
    }

    fn take(&mut self) -> Result<FallibleTask<Outcome<T>, Home>, NoTask> {
        mem::replace(&mut self.task, Err(NoTask::Cancelled))
    }
}

fn done<T>(outcome: Option<Outcome<T>>) -> Result<T, JoinError> {
    match outcome.map(Outcome::into_result) {
        Some(Ok(output)) => Ok(output),
        Some(Err(panic)) => Err(JoinError::Panicked(panic)),
        None => Err(JoinError::Cancelled),
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.task {
            Ok(task) => Pin::new(task).poll(context).map(done),
            Err(why) => Poll::Ready(Err((*why).into())),
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if let Ok(task) = self.take() {
            task.detach();
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("is_finished", &self.is_finished()).finish()
    }
}

/// Why a task has no output.
pub enum JoinError {
    /// It was cancelled, or its executor ended.
    Cancelled,
    /// It panicked. Has the payload.
    Panicked(Box<dyn Any + Send>),
    /// The system refuses a thread, and there is no thread for [calls that
    /// block](crate::spawn_blocking).
    NoThread,
}

impl From<NoTask> for JoinError {
    fn from(why: NoTask) -> Self {
        match why {
            NoTask::Cancelled => Self::Cancelled,
            NoTask::NoThread => Self::NoThread,
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "Cancelled",
            Self::Panicked(_) => "Panicked(..)",
            Self::NoThread => "NoThread",
        })
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let panic = match self {
            Self::Cancelled => return f.write_str("the task was cancelled"),
            Self::NoThread => return f.write_str("the system refuses a thread"),
            Self::Panicked(panic) => panic,
        };
        let text = panic.downcast_ref::<&str>().copied();
        match text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)) {
            Some(text) => write!(f, "the task panicked: {text}"),
            None => f.write_str("the task panicked"),
        }
    }
}

impl std::error::Error for JoinError {}
