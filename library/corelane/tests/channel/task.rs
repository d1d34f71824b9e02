//! Channels with Tokio's names: permits, wakes, ends, counts.

use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use corelane::channel::task::mpsc::error::{SendTimeoutError, TryRecvError, TrySendError};
use corelane::channel::task::{mpsc, oneshot};
use futures_executor::block_on;

use crate::tasks::{Woken, poll};

fn woken() -> Arc<Woken> {
    Arc::default()
}

#[test]
fn a_permit_is_room() {
    let (tx, mut rx) = mpsc::channel(2);
    let (first, second) = (tx.try_reserve().unwrap(), tx.try_reserve().unwrap());
    assert_eq!((tx.capacity(), tx.max_capacity(), rx.len()), (0, 2, 0));
    assert!(matches!(tx.try_send("no room"), Err(TrySendError::Full("no room"))));
    assert!(tx.try_reserve().is_err_and(|error| error == TrySendError::Full(())));
    second.send("first");
    drop(first);
    assert_eq!((tx.capacity(), rx.capacity()), (1, 1));
    tx.try_send("second").unwrap();
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok("first"), Ok("second")));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
}

/// Each of them wakes the task that waits for room.
#[test]
fn room_comes_back() {
    let (tx, mut rx) = mpsc::channel(1);
    for way in 0..4 {
        let permit = tx.clone().try_reserve_owned().unwrap();
        let (mut reserve, woken) = (Box::pin(tx.reserve()), woken());
        assert!(poll(&mut reserve, &woken).is_pending());
        match way {
            0 => drop(permit),
            1 => drop(permit.release()),
            _ => {
                drop(permit.send(way));
                assert_eq!(woken.times(), 0, "the room has a message");
                assert_eq!(rx.try_recv(), Ok(way));
            }
        }
        assert_eq!(woken.times(), 1);
        assert!(poll(&mut reserve, &woken).is_ready());
    }
}

/// A receiver of a closed channel waits for the messages of permits.
#[test]
fn permits_outlive_a_close() {
    let (tx, mut rx) = mpsc::channel(2);
    let (used, unused) = (tx.try_reserve().unwrap(), tx.try_reserve().unwrap());
    rx.close();
    assert!(rx.is_closed() && tx.is_closed());
    assert!(tx.try_reserve().is_err_and(|error| error == TrySendError::Closed(())));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    let woken = woken();
    assert!(poll(&mut Box::pin(rx.recv()), &woken).is_pending());
    used.send(1);
    assert_eq!(woken.times(), 1);
    assert_eq!(block_on(rx.recv()), Some(1));
    assert!(poll(&mut Box::pin(rx.recv()), &woken).is_pending());
    drop(unused);
    assert_eq!(woken.times(), 2);
    assert_eq!(block_on(rx.recv()), None);
}

#[test]
fn permits_without_a_receiver_drop_messages() {
    let message = Arc::new(());
    let (tx, rx) = mpsc::channel(1);
    let permit = tx.try_reserve().unwrap();
    drop(rx);
    permit.send(message.clone());
    assert_eq!(Arc::strong_count(&message), 1);
    assert!(block_on(tx.reserve()).is_err());
    assert!(tx.try_send(message).is_err());
}

#[test]
fn several_permits() {
    let (tx, mut rx) = mpsc::channel(3);
    let mut permits = tx.try_reserve_many(3).unwrap();
    assert_eq!((permits.len(), tx.capacity()), (3, 0));
    permits.next().unwrap().send(1);
    drop(permits);
    assert_eq!((tx.capacity(), rx.try_recv()), (2, Ok(1)));
    assert!(block_on(tx.reserve_many(4)).is_err() && tx.try_reserve_many(4).is_err());
    assert_eq!(block_on(tx.reserve_many(0)).unwrap().count(), 0);
    assert_eq!(tx.try_reserve_many(0).unwrap().count(), 0);
    for (n, permit) in block_on(tx.reserve_many(3)).unwrap().enumerate() {
        permit.send(n);
    }
    let mut messages = Vec::new();
    assert_eq!(block_on(rx.recv_many(&mut messages, 10)), 3);
    assert_eq!(messages, [0, 1, 2]);
    assert_eq!(rx.blocking_recv_many(&mut messages, 0), 0);
    rx.close();
    assert!(tx.try_reserve_many(0).is_err() && block_on(tx.reserve_many(0)).is_err());
    assert_eq!(block_on(rx.recv_many(&mut messages, 1)), 0);
}

