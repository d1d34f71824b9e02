//! Handles and kinds of channels beside the usual ones: weak senders, counts, the latest messages, a
//! selector.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use corelane::channel::{
    RecvError, Select, SelectTimeoutError, Selector, SendError, bounded, latest, mpsc, never, spsc,
    unbounded,
};

#[test]
fn a_weak_sender_keeps_no_channel_open() {
    let (tx, rx) = bounded(2);
    let weak = tx.downgrade();
    let other = weak.upgrade().expect("there is a sender");
    assert_eq!((tx.sender_count(), weak.weak_sender_count(), rx.receiver_count()), (2, 1, 1));
    other.send(1).unwrap();
    drop((tx, other));
    assert_eq!((weak.sender_count(), weak.clone().weak_sender_count()), (0, 2));
    assert!(weak.upgrade().is_none());
    assert_eq!((rx.recv(), rx.recv()), (Ok(1), Err(RecvError)));
}

#[test]
fn a_weak_sender_keeps_no_message() {
    let message = Arc::new(());
    for drops_sender_first in [true, false] {
        let (tx, rx) = unbounded();
        let weak = tx.downgrade();
        tx.send(message.clone()).unwrap();
        let (mut tx, mut rx) = (Some(tx), Some(rx));
        for of_sender in [drops_sender_first, !drops_sender_first] {
            if of_sender { tx = None } else { rx = None }
        }
        assert!(tx.is_none() && rx.is_none());
        assert_eq!(Arc::strong_count(&message), 1);
        assert_eq!(weak.weak_sender_count(), 1);
    }
}

/// Weak senders become senders, which send and go: the receiver gets all that was sent.
#[test]
fn weak_senders_become_senders() {
    let sent = AtomicUsize::new(0);
    let (tx, rx) = bounded(4);
    let weak = tx.downgrade();
    let received = thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                // Each thread may keep the channel open for the others.
                for tx in (0..20_000).map_while(|_| weak.upgrade()) {
                    tx.send(()).unwrap();
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let receives = s.spawn(|| rx.iter().count());
        thread::sleep(Duration::from_millis(5));
        drop(tx);
        receives.join().unwrap()
    });
    assert_eq!(received, sent.into_inner());
    assert!(weak.upgrade().is_none());
}

#[test]
fn the_latest_messages_stay() {
    let (tx, rx) = latest(3);
    assert_eq!((tx.capacity(), tx.is_empty()), (3, true));
    for n in 0..10 {
        tx.send(n.to_string()).unwrap();
    }
    assert_eq!((tx.len(), tx.dropped(), rx.dropped()), (3, 7, 7));
    assert!(rx.try_iter().eq(["7", "8", "9"]));
    tx.close();
    assert!(tx.is_closed());
    assert_eq!(tx.send("late".into()), Err(SendError("late".into())));
    drop(rx);
    assert!(format!("{tx:?} {:?}", latest::<u8>(1).1).starts_with("Sender { .. } Receiver"));
}

/// Whatever senders drop and receivers take: each message once, those of a sender in order, and all
/// are counted.
#[test]
fn latest_messages_are_counted() {
    const EACH: u64 = 20_000;
    let count = Arc::new(());
    let (tx, rx) = latest(8);
    let received: u64 = thread::scope(|s| {
        for id in 0..3 {
            let (tx, count) = (tx.clone(), &count);
            s.spawn(move || (0..EACH).for_each(|n| tx.send((id, n, count.clone())).unwrap()));
        }
        let receive = || {
            let mut next = [0; 3];
            let check = |(id, n, _): (usize, u64, Arc<()>)| {
                assert!(n >= next[id], "message {n} of sender {id} after {}", next[id]);
                next[id] = n + 1;
            };
            rx.iter().map(check).count() as u64
        };
        let receivers = [s.spawn(receive), s.spawn(receive)];
        drop(tx);
        receivers.into_iter().map(|receiver| receiver.join().unwrap()).sum()
    });
    assert_eq!(received + rx.dropped(), 3 * EACH);
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
#[should_panic = "a channel for no message has no latest one"]
fn no_latest_message() {
    let _ = latest::<u8>(0);
}

#[test]
fn a_selector_maps_what_it_gets() {
    let ((tx, rx), (other_tx, other_rx)) = (bounded(1), bounded::<&str>(1));
    tx.send(1).unwrap();
    let select = || {
        Selector::new()
            .recv(&rx, |number| number.map(|number| number.to_string()))
            .recv(&other_rx, |text| text.map(String::from))
    };
    assert_eq!(select().wait(), Ok("1".into()));
    assert_eq!(select().wait_timeout(Duration::ZERO), Err(SelectTimeoutError));
    other_tx.send("text").unwrap();
    assert_eq!(select().wait_timeout(Duration::ZERO), Ok(Ok("text".into())));
    let sent = Selector::default().send(&tx, 2, |sent| sent.is_ok()).wait();
    assert!(sent && rx.recv() == Ok(2));
    drop(tx);
    assert_eq!(select().wait(), Err(RecvError::Disconnected));
}

#[test]
fn a_drain_takes_what_is_there() {
    let (tx, rx) = unbounded();
    tx.send_all(0..100).unwrap();
    let drained = rx.drain();
    tx.send(100).unwrap();
    assert_eq!((drained.len(), drained.sum::<u32>()), (100, (0..100).sum()));
    let _ = rx.drain();
    assert!(rx.is_empty());
}

#[test]
fn a_select_goes_to_other_threads() {
    let ((tx, rx), (_other_tx, other_rx)) = (bounded(1), bounded::<u8>(1));
    let mut select = Select::new();
    let index = select.recv(&rx);
    select.recv(&other_rx);
    thread::scope(|s| {
        let waits = s.spawn(|| {
            let selected = select.select();
            (selected.index(), selected.recv(&rx))
        });
        tx.send(1).unwrap();
        assert_eq!(waits.join().unwrap(), (index, Ok(1)));
    });
}

/// The only handle of a side is used by one thread at a time.
#[test]
fn a_select_of_exclusive_handles_stays() {
    let (_tx, rx) = spsc::bounded::<u8>(1);
    let mut select = Select::new();
    select.recv(&rx);
    thread::scope(|s| {
        let panic = s.spawn(|| select.try_ready()).join().unwrap_err();
        let text = "a `Select` with exclusive handles was sent to another thread";
        assert_eq!(panic.downcast_ref(), Some(&text));
    });
}

#[test]
fn iterators_of_any_message_can_be_shown() {
    struct Secret;
    let (_, rx) = mpsc::channel::<Secret>();
    let (iter, tries): (mpsc::Iter<'_, Secret>, mpsc::TryIter<'_, Secret>) =
        (rx.iter(), rx.try_iter());
    assert_eq!(format!("{iter:?} {tries:?}"), "Iter { .. } TryIter { .. }");
    let into: mpsc::IntoIter<Secret> = rx.into_iter();
    assert_eq!(format!("{into:?}"), "IntoIter { .. }");
}

#[test]
fn all_that_never_send_are_the_same() {
    assert!(never::<u8>().same_channel(&never()));
    assert!(!never::<u8>().same_channel(&bounded(1).1));
}
