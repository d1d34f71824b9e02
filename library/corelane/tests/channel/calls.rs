// Above 500 lines: a short function for each promise.

//! What single calls promise.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use corelane::channel::{
    Access, Exclusive, Receiver, RecvError, RecvTimeoutError, SendError, SendTimeoutError, Sender,
    TryRecvError, TrySendError, bounded, mpsc, never, spmc, spsc, unbounded,
};

const MOMENT: Duration = Duration::from_millis(15);

/// A message that counts where it ends.
#[derive(Debug, Clone)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new() -> (Self, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        (Self(count.clone()), count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn errors_have_crossbeams_texts() {
    let shown = [
        (SendError(0).to_string(), "sending on a disconnected channel"),
        (TrySendError::Full(0).to_string(), "sending on a full channel"),
        (TrySendError::Disconnected(0).to_string(), "sending on a disconnected channel"),
        (SendTimeoutError::Timeout(0).to_string(), "timed out waiting on send operation"),
        (SendTimeoutError::Disconnected(0).to_string(), "sending on a disconnected channel"),
        (RecvError.to_string(), "receiving on an empty and disconnected channel"),
        (TryRecvError::Empty.to_string(), "receiving on an empty channel"),
        (TryRecvError::Disconnected.to_string(), "receiving on an empty and disconnected channel"),
        (RecvTimeoutError::Timeout.to_string(), "timed out waiting on receive operation"),
        (RecvTimeoutError::Disconnected.to_string(), "channel is empty and disconnected"),
    ];
    shown.iter().for_each(|(text, expected)| assert_eq!(text, expected));

    struct Opaque; // needs no `Debug`
    assert_eq!(format!("{:?}", SendError(Opaque)), "SendError(..)");
    assert_eq!(format!("{:?}", TrySendError::Full(Opaque)), "Full(..)");
    assert_eq!(format!("{:?}", TrySendError::Disconnected(Opaque)), "Disconnected(..)");
    assert_eq!(format!("{:?}", SendTimeoutError::Timeout(Opaque)), "SendTimeoutError(..)");
}

#[test]
fn errors_tell_why_and_give_the_message_back() {
    assert_eq!(SendError(7).into_inner(), 7);
    let (full, gone) = (TrySendError::Full(7), TrySendError::from(SendError(8)));
    assert!(full.is_full() && !full.is_disconnected() && gone.is_disconnected());
    assert_eq!((full.into_inner(), gone.into_inner()), (7, 8));
    let (late, gone) = (SendTimeoutError::Timeout(7), SendTimeoutError::from(SendError(8)));
    assert!(late.is_timeout() && !late.is_disconnected() && gone.is_disconnected());
    assert_eq!((late.into_inner(), gone.into_inner()), (7, 8));
    assert!(TryRecvError::Empty.is_empty() && TryRecvError::from(RecvError).is_disconnected());
    assert!(RecvTimeoutError::Timeout.is_timeout());
    assert!(RecvTimeoutError::from(RecvError).is_disconnected());
    let boxed: Box<dyn std::error::Error + Send + Sync> = Box::new(TrySendError::Full(7));
    assert_eq!(boxed.to_string(), "sending on a full channel");
}

/// Fills and empties the channel several times, at different places of its ring.
fn holds_exactly<S: Access, R: Access>(
    (tx, rx): (Sender<usize, S>, Receiver<usize, R>),
    capacity: usize,
) {
    assert_eq!((tx.capacity(), rx.capacity()), (Some(capacity), Some(capacity)));
    for round in 0..3 {
        for n in 0..capacity {
            assert!(!tx.is_full() && !rx.is_full());
            assert_eq!((tx.len(), rx.len()), (n, n));
            tx.send(n).unwrap();
        }
        assert!(tx.is_full() && rx.is_full() && !tx.is_empty());
        assert_eq!(tx.try_send(99), Err(TrySendError::Full(99)), "capacity {capacity}");
        assert_eq!(rx.recv(), Ok(0));
        assert_eq!(tx.try_send(capacity), Ok(()), "one place is free after one message");
        assert_eq!(tx.try_send(99), Err(TrySendError::Full(99)), "round {round}");
        assert!(rx.try_iter().eq(1..=capacity));
        assert!(tx.is_empty() && rx.is_empty());
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        tx.send(0).unwrap(); // the next round begins elsewhere
        assert_eq!(rx.recv(), Ok(0));
    }
}

