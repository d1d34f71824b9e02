//! Wakers that do more than to wake, and futures that are dropped when something was for them.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use std::{slice, thread};

use corelane::channel::{
    Receiver, RecvError, RecvFuture, Select, Sender, TryRecvError, after, bounded, oneshot, select,
    unbounded,
};
use corelane::wait::Inbox;
use corelane::{mpmc, wait};

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

/// What a call has panicked with.
fn panic_of(call: impl FnOnce()) -> Option<&'static str> {
    let panic = catch_unwind(AssertUnwindSafe(call)).err()?;
    panic.downcast_ref().copied()
}

/// Panics with its text.
struct Says(&'static str);

impl Wake for Says {
    fn wake(self: Arc<Self>) {
        std::panic::panic_any(self.0);
    }
}

/// The wakers of five sleepers, of which the second and the fourth panic, and how often the others
/// were woken.
fn five_wakers() -> (Vec<Waker>, Arc<Woken>) {
    let woken = Arc::new(Woken::default());
    let wakers = ["", "first", "", "second", ""].map(|text| match text {
        "" => woken.clone().into(),
        text => Arc::new(Says(text)).into(),
    });
    (wakers.to_vec(), woken)
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Woken {
    fn times(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// Polls until each future sleeps: before it does so, it may look again.
fn fall_asleep<F: Future + Unpin>(futures: &mut [F], wakers: &[Waker]) {
    for (future, waker) in futures.iter_mut().zip(wakers) {
        (0..3).for_each(|_| assert!(poll(future, waker).is_pending()));
    }
}

#[test]
fn panicking_waker() {
    for capacity in [0, 1] {
        let (wakers, woken) = five_wakers();
        let (tx, rx) = bounded::<u8>(capacity);
        let mut receives: Vec<_> = wakers.iter().map(|_| rx.recv_async()).collect();
        fall_asleep(&mut receives, &wakers);
        woken.times();
        assert_eq!(panic_of(|| drop(tx)), Some("first"), "of the last sender's drop");
        assert_eq!(woken.times(), 3, "receivers");

        let (tx, rx) = bounded(capacity);
        (0..capacity).for_each(|_| tx.send(0).unwrap());
        let mut sends: Vec<_> = wakers.iter().map(|_| tx.send_async(1)).collect();
        fall_asleep(&mut sends, &wakers);
        woken.times();
        assert_eq!(panic_of(|| drop(rx)), Some("first"), "of the last receiver's drop");
        assert_eq!(woken.times(), 3, "senders");

        // Both bells, by a call of its own.
        let (tx, rx) = bounded::<u8>(capacity);
        let mut receives: Vec<_> = wakers.iter().map(|_| rx.recv_async()).collect();
        fall_asleep(&mut receives, &wakers);
        woken.times();
        assert_eq!(panic_of(|| rx.close()), Some("first"));
        assert_eq!(woken.times(), 3, "receivers");
        drop((receives, tx));
    }
}

/// Those that have not met a partner yet are woken by each arrival.
#[test]
fn panicking_waker_of_a_select() {
    let (wakers, woken) = five_wakers();
    let (tx, rx) = bounded::<u8>(0);
    let mut selects: Vec<_> = wakers.iter().map(|_| Select::new()).collect();
    selects.iter_mut().for_each(|select| _ = select.recv(&rx));
    let mut ready: Vec<_> =
        selects.iter_mut().map(|select| Box::pin(select.ready_async())).collect();
    fall_asleep(&mut ready, &wakers);
    woken.times();
    let sent = || _ = tx.send_timeout(1, Duration::from_secs(5));
    assert_eq!(panic_of(sent), Some("first"));
    assert_eq!(woken.times(), 3);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty), "the sender waits no more");

    // A select that waits at two rendezvous, of which the second panics.
    let (other_tx, other_rx) = bounded::<u8>(0);
    fall_asleep(&mut ready, &wakers);
    let mut both = Select::new_biased();
    both.send(&other_tx);
    both.send(&tx);
    let select = || _ = both.select_timeout(Duration::from_secs(5));
    assert_eq!(panic_of(select), Some("first"));
    in_time(move || assert_eq!(other_rx.try_recv(), Err(TryRecvError::Empty)));
}

/// One ring for many.
#[test]
fn panicking_waker_of_many_items() {
    let (wakers, woken) = five_wakers();
    let (mut tx, rx) = wait::pair(mpmc::queue::<u8>(8).unwrap());
    let mut handles: Vec<_> = wakers.iter().map(|_| rx.clone()).collect();
    let mut pops: Vec<_> = handles.iter_mut().map(|rx| rx.pop_async()).collect();
    fall_asleep(&mut pops, &wakers);
    woken.times();
    assert_eq!(panic_of(|| _ = tx.push_slice(&[0; 5])), Some("first"));
    assert_eq!(woken.times(), 3);
}

/// A thread that unwinds drops handles and futures whose waiting partners have wakers that panic.
#[test]
fn panicking_waker_while_unwinding() {
    let waker = Waker::from(Arc::new(Panics));
    let unwind = |held: Box<dyn FnOnce() + '_>| {
        struct Held<'a>(Option<Box<dyn FnOnce() + 'a>>);
        impl Drop for Held<'_> {
            fn drop(&mut self) {
                (self.0.take().unwrap())();
            }
        }
        let _held = Held(Some(held));
        std::panic::panic_any("mine");
    };
    for capacity in [0, 1] {
        let (tx, rx) = bounded::<u8>(capacity);
        let mut receive = rx.recv_async();
        fall_asleep(slice::from_mut(&mut receive), slice::from_ref(&waker));
        assert_eq!(panic_of(|| unwind(Box::new(|| drop(tx)))), Some("mine"));

        let (tx, rx) = bounded(capacity);
        (0..capacity).for_each(|_| tx.send(0).unwrap());
        let mut send = tx.send_async(1);
        fall_asleep(slice::from_mut(&mut send), slice::from_ref(&waker));
        assert_eq!(panic_of(|| unwind(Box::new(|| drop(rx)))), Some("mine"));
    }
    for sleeps in [false, true] {
        // A future that gives its message up, for one whose waker panics.
        let (tx, rx) = bounded(usize::from(sleeps));
        let mut receives = [rx.recv_async(), rx.recv_async()];
        fall_asleep(&mut receives, &[Waker::noop().clone(), waker.clone()]);
        tx.try_send(1).expect("there is room, or a receiver");
        let [first, _second] = receives;
        assert_eq!(panic_of(|| unwind(Box::new(|| drop(first)))), Some("mine"));
    }
    let (tx, mut rx) = oneshot::<u8>();
    assert!(poll(&mut rx, &waker).is_pending());
    assert_eq!(panic_of(|| unwind(Box::new(|| drop(tx)))), Some("mine"));
}

