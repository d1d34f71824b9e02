//! The result of a task.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::{fmt, thread};

use async_task::{FallibleTask, Task};

use crate::home::Home;

/// A task's result, to be awaited. Dropped, it lets the task go on.
#[must_use = "a task goes on without its handle; `drop` says that this is meant"]
pub struct JoinHandle<T> {
    /// `None` when it was cancelled.
    task: Option<FallibleTask<thread::Result<T>, Home>>,
}

impl<T> JoinHandle<T> {
    pub(crate) fn new(task: Task<thread::Result<T>, Home>) -> Self {
        Self { task: Some(task.fallible()) }
    }

    /// Cancels the task, and waits until it has stopped: afterwards it doesn't run, and its future is dropped. Returns its output if it was done before. A call of
    /// [`spawn_blocking`](crate::spawn_blocking) that has begun goes on. What this returns must be polled.
    ///
    /// # Errors
    ///
    /// As those of awaiting it.
    pub async fn cancel(mut self) -> Result<T, JoinError> {
        let task = self.task.take().expect("only this takes it");
        done(task.cancel().await)
    }

    /// Whether the task is done.
    pub fn is_finished(&self) -> bool {
        self.task.as_ref().is_none_or(FallibleTask::is_finished)
    }
}

fn done<T>(output: Option<thread::Result<T>>) -> Result<T, JoinError> {
    match output {
        Some(Ok(output)) => Ok(output),
        Some(Err(panic)) => Err(JoinError::Panicked(panic)),
        None => Err(JoinError::Cancelled),
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let task = self.task.as_mut().expect("only `cancel` takes it");
        Pin::new(task).poll(context).map(done)
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
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
    /// It panicked, with this.
    Panicked(Box<dyn Any + Send>),
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "Cancelled",
            Self::Panicked(_) => "Panicked(..)",
        })
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let panic = match self {
            Self::Cancelled => return f.write_str("the task was cancelled"),
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