#[test]
fn capacity_is_exact() {
    for capacity in [1, 2, 3, 7, 64, 1000] {
        holds_exactly(bounded(capacity), capacity);
        holds_exactly(spsc::bounded(capacity), capacity);
        holds_exactly(mpsc::bounded(capacity), capacity);
        holds_exactly(spmc::bounded(capacity), capacity);
    }
}

#[test]
fn an_unbounded_channel_is_never_full() {
    fn check<S: Access, R: Access>((tx, rx): (Sender<usize, S>, Receiver<usize, R>)) {
        assert_eq!((tx.capacity(), rx.capacity()), (None, None));
        assert_eq!(tx.send_all(0..10_000), Ok(()));
        assert!(!tx.is_full() && !rx.is_full());
        assert_eq!((tx.len(), rx.len()), (10_000, 10_000));
        drop(tx);
        assert!(rx.into_iter().eq(0..10_000));
    }
    check(unbounded());
    check(spsc::unbounded());
    check(mpsc::unbounded());
    check(spmc::unbounded());
    let (tx, rx) = unbounded::<()>();
    tx.send_all([(); 5000]).unwrap();
    assert_eq!((rx.len(), rx.try_iter().count()), (5000, 5000), "messages without a size");
}

#[test]
fn when_all_senders_are_gone_receivers_get_the_rest() {
    for (tx, rx) in [bounded(4), unbounded()] {
        let other = tx.clone();
        tx.send(1).unwrap();
        drop(tx);
        assert!(!rx.is_closed());
        other.send(2).unwrap();
        drop(other);
        assert!(rx.is_closed());
        assert_eq!((rx.recv(), rx.try_recv(), rx.recv()), (Ok(1), Ok(2), Err(RecvError)));
        assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
        assert_eq!(rx.recv_timeout(MOMENT), Err(RecvTimeoutError::Disconnected));
    }
}

#[test]
fn when_all_receivers_are_gone_a_send_gives_the_message_back() {
    for (tx, rx) in [bounded(4), unbounded(), bounded(0)] {
        drop((rx.clone(), rx));
        assert!(tx.is_closed());
        assert_eq!(tx.send(1), Err(SendError(1)));
        assert_eq!(tx.try_send(2), Err(TrySendError::Disconnected(2)));
        assert_eq!(tx.send_timeout(3, MOMENT), Err(SendTimeoutError::Disconnected(3)));
        let mut rest = 4..9;
        assert_eq!(tx.send_all(rest.by_ref()), Err(SendError(4)));
        assert_eq!(rest, 5..9, "the other messages are still in the iterator");
    }
}

#[test]
fn the_end_of_the_other_side_wakes_threads() {
    for capacity in [0, 1] {
        let (tx, rx) = bounded(capacity);
        (0..capacity).for_each(|n| tx.send(n).unwrap());
        let senders = [7, 8].map(|n| {
            let tx = tx.clone();
            thread::spawn(move || tx.send(n))
        });
        thread::sleep(MOMENT);
        drop(rx);
        assert_eq!(senders.map(|s| s.join().unwrap()), [Err(SendError(7)), Err(SendError(8))]);

        let (tx, rx) = bounded::<u8>(capacity);
        let receivers = [rx.clone(), rx].map(|rx| thread::spawn(move || rx.recv()));
        thread::sleep(MOMENT);
        drop(tx);
        receivers.into_iter().for_each(|r| assert_eq!(r.join().unwrap(), Err(RecvError)));
    }
}

#[test]
fn either_side_can_close() {
    for from_sender in [true, false] {
        for (tx, rx) in [bounded(2), unbounded()] {
            tx.send(1).unwrap();
            if from_sender {
                tx.close()
            } else {
                rx.close()
            }
            assert!(tx.is_closed() && rx.is_closed());
            assert_eq!(tx.clone().send(2), Err(SendError(2)));
            assert_eq!((rx.recv(), rx.recv()), (Ok(1), Err(RecvError)));
            tx.close(); // again
        }
        let (tx, rx) = bounded::<u8>(0);
        let (other, waiting) = (rx.clone(), thread::spawn(move || rx.recv()));
        thread::sleep(MOMENT);
        if from_sender {
            tx.close()
        } else {
            other.close()
        }
        assert_eq!(waiting.join().unwrap(), Err(RecvError));
        assert_eq!(tx.send(2), Err(SendError(2)));
    }
}