/// A sender that waits for a partner has a waker that panics: its message is for the next receiver.
#[test]
fn panicking_waker_of_a_sender_that_meets_a_receiver() {
    let waker = Waker::from(Arc::new(Says("first")));
    type Way = fn(&Receiver<u8>);
    let ways: [Way; 5] = [
        |rx| _ = rx.recv(),
        |rx| _ = rx.try_recv(),
        |rx| _ = rx.recv_timeout(Duration::from_secs(5)),
        |rx| _ = poll(&mut rx.recv_async(), Waker::noop()),
        |rx| select! { recv(rx) -> _ => {} },
    ];
    for way in ways {
        let (tx, rx) = bounded(0);
        let mut send = tx.send_async(1);
        assert!(poll(&mut send, &waker).is_pending());
        assert_eq!(panic_of(|| way(&rx)), Some("first"));
        assert!(poll(&mut send, Waker::noop()).is_ready());
        assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(1), Err(TryRecvError::Empty)));
    }
    // Another receiver waits already.
    let (tx, rx) = bounded(0);
    let mut send = tx.send_async(2);
    assert!(poll(&mut send, &waker).is_pending());
    let woken = Arc::new(Woken::default());
    assert_eq!(panic_of(|| _ = rx.try_recv()), Some("first"));
    let mut receive = rx.recv_async();
    assert_eq!(poll(&mut receive, &woken.into()), Poll::Ready(Ok(2)));
}

