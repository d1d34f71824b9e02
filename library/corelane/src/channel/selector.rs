//! A select whose operations say what is done with their results.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use std::time::{Duration, Instant};

use super::access::Access;
use super::error::{RecvError, SelectTimeoutError, SendError};
use super::select::{Select, SelectedOperation};
use super::{Receiver, Sender};

/// A list of send and receive operations, of which one is done: the first one that would not wait.
/// Its result goes through a function. With the names of flume.
///
/// As [`Select`], which can be used several times. If several operations would not wait, chance
/// decides.
///
/// ```
/// use corelane::channel::{Selector, bounded};
///
/// let (_numbers, number) = bounded::<u32>(1);
/// let (words, word) = bounded(1);
/// words.send("hello").unwrap();
/// let got = Selector::new()
///     .recv(&number, |number| format!("{number:?}"))
///     .recv(&word, |word| word.unwrap().to_string())
///     .wait();
/// assert_eq!(got, "hello");
/// ```
#[must_use = "nothing is done before it waits"]
pub struct Selector<'a, R> {
    select: Select<'a>,
    /// How each operation is completed, by its index.
    complete: Vec<Complete<'a, R>>,
}

type Complete<'a, R> = Box<dyn FnOnce(SelectedOperation<'a>) -> R + 'a>;

impl<R> Default for Selector<'_, R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a, R> Selector<'a, R> {
    /// An empty list.
    pub fn new() -> Self {
        Self { select: Select::new(), complete: Vec::new() }
    }

    /// Adds a receive operation.
    pub fn recv<T, A: Access>(
        mut self,
        receiver: &'a Receiver<T, A>,
        map: impl FnOnce(Result<T, RecvError>) -> R + 'a,
    ) -> Self {
        self.select.recv(receiver);
        self.complete.push(Box::new(move |selected| map(selected.recv(receiver))));
        self
    }

    /// Adds a send operation. The message is dropped if another operation is done.
    pub fn send<T: 'a, A: Access>(
        mut self,
        sender: &'a Sender<T, A>,
        message: T,
        map: impl FnOnce(Result<(), SendError<T>>) -> R + 'a,
    ) -> Self {
        self.select.send(sender);
        self.complete.push(Box::new(move |selected| map(selected.send(sender, message))));
        self
    }

    /// Does one of the operations, and waits while all would wait.
    ///
    /// # Panics
    ///
    /// If no operation was added.
    pub fn wait(mut self) -> R {
        let selected = self.select.select();
        self.complete(selected)
    }

    /// As [`wait`](Self::wait), for at most `timeout`.
    ///
    /// # Errors
    ///
    /// When the time is over.
    pub fn wait_timeout(mut self, timeout: Duration) -> Result<R, SelectTimeoutError> {
        let selected = self.select.select_timeout(timeout)?;
        Ok(self.complete(selected))
    }

    /// As [`wait`](Self::wait), until `deadline`.
    ///
    /// # Errors
    ///
    /// When the time is over.
    pub fn wait_deadline(mut self, deadline: Instant) -> Result<R, SelectTimeoutError> {
        let selected = self.select.select_deadline(deadline)?;
        Ok(self.complete(selected))
    }

    fn complete(mut self, selected: SelectedOperation<'a>) -> R {
        let complete = self.complete.swap_remove(selected.index());
        complete(selected)
    }
}

impl<R> fmt::Debug for Selector<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Selector { .. }")
    }
}
