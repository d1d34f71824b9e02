//! Threads of a model.

use std::any::Any;
use std::marker::PhantomData;

use loom::thread::JoinHandle;

/// A thread that was started, and returns an `R`.
#[derive(Debug)]
pub(crate) struct Thread<R> {
    handle: JoinHandle<Box<dyn Any>>,
    returns: PhantomData<R>,
}

/// Starts a thread. Its work is boxed, so that loom's part is compiled once for all models.
pub(crate) fn spawn<R: 'static>(work: impl FnOnce() -> R + 'static) -> Thread<R> {
    let work: Box<dyn FnOnce() -> Box<dyn Any>> = Box::new(|| Box::new(work()));
    Thread { handle: loom::thread::spawn(work), returns: PhantomData }
}

impl<R: 'static> Thread<R> {
    /// Waits for the thread's end.
    pub(crate) fn join(self) -> R {
        let result = self.handle.join().expect("a panic ends the model");
        *result.downcast().expect("it is what the thread returns")
    }
}