/// Room for several messages comes back at once, and wakes as many tasks.
#[test]
fn several_permits_come_back() {
    for is_cancelled in [true, false] {
        let (tx, mut rx) = mpsc::channel(4);
        let (kept, mut many) = (tx.try_reserve().unwrap(), Box::pin(tx.reserve_many(4)));
        assert!(poll(&mut many, &woken()).is_pending());
        let wakers = [(); 3].map(|()| woken());
        let mut sends = [1, 2, 3].map(|n| Box::pin(tx.send(n)));
        for (send, woken) in sends.iter_mut().zip(&wakers) {
            assert!(poll(send, woken).is_pending());
        }
        match is_cancelled {
            true => drop(many),
            false => {
                drop(kept);
                drop(block_on(many).unwrap());
            }
        }
        for (send, woken) in sends.iter_mut().zip(&wakers) {
            assert_eq!(woken.times(), 1);
            assert!(poll(send, woken).is_ready());
        }
        let received: u32 = [(); 3].iter().filter_map(|()| rx.try_recv().ok()).sum();
        assert_eq!(received, 6);
    }
}

/// A task that waits for its turn to reserve is woken by the end.
#[test]
fn the_end_comes_before_a_turn() {
    let (tx, rx) = mpsc::channel::<u8>(2);
    let _permit = tx.try_reserve().unwrap();
    let (mut first, mut second, woken) =
        (Box::pin(tx.reserve_many(2)), Box::pin(tx.reserve_many(2)), woken());
    assert!(poll(&mut first, &crate::task::woken()).is_pending());
    assert!(poll(&mut second, &woken).is_pending());
    drop(rx);
    assert_eq!(woken.times(), 1);
    assert!(matches!(poll(&mut second, &woken), Poll::Ready(Err(_))));
}

#[test]
fn receivers_can_be_shared() {
    fn is_sync(_: &impl Sync) {}
    is_sync(&mpsc::channel::<u8>(1).1);
    is_sync(&mpsc::unbounded_channel::<std::cell::Cell<u8>>().1);
}

/// Tasks that wait for much room, and some that need little, all get it. Some give up.
#[test]
fn much_room_and_little() {
    const EACH: u64 = 2000;
    let (tx, mut rx) = mpsc::channel(5);
    thread::scope(|s| {
        for n in [5, 4, 3] {
            let tx = tx.clone();
            s.spawn(move || {
                block_on(async {
                    for _ in 0..EACH / n {
                        drop(poll(&mut Box::pin(tx.reserve_many(n as usize)), &woken()));
                        for permit in tx.reserve_many(n as usize).await.unwrap() {
                            permit.send(1);
                        }
                    }
                });
            });
        }
        s.spawn(move || {
            block_on(async {
                for n in 0..EACH {
                    match n % 2 {
                        0 => tx.send(1).await.unwrap(),
                        _ => tx.reserve().await.unwrap().send(1),
                    }
                }
            });
        });
        let received: u64 = std::iter::from_fn(|| rx.blocking_recv()).sum();
        assert_eq!(received, [5, 4, 3].map(|n| EACH / n * n).iter().sum::<u64>() + EACH);
    });
}

#[test]
fn a_send_ends_in_time() {
    let (tx, mut rx) = mpsc::channel(1);
    let soon = Duration::from_millis(2);
    assert!(block_on(tx.send_timeout(1, soon)).is_ok());
    assert!(matches!(block_on(tx.send_timeout(2, soon)), Err(SendTimeoutError::Timeout(2))));
    assert_eq!(rx.blocking_recv(), Some(1));
    drop(rx);
    assert!(matches!(block_on(tx.send_timeout(4, soon)), Err(SendTimeoutError::Closed(4))));
}

#[test]
fn the_end_is_awaited() {
    for closes in [true, false] {
        let (tx, mut rx) = mpsc::unbounded_channel::<u8>();
        let (mut closed, woken) = (Box::pin(tx.closed()), woken());
        assert!(poll(&mut closed, &woken).is_pending());
        tx.send(1).unwrap();
        assert_eq!(woken.times(), 0);
        let rx = if closes {
            rx.close();
            Some(rx)
        } else {
            drop(rx);
            None
        };
        assert_eq!(woken.times(), 1);
        assert!(poll(&mut closed, &woken).is_ready());
        assert_eq!(rx.and_then(|mut rx| rx.blocking_recv()), closes.then_some(1));
    }
}