/// Sends when it is woken, to a select that has announced itself already, and panics.
struct SendsAndPanics(Sender<u8>);

impl Wake for SendsAndPanics {
    fn wake(self: Arc<Self>) {
        self.0.try_send(1).expect("a select waits");
        std::panic::panic_any("after a message");
    }
}

/// A select is chosen by a partner, and then a waker panics: the message is for the next receiver.
#[test]
fn panicking_waker_of_a_select_that_was_chosen() {
    let (tx, rx) = bounded::<u8>(0);
    let waker = Waker::from(Arc::new(SendsAndPanics(tx.clone())));
    let mut watch = Select::new();
    watch.send(&tx);
    let mut ready = Box::pin(watch.ready_async());
    fall_asleep(slice::from_mut(&mut ready), slice::from_ref(&waker));
    let receive = || select! { recv(rx) -> _ => {}, default(Duration::from_secs(5)) => {} };
    assert_eq!(panic_of(receive), Some("after a message"));
    in_time(move || assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(1), Err(TryRecvError::Empty))));
}

/// A message that was taken from a queue reaches the caller, although the waker of a sender panics.
#[test]
fn panicking_waker_of_a_sender_that_waits_for_room() {
    let waker = Waker::from(Arc::new(Panics));
    type Way = fn(&Receiver<u8>) -> u8;
    let ways: [Way; 7] = [
        |rx| rx.recv().unwrap(),
        |rx| rx.try_recv().unwrap(),
        |rx| rx.recv_timeout(Duration::from_secs(5)).unwrap(),
        |rx| rx.drain().next().unwrap(),
        |rx| rx.local().recv().unwrap(),
        |rx| select! { recv(rx) -> message => message.unwrap() },
        |rx| match poll(&mut rx.recv_async(), Waker::noop()) {
            Poll::Ready(message) => message.unwrap(),
            Poll::Pending => panic!("there is one"),
        },
    ];
    for way in ways {
        let (tx, rx) = bounded(1);
        tx.send(1).unwrap();
        let mut send = tx.send_async(2);
        fall_asleep(slice::from_mut(&mut send), slice::from_ref(&waker));
        assert_eq!(way(&rx), 1);
        assert_eq!(poll(&mut send, Waker::noop()), Poll::Ready(Ok(())));
        assert_eq!(rx.try_recv(), Ok(2));
    }
}

