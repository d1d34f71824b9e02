//! Operations that a select has begun: until they are completed all other calls go on, and when
//! they are given up their room and their messages are for others. One file above 500 lines: all
//! its tests begin operations by the same few calls.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use corelane::channel::{
    ReadyTimeoutError, Receiver, RecvError, Select, SelectedOperation, SendError, Sender,
    TryRecvError, TrySelectError, TrySendError, bounded, select, select_biased, spsc, unbounded,
};

const MOMENT: Duration = Duration::from_millis(15);
/// Rounds of a stress test.
const ROUNDS: u64 = 20_000;

fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// Runs `work` in a thread of its own. Panics if it takes ten seconds.
fn in_time<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, result) = std::sync::mpsc::channel();
    thread::spawn(move || done.send(work()));
    result.recv_timeout(Duration::from_secs(10)).expect("it ends")
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

/// Many threads have selected operations that are not completed: each message comes once, those of
/// a sender in order.
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

/// Drops an operation that is not completed.
fn give_up(selected: SelectedOperation<'_>) {
    // No hook is called, as it would be for the panic of the drop.
    let unwind = || {
        let _selected = selected;
        resume_unwind(Box::new(()));
    };
    catch_unwind(AssertUnwindSafe(unwind)).expect_err("it unwinds");
}

/// A thread has one of two rooms at most: a select always finds the other one.
#[test]
fn reserved_room_that_moves_is_never_all_room() {
    let [(one, _one_rx), (other, _other_rx)] = [(); 2].map(|()| bounded::<u64>(1));
    let is_over = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for tx in [&one, &other] {
                    let _ = begin_send(tx).map(give_up);
                }
            }
        });
        let mut select = Select::new_biased();
        select.send(&one);
        // A look at these takes about as long as the room needs to move.
        let others = [(); 64].map(|()| bounded::<u64>(1));
        others.iter().for_each(|(_, rx)| _ = select.recv(rx));
        select.send(&other);
        let failed = (0..ROUNDS).find(|_| match select.try_select() {
            Ok(selected) => {
                give_up(selected);
                select.try_ready().is_err()
            }
            Err(TrySelectError) => true,
        });
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(failed, None);
    });
}

/// Room that a reservation gives back is for the sleeper that came first.
#[test]
fn room_that_is_given_back_wakes_in_order() {
    let (tx, rx) = bounded(2);
    let both = [(); 2].map(|()| begin_send(&tx).unwrap());
    let woken = [(); 4].map(|()| Arc::new(Woken::default()));
    let mut sends: Vec<_> = (0..4).map(|n| tx.send_async(n)).collect();
    for (send, woken) in sends.iter_mut().zip(&woken) {
        let waker = Waker::from(woken.clone());
        (0..3).for_each(|_| assert!(poll(send, &waker).is_pending()));
    }
    let awake = || woken.each_ref().map(|woken| woken.0.load(Ordering::Relaxed));
    let [a, b] = both;
    assert_eq!(awake(), [false; 4]);
    give_up(a);
    assert_eq!(awake(), [true, false, false, false]);
    give_up(b);
    assert_eq!(awake(), [true, true, false, false]);
    assert!(sends.drain(..2).all(|mut send| poll(&mut send, Waker::noop()).is_ready()));
    assert_eq!((rx.recv().unwrap() + rx.recv().unwrap(), awake()), (1, [true; 4]));
}

/// Senders of all kinds sleep while reservations come, and are completed or given up: each one that
/// can go on does.
#[test]
fn all_that_sleep_go_on_after_reservations() {
    for capacity in [1, 2, 3] {
        in_time(move || {
            let (tx, rx) = bounded::<u64>(capacity);
            let sum = thread::scope(|s| {
                for n in 0..6 {
                    let tx = tx.clone();
                    s.spawn(move || {
                        for i in 0..ROUNDS / 20 {
                            match n {
                                0 => tx.send(1).unwrap(),
                                1 => futures_executor::block_on(tx.send_async(1)).unwrap(),
                                2 => select! { send(tx, 1) -> sent => sent.unwrap() },
                                3 => {
                                    let mut select = Select::new();
                                    select.send(&tx);
                                    select.ready();
                                    tx.send(1).unwrap();
                                }
                                _ => {
                                    let mut select = Select::new();
                                    select.send(&tx);
                                    let selected = select.select();
                                    thread::yield_now();
                                    match i % 3 {
                                        0 => selected.send(&tx, 1).unwrap(),
                                        _ => give_up(selected),
                                    }
                                }
                            }
                        }
                    });
                }
                drop(tx);
                s.spawn(|| {
                    let pause = |n| (n % 7 == 0).then(thread::yield_now);
                    rx.iter().enumerate().map(|(n, one)| (pause(n), one).1).sum::<u64>()
                })
                .join()
            });
            let each = ROUNDS / 20;
            assert_eq!(sum.unwrap(), 4 * each + 2 * each.div_ceil(3));
        });
    }
}

struct Woken(AtomicBool);

impl Default for Woken {
    fn default() -> Self {
        Self(AtomicBool::new(false))
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The partner of a selected send is a task that is dropped: the message is for the next receiver.
#[test]
fn the_partner_of_a_selected_send_is_dropped() {
    in_time(|| {
        let (tx, rx) = bounded(0);
        let begin = || {
            let mut receive = rx.recv_async();
            assert!(poll(&mut receive, Waker::noop()).is_pending());
            let selected = begin_send(&tx).unwrap();
            drop(receive);
            selected
        };
        // Nobody waits.
        begin().send(&tx, 1).unwrap();
        assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(1), Err(TryRecvError::Empty)));
        // Another one waits.
        let selected = begin();
        let mut receive = rx.recv_async();
        assert!(poll(&mut receive, Waker::noop()).is_pending());
        selected.send(&tx, 2).unwrap();
        assert_eq!(poll(&mut receive, Waker::noop()), Poll::Ready(Ok(2)));
        // It is given up.
        give_up(begin());
        assert_eq!(tx.try_send(3), Err(TrySendError::Full(3)));
        // The channel is closed.
        let selected = begin();
        rx.close();
        assert_eq!(selected.send(&tx, 4), Err(SendError(4)));
        assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    });
}

/// A message that a select has received in a rendezvous, and that is given up, is for the next
/// receiver.
#[test]
fn a_selected_receive_that_is_given_up_gives_its_message_back() {
    let (tx, rx) = bounded(0);
    let mut send = tx.send_async(1);
    assert!(poll(&mut send, Waker::noop()).is_pending());
    give_up(begin_recv(&rx));
    assert_eq!(poll(&mut send, Waker::noop()), Poll::Ready(Ok(())));
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(1), Err(TryRecvError::Empty)));
}