#[test]
fn the_last_receiver_drops_all_messages() {
    for (tx, rx) in [bounded(64), unbounded()] {
        let (message, count) = Counted::new();
        tx.send_all(vec![message; 50]).unwrap();
        drop(rx.iter().take(10).collect::<Vec<_>>());
        drop(rx);
        assert_eq!(count.load(Ordering::SeqCst), 50, "although there is a sender");
        drop(tx);
        assert_eq!(count.load(Ordering::SeqCst), 50);
    }
    let (tx, rx) = bounded(64);
    let (message, count) = Counted::new();
    tx.send_all(vec![message; 50]).unwrap();
    drop((tx, rx));
    assert_eq!(count.load(Ordering::SeqCst), 50, "dropped with the channel");
}

/// A client waits for its answer, and the server ends without a look at the request.
#[test]
fn a_request_that_nobody_reads_disconnects_its_reply() {
    let (requests, server) = bounded::<Sender<u8>>(8);
    let (reply, answer) = bounded(1);
    requests.send(reply).unwrap();
    let client = thread::spawn(move || answer.recv());
    thread::sleep(MOMENT);
    drop(server);
    assert_eq!(client.join().unwrap(), Err(RecvError));

    // Messages that own a sender of their own channel.
    struct Own(#[expect(dead_code, reason = "is dropped")] Sender<Own>);
    for (tx, rx) in [bounded(8), unbounded()] {
        tx.send(Own(tx.clone())).unwrap();
        tx.send(Own(tx.clone())).unwrap();
        drop(tx);
        drop(rx);
    }
}

#[test]
fn a_destructor_may_panic() {
    struct Bad(#[expect(dead_code, reason = "is dropped")] Counted, bool);
    impl Drop for Bad {
        fn drop(&mut self) {
            assert!(!self.1, "as the test wants");
        }
    }
    for (tx, rx) in [bounded(8), unbounded()] {
        let (message, count) = Counted::new();
        tx.send_all([false, true, false].map(|bad| Bad(message.clone(), bad))).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(move || drop(rx))).is_err());
        assert!(tx.send(Bad(message, false)).is_err(), "the channel is disconnected");
        drop(tx);
        assert_eq!(count.load(Ordering::SeqCst), 4, "each message is dropped once");
    }
}