#[test]
fn handles_are_counted() {
    let (tx, rx) = mpsc::channel::<u8>(1);
    let weak = tx.downgrade();
    let permit = tx.clone().try_reserve_owned().unwrap();
    assert_eq!((tx.strong_count(), tx.weak_count(), rx.sender_strong_count()), (2, 1, 2));
    assert!(permit.same_channel_as_sender(&tx) && tx.same_channel(&weak.upgrade().unwrap()));
    drop(tx);
    assert!(!rx.is_closed(), "the permit has a sender");
    drop(permit);
    assert!(rx.is_closed() && weak.upgrade().is_none());
    assert_eq!((weak.strong_count(), rx.sender_weak_count()), (0, 1));
}

/// A task has polled, and then a thread takes the message: the thread is woken.
#[test]
fn a_thread_receives_after_a_task() {
    let (tx, mut rx) = mpsc::channel(1);
    assert!(poll(&mut Box::pin(rx.recv()), &woken()).is_pending());
    let sends = thread::spawn(move || {
        thread::sleep(Duration::from_millis(2));
        tx.blocking_send(1)
    });
    assert_eq!(rx.blocking_recv(), Some(1));
    sends.join().unwrap().unwrap();
}

#[test]
fn a_receiver_is_polled_by_another_task() {
    let (tx, mut rx) = mpsc::channel(1);
    let (first, second) = (woken(), woken());
    assert!(poll(&mut Box::pin(rx.recv()), &first).is_pending());
    assert!(poll(&mut Box::pin(rx.recv()), &second).is_pending());
    tx.try_send(1).unwrap();
    assert_eq!((first.times(), second.times()), (0, 1));
    assert_eq!(poll(&mut Box::pin(rx.recv()), &second), Poll::Ready(Some(1)));
}

#[test]
fn the_receiver_of_an_only_message_ends() {
    let (mut tx, mut rx) = oneshot::channel::<u8>();
    let woken = woken();
    assert!(poll(&mut Box::pin(tx.closed()), &woken).is_pending());
    assert_eq!(rx.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    rx.close();
    assert_eq!(woken.times(), 1);
    block_on(tx.closed());
    assert!(tx.is_closed());
    assert_eq!(tx.send(1), Err(1));
    assert!(rx.is_empty() && !rx.is_terminated());
    assert_eq!(rx.try_recv(), Err(oneshot::error::TryRecvError::Closed));
    assert!(rx.is_terminated() && rx.blocking_recv().is_err());
}

#[test]
fn an_only_message_outlives_a_close() {
    let (tx, mut rx) = oneshot::channel();
    tx.send(1).unwrap();
    rx.close();
    assert!(!rx.is_empty());
    assert_eq!(block_on(&mut rx), Ok(1));
    assert!(rx.is_empty() && rx.is_terminated());
}

/// Wakers are dropped when a side ends, and not with the last side: a task may own what it waits
/// for.
#[test]
fn wakers_of_an_only_message_are_dropped() {
    let (tx_woken, rx_woken) = (woken(), woken());
    let (mut tx, mut rx) = oneshot::channel::<u8>();
    assert!(poll(&mut Box::pin(tx.closed()), &tx_woken).is_pending());
    assert!(poll(&mut rx, &rx_woken).is_pending());
    drop(tx);
    assert_eq!((Arc::strong_count(&tx_woken), Arc::strong_count(&rx_woken)), (1, 1));
    assert_eq!((tx_woken.times(), rx_woken.times()), (0, 1));
    let (mut tx, mut rx) = oneshot::channel::<u8>();
    assert!(poll(&mut Box::pin(tx.closed()), &tx_woken).is_pending());
    assert!(poll(&mut rx, &rx_woken).is_pending());
    drop(rx);
    assert_eq!((Arc::strong_count(&tx_woken), Arc::strong_count(&rx_woken)), (1, 1));
    assert_eq!((tx_woken.times(), rx_woken.times()), (1, 1));
}
