//! Large messages on the stack of a thread (row `large_item_on_stack`). Here since the copies on the stack are fewer with
//! optimisation, which the library's own tests don't have.

use std::env;
use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::process::Command;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use corelane::channel::{Receiver, Sender, bounded, oneshot, select, unbounded};

const KIB: usize = 1024;
const STACK: usize = 2048 * KIB;
const MOMENT: Duration = Duration::from_millis(5);

type Large = [u8; 128 * KIB];

fn large() -> Box<Large> {
    vec![7; size_of::<Large>()].into_boxed_slice().try_into().unwrap()
}

fn on<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> thread::JoinHandle<R> {
    thread::Builder::new().stack_size(STACK).spawn(work).unwrap()
}

fn ready<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

fn channels() -> [(Sender<Large>, Receiver<Large>); 2] {
    [bounded(1), unbounded()]
}

/// Each call of a channel, by its name.
const CALLS: &[(&str, fn())] = &[
    ("make", || drop(channels())),
    ("send", || channels().iter().for_each(|(tx, _rx)| tx.send(*large()).unwrap())),
    ("try_send", || {
        channels().iter().for_each(|(tx, _rx)| assert!(tx.try_send(*large()).is_ok()));
        let (tx, _rx) = bounded(0);
        assert!(tx.try_send(*large()).is_err());
    }),
    ("send_timeout", || {
        let (tx, rx) = bounded(1);
        assert!(tx.send_timeout(*large(), MOMENT).is_ok());
        assert!(tx.send_timeout(*large(), MOMENT).is_err());
        rx.close();
        assert!(tx.send(*large()).is_err());
    }),
    ("send_async", || {
        channels().iter().for_each(|(tx, _rx)| ready(tx.send_async(*large())).unwrap().unwrap());
    }),
    ("send_from_a_select", || {
        channels()
            .iter()
            .for_each(|(tx, _rx)| select! { send(tx, *large()) -> sent => sent.unwrap() });
    }),
    ("wait_to_send", || {
        let (tx, rx) = bounded(1);
        tx.send(*large()).unwrap();
        let other = on(move || {
            thread::sleep(MOMENT);
            rx.iter().count()
        });
        tx.send(*large()).unwrap();
        drop(tx);
        assert_eq!(other.join().unwrap(), 2);
    }),
    ("receive", || {
        for (tx, rx) in channels() {
            let other = on(move || (0..7).all(|_| tx.send(*large()).is_ok()));
            black_box(rx.recv().unwrap());
            black_box(rx.recv_timeout(1000 * MOMENT).unwrap());
            while rx.try_recv().is_err() {}
            while ready(rx.recv_async()).is_none() {}
            select! { recv(rx) -> message => { black_box(message.unwrap()); } }
            assert_eq!(rx.iter().count(), 2);
            assert!(other.join().unwrap());
        }
    }),
    ("meet", || {
        let (tx, rx) = bounded(0);
        let other = on(move || {
            tx.send(*large()).unwrap();
            while tx.try_send(*large()).is_err() {}
            assert!(tx.send_timeout(*large(), 1000 * MOMENT).is_ok());
            select! { send(tx, *large()) -> sent => sent.unwrap() }
        });
        black_box(rx.recv().unwrap());
        black_box(rx.recv_timeout(1000 * MOMENT).unwrap());
        while rx.try_recv().is_err() {}
        select! { recv(rx) -> message => { black_box(message.unwrap()); } }
        other.join().unwrap();
    }),
    ("oneshot", || {
        let (tx, rx) = oneshot();
        assert!(tx.send(*large()).is_ok());
        black_box(rx.recv().unwrap());
    }),
];

const CALL: &str = "CORELANE_TEST_CALL";

/// Not a test by itself: the program of the other processes.
#[test]
fn child() {
    let Ok(wanted) = env::var(CALL) else { return };
    let (_, call) = CALLS.iter().find(|(name, _)| *name == wanted).unwrap();
    on(*call).join().unwrap();
}

/// Messages of 128 KiB and a stack of 2 MiB. A thread whose stack overflows ends its process.
#[test]
fn large_item_on_stack() {
    let overflows = |name: &str| {
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", "child", "--quiet"]).env(CALL, name);
        !child.output().unwrap().status.success()
    };
    let failed: Vec<_> =
        CALLS.iter().map(|(name, _)| *name).filter(|name| overflows(name)).collect();
    assert!(failed.is_empty(), "{failed:?}");
}
