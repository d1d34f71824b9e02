//! Operations that a select has begun, and that are not completed yet: all other calls go on.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use corelane::channel::{
    ReadyTimeoutError, Receiver, RecvError, Select, SelectedOperation, SendError, Sender,
    TryRecvError, TrySelectError, TrySendError, bounded, select, select_biased, spsc, unbounded,
};

const MOMENT: Duration = Duration::from_millis(15);

/// Runs `work` in a thread of its own. Panics if it takes five seconds.
fn in_time<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, result) = std::sync::mpsc::channel();
    thread::spawn(move || done.send(work()));
    result.recv_timeout(Duration::from_secs(5)).expect("it ends")
}

/// Runs `work` in another thread, to its end.
fn elsewhere<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    thread::scope(|s| s.spawn(work).join()).expect("it does not panic")
}

fn begin_send<T>(tx: &Sender<T>) -> Result<SelectedOperation<'_>, TrySelectError> {
    let mut select = Select::new();
    select.send(tx);
    select.try_select()
}

fn begin_recv<T>(rx: &Receiver<T>) -> SelectedOperation<'_> {
    let mut select = Select::new();
    select.recv(rx);
    select.select()
}

fn fails() -> u64 {
    panic!("as the test wants")
}

/// Sends the value of `message`, which is evaluated when the operation has been selected.
type Way = fn(&Sender<u64>, &dyn Fn() -> u64);

const WAYS: [Way; 8] = [
    |tx, message| select! { send(tx, message()) -> sent => sent.unwrap() },
    |tx, message| select_biased! { send(tx, message()) -> sent => sent.unwrap() },
    |tx, message| select! { send(tx, message()) -> sent => sent.unwrap(), default => panic!() },
    |tx, message| {
        select! { send(tx, message()) -> sent => sent.unwrap(), default(MOMENT) => panic!() }
    },
    |tx, message| select! { send(tx.local(), message()) -> sent => sent.unwrap() },
    |tx, message| {
        let mut select = Select::new();
        select.send(tx);
        select.select().send(tx, message()).unwrap();
    },
    |tx, message| begin_send(tx).unwrap().send(tx, message()).unwrap(),
    |tx, message| {
        let mut select = Select::new_biased();
        select.send(tx);
        select.select_timeout(MOMENT).unwrap().send(tx, message()).unwrap();
    },
];

#[test]
fn the_message_of_a_selected_send_may_wait_for_other_threads_of_the_channel() {
    for way in WAYS {
        for (tx, rx) in [bounded(2), bounded(64), unbounded()] {
            in_time(move || {
                let message = || elsewhere(|| (tx.send(1).unwrap(), rx.recv().unwrap() + 1).1);
                way(&tx, &message);
                assert_eq!((rx.recv(), rx.try_recv()), (Ok(2), Err(TryRecvError::Empty)));
                // By the thread itself, with another handle.
                way(&tx, &|| (tx.local().send(3).unwrap(), rx.recv().unwrap() + 1).1);
                assert_eq!((rx.recv(), rx.try_recv()), (Ok(4), Err(TryRecvError::Empty)));
                // Nobody receives what is sent meanwhile.
                let message = || {
                    elsewhere(|| {
                        tx.local().send(5).unwrap();
                        for _ in 1..10 {
                            let _ = tx.try_send(5);
                        }
                    });
                    6
                };
                way(&tx, &message);
                let most = tx.capacity().map_or(10, |capacity| 10.min(capacity - 1));
                assert!(rx.recv_many(&mut Vec::new(), most) == most && rx.try_recv() == Ok(6));
            });
        }
    }
}

#[test]
fn a_selected_send_has_its_room_and_no_more() {
    in_time(|| {
        for free in [1, 2, 4] {
            let (tx, rx) = bounded(4);
            tx.send_all(free..4).unwrap();
            let selected = begin_send(&tx).unwrap();
            // Others take all the rest, also what becomes free.
            elsewhere(|| {
                (1..free).for_each(|n| tx.try_send(10 + n).unwrap());
                assert_eq!(tx.try_send(9), Err(TrySendError::Full(9)));
                assert!(tx.is_full() && begin_send(&tx).is_err());
                if rx.try_recv().is_ok() {
                    tx.send(20).unwrap();
                }
                assert_eq!(tx.local().try_send(9), Err(TrySendError::Full(9)));
            });
            assert_eq!(tx.try_send(9), Err(TrySendError::Full(9)));
            selected.send(&tx, 30).unwrap();
            assert_eq!((rx.len(), tx.try_send(9)), (4, Err(TrySendError::Full(9))));
            assert_eq!(rx.try_iter().last(), Some(30));
            assert!(tx.try_send(1).is_ok() && rx.len() == 1);
        }
    });
}

