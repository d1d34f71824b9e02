//! Channels that are bounded by the weight of their messages.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use corelane::channel::weighed::{Sender, Weighed};
use corelane::channel::{Receiver, SendError, SendTimeoutError, TrySendError, weighed};
use futures_executor::block_on;

use crate::tasks::{Woken, poll};

/// Messages that weigh what they are.
fn of_limit(limit: usize) -> (Sender<usize>, Receiver<Weighed<usize>>) {
    weighed(limit, |weight| *weight)
}

fn woken() -> Arc<Woken> {
    Arc::default()
}

#[test]
fn room_is_weight() {
    let (tx, rx) = of_limit(10);
    assert!(tx.try_send(6).is_ok() && tx.try_send(4).is_ok() && tx.try_send(0).is_ok());
    assert_eq!(tx.try_send(1), Err(TrySendError::Full(1)));
    assert_eq!(tx.send_timeout(1, Duration::from_millis(1)), Err(SendTimeoutError::Timeout(1)));
    assert_eq!((tx.weight(), tx.limit(), tx.len()), (10, 10, 3));

    let six = rx.recv().unwrap();
    assert_eq!((*six, six.weight(), tx.weight()), (6, 6, 10), "it is not dropped yet");
    assert_eq!((six.into_inner(), tx.weight()), (6, 4));
    drop(rx);
    assert_eq!((tx.weight(), tx.send(1)), (0, Err(SendError(1))));
}

#[test]
fn what_is_heavier_than_the_limit_is_alone() {
    let (tx, rx) = of_limit(10);
    tx.send(1).unwrap();
    for weight in [11, usize::MAX] {
        assert_eq!(tx.try_send(weight), Err(TrySendError::Full(weight)));
        drop(rx.recv());
        tx.send(weight).unwrap();
        assert_eq!(tx.try_send(0), Err(TrySendError::Full(0)));
    }
}

#[test]
fn light_messages_do_not_overtake_a_heavy_one_that_waits() {
    let (tx, rx) = of_limit(10);
    tx.send(6).unwrap();
    let (mut heavy, mut light) = (Box::pin(tx.send_async(8)), Box::pin(tx.send_async(1)));
    let (of_heavy, of_light) = (woken(), woken());
    assert!(poll(&mut heavy, &of_heavy).is_pending() && poll(&mut light, &of_light).is_pending());
    assert_eq!(tx.try_send(1), Err(TrySendError::Full(1)), "another sender waits");
    drop(rx.recv());
    assert_eq!((of_heavy.times(), of_light.times()), (1, 0));
    assert!(poll(&mut heavy, &of_heavy).is_ready());
    assert_eq!(of_light.times(), 1);
    assert!(poll(&mut light, &of_light).is_ready());
    assert_eq!(rx.try_iter().map(Weighed::into_inner).collect::<Vec<_>>(), [8, 1]);
}

/// A sender that gives up lets the next one wait in its place.
#[test]
fn a_turn_is_given_up() {
    let (tx, rx) = of_limit(1);
    tx.send(1).unwrap();
    let (mut first, mut second) = (Box::pin(tx.send_async(1)), Box::pin(tx.send_async(1)));
    let (of_first, of_second) = (woken(), woken());
    assert!(poll(&mut first, &of_first).is_pending() && poll(&mut second, &of_second).is_pending());
    drop(rx.recv());
    assert_eq!((of_first.times(), of_second.times()), (1, 0));
    drop(first);
    assert_eq!(of_second.times(), 1);
    assert_eq!(poll(&mut second, &of_second), Poll::Ready(Ok(())));
}

#[test]
fn the_end_wakes_all_that_wait() {
    for closes in [true, false] {
        let (tx, rx) = of_limit(1);
        tx.send(1).unwrap();
        let taken = rx.recv().unwrap();
        thread::scope(|s| {
            let threads = [2, 3].map(|n| {
                s.spawn({
                    let tx = &tx;
                    move || tx.send(n)
                })
            });
            let task = s.spawn(|| block_on(tx.send_async(4)));
            thread::sleep(Duration::from_millis(2));
            if closes {
                tx.close()
            } else {
                drop(rx)
            }
            for (n, sends) in [2, 3, 4].into_iter().zip(threads.into_iter().chain([task])) {
                assert_eq!(sends.join().unwrap(), Err(SendError(n)));
            }
        });
        assert_eq!((*taken, tx.weight()), (1, 1));
    }
}

#[test]
fn room_comes_back_if_a_destructor_panics() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("a destructor");
        }
    }
    let (tx, rx) = weighed(1, |_| 1);
    tx.send(Panics).unwrap();
    let message = rx.recv().unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(message))).is_err());
    assert_eq!(tx.weight(), 0);
}

/// The end of a turn wakes a task whose waker panics: the message is sent, and its room comes back.
#[test]
fn room_is_not_lost_if_a_waker_panics() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker");
        }
    }
    let (tx, rx) = of_limit(1);
    let panics = Waker::from(Arc::new(Panics));
    let wait_for_turn = || {
        let mut next = Box::pin(tx.send_async(1));
        assert!(next.as_mut().poll(&mut Context::from_waker(&panics)).is_pending());
        next
    };

    tx.send(1).unwrap();
    let mut task = Box::pin(tx.send_async(1));
    assert!(poll(&mut task, &woken()).is_pending());
    let next = wait_for_turn();
    drop(rx.recv());
    assert_eq!(poll(&mut task, &woken()), Poll::Ready(Ok(())));
    drop(next);

    thread::scope(|s| {
        let blocked = s.spawn(|| tx.send(1));
        while tx.try_send(0).is_ok() {
            thread::yield_now(); // until the thread has the turn
        }
        let next = wait_for_turn();
        drop(rx.recv());
        assert_eq!(blocked.join().unwrap(), Ok(()));
        drop(next);
    });
    drop(rx);
    assert_eq!(tx.weight(), 0);
}

/// Threads and tasks send messages of all weights: each comes once, those of a sender in order, and
/// never more than the limit at once.
#[test]
fn weights_stay_below_the_limit() {
    const EACH: usize = 3000;
    const LIMIT: usize = 100;
    let count = Arc::new(());
    let (tx, rx) = weighed(LIMIT, |(_, n, _): &(usize, usize, Arc<()>)| n * 7 % (LIMIT + 1));
    let received: usize = thread::scope(|s| {
        for id in 0..4 {
            let (tx, count) = (tx.clone(), &count);
            s.spawn(move || {
                for n in 0..EACH {
                    let message = (id, n, count.clone());
                    let waits_as_thread = id < 2;
                    let sent = match waits_as_thread {
                        true => tx.send(message),
                        false => block_on(tx.send_async(message)),
                    };
                    assert!(sent.is_ok() && tx.weight() <= LIMIT);
                }
            });
        }
        drop(tx);
        let receive = || {
            let mut next = [0; 4];
            let check = |message: Weighed<(usize, usize, Arc<()>)>| {
                let (id, n, _) = &*message;
                let (id, n) = (*id, *n);
                assert!(n >= next[id], "message {n} of sender {id} after {}", next[id]);
                next[id] = n + 1;
            };
            rx.iter().map(check).count()
        };
        let receivers = [s.spawn(receive), s.spawn(receive)];
        receivers.into_iter().map(|receiver| receiver.join().unwrap()).sum()
    });
    assert_eq!(received, 4 * EACH);
    assert_eq!(Arc::strong_count(&count), 1);
}
