//! A queue is closed when the last handle of a side is gone, and not before.

use corelane::{Config, Consumer, Producer, TryPopError, TryPushError};

use super::{may_fail, shapes};
use crate::Any;
use crate::inside::Inside;
use corelane_harness::rng::Rng;
use corelane_harness::threads::{Cores, Progress, Task, all, scaled};

/// Removes a random handle.
fn one_of<H>(handles: &mut Vec<H>, rng: &mut Rng) -> H {
    let number = rng.below(handles.len());
    handles.swap_remove(number)
}

/// Consumers get all items, then `Closed`, when the last producer is gone, in whatever order
/// producers are dropped.
pub fn closed_by_the_last_producer(subject: &Any<u64>) {
    for (shape, seed) in
        shapes(&subject.info).zip(0..).flat_map(|(shape, n)| [(shape, n), (shape, n + 9)])
    {
        let mut rng = Rng::new(seed);
        let (mut txs, mut rxs) = subject.handles(Config::new(16), shape);
        let producers = txs.len() as u64;
        let mut inside = Inside::new(rxs[0].relaxation());
        for n in 0..producers {
            let mut tx = one_of(&mut txs, &mut rng);
            assert!(rxs.iter().all(|rx| !rx.is_closed()), "a clone is left");
            assert!(rxs.iter_mut().all(|rx| n > 0 || rx.try_pop() == Err(TryPopError::Empty)));
            assert!(tx.try_push(n).is_ok());
            inside.push(n);
        }
        assert!(rxs.iter().all(Consumer::is_closed));
        for _ in 0..producers {
            let rx = rng.below(rxs.len());
            inside.pop(&rxs[rx].try_pop().expect("there is an item"));
        }
        for rx in &mut rxs {
            assert_eq!(rx.try_pop(), Err(TryPopError::Closed));
            assert_eq!((rx.pop_slice(&mut [0; 3]), rx.pop_iter().count()), (0, 0));
            assert!(rx.try_clone().is_none_or(|rx| rx.is_closed()));
        }
    }
}

/// When the last consumer is gone, pushes succeed while there is room, then return the item with
/// `Closed`.
pub fn closed_by_the_last_consumer(subject: &Any<u64>) {
    for (shape, seed) in shapes(&subject.info).zip(0..) {
        let mut rng = Rng::new(seed);
        let (mut txs, mut rxs) = subject.handles(Config::new(16), shape);
        let mut pushed = 0;
        while !rxs.is_empty() {
            assert!(txs.iter().all(|tx| !tx.is_closed()), "a clone is left");
            let tx = rng.below(txs.len());
            pushed += usize::from(txs[tx].try_push(1).is_ok());
            drop(one_of(&mut rxs, &mut rng));
        }
        assert!(txs.iter().all(Producer::is_closed));
        for tx in &mut txs {
            pushed += (0..).take_while(|_| tx.try_push(1).is_ok()).count();
            assert!(matches!(tx.try_push(2), Err(TryPushError::Closed(2))));
            assert_eq!(tx.push_slice(&[1, 2]), 0);
            assert!(tx.try_clone().is_none_or(|tx| tx.is_closed()));
        }
        // An unbounded queue allocates no more memory without consumers.
        let least = if subject.info.bounded { txs[0].capacity() } else { 0 };
        assert!(pushed >= least && pushed <= txs[0].slots());
    }
}

/// Consumers pop while producers push their last items and are dropped. The consumers get all items
/// before they are told closed (row `disconnect_before_data`).
pub fn disconnect_before_data(subject: &Any<u64>) {
    for (shape, round) in shapes(&subject.info).cycle().zip(0..scaled(250)) {
        let (txs, rxs) = subject.handles(Config::new(128).grouped(1 << (round % 5)), shape);
        let each = round % 20;
        let all_items = txs.len() as u64 * each;
        let progress = &Progress::of(rxs.len());
        let mut tasks: Vec<Task<u64>> = Vec::new();
        for mut tx in txs {
            tasks.push(Box::new(move || {
                for n in 0..each {
                    while let Err(error) = tx.try_push(n) {
                        assert!(may_fail(&subject.info, &error), "there is room");
                        std::thread::yield_now();
                    }
                }
                0
            }));
        }
        for (thread, mut rx) in rxs.into_iter().enumerate() {
            tasks.push(Box::new(move || {
                let (mut popped, mut patience) = (0, progress.patience(thread));
                loop {
                    match rx.try_pop() {
                        Ok(_) => popped += 1,
                        Err(TryPopError::Closed) => return popped,
                        Err(_) => patience.wait(),
                    }
                }
            }));
        }
        let popped: u64 = all(Cores::Two, tasks).into_iter().sum();
        assert_eq!(popped, all_items, "closed before the last item");
    }
}