#[test]
fn operations_selected_by_one_thread_are_completed_in_any_order() {
    in_time(|| {
        let (tx, rx) = bounded(3);
        let [a, b, c] = [(); 3].map(|()| begin_send(&tx).unwrap());
        assert!(begin_send(&tx).is_err());
        assert_eq!((tx.is_full(), rx.try_recv()), (true, Err(TryRecvError::Empty)));
        b.send(&tx, 2).unwrap();
        c.send(&tx, 3).unwrap();
        let [first, second] = [(); 2].map(|()| begin_recv(&rx));
        assert_eq!(tx.try_send(4), Ok(()));
        a.send(&tx, 1).unwrap();
        let third = begin_recv(&rx);
        assert_eq!((second.recv(&rx), first.recv(&rx)), (Ok(3), Ok(2)));
        assert_eq!((third.recv(&rx), rx.try_recv()), (Ok(4), Ok(1)));
    });
}

#[test]
fn a_selected_send_that_is_given_up_gives_its_room_back() {
    in_time(|| {
        let (tx, rx) = bounded::<u64>(1);
        thread::scope(|s| {
            let selected = begin_send(&tx).unwrap();
            // One sleeps in a call, one in a select.
            s.spawn(|| tx.send(1).unwrap());
            s.spawn(|| select! { send(tx, 2) -> sent => sent.unwrap() });
            thread::sleep(MOMENT);
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
            let given_up = catch_unwind(AssertUnwindSafe(|| drop(selected)));
            assert!(given_up.is_err(), "it must be completed");
            assert_eq!(rx.recv().unwrap() + rx.recv().unwrap(), 3);
        });
        // So does a message that panics.
        let panics = || select! { send(tx, fails()) -> _ => {} };
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!((tx.try_send(3), tx.is_full()), (Ok(()), true));
    });
}

/// Room that is reserved is not ready for other threads. They sleep, and wake when it is.
#[test]
fn reserved_room_is_not_ready() {
    in_time(|| {
        let (tx, rx) = bounded(2);
        let selected = begin_send(&tx).unwrap();
        tx.send(1).unwrap();
        elsewhere(|| {
            let mut select = Select::new();
            select.send(&tx);
            assert_eq!(select.ready_timeout(MOMENT), Err(ReadyTimeoutError));
        });
        thread::scope(|s| {
            s.spawn(|| {
                let mut select = Select::new();
                select.send(&tx);
                assert_eq!(select.ready(), 0);
                select.select().send(&tx, 3).unwrap();
            });
            thread::sleep(MOMENT);
            assert_eq!(rx.recv(), Ok(1));
            selected.send(&tx, 2).unwrap();
            assert_eq!(rx.recv().unwrap() + rx.recv().unwrap(), 5);
        });
    });
}

#[test]
fn a_channel_is_closed_while_a_selected_send_waits() {
    in_time(|| {
        let (tx, rx) = bounded(1);
        let selected = begin_send(&tx).unwrap();
        elsewhere(|| rx.close());
        assert_eq!(selected.send(&tx, 1), Err(SendError(1)));
        assert_eq!(rx.recv(), Err(RecvError));
        for (tx, rx) in [bounded(1), unbounded()] {
            let selected = begin_send(&tx).unwrap();
            elsewhere(|| drop(rx));
            assert_eq!(selected.send(&tx, 2), Err(SendError(2)));
        }
        // Of one thread.
        let (tx, rx) = spsc::bounded(1);
        let mut select = Select::new();
        select.send(&tx);
        let selected = select.select();
        assert_eq!(tx.try_send(1), Err(TrySendError::Full(1)));
        selected.send(&tx, 2).unwrap();
        assert_eq!(rx.recv(), Ok(2));
    });
}

