//! Operations that a select has begun, and that are given up: their room and their messages are for others.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use corelane::channel::{
    Receiver, Select, SelectedOperation, SendError, Sender, TryRecvError, TrySelectError,
    TrySendError, bounded, select,
};

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

/// Senders of all kinds sleep while reservations come, and are completed or given up: each one that can go on does.
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

/// A message that a select has received in a rendezvous, and that is given up, is for the next receiver.
#[test]
fn a_selected_receive_that_is_given_up_gives_its_message_back() {
    let (tx, rx) = bounded(0);
    let mut send = tx.send_async(1);
    assert!(poll(&mut send, Waker::noop()).is_pending());
    give_up(begin_recv(&rx));
    assert_eq!(poll(&mut send, Waker::noop()), Poll::Ready(Ok(())));
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(1), Err(TryRecvError::Empty)));
}
