//! A channel whose messages may be received out of turn.

use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use corelane::channel::relaxed::{self, relaxed};
use corelane::channel::{
    Receiver, RecvError, RecvTimeoutError, Select, SendError, SendTimeoutError, TryRecvError,
    TrySendError, bounded,
};
use corelane::select;
use futures_executor::block_on;

use crate::tasks::{Woken, poll};

/// A channel without room, and the number of its messages.
fn full(k: usize) -> (relaxed::Sender<usize>, Receiver<usize>, usize) {
    let (tx, rx) = relaxed(10, k);
    let sent = (0..).take_while(|n| tx.try_send(*n).is_ok()).count();
    assert!(sent >= 10 && rx.capacity() == Some(10));
    (tx, rx, sent)
}

#[test]
fn messages_of_one_thread_stay_in_order() {
    for k in [1, 3, 256, 10_000] {
        let (tx, rx, sent) = full(k);
        assert_eq!((tx.len(), rx.len(), rx.is_empty()), (sent, sent, false));
        assert!(rx.relaxation() <= k.max(30), "at most three times the capacity");
        assert_eq!(tx.send_timeout(7, Duration::from_millis(1)), Err(SendTimeoutError::Timeout(7)));
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), (0..sent).collect::<Vec<_>>());
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(rx.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout));
        tx.send(1).unwrap();
        drop(tx);
        assert_eq!((rx.recv(), rx.recv(), rx.rank_error().max), (Ok(1), Err(RecvError), 0));
    }
    assert_eq!(bounded::<u8>(1).1.relaxation(), 1);
}

#[test]
fn messages_are_dropped_once() {
    let message = Arc::new(());
    let (tx, rx) = relaxed(100, 16);
    (0..50).for_each(|_| tx.send(message.clone()).unwrap());
    assert_eq!(Arc::strong_count(&message), 51);
    drop(rx);
    assert_eq!(Arc::strong_count(&message), 1, "the last receiver is gone");
    assert!(tx.is_closed());
    assert_eq!(tx.try_send(message.clone()), Err(TrySendError::Disconnected(message.clone())));
    let (tx, rx) = relaxed(100, 16);
    tx.send(message.clone()).unwrap();
    tx.close();
    assert!(tx.send(message.clone()).is_err_and(|SendError(back)| Arc::ptr_eq(&back, &message)));
    drop(tx);
    assert!(rx.recv().is_ok() && rx.recv().is_err());
    drop((relaxed::<Arc<()>>(1, 1), rx));
    assert_eq!(Arc::strong_count(&message), 1);
}

/// Threads sleep on both sides again and again.
#[test]
fn nothing_is_lost_between_threads_that_sleep() {
    for (capacity, k) in [(1, 1), (4, 16), (64, 256)] {
        let (tx, rx) = relaxed(capacity, k);
        let (received, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for thread in 0..4 {
                let (tx, rx) = (tx.clone(), rx.clone());
                scope.spawn(move || {
                    for n in 0..2000 {
                        tx.send(thread * 2000 + n).unwrap();
                        if n % 512 == 0 {
                            thread::sleep(Duration::from_micros(200));
                        }
                    }
                });
                let (received, sum) = (&received, &sum);
                scope.spawn(move || {
                    for n in &rx {
                        received.fetch_add(1, Ordering::Relaxed);
                        sum.fetch_add(n, Ordering::Relaxed);
                        if n % 700 == 0 {
                            thread::sleep(Duration::from_micros(200));
                        }
                    }
                });
            }
            drop((tx, rx));
        });
        assert_eq!(received.into_inner(), 8000);
        assert_eq!(sum.into_inner(), (0..8000).sum::<usize>());
    }
}

#[test]
fn tasks_and_selects_wait_for_it() {
    let (tx, rx, sent) = full(16);
    let (of_tx, of_rx) = (Arc::<Woken>::default(), Arc::<Woken>::default());
    let mut sends = Box::pin(tx.send_async(sent));
    assert!(poll(&mut sends, &of_tx).is_pending());
    let mut all = Vec::new();
    while poll(&mut sends, &of_tx) == Poll::Pending {
        all.push(block_on(rx.recv_async()).unwrap());
    }
    drop(sends);
    assert!(of_tx.times() > 0);
    rx.recv_many(&mut all, 1000);
    assert_eq!(all, (0..=sent).collect::<Vec<_>>());

    let mut receives = Box::pin(rx.recv_async());
    assert!(poll(&mut receives, &of_rx).is_pending());
    tx.send(7).unwrap();
    assert_eq!((of_rx.times(), poll(&mut receives, &of_rx)), (1, Poll::Ready(Ok(7))));
    drop(receives);

    let (_other, never) = bounded::<usize>(1);
    let sends = thread::spawn(move || {
        thread::sleep(Duration::from_millis(2));
        tx.send(8).unwrap();
    });
    let found = select! {
        recv(rx) -> n => n,
        recv(never) -> n => n,
    };
    assert_eq!(found, Ok(8));
    sends.join().unwrap();
    assert_eq!(rx.into_iter().next(), None);
}

#[test]
fn one_sender_and_one_receiver_keep_the_order() {
    let (tx, rx) = relaxed(5000, 256);
    for _ in 0..50 {
        (0..5000).for_each(|n| tx.send(n).unwrap());
        assert!(rx.try_iter().eq(0..5000));
    }
    let error = rx.rank_error();
    assert!(error.samples > 10 && error.max == 0, "{error:?}");
}

/// One receive may make room for several senders.
#[test]
fn no_sender_sleeps_while_there_is_room() {
    let (tx, rx, _) = full(30);
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for n in 0..30 {
            let (tx, done) = (tx.clone(), &done);
            scope.spawn(move || {
                tx.send(n).unwrap();
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        thread::sleep(Duration::from_millis(20));
        while done.load(Ordering::Relaxed) == 0 {
            rx.recv().unwrap();
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(50));
        let (asleep, has_room) = (30 - done.load(Ordering::Relaxed), tx.try_send(0).is_ok());
        // Let all end.
        while done.load(Ordering::Relaxed) < 30 {
            _ = rx.recv_timeout(Duration::from_millis(10));
        }
        assert!(asleep == 0 || !has_room, "{asleep} senders sleep");
    });
}

/// At each moment a message is in one of both channels.
#[test]
fn a_select_finds_one_of_two() {
    let ((ta, ra), (tb, rb)) = (relaxed(10, 30), relaxed(10, 30));
    ta.send(1).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                tb.send(1).unwrap();
                ra.recv().unwrap();
                ta.send(1).unwrap();
                rb.recv().unwrap();
            }
        });
        let mut select = Select::new();
        select.recv(&ra);
        select.recv(&rb);
        let found = (0..100_000).all(|_| select.try_ready().is_ok());
        is_over.store(true, Ordering::Relaxed);
        assert!(found);
    });
}

#[test]
fn too_many_handles_leave_the_channel_as_it_was() {
    let (tx, rx) = relaxed(10, 1);
    let locals: Vec<_> =
        iter::from_fn(|| catch_unwind(AssertUnwindSafe(|| rx.local())).ok()).collect();
    assert!(locals.len() > 60_000);
    drop(locals);
    tx.send(1).unwrap();
    // A thread that has no end yet.
    thread::scope(|scope| scope.spawn(|| assert_eq!(rx.recv(), Ok(1))).join().unwrap());
}