#[test]
fn a_selected_receive_has_its_message_and_no_more() {
    in_time(|| {
        for (tx, rx) in [bounded(2), unbounded()] {
            tx.send_all([1, 2]).unwrap();
            let selected = begin_recv(&rx);
            assert_eq!(elsewhere(|| (tx.send(3).is_ok(), rx.recv())), (true, Ok(2)));
            drop(tx);
            assert_eq!(selected.recv(&rx), Ok(1));
            assert_eq!((rx.recv(), rx.recv()), (Ok(3), Err(RecvError)));
        }
    });
}

/// A partner is taken, and others meet.
#[test]
fn others_meet_while_a_selected_operation_has_a_partner() {
    fn meet(tx: &Sender<u64>, rx: &Receiver<u64>) -> u64 {
        thread::scope(|s| {
            s.spawn(|| tx.send(5).unwrap());
            rx.recv().unwrap()
        })
    }
    in_time(|| {
        let (tx, rx) = bounded(0);
        thread::scope(|s| {
            // The partner waits before the select, or comes after it.
            for pause in [MOMENT, Duration::ZERO] {
                let partner = s.spawn(|| rx.recv());
                thread::sleep(pause);
                select! { send(tx, 1 + meet(&tx, &rx)) -> sent => sent.unwrap() }
                assert_eq!(partner.join().unwrap(), Ok(6));
                let partner = s.spawn(|| tx.send(4));
                thread::sleep(pause);
                let selected = begin_recv(&rx);
                assert_eq!(meet(&tx, &rx), 5);
                assert_eq!(selected.recv(&rx), Ok(4));
                partner.join().unwrap().unwrap();
            }
            // A partner of a send that is given up waits on.
            let partner = s.spawn(|| rx.recv());
            let panics = || select! { send(tx, fails()) -> _ => {} };
            assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
            tx.send(8).unwrap();
            assert_eq!(partner.join().unwrap(), Ok(8));
        });
    });
}

#[test]
fn a_task_that_is_the_partner_of_a_selected_send_keeps_no_thread() {
    in_time(|| {
        let (tx, rx) = bounded(0);
        let mut context = Context::from_waker(Waker::noop());
        let mut receive = rx.recv_async();
        assert!(Pin::new(&mut receive).poll(&mut context).is_pending());
        let selected = begin_send(&tx).unwrap();
        assert!(Pin::new(&mut receive).poll(&mut context).is_pending());
        selected.send(&tx, 1).unwrap();
        assert_eq!(Pin::new(&mut receive).poll(&mut context), Poll::Ready(Ok(1)));
    });
}

/// Many threads have selected operations that are not completed: each message comes once, those of a sender in order.
#[test]
fn many_threads_with_selected_operations() {
    const EACH: u64 = 500;
    const SENDERS: u64 = 8;
    for capacity in [0, 1, 3, 64, usize::MAX] {
        let (tx, rx) = if capacity == usize::MAX { unbounded() } else { bounded(capacity) };
        let received = AtomicU64::new(0);
        let receive = |rx: Receiver<u64>| {
            let mut next = [0; SENDERS as usize];
            while let Ok(number) = select! { recv(rx) -> number => number } {
                let (id, n) = ((number / EACH) as usize, number % EACH);
                assert!(n >= next[id], "{n} of sender {id} after {}", next[id]);
                next[id] = n + 1;
                received.fetch_add(number + 1, Ordering::Relaxed);
            }
        };
        let send = |id: u64, tx: Sender<u64>| {
            let mut n = 0;
            while n < EACH {
                let number = id * EACH + n;
                if id < SENDERS / 2 {
                    let wait = || match n % 8 {
                        0 => thread::yield_now(),
                        1 => drop(tx.clone().local()),
                        _ => {}
                    };
                    select! { send(tx, { wait(); number }) -> sent => sent.unwrap() }
                    n += 1;
                } else if let Ok(selected) = begin_send(&tx) {
                    thread::yield_now();
                    selected.send(&tx, number).unwrap();
                    n += 1;
                } else {
                    tx.send(number).unwrap();
                    n += 1;
                }
            }
        };
        thread::scope(|s| {
            for id in 0..SENDERS {
                let (tx, send) = (tx.clone(), &send);
                s.spawn(move || send(id, tx));
            }
            for _ in 0..3 {
                let (rx, receive) = (rx.clone(), &receive);
                s.spawn(move || receive(rx));
            }
            drop((tx, rx));
        });
        let all = SENDERS * EACH;
        assert_eq!(received.into_inner(), all * (all + 1) / 2, "capacity {capacity}");
    }
}