/// A waker whose destructor calls.
struct AtDrop(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl AtDrop {
    fn waker(call: impl FnOnce() + Send + 'static) -> Waker {
        Arc::new(Self(Mutex::new(Some(Box::new(call))))).into()
    }
}

impl Wake for AtDrop {
    fn wake(self: Arc<Self>) {}
}

impl Drop for AtDrop {
    fn drop(&mut self) {
        self.0.get_mut().unwrap().take().unwrap()();
    }
}

/// A receiver is rung for while it looks, so it passes the ring on, to one whose waker panics.
#[test]
fn panicking_waker_of_the_next_receiver() {
    let (tx, rx) = bounded(4);
    let mut receives = [rx.recv_async(), rx.recv_async()];
    let other_tx = tx.clone();
    let sends = AtDrop::waker(move || other_tx.send(1).unwrap());
    fall_asleep(&mut receives, &[sends, Waker::from(Arc::new(Panics))]);
    let [first, _second] = &mut receives;
    assert_eq!(poll(first, Waker::noop()), Poll::Ready(Ok(1)));
}

/// As that of a channel, of a pair that waits.
#[test]
fn panicking_waker_of_a_producer_that_waits_for_room() {
    let waker = Waker::from(Arc::new(Panics));
    type Way = fn(&mut wait::Consumer<mpmc::Consumer<u8>>) -> u8;
    let ways: [Way; 6] = [
        |rx| rx.pop().unwrap(),
        |rx| rx.try_pop().unwrap(),
        |rx| rx.pop_timeout(Duration::from_secs(5)).unwrap(),
        |rx| match poll(&mut rx.pop_async(), Waker::noop()) {
            Poll::Ready(item) => item.unwrap(),
            Poll::Pending => panic!("there is one"),
        },
        |rx| {
            let mut items = [9];
            assert_eq!(rx.pop_slice(&mut items), 1);
            items[0]
        },
        |rx| {
            let mut items = Vec::new();
            assert_eq!(rx.pop_many(&mut items, 1), 1);
            items[0]
        },
    ];
    for way in ways {
        let (mut tx, mut rx) = wait::pair(mpmc::queue(4).unwrap());
        let full = (0..).find(|n| tx.try_push(*n).is_err()).unwrap();
        let mut push = tx.push_async(full);
        fall_asleep(slice::from_mut(&mut push), slice::from_ref(&waker));
        assert_eq!(way(&mut rx), 0);
        drop(push);
        assert_eq!(rx.try_pop(), Ok(1));
    }
    let mut inbox = Inbox::new();
    let mut tx = inbox.add(mpmc::queue(4).unwrap());
    let full = (0..).find(|n| tx.try_push(*n).is_err()).unwrap();
    let mut push = tx.push_async(full);
    fall_asleep(slice::from_mut(&mut push), slice::from_ref(&waker));
    assert_eq!((inbox.pop(), inbox.pop()), (Some(0), Some(1)));
}

/// A producer that has waited passes a ring on, to one whose waker panics: the consumer is woken
/// for its item.
#[cfg(feature = "literature")]
#[test]
fn panicking_waker_of_the_next_producer() {
    let (mut tx, rx) = wait::pair(corelane::ring::queue(1).unwrap());
    let mut other_tx = tx.clone();
    assert_eq!((tx.try_push(1), tx.is_full()), (Ok(()), true));
    let rx = Box::leak(Box::new(rx));
    let (woken, sleeps) = (Arc::new(Woken::default()), Arc::new(Mutex::new(None)));
    let (consumer, keep) = (woken.clone().into(), sleeps.clone());
    let pops = AtDrop::waker(move || {
        assert_eq!(rx.try_pop(), Ok(1));
        let mut pop = rx.pop_async();
        fall_asleep(slice::from_mut(&mut pop), slice::from_ref(&consumer));
        *keep.lock().unwrap() = Some(pop);
    });
    let mut pushes = [tx.push_async(2), other_tx.push_async(3)];
    fall_asleep(&mut pushes, &[pops, Waker::from(Arc::new(Panics))]);
    let [first, _second] = &mut pushes;
    let pushed = catch_unwind(AssertUnwindSafe(|| poll(first, Waker::noop())));
    assert!(pushed.is_err() || pushed.is_ok_and(|pushed| pushed == Poll::Ready(Ok(()))));
    assert_eq!(woken.times(), 1, "the consumer");
    let mut pop = sleeps.lock().unwrap().take().unwrap();
    assert_eq!(poll(&mut pop, Waker::noop()), Poll::Ready(Some(2)));
}

/// A send whose poll has panicked has sent its message, and is polled again.
#[test]
fn a_send_that_has_panicked_sends_nothing_more() {
    let (tx, rx) = bounded(1);
    tx.send(Box::new(1)).unwrap();
    let mut send = tx.send_async(Box::new(2));
    fall_asleep(slice::from_mut(&mut send), slice::from_ref(Waker::noop()));
    let mut receive = rx.recv_async();
    assert_eq!(rx.recv(), Ok(Box::new(1)));
    fall_asleep(slice::from_mut(&mut receive), &[Arc::new(Says("receiver")).into()]);
    assert_eq!(panic_of(|| _ = poll(&mut send, Waker::noop())), Some("receiver"));
    let again = panic_of(|| _ = poll(&mut send, Waker::noop()));
    assert_eq!(again, Some("the future is polled after it was ready"));
    drop((send, receive));
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(Box::new(2)), Err(TryRecvError::Empty)));
}
