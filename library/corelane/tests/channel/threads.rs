//! Channels of `corelane::channel` between many threads, and threads that come and go.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::thread;

use corelane::channel::{Access, Receiver, Sender, bounded, mpsc, spmc, spsc, unbounded};

/// Numbers of several threads: each comes once, those of a sender in order, to each receiver.
fn stress<S: Access, R: Access>(txs: Vec<Sender<u64, S>>, rxs: Vec<Receiver<u64, R>>, each: u64) {
    let senders = txs.len() as u64;
    let sum: u64 = thread::scope(|s| {
        for (id, tx) in (0..).zip(txs) {
            s.spawn(move || (0..each).for_each(|n| tx.send(id * each + n).unwrap()));
        }
        let receive = |rx: Receiver<u64, R>| {
            let mut next = vec![0; senders as usize];
            let check = |number: u64| {
                let (id, n) = ((number / each) as usize, number % each);
                assert!(n >= next[id], "{n} of sender {id} after {}", next[id]);
                next[id] = n + 1;
                number
            };
            rx.iter().map(check).sum::<u64>()
        };
        let receivers: Vec<_> = rxs.into_iter().map(|rx| s.spawn(move || receive(rx))).collect();
        receivers.into_iter().map(|receiver| receiver.join().unwrap()).sum()
    });
    let all = senders * each;
    assert_eq!(sum, all * (all - 1) / 2);
}

#[test]
fn four_senders_and_four_receivers() {
    for (capacity, each) in [(0, 2000), (1, 2000), (64, 20_000), (usize::MAX, 20_000)] {
        let make = || if capacity == usize::MAX { unbounded() } else { bounded(capacity) };
        let (tx, rx) = make();
        stress(
            vec![tx.clone(), tx.clone(), tx.clone(), tx],
            vec![rx.clone(), rx.clone(), rx.clone(), rx],
            each,
        );
        let (tx, rx) = make();
        stress([(); 4].map(|()| tx.local()).into(), vec![rx.local(), rx.local()], {
            drop((tx, rx));
            each
        });
    }
    let (tx, rx) = spsc::bounded(3);
    stress(vec![tx], vec![rx], 20_000);
    let (tx, rx) = mpsc::unbounded();
    stress(vec![tx.clone(), tx], vec![rx], 20_000);
    let (tx, rx) = spmc::bounded(64);
    stress(vec![tx], vec![rx.clone(), rx], 20_000);
}

static SHARED: LazyLock<(Sender<u64>, Receiver<u64>)> = LazyLock::new(|| bounded(8));

#[test]
fn handles_are_shared_by_reference() {
    fn shared<T: Send + Sync>(value: T) -> T {
        value
    }
    let (tx, rx) = shared(Arc::new(bounded(2))).as_ref().clone();
    for (tx, rx) in [(&tx, &rx), (&SHARED.0, &SHARED.1)] {
        let received = thread::scope(|s| {
            (0..4).for_each(|id| drop(s.spawn(move || tx.send_all(id * 100..id * 100 + 100))));
            let take = || rx.iter().take(200).collect::<Vec<_>>();
            let (first, second) = (s.spawn(take), s.spawn(take));
            [first.join().unwrap(), second.join().unwrap()].concat()
        });
        assert_eq!(received.len(), 400);
        assert!(received.into_iter().collect::<BTreeSet<_>>().into_iter().eq(0..400));
    }
}

/// Threads come and go: each one gets its part, and leaves it to the next one.
#[test]
fn a_handle_serves_many_threads_one_after_the_other() {
    let (tx, rx) = bounded(1);
    for n in 0..200 {
        thread::scope(|s| {
            s.spawn(|| tx.send(n).unwrap());
            s.spawn(|| assert_eq!(rx.recv(), Ok(n)));
        });
    }
}

#[test]
fn a_thread_that_ends_still_sends_and_receives() {
    struct AtEnd(Sender<&'static str>, Receiver<&'static str>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            assert_eq!(self.1.recv(), Ok("to the end"));
            self.0.send("from the end").unwrap();
            self.0.send("from the end").unwrap();
        }
    }
    thread_local! {
        static AT_END: std::cell::RefCell<Option<AtEnd>> = const { std::cell::RefCell::new(None) };
    }
    for used_before in [true, false] {
        let ((tx, received), (sent, rx)) = (bounded(4), bounded(4));
        sent.send("to the end").unwrap();
        thread::spawn(move || {
            if used_before {
                tx.send("from the end").unwrap(); // its part is made before the variable
                AT_END.set(Some(AtEnd(tx, rx)));
            } else {
                AT_END.set(Some(AtEnd(tx.clone(), rx)));
                tx.send("from the end").unwrap();
            }
        });
        assert!(received.iter().eq(["from the end"; 3]));
    }
}
