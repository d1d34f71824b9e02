//! Channels for one message.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use corelane::channel::{RecvError, RecvTimeoutError, SendError, TryRecvError, oneshot};

const SOON: Duration = Duration::from_millis(2);

#[test]
fn a_message_comes_once() {
    let (tx, mut rx) = oneshot();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(rx.recv_timeout(SOON), Err(RecvTimeoutError::Timeout));
    tx.send(1).unwrap();
    assert_eq!(rx.recv_timeout(SOON), Ok(1));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(rx.recv(), Err(RecvError));
}

#[test]
fn a_side_that_goes_is_noticed() {
    let (tx, rx) = oneshot::<u8>();
    drop(tx);
    assert_eq!(rx.recv(), Err(RecvError));

    let (tx, rx) = oneshot();
    assert!(!tx.is_closed());
    drop(rx);
    assert!(tx.is_closed());
    assert_eq!(tx.send("back"), Err(SendError("back")));
}

/// Whichever side is faster, each message is dropped once, and each waiting thread wakes up.
#[test]
fn messages_are_dropped_once() {
    let count = Arc::new(());
    for n in 0..3000 {
        let (tx, mut rx) = oneshot();
        let message = count.clone();
        let sends = thread::spawn(move || match n % 3 {
            0 => drop(tx),
            1 => {
                thread::sleep(Duration::from_micros(n % 50));
                drop(tx.send(message));
            }
            _ => drop(tx.send(message)),
        });
        match n % 5 {
            0 => drop(rx),
            1 => drop(rx.recv_timeout(Duration::from_micros(n % 40))),
            _ => assert_eq!(rx.recv().is_ok(), n % 3 != 0),
        }
        sends.join().unwrap();
    }
    assert_eq!(Arc::strong_count(&count), 1);
}
