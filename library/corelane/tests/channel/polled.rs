//! Futures that a test polls itself.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A future, and whether it was woken since it was polled the last time.
pub(crate) struct Polled<F> {
    future: Pin<Box<F>>,
    woken: Arc<Woken>,
}

impl<F: Future> Polled<F> {
    pub(crate) fn new(future: F) -> Self {
        Self { future: Box::pin(future), woken: Arc::new(Woken(AtomicBool::new(false))) }
    }

    /// Polls until it is ready, or sleeps. A future of a task that lets others run is polled again.
    pub(crate) fn poll(&mut self) -> Poll<F::Output> {
        let waker = Waker::from(self.woken.clone());
        loop {
            self.woken.0.store(false, Ordering::SeqCst);
            let polled = self.future.as_mut().poll(&mut Context::from_waker(&waker));
            if polled.is_ready() || !self.is_woken() {
                return polled;
            }
        }
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.woken.0.load(Ordering::SeqCst)
    }

    pub(crate) fn sleeps(&mut self) -> bool {
        self.poll().is_pending()
    }
}

/// What a future is ready with now. `None` if it waits.
pub(crate) fn now<F: Future>(future: F) -> Option<F::Output> {
    match Polled::new(future).poll() {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Whether a task in which `step` is always ready lets others run, sooner or later.
pub(crate) fn lets_others_run(mut step: impl AsyncFnMut()) -> bool {
    let begin = Instant::now();
    let mut always_ready = pin!(async {
        while begin.elapsed() < Duration::from_secs(10) {
            step().await;
        }
    });
    always_ready.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
}
