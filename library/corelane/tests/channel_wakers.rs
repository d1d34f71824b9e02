//! Wakers that do more than to wake, and futures that are dropped when something was for them.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use corelane::channel::{Receiver, RecvError, RecvFuture, after, bounded, unbounded};

fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// Runs `work` in a thread of its own. Panics if it takes five seconds.
fn in_time<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, result) = std::sync::mpsc::channel();
    thread::spawn(move || done.send(work()));
    result.recv_timeout(Duration::from_secs(5)).expect("it ends")
}

#[test]
fn a_message_for_a_dropped_future_is_received_by_another_call() {
    let (tx, rx) = bounded(0);
    let mut receive = rx.recv_async();
    assert!(poll(&mut receive, Waker::noop()).is_pending());
    tx.try_send(1).expect("a receiver waits");
    drop((receive, tx));
    assert_eq!((rx.recv(), rx.recv()), (Ok(1), Err(RecvError)));
}

/// A waker that owns a future which waits for the same channel.
struct Owns(#[expect(dead_code, reason = "it is only dropped")] Mutex<RecvFuture<'static, u8>>);

impl Wake for Owns {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_waker_may_own_a_task_that_waits_for_the_same_channel() {
    in_time(|| {
        for (_tx, rx) in [unbounded::<u8>(), bounded(0)] {
            let mut owned = rx.clone().into_recv_async();
            let wait_until_it_sleeps = |future: &mut RecvFuture<'_, u8>, waker: &Waker| {
                (0..10).for_each(|_| assert!(poll(future, waker).is_pending()));
            };
            wait_until_it_sleeps(&mut owned, Waker::noop());
            let waker = Waker::from(Arc::new(Owns(Mutex::new(owned))));
            let mut receive = rx.recv_async();
            wait_until_it_sleeps(&mut receive, &waker);
            drop(waker);
            drop(receive);
        }
    });
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker must not");
    }
}

#[test]
fn the_clock_goes_on_after_a_waker_that_panics() {
    let soon: Receiver<_> = after(Duration::from_millis(10));
    let mut receive = soon.recv_async();
    assert!(poll(&mut receive, &Waker::from(Arc::new(Panics))).is_pending());
    thread::sleep(Duration::from_millis(50));
    let later = after(Duration::from_millis(10));
    in_time(move || futures_executor::block_on(later.recv_async())).expect("it is the clock's");
}