/// Two messages whose destructors panic: when the last receiver goes, when both sides are gone, and
/// while the thread unwinds.
#[test]
fn drop_panics_mid_batch() {
    struct Bad(#[expect(dead_code, reason = "is dropped")] Counted, &'static str);
    impl Drop for Bad {
        fn drop(&mut self) {
            if !self.1.is_empty() {
                panic_any(self.1);
            }
        }
    }
    let panic_of = |call: &mut dyn FnMut()| {
        let panic = catch_unwind(AssertUnwindSafe(call)).expect_err("it panics");
        *panic.downcast::<&str>().expect("a text")
    };
    for (has_sender, is_bounded) in [(true, true), (true, false), (false, true), (false, false)] {
        let channel = || {
            let (tx, rx) = if is_bounded { bounded(2000) } else { unbounded() };
            let (message, count) = Counted::new();
            // More than the first ring of an unbounded channel has.
            let texts = ["", "first", "", "second", ""].into_iter().chain([""; 1000]);
            tx.send_all(texts.chain(["third"]).map(|text| Bad(message.clone(), text))).unwrap();
            (has_sender.then_some(tx), Some(rx), count)
        };
        let (tx, mut rx, count) = channel();
        assert_eq!(panic_of(&mut || drop(rx.take())), "first");
        assert_eq!(count.load(Ordering::SeqCst), 1007, "although there may be a sender");
        drop(tx);
        assert_eq!(count.load(Ordering::SeqCst), 1007);

        let (_tx, mut rx, count) = channel();
        let unwinds = panic_of(&mut || {
            let _rx = rx.take();
            panic_any("mine");
        });
        assert_eq!((unwinds, count.load(Ordering::SeqCst)), ("mine", 1007));
    }
}

/// Two messages that were left in a rendezvous, whose destructors panic.
#[test]
fn drop_panics_of_messages_that_are_left() {
    struct Bad(&'static str);
    impl Drop for Bad {
        fn drop(&mut self) {
            panic_any(self.0);
        }
    }
    for is_closed_first in [false, true] {
        let (tx, rx) = bounded(0);
        let mut receives = [rx.recv_async(), rx.recv_async()];
        for receive in &mut receives {
            let mut context = Context::from_waker(Waker::noop());
            assert!(Pin::new(receive).poll(&mut context).is_pending());
        }
        for text in ["first", "second"] {
            assert!(tx.try_send(Bad(text)).is_ok(), "a receiver waits");
        }
        drop(receives);
        let end = move || match is_closed_first {
            true => (drop(tx), drop(rx)),
            false => (drop(rx), drop(tx)),
        };
        let panic = catch_unwind(AssertUnwindSafe(end)).expect_err("it panics");
        assert_eq!(panic.downcast_ref(), Some(&"first"));
    }
}

#[test]
fn local_handles_are_of_the_same_channel() {
    let (tx, rx) = bounded(4);
    let (local_tx, local_rx): (Sender<u8, Exclusive>, Receiver<u8, Exclusive>) =
        (tx.local(), rx.local());
    assert!(local_tx.same_channel(&tx) && rx.same_channel(&local_rx));
    local_tx.send(1).unwrap();
    tx.send(2).unwrap();
    drop((tx, rx));
    assert_eq!((local_rx.recv(), local_rx.recv()), (Ok(1), Ok(2)), "they count as handles");
    drop(local_tx);
    assert_eq!(local_rx.recv(), Err(RecvError));
}

#[test]
fn same_channel_knows_clones() {
    let ((tx, rx), (other_tx, other_rx)) = (bounded::<u8>(1), bounded::<u8>(1));
    assert!(tx.same_channel(&tx.clone()) && rx.same_channel(&rx.clone()));
    assert!(!tx.same_channel(&other_tx) && !rx.same_channel(&other_rx));
    assert!(never::<u8>().same_channel(&never()) && !never().same_channel(&rx));
    assert_eq!(format!("{tx:?} {rx:?}"), "Sender { .. } Receiver { .. }");
}

#[test]
fn iterators() {
    let (tx, rx) = unbounded();
    tx.send_all(0..4).unwrap();
    assert!(rx.try_iter().eq(0..4), "ends when the channel is empty");
    let sender = thread::spawn(move || {
        for n in 0..4 {
            thread::sleep(MOMENT / 4);
            tx.send(n).unwrap();
        }
    });
    assert!(rx.iter().take(2).eq(0..2), "waits");
    let mut rest = Vec::new();
    for n in &rx {
        rest.push(n);
    }
    assert_eq!(rest, [2, 3], "ends with the senders");
    assert_eq!((rx.iter().next(), rx.try_iter().next(), rx.into_iter().next()), (None, None, None));
    sender.join().unwrap();
}

/// The most messages that one of the calls took from five senders that wait for a receiver.
fn most_of_waiting_senders() -> usize {
    let (tx, rx) = bounded(0);
    thread::scope(|s| {
        let tx = &tx;
        (0..5).for_each(|n| drop(s.spawn(move || tx.send(n))));
        let (mut messages, mut most) = (Vec::new(), 0);
        while messages.len() < 5 {
            thread::sleep(Duration::from_millis(5));
            most = most.max(rx.recv_many(&mut messages, 5));
        }
        messages.sort_unstable();
        assert_eq!(messages, [0, 1, 2, 3, 4]);
        most
    })
}

#[test]
fn many_messages_of_waiting_senders_in_one_call() {
    assert!((0..1000).any(|_| most_of_waiting_senders() > 1));
}

#[test]
#[should_panic(expected = "at most 65536 users")]
fn more_local_handles_than_there_may_be() {
    let (tx, _rx) = bounded::<u8>(1);
    let _all: Vec<_> = (0..1 << 16).map(|_| tx.local()).collect();
}

#[test]
fn many_messages_in_one_call() {
    let (tx, rx) = bounded(10);
    let sender = thread::spawn(move || tx.send_all(0..1000));
    let mut messages = Vec::new();
    assert_eq!(rx.recv_many(&mut messages, 0), 0);
    loop {
        let before = messages.len();
        let received = rx.recv_many(&mut messages, 7);
        assert!(received <= 7 && messages.len() == before + received);
        if received == 0 {
            break;
        }
    }
    assert!(messages.into_iter().eq(0..1000));
    assert_eq!(sender.join().unwrap(), Ok(()));

    let (tx, rx) = unbounded();
    tx.send_all(0..5).unwrap();
    let drain = rx.drain();
    tx.send(5).unwrap();
    assert!(drain.eq(0..5), "what was there at the call");
    assert_eq!(rx.try_recv(), Ok(5));
}

#[test]
fn waits_end_in_time() {
    for capacity in [0, 1] {
        let (tx, rx) = bounded(capacity);
        let begin = Instant::now();
        assert_eq!(rx.recv_timeout(MOMENT), Err(RecvTimeoutError::Timeout));
        assert_eq!(rx.recv_deadline(begin + 2 * MOMENT), Err(RecvTimeoutError::Timeout));
        assert!(begin.elapsed() >= 2 * MOMENT);
        (0..capacity).for_each(|_| tx.send(1).unwrap());
        assert_eq!(tx.send_timeout(7, MOMENT), Err(SendTimeoutError::Timeout(7)));
        assert_eq!(tx.send_deadline(8, begin + 4 * MOMENT), Err(SendTimeoutError::Timeout(8)));
        assert!(begin.elapsed() >= 4 * MOMENT);
        assert_eq!(tx.send_timeout(9, Duration::ZERO), Err(SendTimeoutError::Timeout(9)));
        assert_eq!(tx.send_deadline(9, begin), Err(SendTimeoutError::Timeout(9)));
        if capacity == 1 {
            assert_eq!(rx.recv_timeout(Duration::ZERO), Ok(1));
            assert_eq!(tx.send_timeout(2, Duration::ZERO), Ok(()));
            assert_eq!(rx.recv_deadline(begin), Ok(2), "a message that is there is not late");
        }
        assert_eq!(rx.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
        let sender = thread::spawn(move || {
            thread::sleep(MOMENT);
            tx.send_timeout(3, Duration::MAX)
        });
        assert_eq!(rx.recv_timeout(Duration::MAX), Ok(3), "a time that never ends");
        assert_eq!(sender.join().unwrap(), Ok(()));
    }
}

#[test]
fn a_rendezvous_waits_for_its_partner() {
    let (tx, rx) = bounded(0);
    assert_eq!((tx.capacity(), tx.len(), rx.len()), (Some(0), 0, 0));
    assert!(tx.is_full() && rx.is_full() && tx.is_empty() && rx.is_empty());
    assert_eq!(tx.try_send(1), Err(TrySendError::Full(1)));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    let begin = Instant::now();
    thread::scope(|s| {
        s.spawn(|| {
            tx.send(2).unwrap();
            assert!(begin.elapsed() >= MOMENT, "not before the receiver is there");
        });
        thread::sleep(MOMENT);
        assert_eq!(rx.recv(), Ok(2));
    });
    thread::scope(|s| {
        let receiver = s.spawn(|| rx.recv());
        while tx.try_send(3).is_err() {
            thread::yield_now();
        }
        assert_eq!(receiver.join().unwrap(), Ok(3));
        let sender = s.spawn(|| tx.send(4));
        while rx.try_recv() != Ok(4) {
            thread::yield_now();
        }
        assert_eq!(sender.join().unwrap(), Ok(()));
    });
}

#[test]
fn messages_that_stay_on_their_thread() {
    for (tx, rx) in [bounded(2), unbounded()] {
        let message = Rc::new(5);
        tx.send(message.clone()).unwrap();
        tx.send(message.clone()).unwrap();
        assert_eq!(rx.recv().as_deref(), Ok(&5));
        assert_eq!(Rc::strong_count(&message), 2);
        drop((tx, rx));
        assert_eq!(Rc::strong_count(&message), 1);
    }
    let text = String::from("here");
    let (tx, rx) = bounded(2); // messages that borrow
    tx.send(text.as_str()).unwrap();
    assert_eq!(rx.recv(), Ok("here"));
}

/// A generator that goes on when its last number was taken.
#[test]
fn a_generator_ends_with_its_receiver() {
    let (tx, rx) = bounded(0);
    let generator = thread::spawn(move || {
        let (mut a, mut b) = (0_u64, 1);
        while tx.send(a).is_ok() {
            (a, b) = (b, a + b);
        }
        a
    });
    assert!(rx.iter().take(10).eq([0, 1, 1, 2, 3, 5, 8, 13, 21, 34]));
    drop(rx);
    assert_eq!(generator.join().unwrap(), 55, "one number was offered in vain");
}
